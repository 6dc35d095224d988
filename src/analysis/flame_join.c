/*
 * Nodes of the fold become nodes of the flame: each function of a run is one. Where there would be more than a page can show, the
 * lightest branches are joined before they are made: all functions of a run weigh the same, so it is there as a whole or not at all. What
 * was left out below a node is its last child, with the frame FLAME_JOINED.
 */
#include "analysis/flame_impl.h"
#include "base/big.h"
#include "base/par.h"

#include <errno.h>

/* Weights of one order of magnitude, in 64 steps each: a small number that grows with the weight. */
enum { STEPS = 64, NR_CLASSES = 64 * STEPS, PARTS = 16 };

struct joining {
	struct flame *f;
	const struct fold *fold;
	u32 base; /* the fold's first node; nodes of the fold count from it in the arrays below */
	unsigned workers;
	u32 (*classes)[NR_CLASSES]; /* [worker] nodes by class of weight */
	u64 limit; /* nodes that weigh no more are left out; 0: none is */
	u8 *has_left; /* [node]: something is left out right below it */
	u32 *at; /* [node], and one more: where its run begins; before that, how long it is */
	u32 *closes; /* [node], and one more: so many that have something left out end before it; later, where what ends in it goes */
	u32 *later; /* [node]: so many of those that end where it ends are around it, and close after it */
	struct join_part {
		u64 weight; /* that was left out */
		u64 nr; /* nodes of the flame */
		u64 nr_made; /* without those that stand for what was left out */
	} * parts;
};

static u32 class_of(u64 v)
{
	if (v < STEPS)
		return (u32)v;
	u32 top = 63 - (u32)__builtin_clzll(v);
	return (top - 5) * STEPS + (u32)(v >> (top - 6) & (STEPS - 1));
}

static u64 class_start(u32 class)
{
	if (class < STEPS)
		return class;
	u32 top = class / STEPS + 5;
	return (1ull << top) | (u64)(class % STEPS) << (top - 6);
}

static bool is_root(const struct fold *fold, u32 node)
{
	return fold->nodes[node].parent == node;
}

static int count_classes(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = par_span(j->fold->nr_nodes, j->workers * PARTS, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		const struct fold_node *n = &j->fold->nodes[j->base + i];
		j->classes[worker][class_of(n->incl)] +=
			is_root(j->fold, j->base + (u32)i) ? 1 : n->nr;
	}
	return 0;
}

/* The weight that a node must have more of, so that no more than so many have it: counted by class, not sorted. */
static int find_limit(struct joining *j, u32 max_nodes)
{
	u32 class = NR_CLASSES;
	j->classes = calloc(j->workers, sizeof(*j->classes));
	int err = j->classes ? par_each(j->workers, j->workers * PARTS, count_classes, j) : -ENOMEM;
	for (u64 kept = 0; class > 1 && !err; class --) {
		for (unsigned i = 0; i < j->workers; i++)
			kept += j->classes[i][class - 1];
		if (kept > max_nodes)
			break;
	}
	j->limit = class < NR_CLASSES ? class_start(class) - 1 : UINT64_MAX;
	free(j->classes);
	return err;
}

static struct par_span span_of(const struct joining *j, u32 part)
{
	return par_span(j->fold->nr_nodes, j->workers * PARTS, part);
}

static const struct fold_node *node_at(const struct joining *j, u64 i)
{
	return &j->fold->nodes[j->base + i];
}

/* Where nobody is lighter than those below, what is around one that is there is there, too. */
static bool is_kept(const struct joining *j, u64 i)
{
	return node_at(j, i)->incl > j->limit || is_root(j->fold, j->base + (u32)i);
}

static u32 run_length(const struct joining *j, u64 i)
{
	return is_root(j->fold, j->base + (u32)i) ? 1 : node_at(j, i)->nr;
}

