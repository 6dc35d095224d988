/* Kernel lockdown: what even root may not do. The file lives in securityfs, which is often not mounted. */
#pragma once

#include "kern/sysroot.h"

enum lockdown_level {
	LOCKDOWN_UNKNOWN,
	LOCKDOWN_NONE,
	LOCKDOWN_INTEGRITY, /* the kernel's memory and code may not be changed from outside */
	LOCKDOWN_CONFIDENTIALITY, /* nor read: no tracefs, kprobes, reading of kernel memory from BPF */
};

/* Negative errno where the file cannot be read; LOCKDOWN_UNKNOWN where its text is not understood. */
int lockdown_read(const struct sysroot *r, enum lockdown_level *ret) must_check;
/* "none [integrity] confidentiality" */
enum lockdown_level lockdown_parse(const char *text);
/* "integrity" */
const char *lockdown_word(enum lockdown_level level);
