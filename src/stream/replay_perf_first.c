/*
 * The first pass over a perf.data: heads of all records, bodies of the few that are not samples; cuts the data into blocks. It may end
 * early, and be taken up again where it ended.
 */
#include "base/par.h"
#include "stream/replay_perf_impl.h"

#include <errno.h>
#include <string.h>

enum {
	SETTLED_BYTES =
		1 << 22, /* no change for so long, and a 16th of the file: each CPU's ring had its turn */
};

size_t replay_perf_whole(const struct perf_replay *r, const u8 *data, size_t size)
{
	const u8 *at = data, *rec;
	struct perf_event_header h;
	while (perfdata_record(&r->file, &at, data + size, &rec, &h) > 0)
		;
	return (size_t)(at - data);
}

bool replay_perf_stuck(const struct perf_replay *r, const u8 *at, size_t left)
{
	return left >= RECORD_MAX ||
	       (left >= sizeof(struct perf_event_header) &&
		perf_head(at, r->file.swap).size < sizeof(struct perf_event_header));
}

static const struct perfdata_attr *side_attr(const struct perf_replay *r, const u8 *rec, u16 size)
{
	const struct perfdata *f = &r->file;
	if (f->attrs.nr <= 1)
		return f->attrs.nr ? &f->attrs.at[0] : NULL;
	/* With IDENTIFIER the id is the last word of every record; without it all events must share one layout. */
	if (!(f->attrs.at[0].attr.sample_type & PERF_SAMPLE_IDENTIFIER) || size < 16)
		return &f->attrs.at[0];
	u64 id;
	memcpy(&id, rec + size - 8, 8);
	const struct perfdata_attr *a = perfdata_attr_of(f, f->swap ? __builtin_bswap64(id) : id);
	return a ? a : &f->attrs.at[0];
}

static int note_loss(struct perf_replay *r, const struct perf_side *side)
{
	struct perf_loss *l = vec_push(&r->losses);
	if (!l)
		return -ENOMEM;
	*l = (struct perf_loss){ .time = side->who.time,
				 .cpu = side->who.cpu,
				 .nr = (u32)min(side->lost, (u64)UINT32_MAX - 1) };
	return 0;
}

static int side_record(struct perf_replay *r, const u8 *rec, const struct perf_event_header *h,
		       u64 place)
{
	const struct perfdata_attr *a = side_attr(r, rec, h->size);
	struct perf_side side;
	int err = perf_side_decode(rec, h->size, r->file.swap, a ? a->attr.sample_type : 0,
				   a && a->attr.sample_id_all, &side);
	if (err == -ENOENT)
		return 0;
	if (err) {
		r->stats.nr_bad++;
		return 0;
	}
	struct catalog *c = &r->source.catalog;
	if (side.type == PERF_RECORD_LOST || side.type == PERF_RECORD_LOST_SAMPLES) {
		/* LOST stands where records are missing, LOST_SAMPLES sums up at the end: the same losses, not others. */
		r->lost[side.type == PERF_RECORD_LOST_SAMPLES] += side.lost;
		c->nr_lost = max(r->lost[0], r->lost[1]);
		c->nr_lost_events++;
		return side.type == PERF_RECORD_LOST && r->has_times ? note_loss(r, &side) : 0;
	}
	return tasks_add(r->tasks, &side, r->has_times ? side.who.time : place);
}

void replay_perf_find_times(struct perf_replay *r)
{
	r->has_times = r->file.attrs.nr > 0;
	vec_for_each (&r->file.attrs, a)
		if (!(a->attr.sample_type & PERF_SAMPLE_TIME) || !a->attr.sample_id_all)
			r->has_times = false;
}

