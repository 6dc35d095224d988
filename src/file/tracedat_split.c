#include "file/tracedat_split.h"
#include "base/str.h"

#include "base/vec.h"
#include "file/tracedat_out.h"
#include "wire/ftrace_page.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DELTA_BITS = 27, TYPE_EXTEND = 30, PIECES_MAX = 1 << 20 };

struct splitting {
	const struct tracedat_split *o;
	struct diag *diag;
	struct tracedat *from;
	struct tracedat_copy copy;
	int (*read_whole)(void *ctx, u32 buffer, u32 cpu, u64 offset, void *to, size_t len);
	struct strbuf *pages; /* of this stretch, for each CPU of each buffer */
	size_t nr_lanes;
	u64 first, last; /* times in the file */
	VEC(u64) times; /* of all events, for pieces of so many */
	u64 nr_events, nr_files;
};

static void put_u32(const struct splitting *s, u8 *to, u32 v)
{
	v = s->from->swap ? __builtin_bswap32(v) : v;
	memcpy(to, &v, sizeof(v));
}

/* The head of an event: from the low end on little-endian machines, from the high end on others. */
static u32 event_head(const struct splitting *s, u32 type_len, u32 delta)
{
	return s->from->big_endian ? type_len << DELTA_BITS | delta : delta << 5 | type_len;
}

static void put_page_head(const struct splitting *s, u8 *page, u64 time, u64 commit)
{
	const struct page_layout *l = &s->from->layout;
	u64 t = s->from->swap ? __builtin_bswap64(time) : time;
	memcpy(page + l->ts_offset, &t, sizeof(t));
	if (l->commit_size == 8) {
		u64 c = s->from->swap ? __builtin_bswap64(commit) : commit;
		memcpy(page + l->commit_offset, &c, sizeof(c));
	} else {
		put_u32(s, page + l->commit_offset, (u32)commit);
	}
}

/* A new page with the events of [from, to); returns how many. It is never longer than the old one. */
static u32 cut_page(const struct splitting *s, const u8 *page, u32 size, u64 from, u64 to, u8 *out)
{
	const struct page_layout *l = &s->from->layout;
	struct ftrace_page p;
	struct ftrace_event e;
	u32 nr = 0, at = l->data_offset;
	u64 start = 0, time = 0;
	memset(out, 0, size);
	if (ftrace_page_open(&p, l, page, size, s->from->big_endian))
		return 0;
	while (ftrace_page_next(&p, &e) == 1) {
		if (e.time < from || e.time >= to)
			continue;
		if (!nr)
			start = time = e.time;
		u64 delta = e.time - time;
		u32 type_len = e.size && e.size <= 28 * 4 && e.size % 4 == 0 ? e.size / 4 : 0;
		u32 need = 4 + (type_len ? 0 : 4) + (e.size + 3) / 4 * 4;
		if (delta >> DELTA_BITS)
			need += 8;
		if (at + need > size)
			break; /* cannot be: what was left out made more room */
		if (delta >> DELTA_BITS) {
			put_u32(s, out + at,
				event_head(s, TYPE_EXTEND, (u32)(delta & ((1u << DELTA_BITS) - 1))));
			put_u32(s, out + at + 4, (u32)(delta >> DELTA_BITS));
			at += 8;
			delta = 0;
		}
		put_u32(s, out + at, event_head(s, type_len, (u32)delta));
		at += 4;
		if (!type_len) {
			put_u32(s, out + at, e.size + 4);
			at += 4;
		}
		memcpy(out + at, e.data, e.size);
		at += (e.size + 3) / 4 * 4;
		time = e.time;
		nr++;
	}
	put_page_head(s, out, start, at - l->data_offset);
	return nr;
}

struct tracedat_split_span {
	u64 first, last;
	u32 nr;
};

static struct tracedat_split_span span_of(struct splitting *s, const u8 *page, u32 size, bool keep)
{
	struct ftrace_page p;
	struct ftrace_event e;
	struct tracedat_split_span r = { .first = UINT64_MAX };
	if (ftrace_page_open(&p, &s->from->layout, page, size, s->from->big_endian))
		return r;
	while (ftrace_page_next(&p, &e) == 1) {
		r.first = min(r.first, e.time);
		r.last = max(r.last, e.time);
		r.nr++;
		u64 *slot = keep ? vec_push(&s->times) : NULL;
		if (slot)
			*slot = e.time;
	}
	return r;
}

/* fn for each page of the file. */
static int each_page(struct splitting *s,
		     int (*fn)(struct splitting *s, size_t lane, const u8 *page, u32 size))
{
	size_t lane = 0;
	int err = 0;
	for (u32 b = 0; b < s->from->buffers.nr && !err; b++) {
		const struct tracedat_buffer *buf = &s->from->buffers.at[b];
		u8 *page = malloc(buf->page_size);
		if (!page)
			return -ENOMEM;
		for (u32 c = 0; c < buf->nr_cpus && !err; c++, lane++) {
			if (s->o->one_cpu && buf->cpus[c].cpu != s->o->cpu)
				continue;
			for (u32 i = 0; i < buf->cpus[c].nr_pages && !err; i++) {
				err = s->read_whole(&s->copy, b, c, (u64)i * buf->page_size, page,
						    buf->page_size);
				if (!err)
					err = fn(s, lane, page, buf->page_size);
			}
		}
		free(page);
	}
	return err;
}

