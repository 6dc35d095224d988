/*
 * A core as the kernel writes it: threads with their registers, what was mapped from which file, and memory. Only 64-bit cores of
 * this machine's byte order. Everything is borrowed from the image.
 */
#pragma once

#include "base/vec.h"
#include "image/elf.h"

struct elfcore_thread {
	s32 tid;
	const u8 *regs; /* the kernel's pr_reg */
	size_t regs_size;
};

struct elfcore_file {
	u64 start, end;
	u64 offset; /* in the file, of start */
	const char *path;
};

struct elfcore {
	const struct elfimg *image;
	VEC(struct elfcore_thread) threads; /* the one that died first */
	VEC(struct elfcore_file) files; /* by address, as written */
	s32 pid;
	char comm[17];
};

/* 0; -ENOEXEC: not a core, or of another kind; -ENOMEM. */
int elfcore_read(struct elfcore *c, const struct elfimg *image) must_check;
void elfcore_done(struct elfcore *c);
/* Memory from an address to the end of its segment, as far as the core has it; NULL: nothing. flags: PF_* of the segment; may be NULL. */
const u8 *elfcore_memory(const struct elfcore *c, u64 addr, size_t *size, u32 *flags);
/* Whether code may have been mapped there: an executable segment, or none at all, since gdb's gcore leaves out what files hold. */
bool elfcore_may_run(const struct elfcore *c, u64 addr);
