#include "analysis/profile_impl.h"
#include "base/big.h"
#include "base/par.h"

#include <errno.h>
#include <string.h>

/*
 * Entries and nodes of the fold are cut into parts, each part finds its rows in tables of its own, and then the parts are brought together one
 * after the other: rows are the same in the same order, however many parts there are.
 */

unsigned profile_workers(const struct profile *p, u64 nr)
{
	enum { LEAST = 1 << 14 };
	return par_workers(p->cfg.workers, nr, p->cfg.worker_least ? p->cfg.worker_least : LEAST);
}

s64 profile_row_at(struct profile *p, u32 group, u32 func)
{
	u32 key = p->key_of[func], got, fresh = (u32)p->rows.nr;
	int err = dict_add(&p->row_of, (u64)group << 32 | key, fresh, &got);
	if (err || got != fresh)
		return err ? err : (s64)got;
	struct row *r = vec_push(&p->rows);
	if (!r)
		return -ENOMEM;
	*r = (struct row){ .group = group, .func = func, .key = key };
	return fresh;
}

/* ---- by leaf ---- */

/* What a part's entries say about one row. */
struct leaf_row {
	u32 group, func;
	u32 first, last; /* of the row's items in this part, index + 1 */
	u32 row;
	u64 self, count;
	struct measures m;
};

struct leaf_part {
	VEC(struct leaf_row) rows;
	struct dict row_of; /* (group, key) -> rows */
};

struct by_leaf {
	struct profile *p;
	struct leaf_part *parts;
	u32 nr;
};

/* Where a row's time was spent, by the level of its leaves. */
static void split_up(struct measures *m, u32 mode, u64 period)
{
	switch (mode) {
	case FRAME_KERNEL: m->sys += period; break;
	case FRAME_USER: m->us += period; break;
	case FRAME_GUEST_KERNEL: m->guest_sys += period; break;
	case FRAME_GUEST_USER: m->guest_us += period; break;
	default: break;
	}
}

static s64 leaf_row_at(const struct profile *p, struct leaf_part *part, u32 group, u32 func)
{
	u32 got, fresh = (u32)part->rows.nr;
	int err = dict_add(&part->row_of, (u64)group << 32 | p->key_of[func], fresh, &got);
	if (err || got != fresh)
		return err ? err : (s64)got;
	struct leaf_row *r = vec_push(&part->rows);
	if (!r)
		return -ENOMEM;
	*r = (struct leaf_row){ .group = group, .func = func };
	return fresh;
}

static int part_by_leaf(void *ctx, unsigned worker, u32 index)
{
	struct by_leaf *b = ctx;
	struct profile *p = b->p;
	struct par_span span = par_span(p->all.nr, b->nr, index);
	for (u64 i = span.hi; i-- > span.lo;) { /* backwards, so that each row's list runs forward */
		struct entry *e = &p->all.entries[i];
		e->leaf = p->names->func_of[e->leaf];
		s64 at = leaf_row_at(p, &b->parts[index], e->group, e->leaf);
		if (at < 0)
			return (int)at;
		struct leaf_row *r = &b->parts[index].rows.at[at];
		r->self += e->period;
		r->count += e->count;
		p->entry_row[i] = (u32)at;
		p->next_item[i] = r->first;
		r->first = (u32)i + 1;
		r->last = r->last ? r->last : r->first;
		if (p->with_measures)
			split_up(&r->m, p->names->funcs[e->leaf].mode, e->period);
	}
	return 0;
}

static int add_measures(struct profile *p, struct row *r, const struct measures *m)
{
	if (!r->measures) {
		if (!vec_push(&p->measures))
			return -ENOMEM;
		r->measures = (u32)p->measures.nr;
	}
	struct measures *to = &p->measures.at[r->measures - 1];
	to->sys += m->sys;
	to->us += m->us;
	to->guest_sys += m->guest_sys;
	to->guest_us += m->guest_us;
	return 0;
}

