#include "analysis/blocks.h"
#include "base/dict.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* A straight line: from where a branch led to where the next one left. */
struct blocks_pass {
	u32 start, end; /* frames */
	u64 cycles, count;
};

struct blocks_tally {
	struct dict at; /* (start, end) -> index */
	VEC(struct blocks_pass) passes;
	u64 nr_branches, total_cycles;
};

struct tallies {
	VEC(struct blocks_tally) events;
};

struct blocks {
	struct sink sink;
	struct tallies all;
	const struct sample_choice *when, *who; /* NULL: all */
	const struct catalog *catalog;
};

static struct blocks_tally *tally_of(struct tallies *t, u32 event)
{
	while (t->events.nr <= event) {
		struct blocks_tally *fresh = vec_push(&t->events);
		if (!fresh)
			return NULL;
		dict_init(&fresh->at);
	}
	return &t->events.at[event];
}

static void tallies_done(struct tallies *t)
{
	vec_for_each (&t->events, e) {
		dict_done(&e->at);
		vec_free(&e->passes);
	}
	vec_free(&t->events);
}

static int add_pass(struct blocks_tally *t, u32 start, u32 end, u64 cycles, u64 count)
{
	u32 fresh = (u32)t->passes.nr, got;
	int err = dict_add(&t->at, (u64)start << 32 | end, fresh, &got);
	if (err)
		return err;
	if (got == fresh) {
		struct blocks_pass *p = vec_push(&t->passes);
		if (!p)
			return -ENOMEM;
		p->start = start;
		p->end = end;
	}
	t->passes.at[got].cycles += cycles;
	t->passes.at[got].count += count;
	return 0;
}

/* The newest branch comes first. A stack whose newest branch tells no cycles comes from a CPU that counts none. */
static int add_stack(struct blocks_tally *t, const struct sample *s)
{
	u32 start = FRAME_NONE;
	int err = 0;
	t->nr_branches += s->nr_branches;
	if (!s->nr_branches || !BRANCH_CYCLES(s->branches[0].flags))
		return 0;
	for (u32 i = s->nr_branches; i-- > 0 && !err;) {
		const struct sample_branch *b = &s->branches[i];
		u32 cycles = BRANCH_CYCLES(b->flags);
		t->total_cycles += cycles;
		if (cycles)
			err = add_pass(t, start, b->from_frame, cycles, 1);
		start = b->to_frame;
	}
	return err;
}

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct tallies *t = calloc(1, sizeof(*t));
	*state = t;
	return t ? 0 : -ENOMEM;
}

static int feed(struct sink *k, void *state, const struct batch *batch)
{
	const struct blocks *b = container_of(k, struct blocks, sink);
	int err = 0;
	for (size_t i = 0; i < batch->nr && !err; i++) {
		const struct sample *s = &batch->samples[i];
		if ((b->when && !sample_chosen(b->when, b->catalog, s)) ||
		    (b->who && !sample_chosen(b->who, b->catalog, s)))
			continue;
		struct blocks_tally *t = tally_of(state, s->event);
		err = t ? add_stack(t, s) : -ENOMEM;
	}
	return err;
}

static int merge_part(struct blocks *b, const struct sink_part *part)
{
	struct tallies *from = part->state;
	const u32 *map_frame = part->map_frame;
	int err = 0;
	for (u32 e = 0; e < from->events.nr && !err; e++) {
		const struct blocks_tally *t = &from->events.at[e];
		struct blocks_tally *to = tally_of(&b->all, e);
		if (!to)
			return -ENOMEM;
		to->nr_branches += t->nr_branches;
		to->total_cycles += t->total_cycles;
		for (size_t i = 0; i < t->passes.nr && !err; i++) {
			const struct blocks_pass *p = &t->passes.at[i];
			err = add_pass(to, map_frame ? map_frame[p->start] : p->start,
				       map_frame ? map_frame[p->end] : p->end, p->cycles, p->count);
		}
	}
	return err;
}

static int merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	int err = 0;
	for (u32 i = 0; i < nr && !err; i++)
		err = merge_part(container_of(k, struct blocks, sink), &parts[i]);
	return err;
}

static void shard_free(struct sink *k, void *state)
{
	tallies_done(state);
	free(state);
}

static const struct sink_ops blocks_ops = {
	.needs = NEED_BRANCH | NEED_LEAF | NEED_COMM,
	.shard_new = shard_new,
	.feed = feed,
	.merge = merge,
	.shard_free = shard_free,
};

struct blocks *blocks_new(const struct sample_choice *when, const struct sample_choice *who,
			  const struct catalog *c)
{
	struct blocks *b = calloc(1, sizeof(*b));
	if (b)
		*b = (struct blocks){ .sink = { .ops = &blocks_ops, .needs = blocks_ops.needs },
				      .when = when,
				      .who = who,
				      .catalog = c };
	return b;
}

void blocks_free(struct blocks *b)
{
	if (!b)
		return;
	tallies_done(&b->all);
	free(b);
}

struct sink *blocks_sink(struct blocks *b)
{
	return &b->sink;
}

/* ---- blocks ---- */

/* A line that began in another function, or after its end, was not straight: an interrupt, a call that was not recorded. */
static u32 start_of(const struct frame_table *frames, const struct names_result *names,
		    const struct blocks_pass *p)
{
	bool inside = p->start != FRAME_NONE && names->func_of[p->start] == names->func_of[p->end] &&
		      frames->frames[p->start].offset <= frames->frames[p->end].offset;
	return inside ? p->start : FRAME_NONE;
}

static void add_to_block(struct block *b, const struct frame_table *frames, u32 start,
			 const struct blocks_pass *p)
{
	if (b->start == FRAME_NONE ||
	    (start != FRAME_NONE && frames->frames[start].offset < frames->frames[b->start].offset))
		b->start = start;
	b->cycles += p->cycles;
	b->count += p->count;
}

static int compare_blocks(const void *l, const void *r, void *ctx)
{
	const struct block *a = l, *b = r;
	const struct frame *frames = ctx;
	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	const struct frame *x = &frames[a->end], *y = &frames[b->end];
	if (x->image != y->image)
		return x->image > y->image ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

int blocks_of_event(const struct blocks *b, const struct frame_table *frames,
		    const struct names_result *names, u32 event, struct arena *arena,
		    struct block_list *ret)
{
	struct block_list list = { 0 };
	struct dict at;
	int err = 0;
	if (event >= b->all.events.nr) {
		*ret = list;
		return 0;
	}
	const struct blocks_tally *t = &b->all.events.at[event];
	list.nr_branches = t->nr_branches;
	list.total_cycles = t->total_cycles;
	list.at = arena_array(arena, t->passes.nr + 1, sizeof(*list.at));
	if (!list.at)
		return -ENOMEM;
	dict_init(&at);
	for (size_t i = 0; i < t->passes.nr && !err; i++) {
		const struct blocks_pass *p = &t->passes.at[i];
		u32 func = names->func_of[p->end], got;
		if (!names->funcs[func].name)
			continue;
		err = dict_add(&at, p->end, list.nr, &got);
		if (err)
			break;
		if (got == list.nr)
			list.at[list.nr++] = (struct block){ .func = func, .end = p->end };
		add_to_block(&list.at[got], frames, start_of(frames, names, p), p);
	}
	dict_done(&at);
	for (u32 i = 0; i < list.nr; i++)
		list.average_sum += list.at[i].cycles / list.at[i].count;
	qsort_r(list.at, list.nr, sizeof(*list.at), compare_blocks, frames->frames);
	*ret = list;
	return err;
}
