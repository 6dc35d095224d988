/* Reader threads: each empties its group of rings into the sink. */
#include "base/clock.h"
#include "base/guard.h"
#include "base/par.h"
#include "stream/live_perf_impl.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	BUSY_PART = 4, /* a ring with a part of this size to read is filled fast */
	READERS = 8, /* as many as are started before one gets more than its least */
	RINGS_PER_READER_MIN = 2,
	EPOLL_STOP = -1,
	EPOLL_POKE = -2,
	EPOLL_BATCH = 64,
	FIRST_FLUSH_NS = 30000000,
	ROUNDS_OWED = 2, /* what came is settled by the end of the round after its own */
};

int live_perf_make_readers(struct live_perf *lp)
{
	u32 nr = (u32)lp->rings.nr;
	if (!lp->opts.rings_per_reader)
		lp->opts.rings_per_reader = max(nr / READERS, (u32)RINGS_PER_READER_MIN);
	lp->opts.rings_per_reader = min(lp->opts.rings_per_reader, (u32)LIVE_RINGS_PER_READER);
	for (u32 first = 0; first < nr; first += lp->opts.rings_per_reader) {
		struct live_reader *r = vec_push(&lp->readers);
		if (!r)
			return -ENOMEM;
		*r = (struct live_reader){ .lp = lp,
					   .index = (unsigned)lp->readers.nr - 1,
					   .first_ring = first,
					   .nr_rings = min(nr - first, lp->opts.rings_per_reader),
					   .epoll_fd = -1 };
		r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (r->epoll_fd < 0)
			return -errno;
		struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (u64)EPOLL_STOP };
		if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, lp->stop_fd, &ev))
			return -errno;
		ev.data.u64 = (u64)EPOLL_POKE;
		if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, lp->poke_fd, &ev))
			return -errno;
	}
	for (size_t i = 0; i < lp->fds.nr; i++) {
		const struct live_fd *f = &lp->fds.at[i];
		struct live_reader *r = &lp->readers.at[f->ring / lp->opts.rings_per_reader];
		/* Of a ring that is overwritten only the end of the target is news. */
		struct epoll_event ev = { .events = f->overwrite ? 0 : EPOLLIN, .data.u64 = i };
		if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, lp->fds.at[i].fd, &ev))
			return -errno;
	}
	return 0;
}

static void say_gone(struct live_perf *lp)
{
	u64 one = 1;
	(void)!write(lp->gone_fd, &one, sizeof(one));
}

/* Whether with this pass every reader has made one since the round began. Only one reader may end a round. */
static bool claim_round_end(struct live_reader *r, u64 round)
{
	struct live_perf *lp = r->lp;
	pthread_mutex_lock(&lp->lock);
	bool all = lp->claimed < round;
	vec_for_each (&lp->readers, other)
		all = all && (other == r || other->done_round >= round);
	if (all)
		lp->claimed = round;
	pthread_mutex_unlock(&lp->lock);
	return all;
}

/* all: also rings that hold less than min_bytes. */
static int pass(struct live_reader *r, bool all)
{
	struct live_perf *lp = r->lp;
	struct ring_span spans[LIVE_SPANS_MAX];
	struct perf_ring *rings[LIVE_SPANS_MAX];
	size_t nr = 0;
	u64 round = __atomic_load_n(&lp->round, __ATOMIC_ACQUIRE);
	for (u32 i = 0; i < r->nr_rings; i++) {
		struct perf_ring *ring = &lp->rings.at[r->first_ring + i].ring;
		if (perf_ring_peek(ring, &spans[nr]) &&
		    (all || ring_span_len(&spans[nr]) >= lp->opts.min_bytes))
			rings[nr++] = ring;
	}
	bool owed = __atomic_load_n(&lp->rounds_owed, __ATOMIC_RELAXED);
	bool last = (nr || owed) && claim_round_end(r, round);
	r->busy = false;
	for (size_t i = 0; i < nr; i++)
		r->busy |= ring_span_len(&spans[i]) >= lp->ring_bytes / BUSY_PART;
	/* Little goes in one write. Much goes ring by ring: the kernel has each one's room back as soon as it can be. */
	size_t step = r->busy ? 1 : nr;
	int err = !nr && last ? lp->sink.take(lp->sink.ctx, r->index, spans, 0, true) : 0;
	for (size_t i = 0; i < nr; i += step) {
		if (!err)
			err = lp->sink.take(lp->sink.ctx, r->index, spans + i, step,
					    last && i + step == nr);
		for (size_t k = i; k < i + step; k++)
			perf_ring_consume(rings[k], spans[k].head);
	}
	pthread_mutex_lock(&lp->lock);
	r->done_round = max(r->done_round, round);
	if (nr && (lp->opts.at_once || lp->opts.settle))
		__atomic_store_n(&lp->rounds_owed, ROUNDS_OWED, __ATOMIC_RELAXED);
	if (last) {
		if (lp->rounds_owed)
			__atomic_store_n(&lp->rounds_owed, lp->rounds_owed - 1, __ATOMIC_RELAXED);
		__atomic_store_n(&lp->round, round + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lp->lock);
	return err;
}

static void fd_gone(struct live_reader *r, size_t index)
{
	struct live_perf *lp = r->lp;
	struct live_fd *f = &lp->fds.at[index];
	epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, f->fd, NULL);
	f->gone = true;
	pthread_mutex_lock(&lp->lock);
	bool all = ++lp->nr_gone + lp->nr_lasting == lp->fds.nr;
	pthread_mutex_unlock(&lp->lock);
	if (all)
		say_gone(lp);
}

