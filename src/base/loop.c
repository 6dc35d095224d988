/*
 * Every source is a descriptor in the epoll set with a kind. A source removed while events are being handled is only
 * marked: the batch of events may still point to it, and it is freed when the batch is done.
 */
#include "base/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum loop_source_kind { SOURCE_FD, SOURCE_TIMER, SOURCE_SIGNAL, SOURCE_CHILD };
enum { LOOP_BATCH = 32 };

struct loop_source {
	struct loop_source *next;
	enum loop_source_kind kind;
	int fd;
	bool dead;
	bool counted; /* in nr_live */
	bool once; /* a timer without an interval */
	pid_t pid;
	loop_fn fn;
	void *ctx;
};

struct loop {
	int epoll;
	struct loop_source *sources;
	unsigned nr_live; /* signals do not count: nobody waits for a signal alone */
	sigset_t old_signals;
	bool signals_blocked;
};

struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0 || sigprocmask(SIG_SETMASK, NULL, &l->old_signals)) {
		free(l);
		return NULL;
	}
	return l;
}

static void source_free(struct loop_source *s)
{
	if (s->kind != SOURCE_FD && s->fd >= 0)
		(void)close(s->fd);
	free(s);
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	for (struct loop_source *s = l->sources, *next; s; s = next) {
		next = s->next;
		source_free(s);
	}
	if (l->signals_blocked)
		(void)sigprocmask(SIG_SETMASK, &l->old_signals, NULL);
	(void)close(l->epoll);
	free(l);
}

static void sweep(struct loop *l)
{
	struct loop_source **link = &l->sources;
	while (*link) {
		struct loop_source *s = *link;
		if (!s->dead) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		source_free(s);
	}
}

/* Takes fd over, except for SOURCE_FD. */
static int source_add(struct loop *l, struct loop_source init, u32 events, struct loop_source **ret)
{
	struct loop_source *s = malloc(sizeof(*s));
	if (!s) {
		if (init.kind != SOURCE_FD)
			(void)close(init.fd);
		return -ENOMEM;
	}
	*s = init;
	struct epoll_event ev = { .events = events, .data.ptr = s };
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, s->fd, &ev)) {
		int err = -errno;
		source_free(s);
		return err;
	}
	s->next = l->sources;
	l->sources = s;
	s->counted = s->kind != SOURCE_SIGNAL;
	l->nr_live += s->counted;
	if (ret)
		*ret = s;
	return 0;
}

int loop_add_fd(struct loop *l, int fd, u32 events, loop_fn fn, void *ctx, struct loop_source **ret)
{
	struct loop_source s = { .kind = SOURCE_FD, .fd = fd, .fn = fn, .ctx = ctx };
	return source_add(l, s, events, ret);
}

static struct timespec timespec_of(u64 ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000) };
}

int loop_add_timer(struct loop *l, u64 first_ns, u64 interval_ns, loop_fn fn, void *ctx,
		   struct loop_source **ret)
{
	/* A zero start would disarm it. */
	struct itimerspec its = { .it_value = timespec_of(first_ns ? first_ns : 1),
				  .it_interval = timespec_of(interval_ns) };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, 0, &its, NULL)) {
		int err = -errno;
		(void)close(fd);
		return err;
	}
	struct loop_source s = {
		.kind = SOURCE_TIMER, .fd = fd, .once = !interval_ns, .fn = fn, .ctx = ctx
	};
	return source_add(l, s, EPOLLIN, ret);
}

int loop_add_signal(struct loop *l, int signo, loop_fn fn, void *ctx)
{
	sigset_t set;
	(void)sigemptyset(&set);
	if (sigaddset(&set, signo))
		return -errno;
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (sigprocmask(SIG_BLOCK, &set, NULL)) {
		int err = -errno;
		(void)close(fd);
		return err;
	}
	l->signals_blocked = true;
	struct loop_source s = { .kind = SOURCE_SIGNAL, .fd = fd, .fn = fn, .ctx = ctx };
	return source_add(l, s, EPOLLIN, NULL);
}

int loop_add_child(struct loop *l, pid_t pid, loop_fn fn, void *ctx)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	struct loop_source s = { .kind = SOURCE_CHILD, .fd = fd, .pid = pid, .fn = fn, .ctx = ctx };
	return source_add(l, s, EPOLLIN, NULL);
}

static void uncount(struct loop *l, struct loop_source *s)
{
	l->nr_live -= s->counted;
	s->counted = false;
}

void loop_remove(struct loop *l, struct loop_source *s)
{
	if (s->dead)
		return;
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	s->dead = true;
	uncount(l, s);
}

const sigset_t *loop_old_signals(const struct loop *l)
{
	return &l->old_signals;
}

static int dispatch(struct loop *l, struct loop_source *s, u32 events)
{
	u64 expired;
	struct signalfd_siginfo si;
	int status;
	switch (s->kind) {
	case SOURCE_FD: return s->fn(s->ctx, events);
	case SOURCE_TIMER:
		if (read(s->fd, &expired, sizeof(expired)) != sizeof(expired))
			return 0;
		if (s->once)
			uncount(l, s);
		return s->fn(s->ctx, expired);
	case SOURCE_SIGNAL:
		if (read(s->fd, &si, sizeof(si)) != sizeof(si))
			return 0;
		return s->fn(s->ctx, si.ssi_signo);
	case SOURCE_CHILD:
		if (waitpid(s->pid, &status, WNOHANG) <= 0)
			return 0;
		loop_remove(l, s);
		return s->fn(s->ctx, (u64)(unsigned)status);
	}
	return 0;
}

int loop_step(struct loop *l, int timeout_ms)
{
	struct epoll_event events[LOOP_BATCH];
	int nr = epoll_wait(l->epoll, events, LOOP_BATCH, timeout_ms);
	if (nr < 0)
		return errno == EINTR ? 0 : -errno;
	int ret = 0;
	for (int i = 0; i < nr && !ret; i++) {
		struct loop_source *s = events[i].data.ptr;
		if (!s->dead)
			ret = dispatch(l, s, events[i].events);
	}
	sweep(l);
	return ret;
}

int loop_run(struct loop *l)
{
	int ret = 0;
	while (!ret && l->nr_live)
		ret = loop_step(l, -1);
	return ret < 0 ? ret : 0;
}