int replay_perf_head(struct perf_replay *r, const u8 *rec, const struct perf_event_header *h,
		     u64 place)
{
	r->stats.nr_records++;
	if (h->type < REC_USER_MAX)
		r->stats.nr_by_type[h->type]++;
	if (likely(h->type == PERF_RECORD_SAMPLE))
		return 0;
	if (h->type < REC_KERNEL_MAX)
		return side_record(r, rec, h, place);
	if (h->type == REC_HEADER_ATTR || h->type == REC_EVENT_UPDATE ||
	    h->type == REC_HEADER_FEATURE || h->type == REC_TRACING_DATA) {
		int err = perfdata_pipe_record(&r->file, rec, h);
		if (err == -ENOMEM)
			return err;
		if (err)
			r->stats.nr_bad++;
		if (h->type == REC_HEADER_ATTR)
			replay_perf_find_times(r);
	}
	if (h->type == REC_BUILD_ID) {
		const u8 **kept = vec_push(&r->build_ids);
		if (!kept)
			return -ENOMEM;
		*kept = rec;
	}
	return 0;
}

/*
 * All whole records of a decompressed piece; returns where it stopped. Only the kernel's records: the others keep pointers into
 * the file, and this memory will not stay.
 */
static const u8 *walk(struct perf_replay *r, const u8 *at, const u8 *end, u64 place, int *err)
{
	struct perf_event_header h;
	const u8 *rec, *start = at;
	int got;
	while ((got = perfdata_record(&r->file, &at, end, &rec, &h)) > 0) {
		*err = h.type < REC_KERNEL_MAX
			       ? replay_perf_head(r, rec, &h, place + (u64)(rec - start))
			       : 0;
		if (*err)
			return at;
	}
	return at;
}

static int inflate_all(struct perf_replay *r, const u8 *rec, const struct perf_event_header *h,
		       struct perfdata_inflate *z, u64 *place)
{
	int err = perfdata_inflate_add(z, rec, h, r->file.swap), more = 1;
	while (!err && more) {
		more = perfdata_inflate_step(z);
		size_t size;
		const u8 *data = perfdata_inflate_data(z, &size);
		if (more < 0)
			return more;
		if (!size)
			continue;
		const u8 *stop = walk(r, data, data + size, *place, &err);
		size_t used = (size_t)(stop - data);
		*place += used;
		if (!err && replay_perf_stuck(r, stop, size - used))
			err = -EBADMSG;
		perfdata_inflate_drop(z, used);
	}
	return err;
}

int replay_perf_add_block(struct perf_replay *r, const u8 *at, const u8 *end)
{
	if (at == end)
		return 0;
	struct replay_perf_block *b = vec_push(&r->blocks);
	if (!b)
		return -ENOMEM;
	*b = (struct replay_perf_block){ .at = at, .end = end };
	return 0;
}

bool replay_perf_changes(u32 type)
{
	switch (type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case REC_FINISHED_ROUND: return false;
	default: return true;
	}
}

bool replay_perf_may_start_early(const struct perf_replay *r, unsigned needs)
{
	const struct perfdata *f = &r->file;
	bool plain = !f->is_pipe && !f->swap && !f->unfinished && perfdata_nr_ranges(f) == 1;
	vec_for_each (&f->attrs, a)
		plain = plain && !(a->attr.sample_type & PERF_SAMPLE_STACK_USER);
	return plain && needs & MAY_START_EARLY && !(needs & (NEED_ORDER | NEED_READ));
}

