/* Source lines and inlined functions for places of one image, in strings that outlive its files. */
#pragma once

#include "base/arena.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "model/names.h"

struct srcline_inline {
	const char *name; /* never NULL */
	struct name_line line; /* inside this function: of the call below it, or of the address itself */
};

struct srcline_spot {
	struct name_line line; /* of the address */
	struct name_line outer; /* inside the function around it all */
	const struct srcline_inline *inlines; /* outermost first */
	u32 nr;
};

struct srcline_opts {
	const struct elfimg *debug; /* holds .debug_info; NULL: nothing does, but `go` may have lines */
	const struct elfimg *
		go; /* the program: a Go program has lines in a table of its own; NULL: not looked at */
	const struct elfimg *
		runtime; /* whose segments turn file offsets into addresses; NULL: they are addresses */
	const struct debugfile_where *where;
	const char *path; /* of the image, without the root of `where`; "": not known */
	enum demangle_style demangle;
	unsigned want; /* WANT_LINE, WANT_INLINE */
	struct arena *arena; /* of the answers */
};

struct srcline_told {
	u32 nr_split; /* units whose inlined functions are in other files (.dwo), which are not there */
	bool broken;
	const char *spent; /* what would have taken too much, as budget.stage; NULL: nothing */
	const char *missing; /* the first of those files; NULL: not told. The arena's */
};

/*
 * Answers for nr questions (ascending) into ret, two for each: [2 * i] where that code runs, [2 * i + 1] where it is about to return
 * to, which asks for the instruction before it. -ENOMEM.
 */
int srcline_find(const struct srcline_opts *o, const u64 *at, u32 nr, struct srcline_spot *ret,
		 struct srcline_told *told) must_check;
