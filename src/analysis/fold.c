#include "analysis/fold.h"
#include "analysis/fold_impl.h"
#include "base/big.h"
#include "base/par.h"

#include <errno.h>
#include <string.h>

/*
 * Nodes grow from the last chain to the first, so that they come out children first and stand parents first. Several workers each take a run
 * of chains. Where one begins, some nodes are open that belong to the run after it, too; how deep they are is found out by going over
 * the lengths alone, before anybody starts. What the runs say about a node that they share is added up in the end, run by run.
 */

/* A node that is not finished: its sub-tree is still growing. */
struct open_node {
	u32 depth; /* functions from the root to its end */
	u32 end; /* as in fold_node */
	u32 below; /* height of its highest child */
	u32 ended; /* item + 1 that ends here; the others follow in node_of */
	u64 incl;
};

/* A node was closed that the runs after this one have a share in. */
struct closing {
	u32 node;
	bool stays; /* another one is open in its place: the part of it that is nearer to the root */
};

struct grower {
	struct builder *b;
	u32 lo, hi; /* parts */
	u32 tree; /* of the next part, or one that has none */
	VEC(struct open_node) path; /* from the root on */
	u32 next_node;
	u64 next_func; /* both count down */
	u32 shared; /* so many of the path, from the root on, belong to the runs after this one, too */
	VEC(struct closing) closings; /* of those */
	bool dry; /* only counts */
};

static struct open_node *top_of(struct grower *g)
{
	return &g->path.at[g->path.nr - 1];
}

static int open_node(struct grower *g, u32 depth, u32 end)
{
	struct open_node *o = vec_push(&g->path);
	if (!o)
		return -ENOMEM;
	o->depth = depth;
	o->end = end;
	return 0;
}

static void adopt_children(struct fold *f, u32 node)
{
	for (u32 c = node + 1; c < f->nodes[node].end; c = f->nodes[c].end)
		f->nodes[c].parent = node;
}

static void end_items(struct fold *f, u32 ended, u32 node)
{
	for (u32 item = ended, next; item; item = next) {
		next = f->node_of[item - 1];
		f->node_of[item - 1] = node;
	}
}

/* The innermost open node is whole: its functions are those of p's chain that lie between `from` and its depth. */
static void write_node(struct grower *g, const struct part *p, u32 from)
{
	struct fold *f = g->b->fold;
	struct open_node o = *top_of(g);
	u32 at = g->next_node, nr = o.depth - from;
	for (u32 i = nr; i-- > 0;)
		f->funcs[g->next_func + i] = func_at(g->b, p, from + i);
	f->nodes[at] = (struct fold_node){
		.parent = at, .end = o.end, .at = (u32)g->next_func, .nr = nr, .incl = o.incl
	};
	f->heights[at] = nr + o.below;
	end_items(f, o.ended, at);
}

/* stays: a node will be opened in its place. */
static int close_node(struct grower *g, const struct part *p, u32 from, bool stays)
{
	bool shared = g->path.nr <= g->shared;
	g->next_node--;
	g->next_func -= top_of(g)->depth - from;
	if (!g->dry) {
		write_node(g, p, from);
		struct closing *c = shared ? vec_push(&g->closings) : NULL;
		if (shared && !c)
			return -ENOMEM;
		if (c)
			*c = (struct closing){ .node = g->next_node, .stays = stays };
		else
			adopt_children(g->b->fold, g->next_node);
	}
	g->path.nr--;
	if (shared && !stays)
		g->shared = (u32)g->path.nr;
	return 0;
}

static void join_parent(struct grower *g, struct open_node child, u32 from)
{
	struct open_node *o = top_of(g);
	o->incl = u64_sum(o->incl, child.incl);
	o->below = max(o->below, child.depth - from + child.below);
}

/* Closes all that is deeper; leaves an open node at exactly this depth. */
static int close_to(struct grower *g, const struct part *p, u32 depth)
{
	while (top_of(g)->depth > depth) {
		struct open_node child = *top_of(g);
		u32 before = g->path.at[g->path.nr - 2].depth, from = max(before, depth);
		int err = close_node(g, p, from, before < depth);
		if (!err && before < depth)
			err = open_node(g, depth, child.end);
		if (err)
			return err;
		join_parent(g, child, from);
	}
	return 0;
}

static int add_chain(struct grower *g, const struct part *p)
{
	int err = p->nr > top_of(g)->depth ? open_node(g, p->nr, g->next_node) : 0;
	if (err || g->dry)
		return err;
	struct open_node *o = top_of(g);
	o->incl = u64_sum(o->incl, g->b->items[p->item].period);
	g->b->fold->node_of[p->item] = o->ended;
	o->ended = p->item + 1;
	return 0;
}

