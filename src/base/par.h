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

/*
 * For a thread that sleeps most of the time and must not come too late: the calling thread gets short slices, so that it runs as soon as
 * it wakes (Linux 6.12), and nice -10 where that is allowed.
 */
void par_hurry(void);
