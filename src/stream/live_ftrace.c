#include "stream/live_ftrace.h"
#include "base/guard.h"

#include "base/clock.h"
#include "base/par.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	BATCH_BYTES = 256 << 10, /* handed on at once */
	TURN_BATCHES = 4, /* of one CPU, before the next one has its turn */
	CPUS_PER_THREAD = 8,
	THREADS_MAX = 8,
	COMMIT_MASK = (1 << 27) - 1, /* above are flags: events were missed */
	WANTED_PART =
		4, /* of a buffer is to be full when it is read: on a busy machine the rest is soon full too */
	FAST_BYTES_PER_US = 256, /* what a CPU that does nothing else fills its buffer with */
	PAUSE_MAX_NS = 10000000,
};

struct live_ftrace_reader {
	struct live_ftrace *live;
	pthread_t thread;
	bool started;
	struct pollfd *fds; /* the first is the end's */
	u32 *cpus;
	unsigned nr;
	u8 *room;
	_Alignas(64) u64 bytes;
	int err;
};

struct live_ftrace {
	const struct tracing *t;
	struct live_ftrace_opts o;
	u32 page_size;
	u64 buffer_bytes; /* of the CPU that has least */
	int end_fd;
	struct live_ftrace_reader *readers;
	unsigned nr_readers;
};

/*
 * A page that is far from full is the one being written to: the reader has caught up. Going on would make a page of every few
 * events, and where our own reads are traced it would never end. The first page of a turn says nothing: it may be what was left of the
 * page at which the reader had caught up before.
 */
static bool has_caught_up(const u8 *page, u32 page_size)
{
	u32 commit;
	memcpy(&commit,
	       page + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(u64) + sizeof(long) - 4
							      : sizeof(u64)),
	       sizeof(commit));
	return (commit & COMMIT_MASK) < page_size / 4 * 3;
}

/*
 * Pages of one CPU that there are now. A CPU that writes as fast as we read would keep us for ever, and the others
 * would lose what nobody reads: after a while they have their turn. last: nothing is written any more, and everything is wanted.
 */
static int drain(struct live_ftrace_reader *r, unsigned i, bool last, u64 *ret_bytes, bool *ret_more)
{
	const struct live_ftrace *l = r->live;
	size_t room = BATCH_BYTES / l->page_size * l->page_size;
	bool more = true;
	u64 bytes = 0;
	for (unsigned turn = 0; more && (last || turn < TURN_BATCHES); turn++) {
		size_t have = 0;
		while (have < max(room, (size_t)l->page_size)) {
			ssize_t n = read(r->fds[i + 1].fd, r->room + have, l->page_size);
			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0 && errno != EAGAIN && errno != EBUSY)
				return -errno;
			if (n <= 0) {
				more = false;
				break;
			}
			/* The kernel gives less than a page only at its end. */
			memset(r->room + have + n, 0, l->page_size - (size_t)n);
			have += l->page_size;
			if (!last && bytes + have > l->page_size &&
			    has_caught_up(r->room + have - l->page_size, l->page_size)) {
				more = false;
				break;
			}
		}
		int err = have ? l->o.take(l->o.ctx, r->cpus[i], r->room, have) : 0;
		if (err)
			return err;
		bytes += have;
		__atomic_store_n(&r->bytes, r->bytes + have, __ATOMIC_RELAXED);
	}
	*ret_bytes = bytes;
	*ret_more = more;
	return 0;
}

static int drain_told(struct live_ftrace_reader *r, unsigned i, bool last, u64 *ret_bytes)
{
	const struct live_ftrace_opts *o = &r->live->o;
	bool more = false;
	if (o->begin)
		o->begin(o->ctx, r->cpus[i]);
	int err = drain(r, i, last, ret_bytes, &more);
	if (!err && !more && o->caught_up)
		o->caught_up(o->ctx, r->cpus[i]);
	return err;
}

/* *ret_most: what the CPU with most of them had. */
static int pass(struct live_ftrace_reader *r, bool all, bool last, u64 *ret_most)
{
	int err = 0;
	u64 most = 0, bytes = 0;
	for (unsigned i = 0; i < r->nr && !err; i++) {
		if (!all && !r->fds[i + 1].revents)
			continue;
		err = drain_told(r, i, last, &bytes);
		most = max(most, bytes);
	}
	*ret_most = most;
	return err;
}

/* How long it takes until the wanted part is full, when events come as they did in the time before. */
static int wait_ms_after(const struct live_ftrace *l, u64 most, u64 elapsed_ns)
{
	u64 wanted = l->buffer_bytes / WANTED_PART, ms = elapsed_ns / 1000000 + 1;
	return (int)max(min(ms * wanted / max(most, (u64)1), l->o.interval_ns / 1000000), (u64)1);
}

