#include "session/live_run.h"
#include "base/guard.h"
#include "stream/rounds.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

int live_run_open(struct live_run *l, const struct live_run_opts *o)
{
	*l = (struct live_run){ 0 };
	diag_init(&l->diag);
	l->diag.options = o->option_names;
	return rounds_open(&(struct rounds_opts){ .fd = -1, .idle_ns = o->idle_ns }, &l->source);
}

/* One worker: the others would each find every chain again in every round, and the recorder's subject needs its CPUs. */
static void *live_main(void *arg)
{
	struct live_run *l = arg;
	struct timespec ts;
	named_run_begin(&l->run, l->source, NULL);
	l->err = named_run_feed(&l->run, l->sink, 1, &l->diag);
	rounds_refuse(l->source);
	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts))
		l->cost_ns = (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
	return NULL;
}

int live_run_start(struct live_run *l, struct sink *sink)
{
	sigset_t all, old;
	l->sink = sink;
	guard_sigmask(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the one who owns the loop */
	int err = -pthread_create(&l->thread, NULL, live_main, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	l->started = !err;
	return err;
}

int live_run_end(struct live_run *l)
{
	if (!l->started)
		return -ESRCH;
	if (!l->joined) {
		rounds_end(l->source);
		pthread_join(l->thread, NULL);
		l->joined = true;
	}
	return l->err;
}

void live_run_close(struct live_run *l)
{
	(void)!live_run_end(l);
	named_run_done(&l->run);
	if (l->source)
		l->source->ops->close(l->source);
	diag_done(&l->diag);
}
