#include "analysis/fold.h"

#include <errno.h>
#include <string.h>

/* An item on its way through the partitions. */
struct part {
	u32 item;
	u32 start, nr;
	u32 func; /* at the depth that is being looked at */
};

struct branch {
	u32 func;
	u32 lo, hi;
};

struct builder {
	struct fold *fold;
	const struct fold_item *items;
	const u32 *pool;
	const u32 *func_of;
	bool reverse;
	struct part *parts, *spare;
	u32 *count; /* [func] */
	VEC(u32) touched;
	VEC(struct branch) branches; /* a stack */
};

static u32 func_at(const struct builder *b, const struct part *p, u32 depth)
{
	return b->func_of[b->pool[p->start + (b->reverse ? p->nr - 1 - depth : depth)]];
}

static s64 push_node(struct builder *b, u32 parent, u32 func)
{
	struct fold_node *n = vec_push(&b->fold->nodes);
	if (!n || b->fold->nodes.nr > UINT32_MAX / 2)
		return -ENOMEM;
	n->parent = parent;
	n->func = func;
	return (s64)b->fold->nodes.nr - 1;
}

/* The rest of a chain that nobody shares: straight down. */
static int straight(struct builder *b, const struct part *p, u32 node, u32 depth)
{
	u32 first = (u32)b->fold->nodes.nr;
	u64 period = b->items[p->item].period;
	for (; depth < p->nr; depth++) {
		s64 made = push_node(b, node, func_at(b, p, depth));
		if (made < 0)
			return (int)made;
		node = (u32)made;
	}
	b->fold->node_of[p->item] = node;
	u32 end = (u32)b->fold->nodes.nr;
	for (u32 i = first; i < end; i++) {
		b->fold->nodes.at[i].incl = period;
		b->fold->nodes.at[i].end = end;
		b->fold->nodes.at[i].height = end - i;
	}
	return 0;
}

/* Those of [lo, hi) that end at this depth are moved to the front and settled; returns where the others begin. */
static u32 settle(struct builder *b, u32 node, u32 depth, u32 lo, u32 hi)
{
	for (u32 i = lo; i < hi; i++) {
		if (b->parts[i].nr != depth)
			continue;
		struct part ended = b->parts[i];
		b->parts[i] = b->parts[lo];
		b->parts[lo++] = ended;
		b->fold->node_of[ended.item] = node;
		b->fold->nodes.at[node].incl += b->items[ended.item].period;
	}
	return lo;
}

/* Reorders [lo, hi) by the function at this depth and pushes a branch for each. */
static int partition(struct builder *b, u32 depth, u32 lo, u32 hi)
{
	b->touched.nr = 0;
	for (u32 i = lo; i < hi; i++) {
		u32 func = b->parts[i].func = func_at(b, &b->parts[i], depth);
		if (!b->count[func]++) {
			u32 *t = vec_push(&b->touched);
			if (!t)
				return -ENOMEM;
			*t = func;
		}
	}
	u32 at = lo;
	vec_for_each (&b->touched, func) {
		struct branch *br = vec_push(&b->branches);
		if (!br)
			return -ENOMEM;
		*br = (struct branch){ .func = *func, .lo = at, .hi = at + b->count[*func] };
		at = br->hi;
		b->count[*func] = br->lo; /* from now on: where the next one goes */
	}
	if (b->touched.nr > 1) {
		for (u32 i = lo; i < hi; i++)
			b->spare[b->count[b->parts[i].func]++] = b->parts[i];
		memcpy(b->parts + lo, b->spare + lo, (hi - lo) * sizeof(*b->parts));
	}
	vec_for_each (&b->touched, func)
		b->count[*func] = 0;
	return 0;
}

static int grow(struct builder *b, u32 node, u32 depth, u32 lo, u32 hi)
{
	lo = settle(b, node, depth, lo, hi);
	int err = 0;
	if (hi - lo == 1) {
		b->fold->nodes.at[node].incl += b->items[b->parts[lo].item].period;
		err = straight(b, &b->parts[lo], node, depth);
	} else if (lo < hi) {
		size_t base = b->branches.nr;
		err = partition(b, depth, lo, hi);
		size_t top = b->branches.nr;
		for (size_t i = base; i < top && !err; i++) {
			struct branch br = b->branches.at[i];
			s64 child = push_node(b, node, br.func);
			err = child < 0 ? (int)child : grow(b, (u32)child, depth + 1, br.lo, br.hi);
			if (!err)
				b->fold->nodes.at[node].incl += b->fold->nodes.at[child].incl;
		}
		b->branches.nr = base;
	}
	struct fold_node *nodes = b->fold->nodes.at;
	nodes[node].end = (u32)b->fold->nodes.nr;
	nodes[node].height = 1;
	for (u32 c = node + 1; c < nodes[node].end && !err; c = nodes[c].end)
		nodes[node].height = max(nodes[node].height, nodes[c].height + 1);
	return err;
}

/* Items by tree; starts[t] is where a tree's items begin. */
static void sort_by_tree(struct builder *b, size_t nr, u32 *starts)
{
	for (size_t i = 0; i < nr; i++)
		starts[b->items[i].tree + 1]++;
	for (u32 t = 0; t < b->fold->nr_trees; t++)
		starts[t + 1] += starts[t];
	for (size_t i = 0; i < nr; i++) {
		const struct fold_item *it = &b->items[i];
		b->parts[starts[it->tree]++] =
			(struct part){ .item = (u32)i, .start = it->start, .nr = it->nr };
	}
	for (u32 t = b->fold->nr_trees; t > 0; t--)
		starts[t] = starts[t - 1];
	starts[0] = 0;
}

int fold_build(struct fold *f, const struct fold_item *items, size_t nr, u32 nr_trees, bool reverse,
	       const struct chain_table *chains, const struct names_result *names)
{
	*f = (struct fold){ .nr_trees = nr_trees };
	if (nr >= UINT32_MAX)
		return -ENOMEM;
	struct builder b = { .fold = f,
			     .items = items,
			     .pool = chains->pool,
			     .func_of = names->func_of,
			     .reverse = reverse };
	f->root_of = calloc((size_t)nr_trees + 1, sizeof(*f->root_of));
	f->node_of = calloc(nr + 1, sizeof(*f->node_of));
	b.parts = malloc((nr + 1) * sizeof(*b.parts));
	b.spare = malloc((nr + 1) * sizeof(*b.spare));
	b.count = calloc((size_t)names->nr_funcs + 1, sizeof(*b.count));
	u32 *starts = calloc((size_t)nr_trees + 2, sizeof(*starts));
	int err = f->root_of && f->node_of && b.parts && b.spare && b.count && starts ? 0 : -ENOMEM;
	if (!err)
		sort_by_tree(&b, nr, starts);
	for (u32 t = 0; t < nr_trees && !err; t++) {
		s64 root = push_node(&b, (u32)f->nodes.nr, 0);
		err = root < 0 ? (int)root : grow(&b, (u32)root, 0, starts[t], starts[t + 1]);
		f->root_of[t] = (u32)root;
	}
	free(b.parts);
	free(b.spare);
	free(b.count);
	free(starts);
	vec_free(&b.touched);
	vec_free(&b.branches);
	return err;
}

void fold_done(struct fold *f)
{
	vec_free(&f->nodes);
	free(f->root_of);
	free(f->node_of);
	*f = (struct fold){ 0 };
}
