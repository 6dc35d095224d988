#include "model/flame.h"
#include "base/big.h"

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
	big_vec_free(&f->nodes);
	big_vec_free(&f->points);
}

void flame_add_self(const struct flame *f, u32 side, u64 *to)
{
	vec_for_each (&f->points, p)
		if (side == UINT32_MAX || p->side == side)
			to[p->node] += p->period;
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
			weights[f->nodes.at[i].parent] += weights[i];
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
