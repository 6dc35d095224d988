/*
 * A run is over when the thread has used its CPU time, not when the clock says so: what it waits for a CPU meanwhile is not part of it. perf's threads
 * burn until the clock says so, so that a busy machine replays less than was recorded.
 */
#include "session/sched_replay.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 8192, STACK_BYTES = 256 << 10, TRIES = 10, NAP_NS = 10000, TEST_NS = 1000000 };

struct player {
	struct sched_replay *replay;
	const struct replay_task *task;
	u64 cpu_ns; /* of the last round */
};

struct sched_replay {
	struct sched_replay_costs costs;
	struct player *players;
	pthread_t *threads;
	size_t nr, nr_started;
	sem_t *wakes; /* [wake-up] */
	u64 nr_wakes;

	pthread_mutex_t lock;
	pthread_cond_t change;
	u64 round; /* that threads are to do, from 1 */
	size_t nr_playing;
	bool over;
};

static void burn(u64 ns)
{
	u64 end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void nap(u64 ns)
{
	struct timespec left = { .tv_sec = (time_t)(ns / NS_PER_SEC),
				 .tv_nsec = (long)(ns % NS_PER_SEC) };
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

struct sched_replay_costs sched_replay_measure(void)
{
	struct sched_replay_costs c = { UINT64_MAX, UINT64_MAX, 0, 0 };
	u64 start;
	for (int i = 0; i < TRIES; i++) {
		start = clock_monotonic_ns();
		burn(0);
		c.run_ns = min(c.run_ns, clock_monotonic_ns() - start);
		start = clock_monotonic_ns();
		nap(NAP_NS);
		c.sleep_ns = min(c.sleep_ns, clock_monotonic_ns() - start);
	}
	c.sleep_ns -= min(c.sleep_ns, (u64)NAP_NS);
	start = clock_monotonic_ns();
	burn(TEST_NS);
	c.run_test_ns = clock_monotonic_ns() - start;
	start = clock_monotonic_ns();
	nap(TEST_NS);
	c.sleep_test_ns = clock_monotonic_ns() - start;
	return c;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void do_step(struct sched_replay *r, const struct replay_step *s)
{
	switch (s->kind) {
	case REPLAY_RUN: burn(s->value - min(s->value, r->costs.run_ns)); break;
	case REPLAY_NAP: nap(s->value - min(s->value, r->costs.sleep_ns)); break;
	case REPLAY_WAKE: (void)sem_post(&r->wakes[s->value]); break;
	case REPLAY_SLEEP:
		while (sem_wait(&r->wakes[s->value]) && errno == EINTR)
			;
		break;
	}
}

/* False: there are no more rounds. */
static bool wait_round(struct sched_replay *r, u64 round)
{
	pthread_mutex_lock(&r->lock);
	while (r->round < round && !r->over)
		pthread_cond_wait(&r->change, &r->lock);
	bool go = !r->over;
	pthread_mutex_unlock(&r->lock);
	return go;
}

static void end_round(struct sched_replay *r)
{
	pthread_mutex_lock(&r->lock);
	if (!--r->nr_playing)
		pthread_cond_broadcast(&r->change);
	pthread_mutex_unlock(&r->lock);
}

static void *play(void *arg)
{
	struct player *p = arg;
	for (u64 round = 1; wait_round(p->replay, round); round++) {
		u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		vec_for_each (&p->task->steps, s)
			do_step(p->replay, s);
		p->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		end_round(p->replay);
	}
	return NULL;
}

struct sched_replay_round sched_replay_round(struct sched_replay *r)
{
	struct sched_replay_round ret = { 0 };
	u64 start = clock_monotonic_ns();
	pthread_mutex_lock(&r->lock);
	r->nr_playing = r->nr;
	r->round++;
	pthread_cond_broadcast(&r->change);
	while (r->nr_playing)
		pthread_cond_wait(&r->change, &r->lock);
	pthread_mutex_unlock(&r->lock);
	ret.wall_ns = clock_monotonic_ns() - start;
	for (size_t i = 0; i < r->nr; i++)
		ret.cpu_ns += r->players[i].cpu_ns;
	return ret;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static int start_threads(struct sched_replay *r, const struct replay_task *tasks, struct diag *d)
{
	pthread_attr_t attr;
	int err = -pthread_attr_init(&attr);
	if (err)
		return err;
	err = -pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (size_t i = 0; i < r->nr && !err; i++) {
		r->players[i] = (struct player){ .replay = r, .task = &tasks[i] };
		err = -pthread_create(&r->threads[i], &attr, play, &r->players[i]);
		r->nr_started += !err;
	}
	pthread_attr_destroy(&attr);
	if (err) {
		diag_error(d, err, "cannot start thread %zu of %zu: %s", r->nr_started + 1, r->nr,
			   strerror(-err));
		diag_hint(d, "'ulimit -u', or the pids controller of the cgroup, limits threads");
	}
	return err;
}

int sched_replay_new(const struct replay_plan *plan, const struct sched_replay_costs *costs,
		     struct sched_replay **ret, struct diag *d)
{
	size_t nr;
	const struct replay_task *tasks = replay_plan_tasks(plan, &nr);
	if (nr > TASKS_MAX) {
		diag_error(d, -E2BIG,
			   "%zu tasks are too many to replay: at most %d threads are started", nr,
			   TASKS_MAX);
		return -E2BIG;
	}
	struct sched_replay *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->costs = *costs;
	r->nr = nr;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->change, NULL);
	r->nr_wakes = replay_plan_totals(plan).nr_sleeps;
	r->players = calloc(nr + 1, sizeof(*r->players));
	r->threads = calloc(nr + 1, sizeof(*r->threads));
	r->wakes = calloc(r->nr_wakes + 1, sizeof(*r->wakes));
	int err = r->players && r->threads && r->wakes ? 0 : -ENOMEM;
	for (u64 i = 0; i < r->nr_wakes && !err; i++)
		err = sem_init(&r->wakes[i], 0, 0) ? -errno : 0;
	if (!err)
		err = start_threads(r, tasks, d);
	if (err)
		sched_replay_free(r);
	else
		*ret = r;
	return err;
}

void sched_replay_free(struct sched_replay *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_cond_broadcast(&r->change);
	pthread_mutex_unlock(&r->lock);
	for (size_t i = 0; i < r->nr_started; i++)
		pthread_join(r->threads[i], NULL);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->change);
	free(r->players);
	free(r->threads);
	free(r->wakes);
	free(r);
}
