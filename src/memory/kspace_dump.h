/* What a kspace has of a dump instead of files of this system. Of kspace.c; opts.dump is set. */
#pragma once

#include "memory/kspace.h"

int kspace_open_dump(struct kspace *k) must_check;
/* All symbols, those of modules included, as lines of /proc/kallsyms. The kernel's own come first: their table has to be there to find the others. */
int kspace_dump_symbols(struct kspace *k) must_check;
/* The kernel's types, from its read-only data: malloc()ed. */
int kspace_dump_types(struct kspace *k, void **bytes, size_t *size) must_check;
/* Those of each module; add takes the bytes. Modules whose types cannot be read have none. */
int kspace_dump_module_types(struct kspace *k, int (*add)(struct kspace *k, const char *name,
							  void *bytes, size_t size)) must_check;
/* The task that ran on the first CPU. */
int kspace_dump_current(struct kspace *k, u64 *ret) must_check;
u32 kspace_dump_cpus(struct kspace *k);
