#include "stream/rounds.h"
#include "base/clock.h"
#include "stream/perf_walk.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	READ_BYTES = 1 << 18,
	PIPE_HEAD = 16,
	EXTRA_MAX = 1 << 30, /* formats of all tracepoints are a few megabytes */
	/* While more is coming, a round is not handed out at once: each costs a look at all that is known. */
	READY_BYTES = 8 << 20,
	READY_NS = 200000000,
};

struct held {
	u64 time;
	size_t at;
	u32 size;
};

struct rounds {
	int fd;
	size_t ready_bytes;
	bool whole; /* all in the order it came, one round */
	bool raw; /* ... byte for byte: not a stream, or nobody wants to know */
	bool ended, over;
	struct perfdata file; /* what its events look like */
	bool opened;
	VEC(u8) in; /* read, not taken yet */
	size_t taken; /* of in */
	u64 passed; /* bytes of the stream before in */
	u64 skip; /* of what comes, nobody wants this much */
	VEC(u8) out; /* head and what is not a sample; then the samples of the round */
	size_t kept; /* of out */
	VEC(struct held) held; /* samples that may have older ones before them */
	VEC(u8) held_bytes;
	u64 newest; /* time seen */
	u64 settled; /* the newest at the last end of a round but one */
	u64 pending; /* the newest at the last one */
	u64 handed; /* times up to here were handed out */
	u64 ready_ns; /* since when; 0: nothing is */
	struct perfdata_inflate *inflate;
	const char *damage; /* what is wrong with the stream from here on */
};

struct rounds *rounds_open(int fd, const struct rounds_opts *o)
{
	struct rounds *r = calloc(1, sizeof(*r));
	if (r)
		*r = (struct rounds){ .fd = fd,
				      .whole = o->whole,
				      .ready_bytes = o->ready_bytes ? o->ready_bytes : READY_BYTES };
	return r;
}

void rounds_close(struct rounds *r)
{
	if (!r)
		return;
	r->file.map_size = 0; /* not a mapping */
	if (r->opened)
		perfdata_close(&r->file);
	perfdata_inflate_free(r->inflate);
	vec_free(&r->in);
	vec_free(&r->out);
	vec_free(&r->held);
	vec_free(&r->held_bytes);
	free(r);
}

/* ---- records ---- */

static int keep(struct rounds *r, const u8 *data, size_t size)
{
	if (!vec_reserve(&r->out, r->out.nr + size))
		return -ENOMEM;
	if (size)
		memcpy(r->out.at + r->out.nr, data, size);
	r->out.nr += size;
	r->kept = r->out.nr;
	return 0;
}

static int hold(struct rounds *r, const u8 *rec, u32 size, u64 time)
{
	struct held *h = vec_push(&r->held);
	if (!h || !vec_reserve(&r->held_bytes, r->held_bytes.nr + size))
		return -ENOMEM;
	*h = (struct held){ .time = time, .at = r->held_bytes.nr, .size = size };
	memcpy(r->held_bytes.at + r->held_bytes.nr, rec, size);
	r->held_bytes.nr += size;
	return 0;
}

/* Without times there is no order but theirs; counts are differences to the sample before. */
static bool needs_whole(const struct perfdata *f)
{
	return !perf_file_has_times(f) || perfdata_has_sample_type(f, PERF_SAMPLE_READ);
}

static int take_attr(struct rounds *r, const u8 *rec, const struct perf_event_header *h)
{
	int err = perfdata_pipe_record(&r->file, rec, h);
	r->whole |= !err && needs_whole(&r->file);
	return err == -ENOMEM ? err : 0;
}

static void round_ended(struct rounds *r)
{
	r->settled = r->pending;
	r->pending = r->newest;
	for (size_t i = 0; i < r->held.nr && !r->ready_ns; i++)
		if (r->held.at[i].time <= r->settled)
			r->ready_ns = clock_monotonic_ns();
}

/* bytes: of the record with what belongs to it. */
static int take_record(struct rounds *r, const u8 *rec, const struct perf_event_header *h,
		       size_t bytes)
{
	struct perf_side side;
	int err = 0;
	if (h->type == REC_FINISHED_ROUND) {
		round_ended(r);
		return 0;
	}
	if (h->type == REC_HEADER_ATTR)
		err = take_attr(r, rec, h);
	if (h->type == PERF_RECORD_SAMPLE && !r->whole) {
		u64 time = perf_walk_time(&r->file, rec, h);
		r->newest = max(r->newest, time);
		return hold(r, rec, h->size, time);
	}
	if (!err && !perf_walk_side(&r->file, rec, h, &side))
		r->newest = max(r->newest, side.who.time);
	return err ? err : keep(r, rec, bytes);
}

