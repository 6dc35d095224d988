/*
 * Whose turn it is to write: workers format blocks in parallel, their texts leave in the order of the blocks. A block's number is
 * its turn; every number from 0 on must come.
 */
#pragma once

#include "base/types.h"

#include <pthread.h>

struct turns_waiter;

struct turns {
	pthread_mutex_t lock;
	struct turns_waiter *waiters;
	u64 next;
	bool cancelled;
};

void turns_init(struct turns *t);
void turns_done(struct turns *t);
/* Waits until it is seq's turn. False: cancelled. */
bool turns_wait(struct turns *t, u64 seq);
/* The turn is over; failed: nobody after us gets one. */
void turns_end(struct turns *t, bool failed);
/* Numbers begin at 0 again, as those of blocks do in each round. Nobody has a turn or waits for one. */
void turns_restart(struct turns *t);
/* Wakes all who wait: their turn will not come. */
void turns_cancel(struct turns *t);
