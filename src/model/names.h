/*
 * From frames to names. The implementation (sym/) resolves all distinct frames of an image together in one sorted sweep;
 * engines work on the integers it returns and look at strings only when they print.
 *
 * A function is (image, start): two frames in the same function get the same id, whatever their addresses. A frame that no
 * symbol covers is a function of its own, without a name, at its own offset.
 */
#pragma once

#include "base/types.h"
#include "model/catalog.h"
#include "model/frame.h"

enum names_want {
	WANT_SYMBOL = 1 << 0,
	WANT_LINE = 1 << 1,
	WANT_INLINE = 1 << 2,
};

struct name_func {
	const char *name; /* demangled where that was asked for; NULL: no symbol */
	u64 start; /* in the image's offsets; the frame's own offset when there is no symbol */
	u64 end;
	u32 image;
	u32 mode; /* enum frame_mode */
};

/* The answer for a whole frame table. All of it belongs to the names object. */
struct names_result {
	const u32 *func_of; /* [frame id] -> index into funcs; func_of[FRAME_NONE] is 0 */
	const struct name_func *funcs; /* [0] is no function */
	u32 nr_funcs;
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
