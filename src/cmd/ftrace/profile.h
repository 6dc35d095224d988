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
