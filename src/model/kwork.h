/* Work that the kernel does besides tasks (interrupts, softirqs, work queues): what analysis/kwork_runs counts and view/text_kwork prints. */
#pragma once

#include "base/types.h"

enum kwork_class { KWORK_IRQ, KWORK_SOFTIRQ, KWORK_WORKQUEUE, KWORK_NR_CLASSES };
/* Tasks are no rows of their own: a bit of what is recorded, and what analysis/kwork_top counts. */
enum { KWORK_SCHED = KWORK_NR_CLASSES };

/* A span of time that was the longest, or one run. */
struct kwork_span {
	u64 start_ns, end_ns;
};

/* One piece of work on one CPU. */
struct kwork_row {
	enum kwork_class class;
	u64 id; /* number of the interrupt or softirq, or address of the work item */
	u64 function; /* of a work item; 0: not known */
	s32 cpu;
	const char *name; /* NULL: none */
	u64 nr_runs, run_ns;
	struct kwork_span longest_run;
	u64 nr_delays, delay_ns; /* from being raised or activated to the start */
	struct kwork_span longest_delay;
};

struct kwork_one {
	u32 row;
	struct kwork_span run;
	u64 delay_ns;
	bool has_delay;
};

struct kwork_totals {
	u64 nr_runs, run_ns;
	u64 first_ns, last_ns; /* first and last entry or exit */
	u64 nr_events;
	u64 nr_raises, nr_entries, nr_exits; /* that have no counterpart in the recording */
};

/* ---- CPU usage: analysis/kwork_top ---- */

/* What a CPU did; together its part of the time that was looked at. */
struct kwork_cpu_time {
	s32 cpu;
	u64 idle_ns, load_ns; /* the idle task, other tasks: without interrupts */
	u64 irq_ns, softirq_ns;
};

struct kwork_task {
	s32 tid; /* 0: the idle task of a CPU */
	s32 pid; /* thread group; 0: not known */
	s32 cpu; /* of an idle task */
	const char *name;
	u64 run_ns; /* on all CPUs, without interrupts */
	u64 lossy_ns; /* of these, near lost events */
	u64 rate; /* of one CPU, in 1/100 percent */
};