static int join_leaf_row(struct profile *p, struct leaf_row *from)
{
	s64 row = profile_row_at(p, from->group, from->func);
	if (row < 0)
		return (int)row;
	struct row *r = &p->rows.at[row];
	r->self += from->self;
	r->count += from->count;
	p->next_item[from->last - 1] = r->first_item;
	r->first_item = from->first;
	from->row = (u32)row;
	return p->with_measures ? add_measures(p, r, &from->m) : 0;
}

/* What was a row of the part becomes a row of the profile. */
static int number_rows(void *ctx, unsigned worker, u32 index)
{
	const struct by_leaf *b = ctx;
	struct par_span span = par_span(b->p->all.nr, b->nr, index);
	for (u64 i = span.lo; i < span.hi; i++)
		b->p->entry_row[i] = b->parts[index].rows.at[b->p->entry_row[i]].row;
	return 0;
}

int rows_by_leaf(struct profile *p)
{
	unsigned workers = profile_workers(p, p->all.nr);
	struct by_leaf b = { .p = p, .nr = workers };
	b.parts = calloc(b.nr, sizeof(*b.parts));
	p->next_item = calloc(p->all.nr + 1, sizeof(*p->next_item));
	p->entry_row = calloc(p->all.nr + 1, sizeof(*p->entry_row));
	int err = b.parts && p->next_item && p->entry_row ? 0 : -ENOMEM;
	if (!err)
		err = par_each(workers, b.nr, part_by_leaf, &b);
	for (u32 i = b.nr; i-- > 0 && !err;)
		for (size_t k = 0; k < b.parts[i].rows.nr && !err; k++)
			err = join_leaf_row(p, &b.parts[i].rows.at[k]);
	if (!err)
		err = par_each(workers, b.nr, number_rows, &b);
	for (u32 i = 0; b.parts && i < b.nr; i++) {
		vec_free(&b.parts[i].rows);
		dict_done(&b.parts[i].row_of);
	}
	free(b.parts);
	return err;
}

/* ---- by caller ---- */

/* What a part of the walk found of one row. */
struct met_row {
	u32 group, func;
	u32 row;
	u32 depth;
	u32 nr_places;
	u32 at; /* where its next place goes */
	u64 total;
};

struct walk_part {
	VEC(struct met_row) rows; /* in the order in which they were met */
};

/* Of one worker. */
struct walker {
	u32 *depth_of; /* [key] how often it is on the path; zero between parts */
	u32 *row_of; /* [key] -> row of the part + 1; of one group */
	u32 met; /* rows so far */
};

struct profile_rows_walk {
	struct profile *p;
	struct walk_part *parts;
	struct walker *walkers;
	u32 nr_parts;
	unsigned workers;
	bool keep; /* the second time: places are kept */
};

/* A sample counts once for each row on its path: at the place nearest to the root. */
static void count_place(const struct profile *p, struct met_row *r, struct rowtree_start at)
{
	r->total += p->fold.nodes[at.node].incl;
	r->depth = max(r->depth, p->fold.heights[at.node] - at.skip);
	r->nr_places++;
}

static int meet_func(struct profile_rows_walk *w, struct walk_part *part, struct walker *k,
		     u32 group, struct rowtree_start at, u32 func)
{
	u32 key = w->p->key_of[func];
	if (k->depth_of[key]++)
		return 0;
	if (!k->row_of[key]) {
		struct met_row *r = w->keep ? NULL : vec_push(&part->rows);
		if (!r && !w->keep)
			return -ENOMEM;
		if (r)
			*r = (struct met_row){ .group = group, .func = func };
		k->row_of[key] = ++k->met;
	}
	struct met_row *r = &part->rows.at[k->row_of[key] - 1];
	if (w->keep)
		w->p->places[r->at++] = at;
	else
		count_place(w->p, r, at);
	return 0;
}

