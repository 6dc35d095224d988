/* A stream of records, cut into rounds: what is complete is told from what may still have older records after it. */
#include "stream/rounds.h"
#include "base/clock.h"
#include "file/perfdata_spool.h"
#include "stream/perf_walk.h"
#include "stream/rounds_impl.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	READ_BYTES = 1 << 18,
	PIPE_HEAD = 16,
	EXTRA_MAX = 1 << 30, /* formats of all tracepoints are a few megabytes */
	/* While more is coming, a round is not handed out at once: each has its price. */
	READY_BYTES = 8 << 20,
	READY_NS = 200000000,
	FED_BYTES = 64 << 20,
};

struct rounds_held {
	u64 time;
	size_t at;
	u32 size;
};

/* What was put in and not read yet. */
struct rounds_feed {
	pthread_mutex_t lock;
	pthread_cond_t taken;
	VEC(u8) bytes;
	bool ended; /* nothing more will be put in */
	bool closed; /* nobody will read any more */
};

struct rounds {
	struct rounds_config cfg;
	int fd;
	int more_fd; /* readable: something was put in; -1: a pipe */
	int stop_fd;
	struct rounds_feed feed;
	size_t ready_bytes, fed_bytes;
	bool whole; /* all in the order it came, one round */
	bool raw; /* ... byte for byte: not a stream, or nobody wants to know */
	bool ended, over, opened;
	bool stopped; /* before the stream has ended */
	struct perfdata *file;
	VEC(u8) in; /* read, not taken yet */
	size_t taken; /* of in */
	u64 passed; /* bytes of the stream before in */
	u64 skip; /* of what comes, nobody wants this much */
	VEC(u8) out; /* a whole stream: its head and what describes it, then all the rest */
	VEC(u8) round; /* records of the round */
	struct arena kept; /* what describes the stream */
	VEC(struct rounds_held) held; /* records that may have older ones after them */
	VEC(u8) held_bytes;
	u64 number;
	u64 newest; /* time seen */
	u64 settled; /* the newest at the last end of a round but one */
	u64 pending; /* the newest at the last one */
	u64 handed; /* times up to here were handed out */
	u64 ready_ns; /* since when; 0: nothing is */
	u64 round_ns; /* when the last round was handed out */
	struct perfdata_inflate *inflate;
	const char *damage; /* what is wrong with the stream from here on */
	unsigned nr_unknown; /* records of no known type, one after the other */
};

struct rounds *rounds_new(const struct rounds_config *cfg)
{
	struct rounds *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	const struct rounds_opts *o = &cfg->opts;
	*r = (struct rounds){ .cfg = *cfg,
			      .fd = o->fd,
			      .file = cfg->file,
			      .whole = o->whole,
			      .round_ns = clock_monotonic_ns(),
			      .fed_bytes = o->fed_bytes ? o->fed_bytes : FED_BYTES,
			      .ready_bytes = o->ready_bytes ? o->ready_bytes : READY_BYTES };
	arena_init(&r->kept);
	pthread_mutex_init(&r->feed.lock, NULL);
	pthread_cond_init(&r->feed.taken, NULL);
	r->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->more_fd = o->fd < 0 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (r->stop_fd >= 0 && (o->fd >= 0 || r->more_fd >= 0))
		return r;
	rounds_free(r);
	return NULL;
}

void rounds_free(struct rounds *r)
{
	if (!r)
		return;
	perfdata_inflate_free(r->inflate);
	vec_free(&r->in);
	vec_free(&r->out);
	vec_free(&r->round);
	vec_free(&r->held);
	vec_free(&r->held_bytes);
	vec_free(&r->feed.bytes);
	arena_done(&r->kept);
	cleanup_close(&r->stop_fd);
	cleanup_close(&r->more_fd);
	pthread_cond_destroy(&r->feed.taken);
	pthread_mutex_destroy(&r->feed.lock);
	free(r);
}

void rounds_stop(struct rounds *r)
{
	u64 one = 1;
	(void)!write(r->stop_fd, &one, sizeof(one));
}

/* ---- what is put in ---- */

static int feed_one(struct rounds_feed *f, const struct iovec *iov, size_t max_bytes)
{
	while (f->bytes.nr && f->bytes.nr + iov->iov_len > max_bytes && !f->closed)
		pthread_cond_wait(&f->taken, &f->lock);
	if (f->closed)
		return -EPIPE;
	if (!vec_reserve(&f->bytes, f->bytes.nr + iov->iov_len))
		return -ENOMEM;
	if (iov->iov_len)
		memcpy(f->bytes.at + f->bytes.nr, iov->iov_base, iov->iov_len);
	f->bytes.nr += iov->iov_len;
	return 0;
}

