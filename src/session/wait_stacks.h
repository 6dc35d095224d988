/*
 * Stacks of waits (analysis/off_cpu) as flame graphs show them: the ways into the scheduler are left out, and where a thread waits for
 * something to do, its stack is one frame on [idle]. Sums per thread show how it spent its time.
 */
#pragma once

#include "analysis/flame.h"
#include "analysis/off_cpu.h"
#include "session/named_run.h"

struct wait_stacks_opts {
	struct off_cpu_opts fold;
	bool whole_idle; /* stacks of idle threads as they are */
};

/* All of these threads together. */
struct wait_sums {
	u64 nr_threads;
	u64 running_ns, ready_ns, blocked_ns, unknown_ns, lossy_ns;
	u64 nr_sampled; /* samples of the CPU */
	u64 nr_gaps; /* times that events were lost */
	u64 nr_bugs; /* switches that do not continue the one before */
};

struct wait_thread {
	s32 pid, tid;
	u32 comm; /* of wait_result.names */
	u64 running_ns, ready_ns, blocked_ns, unknown_ns, lossy_ns;
};

struct wait_result {
	struct wait_sums sums;
	VEC(struct wait_thread) threads;
	struct strtab names;
};

void wait_result_init(struct wait_result *r);
void wait_result_done(struct wait_result *r);
/* Of a run that has ended, in place of what was there. 0 or -ENOMEM. */
int wait_result_read(struct wait_result *r, const struct off_cpu *off) must_check;

/* How many of these threads are not in it: nothing happened to them. */
u64 wait_result_missing(const struct wait_result *r, const s32 *tids, size_t nr);

/* Between names and folding: the chains of a named run are changed in place. 0 or -ENOMEM. */
int wait_stacks_shorten(struct named_run *run, const struct wait_stacks_opts *o) must_check;
/* A build that takes these stacks. */
void wait_stacks_build(struct flame_build *b, struct off_cpu *off, const struct wait_stacks_opts *o);
