/*
 * What the running kernel tells about its own symbols, as text: /proc/kallsyms, /proc/modules, /sys/kernel/notes under a root.
 * Making sense of it is sym's work.
 *
 * The kernel needs some 35 ms to print its 120,000 symbols, ten times as long as we need to read them. With a cache folder
 * the text is kept for as long as the boot and the set of modules last.
 */
#pragma once

#include "base/types.h"

struct kallsyms_text {
	const char *data;
	size_t len;
	size_t mapped; /* bytes to unmap; 0: to free */
};

/* root: NULL or "" for this system. cache: an existing folder, or NULL. 0 or negative errno; ret is the caller's. */
int kallsyms_read(const char *root, const char *cache, struct kallsyms_text *ret) must_check;
int kallsyms_read_modules(const char *root, struct kallsyms_text *ret) must_check;
int kallsyms_read_notes(const char *root, struct kallsyms_text *ret) must_check;
void kallsyms_text_done(struct kallsyms_text *t);
