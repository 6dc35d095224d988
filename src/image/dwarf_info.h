/*
 * From addresses to source: file and line, and the functions that the compiler put into each other there.
 *
 * All addresses of a file are asked for together, sorted. The units of .debug_info are told apart by the ranges in their first
 * entry; only those that hold an address are looked into, each once: its line program is run without keeping its rows, and its
 * tree of functions is walked past everything that holds no address. So the cost is that of the units that were hit.
 *
 * DWARF 2 to 5, 32 and 64 bit, either byte order, sections compressed or not, entries that dwz moved to a common file, and split DWARF:
 * what a skeleton stands for is looked for in the program's .dwp, and where the compiler put its .dwo (DWARF 4 with GNU's names, and 5).
 * In an object file (a kernel module) code has no addresses yet: it counts by its place in the file.
 * Whatever the file says, the work is at most proportional to its size: what is broken or too much is left unanswered.
 *
 * (By hand, not with libdw 0.188, because files are anyone's: every bound is checked here and the work is bounded, threads share
 * nothing, sections may be packed with zstd, and one pass over a unit answers all its questions. It costs no more: 2,000 places in 30
 * units of 29 MB take 29 ms with names and stacks, libdw's bare walk to the same entries 30 ms. The prefix is dwinfo_ because libdw
 * owns dwarf_.)
 */
#pragma once

#include "image/debugfile.h"

enum dwinfo_want {
	DWINFO_LINE = 1 << 0,
	DWINFO_INLINE = 1 << 1,
};

/* A function that was put into another. */
struct dwinfo_inline {
	const char *name; /* as the linker would see it, where that is told; NULL: not told */
	const char *file; /* where it was called; NULL: not told, or lines were not asked for */
	u32 line;
};

struct dwinfo_answer {
	const char *func; /* the function around it all, if inlines were asked for; NULL: none */
	const char *file; /* of the innermost; NULL: not known */
	u32 line;
	u32 nr_inlines;
	const struct dwinfo_inline *inlines; /* outermost first */
};

struct dwinfo;

/*
 * image holds .debug_info (else -ENOENT) and outlives the object, like `where` (for the common file of dwz and split units; NULL:
 * none is looked for) and path (the program's, which a .dwp stands beside; "": not known). -ENOMEM; -EBADMSG when it cannot be read at
 * all.
 */
int dwinfo_open(const struct elfimg *image, const struct debugfile_where *where, const char *path,
		struct dwinfo **ret) must_check;
void dwinfo_close(struct dwinfo *d);
/*
 * Answers for nr addresses (ascending, distinct, as the file counts them) into ret. What ret points to stays until dwinfo_close(),
 * or until the next call. -ENOMEM.
 */
int dwinfo_find(struct dwinfo *d, const u64 *at, u32 nr, unsigned want,
		struct dwinfo_answer *ret) must_check;
/* The last answers lack inlined functions because units keep them in other files (.dwo) that were not found; how many units did. */
u32 dwinfo_nr_split(const struct dwinfo *d);
/* The first of those files; NULL: none. Borrowed. */
const char *dwinfo_missing(const struct dwinfo *d);
/* The file was broken, or asked for more work than a file of its size may. */
bool dwinfo_broken(const struct dwinfo *d);
/* What that work was, as budget.stage; NULL: it was not that. */
const char *dwinfo_spent(const struct dwinfo *d);
/* Whether the image has .debug_info at all. */
bool dwinfo_has(const struct elfimg *image);
