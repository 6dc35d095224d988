/* What the kernel occupies: its text and its modules, as a recording states them, and the build ids of both. */
#pragma once

#include "kern/sysroot.h"

enum { KMAP_BUILD_ID_MAX = 20 };

struct kernel_text {
	u64 start; /* of _text, or _stext where that is missing */
	u64 end; /* 0: unknown */
	const char *name; /* "_text" or "_stext" */
};

struct kernel_module {
	const char *name; /* as in /proc/modules */
	u64 start;
	u64 size_bytes;
	const char *path; /* "/lib/modules/RELEASE/kernel/...ko" when the modules.dep lists it, else NULL */
	u8 build_id[KMAP_BUILD_ID_MAX];
	u8 build_id_size;
};

/* -ENOENT: no kallsyms, or addresses are hidden (kptr_restrict). */
int kmap_text(const struct sysroot *r, struct kernel_text *ret) must_check;
/* fn for each module with a known address. Strings are borrowed during the call. -ENOENT: a kernel without modules. */
int kmap_modules(const struct sysroot *r, const char *release,
		 int (*fn)(void *ctx, const struct kernel_module *m), void *ctx) must_check;

/* The GNU build id among ELF notes: its length, 0 when there is none. */
unsigned kmap_note_build_id(const void *notes, size_t len, u8 id[KMAP_BUILD_ID_MAX]);
unsigned kmap_kernel_build_id(const struct sysroot *r, u8 id[KMAP_BUILD_ID_MAX]);
/* Of an ELF file of this machine's class, from its PT_NOTE segments; 0: none, or not an ELF file. */
unsigned kmap_file_build_id(int fd, u8 id[KMAP_BUILD_ID_MAX]);
