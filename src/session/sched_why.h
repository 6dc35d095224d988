/* What `sched why` prints: a table per thread that adds up to all of its time. */
#pragma once

#include "analysis/sched_why.h"
#include "session/tell.h"
#include "session/wait_chain.h"

struct sched_why_view {
	const struct sched_why *why;
	const struct thread_states *states;
	struct wait_chain_names chain;
	const s32 *pids, *tids; /* none: the busiest threads */
	size_t nr_pids, nr_tids;
	u32 max_threads; /* where none was chosen; 0: all */
	u32 max_rows; /* of a section; 0: all */
};

/* How many threads were shown, or negative errno. */
s64 sched_why_print(const struct sched_why_view *v, const struct tell *to) must_check;