static void pass_node(const struct profile *p, struct walker *k, u32 node, u32 by)
{
	const struct fold_node *n = &p->fold.nodes[node];
	for (u32 i = 0; i < n->nr; i++)
		k->depth_of[p->key_of[p->fold.funcs[n->at + i]]] += by;
}

/* Nodes [lo, hi) of a tree, which stand in the order of the walk. What is above them was met before. */
static int walk_tree(struct profile_rows_walk *w, struct walk_part *part, struct walker *k,
		     u32 group, u32 lo, u32 hi)
{
	const struct fold *f = &w->p->fold;
	u32 root = f->root_of[group], path = f->nodes[lo].parent; /* the node that the walk is in */
	int err = 0;
	for (u32 up = path; up != root; up = f->nodes[up].parent)
		pass_node(w->p, k, up, 1);
	for (u32 at = lo; at < hi && !err; at++) {
		for (; at >= f->nodes[path].end; path = f->nodes[path].parent)
			pass_node(w->p, k, path, -1u);
		path = at;
		for (u32 i = 0; i < f->nodes[at].nr && !err; i++)
			err = meet_func(w, part, k, group,
					(struct rowtree_start){ .node = at, .skip = i },
					f->funcs[f->nodes[at].at + i]);
	}
	for (; path != root && !err; path = f->nodes[path].parent)
		pass_node(w->p, k, path, -1u);
	return err;
}

