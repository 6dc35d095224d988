/* breakpoint thread|enable: what hardware breakpoints cost threads that start, and to switch them. */
#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REPEAT_DEFAULT = 10, BREAKPOINTS_MAX = 64 };

/* The word is never accessed: hitting the breakpoint would be another benchmark. */
static int open_breakpoint(const u64 *word, bool disabled)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT,
					.size = sizeof(attr),
					.bp_type = HW_BREAKPOINT_RW,
					.bp_addr = (u64)(uintptr_t)word,
					.bp_len = HW_BREAKPOINT_LEN_1,
					.inherit = 1,
					.disabled = disabled,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int explain(struct suite_run *r, int err)
{
	diag_error(r->diag, err, "cannot set a hardware breakpoint: %s", strerror(-err));
	if (err == -ENOSPC)
		diag_hint(r->diag, "the CPU has few of them (x86: 4), and others may be in use");
	else if (err == -EACCES || err == -EPERM)
		diag_hint(r->diag, "'doctor' shows who may use perf events here");
	return err;
}

/* ---- thread ----------------------------------------------------------------------------------------------------- */

struct spawner {
	u32 nr;
	int err;
	pthread_t thread;
	pthread_t *threads; /* [nr] */
};

static void *do_nothing(void *arg)
{
	return NULL;
}

static void *spawn(void *arg)
{
	struct spawner *s = arg;
	u32 nr = 0;
	for (; nr < s->nr && !s->err; nr += !s->err)
		s->err = -pthread_create(&s->threads[nr], NULL, do_nothing, NULL);
	for (u32 i = 0; i < nr; i++)
		pthread_join(s->threads[i], NULL);
	return NULL;
}

static int spawn_all(struct spawner *s, u32 nr)
{
	u32 started = 0;
	int err = 0;
	for (; started < nr && !err; started += !err)
		err = -pthread_create(&s[started].thread, NULL, spawn, &s[started]);
	for (u32 i = 0; i < started; i++) {
		pthread_join(s[i].thread, NULL);
		err = err ? err : s[i].err;
	}
	return err;
}

static int time_threads(struct suite_run *r, u32 threads, u32 parallel, u32 repeat, u64 *ns)
{
	struct spawner *s = calloc(parallel, sizeof(*s));
	pthread_t *ids = calloc((size_t)parallel * threads, sizeof(*ids));
	int err = s && ids ? 0 : -ENOMEM;
	for (u32 i = 0; i < parallel && !err; i++)
		s[i] = (struct spawner){ .nr = threads, .threads = ids + (size_t)i * threads };
	if (!err)
		err = spawn_all(s, parallel);
	u64 start = clock_monotonic_ns();
	for (u32 i = 0; i < repeat && !err; i++)
		err = spawn_all(s, parallel);
	*ns = clock_monotonic_ns() - start;
	free(s);
	free(ids);
	if (err)
		diag_error(r->diag, err, "cannot start threads: %s", strerror(-err));
	return err;
}

int suite_breakpoint_thread(const struct suite_params *p, struct suite_run *r)
{
	u32 threads, parallel, repeat, nr = 1;
	u64 word = 0, ns = 0;
	int fds[BREAKPOINTS_MAX];
	u32 opened = 0;
	int err = suite_limit(r, "number of threads", p->threads, 1, SUITE_THREADS_MAX, &threads);
	if (!err)
		err = suite_limit(r, "parallelism", p->parallel, 1, SUITE_THREADS_MAX, &parallel);
	if (!err)
		err = suite_limit(r, "number of breakpoints", p->breakpoints, 1, BREAKPOINTS_MAX,
				  &nr);
	if (!err)
		err = suite_limit(r, "number of runs", p->repeat, REPEAT_DEFAULT, SUITE_RUNS_MAX,
				  &repeat);
	if (err)
		return err;
	for (; opened < nr && !err; opened += !err) {
		fds[opened] = open_breakpoint(&word, false);
		err = fds[opened] < 0 ? explain(r, fds[opened]) : 0;
	}
	if (!err)
		err = time_threads(r, threads, parallel, repeat, &ns);
	for (u32 i = 0; i < opened; i++)
		close(fds[i]);
	if (err)
		return err;
	double us = (double)ns / 1e3 / repeat / threads;
	suite_add(r, NULL, "time_per_thread", "us", us);
	if (p->simple) {
		suite_simple_time(r, ns);
		return 0;
	}
	strbuf_printf(&r->text,
		      "# Created/joined %u threads with %u breakpoints and %u parallelism\n",
		      repeat, nr, parallel);
	suite_total_time(r, ns);
	strbuf_printf(&r->text, "\n %14f usecs/op\n %14f usecs/op/cpu\n", us, us * parallel);
	return 0;
}

