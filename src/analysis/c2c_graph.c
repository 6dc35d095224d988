#include "analysis/c2c_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH_MAX = 256 }; /* branches within branches */

struct c2c_path {
	const u32 *ids;
	u32 nr;
	u64 weight;
};

struct c2c_drawing {
	struct tree *t;
	const struct c2c_graph_env *env;
	struct c2c_path *paths; /* sorted: equal beginnings are neighbours, shorter ones first */
};

static u32 id_at(const struct c2c_graph_env *e, const struct c2c_path *p, u32 depth)
{
	return p->ids[e->outermost_first ? depth : p->nr - 1 - depth];
}

static u32 func_at(const struct c2c_graph_env *e, const struct c2c_path *p, u32 depth)
{
	return e->names->func_of[id_at(e, p, depth)];
}

static int by_path(const void *pa, const void *pb, void *ctx)
{
	const struct c2c_path *a = pa, *b = pb;
	const struct c2c_graph_env *e = ctx;
	for (u32 i = 0; i < a->nr && i < b->nr; i++) {
		u32 x = func_at(e, a, i), y = func_at(e, b, i);
		if (x != y)
			return x < y ? -1 : 1;
	}
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

static int add_label(const struct c2c_drawing *g, const struct c2c_path *p, u32 depth)
{
	u32 id = id_at(g->env, p, depth);
	const struct name_func *f = &g->env->names->funcs[g->env->names->func_of[id]];
	const char **label = vec_push(&g->t->labels);
	if (!label)
		return -ENOMEM;
	*label = name_label(f);
	if (!*label) {
		char text[24];
		u32 frame = g->env->names->frame_of ? g->env->names->frame_of[id] : id;
		int n = snprintf(text, sizeof(text), "0x%llx",
				 (unsigned long long)g->env->frames->frames[frame].offset);
		*label = arena_strndup(g->env->arena, text, (size_t)n);
	}
	return *label ? 0 : -ENOMEM;
}

/* A list of nr siblings: heavier ones first, and of equals as they came. */
static u32 sort_nodes(struct tree *t, u32 first, u32 nr)
{
	if (nr < 2)
		return first;
	u32 last = first, head = TREE_NONE, *to = &head;
	for (u32 i = 1; i < nr / 2; i++)
		last = t->nodes.at[last].next;
	u32 a = first, b = t->nodes.at[last].next;
	t->nodes.at[last].next = TREE_NONE;
	a = sort_nodes(t, a, nr / 2);
	b = sort_nodes(t, b, nr - nr / 2);
	while (a != TREE_NONE && b != TREE_NONE) {
		u32 *from = t->nodes.at[a].total >= t->nodes.at[b].total ? &a : &b;
		*to = *from;
		to = &t->nodes.at[*from].next;
		*from = *to;
	}
	*to = a != TREE_NONE ? a : b;
	return head;
}

static int build(struct c2c_drawing *g, u32 from, u32 to, u32 depth, u32 level, u32 *first);

/* Paths that are alike up to this depth, and have one more function in common. */
static int add_branch(struct c2c_drawing *g, u32 from, u32 to, u32 depth, u32 level, u64 weight,
		      u32 *ret)
{
	struct tree *t = g->t;
	u32 node = (u32)t->nodes.nr, child = TREE_NONE;
	struct tree_node *n = vec_push(&t->nodes);
	if (!n)
		return -ENOMEM;
	*n = (struct tree_node){ .first_label = (u32)t->labels.nr,
				 .total = weight,
				 .next = TREE_NONE };
	u32 nr_labels = 0;
	/* Sorted, so what the first and the last have in common, all have. */
	const struct c2c_path *a = &g->paths[from], *b = &g->paths[to - 1];
	do {
		int err = add_label(g, a, depth + nr_labels++);
		if (err)
			return err;
	} while (depth + nr_labels < a->nr &&
		 func_at(g->env, a, depth + nr_labels) == func_at(g->env, b, depth + nr_labels));
	depth += nr_labels;
	u64 self = 0;
	for (; from < to && g->paths[from].nr == depth; from++)
		self += g->paths[from].weight;
	int err = from < to && level < DEPTH_MAX ? build(g, from, to, depth, level + 1, &child) : 0;
	n = &t->nodes.at[node];
	n->nr_labels = nr_labels;
	n->self = self;
	n->first_child = child;
	*ret = node;
	return err;
}

static int build(struct c2c_drawing *g, u32 from, u32 to, u32 depth, u32 level, u32 *first)
{
	int err = 0;
	u32 nr = 0, last = TREE_NONE, node;
	for (u32 i = from, end; i < to && !err; i = end) {
		u64 weight = 0;
		u32 func = func_at(g->env, &g->paths[i], depth);
		for (end = i; end < to && func_at(g->env, &g->paths[end], depth) == func; end++)
			weight += g->paths[end].weight;
		if (weight < g->t->min) {
			g->t->hidden += weight;
			continue;
		}
		err = add_branch(g, i, end, depth, level, weight, &node);
		if (err)
			break;
		*(nr++ ? &g->t->nodes.at[last].next : first) = node;
		last = node;
	}
	if (!err)
		*first = sort_nodes(g->t, *first, nr);
	return err;
}

int c2c_graph(struct tree *t, const struct c2c_chain *chains, size_t nr,
	      const struct c2c_graph_env *env)
{
	struct c2c_drawing g = { .t = t, .env = env, .paths = calloc(nr + 1, sizeof(*g.paths)) };
	u32 nr_paths = 0, first = TREE_NONE;
	if (!g.paths)
		return -ENOMEM;
	t->total = 0;
	for (size_t i = 0; i < nr; i++) {
		struct c2c_path *p = &g.paths[nr_paths];
		p->ids = chain_frames(env->chains, chains[i].chain, &p->nr);
		p->weight = chains[i].period;
		t->total += p->nr ? p->weight : 0;
		nr_paths += p->nr != 0;
	}
	qsort_r(g.paths, nr_paths, sizeof(*g.paths), by_path, (void *)env);
	t->min = (u64)((double)t->total * env->min_percent / 100);
	int err = build(&g, 0, nr_paths, 0, 0, &first);
	t->first_root = first;
	free(g.paths);
	return err;
}
