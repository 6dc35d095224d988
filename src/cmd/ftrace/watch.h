/* Commands that trace for an answer, and keep no file. */
#pragma once

#include "cmd/app/app.h"
#include "cmd/ftrace/setup_opts.h"
#include "session/trace_run.h"

struct ftrace_watch {
	struct ftrace_live_opts live;
	struct trace_answer answer;
	bool warn_lost; /* the sink does not say that events are missing */
};

/*
 * Traces by f (which is used up: ftrace_setup_end() was called) while the command runs, or until Ctrl-C. Returns the exit status: that of
 * the command, 1 when something failed.
 */
int ftrace_watch(struct app *app, struct ftrace_setup *f, int argc, char **argv,
		 const struct ftrace_watch *w);
/* The exit status of a run that ended well. */
int ftrace_run_status(struct app *app, const struct command_run *r, bool command);
