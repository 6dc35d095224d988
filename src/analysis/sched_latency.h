/* How long threads waited for a CPU after they could have run: sums and extremes for each thread, or for those of one name. */
#pragma once

#include "analysis/thread_states.h"

enum sched_latency_key {
	SCHED_BY_AVG,
	SCHED_BY_MAX,
	SCHED_BY_SWITCHES,
	SCHED_BY_RUNTIME,
	SCHED_BY_PID,
	SCHED_NR_KEYS,
};

struct sched_latency_row {
	u32 thread; /* of .nr_threads the first one */
	u32 nr_threads;
	u64 runtime_ns; /* as the kernel accounted it; where it did not, how long they were seen to run */
	u64 nr; /* delays */
	u64 total_ns;
	u64 max_ns, max_from_ns, max_to_ns;
	u64 lossy_ns; /* time in which events were lost that may be missing here */
};

struct sched_latency;

struct sched_latency_opts {
	s64 cpu; /* only delays before running there; -1: all */
	bool per_pid;
	const enum sched_latency_key *keys; /* first one first, all descending */
	u32 nr_keys;
};

/* NULL: no memory. The options are borrowed. */
struct sched_latency *sched_latency_new(const struct sched_latency_opts *o);
void sched_latency_free(struct sched_latency *l);
struct thread_states *sched_latency_states(struct sched_latency *l);
/* After the run: rows with a delay, of threads that are not idle tasks. */
int sched_latency_finish(struct sched_latency *l) must_check;
const struct sched_latency_row *sched_latency_rows(const struct sched_latency *l, size_t *nr);
