/* Where tasks spend their time, from a trace: `ftrace profile` and `ftrace report --profile`. */
#pragma once

#include "base/opts.h"
#include "session/tell.h"
#include "session/trace_answer.h"

struct task_times_opts {
	struct opt_list hooks;
	bool irqs_by_cpu, by_comm;
	u64 workers;
	bool human; /* a table first, times with units; else trace-cmd's text */
	/* Only these tasks, and with children those that have events of their own; NULL: all. */
	const s32 *pids;
	size_t nr_pids;
	bool children;
	bool (*keep)(void *ctx, const struct sample *s); /* only these events; NULL: all */
	void *ctx;
};

struct task_times {
	const struct task_times_opts *o; /* read when it is shown, too */
	struct tell to;

	/* Of task_times.c. */
	struct source *src;
	struct event_times *times;
};

struct trace_answer task_times_answer(struct task_times *t);
void task_times_done(struct task_times *t);
/* Of a source that is there; it is at its end afterwards. */
int task_times_run(struct task_times *t, struct source *src) must_check;
