#include "analysis/profile_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct profile_totals profile_totals(const struct profile *p, u32 event)
{
	static const struct profile_totals none;
	bool shown = p->cfg.filter.relative;
	if (event >= (shown ? p->shown_totals.nr : p->totals.nr))
		return none;
	return shown ? p->shown_totals.at[event] : p->totals.at[event];
}

bool profile_is_empty(const struct profile *p)
{
	return !p->all.nr;
}

static int compare_rows(const void *l, const void *r, void *ctx)
{
	const struct profile *p = ctx;
	const struct row *a = &p->rows.at[*(const u32 *)l], *b = &p->rows.at[*(const u32 *)r];
	for (u32 i = 0; i < p->cfg.nr_sort; i++) {
		int c = keys_compare(p, &p->cfg.sort[i], a, b);
		if (c)
			return c;
	}
	return 0;
}

bool fields_has_column(const struct profile_field *f, u32 event)
{
	return f->key != PROFILE_KEY_FIELD || f->event == event;
}

static int add_columns(const struct profile *p, u32 event, struct table *t)
{
	for (u32 i = 0; i < p->cfg.nr_fields; i++)
		if (fields_has_column(&p->cfg.fields[i], event) &&
		    !keys_column(p, &p->cfg.fields[i], t))
			return -ENOMEM;
	struct column *last = t->columns.nr ? &t->columns.at[t->columns.nr - 1] : NULL;
	if (last)
		last->last = last->loose;
	return 0;
}

static int fill_row(const struct profile *p, u32 event, const struct row *r, struct table *t)
{
	union cell *cells = table_row(t);
	u64 *weight = vec_push(&t->weights);
	if (!cells || !weight)
		return -ENOMEM;
	*weight = p->cfg.children ? r->total : r->self;
	int err = 0;
	for (u32 i = 0; i < p->cfg.nr_fields && !err; i++)
		if (fields_has_column(&p->cfg.fields[i], event))
			err = keys_cell(p, &p->cfg.fields[i], r, p->shown_total, t, cells++);
	return err;
}

/* table.tree_of */
static int row_tree(void *ctx, size_t index, struct tree *ret)
{
	struct drawer *d = ctx;
	struct profile *p = d->profile;
	tree_clear(ret);
	if (p->shown.at[index] == ROW_NONE)
		return 0;
	const struct row *r = &p->rows.at[p->shown.at[index]];
	struct rowtree_row row = {
		.own = own_trees(p),
		.root = p->fold.root_of[own_trees(p) ? p->shown.at[index] : r->group],
		.first_item = r->first_item,
		.next_item = p->next_item,
		.places = p->places ? p->places + r->first_place : NULL,
		.nr_places = r->nr_places,
		.total = p->cfg.children ? r->total : r->self,
	};
	if (p->cfg.fractal)
		row.share = p->cfg.min_percent / 100;
	else
		row.min = (u64)((double)p->shown_total * (p->cfg.min_percent / 100));
	int err = rowtree_build(&d->graph, &row, ret);
	if (err)
		return err;
	vec_for_each (&ret->places, place)
		place->module = keys_dso_name(p, place->func);
	ret->min = row.min;
	ret->own_first = ret->first_root != TREE_NONE && d->graph.first_func == r->func;
	return 0;
}

static void *drawer_new(void *ctx)
{
	struct drawer *d = calloc(1, sizeof(*d));
	if (d && drawer_init(d, ((struct drawer *)ctx)->profile)) {
		free(d);
		d = NULL;
	}
	return d;
}

static void drawer_free(void *ctx)
{
	rowtree_done(&((struct drawer *)ctx)->graph);
	free(ctx);
}

void profile_draw(struct profile *p, struct table *t)
{
	t->tree_of = row_tree;
	t->ctx = &p->drawer;
	t->ctx_new = drawer_new;
	t->ctx_free = drawer_free;
	t->workers = profile_workers(p, p->fold.nr_nodes);
}

bool profile_row_hidden(const struct profile *p, const struct row *r)
{
	const char *part = p->cfg.filter.symbol_part;
	const char *name = p->names->funcs[r->func].name;
	return (part && p->cfg.children && (!name || !strstr(name, part))) ||
	       (p->cfg.min_count && r->count <= p->cfg.min_count);
}

/* The event's rows in order. */
static int collect_rows(struct profile *p, u32 event)
{
	p->shown.nr = 0;
	for (u32 i = 0; i < p->rows.nr; i++) {
		if (group_event(p, p->rows.at[i].group) != event ||
		    profile_row_hidden(p, &p->rows.at[i]))
			continue;
		u32 *shown = vec_push(&p->shown);
		if (!shown)
			return -ENOMEM;
		*shown = i;
	}
	if (p->shown.nr)
		qsort_r(p->shown.at, p->shown.nr, sizeof(*p->shown.at), compare_rows, p);
	return 0;
}

int profile_table(struct profile *p, u32 event, struct table *t)
{
	int err = add_columns(p, event, t);
	p->shown_total = profile_totals(p, event).period;
	if (!err)
		err = collect_rows(p, event);
	for (size_t i = 0; i < p->shown.nr && !err; i++)
		err = fill_row(p, event, &p->rows.at[p->shown.at[i]], t);
	t->total = p->shown_total;
	if (p->cfg.graph)
		profile_draw(p, t);
	return err;
}

const struct name_func *profile_row_func(const struct profile *p, size_t row)
{
	if (row >= p->shown.nr || p->shown.at[row] == ROW_NONE)
		return NULL;
	return &p->names->funcs[p->rows.at[p->shown.at[row]].func];
}
