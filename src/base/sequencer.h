/*
 * Puts parallel results back in order: workers format blocks in parallel, and the text is written in the order of the blocks. Blocks
 * are numbered from 0 without gaps.
 */
#pragma once

#include "base/types.h"

#include <pthread.h>

struct sequencer_waiter;

/* A finished block that waits to be written. */
struct sequencer_item {
	struct sequencer_item *next;
	u64 seq;
};

struct sequencer {
	pthread_mutex_t lock;
	struct sequencer_waiter *waiters;
	struct sequencer_item *left; /* unordered */
	u32 nr_left;
	bool writing; /* a worker is writing the finished blocks */
	u64 next;
	bool cancelled;
};

void sequencer_init(struct sequencer *t);
void sequencer_done(struct sequencer *t);
/* Waits until block seq is next. False: cancelled. */
bool sequencer_wait(struct sequencer *t, u64 seq);
/* Block done; failed: later blocks are cancelled. */
void sequencer_end(struct sequencer *t, bool failed);
/*
 * Instead of waiting: queues the finished block item->seq. The worker that queues the next block in order writes it and all that follow
 * it without a gap; no one else waits, unless more than `most` are queued. write() is never called concurrently. 0, what write()
 * returned, or -ECANCELED; items that were not written still belong to the caller.
 */
int sequencer_leave(struct sequencer *t, struct sequencer_item *item, u32 most,
		    int (*write)(void *ctx, struct sequencer_item *item), void *ctx) must_check;
/* Starts again at block 0, as each round does. No worker may be waiting or writing. */
void sequencer_restart(struct sequencer *t);
/* Wakes all waiting workers; they return as cancelled. */
void sequencer_cancel(struct sequencer *t);
