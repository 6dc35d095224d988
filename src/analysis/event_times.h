/*
 * Where tasks spend their time, from events that begin and end something: on the CPU, waiting (by the state they left it in), between
 * being woken and running, in interrupts, system calls, functions, and between any two events a person names. Counts, sums and extremes
 * for each task and thing, with the kernel stacks that were recorded where it began.
 */
#pragma once

#include "analysis/event_pair.h"

enum event_time_label {
	EVENT_TIME_PLAIN, /* the name of the event says it all */
	EVENT_TIME_STATE, /* key: sched_switch's prev_state */
	EVENT_TIME_HEX,
	EVENT_TIME_NUMBER,
	EVENT_TIME_SOFTIRQ, /* key: its vector */
	EVENT_TIME_FUNC, /* key: an address */
};

struct event_time_stats {
	u64 nr, total_ns;
	u64 max_ns, max_at_ns; /* when it ended */
	u64 min_ns, min_at_ns;
};

struct event_time_stack {
	struct event_time_stats t;
	const u64 *addrs; /* innermost first */
	u32 nr_addrs;
};

enum { EVENT_TIME_BLOCKED = 0xff }; /* bits of a state in which others must wake it */
#define EVENT_TIME_CPU(cpu)  (INT64_MAX - (s64)(cpu)) /* as a task: what belongs to a CPU */
#define EVENT_TIME_IDLE(cpu) (-1 - (s64)(cpu)) /* its idle task */

enum event_time_kind {
	EVENT_TIME_WAIT, /* not on the CPU; label state */
	EVENT_TIME_RUN, /* on it */
	EVENT_TIME_WAKE, /* woken, not yet running */
	EVENT_TIME_OTHER,
	EVENT_TIME_FUNCTION,
	EVENT_TIME_COUNT, /* events that begin and end nothing: only t.nr */
	EVENT_TIME_NOTHING, /* makes no rows */
};

struct event_time {
	s64 task; /* pid, or one of the above */
	enum event_time_kind kind;
	enum event_time_label label;
	u32 rule; /* rows of one thing stand together */
	u64 key;
	const struct schema *event; /* that begins it */
	struct event_time_stats t;
	VEC(struct event_time_stack) stacks;
};

/* A pair of a person's own: "[SYSTEM:]EVENT,FIELD[,PIDFIELD]/[SYSTEM:]EVENT,FIELD[,FLAGS]", flags p (same CPU), s (with stack), g (not a task's). */
struct event_times_opts {
	const char *const *hooks;
	u32 nr_hooks;
	bool irqs_by_cpu; /* interrupts belong to their CPU, not to the task they met */
	bool (*keep)(void *ctx, const struct sample *s); /* NULL: all */
	void *ctx;
};

struct event_times;

/* -EINVAL with a diag for a hook that is none. */
int event_times_new(const struct event_times_opts *o, struct event_times **ret,
		    struct diag *d) must_check;
void event_times_free(struct event_times *t);
struct sink *event_times_sink(struct event_times *t);

/*
 * After the run: rows by task (CPUs first, then pids), thing, and within it by time, longest first. by_comm: tasks of one name are one, that with the
 * lowest pid; comm_of() names them.
 */
int event_times_finish(struct event_times *t, bool by_comm,
		       const char *(*comm_of)(void *ctx, s64 task), void *ctx) must_check;
size_t event_times_nr(const struct event_times *t);
const struct event_time *event_times_row(const struct event_times *t, size_t i);
/* The name of a task that a scheduler event told last; NULL: none did. */
const char *event_times_comm(const struct event_times *t, s64 task);
u64 event_times_nr_gaps(const struct event_times *t);
/* A hook whose events never came: its number, or -1. */
int event_times_idle_hook(const struct event_times *t);

/* "S", "D", "R+": as the kernel's own text has it. */
void event_times_state(u64 state, char to[16]);
/* NULL: no such vector. */
const char *event_times_softirq(u64 vector);

/* The events of a hook, for who records them: "SYSTEM:EVENT" or "EVENT" of each side; stack: flag s. */
struct event_times_hook {
	char start[128], end[128];
	bool stack;
};
int event_times_parse_hook(const char *text, struct event_times_hook *ret,
			   struct diag *d) must_check;
