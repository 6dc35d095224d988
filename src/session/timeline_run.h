/* A recording of the scheduler's events as a timeline, with names: how `timeline` and `timechart` read one. */
#pragma once

#include "model/source.h"
#include "model/timeline.h"
#include "session/symbols.h"

struct timeline_run_opts {
	const char *path; /* a perf.data, or a trace.dat */
	const struct symbol_opts *symbols;
	u32 max_stack; /* frames of a call chain, of the kernel and of the program each */
};

/* Into an initialised timeline. 0, or negative errno with something said in the symbols' diag; -ENODATA: no sched_switch. */
int timeline_load(struct symbols *sy, const struct timeline_run_opts *o,
		  struct timeline *t) must_check;
