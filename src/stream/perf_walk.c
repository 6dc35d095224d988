#include "stream/perf_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef int (*record_fn)(void *, const u8 *, const struct perf_event_header *, u64);

static int unpack(const struct perfdata *file, struct perfdata_inflate *z, u64 *place, record_fn fn,
		  void *ctx)
{
	size_t size;
	const u8 *data = perfdata_inflate_data(z, &size), *at = data, *rec;
	struct perf_event_header h;
	int err = 0;
	while (!err && perfdata_record(file, &at, data + size, &rec, &h) > 0)
		err = fn(ctx, rec, &h, *place + (u64)(rec - data));
	*place += (u64)(at - data);
	perfdata_inflate_drop(z, (size_t)(at - data));
	return err;
}

static int walk_packed(const struct perfdata *file, struct perfdata_inflate *z, const u8 *rec,
		       const struct perf_event_header *h, u64 *place, record_fn fn, void *ctx)
{
	int err = perfdata_inflate_add(z, rec, h, file->swap), more = 1;
	while (!err && (more = perfdata_inflate_step(z)) > 0)
		err = unpack(file, z, place, fn, ctx);
	return err ? err : more;
}

int perf_walk(const struct perfdata *file, record_fn fn, void *ctx)
{
	struct perfdata_inflate *z = NULL;
	u64 place = file->map_size;
	int err = 0;
	for (size_t i = 0; i < perfdata_nr_ranges(file) && !err; i++) {
		struct perfdata_range range = perfdata_range(file, i);
		const u8 *at = file->map + range.at, *end = file->map + range.end, *rec;
		struct perf_event_header h;
		if (z)
			perfdata_inflate_reset(z);
		while (!err && perfdata_record(file, &at, end, &rec, &h) > 0) {
			err = fn(ctx, rec, &h, (u64)(rec - file->map));
			if (err || (h.type != REC_COMPRESSED && h.type != REC_COMPRESSED2))
				continue;
			if (!z && !(z = perfdata_inflate_new()))
				err = -ENOMEM;
			else
				err = walk_packed(file, z, rec, &h, &place, fn, ctx);
		}
		if (err == -EBADMSG)
			err = 0; /* damage ends the range; who replays the file says so */
	}
	perfdata_inflate_free(z);
	return err;
}

u64 perf_walk_time(const struct perfdata *file, const u8 *rec, const struct perf_event_header *h)
{
	u64 id = file->attrs.nr > 1
			 ? perf_sample_id(&file->attrs.at[0].layout, rec, h->size, file->swap)
			 : 0;
	const struct perfdata_attr *a = perfdata_attr_of(file, id);
	return a ? perf_sample_time(&a->layout, rec, h->size, file->swap) : 0;
}

bool perf_file_has_times(const struct perfdata *file)
{
	vec_for_each (&file->attrs, a)
		if (!(a->attr.sample_type & PERF_SAMPLE_TIME) || !a->attr.sample_id_all)
			return false;
	return file->attrs.nr > 0;
}

/* Which event's layout the trailer has: told by its last word where events differ. */
static const struct perf_event_attr *attr_of(const struct perfdata *file, const u8 *rec, u16 size)
{
	if (!file->attrs.nr)
		return NULL;
	const struct perf_event_attr *first = &file->attrs.at[0].attr;
	if (file->attrs.nr == 1 || !(first->sample_type & PERF_SAMPLE_IDENTIFIER) || size < 16)
		return first;
	struct bytes b = bytes_of(rec + size - 8, 8, file->swap);
	const struct perfdata_attr *a = perfdata_attr_of(file, bytes_u64(&b));
	return a ? &a->attr : first;
}

int perf_walk_side(const struct perfdata *file, const u8 *rec, const struct perf_event_header *h,
		   struct perf_side *ret)
{
	if (h->type == PERF_RECORD_SAMPLE || h->type >= REC_KERNEL_MAX)
		return -EBADMSG;
	const struct perf_event_attr *a = attr_of(file, rec, h->size);
	int err = perf_side_decode(rec, h->size, file->swap, a ? a->sample_type : 0,
				   a && a->sample_id_all, ret);
	return err ? -EBADMSG : 0;
}

struct perf_id_trailer perf_walk_who(const struct perfdata *file, const u8 *rec,
				     const struct perf_event_header *h)
{
	struct perf_id_trailer who = { 0 };
	const struct perf_event_attr *a =
		h->type < REC_KERNEL_MAX ? attr_of(file, rec, h->size) : NULL;
	if (a && a->sample_id_all)
		(void)!perf_trailer_decode(rec, h->size, file->swap, a->sample_type, &who);
	return who;
}

int perf_walk_read(const struct perfdata *file, const u8 *rec, const struct perf_event_header *h,
		   struct perf_read *ret)
{
	if (h->type != PERF_RECORD_READ)
		return -EBADMSG;
	const struct perf_event_attr *a = attr_of(file, rec, h->size);
	return perf_read_decode(rec, h->size, file->swap, a ? a->sample_type : 0,
				a && a->sample_id_all, ret);
}

struct collecting {
	struct perf_sides *to;
	const struct perfdata *file;
	bool times;
};

/* What was unpacked does not stay. */
static int keep_borrowed(struct perf_sides *s, struct perf_side *side)
{
	if (side->name && !(side->name = arena_strdup(&s->arena, side->name)))
		return -ENOMEM;
	if (side->build_id) {
		u8 *id = arena_alloc(&s->arena, side->build_id_size + 1);
		if (!id)
			return -ENOMEM;
		memcpy(id, side->build_id, side->build_id_size);
		side->build_id = id;
	}
	if (side->namespaces) {
		size_t size = (size_t)side->nr_namespaces * 16;
		u8 *kept = arena_alloc(&s->arena, size + 1);
		if (!kept)
			return -ENOMEM;
		memcpy(kept, side->namespaces, size);
		side->namespaces = kept;
	}
	return 0;
}

static int collect(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct collecting *c = ctx;
	struct perf_side side;
	if (perf_walk_side(c->file, rec, h, &side))
		return 0;
	if (place >= c->file->map_size && keep_borrowed(c->to, &side))
		return -ENOMEM;
	struct perf_sides_row *row = vec_push(&c->to->rows);
	if (!row)
		return -ENOMEM;
	*row = (struct perf_sides_row){ .side = side,
					.time = c->times ? side.who.time : 0,
					.place = place };
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct perf_sides_row *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

int perf_sides_read(struct perf_sides *s, const struct perfdata *file)
{
	*s = (struct perf_sides){ 0 };
	arena_init(&s->arena);
	struct collecting c = { .to = s, .file = file, .times = perf_file_has_times(file) };
	int err = perf_walk(file, collect, &c);
	if (err)
		perf_sides_done(s);
	else if (s->rows.nr)
		qsort(s->rows.at, s->rows.nr, sizeof(*s->rows.at), by_time);
	return err;
}

void perf_sides_done(struct perf_sides *s)
{
	vec_free(&s->rows);
	arena_done(&s->arena);
}