/* A pass was made since the call; when all have, nobody is to wake for it any more. */
static void answer_poke(struct live_reader *r, u64 poke)
{
	struct live_perf *lp = r->lp;
	u64 times;
	pthread_mutex_lock(&lp->lock);
	r->poked = max(r->poked, poke);
	bool all = true;
	vec_for_each (&lp->readers, other)
		all = all && other->poked >= lp->poke;
	if (all)
		(void)!read(lp->poke_fd, &times, sizeof(times));
	pthread_cond_broadcast(&lp->begun);
	pthread_mutex_unlock(&lp->lock);
}

static void *reader_main(void *arg)
{
	struct live_reader *r = arg;
	struct live_perf *lp = r->lp;
	struct epoll_event ready[EPOLL_BATCH];
	par_hurry();
	pthread_mutex_lock(&lp->lock);
	r->tid = gettid();
	pthread_cond_broadcast(&lp->begun);
	pthread_mutex_unlock(&lp->lock);
	/* Early on, names and maps reach the file soon; then at the pace that was asked for. */
	u64 flush_ns = min(lp->opts.flush_ns, (u64)FIRST_FLUSH_NS);
	u64 due_ns = clock_monotonic_ns() + flush_ns;
	bool stop = false;
	while (!stop && !r->err) {
		u64 now = clock_monotonic_ns();
		int wait_ms = due_ns > now ? (int)((due_ns - now + 999999) / 1000000) : 0;
		if (r->busy) /* a flood: half full may be too late */
			wait_ms = min(wait_ms, 1);
		int n = epoll_wait(r->epoll_fd, ready, EPOLL_BATCH, wait_ms);
		stop = n < 0 && errno != EINTR;
		bool poked = false;
		for (int i = 0; i < n; i++)
			poked |= ready[i].data.u64 == (u64)EPOLL_POKE;
		u64 poke = __atomic_load_n(&lp->poke, __ATOMIC_ACQUIRE);
		r->err = pass(r, n <= 0 || poked);
		if (poked)
			answer_poke(r, poke);
		flush_ns = min(flush_ns * 2, lp->opts.flush_ns);
		due_ns = clock_monotonic_ns() + flush_ns;
		for (int i = 0; i < n; i++) {
			if (ready[i].data.u64 == (u64)EPOLL_STOP)
				stop = true;
			else if (ready[i].data.u64 != (u64)EPOLL_POKE &&
				 ready[i].events & (EPOLLHUP | EPOLLERR))
				fd_gone(r, ready[i].data.u64);
		}
	}
	if (!r->err)
		r->err = pass(r, true); /* the events are off: this is all there will be */
	if (r->err) {
		__atomic_store_n(&lp->failed, true, __ATOMIC_RELEASE);
		say_gone(lp);
	}
	answer_poke(r, UINT64_MAX);
	return NULL;
}

static void add_not_us(struct live_perf *lp, struct strbuf *to)
{
	strbuf_printf(to, "common_pid != %d", (int)getpid());
	if (lp->sink.tid)
		strbuf_printf(to, " && common_pid != %d", lp->sink.tid);
	pthread_mutex_lock(&lp->lock);
	vec_for_each (&lp->readers, r) {
		while (!r->tid)
			pthread_cond_wait(&lp->begun, &lp->lock);
		strbuf_printf(to, " && common_pid != %d", r->tid);
	}
	pthread_mutex_unlock(&lp->lock);
}

/* Tracepoints that are not wanted of ourselves: by the threads there are now. */
static int leave_us_out(struct live_perf *lp)
{
	int err = 0;
	for (size_t i = 0; i < lp->fds.nr && lp->opts.exclude_self && !err; i++) {
		const struct live_event *e = &lp->events.at[lp->fds.at[i].event];
		if (e->tracking || !lp->opts.exclude_self[lp->fds.at[i].event])
			continue;
		struct strbuf text;
		strbuf_init(&text);
		if (e->desc->filter)
			strbuf_printf(&text, "(%s) && ", e->desc->filter);
		add_not_us(lp, &text);
		err = text.err ? text.err
			       : perf_event_set_filter(lp->fds.at[i].fd, strbuf_cstr(&text));
		strbuf_done(&text);
	}
	return err;
}