/* Older kernels wake for a single event: let some gather, but not more than fit. */
static void let_gather(const struct live_ftrace *l)
{
	u64 ns = l->buffer_bytes / WANTED_PART / FAST_BYTES_PER_US * 1000;
	(void)nanosleep(&(struct timespec){ .tv_nsec = (long)min(ns, (u64)PAUSE_MAX_NS) }, NULL);
}

static int read_loop(struct live_ftrace_reader *r)
{
	const struct live_ftrace *l = r->live;
	int wait_ms = l->o.poll ? 0 : (int)max(l->o.interval_ns / 1000000, (u64)1);
	u64 read_ns = clock_monotonic_ns(), all_ns = read_ns;
	for (;;) {
		int n = poll(r->fds, r->nr + 1, wait_ms);
		if (n < 0 && errno != EINTR)
			return -errno;
		u64 now = clock_monotonic_ns(), most;
		bool end = n > 0 && r->fds[0].revents;
		/* A CPU that is always ready must not keep the others waiting. */
		bool all = n <= 0 || end || l->o.poll || now - all_ns >= l->o.interval_ns;
		int err = pass(r, all, end, &most);
		if (err || end)
			return err;
		all_ns = all ? now : all_ns;
		if (l->o.poll)
			continue;
		wait_ms = wait_ms_after(l, most, now - read_ns);
		read_ns = now;
		if (n > 0 && most <= 2 * (u64)l->page_size)
			let_gather(l);
	}
}

static void *reader_main(void *ctx)
{
	struct live_ftrace_reader *r = ctx;
	int rt = r->live->o.rt_priority;
	if (!r->live->o.poll)
		par_hurry();
	if (rt > 0)
		(void)pthread_setschedparam(pthread_self(), SCHED_FIFO,
					    &(struct sched_param){ .sched_priority = rt });
	__atomic_store_n(&r->err, read_loop(r), __ATOMIC_RELEASE);
	return NULL;
}

u32 live_ftrace_subbuf_bytes(const struct tracing *t, const char *folder)
{
	char path[PATH_MAX];
	struct strbuf s;
	u64 kb;
	u32 page = (u32)sysconf(_SC_PAGESIZE);
	strbuf_init(&s);
	(void)!str_path(path, sizeof(path), "%sbuffer_subbuf_size_kb", folder);
	if (!num_parse_u64(tracing_line(t, path, &s), 10, &kb) && kb && kb <= 1024)
		page = (u32)kb * 1024;
	strbuf_done(&s);
	return page;
}

/* "1408", or "7 (expanded: 1408)" of a buffer that nothing was written to yet. */
static u64 buffer_bytes_of(const struct tracing *t, const char *folder, u32 cpu)
{
	char path[PATH_MAX];
	struct strbuf s;
	strbuf_init(&s);
	(void)!str_path(path, sizeof(path), "%sper_cpu/cpu%u/buffer_size_kb", folder, cpu);
	const char *line = tracing_line(t, path, &s), *later = strstr(line, "expanded: ");
	u64 kb = strtoull(later ? later + strlen("expanded: ") : line, NULL, 10);
	strbuf_done(&s);
	return kb * 1024;
}

