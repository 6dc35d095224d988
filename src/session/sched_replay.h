/* Doing a recorded load again: a thread for each of the plan's, which run, nap, and wait for each other as those did. */
#pragma once

#include "analysis/replay_plan.h"
#include "base/diag.h"

/* What it costs to look at the clock, and to sleep; and how long a run and a sleep of a millisecond took. */
struct sched_replay_costs {
	u64 run_ns, sleep_ns;
	u64 run_test_ns, sleep_test_ns;
};

struct sched_replay_round {
	u64 wall_ns;
	u64 cpu_ns; /* of all threads */
};

struct sched_replay;

struct sched_replay_costs sched_replay_measure(void);
/* Starts the threads. The plan is borrowed. 0 or negative errno with a diag. */
int sched_replay_new(const struct replay_plan *plan, const struct sched_replay_costs *costs,
		     struct sched_replay **ret, struct diag *d) must_check;
/* The whole load once. */
struct sched_replay_round sched_replay_round(struct sched_replay *r);
void sched_replay_free(struct sched_replay *r);
