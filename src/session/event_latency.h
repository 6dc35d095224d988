/* How long something takes, from one event of a trace to another: what `ftrace hist --latency` and `perf ftrace latency` print. */
#pragma once

#include "analysis/event_pair.h"
#include "analysis/latency.h"
#include "session/tell.h"
#include "session/trace_answer.h"

struct event_latency {
	struct event_pair_rule rule;
	struct tell to;
	bool in_ns; /* the table's unit; else microseconds */
	bool only_table; /* no line under it */
	const char *name; /* of the file, for messages */

	/* Of event_latency.c. */
	struct latency_hist hist;
	struct event_pair *pair;
};

/* A table, or JSON. -ENOENT with a diag when one of the two events, or its field, is not in the trace. */
struct trace_answer event_latency_answer(struct event_latency *l);
void event_latency_done(struct event_latency *l);

/* "A,B" and "KEY" or "KEY=KEY" (NULL: common_pid) as a rule; its strings go to the arena. */
int event_latency_rule(const char *events, const char *by, struct arena *a,
		       struct event_pair_rule *ret, struct diag *d) must_check;
