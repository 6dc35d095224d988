#include "model/flame.h"
#include "base/big.h"

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

static void add_self(const struct flame *f, u32 side, u64 *to)
{
	vec_for_each (&f->points, p)
		if (side == UINT32_MAX || p->side == side)
			to[p->node] = u64_sum(to[p->node], p->period);
}

u64 *flame_self(const struct flame *f, u32 side)
{
	u64 *self = calloc(f->nodes.nr + 1, sizeof(*self));
	if (self)
		add_self(f, side, self);
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

struct flame_weighed {
	u64 weight;
	u32 was, name;
};

static int heavier(const void *l, const void *r)
{
	const struct flame_weighed *a = l, *b = r;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->was > b->was) - (a->was < b->was);
}

int flame_sort_events(struct flame *f)
{
	size_t nr = f->events.nr;
	u64 *weights = flame_event_weights(f, UINT32_MAX);
	struct flame_weighed *list = calloc(nr + 1, sizeof(*list));
	u32 *now = calloc(nr + 1, sizeof(*now));
	int err = weights && list && now ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++)
		list[i] = (struct flame_weighed){ weights[i], i, f->events.at[i] };
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