static void say_more(struct rounds *r)
{
	u64 one = 1;
	(void)!write(r->more_fd, &one, sizeof(one));
}

int rounds_feed(struct rounds *r, const struct iovec *iov, size_t nr)
{
	int err = 0;
	pthread_mutex_lock(&r->feed.lock);
	for (size_t i = 0; i < nr && !err; i++)
		err = feed_one(&r->feed, &iov[i], r->fed_bytes);
	pthread_mutex_unlock(&r->feed.lock);
	say_more(r);
	return err;
}

void rounds_feed_end(struct rounds *r)
{
	pthread_mutex_lock(&r->feed.lock);
	r->feed.ended = true;
	pthread_mutex_unlock(&r->feed.lock);
	say_more(r);
}

/* Who puts more in would wait for ever. */
void rounds_close_feed(struct rounds *r)
{
	pthread_mutex_lock(&r->feed.lock);
	r->feed.closed = true;
	pthread_cond_broadcast(&r->feed.taken);
	pthread_mutex_unlock(&r->feed.lock);
}

static int take_fed(struct rounds *r)
{
	struct rounds_feed *f = &r->feed;
	u64 times;
	(void)!read(r->more_fd, &times, sizeof(times));
	pthread_mutex_lock(&f->lock);
	int err = vec_reserve(&r->in, r->in.nr + f->bytes.nr) ? 0 : -ENOMEM;
	if (!err && f->bytes.nr) {
		memcpy(r->in.at + r->in.nr, f->bytes.at, f->bytes.nr);
		r->in.nr += f->bytes.nr;
		f->bytes.nr = 0;
	}
	r->ended |= f->ended;
	pthread_cond_broadcast(&f->taken);
	pthread_mutex_unlock(&f->lock);
	return err;
}

/* ---- records ---- */

#define add_bytes(to, data, size)                                                                  \
	(vec_reserve(to, (to)->nr + (size)) ? (add_reserved(to, data, size), 0) : -ENOMEM)
#define add_reserved(to, data, size)                                                               \
	((size) ? (void)memcpy((to)->at + (to)->nr, data, size) : (void)0, (to)->nr += (size))

static int hold(struct rounds *r, const u8 *rec, u32 size, u64 time)
{
	struct rounds_held *h = vec_push(&r->held);
	if (!h)
		return -ENOMEM;
	*h = (struct rounds_held){ .time = time, .at = r->held_bytes.nr, .size = size };
	r->newest = max(r->newest, time);
	return add_bytes(&r->held_bytes, rec, size);
}

/* Without times there is no order but theirs; counts are differences to the sample before. */
static bool needs_whole(const struct perfdata *f)
{
	return !perf_file_has_times(f) || perfdata_has_sample_type(f, PERF_SAMPLE_READ);
}

static bool describes(u32 type)
{
	return type == REC_HEADER_ATTR || type == REC_EVENT_UPDATE || type == REC_HEADER_FEATURE ||
	       type == REC_TRACING_DATA || type == REC_BUILD_ID;
}

/* bytes: of the record with what belongs to it. */
static int describe(struct rounds *r, const u8 *rec, const struct perf_event_header *h, size_t bytes)
{
	u8 *kept = arena_alloc(&r->kept, bytes);
	if (!kept || add_bytes(&r->out, rec, bytes))
		return -ENOMEM;
	memcpy(kept, rec, bytes);
	budget_init(&r->file->budget, r->passed + r->in.nr);
	int err = r->cfg.describe(r->cfg.ctx, kept, h);
	if (!err && h->type == REC_HEADER_ATTR && !r->number)
		r->whole |= needs_whole(r->file);
	return err;
}

static void round_ended(struct rounds *r)
{
	r->settled = r->pending;
	r->pending = r->newest;
	for (size_t i = 0; i < r->held.nr && !r->ready_ns && r->settled > r->handed; i++)
		if (r->held.at[i].time <= r->settled)
			r->ready_ns = clock_monotonic_ns();
}

static int take_record(struct rounds *r, const u8 *rec, const struct perf_event_header *h,
		       size_t bytes)
{
	struct perf_side side;
	if (h->type == REC_FINISHED_ROUND) {
		round_ended(r);
		return 0;
	}
	if (describes(h->type))
		return describe(r, rec, h, bytes);
	u64 time = 0;
	if (h->type == PERF_RECORD_SAMPLE)
		time = perf_walk_time(r->file, rec, h);
	else if (!perf_walk_side(r->file, rec, h, &side))
		time = side.who.time;
	return hold(r, rec, (u32)bytes, time);
}

