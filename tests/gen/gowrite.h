/* Writes the table of a Go program (.gopclntab) in one of its layouts, for tests. */
#pragma once

#include "gen/elfwrite.h"

enum gowrite_layout { GOWRITE_1_2, GOWRITE_1_16, GOWRITE_1_18, GOWRITE_1_20, GOWRITE_NR };

/* A function whose lines are runs: `line` holds for `size` bytes, the next line for as many, up to its end. */
struct gowrite_func {
	u64 start;
	const char *name;
	const char *file;
	u32 line;
	u32 run;
};

/*
 * A whole program without symbols: code at 0x4000 with these functions, the last of which ends at `end`. no_text: the layout says not
 * where its code begins (relocation: but a relocation does).
 */
struct gowrite {
	enum gowrite_layout layout;
	bool big, is32;
	bool no_text, relocation;
	const struct gowrite_func *funcs;
	u32 nr;
	u64 end;
};
void gowrite_program(const struct gowrite *g, struct elfwrite *w);
