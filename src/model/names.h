/*
 * From frames to names. The implementation (sym/) resolves all distinct frames of an image together in one sorted sweep;
 * engines work on the integers it returns and look at strings only when they print.
 *
 * A function is (image, start): two frames in the same function get the same id, whatever their addresses. A frame that no
 * symbol covers is a function of its own, without a name, at its own offset.
 *
 * The compiler may have put several functions into each other at one address. With WANT_INLINE such a frame has a stack: ids
 * after those of the frame table, one for each function, outermost first; func_of and lines know them like any frame:
 *
 *	frames   1  2  3                frame 2 is main, with parse inlined, and in it next_token
 *	ids      1  2  3 | 4  5  6      stacks[2] = { 4, 3 }: 4 main, 5 parse (inlined), 6 next_token (inlined)
 *
 * names_expand() puts the stacks into call chains, so that folding and drawing need not know of them.
 */
#pragma once

#include "base/strbuf.h"
#include "base/types.h"
#include "model/catalog.h"
#include "model/frame.h"

enum names_want {
	WANT_SYMBOL = 1 << 0,
	WANT_LINE = 1 << 1,
	WANT_INLINE = 1 << 2,
	WANT_DATA = 1 << 3, /* names of objects, too: frames may be of data */
};

struct name_func {
	const char *name; /* demangled where that was asked for; NULL: no symbol */
	const char *label; /* the name with " (inlined)" after it, where it is; NULL: the name */
	u64 start; /* in the image's offsets; the frame's own offset when there is no symbol */
	u64 end; /* of an inlined function: start and end of the function it lies in */
	u32 image;
	u16 mode; /* enum frame_mode */
	bool inlined;
	bool data; /* an object, not a function */
};

struct name_line {
	const char *file; /* as the compiler was told, below the folder it ran in; NULL: not known */
	u32 line; /* 0: not known */
};

/* Ids [first, first + nr), outermost first. nr 0: the frame stands for itself. */
struct name_stack {
	u32 first;
	u32 nr;
};

/* The answer for a whole frame table. All of it belongs to the names object. */
struct names_result {
	const u32 *func_of; /* [id] -> index into funcs; func_of[FRAME_NONE] is 0 */
	const struct name_func *funcs; /* [0] is no function */
	u32 nr_funcs;
	u32 nr_frames; /* of the frame table */
	u32 nr_ids; /* with those of the stacks */
	const struct name_line *lines; /* [id]; NULL: not asked for */
	const u32 *frame_of; /* [id] -> frame; NULL: there are no stacks */
	/*
	 * [frame]; NULL: none. `stacks` is for code that was interrupted there, `callers` for code that will return there:
	 * the call is the instruction before it, perhaps of another line or another inlined function.
	 */
	const struct name_stack *stacks;
	const struct name_stack *callers;
};

struct names;

struct names_ops {
	/* Resolves every frame of the table. -ENOMEM at worst: what cannot be read is left without names (and noted). */
	int (*resolve)(struct names *n, const struct catalog *c, const struct frame_table *frames,
		       unsigned want, struct names_result *ret);
	void (*free)(struct names *n);
};

struct names {
	const struct names_ops *ops;
};

/* What tables and graphs call it; NULL: it has no name. */
static inline const char *name_label(const struct name_func *f)
{
	return f->label ? f->label : f->name;
}

/*
 * Where it is in the source, of a frame or an id of a stack: "file.c:12", or where that is not known "function+OFFSET" (decimal, as perf
 * has it; report) or "library[ADDRESS]" (script, and where there is no function).
 */
enum names_place_how {
	PLACE_FULL_PATH = 1 << 0, /* not only the file's last component */
	PLACE_BY_FUNCTION = 1 << 1,
};
void names_place(const struct names_result *n, const struct catalog *c,
		 const struct frame_table *frames, u32 id, const bool *has_lines, unsigned how,
		 struct strbuf *to);
/*
 * [image]: whether any frame of it has a line. A place without one in such an image is "??:0", as with perf. The caller's to free; NULL: no
 * memory.
 */
bool *names_lined_images(const struct names_result *n, const struct catalog *c,
			 const struct frame_table *frames);
/* What a frame stands for, `called` saying whether it has called the next one in its chain. nr is never 0. */
struct name_stack names_stack(const struct names_result *n, u32 frame, bool called);
/*
 * Replaces frames by their stacks in all chains, which keep their ids; from then on the pool holds ids of names. Chains that keep
 * their length stay where they are, the others move after them. Leaves (sample.leaf) remain frames. -ENOMEM: nothing was changed.
 */
int names_expand(const struct names_result *n, const struct frame_table *frames,
		 struct chain_table *chains) must_check;