int live_perf_start(struct live_perf *lp, const struct live_sink *sink)
{
	lp->sink = *sink;
	sigset_t all, old;
	guard_sigmask(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the one who owns the loop */
	int err = 0;
	vec_for_each (&lp->readers, r) {
		err = -pthread_create(&r->thread, NULL, reader_main, r);
		if (err)
			break;
		r->running = true;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err ? err : leave_us_out(lp);
}

int live_perf_enable(struct live_perf *lp)
{
	for (size_t i = 0; i < lp->fds.nr; i++) {
		const struct live_event *e = &lp->events.at[lp->fds.at[i].event];
		if (!e->attr.disabled || e->attr.enable_on_exec || lp->fds.at[i].step)
			continue;
		int err = perf_event_enable(lp->fds.at[i].fd);
		if (err)
			return err;
	}
	pthread_mutex_lock(&lp->switch_lock);
	lp->on = true;
	pthread_mutex_unlock(&lp->switch_lock);
	return 0;
}

/* An event without larger copies stays as it is. */
static bool has_larger(const struct live_perf *lp, u32 event)
{
	struct perf_event_attr attr;
	return live_perf_larger_attr(lp, &lp->events.at[event], 1, &attr);
}

void live_perf_toggle(struct live_perf *lp, bool on)
{
	pthread_mutex_lock(&lp->switch_lock);
	lp->on = on;
	vec_for_each (&lp->fds, f) {
		if (lp->events.at[f->event].tracking ||
		    f->step != (has_larger(lp, f->event) ? lp->step : 0))
			continue;
		/* A thread that is gone has nothing to count. */
		(void)!(on ? perf_event_enable(f->fd) : perf_event_disable(f->fd));
	}
	pthread_mutex_unlock(&lp->switch_lock);
}

/* The fds of an event on one thread and CPU follow each other. NULL: the thread ended before all were opened. */
static const struct live_fd *fd_of_step(const struct live_perf *lp, size_t first, u32 step)
{
	const struct live_fd *f = first + step < lp->fds.nr ? &lp->fds.at[first + step] : NULL;
	return f && f->step == step && f->event == lp->fds.at[first].event ? f : NULL;
}

/* One is off only until the other is on. */
void live_perf_copy_stacks(struct live_perf *lp, u32 step)
{
	pthread_mutex_lock(&lp->switch_lock);
	bool change = live_perf_stack_bytes(lp, step) && step != lp->step && !lp->stopping;
	for (size_t i = 0; i < lp->fds.nr && change && lp->on; i++) {
		const struct live_fd *f = &lp->fds.at[i];
		if (f->step || !has_larger(lp, f->event))
			continue;
		const struct live_fd *off = fd_of_step(lp, i, lp->step);
		const struct live_fd *on = fd_of_step(lp, i, step);
		if (!off || !on)
			continue;
		(void)!perf_event_disable(off->fd);
		(void)!perf_event_enable(on->fd);
	}
	if (change)
		lp->step = step;
	pthread_mutex_unlock(&lp->switch_lock);
}

int live_perf_gone_fd(const struct live_perf *lp)
{
	return lp->gone_fd;
}

bool live_perf_failed(const struct live_perf *lp)
{
	return __atomic_load_n(&lp->failed, __ATOMIC_ACQUIRE);
}

int live_perf_stop(struct live_perf *lp)
{
	pthread_mutex_lock(&lp->switch_lock);
	bool before = lp->stopping;
	lp->stopping = true;
	pthread_mutex_unlock(&lp->switch_lock);
	if (before)
		return 0;
	vec_for_each (&lp->fds, f)
		(void)!perf_event_disable(f->fd);
	u64 one = 1;
	(void)!write(lp->stop_fd, &one, sizeof(one));
	int err = 0;
	vec_for_each (&lp->readers, r) {
		if (r->running)
			pthread_join(r->thread, NULL);
		r->running = false;
		if (!err)
			err = r->err;
	}
	return err;
}

void live_perf_flush(struct live_perf *lp)
{
	u64 one = 1;
	pthread_mutex_lock(&lp->lock);
	u64 poke = lp->poke + 1;
	__atomic_store_n(&lp->poke, poke, __ATOMIC_RELEASE);
	(void)!write(lp->poke_fd, &one, sizeof(one));
	vec_for_each (&lp->readers, r)
		while (r->running && r->poked < poke)
			pthread_cond_wait(&lp->begun, &lp->lock);
	pthread_mutex_unlock(&lp->lock);
}

int live_perf_snapshot(struct live_perf *lp)
{
	int err = 0;
	vec_for_each (&lp->kept, ring) {
		struct ring_span span;
		/* Events that were stopped write nothing; there pausing may fail. */
		(void)!perf_event_pause_output(ring->owner_fd, true);
		if (!err && perf_ring_snapshot(&ring->ring, ring->taken, &span)) {
			err = lp->sink.take(lp->sink.ctx, (unsigned)lp->readers.nr, &span, 1, false);
			ring->taken = span.head;
		}
		(void)!perf_event_pause_output(ring->owner_fd, false);
	}
	return err;
}