/* Parts [lo, hi), of a tree that begins with part `first`. */
static int grow_tree(struct grower *g, u32 first, u32 lo, u32 hi)
{
	enum { AHEAD = 8 };
	const struct builder *b = g->b;
	int err = 0;
	for (u32 i = hi; i-- > lo && !err;) {
		if (!g->dry && i >= lo + AHEAD + 1) {
			const struct part *p = &b->parts[i - AHEAD];
			fetch_func(b, p, b->common[i - AHEAD - 1]);
			fetch_func(b, p, p->nr - 1);
			__builtin_prefetch(&b->items[p->item]);
		}
		err = add_chain(g, &b->parts[i]);
		if (!err)
			err = close_to(g, &b->parts[i], i > first ? b->common[i - 1] : 0);
	}
	return err;
}

/* All of the run: trees from the last one on, those without parts as well. */
static int grow_run(struct grower *g)
{
	struct builder *b = g->b;
	int err = 0;
	for (u32 at = g->hi;; g->tree--) {
		u32 first = b->starts[g->tree], lo = max(first, g->lo);
		if (at == g->lo && at > first)
			return 0; /* the next run's */
		if (at == b->starts[g->tree + 1])
			err = open_node(g, 0, g->next_node);
		if (!err)
			err = grow_tree(g, first, lo, at);
		if (err || lo > first)
			return err;
		err = close_node(g, NULL, 0, false);
		if (err)
			return err;
		b->fold->root_of[g->tree] = g->next_node;
		at = lo;
		if (!g->tree)
			return 0;
	}
}

/* ---- several runs ---- */

struct growing {
	struct builder *b;
	struct grower *runs; /* the first one has the last parts */
	VEC(struct open_node)
	carry; /* what the runs so far say about the nodes that are open where they end */
};

/* How a run begins: with what `dry` has open now. */
static int begin_run(struct grower *g, const struct grower *dry)
{
	*g = (struct grower){ .b = dry->b,
			      .lo = dry->lo,
			      .hi = dry->hi,
			      .tree = dry->tree,
			      .next_node = dry->next_node,
			      .next_func = dry->next_func };
	for (size_t i = 0; i < dry->path.nr; i++) {
		int err = open_node(g, dry->path.at[i].depth, dry->path.at[i].end);
		if (err)
			return err;
	}
	g->shared = (u32)g->path.nr;
	return 0;
}

/* Goes over the lengths: where runs begin, and how many nodes and functions there will be. */
static int begin_runs(struct growing *w)
{
	struct builder *b = w->b;
	struct fold *f = b->fold;
	struct grower dry = { .b = b, .tree = f->nr_trees - 1, .next_node = f->room, .dry = true };
	int err = 0;
	for (unsigned i = 0; i < b->workers && !err; i++) {
		struct par_span s = par_span(b->nr, b->workers, b->workers - 1 - i);
		dry.lo = (u32)s.lo;
		dry.hi = (u32)s.hi;
		err = begin_run(&w->runs[i], &dry);
		if (!err)
			err = grow_run(&dry);
	}
	f->nr_nodes = f->room - dry.next_node;
	f->nr_funcs = 0 - dry.next_func;
	for (unsigned i = 0; i < b->workers; i++)
		w->runs[i].next_func += f->nr_funcs;
	vec_free(&dry.path);
	return err;
}

static int grow_one(void *ctx, unsigned worker, u32 index)
{
	return grow_run(&((struct growing *)ctx)->runs[index]);
}

/* What the runs after it say about a node. */
static void add_carry(struct growing *w, struct closing closing)
{
	struct fold *f = w->b->fold;
	struct open_node *c = &w->carry.at[w->carry.nr - 1];
	struct fold_node *n = &f->nodes[closing.node];
	u32 height = n->nr + c->below;
	n->incl = u64_sum(n->incl, c->incl);
	f->heights[closing.node] = max(f->heights[closing.node], height);
	end_items(f, c->ended, closing.node);
	adopt_children(f, closing.node);
	c->ended = 0;
	c->below = height;
	if (closing.stays)
		return;
	struct open_node *parent = w->carry.nr > 1 ? c - 1 : NULL;
	if (parent) {
		parent->incl = u64_sum(parent->incl, c->incl);
		parent->below = max(parent->below, height);
	}
	w->carry.nr--;
}

