/* Every run of every thread as a line, and sums for each thread: what `sched timehist` prints. A fold over analysis/thread_states. */
#pragma once

#include "analysis/thread_states.h"
#include "base/cpuset.h"
#include "model/names.h"
#include "session/tell.h"

struct sched_timehist_opts {
	bool summary; /* sums only */
	bool with_summary; /* lines and sums */
	bool wakeups, next, migrations, cpu_visual, idle_only, state, show_prio;
	bool chains; /* where threads left the CPU */
	u32 max_stack;
	u64 from_ns, until_ns; /* 0: from the start, to the end */
	const struct cpuset *cpus; /* NULL: all */
	const s32 *pids, *tids; /* none: all */
	size_t nr_pids, nr_tids;
	u32 nr_cpus; /* that the machine has */

	/* For chains: names of the run's frames. */
	const struct names_result *names;
};

struct sched_timehist;

/* NULL: no memory. The options are borrowed. */
struct sched_timehist *sched_timehist_new(const struct sched_timehist_opts *o, struct tell to);
void sched_timehist_free(struct sched_timehist *h);
struct thread_states *sched_timehist_states(struct sched_timehist *h);
/* Before the run, and after it. */
void sched_timehist_begin(struct sched_timehist *h);
int sched_timehist_end(struct sched_timehist *h) must_check;
