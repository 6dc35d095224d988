/*
 * Whose turn it is to write: workers format blocks in parallel, their texts leave in the order of the blocks. A block's number is
 * its turn; every number from 0 on must come.
 */
#pragma once

#include "base/types.h"

#include <pthread.h>

struct turns_waiter;

/* What was made for a turn, on its way to whoever writes. */
struct turns_item {
	struct turns_item *next;
	u64 seq;
};

struct turns {
	pthread_mutex_t lock;
	struct turns_waiter *waiters;
	struct turns_item *left; /* in no order */
	u32 nr_left;
	bool writing; /* somebody writes what is left */
	u64 next;
	bool cancelled;
};

void turns_init(struct turns *t);
void turns_done(struct turns *t);
/* Waits until it is seq's turn. False: cancelled. */
bool turns_wait(struct turns *t, u64 seq);
/* The turn is over; failed: nobody after us gets one. */
void turns_end(struct turns *t, bool failed);
/*
 * Instead of waiting: leaves what was made for the turn item->seq. Whoever leaves the one that comes next writes it, and those behind it
 * that are there by then; nobody else has to wait, unless more than `most` are left. write() is never called by two at once. 0, what
 * write() returned, or -ECANCELED; what was left and not written is still the caller's.
 */
int turns_leave(struct turns *t, struct turns_item *item, u32 most,
		int (*write)(void *ctx, struct turns_item *item), void *ctx) must_check;
/* Numbers begin at 0 again, as those of blocks do in each round. Nobody has a turn or waits for one. */
void turns_restart(struct turns *t);
/* Wakes all who wait: their turn will not come. */
void turns_cancel(struct turns *t);
