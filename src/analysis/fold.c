#include "analysis/fold.h"
#include "base/dict.h"

#include <errno.h>
#include <stdlib.h>

/* (parent, func) -> node, open addressing on node ids, only needed while building. */
struct index {
	u32 *slots;
	u32 mask;
};

struct builder {
	struct fold *fold;
	const struct chain_tree *chains;
	const struct names_result *names;
	struct index index;
	u32 *memo;  /* [address-level node] -> function-level node ... */
	u32 *stamp; /* ... of the group that is being folded, when stamp says so */
	VEC(u32) path;
};

static u32 *index_slot(const struct builder *b, u32 parent, u32 func)
{
	u32 at = (u32)hash_u64((u64)parent << 32 | func) & b->index.mask;
	while (b->index.slots[at]) {
		const struct fold_node *n = &b->fold->nodes.at[b->index.slots[at]];
		if (n->parent == parent && n->func == func)
			break;
		at = (at + 1) & b->index.mask;
	}
	return &b->index.slots[at];
}

static int index_grow(struct builder *b)
{
	size_t nr = b->index.slots ? ((size_t)b->index.mask + 1) * 2 : 4096;
	if (nr > (size_t)1 << 31)
		return -ENOMEM;
	u32 *slots = calloc(nr, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(b->index.slots);
	b->index = (struct index){ .slots = slots, .mask = (u32)(nr - 1) };
	for (u32 i = b->fold->nr_groups + 1; i < b->fold->nodes.nr; i++)
		*index_slot(b, b->fold->nodes.at[i].parent, b->fold->nodes.at[i].func) = i;
	return 0;
}

static s64 child_of(struct builder *b, u32 parent, u32 func)
{
	if (!b->index.slots || b->fold->nodes.nr * 2 > b->index.mask) {
		int err = index_grow(b);
		if (err)
			return err;
	}
	u32 *slot = index_slot(b, parent, func);
	if (*slot)
		return *slot;
	struct fold_node *n = vec_push(&b->fold->nodes);
	if (!n)
		return -ENOMEM;
	n->parent = parent;
	n->func = func;
	*slot = (u32)b->fold->nodes.nr - 1;
	return *slot;
}

/* Climbs to an ancestor that is known in this group, then comes down again making nodes. */
static s64 fold_chain(struct builder *b, u32 group, u32 node)
{
	b->path.nr = 0;
	while (node != CHAIN_ROOT && b->stamp[node] != group + 1) {
		u32 *step = vec_push(&b->path);
		if (!step)
			return -ENOMEM;
		*step = node;
		node = b->chains->nodes[node].parent;
	}
	s64 at = node == CHAIN_ROOT ? fold_root(group) : b->memo[node];
	for (size_t i = b->path.nr; i-- > 0;) {
		u32 step = b->path.at[i];
		at = child_of(b, (u32)at, b->names->func_of[b->chains->nodes[step].frame]);
		if (at < 0)
			return at;
		b->memo[step] = (u32)at;
		b->stamp[step] = group + 1;
	}
	return at;
}

static int by_group(const void *a, const void *b)
{
	const struct fold_entry *l = a, *r = b;
	if (l->group != r->group)
		return l->group < r->group ? -1 : 1;
	return l->node < r->node ? -1 : l->node > r->node;
}

/* Entries of one chain follow each other: those that end in the same function become one end. */
static int add_end(struct builder *b, const struct fold_entry *e, u32 node)
{
	struct fold *f = b->fold;
	u32 leaf = b->names->func_of[e->leaf];
	f->nodes.at[node].incl += e->period;
	struct fold_end *last = f->ends.nr ? &f->ends.at[f->ends.nr - 1] : NULL;
	if (!last || last->node != node || last->leaf != leaf || last->group != e->group) {
		last = vec_push(&f->ends);
		if (!last)
			return -ENOMEM;
		*last = (struct fold_end){ .node = node, .leaf = leaf, .group = e->group };
	}
	last->period += e->period;
	last->count += e->count;
	return 0;
}

/* Parents have smaller ids: one backward scan adds everything up and links the children. */
static void finish_nodes(struct fold *f)
{
	for (size_t i = f->nodes.nr; i-- > f->nr_groups + 1;) {
		struct fold_node *n = &f->nodes.at[i];
		struct fold_node *parent = &f->nodes.at[n->parent];
		parent->incl += n->incl;
		n->next = parent->first;
		parent->first = (u32)i;
	}
}

int fold_build(struct fold *f, struct fold_entry *entries, size_t nr, u32 nr_groups, const struct chain_tree *chains,
	       const struct names_result *names)
{
	*f = (struct fold){ .nr_groups = nr_groups };
	struct builder b = { .fold = f, .chains = chains, .names = names };
	int err = 0;
	b.memo = malloc(((size_t)chains->nr + 1) * sizeof(*b.memo));
	b.stamp = calloc((size_t)chains->nr + 1, sizeof(*b.stamp));
	if (!b.memo || !b.stamp)
		err = -ENOMEM;
	for (u32 i = 0; i < nr_groups + 1 && !err; i++)
		if (!vec_push(&f->nodes))
			err = -ENOMEM;
	qsort(entries, nr, sizeof(*entries), by_group);
	for (size_t i = 0; i < nr && !err; i++) {
		s64 node = fold_chain(&b, entries[i].group, entries[i].node);
		err = node < 0 ? (int)node : add_end(&b, &entries[i], (u32)node);
	}
	if (!err)
		finish_nodes(f);
	free(b.memo);
	free(b.stamp);
	free(b.index.slots);
	vec_free(&b.path);
	return err;
}

void fold_done(struct fold *f)
{
	vec_free(&f->nodes);
	vec_free(&f->ends);
}