static int find_left(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = span_of(j, part);
	struct join_part *p = &j->parts[part];
	for (u64 i = span.lo; i < span.hi; i++) {
		const struct fold_node *n = node_at(j, i);
		j->at[i] = is_kept(j, i) ? run_length(j, i) : 0;
		p->nr_made += j->at[i];
		if (j->at[i] || !is_kept(j, n->parent - j->base))
			continue;
		p->weight += n->incl;
		__atomic_store_n(&j->has_left[n->parent - j->base], 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static int count_closes(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = span_of(j, part);
	for (u64 i = span.lo; i < span.hi; i++)
		if (j->has_left[i])
			__atomic_fetch_add(&j->closes[node_at(j, i)->end - j->base], 1,
					   __ATOMIC_RELAXED);
	return 0;
}

static u32 find_later(const struct joining *j, u64 i, u64 lo)
{
	u32 nr = 0;
	for (u64 child = i;;) {
		u64 parent = node_at(j, child)->parent - j->base;
		if (parent == child || node_at(j, parent)->end != node_at(j, i)->end)
			return nr;
		nr += j->has_left[parent];
		if (parent >= lo)
			return nr + j->later[parent]; /* of this part: it is known */
		child = parent;
	}
}

static int count_nodes(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = span_of(j, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		j->parts[part].nr += j->at[i] + j->closes[i];
		if (j->at[i])
			j->later[i] = find_later(j, i, span.lo);
	}
	return 0;
}

static int place_nodes(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = span_of(j, part);
	u64 at = j->parts[part].nr;
	for (u64 i = span.lo; i < span.hi; i++) {
		u32 length = j->at[i];
		at += j->closes[i];
		j->at[i] = (u32)at;
		at += length;
	}
	return 0;
}

/* Where its span ends in the flame. */
static u32 end_of(const struct joining *j, u64 i)
{
	return j->at[node_at(j, i)->end - j->base] - j->later[i];
}

static void make_run(const struct joining *j, u64 i)
{
	const struct fold_node *n = node_at(j, i);
	bool root = is_root(j->fold, j->base + (u32)i);
	u32 first = j->at[i], end = end_of(j, i), above = first;
	struct flame_node *to = j->f->nodes.at;
	if (!root) {
		u64 parent = n->parent - j->base;
		above = j->at[parent] + run_length(j, parent) - 1;
	}
	for (u32 k = 0; k < run_length(j, i); k++) {
		to[first + k] = (struct flame_node){ .parent = above,
						     .frame = root ? 0 : j->fold->funcs[n->at + k],
						     .end = end };
		above = first + k;
	}
	if (j->has_left[i])
		to[end - 1] =
			(struct flame_node){ .parent = above, .frame = FLAME_JOINED, .end = end };
}

/* The outermost node that is left out with this one. */
static u64 left_out_with(const struct joining *j, u64 i)
{
	while (!is_kept(j, node_at(j, i)->parent - j->base))
		i = node_at(j, i)->parent - j->base;
	return i;
}

static int make_nodes(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = span_of(j, part);
	u32 *goes = j->closes, joined = 0;
	u64 until = 0; /* of what is left out together */
	for (u64 i = span.lo; i < span.hi; i++) {
		if (i < until) {
			goes[i] = joined;
		} else if (is_kept(j, i)) {
			make_run(j, i);
			goes[i] = j->at[i] + run_length(j, i) - 1;
		} else {
			u64 top = left_out_with(j, i);
			until = node_at(j, top)->end - j->base;
			goes[i] = joined = end_of(j, node_at(j, top)->parent - j->base) - 1;
		}
	}
	return 0;
}

static int move_points(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = par_span(j->f->points.nr, j->workers * PARTS, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		struct flame_point *p = &j->f->points.at[i];
		p->node = j->closes[j->fold->node_of[p->node] - j->base];
	}
	return 0;
}

/* From numbers of nodes to where each part's begin. */
static int get_nodes(struct joining *j)
{
	struct flame *f = j->f;
	u64 at = 0, nr_made = 0;
	for (u32 i = 0; i < j->workers * PARTS; i++) {
		u64 here = j->parts[i].nr;
		j->parts[i].nr = at;
		at += here;
		nr_made += j->parts[i].nr_made;
		f->joined_weight += j->parts[i].weight;
	}
	at += j->closes[j->fold->nr_nodes];
	j->at[j->fold->nr_nodes] = (u32)at;
	if (at >= UINT32_MAX / 2 || !big_vec_reserve(&f->nodes, at))
		return -ENOMEM;
	f->nodes.nr = at;
	f->nr_joined = f->nr_all_nodes - nr_made;
	return 0;
}

static int join(struct joining *j)
{
	static int (*const steps[])(void *, unsigned,
				    u32) = { find_left,	  count_closes, count_nodes, NULL,
					     place_nodes, make_nodes,	move_points };
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !err; i++)
		err = steps[i] ? par_each(j->workers, j->workers * PARTS, steps[i], j)
			       : get_nodes(j);
	for (u32 i = 0; i < j->fold->nr_trees && !err; i++)
		j->f->trees.at[i].root = j->closes[j->fold->root_of[i] - j->base];
	return err;
}

int flame_join(struct flame *f, const struct fold *fold, u32 max_nodes, unsigned workers)
{
	struct joining j = {
		.f = f, .fold = fold, .base = fold->room - fold->nr_nodes, .workers = workers
	};
	int err = find_limit(&j, max_nodes);
	if (err || !j.limit)
		return err;
	size_t nr = (size_t)fold->nr_nodes + 1, size = nr * sizeof(u32);
	j.has_left = big_zalloc(nr);
	j.at = big_grow(NULL, 0, size);
	j.closes = big_zalloc(size);
	j.later = big_grow(NULL, 0, size);
	j.parts = calloc((size_t)workers * PARTS, sizeof(*j.parts));
	err = j.has_left && j.at && j.closes && j.later && j.parts ? join(&j) : -ENOMEM;
	big_free(j.has_left, nr);
	big_free(j.at, size);
	big_free(j.closes, size);
	big_free(j.later, size);
	free(j.parts);
	return err ? err : 1;
}

/* ---- all of them ---- */

/* Nodes of the fold on their way into the flame. */
struct taking {
	struct flame *f;
	const struct fold *fold;
	u32 *starts; /* [node of the fold, from its first one on]: where its run begins */
	u32 parts;
};

/* A node of the fold is a run of functions; here each is a node. */
static void take_run(const struct taking *t, u32 i)
{
	const struct fold *fold = t->fold;
	u32 base = fold->room - fold->nr_nodes;
	const struct fold_node *n = &fold->nodes[base + i];
	bool root = n->parent == base + i;
	/* The last of its parent's run. */
	u32 above = root ? t->starts[i] : t->starts[n->parent - base + 1] - 1;
	for (u32 k = 0; k < (root ? 1 : n->nr); k++) {
		u32 at = t->starts[i] + k;
		t->f->nodes.at[at] = (struct flame_node){
			.parent = above,
			.frame = root ? 0 : fold->funcs[n->at + k],
			.end = t->starts[n->end - base],
		};
		above = at;
	}
}

static int take_part(void *ctx, unsigned worker, u32 part)
{
	const struct taking *t = ctx;
	struct par_span span = par_span(t->fold->nr_nodes, t->parts, part);
	for (u64 i = span.lo; i < span.hi; i++)
		take_run(t, (u32)i);
	return 0;
}

/* A point is where the run of its node ends. */
static int move_to_ends(void *ctx, unsigned worker, u32 part)
{
	const struct taking *t = ctx;
	u32 base = t->fold->room - t->fold->nr_nodes;
	struct par_span span = par_span(t->f->points.nr, t->parts, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		struct flame_point *p = &t->f->points.at[i];
		p->node = t->starts[t->fold->node_of[p->node] - base + 1] - 1;
	}
	return 0;
}

int flame_expand(struct flame *f, const struct fold *fold, unsigned workers)
{
	u32 base = fold->room - fold->nr_nodes;
	_cleanup_free_ u32 *starts = malloc(((size_t)fold->nr_nodes + 1) * sizeof(*starts));
	struct taking t = { .f = f, .fold = fold, .starts = starts, .parts = workers * 4 };
	if (!starts)
		return -ENOMEM;
	u64 nr = 0;
	for (u32 i = 0; i < fold->nr_nodes; i++) {
		starts[i] = (u32)nr;
		nr += fold->nodes[base + i].parent == base + i ? 1 : fold->nodes[base + i].nr;
	}
	starts[fold->nr_nodes] = (u32)nr;
	if (nr >= UINT32_MAX / 2 || !big_vec_reserve(&f->nodes, nr))
		return -ENOMEM;
	f->nodes.nr = nr;
	int err = par_each(workers, t.parts, take_part, &t);
	for (u32 i = 0; i < fold->nr_trees; i++)
		f->trees.at[i].root = starts[fold->root_of[i] - base];
	return err ? err : par_each(workers, t.parts, move_to_ends, &t);
}
