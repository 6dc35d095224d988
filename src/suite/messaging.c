/*
 * sched messaging: groups of 20 senders and 20 receivers. Each sender sends `loops` messages of 100 bytes to each receiver of its group. All of
 * them exist and wait before the clock starts.
 */
#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PER_GROUP = 20, MESSAGE = 100, GROUPS_MAX = 1000, GROUPS_DEFAULT = 10, LOOPS_DEFAULT = 100 };

struct crowd {
	u64 loops;
	int ready[2], start[2];
	int (*links)[2]; /* [group * PER_GROUP + receiver] */
	u32 nr_groups;
};

struct talker {
	struct crowd *crowd;
	u32 group, index;
	bool sends;
	pthread_t thread;
	pid_t pid;
	int err;
};

static int wait_for_start(struct crowd *c)
{
	char byte = 0;
	if (write(c->ready[1], &byte, 1) != 1)
		return -EPIPE;
	/* One byte each. */
	return read(c->start[0], &byte, 1) == 1 ? 0 : -EPIPE;
}

static int send_all(struct crowd *c, u32 group)
{
	char message[MESSAGE] = { 0 };
	for (u64 n = 0; n < c->loops; n++)
		for (u32 i = 0; i < PER_GROUP; i++)
			for (size_t done = 0; done < sizeof(message);) {
				ssize_t ret = write(c->links[group * PER_GROUP + i][1],
						    message + done, sizeof(message) - done);
				if (ret < 0 && errno != EINTR)
					return -errno;
				done += ret > 0 ? (size_t)ret : 0;
			}
	return 0;
}

static int receive_all(struct crowd *c, int fd)
{
	char message[MESSAGE];
	for (u64 left = c->loops * PER_GROUP * MESSAGE; left;) {
		ssize_t ret = read(fd, message, min(left, (u64)sizeof(message)));
		if (!ret || (ret < 0 && errno != EINTR))
			return ret ? -errno : -EPIPE;
		left -= ret > 0 ? (u64)ret : 0;
	}
	return 0;
}

static int talk(struct talker *t)
{
	struct crowd *c = t->crowd;
	int err = wait_for_start(c);
	if (err)
		return err;
	return t->sends ? send_all(c, t->group)
			: receive_all(c, c->links[t->group * PER_GROUP + t->index][0]);
}

static void *talk_thread(void *arg)
{
	struct talker *t = arg;
	t->err = talk(t);
	return NULL;
}

static int start_talker(struct talker *t, bool thread)
{
	if (thread)
		return -pthread_create(&t->thread, NULL, talk_thread, t);
	pid_t parent = getpid();
	t->pid = fork();
	if (!t->pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() != parent || talk(t) ? 1 : 0);
	}
	return t->pid < 0 ? -errno : 0;
}

static int end_talker(struct talker *t, bool thread)
{
	int status = 0;
	if (thread) {
		pthread_join(t->thread, NULL);
		return t->err;
	}
	while (waitpid(t->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -EIO : 0;
}

static int read_ready(struct crowd *c, u32 nr)
{
	char byte;
	for (; nr; nr--)
		if (read(c->ready[0], &byte, 1) != 1)
			return -EPIPE;
	return 0;
}

static int let_go(struct crowd *c, u32 nr)
{
	char bytes[256] = { 0 };
	while (nr) {
		ssize_t ret = write(c->start[1], bytes, min(nr, (u32)sizeof(bytes)));
		if (ret <= 0)
			return -EPIPE;
		nr -= (u32)ret;
	}
	return 0;
}

/* Those that wait for the start read its end instead. */
static void abandon(struct crowd *c, struct talker *talkers, u32 nr, bool thread)
{
	for (u32 i = 0; i < nr && !thread; i++)
		(void)kill(talkers[i].pid, SIGKILL);
	close(c->start[1]);
	c->start[1] = -1;
}

static int run_crowd(struct crowd *c, struct talker *talkers, u32 nr, bool thread, u64 *ns)
{
	u32 started = 0;
	int err = 0;
	for (; started < nr && !err; started += !err) {
		u32 in_group = started % (2 * PER_GROUP);
		talkers[started] = (struct talker){ .crowd = c,
						    .group = started / (2 * PER_GROUP),
						    .index = in_group % PER_GROUP,
						    .sends = in_group >= PER_GROUP };
		err = start_talker(&talkers[started], thread);
	}
	if (!err)
		err = read_ready(c, nr);
	u64 start = clock_monotonic_ns();
	if (!err)
		err = let_go(c, nr);
	if (err)
		abandon(c, talkers, started, thread);
	for (u32 i = 0; i < started; i++) {
		int ended = end_talker(&talkers[i], thread);
		err = err ? err : ended;
	}
	*ns = clock_monotonic_ns() - start;
	return err;
}

static int open_links(struct crowd *c, bool use_pipe)
{
	u32 nr = c->nr_groups * PER_GROUP;
	c->links = calloc(nr, sizeof(*c->links));
	if (!c->links)
		return -ENOMEM;
	memset(c->links, 0xff, nr * sizeof(*c->links));
	if (pipe2(c->ready, O_CLOEXEC) || pipe2(c->start, O_CLOEXEC))
		return -errno;
	for (u32 i = 0; i < nr; i++)
		if (use_pipe ? pipe2(c->links[i], O_CLOEXEC)
			     : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->links[i]))
			return -errno;
	return 0;
}

static void close_pair(const int *pair)
{
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

static void close_links(struct crowd *c)
{
	for (u32 i = 0; c->links && i < c->nr_groups * PER_GROUP; i++)
		close_pair(c->links[i]);
	close_pair(c->ready);
	close_pair(c->start);
	free(c->links);
}

static void print(const struct suite_params *p, struct suite_run *r, u32 groups, u64 ns)
{
	const char *what = p->use_threads ? "threads" : "processes";
	suite_add(r, NULL, "time", "s", (double)ns / 1e9);
	if (p->simple) {
		suite_simple_time(r, ns);
		return;
	}
	strbuf_printf(&r->text,
		      "# %d sender and receiver %s per group\n# %u groups == %u %s run\n\n",
		      PER_GROUP, what, groups, groups * 2 * PER_GROUP, what);
	suite_total_time(r, ns);
}

int suite_messaging(const struct suite_params *p, struct suite_run *r)
{
	struct crowd c = { .ready = { -1, -1 }, .start = { -1, -1 } };
	u64 ns = 0;
	int err = suite_limit(r, "number of groups", p->groups, GROUPS_DEFAULT, GROUPS_MAX,
			      &c.nr_groups);
	if (!err)
		err = suite_loops(r, p->loops, LOOPS_DEFAULT, &c.loops);
	if (err)
		return err;
	u32 nr = c.nr_groups * 2 * PER_GROUP;
	struct talker *talkers = calloc(nr, sizeof(*talkers));
	err = talkers ? open_links(&c, p->use_pipe) : -ENOMEM;
	if (!err)
		err = run_crowd(&c, talkers, nr, p->use_threads, &ns);
	close_links(&c);
	free(talkers);
	if (err) {
		diag_error(r->diag, err, "cannot run %u %s that send messages: %s", nr,
			   p->use_threads ? "threads" : "processes", strerror(-err));
		if (err == -EMFILE)
			diag_hint(r->diag, "more open files: ulimit -n %u", 2 * nr + 64);
		return err;
	}
	print(p, r, c.nr_groups, ns);
	return 0;
}
