#include "analysis/annotate.h"
#include "base/dict.h"
#include "base/strtab.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

struct hit {
	u32 event;
	u32 frame;
	struct annotation_weight weight;
};

struct annotate_tally {
	struct dict at; /* (event, frame) -> index */
	VEC(struct hit) hits;
};

struct annotate {
	struct sink sink;
	struct annotate_tally all;
	const struct sample_choice *chosen; /* NULL: all */
	const struct catalog *catalog;
	const struct names_result *names;
};

static int tally_add(struct annotate_tally *t, u32 event, u32 frame, struct annotation_weight w)
{
	u32 fresh = (u32)t->hits.nr, got;
	int err = dict_add(&t->at, (u64)event << 32 | frame, fresh, &got);
	if (err)
		return err;
	if (got == fresh) {
		struct hit *h = vec_push(&t->hits);
		if (!h)
			return -ENOMEM;
		h->event = event;
		h->frame = frame;
	}
	t->hits.at[got].weight.period += w.period;
	t->hits.at[got].weight.count += w.count;
	return 0;
}

static void tally_done(struct annotate_tally *t)
{
	dict_done(&t->at);
	vec_free(&t->hits);
}

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct annotate_tally *t = calloc(1, sizeof(*t));
	*state = t;
	return t ? 0 : -ENOMEM;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	const struct annotate *a = container_of(k, struct annotate, sink);
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct sample *s = &b->samples[i];
		if (a->chosen && !sample_chosen(a->chosen, a->catalog, s))
			continue;
		err = tally_add(state, s->event, s->leaf,
				(struct annotation_weight){ .period = s->period, .count = 1 });
	}
	return err;
}

static int merge_hits(struct annotate *a, const struct sink_part *part)
{
	const struct annotate_tally *t = part->state;
	int err = 0;
	for (size_t i = 0; i < t->hits.nr && !err; i++) {
		const struct hit *h = &t->hits.at[i];
		err = tally_add(&a->all, h->event,
				part->map_frame ? part->map_frame[h->frame] : h->frame, h->weight);
	}
	return err;
}

static int merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	int err = 0;
	for (u32 i = 0; i < nr && !err; i++)
		err = merge_hits(container_of(k, struct annotate, sink), &parts[i]);
	return err;
}

static void shard_free(struct sink *k, void *state)
{
	tally_done(state);
	free(state);
}

/* All places that were hit are wanted: there are no more of them than code has instructions. */
static int carry_hits(struct sink *k, struct carry *c)
{
	struct annotate *a = container_of(k, struct annotate, sink);
	struct annotate_tally old = a->all;
	int err = 0;
	a->all = (struct annotate_tally){ 0 };
	for (size_t i = 0; i < old.hits.nr && !err; i++) {
		s64 frame = carry_frame(c, old.hits.at[i].frame);
		err = frame < 0 ? (int)frame
				: tally_add(&a->all, old.hits.at[i].event, (u32)frame,
					    old.hits.at[i].weight);
	}
	tally_done(&old);
	return err;
}

static const struct sink_ops annotate_ops = {
	.needs = NEED_LEAF | KEEP_IDS,
	.shard_new = shard_new,
	.feed = feed,
	.merge = merge,
	.shard_free = shard_free,
	.carry = carry_hits,
};

struct annotate *annotate_new(const struct sample_choice *chosen, const struct catalog *c)
{
	struct annotate *a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	*a = (struct annotate){ .sink = { .ops = &annotate_ops, .needs = annotate_ops.needs },
				.chosen = chosen,
				.catalog = c };
	return a;
}

void annotate_free(struct annotate *a)
{
	if (!a)
		return;
	tally_done(&a->all);
	free(a);
}

struct sink *annotate_sink(struct annotate *a)
{
	return &a->sink;
}

void annotate_clear(struct annotate *a)
{
	tally_done(&a->all);
	a->all = (struct annotate_tally){ 0 };
}

int annotate_count(struct annotate *a, u32 event, u32 frame, u64 period, u64 count)
{
	return tally_add(&a->all, event, frame,
			 (struct annotation_weight){ .period = period, .count = count });
}

struct annotation_weight annotate_total(const struct annotate *a, u32 event)
{
	struct annotation_weight sum = { 0 };
	vec_for_each (&a->all.hits, h) {
		if (h->event != event)
			continue;
		sum.period += h->weight.period;
		sum.count += h->weight.count;
	}
	return sum;
}

static int heavier(const void *l, const void *r)
{
	const struct annotate_func *a = l, *b = r;
	if (a->period != b->period)
		return a->period > b->period ? -1 : 1;
	return (a->func > b->func) - (a->func < b->func);
}

