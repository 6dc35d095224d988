/*
 * Branch stacks to basic blocks: between two branches of a stack, code ran in a straight line from where the older one led to where the
 * newer one left, and the CPU says how many cycles that took. Blocks that end at the same branch are one, from the earliest start seen.
 */
#pragma once

#include "base/arena.h"
#include "model/choice.h"
#include "model/names.h"
#include "model/source.h"

struct blocks;

struct block {
	u32 func; /* of names */
	u32 start,
		end; /* frames; start is FRAME_NONE where no branch led into the function before */
	u64 cycles; /* of all passes that say how long they took */
	u64 count; /* those passes */
};

struct block_list {
	struct block *at; /* the one with most cycles first; of the arena */
	u32 nr;
	u64 nr_branches; /* in all stacks */
	u64 total_cycles; /* of all branches in stacks that tell cycles, also outside of known functions */
	u64 average_sum; /* of the blocks' average cycles */
};

/* NULL: no memory. when, who: only samples that both want count; borrowed, NULL: all. */
struct blocks *blocks_new(const struct sample_choice *when, const struct sample_choice *who,
			  const struct catalog *c);
void blocks_free(struct blocks *b);
struct sink *blocks_sink(struct blocks *b);

/* After the run: the blocks of one event. */
int blocks_of_event(const struct blocks *b, const struct frame_table *frames,
		    const struct names_result *names, u32 event, struct arena *arena,
		    struct block_list *ret) must_check;
