/*
 * How much of a stack is copied with each sample, by what came of the stacks so far: more when a noticeable share of them goes on
 * after the copy, less again when records are lost since.
 */
#pragma once

#include "base/types.h"

enum { STACK_GROWTH_SIZES = 4 };

struct stack_growth {
	u32 bytes[STACK_GROWTH_SIZES]; /* that can be copied, ascending; unused ones are 0 */

	/* of the module */
	u32 step; /* index in bytes */
	u32 settling; /* looks that still see stacks of the size before */
	bool stepped_back; /* records were lost: never larger again */
	u64 nr_stacks, nr_short, nr_lost; /* at the last look */
	u64 sum_stacks, sum_short; /* lately, at this size */
	u64 sum_lost, sum_all; /* since the size grew */
};

/* Since the start. */
struct stack_growth_counts {
	u64 nr_stacks;
	u64 nr_short; /* of those, longer than the copy */
	u64 nr_lost; /* records */
};

/* A look at what happened since the one before. The index of the size to copy from now on; g->step was the one until now. */
u32 stack_growth_look(struct stack_growth *g, const struct stack_growth_counts *now);
