/* Recordings of the whole system on behalf of some tasks: what others do to them, for as long as they live. */
#include "session/record.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int record_add_scheduler(struct record_session *s)
{
	static const char *const events[] = { "sched:sched_switch", "sched:sched_waking",
					      "sched:sched_wakeup_new", "sched:sched_process_fork" };
	struct event_list *l = &s->events;
	size_t first = l->events.nr;
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(events) && !err; i++)
		err = event_list_add(l, &s->env, events[i], EVENT_USE_SAMPLE, s->tell.diag);
	/* Every one of them, whatever the frequency of the others. */
	for (size_t i = first; i < l->events.nr && !err; i++) {
		struct event_desc *e = &l->events.at[i];
		if (e->terms.has_period || e->terms.has_freq)
			continue;
		e->terms.has_period = true;
		e->attr.sample_period = 1;
	}
	return err;
}

/* As if by their own events, which end with them. */
static int on_ended(void *ctx, u64 events)
{
	struct record_session *s = ctx;
	(void)events;
	for (size_t i = 0; i < s->watched.fds.nr; i++) {
		int *fd = &s->watched.fds.at[i];
		struct pollfd p = { .fd = *fd, .events = POLLIN };
		if (*fd < 0 || poll(&p, 1, 0) != 1)
			continue;
		cleanup_close(fd); /* which takes it out of the loop, too */
		s->watched.nr_gone++;
	}
	return !s->run.child.pid && s->watched.nr_gone == s->watched.fds.nr;
}

int record_watch_tasks(struct record_session *s)
{
	struct diag *d = s->tell.diag;
	for (size_t i = 0; i < s->pids.list.nr; i++) {
		s32 pid = s->pids.list.at[i];
		int fd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (fd < 0 && errno == ESRCH)
			return diag_error(d, -ESRCH, "no such process: %d", pid);
		if (fd < 0)
			continue; /* a thread, or an old kernel: until Ctrl-C then */
		int *slot = vec_push(&s->watched.fds);
		if (!slot) {
			(void)close(fd);
			return -ENOMEM;
		}
		*slot = fd;
		int err = loop_add_fd(s->run.loop, fd, EPOLLIN, on_ended, s, NULL);
		if (err)
			return err;
	}
	return 0;
}
