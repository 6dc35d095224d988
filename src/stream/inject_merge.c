/*
 * A task's sched_switch has the stack where it went to sleep; the sched_stat event when it wakes knows for how long it slept. Of
 * both one sample is made: the stack of the first, with time and period of the second. (perf inject -s)
 */
#include "stream/inject_merge.h"

#include "stream/perf_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum part_kind { PART_SWITCH, PART_EXIT, PART_STAT };

/* A sample that takes part, in time order later. */
struct inject_part {
	u64 time, place, period;
	u32 kind;
	u32 task; /* whose it is; of a stat: whom it is about */
	u32 event;
	u32 bytes; /* PART_SWITCH: offset of its copy */
};

struct inject_merging {
	struct inject_merge *m;
	const struct source *src;
	const struct perfdata *file;
	struct perf_scratch scratch;
	VEC(struct inject_part) parts;
	struct strbuf switches; /* copies of the records */
	VEC(s8) kinds; /* by event; -1: takes no part */
	VEC(const struct schema_field *) pid; /* by event: of stats */
};

static s8 kind_of(const struct event_info *e)
{
	if (!(e->sample_type & PERF_SAMPLE_TID))
		return -1;
	if (!strcmp(e->name, "sched:sched_switch"))
		return PART_SWITCH;
	if (!strcmp(e->name, "sched:sched_process_exit"))
		return PART_EXIT;
	return strncmp(e->name, "sched:sched_stat_", 17) ? -1 : PART_STAT;
}

static int find_kinds(struct inject_merging *g)
{
	vec_for_each (&g->src->catalog.events, e) {
		s8 *kind = vec_push(&g->kinds);
		const struct schema_field **pid = kind ? vec_push(&g->pid) : NULL;
		if (!pid)
			return -ENOMEM;
		*kind = kind_of(e);
		*pid = *kind == PART_STAT && e->schema ? schema_find(e->schema, "pid") : NULL;
		if (*kind == PART_STAT && !*pid)
			*kind = -1;
	}
	return 0;
}

static int see(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct inject_merging *g = ctx;
	const struct perfdata *f = g->file;
	struct perf_sample_view v;
	if (h->type != PERF_RECORD_SAMPLE)
		return 0;
	u64 id = f->attrs.nr > 1 ? perf_sample_id(&f->attrs.at[0].layout, rec, h->size, f->swap) : 0;
	const struct perfdata_attr *a = perfdata_attr_of(f, id);
	u32 event = a ? (u32)(a - f->attrs.at) : 0;
	if (!a || g->kinds.at[event] < 0 ||
	    perf_sample_decode(&a->layout, rec, h->size, f->swap, &g->scratch, &v))
		return 0;
	struct inject_part *p = vec_push(&g->parts);
	if (!p)
		return -ENOMEM;
	*p = (struct inject_part){ .time = v.time,
				   .place = place,
				   .period = v.period,
				   .kind = (u32)g->kinds.at[event],
				   .task = v.tid,
				   .event = event };
	if (p->kind == PART_STAT)
		p->task = (u32)schema_u64(g->src->catalog.events.at[event].schema, g->pid.at[event],
					  v.raw, v.raw_size);
	if (p->kind != PART_SWITCH)
		return 0;
	p->bytes = (u32)g->switches.len;
	strbuf_add(&g->switches, rec, h->size);
	return g->switches.len > UINT32_MAX ? -EFBIG : g->switches.err;
}

