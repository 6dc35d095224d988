/* Workers: the same function on several threads, the caller's among them. */
#pragma once

#include "base/types.h"

/* CPUs this process may run on, at least 1. */
unsigned par_cpus(void);

/*
 * Runs fn(ctx, 0) ... fn(ctx, nr - 1), each on a thread of its own (0 on the caller's), and waits for all.
 * Returns the first negative result by index, else 0. A thread that cannot be created runs on the caller's.
 */
int par_run(unsigned nr, int (*fn)(void *ctx, unsigned index), void *ctx) must_check;

/* How many of the workers asked for (0: one for each CPU) are worth starting for nr items, if each is to get at least `least` of them. */
unsigned par_workers(unsigned asked, u64 nr, u64 least);

/*
 * Runs fn(ctx, worker, 0) ... fn(ctx, worker, nr - 1), handed out in this order to so many workers; calls with one worker's number never
 * overlap. After a failure no more are handed out; returns one of the negative results, else 0.
 */
int par_each(unsigned workers, u32 nr, int (*fn)(void *ctx, unsigned worker, u32 index),
	     void *ctx) must_check;

/* The part of [0, nr) that is number `part` of `parts` parts of the same size. */
struct par_span {
	u64 lo, hi;
};
static inline struct par_span par_span(u64 nr, u32 parts, u32 part)
{
	u64 size = nr / parts, more = nr % parts;
	u64 lo = part * size + min((u64)part, more);
	return (struct par_span){ .lo = lo, .hi = lo + size + (part < more) };
}

/*
 * For a thread that sleeps most of the time and must not come too late: the calling thread gets short slices, so that it runs as soon as
 * it wakes (Linux 6.12), and nice -10 where that is allowed.
 */
void par_hurry(void);