static int take_packed(struct rounds *r, const u8 *rec, const struct perf_event_header *h)
{
	if (!r->inflate && !(r->inflate = perfdata_inflate_new()))
		return -ENOMEM;
	int err = perfdata_inflate_add(r->inflate, rec, h, r->file.swap), more = 1;
	while (!err && (more = perfdata_inflate_step(r->inflate)) > 0) {
		size_t size;
		const u8 *data = perfdata_inflate_data(r->inflate, &size), *at = data, *in;
		struct perf_event_header head;
		while (!err && perfdata_record(&r->file, &at, data + size, &in, &head) > 0)
			err = take_record(r, in, &head, (size_t)(at - in));
		size_t left = size - (size_t)(at - data);
		if (!err && (left >= 1 << 16 || (left >= sizeof(head) &&
						 perf_head(at, r->file.swap).size < sizeof(head))))
			err = -EBADMSG;
		perfdata_inflate_drop(r->inflate, (size_t)(at - data));
	}
	return err ? err : more;
}

/* Traces of hardware (AUX) are not decoded, and may be large. */
static bool skips(struct rounds *r, const u8 *rec, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), r->file.swap);
	if (h->type != REC_AUXTRACE)
		return false;
	u64 extra = bytes_u64(&b);
	r->taken += h->size;
	r->skip = b.bad ? 0 : extra;
	return true;
}

static bool too_much(const struct rounds *r, const u8 *rec, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), r->file.swap);
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
	struct perf_event_header h = perf_head(rec, r->file.swap);
	if (h.size < sizeof(h) || ((size_t)(end - rec) >= h.size && too_much(r, rec, &h)))
		return -EBADMSG;
	if ((size_t)(end - rec) < h.size)
		return 0;
	if (skips(r, rec, &h))
		return 1;
	if (perfdata_record(&r->file, &at, end, &rec, &h) <= 0)
		return 0;
	size_t bytes = (size_t)(at - rec);
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
	int err = perfdata_open_bytes(&r->file, r->in.at, r->in.nr, "standard input", NULL);
	r->raw = err || !r->file.is_pipe || r->whole;
	r->whole |= r->raw;
	if (r->raw)
		return 0;
	/* Of what was read, only the heads of events are looked at: this memory will not stay. */
	r->file.map = NULL;
	r->file.map_size = r->file.data_at = r->file.data_end = 0;
	r->taken = PIPE_HEAD;
	return keep(r, r->in.at, PIPE_HEAD);
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
		err = keep(r, r->in.at + r->taken, r->in.nr - r->taken);
		r->taken = r->in.nr;
		return err;
	}
	while (got > 0 && !r->damage && !much_is_ready(r))
		got = take_next(r);
	if (got == -EBADMSG) {
		r->damage = "is damaged";
		r->ended = true;
		return 0;
	}
	if (!got && r->ended && (r->taken < r->in.nr || r->skip))
		r->damage = "is cut off inside of a record";
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
	if (!vec_reserve(&r->in, r->in.nr + READ_BYTES))
		return -ENOMEM;
	ssize_t n = read(r->fd, r->in.at + r->in.nr, READ_BYTES);
	if (n < 0 && errno != EINTR)
		return diag_error(d, -errno, "reading standard input: %s", strerror(errno));
	if (n > 0)
		r->in.nr += (size_t)n;
	r->ended = !n;
	return 0;
}

static bool more_waits(const struct rounds *r)
{
	struct pollfd p = { .fd = r->fd, .events = POLLIN };
	return poll(&p, 1, 0) > 0;
}

static bool is_due(const struct rounds *r)
{
	return r->ready_ns && !r->whole &&
	       (much_is_ready(r) || clock_monotonic_ns() - r->ready_ns >= READY_NS ||
		(!r->ended && !more_waits(r)));
}

/* Moves what is settled behind what is kept. */
static int make_round(struct rounds *r, u64 until)
{
	size_t nr = 0, bytes = 0;
	for (size_t i = 0; i < r->held.nr; i++) {
		struct held h = r->held.at[i];
		if (h.time > until) {
			memmove(r->held_bytes.at + bytes, r->held_bytes.at + h.at, h.size);
			h.at = bytes;
			bytes += h.size;
			r->held.at[nr++] = h;
			continue;
		}
		if (!vec_reserve(&r->out, r->out.nr + h.size))
			return -ENOMEM;
		memcpy(r->out.at + r->out.nr, r->held_bytes.at + h.at, h.size);
		r->out.nr += h.size;
	}
	r->held.nr = nr;
	r->held_bytes.nr = bytes;
	r->ready_ns = 0;
	return 0;
}

static void tell(const struct rounds *r, struct diag *d)
{
	if (r->damage)
		diag_warn(d, "the stream %s, at byte %llu; read up to there", r->damage,
			  (unsigned long long)(r->passed + r->taken));
}

int rounds_next(struct rounds *r, struct round *ret, struct diag *d)
{
	if (r->over)
		return 0;
	r->out.nr = r->kept;
	int err = take_all(r);
	while (!err && !r->ended && !is_due(r)) {
		err = read_more(r, d);
		if (!err)
			err = take_all(r);
	}
	bool last = r->ended && !much_is_ready(r);
	u64 until = last ? UINT64_MAX : r->settled;
	if (!err)
		err = make_round(r, until);
	if (err)
		return err;
	*ret = (struct round){
		.data = r->out.at,
		.size = r->out.nr,
		.after = r->handed,
		.until = until,
		.last = last,
	};
	r->handed = until;
	r->over = last;
	if (r->over)
		tell(r, d);
	return 1;
}
