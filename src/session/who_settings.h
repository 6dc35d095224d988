/*
 * What `who` remembers from one use to the next: columns, order and switches, in $XDG_CONFIG_HOME/sonde/config or ~/.config/sonde/config,
 * section [who]. Only a file of our own is read or written: with sudo, HOME may be another user's.
 */
#pragma once

#include "analysis/who.h"

struct who_settings {
	struct who_opts *who;
	u64 *delay_ns;
	bool *per_cpu;
	u8 *memory; /* of the lines above the table: enum memory_unit */
};

/* 0, also where there is nothing to read. What the file says wrongly is left out with a warning. */
int who_settings_load(const struct who_settings *s, struct diag *d) must_check;
/* 0, and the file's name into path; -EPERM: it is not ours to write; or another negative errno. */
int who_settings_save(const struct who_settings *s, char *path, size_t size) must_check;
