/*
 * A question about a trace: which sink is fed with it, and what is shown at the end. Asked of a file here, of a trace while it is made by
 * session/trace_run.
 */
#pragma once

#include "base/cpuset.h"
#include "model/source.h"

struct trace_answer {
	/* The source (of stream/replay_ftrace.h) is there: the sink over it. Called once. 0 or negative errno. */
	int (*sink)(void *ctx, struct source *src, struct sink **ret);
	/* The sink has seen everything; NULL: it has shown it. 0 or negative errno. */
	int (*show)(void *ctx, struct source *src);
	void *ctx;
	const struct cpuset *cpus; /* of a file: only these; NULL: all */
};

/* Of a trace.dat. workers 0: one for each CPU. 0 or negative errno with a diag. */
int trace_answer_file(const struct trace_answer *a, const char *path, unsigned workers,
		      struct diag *d) must_check;