/* Of one file's records, from its offset `from` on: *z and *place go on through all of them. early: may end before all is read. */
static int first_pass_range(struct perf_replay *r, size_t index, size_t from, bool early,
			    struct perfdata_inflate **z, u64 *place)
{
	struct perfdata *f = &r->file;
	struct perfdata_range range = perfdata_range(f, index);
	const u8 *at = f->map + from, *end = f->map + range.end, *start = at, *quiet = at;
	size_t settled = max((range.end - range.at) / 16, (size_t)SETTLED_BYTES);
	int err = 0, got;
	for (;;) {
		struct perf_event_header h;
		const u8 *rec;
		got = perfdata_record(f, &at, end, &rec, &h);
		if (got <= 0)
			break;
		if (early && replay_perf_changes(h.type))
			quiet = at;
		if (unlikely(h.type == REC_COMPRESSED || h.type == REC_COMPRESSED2)) {
			f->compressed = true;
			if (!*z && !(*z = perfdata_inflate_new()))
				err = -ENOMEM;
			if (!err)
				err = inflate_all(r, rec, &h, *z, place);
			if (err == -EBADMSG) {
				/* What it holds before the damage is read. */
				f->expands |= perfdata_inflate_too_much(*z);
				perfdata_cut(f, index, (size_t)(at - f->map));
				err = got = 0;
				break;
			}
		} else {
			err = replay_perf_head(r, rec, &h, (u64)(rec - f->map));
		}
		if (!err && at - start >= BLOCK_BYTES) {
			err = replay_perf_add_block(r, start, at);
			start = at;
			if (!err && early && !f->compressed && (size_t)(at - quiet) >= settled) {
				r->walked = (size_t)(at - f->map);
				r->whole = false;
				return 0;
			}
		}
		if (err)
			break;
	}
	size_t left = 0;
	if (*z) {
		(void)perfdata_inflate_data(*z, &left);
		perfdata_inflate_reset(*z);
	}
	if (left)
		f->truncated = true;
	if (got < 0)
		perfdata_cut(f, index, (size_t)(at - f->map));
	return err ? err : replay_perf_add_block(r, start, at);
}

/* ---- on several threads: a block's heads each ---- */

/*
 * Where a record begins is known by the one before it. Workers guess, a block each, by what looks like a row of heads; afterwards the blocks
 * are taken in order, and one whose guess was wrong is walked again.
 */
struct heads {
	size_t from, to; /* offsets of its first record, and of the one after its last */
	bool stopped; /* what is there is for the plain walk: compressed, or damaged */
	u64 nr_samples;
	VEC(u64) others; /* offsets of records that are no samples */
};

struct head_walk {
	struct perf_replay *r;
	size_t at, end; /* of the range */
	struct heads *blocks;
	u32 nr;
};

static size_t nominal(const struct head_walk *w, u32 index)
{
	return min(w->at + (size_t)index * BLOCK_BYTES, w->end);
}

static bool looks_like_head(struct perf_event_header h)
{
	bool known = (h.type > 0 && h.type < REC_KERNEL_MAX) ||
		     (h.type >= REC_HEADER_ATTR && h.type < REC_USER_MAX);
	return known && h.size >= sizeof(h) && !(h.size & 7);
}

static bool look_like_heads(const struct head_walk *w, size_t at)
{
	enum { ENOUGH = 8 };
	const struct perfdata *f = &w->r->file;
	for (u32 i = 0; i < ENOUGH && at + sizeof(struct perf_event_header) <= w->end; i++) {
		struct perf_event_header h = perf_head(f->map + at, f->swap);
		if (!looks_like_head(h))
			return false;
		at += h.size;
	}
	return true;
}

static size_t guess_head(const struct head_walk *w, size_t at)
{
	size_t end = min(at + RECORD_MAX, w->end);
	while (at < end && !look_like_heads(w, at))
		at += 8;
	return at;
}

/* All records that begin before the next block. */
static int walk_heads(const struct head_walk *w, u32 index, size_t from)
{
	const struct perfdata *f = &w->r->file;
	struct heads *h = &w->blocks[index];
	const u8 *at = f->map + from, *until = f->map + nominal(w, index + 1), *rec;
	struct perf_event_header head;
	h->from = from;
	h->stopped = false;
	h->nr_samples = h->others.nr = 0;
	while (at < until) {
		h->stopped = perfdata_record(f, &at, f->map + w->end, &rec, &head) <= 0;
		if (!h->stopped &&
		    unlikely(head.type == REC_COMPRESSED || head.type == REC_COMPRESSED2)) {
			h->stopped = true;
			at = rec;
		}
		if (h->stopped)
			break;
		if (likely(head.type == PERF_RECORD_SAMPLE)) {
			h->nr_samples++;
			continue;
		}
		u64 *other = vec_push(&h->others);
		if (!other)
			return -ENOMEM;
		*other = (u64)(rec - f->map);
	}
	h->to = (size_t)(at - f->map);
	return 0;
}

