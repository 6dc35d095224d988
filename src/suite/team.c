#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int start_one(struct suite_team *t, struct suite_member *m, bool pin, void *(*fn)(void *))
{
	pthread_attr_t attr;
	cpu_set_t set;
	pthread_attr_init(&attr);
	CPU_ZERO(&set);
	CPU_SET(suite_cpu(m->index), &set);
	int err = pin ? pthread_attr_setaffinity_np(&attr, sizeof(set), &set) : 0;
	if (!err)
		err = pthread_create(&t->threads[m->index], &attr, fn, m);
	pthread_attr_destroy(&attr);
	return -err;
}

static void give_up(struct suite_team *t)
{
	pthread_mutex_lock(&t->lock);
	t->failed = t->go = true;
	pthread_cond_broadcast(&t->change);
	pthread_mutex_unlock(&t->lock);
	suite_team_join(t);
}

int suite_team_start(struct suite_team *t, struct suite_member *members, u32 nr, bool pin,
		     void *(*fn)(void *), struct suite_run *r)
{
	*t = (struct suite_team){ .nr = nr,
				  .lock = PTHREAD_MUTEX_INITIALIZER,
				  .change = PTHREAD_COND_INITIALIZER };
	t->threads = calloc(nr, sizeof(*t->threads));
	t->tids = calloc(nr, sizeof(*t->tids));
	int err = t->threads && t->tids ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		members[i].team = t;
		members[i].index = i;
		err = start_one(t, &members[i], pin, fn);
		if (!err)
			t->nr_started++;
	}
	if (err) {
		give_up(t);
		diag_error(r->diag, err, "cannot start %u threads: %s", nr, strerror(-err));
	}
	return err;
}

bool suite_team_ready(struct suite_member *m)
{
	struct suite_team *t = m->team;
	t->tids[m->index] = gettid();
	pthread_mutex_lock(&t->lock);
	t->nr_ready++;
	pthread_cond_broadcast(&t->change);
	while (!t->go)
		pthread_cond_wait(&t->change, &t->lock);
	bool ok = !t->failed;
	pthread_mutex_unlock(&t->lock);
	return ok;
}

void suite_team_go(struct suite_team *t)
{
	pthread_mutex_lock(&t->lock);
	while (t->nr_ready < t->nr)
		pthread_cond_wait(&t->change, &t->lock);
	t->go = true;
	pthread_cond_broadcast(&t->change);
	pthread_mutex_unlock(&t->lock);
}

void suite_team_enter(struct suite_member *m)
{
	struct suite_team *t = m->team;
	pthread_mutex_lock(&t->lock);
	t->nr_entered++;
	pthread_cond_broadcast(&t->change);
	pthread_mutex_unlock(&t->lock);
}

/* From its state in /proc; a thread that is gone counts as asleep. */
static bool is_asleep(pid_t tid)
{
	char path[64], text[256];
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	ssize_t len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[max(len, (ssize_t)0)] = '\0';
	const char *end = strrchr(text, ')');
	return !end || strlen(end) < 3 || end[2] != 'R';
}

void suite_team_wait_asleep(struct suite_team *t)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	pthread_mutex_lock(&t->lock);
	while (t->nr_entered < t->nr)
		pthread_cond_wait(&t->change, &t->lock);
	pthread_mutex_unlock(&t->lock);
	for (u32 i = 0; i < t->nr; i++)
		while (!is_asleep(t->tids[i]))
			nanosleep(&pause, NULL);
}

void suite_team_join(struct suite_team *t)
{
	for (u32 i = 0; i < t->nr_started; i++)
		pthread_join(t->threads[i], NULL);
	free(t->threads);
	free(t->tids);
	t->threads = NULL;
	t->tids = NULL;
	t->nr_started = 0;
}

u64 suite_team_run(struct suite_team *t, u64 seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds };
	suite_team_go(t);
	u64 start = clock_monotonic_ns();
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	__atomic_store_n(&t->done, true, __ATOMIC_RELAXED);
	return clock_monotonic_ns() - start;
}
