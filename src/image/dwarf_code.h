/*
 * The code of an image as its debugging information describes it, for who looks by name, by source line or by address: which units may
 * hold an answer (image/dwarf_names), and one unit at a time in full: its functions, what was inlined where, its lines.
 *
 *	dwcode        the image
 *	dwcode_unit   one compilation unit: scopes in the order of the file (a scope's children follow it, up to `end`), lines by address
 *
 * Types and variables are read when they are asked for (image/dwarf_type, image/dwarf_place). Whatever the file says, the work is bounded
 * by its size; input is anyone's. (By the tree's own reader and not libdw, for the reasons in dwarf_info.h; libdw also reads all lines of
 * all units it passes, which is where perf probe spends its time.)
 */
#pragma once

#include "base/vec.h"
#include "image/debugfile.h"
#include "image/dwarf_die.h"

enum dwcode_kind { DWCODE_FUNCTION, DWCODE_INLINED, DWCODE_BLOCK };

enum { DWCODE_NO_SCOPE = 0xffffffff };

struct dwcode_scope {
	u64 at; /* its entry */
	u64 origin; /* the entry it is an instance of; 0: none */
	u64 pc; /* where it is entered; 0: it has no code */
	u32 parent; /* DWCODE_NO_SCOPE: none */
	u32 end; /* one after the last scope in it */
	u32 first_range, nr_ranges;
	u32 call_file, call_line; /* of an inlined one */
	u8 kind; /* enum dwcode_kind */
	bool is_declaration;
	bool is_abstract; /* what instances are made from: says that it may be inlined */
	const char *name, *linkage; /* of functions; NULL: none. Of inlined ones: dwcode_name() */
};

struct dwcode_range {
	u64 low, high;
};

struct dwcode_line {
	u64 addr;
	u32 file, line;
	bool stmt, prologue_end, end;
};

struct dwcode;
struct dw_lines;

struct dwcode_unit {
	struct dwcode *of;
	u32 index;
	struct dw_die root;
	bool optimised; /* the compiler says that it was told to optimise */
	VEC(struct dwcode_scope) scopes;
	VEC(struct dwcode_range) ranges;
	VEC(struct dwcode_line) lines; /* by address; empty until dwcode_unit_lines() */
	struct dw_lines *files; /* NULL: it has no lines */
};

/* As dwinfo_open(); there are no units before dwnames_open() or dwcode_read_units(). */
int dwcode_open(const struct elfimg *image, const struct debugfile_where *where, const char *path,
		struct dwcode **ret) must_check;
/* For who asks by address and needs no index of names. -ENOMEM; -EBADMSG when they cannot be read at all. */
int dwcode_read_units(struct dwcode *d) must_check;
void dwcode_close(struct dwcode *d);
u32 dwcode_nr_units(const struct dwcode *d);
/* The file that units without a file were looked for in vain, the first of them; NULL: none. */
const char *dwcode_missing(const struct dwcode *d);
bool dwcode_broken(const struct dwcode *d);

/* Reads the scopes of a unit. -ENOENT: it has no code, or its other file is missing; -ENOMEM. Only one unit may be open at a time. */
int dwcode_unit_open(struct dwcode *d, u32 index, struct dwcode_unit *ret) must_check;
void dwcode_unit_done(struct dwcode_unit *u);
/* Reads its lines, once. -ENOENT: it has none; -ENOMEM. */
int dwcode_unit_lines(struct dwcode_unit *u) must_check;
/* The path of a file of its line table. NULL: no such. Borrowed until dwcode_close(). */
const char *dwcode_path(struct dwcode_unit *u, u32 file);
u32 dwcode_nr_files(const struct dwcode_unit *u);
/* Where the compiler ran; NULL: not told. */
const char *dwcode_folder(struct dwcode_unit *u);

/* Whether what it is an instance of is in another unit, as after link-time optimisation. */
bool dwcode_is_foreign(const struct dwcode_unit *u, const struct dwcode_scope *s);
const char *dwcode_name(struct dwcode_unit *u, const struct dwcode_scope *s);
/* Where a function was declared, or the one it is an instance of. false: not told. */
bool dwcode_declared(struct dwcode_unit *u, const struct dwcode_scope *s, const char **path,
		     u32 *line);
/* Where an inlined one was called. */
bool dwcode_called(struct dwcode_unit *u, const struct dwcode_scope *s, const char **path,
		   u32 *line);
bool dwcode_has(const struct dwcode_unit *u, const struct dwcode_scope *s, u64 pc);
/* The end of its last stretch of code. */
u64 dwcode_high(const struct dwcode_unit *u, const struct dwcode_scope *s);
/* The function that holds an address; DWCODE_NO_SCOPE: none. */
u32 dwcode_function_at(const struct dwcode_unit *u, u64 pc);
/* The outermost inlined one below a scope that holds an address; DWCODE_NO_SCOPE: none. */
u32 dwcode_inlined_at(const struct dwcode_unit *u, u32 below, u64 pc);
/* The scope of an entry; DWCODE_NO_SCOPE: it is none. */
u32 dwcode_scope_at(const struct dwcode_unit *u, u64 at);
/* The line of code at an address: the last row at or before it. NULL: none. */
const struct dwcode_line *dwcode_line_at(const struct dwcode_unit *u, u64 pc);
bool dwcode_scope_die(struct dwcode_unit *u, const struct dwcode_scope *s, struct dw_die *ret);
/* The unit that has code at an address; false: none. */
bool dwcode_unit_at(struct dwcode *d, u64 pc, u32 *ret);
