/* Where tasks spend their time, from a trace.dat: `ftrace profile` and `ftrace report --profile`. */
#pragma once

#include "cmd/app/app.h"
#include "cmd/ftrace/setup_opts.h"
#include "stream/replay_ftrace.h"

struct ftrace_profile_opts {
	struct opt_list hooks;
	bool irqs_by_cpu, by_comm;
	u64 workers;
	bool human; /* a table first, times with units; else trace-cmd's text */
	/* Only these tasks, and with children those that have events of their own; NULL: all. */
	const s32 *pids;
	size_t nr_pids;
	bool children;
};

/* Prints to `to`. The source is at its end afterwards. keep: only these events; NULL: all. 0 or negative errno. */
int ftrace_profile_print(struct app *app, struct source *src, const struct ftrace_profile_opts *o,
			 bool (*keep)(void *ctx, const struct sample *s), void *ctx,
			 struct strbuf *to) must_check;
/*
 * The events that a profile is made of, as far as this kernel has them, become part of the first buffer of f; stacks with those of the
 * scheduler; one level of function_graph, unless a tracer is chosen. only_given: the hooks' events alone.
 * names: of the hooks' events, until f is used up.
 */
int ftrace_profile_events(struct ftrace_setup *f, const struct opt_list *hooks, bool only_given,
			  struct arena *names, struct diag *d) must_check;
