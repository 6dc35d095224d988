/*
 * A crashed or dumped kernel as memory: the dump's physical pages, seen through the kernel's own page tables (x86_64 with four or five
 * levels, arm64 with pages of 4, 16 or 64 KB). Where they begin is in VMCOREINFO, which is among the notes, or, where the dump was taken from
 * outside (QEMU without -device vmcoreinfo), is looked for at the start of each page. Kernels from 6.0 on also say there where their
 * symbols are, so that nothing besides the dump is needed.
 */
#pragma once

#include "base/strbuf.h"
#include "memory/memory.h"
#include "memory/vmcore.h"

struct crash_dump;

/* Negative errno with a diag. */
int dump_open(const char *path, struct crash_dump **ret, struct diag *d) must_check;
/* The same for an open file, which is closed with it. */
int dump_open_fd(int fd, const char *path, struct crash_dump **ret, struct diag *d) must_check;
void dump_close(struct crash_dump *dump); /* NULL is allowed */

/* Borrowed: memory_close() does nothing. */
struct memory *dump_memory(struct crash_dump *dump);
struct vmcore *dump_vmcore(struct crash_dump *dump);
u32 dump_page_size(const struct crash_dump *dump);
/* "6.1.0-54-cloud-amd64" */
const char *dump_release(const struct crash_dump *dump);
/* A line of VMCOREINFO, "SYMBOL(_stext)": its number. false: there is none. */
bool dump_number(const struct crash_dump *dump, const char *name, unsigned radix, u64 *ret);

/*
 * The kernel's own symbols as lines of /proc/kallsyms, in order of address. -ENOTSUP with a diag: a kernel before 6.0, or one that packs
 * them in another way.
 */
int dump_symbols(struct crash_dump *dump, struct strbuf *to, struct diag *d) must_check;

/* What a virtual address means, for people: each level's entry, and the physical address. */
enum { DUMP_LEVELS = 5 };
struct dump_walk {
	u32 nr; /* of the entries below */
	u64 entry[DUMP_LEVELS], at[DUMP_LEVELS]; /* at: where it is in physical memory */
	u64 phys;
	u64 page; /* bytes of the page */
};
/* Of page tables. */
u32 dump_levels(const struct crash_dump *dump);
/* -EFAULT: not mapped, or a table is not in the dump. What was found up to there is in *ret. */
int dump_translate(struct crash_dump *dump, u64 addr, struct dump_walk *ret) must_check;
