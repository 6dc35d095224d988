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

/* Nodes of the fold that are one node of the flame. */
struct left_out {
	u32 lo, hi;
	u32 node; /* until it is made: the one before, index + 1, with the same parent */
};

/* A node of the fold whose span we are in. */
struct open_run {
	u32 node;
	u32 first; /* of the flame's */
	u32 left_out; /* the last one below it, index + 1 */
};

struct joining {
	struct flame *f;
	const struct fold *fold;
	u32 base; /* the fold's first node */
	unsigned workers;
	u32 (*classes)[NR_CLASSES]; /* [worker] nodes by class of weight */
	u64 limit; /* nodes that weigh no more are left out; 0: none is */
	u32 *node_of; /* [node of the fold]: where what ends in it is */
	VEC(struct open_run) path;
	VEC(struct left_out) left_out;
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

static int add_node(struct joining *j, u32 parent, u32 frame)
{
	struct flame_node *n = big_vec_push(&j->f->nodes);
	if (!n)
		return -ENOMEM;
	*n = (struct flame_node){ .parent = parent,
				  .frame = frame,
				  .end = (u32)j->f->nodes.nr }; /* of the last of a run, later */
	return 0;
}

/* The last of the run that is open. */
static u32 last_of_run(const struct joining *j, const struct open_run *o)
{
	return o->first + (is_root(j->fold, o->node) ? 0 : j->fold->nodes[o->node].nr - 1);
}

static int open_run(struct joining *j, u32 node)
{
	const struct fold_node *n = &j->fold->nodes[node];
	bool root = is_root(j->fold, node);
	u32 first = (u32)j->f->nodes.nr;
	u32 above = root ? first : last_of_run(j, &j->path.at[j->path.nr - 1]);
	int err = root ? add_node(j, first, 0) : 0;
	for (u32 k = 0; k < n->nr && !root && !err; k++) {
		err = add_node(j, above, j->fold->funcs[n->at + k]);
		above = first + k;
	}
	struct open_run *o = err ? NULL : vec_push(&j->path);
	if (!o)
		return -ENOMEM;
	o->node = node;
	o->first = first;
	j->node_of[node - j->base] = last_of_run(j, o);
	return 0;
}

static int leave_out(struct joining *j, u32 node)
{
	struct open_run *o = &j->path.at[j->path.nr - 1];
	struct left_out *l = big_vec_push(&j->left_out);
	if (!l)
		return -ENOMEM;
	*l = (struct left_out){ node, j->fold->nodes[node].end, o->left_out };
	o->left_out = (u32)j->left_out.nr;
	j->f->joined_weight += j->fold->nodes[node].incl;
	return 0;
}

static int close_run(struct joining *j)
{
	struct open_run o = j->path.at[--j->path.nr];
	u32 last = last_of_run(j, &o), joined = (u32)j->f->nodes.nr;
	int err = o.left_out ? add_node(j, last, FLAME_JOINED) : 0;
	for (u32 at = o.left_out; at && !err;) {
		struct left_out *l = &j->left_out.at[at - 1];
		at = l->node;
		l->node = joined;
	}
	for (u32 i = o.first; i <= last; i++)
		j->f->nodes.at[i].end = (u32)j->f->nodes.nr;
	return err;
}

static int walk(struct joining *j)
{
	const struct fold *fold = j->fold;
	int err = 0;
	for (u32 i = j->base; i < fold->room && !err;) {
		if (!is_root(fold, i) && fold->nodes[i].incl <= j->limit) {
			err = leave_out(j, i);
			i = fold->nodes[i].end;
		} else {
			err = open_run(j, i++);
		}
		while (!err && j->path.nr && i >= fold->nodes[j->path.at[j->path.nr - 1].node].end)
			err = close_run(j);
	}
	return err;
}

static int send_left_out(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = par_span(j->left_out.nr, j->workers * PARTS, part);
	for (u64 k = span.lo; k < span.hi; k++)
		for (u32 i = j->left_out.at[k].lo; i < j->left_out.at[k].hi; i++)
			j->node_of[i - j->base] = j->left_out.at[k].node;
	return 0;
}

static int move_points(void *ctx, unsigned worker, u32 part)
{
	const struct joining *j = ctx;
	struct par_span span = par_span(j->f->points.nr, j->workers * PARTS, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		struct flame_point *p = &j->f->points.at[i];
		p->node = j->node_of[j->fold->node_of[p->node] - j->base];
	}
	return 0;
}

static int join(struct joining *j)
{
	struct flame *f = j->f;
	u32 nr_parts = j->workers * PARTS;
	int err = walk(j);
	if (!err)
		err = par_each(j->workers, nr_parts, send_left_out, j);
	for (u32 i = 0; i < j->fold->nr_trees && !err; i++)
		f->trees.at[i].root = j->node_of[j->fold->root_of[i] - j->base];
	u64 nr_made = 0;
	vec_for_each (&f->nodes, n)
		nr_made += n->frame != FLAME_JOINED;
	f->nr_joined = f->nr_all_nodes - nr_made;
	return err ? err : par_each(j->workers, nr_parts, move_points, j);
}

int flame_join(struct flame *f, const struct fold *fold, u32 max_nodes, unsigned workers)
{
	struct joining j = {
		.f = f, .fold = fold, .base = fold->room - fold->nr_nodes, .workers = workers
	};
	int err = find_limit(&j, max_nodes);
	if (err || !j.limit)
		return err;
	size_t size = ((size_t)fold->nr_nodes + 1) * sizeof(*j.node_of);
	j.node_of = big_grow(NULL, 0, size);
	err = j.node_of ? join(&j) : -ENOMEM;
	big_free(j.node_of, size);
	vec_free(&j.path);
	big_vec_free(&j.left_out);
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