static void join_items(struct fold *f, struct open_node *to, u32 ended)
{
	u32 *link = &to->ended;
	while (*link)
		link = &f->node_of[*link - 1];
	*link = ended;
}

/* The run's own share joins what it had from those after it. */
static int carry_on(struct growing *w, const struct grower *g)
{
	for (size_t i = 0; i < g->path.nr; i++) {
		const struct open_node *own = &g->path.at[i];
		if (i >= w->carry.nr) {
			struct open_node *c = vec_push(&w->carry);
			if (!c)
				return -ENOMEM;
			*c = *own;
			continue;
		}
		struct open_node *c = &w->carry.at[i];
		c->incl = u64_sum(c->incl, own->incl);
		c->below = max(c->below, own->below);
		join_items(w->b->fold, c, own->ended);
	}
	return 0;
}

static int join_runs(struct growing *w)
{
	int err = 0;
	for (unsigned i = 0; i < w->b->workers && !err; i++) {
		vec_for_each (&w->runs[i].closings, c)
			add_carry(w, *c);
		err = carry_on(w, &w->runs[i]);
	}
	return err;
}

static int get_funcs(struct fold *f)
{
	if (f->nr_funcs <= UINT32_MAX)
		f->funcs = big_grow(NULL, 0, f->nr_funcs * sizeof(*f->funcs));
	return f->funcs ? 0 : -ENOMEM;
}

static int grow_all(struct builder *b)
{
	struct growing w = { .b = b, .runs = calloc(b->workers, sizeof(*w.runs)) };
	if (!w.runs)
		return -ENOMEM;
	int err = begin_runs(&w);
	if (!err)
		err = get_funcs(b->fold);
	if (!err)
		err = par_each(b->workers, b->workers, grow_one, &w);
	if (!err)
		err = join_runs(&w);
	for (unsigned i = 0; i < b->workers; i++) {
		vec_free(&w.runs[i].path);
		vec_free(&w.runs[i].closings);
	}
	vec_free(&w.carry);
	free(w.runs);
	return err;
}

/* ---- */

static int get_memory(struct builder *b, u32 nr_trees)
{
	struct fold *f = b->fold;
	f->nr_items = b->nr;
	f->room = (u32)(2 * b->nr + nr_trees);
	f->nodes = big_grow(NULL, 0, f->room * sizeof(*f->nodes));
	f->heights = big_grow(NULL, 0, f->room * sizeof(*f->heights));
	f->root_of = calloc((size_t)nr_trees + 1, sizeof(*f->root_of));
	f->node_of = big_zalloc(b->nr * sizeof(*f->node_of));
	b->parts = big_grow(NULL, 0, b->nr * sizeof(*b->parts));
	b->spare = big_grow(NULL, 0, b->nr * sizeof(*b->spare));
	b->common = big_grow(NULL, 0, b->nr * sizeof(*b->common));
	b->starts = calloc((size_t)nr_trees + 2, sizeof(*b->starts));
	return f->nodes && f->heights && f->root_of && f->node_of && b->parts && b->spare &&
			       b->common && b->starts
		       ? 0
		       : -ENOMEM;
}

int fold_build(struct fold *f, const struct fold_input *in)
{
	*f = (struct fold){ .nr_trees = in->nr_trees };
	if (in->nr + in->nr_trees > UINT32_MAX / 2)
		return -ENOMEM;
	struct builder b = { .fold = f,
			     .items = in->items,
			     .nr = in->nr,
			     .pool = in->chains->pool,
			     .func_of = in->names->func_of,
			     .reverse = in->reverse,
			     .bits = 64 - (u32)__builtin_clzll((u64)in->names->nr_funcs + 1),
			     .workers = (unsigned)max(min((size_t)in->workers, in->nr), (size_t)1) };
	b.per_word = 64 / b.bits;
	int err = get_memory(&b, in->nr_trees);
	if (!err)
		err = fold_sort(&b);
	if (!err && in->nr_trees)
		err = grow_all(&b);
	big_free(b.parts, b.nr * sizeof(*b.parts));
	big_free(b.spare, b.nr * sizeof(*b.spare));
	big_free(b.common, b.nr * sizeof(*b.common));
	free(b.starts);
	return err;
}

void fold_done(struct fold *f)
{
	big_free(f->nodes, f->room * sizeof(*f->nodes));
	big_free(f->heights, f->room * sizeof(*f->heights));
	big_free(f->funcs, f->nr_funcs * sizeof(*f->funcs));
	big_free(f->node_of, f->nr_items * sizeof(*f->node_of));
	free(f->root_of);
	*f = (struct fold){ 0 };
}
