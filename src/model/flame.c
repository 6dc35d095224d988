#include "model/flame.h"
#include "base/big.h"
#include "base/par.h"

#include <errno.h>

void flame_init(struct flame *f)
{
	*f = (struct flame){ .resolution_ns = 1 };
	strtab_init(&f->strings);
}

void flame_done(struct flame *f)
{
	strtab_done(&f->strings);
	vec_free(&f->frames);
	vec_free(&f->tasks);
	vec_free(&f->events);
	vec_free(&f->trees);
	vec_free(&f->codes);
	vec_free(&f->code_lines);
	big_vec_free(&f->nodes);
	big_vec_free(&f->points);
}

void flame_add_self(const struct flame *f, u32 side, u64 *to)
{
	vec_for_each (&f->points, p)
		if (side == UINT32_MAX || p->side == side)
			to[p->node] = u64_sum(to[p->node], p->period);
}

u64 *flame_self(const struct flame *f, u32 side)
{
	u64 *self = calloc(f->nodes.nr + 1, sizeof(*self));
	if (self)
		flame_add_self(f, side, self);
	return self;
}

u64 *flame_counts(const struct flame *f)
{
	u64 *self = calloc(f->nodes.nr + 1, sizeof(*self));
	if (self)
		vec_for_each (&f->points, p)
			self[p->node] += p->count;
	return self;
}

void flame_sum(const struct flame *f, u64 *weights)
{
	/* Nodes stand in the order of a walk: parents before children. */
	for (size_t i = f->nodes.nr; i-- > 0;)
		if (f->nodes.at[i].parent != i)
			weights[f->nodes.at[i].parent] =
				u64_sum(weights[f->nodes.at[i].parent], weights[i]);
}

/* What the nodes of a part add to nodes before it: to those that lead to its first one. */
struct spill {
	u32 node;
	u64 weight;
};

struct summing {
	const struct flame *f;
	u64 *weights;
	u32 nr_parts;
	struct spills {
		VEC(struct spill) list;
	} * spills; /* [part] */
};

static int sum_part(void *ctx, unsigned worker, u32 part)
{
	struct summing *s = ctx;
	const struct flame_node *nodes = s->f->nodes.at;
	struct par_span span = par_span(s->f->nodes.nr, s->nr_parts, part);
	struct spills *to = &s->spills[part];
	for (u64 i = span.hi; i-- > span.lo;) {
		u32 parent = nodes[i].parent;
		if (parent == i)
			continue;
		if (likely(parent >= span.lo)) {
			s->weights[parent] = u64_sum(s->weights[parent], s->weights[i]);
			continue;
		}
		if (!to->list.nr || to->list.at[to->list.nr - 1].node != parent) {
			struct spill *made = vec_push(&to->list);
			if (!made)
				return -ENOMEM;
			made->node = parent;
		}
		struct spill *last = &to->list.at[to->list.nr - 1];
		last->weight = u64_sum(last->weight, s->weights[i]);
	}
	return 0;
}

/* For the node and all above it. */
static void add_spill(const struct summing *s, struct spill spill)
{
	const struct flame_node *nodes = s->f->nodes.at;
	for (u32 n = spill.node;; n = nodes[n].parent) {
		s->weights[n] = u64_sum(s->weights[n], spill.weight);
		if (nodes[n].parent == n)
			return;
	}
}

int flame_sum_on(const struct flame *f, u64 *weights, unsigned workers)
{
	enum { PARTS = 4 }; /* for each worker */
	struct summing s = { .f = f, .weights = weights, .nr_parts = workers * PARTS };
	if (workers < 2) {
		flame_sum(f, weights);
		return 0;
	}
	s.spills = calloc(s.nr_parts, sizeof(*s.spills));
	int err = s.spills ? par_each(workers, s.nr_parts, sum_part, &s) : -ENOMEM;
	for (u32 i = 0; s.spills && i < s.nr_parts; i++) {
		if (!err)
			vec_for_each (&s.spills[i].list, spill)
				add_spill(&s, *spill);
		vec_free(&s.spills[i].list);
	}
	free(s.spills);
	return err;
}

u64 *flame_event_weights(const struct flame *f, u32 side)
{
	u64 *of = calloc(f->events.nr + 1, sizeof(*of)), *self = flame_self(f, side);
	vec_for_each (&f->trees, t)
		for (u32 n = t->root; of && self && n < f->nodes.at[t->root].end; n++)
			of[t->event] = u64_sum(of[t->event], self[n]);
	if (!self) {
		free(of);
		of = NULL;
	}
	free(self);
	return of;
}

struct weighed {
	u64 weight;
	u32 was, name;
};

static int heavier(const void *l, const void *r)
{
	const struct weighed *a = l, *b = r;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->was > b->was) - (a->was < b->was);
}

int flame_sort_events(struct flame *f)
{
	size_t nr = f->events.nr;
	u64 *weights = flame_event_weights(f, UINT32_MAX);
	struct weighed *list = calloc(nr + 1, sizeof(*list));
	u32 *now = calloc(nr + 1, sizeof(*now));
	int err = weights && list && now ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++)
		list[i] = (struct weighed){ weights[i], i, f->events.at[i] };
	if (!err && nr > 1)
		qsort(list, nr, sizeof(*list), heavier);
	for (u32 i = 0; i < nr && !err; i++) {
		f->events.at[i] = list[i].name;
		now[list[i].was] = i;
	}
	if (!err)
		vec_for_each (&f->trees, t)
			t->event = now[t->event];
	free(weights);
	free(list);
	free(now);
	return err;
}

static int by_time(const void *l, const void *r)
{
	const struct flame_point *a = l, *b = r;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (a->side > b->side) - (a->side < b->side);
}

void flame_sort_points(struct flame *f)
{
	if (f->points.nr)
		qsort(f->points.at, f->points.nr, sizeof(*f->points.at), by_time);
}