static int take_packed(struct rounds *r, const u8 *rec, const struct perf_event_header *h)
{
	if (!r->inflate && !(r->inflate = perfdata_inflate_new()))
		return -ENOMEM;
	int err = perfdata_inflate_add(r->inflate, rec, h, r->file->swap), more = 1;
	while (!err && (more = perfdata_inflate_step(r->inflate)) > 0) {
		size_t size;
		const u8 *data = perfdata_inflate_data(r->inflate, &size), *at = data, *in;
		struct perf_event_header head;
		while (!err && perfdata_record(r->file, &at, data + size, &in, &head) > 0)
			err = take_record(r, in, &head, (size_t)(at - in));
		size_t left = size - (size_t)(at - data);
		if (!err && (left >= 1 << 16 || (left >= sizeof(head) &&
						 perf_head(at, r->file->swap).size < sizeof(head))))
			err = -EBADMSG;
		perfdata_inflate_drop(r->inflate, (size_t)(at - data));
	}
	return err ? err : more;
}

/* Traces of hardware (AUX) are not decoded, and may be large. */
static bool skips(struct rounds *r, const u8 *rec, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), r->file->swap);
	if (h->type != REC_AUXTRACE)
		return false;
	u64 extra = bytes_u64(&b);
	r->taken += h->size;
	r->skip = b.bad ? 0 : extra;
	return true;
}

static bool too_much(const struct rounds *r, const u8 *rec, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), r->file->swap);
	return h->type == REC_TRACING_DATA && bytes_u32(&b) > EXTRA_MAX;
}

/* The next record that has come whole: 1, 0: more is needed. */
static int take_next(struct rounds *r)
{
	const u8 *end = r->in.at + r->in.nr, *rec = r->in.at + r->taken, *at = rec;
	size_t skipped = min((u64)(end - rec), r->skip);
	r->skip -= skipped;
	r->taken += skipped;
	rec = at = rec + skipped;
	if ((size_t)(end - rec) < sizeof(struct perf_event_header))
		return 0;
	struct perf_event_header h = perf_head(rec, r->file->swap);
	if (h.size < sizeof(h) || r->nr_unknown > PERFDATA_UNKNOWN_MAX ||
	    ((size_t)(end - rec) >= h.size && too_much(r, rec, &h)))
		return -EBADMSG;
	if ((size_t)(end - rec) < h.size)
		return 0;
	if (skips(r, rec, &h))
		return 1;
	if (perfdata_record(r->file, &at, end, &rec, &h) <= 0)
		return 0;
	size_t bytes = (size_t)(at - rec);
	r->nr_unknown = h.type && h.type < REC_USER_MAX ? 0 : r->nr_unknown + 1;
	int err = h.type == REC_COMPRESSED || h.type == REC_COMPRESSED2
			  ? take_packed(r, rec, &h)
			  : take_record(r, rec, &h, bytes);
	r->taken += bytes;
	return err ? err : 1;
}

static int take_head(struct rounds *r)
{
	if (r->in.nr < PIPE_HEAD && !r->ended)
		return 0;
	r->opened = true;
	int err = perfdata_open_bytes(r->file, r->in.at, r->in.nr, "standard input", NULL);
	r->raw = err || !r->file->is_pipe || r->whole;
	r->whole |= r->raw;
	if (r->raw)
		return 0;
	/* Of what was read, only the heads of events are looked at: this memory will not stay. */
	r->file->map = NULL;
	r->file->map_size = r->file->data_at = r->file->data_end = 0;
	r->taken = PIPE_HEAD;
	return add_bytes(&r->out, r->in.at, PIPE_HEAD);
}

static bool much_is_ready(const struct rounds *r)
{
	return r->ready_ns && !r->whole && r->held_bytes.nr >= r->ready_bytes;
}

/* What was read, until more is needed or a round is due. */
static int take_all(struct rounds *r)
{
	int err = r->opened ? 0 : take_head(r), got = 1;
	if (err || !r->opened)
		return err;
	if (r->raw) {
		err = add_bytes(&r->out, r->in.at + r->taken, r->in.nr - r->taken);
		r->taken = r->in.nr;
		if (r->out.nr > perfdata_spool_most() && r->in.nr) {
			r->damage = "is a file that is too long for a pipe (name it with -i)";
			r->ended = true;
		}
		return err;
	}
	while (got > 0 && !r->damage && !much_is_ready(r))
		got = take_next(r);
	if (got == -EBADMSG) {
		r->damage = "is damaged";
		r->ended = true;
		return 0;
	}
	if (!got && r->ended && !r->stopped && (r->taken < r->in.nr || r->skip))
		r->damage = "is truncated in a record";
	return min(got, 0);
}

