/* The files of one user image: the program itself, its debug file, and what symbols they tell. */
#pragma once

#include "image/debugfile.h"
#include "model/catalog.h"
#include "sym/symtab.h"

struct dso {
	struct elfimg image;
	struct elfimg debug; /* nothing in it when there is none */
	struct elfimg mini; /* the same */
	struct elfimg lines; /* the same: opened by dso_debug() where none of the above has them */
	bool objects; /* names of data are asked for, too: set after dso_open() */
	bool bounds; /* functions without a symbol are told by their bounds (SYMTAB_BOUNDS): set after dso_open() */
	bool bounds_refused; /* a budget ended that, for all of the file */
};

/*
 * dso_open_image() opens the program alone, dso_open() with what holds its symbols.
 *
 * Opens what an IMAGE_KIND_FILE or IMAGE_KIND_VDSO names: the file at its path if its build id is the recorded one (or none
 * was recorded), else a copy kept by build id.
 * -ESTALE: there is a file, but not the one that ran; else the errno of opening it, -ENOEXEC when it is no program.
 */
int dso_open_image(struct elfimg *e, const struct debugfile_where *w,
		   const struct image_info *info) must_check;
int dso_open(struct dso *d, const struct debugfile_where *w,
	     const struct image_info *info) must_check;
/* The same over the program's file, which somebody opened; the descriptor stays the caller's. */
int dso_open_fd(struct dso *d, const struct debugfile_where *w, const struct image_info *info,
		int fd) must_check;
void dso_close(struct dso *d);
/* Whether one of its files was truncated while it was being read: what was found in it may be wrong. */
bool dso_is_cut(const struct dso *d);

/* The file that holds .debug_info: the program, its debug file, or one that is opened now. NULL: none. */
const struct elfimg *dso_debug(struct dso *d, const struct debugfile_where *w,
			       const struct image_info *info);

/* Whether there is a full table of symbols, not only what the linker needs at run time. */
bool dso_has_all_symbols(const struct dso *d);

/*
 * Answers nr questions (ascending file offsets) in ret, with PLT stubs (flag SYMTAB_PLT: the name is the callee's).
 * -ENOMEM.
 */
int dso_find(struct dso *d, const u64 *at, u32 nr, struct symtab_sym *ret) must_check;
/* The whole table, flat, without PLT stubs. */
int dso_table(const struct dso *d, struct symtab *ret) must_check;
