/*
 * What every thread did over time, from the scheduler's events: intervals in which it ran, was ready to run, or was blocked, each with what
 * ended it and why it began.
 *
 *	sched_switch prev=A(S) next=B     A: running ─┐ blocked ──────┐ ready ──┐ running
 *	sched_waking A, by C                          ▼               ▼         ▼
 *	sched_switch prev=B next=A                    interval{A, RUNNING}      interval{A, READY}
 *	                                                              interval{A, BLOCKED, cause C}
 *
 * Folds (analysis/sched_latency, analysis/sched_why, session/sched_timehist) receive intervals as they end, in the order in which they
 * end. Any source will do: perf.data, trace.dat, live; events that the source lacks are not waited for. Of sched_waking and
 * sched_wakeup the first one counts.
 *
 * Which letter a state has is read from the text that the event's own print format gives, never from constants: kernels differ.
 */
#pragma once

#include "base/arena.h"
#include "base/dict.h"
#include "model/source.h"

enum { THREAD_NONE = UINT32_MAX };

enum thread_state {
	THREAD_UNKNOWN, /* events that would tell were lost, or came before the recording */
	THREAD_RUNNING,
	THREAD_READY,
	THREAD_BLOCKED,
};

enum thread_interval_flag {
	THREAD_LOSSY = 1 << 0, /* events were lost meanwhile, on a CPU that matters to it */
	THREAD_SINCE_BEFORE = 1 << 1, /* it had begun before anything was seen of it */
	THREAD_UNTIL_END = 1 << 2, /* it had not ended when the recording did */
	THREAD_PREEMPTED = 1 << 3, /* READY: it left the CPU without blocking; else it was woken */
	THREAD_WAKE_UNSEEN = 1 << 4, /* BLOCKED: it ran again, and nobody was seen waking it */
	THREAD_WOKEN_BY_IRQ =
		1 << 5, /* BLOCKED: by an interrupt, which only happened to meet the cause */
	THREAD_IS_NEW = 1 << 6, /* READY: its first time */
};

struct thread_interval {
	u32 thread;
	enum thread_state state;
	u64 from_ns, to_ns;
	u32 flags;
	s32 cpu; /* RUNNING: there; READY: where it runs next, or waits; BLOCKED: where it ran last */
	char letter; /* BLOCKED: 'S', 'D' ...; RUNNING: the state it was left in; 0: not known */
	u32 cause; /* BLOCKED: who woke it; THREAD_NONE: not known */
	u32 cause_chain; /* where that one was */
	u32 own_chain; /* READY, BLOCKED: where it left the CPU; RUNNING: where it did at the end */
};

struct sched_thread {
	s32 tid; /* 0: a CPU's idle task */
	s32 pid; /* thread group; 0: never told */
	s32 parent; /* who forked it; -1: never told */
	s32 cpu; /* that it runs on, or ran on last, or waits for */
	s32 prio; /* -1: never told */
	u32 comm; /* of thread_comm() */
	u64 first_ns,
		last_ns; /* its first and its last event; or when the recording began, if it was there before */
	u64 nr_migrations;
	bool ended;

	/* Of thread_states.c. */
	enum thread_state state;
	bool known; /* .state is */
	char letter;
	u32 flags; /* of the open interval */
	u64 since_ns;
	u64 early_ns; /* sched_waking came while it still ran, as it does when it is just about to sleep; 0: it did not */
	u32 own_chain, cause, cause_chain;
};

/* A CPU went from one thread to another: after the intervals that end with it. */
struct thread_switch {
	u64 time_ns;
	s32 cpu;
	u32 prev, next;
	const char *state; /* as the event's text has it: "S", "R+" */
	const struct sample *sample;
};

struct thread_wake {
	u64 time_ns;
	s32 cpu; /* of the waker */
	s32 target_cpu; /* -1: not told */
	u32 waker, thread;
};

struct thread_migration {
	u64 time_ns;
	s32 cpu; /* where it was done */
	u32 by, thread;
	s32 from, to;
};

/* Each may be NULL, and returns 0 or negative errno. */
struct thread_states_ops {
	int (*interval)(void *ctx, const struct thread_interval *i);
	int (*switched)(void *ctx, const struct thread_switch *s);
	int (*wake)(void *ctx, const struct thread_wake *w);
	int (*migrate)(void *ctx, const struct thread_migration *m);
	int (*runtime)(void *ctx, u32 thread, u64 ns); /* sched_stat_runtime */
	/* Events were lost on a CPU, up to this time. */
	int (*lost)(void *ctx, s32 cpu, u64 time_ns, u32 nr);
};

struct thread_states_totals {
	u64 nr_events; /* of the scheduler */
	u64 nr_switches, nr_wakes;
	u64 nr_bugs; /* a CPU left another thread than it had gone to */
	u64 nr_unordered; /* wake-ups before the sleep that they end */
	u64 nr_gaps; /* times that events were lost */
	u64 first_ns, last_ns; /* of events of any kind */
	s32 max_cpu;
};

struct thread_states;

/* NULL: no memory. */
struct thread_states *thread_states_new(const struct thread_states_ops *ops, void *ctx);
void thread_states_free(struct thread_states *ts);
/* For one run with one worker. chains: cause_chain and own_chain are wanted, ids of the shard's table (thread_states_shard()). */
struct sink *thread_states_sink(struct thread_states *ts, bool chains);
const struct shard *thread_states_shard(const struct thread_states *ts);
/* For sinks that keep ids: those of open intervals in a new generation of tables. 0 or -ENOMEM. */
int thread_states_carry(struct thread_states *ts, struct carry *c) must_check;
/* Events in the order of time, for who has no run. */
int thread_states_feed(struct thread_states *ts, const struct sample *s) must_check;
/* After the last event: reports intervals that are still open. until_ns 0: when the last event was. */
int thread_states_finish(struct thread_states *ts, u64 until_ns) must_check;

u32 thread_states_nr(const struct thread_states *ts);
const struct sched_thread *thread_at(const struct thread_states *ts, u32 thread);
const char *thread_comm(const struct thread_states *ts, u32 thread); /* "<idle>" for idle tasks */
const char *thread_states_comm_text(const struct thread_states *ts,
				    u32 comm); /* of sched_thread.comm */
const struct thread_states_totals *thread_states_totals(const struct thread_states *ts);
/* Who runs on a CPU now; THREAD_NONE: not known. *since_ns may be NULL. */
u32 thread_states_current(const struct thread_states *ts, s32 cpu, u64 *since_ns);
/* Its idle task; THREAD_NONE: not seen. */
u32 thread_states_idle(const struct thread_states *ts, s32 cpu);
/* Whom a sample that was fed happened to. THREAD_NONE: it does not say, or no memory. */
u32 thread_states_runner(struct thread_states *ts, const struct sample *s);
