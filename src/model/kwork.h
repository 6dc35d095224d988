/* Work that the kernel does besides tasks (interrupts, softirqs, work queues): what analysis/kwork_runs counts and view/text_kwork prints. */
#pragma once

#include "base/types.h"

enum kwork_class { KWORK_IRQ, KWORK_SOFTIRQ, KWORK_WORKQUEUE, KWORK_NR_CLASSES };

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
