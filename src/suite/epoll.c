/* epoll wait|ctl: threads with event descriptors each, in one epoll instance for all or one for each thread. */
#include "base/clock.h"
#include "suite/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FDS_DEFAULT = 64, FDS_MAX = 1 << 16, SECONDS_DEFAULT = 8, NESTED_MAX = 5, NR_OPS = 3 };

struct poll_work {
	const struct suite_params *p;
	int *fds;
	u32 nr_fds;
	int poll; /* the innermost one, which files are in */
	int wait; /* the outermost, which is waited on */
	u32 seed;
	u64 ops[NR_OPS]; /* EPOLL_CTL_ADD, MOD, DEL */
};

struct poll_bench {
	const struct suite_params *p;
	struct suite_run *r;
	u32 nr, nr_fds, seconds, nested, nr_polls;
	struct suite_member *members;
	struct poll_work *works;
	int *fds, *polls; /* polls: chains of nested + 1 */
	double *rates;
};

static int fail(struct poll_bench *b, const char *what)
{
	int err = -errno;
	diag_error(b->r->diag, err, "cannot %s: %s", what, strerror(-err));
	if (err == -EMFILE)
		diag_hint(b->r->diag, "more open files: ulimit -n %llu",
			  (unsigned long long)b->nr * b->nr_fds + 64);
	return err;
}

/* A chain: each instance watches the one before it. */
static int open_chain(struct poll_bench *b, int *chain)
{
	for (u32 i = 0; i <= b->nested; i++) {
		struct epoll_event ev = { .events = EPOLLIN };
		chain[i] = epoll_create1(EPOLL_CLOEXEC);
		if (chain[i] < 0)
			return fail(b, "create an epoll instance");
		if (i && epoll_ctl(chain[i], EPOLL_CTL_ADD, chain[i - 1], &ev))
			return fail(b, "nest epoll instances");
	}
	return 0;
}

static int open_files(struct poll_bench *b, bool own_polls)
{
	u32 chain = b->nested + 1;
	b->nr_polls = own_polls ? b->nr : 1;
	b->members = calloc(b->nr, sizeof(*b->members));
	b->works = calloc(b->nr, sizeof(*b->works));
	b->rates = calloc(b->nr, sizeof(*b->rates));
	b->fds = calloc((size_t)b->nr * b->nr_fds, sizeof(*b->fds));
	b->polls = calloc((size_t)b->nr_polls * chain, sizeof(*b->polls));
	if (!b->members || !b->works || !b->rates || !b->fds || !b->polls)
		return -ENOMEM;
	memset(b->fds, 0xff, (size_t)b->nr * b->nr_fds * sizeof(*b->fds));
	memset(b->polls, 0xff, (size_t)b->nr_polls * chain * sizeof(*b->polls));
	for (u32 i = 0; i < b->nr_polls; i++) {
		int err = open_chain(b, b->polls + (size_t)i * chain);
		if (err)
			return err;
	}
	for (size_t i = 0; i < (size_t)b->nr * b->nr_fds; i++) {
		b->fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (b->fds[i] < 0)
			return fail(b, "create an event descriptor");
	}
	for (u32 i = 0; i < b->nr; i++) {
		const int *of = b->polls + (size_t)(own_polls ? i : 0) * chain;
		b->works[i] = (struct poll_work){ .p = b->p,
						  .fds = b->fds + (size_t)i * b->nr_fds,
						  .nr_fds = b->nr_fds,
						  .poll = of[0],
						  .wait = of[b->nested],
						  .seed = i + 1 };
		b->members[i].work = &b->works[i];
	}
	return 0;
}