static int open_cpu(struct live_ftrace *l, struct live_ftrace_reader *r, u32 cpu, struct diag *d)
{
	char path[PATH_MAX];
	(void)!str_path(path, sizeof(path), "%sper_cpu/cpu%u/%s", l->o.folder, cpu,
			l->o.snapshot ? "snapshot_raw" : "trace_pipe_raw");
	int fd = openat(l->t->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return diag_error(d, -errno, "cannot read %s/%s: %s", l->t->path, path,
				  strerror(errno));
	u64 bytes = buffer_bytes_of(l->t, l->o.folder, cpu);
	l->buffer_bytes = min(l->buffer_bytes, max(bytes, (u64)l->page_size * WANTED_PART));
	r->cpus[r->nr] = cpu;
	r->fds[++r->nr] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

static int reader_init(struct live_ftrace *l, struct live_ftrace_reader *r, unsigned per)
{
	r->live = l;
	r->fds = calloc(per + 1, sizeof(*r->fds));
	r->cpus = calloc(per + 1, sizeof(*r->cpus));
	r->room = malloc(max((size_t)BATCH_BYTES, (size_t)l->page_size));
	if (!r->fds || !r->cpus || !r->room)
		return -ENOMEM;
	r->fds[0] = (struct pollfd){ .fd = l->end_fd, .events = POLLIN };
	return 0;
}

int live_ftrace_open(struct live_ftrace **ret, const struct tracing *t,
		     const struct live_ftrace_opts *o, struct diag *d)
{
	struct live_ftrace *l = calloc(1, sizeof(*l));
	unsigned nr = cpuset_count(o->cpus);
	if (!l)
		return -ENOMEM;
	*l = (struct live_ftrace){ .t = t, .o = *o };
	l->o.interval_ns = o->interval_ns ? o->interval_ns : 1000000000;
	l->page_size = live_ftrace_subbuf_bytes(t, o->folder);
	l->buffer_bytes = UINT64_MAX >> 16;
	l->end_fd = eventfd(0, EFD_CLOEXEC);
	unsigned threads = o->threads ? o->threads
				      : min(max((nr + CPUS_PER_THREAD - 1) / CPUS_PER_THREAD, 2u),
					    (unsigned)THREADS_MAX);
	threads = max(min(threads, nr), 1u);
	l->readers = calloc(threads, sizeof(*l->readers));
	int err = l->end_fd < 0 ? -errno : l->readers ? 0 : -ENOMEM;
	for (; !err && l->nr_readers < threads; l->nr_readers++)
		err = reader_init(l, &l->readers[l->nr_readers], nr / threads + 1);
	unsigned i = 0;
	for (int cpu = cpuset_next(o->cpus, 0); cpu >= 0 && !err;
	     cpu = cpuset_next(o->cpus, (unsigned)cpu + 1))
		err = open_cpu(l, &l->readers[i++ % threads], (u32)cpu, d);
	if (err) {
		live_ftrace_close(l);
		return err;
	}
	*ret = l;
	return 0;
}

u32 live_ftrace_page_size(const struct live_ftrace *l)
{
	return l->page_size;
}

int live_ftrace_start(struct live_ftrace *l)
{
	sigset_t all, old;
	int err = 0;
	/* Signals are the main thread's. */
	guard_sigmask(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	for (unsigned i = 0; i < l->nr_readers && !err; i++) {
		err = -pthread_create(&l->readers[i].thread, NULL, reader_main, &l->readers[i]);
		l->readers[i].started = !err;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int live_ftrace_stop(struct live_ftrace *l)
{
	u64 one = 1;
	int err = 0;
	(void)!write(l->end_fd, &one, sizeof(one));
	for (unsigned i = 0; i < l->nr_readers; i++) {
		struct live_ftrace_reader *r = &l->readers[i];
		if (r->started)
			(void)pthread_join(r->thread, NULL);
		r->started = false;
		err = err ? err : r->err;
	}
	return err;
}

u64 live_ftrace_bytes(const struct live_ftrace *l)
{
	u64 n = 0;
	for (unsigned i = 0; i < l->nr_readers; i++)
		n += __atomic_load_n(&l->readers[i].bytes, __ATOMIC_RELAXED);
	return n;
}

int live_ftrace_error(const struct live_ftrace *l)
{
	for (unsigned i = 0; i < l->nr_readers; i++) {
		int err = __atomic_load_n(&l->readers[i].err, __ATOMIC_ACQUIRE);
		if (err)
			return err;
	}
	return 0;
}

void live_ftrace_close(struct live_ftrace *l)
{
	if (!l)
		return;
	(void)live_ftrace_stop(l);
	for (unsigned i = 0; i < l->nr_readers; i++) {
		struct live_ftrace_reader *r = &l->readers[i];
		for (unsigned k = 0; k < r->nr; k++)
			(void)close(r->fds[k + 1].fd);
		free(r->fds);
		free(r->cpus);
		free(r->room);
	}
	free(l->readers);
	cleanup_close(&l->end_fd);
	free(l);
}

static u64 stat_line(const char *text, const char *word)
{
	const char *p = strstr(text, word);
	return p ? strtoull(p + strlen(word), NULL, 10) : 0;
}

void live_ftrace_read_stats(const struct tracing *t, const char *folder, const struct cpuset *cpus,
			    struct live_ftrace_stats *ret)
{
	struct strbuf s;
	char path[PATH_MAX];
	*ret = (struct live_ftrace_stats){ 0 };
	strbuf_init(&s);
	for (int cpu = cpuset_next(cpus, 0); cpu >= 0; cpu = cpuset_next(cpus, (unsigned)cpu + 1)) {
		(void)!str_path(path, sizeof(path), "%sper_cpu/cpu%d/stats", folder, cpu);
		strbuf_reset(&s);
		if (tracing_read(t, path, &s))
			continue;
		const char *text = strbuf_cstr(&s);
		ret->entries += stat_line(text, "entries: ");
		/* "commit overrun" counts nested writes that found no room, and has the word too. */
		ret->overrun += stat_line(text, "\noverrun: ");
		ret->dropped += stat_line(text, "dropped events: ");
		ret->read += stat_line(text, "read events: ");
	}
	strbuf_done(&s);
}