static int look(struct splitting *s, size_t lane, const u8 *page, u32 size)
{
	(void)lane;
	size_t before = s->times.nr;
	struct tracedat_split_span r = span_of(s, page, size, s->o->events);
	if (s->o->events && s->times.nr != before + r.nr)
		return -ENOMEM;
	if (r.nr) {
		s->first = min(s->first, r.first);
		s->last = max(s->last, r.last);
	}
	return 0;
}

/* The stretch being made. */
static int take(struct splitting *s, size_t lane, const u8 *page, u32 size)
{
	u64 from = s->first, to = s->last;
	struct tracedat_split_span r = span_of(s, page, size, false);
	if (!r.nr || r.last < from || r.first >= to)
		return 0;
	if (r.first >= from && r.last < to) {
		strbuf_add(&s->pages[lane], page, size);
		s->nr_events += r.nr;
		return s->pages[lane].err;
	}
	u8 *cut = malloc(size);
	if (!cut)
		return -ENOMEM;
	u32 nr = cut_page(s, page, size, from, to, cut);
	if (nr)
		strbuf_add(&s->pages[lane], cut, size);
	s->nr_events += nr;
	free(cut);
	return s->pages[lane].err;
}

static int read_cut(void *ctx, u32 buffer, u32 cpu, u64 offset, void *to, size_t len)
{
	struct splitting *s = ctx;
	size_t lane = cpu;
	for (u32 b = 0; b < buffer; b++)
		lane += s->from->buffers.at[b].nr_cpus;
	memcpy(to, s->pages[lane].data + offset, len);
	return 0;
}

static int write_stretch(struct splitting *s, const char *path, u64 from, u64 to)
{
	s->first = from;
	s->last = to;
	for (size_t i = 0; i < s->nr_lanes; i++)
		strbuf_reset(&s->pages[i]);
	int err = each_page(s, take);
	for (size_t i = 0; i < s->nr_lanes; i++)
		s->copy.cpus[i].size = s->pages[i].len;
	s->nr_files++;
	return err ? err : tracedat_write_file(path, &s->copy.out, s->diag);
}

static int by_time(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;
	return (x > y) - (x < y);
}

/* Where the stretch that begins at `from` ends. */
static u64 stretch_end(struct splitting *s, u64 from, u64 end)
{
	const struct tracedat_split *o = s->o;
	u64 step = o->step_ns;
	if (o->events) {
		size_t i = 0;
		while (i < s->times.nr && s->times.at[i] < from)
			i++;
		return i + o->events < s->times.nr ? min(s->times.at[i + o->events], end) : end;
	}
	return step && from + step < end ? from + step : end;
}

static int cut_all(struct splitting *s)
{
	const struct tracedat_split *o = s->o;
	bool pieces = o->step_ns || o->events;
	s->first = UINT64_MAX;
	int err = each_page(s, look);
	if (err)
		return err;
	if (s->first == UINT64_MAX)
		return diag_error(s->diag, -ENODATA, "%s: no events", o->input);
	if (s->times.nr)
		qsort(s->times.at, s->times.nr, sizeof(*s->times.at), by_time);
	u64 from = max(o->start, s->first), stop = o->end ? min(o->end, s->last + 1) : s->last + 1;
	if (from >= stop)
		return diag_error(s->diag, -ERANGE, "no events in this time range");
	for (u32 nr = 1; from < stop && !err; nr++) {
		char path[PATH_MAX];
		u64 to = stretch_end(s, from, stop);
		if (to <= from) /* more events at one moment than a piece may have */
			to = from + 1;
		if (nr > PIECES_MAX)
			return diag_error(s->diag, -E2BIG, "this would create more than %d files",
					  PIECES_MAX);
		err = str_path(path, sizeof(path), "%s.%u", o->output, nr);
		if (!err)
			err = write_stretch(s, path, from, to);
		from = to;
		if (!o->repeat && pieces)
			break;
	}
	return err;
}

static int run(struct splitting *s)
{
	int err = tracedat_copy_init(&s->copy, s->from);
	if (err)
		return err;
	vec_for_each (&s->from->buffers, b)
		s->nr_lanes += b->nr_cpus;
	s->pages = calloc(s->nr_lanes + 1, sizeof(*s->pages));
	if (s->pages) {
		for (size_t i = 0; i < s->nr_lanes; i++)
			strbuf_init(&s->pages[i]);
		s->read_whole = s->copy.out.read;
		s->copy.out.read = read_cut;
		s->copy.out.ctx = s;
		err = cut_all(s);
		for (size_t i = 0; i < s->nr_lanes; i++)
			strbuf_done(&s->pages[i]);
	}
	free(s->pages);
	vec_free(&s->times);
	tracedat_copy_done(&s->copy);
	return err;
}

int tracedat_split(struct tracedat *from, const struct tracedat_split *o,
		   struct tracedat_split_done *ret, struct diag *d)
{
	struct splitting s = { .o = o, .diag = d, .from = from };
	if (from->latency)
		return diag_error(d, -EINVAL, "%s holds the text of a latency tracer: no events",
				  o->input);
	int err = run(&s);
	*ret = (struct tracedat_split_done){ .files = s.nr_files, .events = s.nr_events };
	return err;
}
