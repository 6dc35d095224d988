/*
 * From the places that the kernel lists ("_text+1234", "/bin/bash:0x4710") back to words: function, distance, source line. All places of one
 * file are looked up together.
 */
#pragma once

#include "probe/kernel.h"

struct probe_spot {
	const char *function; /* NULL: not known */
	u64 distance; /* from its start */
	const char *file; /* source; NULL: not known */
	u32 line;
	bool is_relative; /* in_function is known */
	u32 in_function; /* its number within the function */
};

struct probe_spots {
	struct arena arena;
	const struct probe_listing *listing; /* borrowed */
	struct probe_spot *at; /* one for each of the listing */
};

/* -ENOMEM only: what is not known stays as the kernel prints it. */
int probe_spots_open(struct probe_spots *s, const struct probe_listing *l,
		     const char *root) must_check;
void probe_spots_close(struct probe_spots *s);
/* "work:3@/tmp/a.c in /tmp/a.out", "vfs_read+4", "vfs_read%return" */
void probe_spots_text(const struct probe_spots *s, size_t i, struct strbuf *to);