/* The last tree whose root is at `node` or before it. */
static u32 tree_at(const struct fold *f, u32 node)
{
	u32 lo = 0, hi = f->nr_trees;
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;
		if (f->root_of[mid] <= node)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static int walk_part(void *ctx, unsigned worker, u32 index)
{
	struct profile_rows_walk *w = ctx;
	const struct fold *f = &w->p->fold;
	struct walker *k = &w->walkers[worker];
	struct par_span span = par_span(f->nr_nodes, w->nr_parts, index);
	u32 lo = f->room - f->nr_nodes + (u32)span.lo, end = f->room - f->nr_nodes + (u32)span.hi;
	int err = 0;
	k->met = 0;
	for (u32 t = tree_at(f, lo); lo < end && !err; t++) {
		u32 root = f->root_of[t], hi = min(end, f->nodes[root].end);
		memset(k->row_of, 0, ((size_t)w->p->names->nr_funcs + 1) * sizeof(*k->row_of));
		lo = max(lo, root + 1);
		if (lo < hi)
			err = walk_tree(w, &w->parts[index], k, t, lo, hi);
		lo = hi;
	}
	return err;
}

static int join_met_rows(struct profile_rows_walk *w)
{
	struct profile *p = w->p;
	for (u32 i = 0; i < w->nr_parts; i++) {
		vec_for_each (&w->parts[i].rows, met) {
			s64 row = profile_row_at(p, met->group, met->func);
			if (row < 0)
				return (int)row;
			struct row *r = &p->rows.at[row];
			met->row = (u32)row;
			r->total += met->total;
			r->depth = max(r->depth, met->depth);
			r->nr_places += met->nr_places;
		}
	}
	return 0;
}

/* Where each row's function is found, row by row. */
static int find_places(struct profile_rows_walk *w)
{
	struct profile *p = w->p;
	u32 at = 0;
	vec_for_each (&p->rows, r) {
		r->first_place = at;
		at += r->nr_places;
	}
	p->nr_places = at;
	p->places = big_grow(NULL, 0, p->nr_places * sizeof(*p->places));
	u32 *next = calloc(p->rows.nr + 1, sizeof(*next));
	for (u32 i = 0; next && i < w->nr_parts; i++) {
		vec_for_each (&w->parts[i].rows, met) {
			met->at = p->rows.at[met->row].first_place + next[met->row];
			next[met->row] += met->nr_places;
		}
	}
	bool ok = next && p->places;
	free(next);
	w->keep = true;
	return ok ? par_each(w->workers, w->nr_parts, walk_part, w) : -ENOMEM;
}

static int get_walkers(struct profile_rows_walk *w)
{
	size_t nr = (size_t)w->p->names->nr_funcs + 1;
	w->parts = calloc(w->nr_parts, sizeof(*w->parts));
	w->walkers = calloc(w->workers, sizeof(*w->walkers));
	for (unsigned i = 0; w->walkers && i < w->workers; i++) {
		w->walkers[i].depth_of = calloc(nr, sizeof(u32));
		w->walkers[i].row_of = calloc(nr, sizeof(u32));
		if (!w->walkers[i].depth_of || !w->walkers[i].row_of)
			return -ENOMEM;
	}
	return w->parts && w->walkers ? 0 : -ENOMEM;
}

static int walk_trees(struct profile *p)
{
	enum { PARTS = 4 }; /* for each worker: some take longer */
	struct profile_rows_walk w = { .p = p, .workers = profile_workers(p, p->fold.nr_nodes) };
	w.nr_parts = w.workers > 1 ? w.workers * PARTS : 1;
	int err = get_walkers(&w);
	if (!err)
		err = par_each(w.workers, w.nr_parts, walk_part, &w);
	if (!err)
		err = join_met_rows(&w);
	if (!err && p->cfg.graph)
		err = find_places(&w);
	for (u32 i = 0; w.parts && i < w.nr_parts; i++)
		vec_free(&w.parts[i].rows);
	for (unsigned i = 0; w.walkers && i < w.workers; i++) {
		free(w.walkers[i].depth_of);
		free(w.walkers[i].row_of);
	}
	free(w.parts);
	free(w.walkers);
	return err;
}

static bool on_path(const struct profile *p, u32 node, u32 key)
{
	const struct fold *f = &p->fold;
	for (; f->nodes[node].nr; node = f->nodes[node].parent)
		for (u32 i = f->nodes[node].nr; i-- > 0;)
			if (p->key_of[f->funcs[f->nodes[node].at + i]] == key)
				return true;
	return false;
}

/* What leaves add to their rows, for each worker. */
struct own_part {
	u64 total;
	u32 depth;
};

struct own_parts {
	struct profile *p;
	struct own_part *rows; /* [worker][row] */
	u32 nr_parts;
};

static int leaves_of_part(void *ctx, unsigned worker, u32 index)
{
	enum { AHEAD = 16 };
	const struct own_parts *o = ctx;
	const struct profile *p = o->p;
	struct own_part *rows = o->rows + worker * p->rows.nr;
	struct par_span span = par_span(p->all.nr, o->nr_parts, index);
	for (u64 i = span.lo; i < span.hi; i++) {
		const struct entry *e = &p->all.entries[i];
		struct own_part *r = &rows[p->entry_row[i]];
		if (i + AHEAD < span.hi)
			__builtin_prefetch(&p->fold.nodes[p->fold.node_of[i + AHEAD]]);
		if (!on_path(p, p->fold.node_of[i], p->key_of[e->leaf]))
			r->total += e->period;
		r->depth = max(r->depth, p->items.at[i].nr);
	}
	return 0;
}

/* A leaf that its own chain does not show (no chain at all, or another address on top) counts as well. */
static int count_leaves(struct profile *p)
{
	unsigned workers = profile_workers(p, p->all.nr);
	struct own_parts o = { .p = p, .nr_parts = workers };
	o.rows = calloc(workers * p->rows.nr + 1, sizeof(*o.rows));
	int err = o.rows ? par_each(workers, o.nr_parts, leaves_of_part, &o) : -ENOMEM;
	for (size_t i = 0; i < workers * p->rows.nr && !err; i++) {
		struct row *r = &p->rows.at[i % p->rows.nr];
		r->total += o.rows[i].total;
		r->depth = max(r->depth, o.rows[i].depth);
	}
	free(o.rows);
	return err;
}

int rows_by_caller(struct profile *p)
{
	int err = walk_trees(p);
	return err ? err : count_leaves(p);
}