static void close_all(int *fds, size_t nr)
{
	for (size_t i = 0; fds && i < nr; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(fds);
}

static void close_files(struct poll_bench *b)
{
	close_all(b->fds, (size_t)b->nr * b->nr_fds);
	close_all(b->polls, (size_t)b->nr_polls * (b->nested + 1));
	free(b->members);
	free(b->works);
	free(b->rates);
}

static int begin(struct poll_bench *b, u32 nr_default, bool own_polls)
{
	const struct suite_params *p = b->p;
	int err = suite_limit(b->r, "number of threads", p->threads, nr_default, SUITE_THREADS_MAX,
			      &b->nr);
	if (!err)
		err = suite_limit(b->r, "number of files", p->nr_fds, FDS_DEFAULT, FDS_MAX,
				  &b->nr_fds);
	if (!err)
		err = suite_limit(b->r, "seconds", p->seconds, SECONDS_DEFAULT, SUITE_SECONDS_MAX,
				  &b->seconds);
	if (!err)
		err = suite_limit(b->r, "nesting", p->nested, 0, NESTED_MAX - 1, &b->nested);
	return err ? err : open_files(b, own_polls);
}

static u32 next_random(u32 *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* ---- wait ------------------------------------------------------------------------------------------------------- */

/* The time limit is there so that the end is noticed. */
enum { LIMIT_MS = 100 };

static void *wait_thread(void *arg)
{
	struct suite_member *m = arg;
	struct poll_work *w = m->work;
	u64 count;
	if (!suite_team_ready(m))
		return NULL;
	while (!suite_team_is_done(m->team)) {
		struct epoll_event ev;
		int got = epoll_wait(w->wait, &ev, 1, w->p->nonblocking ? 0 : LIMIT_MS);
		if (got < 0 && errno != EINTR)
			m->err = -errno;
		/* Of a nested one: the inner instance knows which file. */
		if (got > 0 && w->wait != w->poll && epoll_wait(w->poll, &ev, 1, 0) <= 0)
			continue;
		if (got <= 0)
			continue;
		if (!w->p->edge && read(ev.data.fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
			m->err = -errno;
		if (w->p->oneshot) {
			struct epoll_event again = { .events = ev.events | EPOLLONESHOT,
						     .data.fd = ev.data.fd };
			(void)epoll_ctl(w->poll, EPOLL_CTL_MOD, ev.data.fd, &again);
		}
		m->ops++;
	}
	return NULL;
}

struct poll_writer {
	const struct poll_bench *b;
	struct suite_team *team;
	pthread_t thread;
};

/* Makes one file after the other ready, or any. */
static void *write_thread(void *arg)
{
	const struct poll_writer *w = arg;
	const struct poll_bench *b = w->b;
	size_t nr = (size_t)b->nr * b->nr_fds;
	u32 seed = 1;
	u64 one = 1;
	for (size_t i = 0; !suite_team_is_done(w->team); i = (i + 1) % nr) {
		size_t at = b->p->random ? next_random(&seed) % nr : i;
		(void)!write(b->fds[at], &one, sizeof(one));
	}
	return NULL;
}

static int watch_files(struct poll_bench *b)
{
	for (u32 i = 0; i < b->nr; i++)
		for (u32 k = 0; k < b->nr_fds; k++) {
			struct epoll_event ev = { .events = EPOLLIN | (b->p->edge ? EPOLLET : 0) |
							    (b->p->oneshot ? EPOLLONESHOT : 0),
						  .data.fd = b->works[i].fds[k] };
			if (epoll_ctl(b->works[i].poll, EPOLL_CTL_ADD, ev.data.fd, &ev))
				return fail(b, "watch an event descriptor");
		}
	return 0;
}

static int run_wait(struct poll_bench *b)
{
	struct suite_team team;
	struct poll_writer writer = { .b = b, .team = &team };
	int err = suite_team_start(&team, b->members, b->nr, !b->p->no_affinity, wait_thread, b->r);
	if (err)
		return err;
	bool writes = !pthread_create(&writer.thread, NULL, write_thread, &writer);
	u64 ns = suite_team_run(&team, writes ? b->seconds : 0);
	suite_team_join(&team);
	if (writes)
		pthread_join(writer.thread, NULL);
	for (u32 i = 0; i < b->nr && !err; i++) {
		b->rates[i] = (double)b->members[i].ops * 1e9 / (double)ns;
		err = b->members[i].err;
	}
	return err ? err : writes ? 0 : -EAGAIN;
}

static void print_wait(struct poll_bench *b)
{
	struct strbuf *to = &b->r->text;
	struct suite_stats s = suite_stats(b->rates, b->nr);
	for (u32 i = 0; i < b->nr; i++)
		strbuf_printf(to, "[thread %2u] fdmap: %p ... %p [ %.0f ops/sec ]\n", i,
			      (void *)&b->works[i].fds[0], (void *)&b->works[i].fds[b->nr_fds - 1],
			      b->rates[i]);
	strbuf_printf(to, "\nAveraged %.0f operations/sec (+- %.2f%%), total secs = %u\n", s.mean,
		      s.error_percent, b->seconds);
	suite_add(b->r, NULL, "ops_per_second_and_thread", "1/s", s.mean);
}

int suite_epoll_wait(const struct suite_params *p, struct suite_run *r)
{
	struct poll_bench b = { .p = p, .r = r };
	/* One CPU is the writer's. */
	int err = begin(&b, max(suite_nr_cpus(), 2u) - 1, p->multi_queue);
	if (!err)
		err = watch_files(&b);
	if (!err) {
		strbuf_printf(
			&r->text, "Run summary [PID %d]: %u threads monitoring%s on %u file-descriptors for %u secs.\n\n",
			(int)getpid(), b.nr, p->oneshot ? " (EPOLLONESHOT semantics)" : "",
			b.nr_fds, b.seconds);
		err = run_wait(&b);
	}
	if (!err)
		print_wait(&b);
	else if (!r->diag->nr_errors)
		diag_error(r->diag, err, "cannot wait for events: %s", strerror(-err));
	close_files(&b);
	return err;
}

/* ---- ctl -------------------------------------------------------------------------------------------------------- */

static void do_op(struct poll_work *w, int fd, u32 op)
{
	static const int ops[NR_OPS] = { EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL };
	struct epoll_event ev = { .events = op == 1 ? EPOLLOUT : EPOLLIN, .data.fd = fd };
	if (!epoll_ctl(w->poll, ops[op], fd, &ev))
		w->ops[op]++;
}

static void *ctl_thread(void *arg)
{
	struct suite_member *m = arg;
	struct poll_work *w = m->work;
	if (!suite_team_ready(m))
		return NULL;
	while (!suite_team_is_done(m->team)) {
		if (w->p->random) {
			u32 op = next_random(&w->seed) % NR_OPS;
			do_op(w, w->fds[next_random(&w->seed) % w->nr_fds], op);
			continue;
		}
		for (u32 op = 0; op < NR_OPS; op++)
			for (u32 i = 0; i < w->nr_fds; i++)
				do_op(w, w->fds[i], op);
	}
	return NULL;
}

static void print_ctl(struct poll_bench *b)
{
	static const char *const names[NR_OPS] = { "ADD", "MOD", "DEL" };
	static const char *const series[NR_OPS] = { "add", "mod", "del" };
	struct strbuf *to = &b->r->text;
	for (u32 i = 0; i < b->nr; i++) {
		const struct poll_work *w = &b->works[i];
		strbuf_printf(
			to, "[thread %2u] fdmap: %p ... %p [ add: %llu ops; mod: %llu ops; del: %llu ops ]\n",
			i, (void *)&w->fds[0], (void *)&w->fds[b->nr_fds - 1],
			(unsigned long long)w->ops[0], (unsigned long long)w->ops[1],
			(unsigned long long)w->ops[2]);
	}
	strbuf_char(to, '\n');
	for (u32 op = 0; op < NR_OPS; op++) {
		for (u32 i = 0; i < b->nr; i++)
			b->rates[i] = (double)b->works[i].ops[op];
		struct suite_stats s = suite_stats(b->rates, b->nr);
		strbuf_printf(to, "Averaged %.0f %s operations (+- %.2f%%)\n", s.mean, names[op],
			      s.error_percent);
		suite_add(b->r, series[op], "ops_per_thread", "operations", s.mean);
	}
}

int suite_epoll_ctl(const struct suite_params *p, struct suite_run *r)
{
	struct poll_bench b = { .p = p, .r = r };
	struct suite_team team;
	int err = begin(&b, suite_nr_cpus(), false);
	if (!err) {
		strbuf_printf(&r->text,
			      "Run summary [PID %d]: %u threads doing epoll_ctl ops %u "
			      "file-descriptors for %u secs.\n\n",
			      (int)getpid(), b.nr, b.nr_fds, b.seconds);
		err = suite_team_start(&team, b.members, b.nr, !p->no_affinity, ctl_thread, r);
	}
	if (!err) {
		(void)suite_team_run(&team, b.seconds);
		suite_team_join(&team);
		print_ctl(&b);
	}
	close_files(&b);
	return err;
}
