/*
 * A sink over events that are recorded now: what the recorder puts into the source (struct recorder_opts) is fed to the sink in rounds, on a
 * thread of its own, and nothing else is kept.
 *
 *	live_run_open(&l, &opts);         l.source is for the recorder, and for sinks that want its catalogue
 *	live_run_start(&l, sink);         before anything is recorded
 *	...                               with idle_ns, round_done() is called also while nothing happens: redraw, decay, print
 *	live_run_end(&l);                 all that was put in was fed; l.run has the tables
 *	live_run_close(&l);
 */
#pragma once

#include "session/named_run.h"

#include <pthread.h>

struct live_run_opts {
	const char *const *option_names; /* for messages, as in struct diag */
	u64 idle_ns; /* a round at least this often, if need be an empty one; 0: not without data */
};

struct live_run {
	struct source *source; /* of rounds_open() */
	struct named_run run; /* after the end; until then the thread's. Without names: they are the caller's to add */
	struct diag diag; /* of the thread, until the end */
	u64 cost_ns; /* CPU time of the thread, after the end */

	/* Of live_run.c. */
	struct sink *sink;
	pthread_t thread;
	bool started, joined;
	int err;
};

/* 0 or -ENOMEM; live_run_close() in any case. */
int live_run_open(struct live_run *l, const struct live_run_opts *o) must_check;
/* Starts the thread. 0 or negative errno. */
int live_run_start(struct live_run *l, struct sink *sink) must_check;
/* Waits until all that was put in is read; nothing more may be put in. How the run went; -ESRCH: it was never started. */
int live_run_end(struct live_run *l) must_check;
void live_run_close(struct live_run *l);