static int guess_and_walk(void *ctx, unsigned worker, u32 index)
{
	const struct head_walk *w = ctx;
	size_t at = nominal(w, index);
	return walk_heads(w, index, index ? guess_head(w, at) : at);
}

static int take_heads(struct perf_replay *r, struct heads *h)
{
	const u8 *map = r->file.map;
	r->stats.nr_records += h->nr_samples;
	r->stats.nr_by_type[PERF_RECORD_SAMPLE] += h->nr_samples;
	for (size_t i = 0; i < h->others.nr; i++) {
		u64 place = h->others.at[i];
		struct perf_event_header head = perf_head(map + place, r->file.swap);
		/* The file may be written to meanwhile. */
		if (head.size < sizeof(head) || head.size > h->to - place) {
			h->to = place;
			h->stopped = true;
			break;
		}
		int err = replay_perf_head(r, map + place, &head, place);
		if (err)
			return err;
	}
	return replay_perf_add_block(r, map + h->from, map + h->to);
}

/* Block by block; *from moves to the first record that is not taken. */
static int take_blocks(const struct head_walk *w, size_t *from)
{
	int err = 0;
	for (u32 i = 0; i < w->nr && !err; i++) {
		struct heads *h = &w->blocks[i];
		if (*from >= nominal(w, i + 1))
			continue; /* all of it belongs to a record before */
		if (h->from != *from)
			err = walk_heads(w, i, *from);
		if (!err)
			err = take_heads(w->r, h);
		*from = h->to;
		if (h->stopped)
			break;
	}
	return err;
}

/* As much of a range as there is without surprises: *from is where the plain walk goes on. */
static int first_pass_blocks(struct perf_replay *r, struct perfdata_range range, size_t *from)
{
	enum { LEAST = 4 }; /* blocks for each worker */
	struct head_walk w = { .r = r, .at = range.at, .end = range.end };
	w.nr = (u32)min((range.end - range.at + BLOCK_BYTES - 1) / BLOCK_BYTES, (size_t)1 << 30);
	unsigned workers = par_workers(r->source.workers, w.nr, LEAST);
	*from = range.at;
	if (workers < 2 || r->file.is_pipe)
		return 0;
	w.blocks = calloc((size_t)w.nr + 1, sizeof(*w.blocks));
	int err = w.blocks ? par_each(workers, w.nr, guess_and_walk, &w) : -ENOMEM;
	if (!err)
		err = take_blocks(&w, from);
	for (u32 i = 0; w.blocks && i < w.nr; i++)
		vec_free(&w.blocks[i].others);
	free(w.blocks);
	return err;
}

int replay_perf_first_pass(struct perf_replay *r, unsigned needs)
{
	struct perfdata_inflate *z = NULL;
	u64 place = r->file.map_size; /* places of decompressed records follow those of the file */
	bool early = replay_perf_may_start_early(r, needs);
	int err = 0;
	r->whole = true;
	for (size_t i = 0; i < perfdata_nr_ranges(&r->file) && !err; i++) {
		size_t from = perfdata_range(&r->file, i).at;
		if (!early)
			err = first_pass_blocks(r, perfdata_range(&r->file, i), &from);
		if (!err)
			err = first_pass_range(r, i, from, early, &z, &place);
	}
	r->unpacked = place - r->file.map_size;
	perfdata_inflate_free(z);
	return err;
}

int replay_perf_first_rest(struct perf_replay *r)
{
	struct perfdata_inflate *z = NULL;
	u64 place = r->file.map_size;
	int err = first_pass_range(r, 0, r->walked, false, &z, &place);
	perfdata_inflate_free(z);
	r->whole = !err;
	return err;
}
