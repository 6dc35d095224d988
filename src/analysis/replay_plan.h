/*
 * What each thread of a recording did, as steps that others can do again: run, sleep until another thread wakes it, wake another one, or nap
 * for a time where no thread was seen to wake it (timers, disks, what came before the recording).
 *
 *	A: run 3 ms ── wake 0 ── run 1 ms ── nap 5 ms      B: sleep 0 ── run 2 ms
 *
 * Steps that wait for each other are in the order of time, so that no two threads can wait for one another. Waiting for a CPU is no step: that is
 * for the scheduler of the replay to decide.
 */
#pragma once

#include "analysis/thread_states.h"

enum replay_step_kind { REPLAY_RUN, REPLAY_NAP, REPLAY_SLEEP, REPLAY_WAKE };

struct replay_step {
	enum replay_step_kind kind;
	u64 value; /* RUN, NAP: ns; SLEEP, WAKE: number of the wake-up, from 0 */
};

struct replay_task {
	u32 thread; /* of the states */
	VEC(struct replay_step) steps;
};

struct replay_totals {
	u64 nr_runs, nr_naps, nr_sleeps; /* sleeps: that end by a wake-up of another thread */
	u64 nr_joined; /* runs that continue the one before: the thread was only preempted */
	u64 run_ns;
};

struct replay_plan;

struct replay_plan *replay_plan_new(void); /* NULL: no memory */
void replay_plan_free(struct replay_plan *p);
/* For one run with one worker, then replay_plan_finish(). 0 or -ENOMEM. */
struct sink *replay_plan_sink(struct replay_plan *p);
int replay_plan_finish(struct replay_plan *p) must_check;
/* Threads with steps, in the order in which they came up. */
const struct replay_task *replay_plan_tasks(const struct replay_plan *p, size_t *nr);
const struct thread_states *replay_plan_states(const struct replay_plan *p);
struct replay_totals replay_plan_totals(const struct replay_plan *p);