static int by_time(const void *a, const void *b)
{
	const struct inject_part *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int set_fate(struct inject_merge *m, u64 place, u32 fate)
{
	u32 index = (u32)m->fate.list.nr, have;
	u32 *slot = vec_push(&m->fate.list);
	if (!slot)
		return -ENOMEM;
	*slot = fate;
	return dict_add(&m->places, place, index, &have);
}

/* Words of a sample stand in a fixed order: how many of these bits come before one of them. */
static size_t offset_of(u64 sample_type, u64 bit)
{
	static const u64 order[] = { PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
				     PERF_SAMPLE_TIME,	     PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
				     PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD };
	size_t at = sizeof(struct perf_event_header);
	for (size_t i = 0; i < ARRAY_SIZE(order) && order[i] != bit; i++)
		at += sample_type & order[i] ? sizeof(u64) : 0;
	return at;
}

/* The sleeper's record with the stat's time and period. */
static int merge(struct inject_merging *g, const struct inject_part *stat,
		 const struct inject_part *sleep)
{
	struct strbuf *to = &g->m->bytes;
	struct perf_event_header h;
	u64 type = g->file->attrs.at[sleep->event].attr.sample_type;
	const struct {
		u64 bit, value;
	} words[] = { { PERF_SAMPLE_TIME, stat->time }, { PERF_SAMPLE_PERIOD, stat->period } };
	u32 at = (u32)to->len;
	memcpy(&h, g->switches.data + sleep->bytes, sizeof(h));
	strbuf_fill(to, 0, -to->len & 7);
	at = (u32)to->len;
	strbuf_add(to, g->switches.data + sleep->bytes, h.size);
	if (to->err || to->len > UINT32_MAX)
		return to->err ? to->err : -EFBIG;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t pos = offset_of(type, words[i].bit);
		if (type & words[i].bit && pos + sizeof(u64) <= h.size)
			memcpy(to->data + at + pos, &words[i].value, sizeof(u64));
	}
	return set_fate(g->m, stat->place, at);
}

static int decide(struct inject_merging *g)
{
	struct dict tasks; /* tid -> index into last */
	VEC(u32) last = { 0 }; /* part + 1 of its last switch; 0: none */
	int err = 0;
	dict_init(&tasks);
	for (size_t i = 0; i < g->parts.nr && !err; i++) {
		const struct inject_part *p = &g->parts.at[i];
		u32 slot, fresh = (u32)last.nr;
		err = dict_add(&tasks, p->task, fresh, &slot);
		if (!err && slot == fresh) {
			u32 *one = vec_push(&last);
			err = one ? 0 : -ENOMEM;
			if (one)
				*one = 0;
		}
		if (err)
			break;
		if (p->kind == PART_STAT && last.at[slot]) {
			err = merge(g, p, &g->parts.at[last.at[slot] - 1]);
			continue;
		}
		if (p->kind != PART_STAT)
			last.at[slot] = p->kind == PART_SWITCH ? (u32)i + 1 : 0;
		err = set_fate(g->m, p->place, INJECT_DROP);
	}
	vec_free(&last);
	dict_done(&tasks);
	return err;
}

int inject_merge_read(struct inject_merge *m, const struct source *src)
{
	struct inject_merging g = { .m = m, .src = src, .file = replay_perf_file(src) };
	strbuf_init(&g.switches);
	*m = (struct inject_merge){ 0 };
	dict_init(&m->places);
	strbuf_init(&m->bytes);
	int err = find_kinds(&g);
	bool any = false;
	vec_for_each (&g.kinds, kind)
		any |= *kind == PART_STAT;
	if (!err && !any)
		err = -ENOENT;
	if (!err)
		err = perf_walk(g.file, see, &g);
	if (!err && g.parts.nr)
		qsort(g.parts.at, g.parts.nr, sizeof(*g.parts.at), by_time);
	if (!err)
		err = decide(&g);
	perf_scratch_done(&g.scratch);
	strbuf_done(&g.switches);
	vec_free(&g.parts);
	vec_free(&g.kinds);
	vec_free(&g.pid);
	if (err)
		inject_merge_done(m);
	return err;
}

void inject_merge_done(struct inject_merge *m)
{
	dict_done(&m->places);
	vec_free(&m->fate.list);
	strbuf_done(&m->bytes);
}

const struct perf_event_header *inject_merge_find(const struct inject_merge *m, u64 place,
						  bool *same)
{
	u32 index = dict_get(&m->places, place);
	*same = index == DICT_NONE;
	if (*same || m->fate.list.at[index] == INJECT_DROP)
		return NULL;
	const void *at = m->bytes.data + m->fate.list.at[index];
	return at;
}