int annotate_funcs(struct annotate *a, const struct names_result *names, const bool *events,
		   u32 nr_events, struct annotate_func **ret, u32 *nr)
{
	a->names = names;
	_cleanup_free_ u64 *sums = calloc((size_t)names->nr_funcs + 1, sizeof(*sums));
	struct annotate_func *list = calloc((size_t)names->nr_funcs + 1, sizeof(*list));
	if (!sums || !list) {
		free(list);
		return -ENOMEM;
	}
	vec_for_each (&a->all.hits, h)
		if (h->event < nr_events && events[h->event])
			sums[names->func_of[h->frame]] += h->weight.period;
	u32 found = 0;
	for (u32 f = 1; f < names->nr_funcs; f++)
		if (sums[f])
			list[found++] = (struct annotate_func){ f, sums[f] };
	qsort(list, found, sizeof(*list), heavier);
	*ret = list;
	*nr = found;
	return 0;
}

/* The instruction that covers a place (bytes after the function's start), or none. */
static u32 insn_at(const struct annotation *to, u64 place)
{
	u32 lo = 0, hi = to->nr_insns;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (to->insns[mid].addr - to->start <= place)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : UINT32_MAX;
}

static void add_weight(struct annotation_weight *to, struct annotation_weight w)
{
	to->period += w.period;
	to->count += w.count;
}

static int heavier_line(const void *l, const void *r, void *ctx)
{
	const struct annotation_line *a = l, *b = r;
	const u32 *nr_events = ctx;
	for (u32 e = 0; e < *nr_events; e++)
		if (a->weights[e].period != b->weights[e].period)
			return a->weights[e].period > b->weights[e].period ? -1 : 1;
	int c = strcmp(a->file, b->file);
	return c ? c : (a->line > b->line) - (a->line < b->line);
}

/* Lines with weight: the instructions of each added up. */
static int fill_lines(struct annotation *to, struct arena *arena)
{
	struct annotation_line *lines = arena_array(arena, (size_t)to->nr_insns + 1, sizeof(*lines));
	struct strtab files;
	struct dict at;
	strtab_init(&files);
	dict_init(&at);
	int err = lines ? 0 : -ENOMEM;
	for (u32 i = 0; i < to->nr_insns && !err; i++) {
		const struct annotation_insn *in = &to->insns[i];
		const struct annotation_weight *w = annotation_weights(to, i);
		bool any = false;
		for (u32 e = 0; e < to->nr_events; e++)
			any |= w[e].count != 0;
		if (!in->file || !any)
			continue;
		s64 file = strtab_add(&files, in->file, strlen(in->file));
		u32 fresh = to->nr_lines, got = 0;
		err = file < 0 ? (int)file : dict_add(&at, (u64)file << 32 | in->line, fresh, &got);
		if (!err && got == fresh) {
			lines[fresh] = (struct annotation_line){
				in->file, in->line, arena_array(arena, to->nr_events, sizeof(*w))
			};
			err = lines[fresh].weights ? 0 : -ENOMEM;
			to->nr_lines++;
		}
		for (u32 e = 0; e < to->nr_events && !err; e++)
			add_weight(&lines[got].weights[e], w[e]);
	}
	strtab_done(&files);
	dict_done(&at);
	if (err)
		return err;
	qsort_r(lines, to->nr_lines, sizeof(*lines), heavier_line, &to->nr_events);
	to->lines = lines;
	return 0;
}

int annotate_fill(const struct annotate *a, const struct frame_table *frames, u32 func,
		  const u32 *event, u64 offset, struct annotation *to, struct arena *arena)
{
	struct annotation_event *events = to->events;
	struct annotation_weight *weights =
		arena_array(arena, (size_t)to->nr_insns * to->nr_events + 1, sizeof(*weights));
	if (!weights)
		return -ENOMEM;
	to->weights = weights;
	for (u32 e = 0; e < to->nr_events; e++)
		events[e].all = annotate_total(a, event[e]);
	vec_for_each (&a->all.hits, h) {
		if (a->names->func_of[h->frame] != func)
			continue;
		u32 at = insn_at(to, frames->frames[h->frame].offset - offset);
		for (u32 e = 0; e < to->nr_events; e++) {
			if (event[e] != h->event)
				continue;
			add_weight(&events[e].here, h->weight);
			if (at != UINT32_MAX)
				add_weight(&weights[(size_t)at * to->nr_events + e], h->weight);
		}
	}
	return fill_lines(to, arena);
}
