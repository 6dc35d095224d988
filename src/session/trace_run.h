/*
 * Tracing while a command runs, or until something else ends it, with a sink over what is traced: how commands look at a trace without
 * a file.
 *
 *	main thread     command_run: signals, the command, the top-level switch
 *	readers         pages of all CPUs ─► rounds
 *	one thread      stream_run(): rounds ─► the sink
 */
#pragma once

#include "session/command_run.h"
#include "session/trace_answer.h"
#include "tracing/live.h"
#include "tracing/top_watch.h"

#include <pthread.h>

struct trace_run_opts {
	struct ftrace_setup *setup; /* after ftrace_setup_open(); ended by the caller */
	char **argv; /* of the command; NULL: there is none */
	struct ftrace_live_opts live;
	const struct trace_answer *answer; /* its sink; it is shown by the caller */
};

struct trace_run {
	struct command_run run; /* how it ended */
	struct ftrace_live live; /* its source stays until trace_run_done() */
	bool began; /* something was traced: there is a result */
	struct live_ftrace_stats stats; /* with it */

	/* Of trace_run.c. */
	struct trace_run_opts opts;
	struct ftrace_top_watch top;
	struct sink *sink;
	struct diag diag; /* of the thread */
	pthread_t thread;
	bool has_thread;
	int over_fd; /* readable: the thread has ended */
	int err; /* of the thread */
};

/*
 * Until the end: everything was fed to the sink. -EPIPE: the sink could not write, and nothing is said; other errors are in the setup's diag.
 * run.exec_failed: child_exec_status() of what was returned. A dry run only says what it would write. trace_run_done() in any case.
 */
int trace_run(struct trace_run *r, const struct trace_run_opts *o) must_check;
/* Whether a signal ended it, and not the command: what to die of; 0: no. */
int trace_run_signal(const struct trace_run *r);
void trace_run_done(struct trace_run *r);

/* A command is told to end by what told us, then by SIGTERM; one that ignores both is left alone. */
void trace_run_end_command(struct command_run *r);
/* What lay in buffers that this run did not make is not its own. */
int trace_run_empty_buffers(struct ftrace_setup *s) must_check;
