/* `sonde sched`: what its sub-commands share. */
#pragma once

#include "analysis/thread_states.h"
#include "cmd/app/app.h"
#include "session/symbols.h"
#include "session/sched_timehist.h"

/* With more CPUs than these, lines have no column for each: most of a line would be blanks. */
enum { SCHED_COLUMNS_MAX = 1024 };

/* One for all sub-commands: options may stand before the verb, as with perf. */
struct sched_opts {
	const char *input;
	bool force, dump;
	struct symbol_opts symbols;

	/* latency */
	const char *sort;
	s64 cpu;
	bool per_pid;

	/* map */
	bool compact;
	const char *cpus, *color_cpus, *color_pids, *task_names;
	bool fuzzy;

	/* timehist */
	struct sched_timehist_opts timehist;
	bool call_graph;
	u64 max_stack;
	const char *time, *pids, *tids;

	/* why */
	u64 max_threads, max_rows, why_stack;

	/* replay */
	s64 repeat;

	/* stats */
	const char *stats_file;

	/* critical */
	const char *critical_from, *critical_to;
	u64 critical_rows;
};

#define SCHED_INPUT_ROWS                                                                           \
	OPT_STR('i', "input", struct sched_opts, input, "FILE",                                    \
		"recording to read: perf.data (default), or a trace.dat"),                         \
		OPT_FLAG('f', "force", struct sched_opts, force,                                   \
			 "accepted; file ownership is never checked", .hidden = true),             \
		OPT_FLAG('D', "dump-raw-trace", struct sched_opts, dump,                           \
			 "use 'script -D' to dump records", .refused = true)

void sched_defaults(void *opts);
/* A word after the options can only be the recording. 0, or a usage status. */
int sched_take_input(struct app *app, struct sched_opts *o, int argc, char **argv) must_check;
/* The recording, which has events of the scheduler. 0 or negative errno with a diag. */
int sched_open(struct app *app, const struct sched_opts *o, struct source **ret) must_check;
/* After a run: what was lost or did not fit together, as a warning. */
void sched_warn_losses(struct app *app, const struct thread_states *ts, const struct source *src);