/* ---- rounds ---- */

static int read_more(struct rounds *r, struct diag *d)
{
	if (r->taken)
		memmove(r->in.at, r->in.at + r->taken, r->in.nr - r->taken);
	r->in.nr -= r->taken;
	r->passed += r->taken;
	r->taken = 0;
	if (r->more_fd >= 0)
		return take_fed(r);
	if (!vec_reserve(&r->in, r->in.nr + READ_BYTES))
		return -ENOMEM;
	ssize_t n = read(r->fd, r->in.at + r->in.nr, READ_BYTES);
	if (n < 0 && errno != EINTR)
		return diag_error(d, -errno, "cannot read standard input: %s", strerror(errno));
	if (n > 0)
		r->in.nr += (size_t)n;
	r->ended |= !n;
	return 0;
}

/* Whether there is more to read; waits for it, or to be stopped. */
static bool more_waits(struct rounds *r, int timeout_ms)
{
	struct pollfd p[2] = { { .fd = r->more_fd >= 0 ? r->more_fd : r->fd, .events = POLLIN },
			       { .fd = r->stop_fd, .events = POLLIN } };
	while (poll(p, 2, timeout_ms) < 0 && errno == EINTR)
		;
	r->stopped = p[1].revents != 0;
	r->ended |= r->stopped;
	return p[0].revents != 0;
}

static bool is_due(struct rounds *r)
{
	return r->ready_ns && !r->whole &&
	       (much_is_ready(r) || clock_monotonic_ns() - r->ready_ns >= READY_NS ||
		(!r->ended && !more_waits(r, 0)));
}

/* Moves what is settled to the round; what is not moves up. */
static int make_round(struct rounds *r, u64 until)
{
	size_t nr = 0, bytes = 0;
	for (size_t i = 0; i < r->held.nr; i++) {
		struct rounds_held h = r->held.at[i];
		if (h.time > until) {
			memmove(r->held_bytes.at + bytes, r->held_bytes.at + h.at, h.size);
			h.at = bytes;
			bytes += h.size;
			r->held.at[nr++] = h;
		} else if (add_bytes(&r->round, r->held_bytes.at + h.at, h.size)) {
			return -ENOMEM;
		}
	}
	r->held.nr = nr;
	r->held_bytes.nr = bytes;
	r->ready_ns = 0;
	return 0;
}

/* Not a stream, or one whose order only its end can tell. */
static int make_whole(struct rounds *r)
{
	int err = add_bytes(&r->out, r->held_bytes.at, r->held_bytes.nr);
	vec_free(&r->held_bytes);
	vec_free(&r->held);
	return err;
}

static void tell(const struct rounds *r, struct diag *d)
{
	if (r->damage)
		diag_warn(d, "the stream %s, at byte %llu; read up to there", r->damage,
			  (unsigned long long)(r->passed + r->taken));
}

/* How long until a round comes without data: milliseconds, or -1: it does not. Before the head is known there is none. */
static int idle_ms(const struct rounds *r)
{
	u64 idle = r->cfg.opts.idle_ns;
	if (!idle || r->whole || !r->opened)
		return -1;
	return (int)((u64_less(idle, clock_monotonic_ns() - r->round_ns) + 999999) / 1000000);
}

static int wait_for_round(struct rounds *r, struct diag *d)
{
	int err = take_all(r), ms = -1;
	/* What is there is read, also where the time for a round without data has come. */
	while (!err && !r->ended && !is_due(r) && ms) {
		ms = idle_ms(r);
		if (more_waits(r, ms))
			err = read_more(r, d);
		if (!err)
			err = take_all(r);
	}
	return err;
}

int rounds_next(struct rounds *r, struct round_bytes *ret, struct diag *d)
{
	if (r->over)
		return 0;
	r->round.nr = 0;
	int err = wait_for_round(r, d);
	bool last = r->ended && !much_is_ready(r);
	u64 until = last ? UINT64_MAX : r->settled;
	if (!err)
		err = r->whole ? make_whole(r) : make_round(r, until);
	if (err)
		return err;
	*ret = (struct round_bytes){
		.data = r->whole ? r->out.at : r->round.at,
		.size = r->whole ? r->out.nr : r->round.nr,
		.facts = { .number = r->number++, .after = r->handed, .until = until, .last = last },
		.whole = r->whole,
	};
	r->handed = until;
	r->round_ns = clock_monotonic_ns();
	r->over = last;
	if (!r->over)
		return 1;
	tell(r, d);
	rounds_close_feed(r);
	return 1;
}
