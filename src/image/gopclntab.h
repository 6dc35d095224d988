/*
 * Functions and lines of Go programs. Their run time needs a table of its own (.gopclntab), which no strip removes: names, and for
 * every address the file and line. The layouts of Go 1.2, 1.16, 1.18 and 1.20; later releases use the last one.
 *
 *	1.2    head: magic, ptrsize ...; nr of functions; (address, function) ...; end; where the files are
 *	1.16   head: ...; nr of functions, of files; where names, units, files, pcs, functions are
 *	1.18   the same with the address of the code; (offset from it, function) of 32 bits each
 *	1.20   the same with one more field in each function, which is not read here
 *
 * Lines are runs: (change of value, length in code) pairs, as varints. Functions that the compiler put into others are not told here.
 */
#pragma once

#include "image/dwarf_info.h"
#include "image/elf.h"

/* A part of the table: bytes [at, at + size). */
struct gopclntab_part {
	const u8 *at;
	size_t size;
};

struct gopclntab {
	const struct elfimg *image;
	struct gopclntab_part all, names, units, files, pcs,
		funcs; /* those that a layout lacks are all of it */
	bool is_old; /* 1.2: one table of files */
	bool wide; /* entries of functions are addresses, not 32-bit offsets */
	u8 quantum, ptr_size;
	u32 nr;
	size_t entries; /* where they begin in `funcs` */
	u64 text;
};

struct gopclntab_func {
	u64 start, end; /* addresses */
	const char *name; /* borrowed from the image */
	size_t record; /* in `funcs`: for gopclntab_find() */
};

/* -ENOENT: no Go program, or a layout that we do not know. */
int gopclntab_open(struct gopclntab *t, const struct elfimg *e) must_check;
/* false: damaged. */
bool gopclntab_func(const struct gopclntab *t, u32 index, struct gopclntab_func *ret);
/*
 * Files and lines of nr addresses (ascending) into ret, as dwinfo_find() gives them. The work is at most proportional to the
 * table's size: what would need more stays unanswered.
 */
void gopclntab_find(const struct gopclntab *t, const u64 *at, u32 nr, struct dwinfo_answer *ret);
