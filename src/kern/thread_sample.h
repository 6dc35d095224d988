/*
 * Where a running thread is in the kernel: one sample of its CPU clock, with the kernel's call chain and, at the same moment, the registers
 * and the stack of its program. The thread is not stopped for it.
 */
#pragma once

#include "kern/perf_event.h"
#include "kern/thread_stop.h"

/*
 * The copy is as of thread_copy(), its stack at most 48 KB; regs_mask 0: there is no program (a kernel thread). *nr addresses of the kernel,
 * innermost first; 0: it was in its program. 0; -ETIMEDOUT: it did not run for 50 ms; or another negative errno: it may not be sampled.
 */
int thread_sample(struct perf_opener *o, s32 tid, struct thread_copy *c, u64 *kernel, u32 max,
		  u32 *nr) must_check;