/* ---- enable ----------------------------------------------------------------------------------------------------- */

struct busy {
	struct suite_team *team;
	bool active;
};

static void *enable_thread(void *arg)
{
	struct suite_member *m = arg;
	const struct busy *b = m->work;
	const struct timespec pause = { .tv_nsec = 10000000 };
	if (!suite_team_ready(m))
		return NULL;
	while (!suite_team_is_done(m->team))
		if (!b->active)
			nanosleep(&pause, NULL);
	return NULL;
}

static int switch_often(int fd, u32 repeat, u64 *ns)
{
	u64 start = clock_monotonic_ns();
	for (u32 i = 0; i < repeat; i++)
		if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	*ns = clock_monotonic_ns() - start;
	return 0;
}

static int time_switching(const struct suite_params *p, struct suite_run *r, int fd, u32 repeat,
			  u64 *ns)
{
	u32 nr = (u32)(p->passive + p->active);
	struct suite_member *members = calloc(nr + 1, sizeof(*members));
	struct busy *works = calloc(nr + 1, sizeof(*works));
	struct suite_team team;
	int err = members && works ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++) {
		works[i].active = i < p->active;
		members[i].work = &works[i];
	}
	if (!err && nr)
		err = suite_team_start(&team, members, nr, false, enable_thread, r);
	if (!err) {
		if (nr)
			suite_team_go(&team);
		err = switch_often(fd, 1, ns);
		if (!err)
			err = switch_often(fd, repeat, ns);
		if (err)
			diag_error(r->diag, err, "cannot switch a breakpoint: %s", strerror(-err));
		if (nr) {
			__atomic_store_n(&team.done, true, __ATOMIC_RELAXED);
			suite_team_join(&team);
		}
	}
	free(members);
	free(works);
	return err;
}

int suite_breakpoint_enable(const struct suite_params *p, struct suite_run *r)
{
	u32 repeat, checked;
	u64 word = 0, ns = 0;
	int err = suite_limit(r, "number of passive threads", p->passive, 0, SUITE_THREADS_MAX,
			      &checked);
	if (!err)
		err = suite_limit(r, "number of active threads", p->active, 0, SUITE_THREADS_MAX,
				  &checked);
	if (!err)
		err = suite_limit(r, "number of runs", p->repeat, REPEAT_DEFAULT, SUITE_RUNS_MAX,
				  &repeat);
	if (err)
		return err;
	int fd = open_breakpoint(&word, false);
	if (fd < 0)
		return explain(r, fd);
	err = time_switching(p, r, fd, repeat, &ns);
	close(fd);
	if (err)
		return err;
	suite_add(r, NULL, "time_per_op", "us", (double)ns / 1e3 / repeat);
	if (p->simple) {
		suite_simple_time(r, ns);
		return 0;
	}
	strbuf_printf(
		&r->text,
		"# Enabled/disabled breakpoint %u time with %llu passive and %llu active threads\n",
		repeat, (unsigned long long)p->passive, (unsigned long long)p->active);
	suite_total_time(r, ns);
	strbuf_printf(&r->text, "\n %14f usecs/op\n", (double)ns / 1e3 / repeat);
	return 0;
}
