/* How long something takes, from one event of a file to another: what `ftrace hist` and `perf ftrace latency` print. */
#pragma once

#include "analysis/event_pair.h"
#include "analysis/latency.h"
#include "cmd/app/app.h"

/* perf's table, or JSON. */
int ftrace_latency_print(struct app *app, struct latency_hist *l) must_check;

/*
 * Adds up what a file has: from the event `rule` begins with to the one it ends with. -ENOENT with a diag when one of the two, or its field, is
 * not in the file.
 */
int ftrace_latency_read(struct app *app, const char *path, const struct event_pair_rule *rule,
			struct latency_hist *l) must_check;

/* "A,B" and "KEY" or "KEY=KEY" (NULL: common_pid) as a rule; its strings go to the arena. */
int ftrace_latency_rule(const char *events, const char *by, struct arena *a,
			struct event_pair_rule *ret, struct diag *d) must_check;
