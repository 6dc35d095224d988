/*
 * Waiting time as samples: a sink that follows threads (analysis/thread_states) and feeds another sink one sample for each wait, weighted by its
 * nanoseconds (for a long one several, over its time). Its call chain is where the thread left the CPU, below what it was waiting for:
 *
 *	[blocked] main read_all read pipe_read            3,200,000 ns
 *	[blocked] main read_all read pipe_read [woken by writer] pipe_write write flush main      with wakers
 *	[waiting for a CPU] main compute                     41,000 ns
 *
 * With wall, running time is there as well: each sample of the CPU stands for the time that its thread ran since the one before, so that the
 * samples of a thread add up to all of its time.
 *
 * The events are sched_switch, one of sched_waking and sched_wakeup, sched_wakeup_new and sched_process_fork.
 */
#pragma once

#include "analysis/thread_states.h"

enum { OFF_CPU_HOPS_MAX = 4 };

struct off_cpu_opts {
	/* Only threads of these processes, and these; neither: all. Borrowed. */
	const s32 *pids, *tids;
	size_t nr_pids, nr_tids;
	bool wall;
	u32 wakers; /* number of wakers above each wait: its waker, the waker of that one ...; at most OFF_CPU_HOPS_MAX */
};

struct off_cpu_thread {
	u64 running_ns, ready_ns, blocked_ns, unknown_ns;
	u64 lossy_ns; /* of these, while events were lost */
	bool chosen;
};

struct off_cpu;

/* NULL: no memory. Options and the other sink are borrowed. */
struct off_cpu *off_cpu_new(const struct off_cpu_opts *o, struct sink *to);
void off_cpu_free(struct off_cpu *o);
/* Before the run: also, or only, this process and all that come from it. */
void off_cpu_choose_root(struct off_cpu *o, s32 pid);
struct sink *off_cpu_sink(struct off_cpu *o);

/* After the run. */
const struct thread_states *off_cpu_states(const struct off_cpu *o);
/* NULL: nothing is known of it. */
const struct off_cpu_thread *off_cpu_thread_at(const struct off_cpu *o, u32 thread);
/* Samples of the CPU that were counted; 0: there were none. */
u64 off_cpu_nr_sampled(const struct off_cpu *o);
/* "[blocked]": what a mark of these is called; NULL: it is another one. ctx: the off_cpu. */
const char *off_cpu_mark_text(void *ctx, u64 mark);
