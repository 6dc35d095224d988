#include "analysis/rowtree.h"
#include "base/big.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	AHEAD = 24,
	NEAR = 10
}; /* places whose node, and then its functions, are fetched meanwhile */

int rowtree_init(struct rowtree *t, const struct fold *f, const struct fold_item *items,
		 const struct names_result *names)
{
	*t = (struct rowtree){ .fold = f, .items = items, .names = names };
	t->sums = calloc((size_t)names->nr_funcs + 1, sizeof(*t->sums));
	return t->sums ? 0 : -ENOMEM;
}

static void drop_labels(struct rowtree *t)
{
	vec_for_each (&t->own_labels, l)
		free(*l);
	t->own_labels.nr = 0;
}

void rowtree_done(struct rowtree *t)
{
	drop_labels(t);
	vec_free(&t->own_labels);
	vec_free(&t->touched);
	big_vec_free(&t->places);
	vec_free(&t->branches);
	big_vec_free(&t->candidates);
	free(t->sums);
	big_free(t->ending, t->fold ? t->fold->room * sizeof(*t->ending) : 0);
	free(t->counts.own);
	free(t->counts.incl);
	free(t->counts.own_ending);
	free(t->counts.incl_ending);
	*t = (struct rowtree){ 0 };
}

/* ---- numbers of samples ---- */

int rowtree_count(struct rowtree *t, const u64 *counts, size_t nr_items)
{
	const struct fold *f = t->fold;
	size_t room = (size_t)f->room + 1;
	struct rowtree_counts *c = &t->counts;
	c->own = calloc(room, sizeof(*c->own));
	c->incl = calloc(room, sizeof(*c->incl));
	c->own_ending = calloc(room, sizeof(*c->own_ending));
	c->incl_ending = calloc(room, sizeof(*c->incl_ending));
	if (!c->own || !c->incl || !c->own_ending || !c->incl_ending)
		return -ENOMEM;
	for (size_t i = 0; i < nr_items; i++) {
		c->own[f->node_of[i]] += counts[i];
		c->incl[f->node_of[i]] += counts[i];
	}
	for (u32 n = f->room; n-- > f->room - f->nr_nodes;)
		if (f->nodes[n].parent != n)
			c->incl[f->nodes[n].parent] += c->incl[n];
	c->of_item = counts;
	return 0;
}

static void count_ending(struct rowtree *t, const struct rowtree_row *row, bool add)
{
	struct rowtree_counts *c = &t->counts;
	for (u32 i = row->first_item; i && c->of_item; i = row->next_item[i - 1]) {
		u32 n = t->fold->node_of[i - 1];
		u64 count = add ? c->of_item[i - 1] : 0 - c->of_item[i - 1];
		c->own_ending[n] += count;
		for (; n != row->root; n = t->fold->nodes[n].parent)
			c->incl_ending[n] += count;
	}
}

static u64 count_part(u64 all, u64 ending, u32 part)
{
	return part == ROWTREE_ALL ? all : part == ROWTREE_ENDING ? ending : all - ending;
}

/* Samples of a branch; own: those that end in its function. */
static u64 count_branch(const struct rowtree *t, const struct rowtree_branch *b, bool own)
{
	const struct rowtree_counts *c = &t->counts;
	u64 sum = 0;
	for (u32 i = b->start; i < b->start + b->nr && c->of_item; i++) {
		const struct rowtree_place *p = &t->places.at[i];
		u32 n = p->node;
		if (!own)
			sum += count_part(c->incl[n], c->incl_ending[n], p->part);
		else if (p->skip + 1 == t->fold->nodes[n].nr)
			sum += count_part(c->own[n], c->own_ending[n], p->part);
	}
	return sum;
}

/* ---- weights of samples that end in the row's function ---- */

/* For a few items: up from each of them. For many: once over all nodes, children first. */
static bool few_items(const struct rowtree *t, const struct rowtree_row *row)
{
	size_t nr = 0, limit = t->fold->nr_nodes / 64;
	for (u32 i = row->first_item; i && nr <= limit; i = row->next_item[i - 1])
		nr++;
	return nr <= limit;
}

static void climb(struct rowtree *t, const struct rowtree_row *row, bool add)
{
	const struct fold_node *nodes = t->fold->nodes;
	for (u32 i = row->first_item; i; i = row->next_item[i - 1]) {
		for (u32 n = t->fold->node_of[i - 1]; n != row->root; n = nodes[n].parent)
			t->ending[n] = add ? t->ending[n] + t->items[i - 1].period : 0;
	}
}

static void scan(struct rowtree *t, const struct rowtree_row *row)
{
	const struct fold_node *nodes = t->fold->nodes;
	for (u32 i = row->first_item; i; i = row->next_item[i - 1])
		t->ending[t->fold->node_of[i - 1]] += t->items[i - 1].period;
	for (u32 n = nodes[row->root].end; n-- > row->root + 1;)
		t->ending[nodes[n].parent] += t->ending[n];
}

static int mark_ending(struct rowtree *t, const struct rowtree_row *row, bool few)
{
	if (!t->ending)
		t->ending = big_zalloc(t->fold->room * sizeof(*t->ending));
	if (!t->ending)
		return -ENOMEM;
	if (few)
		climb(t, row, true);
	else
		scan(t, row);
	return 0;
}

static void unmark_ending(struct rowtree *t, const struct rowtree_row *row, bool few)
{
	u32 end = t->fold->nodes[row->root].end;
	if (few)
		climb(t, row, false);
	else
		memset(t->ending + row->root, 0, (end - row->root) * sizeof(*t->ending));
}

/* ---- steps ---- */

static u64 weight_at(const struct rowtree *t, u32 node, u32 part)
{
	u64 incl = t->fold->nodes[node].incl;
	return part == ROWTREE_ALL	? incl
	       : part == ROWTREE_ENDING ? t->ending[node]
					: incl - t->ending[node];
}

/* A place that may be drawn: kept until the weight of its function is known. */
static int count_place(struct rowtree *t, struct rowtree_place p, u32 func, u64 weight)
{
	struct rowtree_sum *s = &t->sums[func];
	if (!s->nr++) {
		u32 *f = vec_push(&t->touched);
		if (!f)
			return -ENOMEM;
		*f = func;
	}
	s->weight += weight;
	if (unlikely(!big_vec_reserve(&t->candidates, t->candidates.nr + 1)))
		return -ENOMEM;
	t->candidates.at[t->candidates.nr++] =
		(struct rowtree_candidate){ .place = p, .func = func };
	return 0;
}

/* A function of a node, if its samples count. */
static int count_node(struct rowtree *t, struct rowtree_place p)
{
	u64 weight = weight_at(t, p.node, p.part);
	return weight ? count_place(t, p, t->fold->funcs[t->fold->nodes[p.node].at + p.skip], weight)
		      : 0;
}

static int count_children(struct rowtree *t, u32 node, u32 part)
{
	const struct fold_node *nodes = t->fold->nodes;
	int err = 0;
	for (u32 c = node + 1, end = nodes[node].end; c < end && !err; c = nodes[c].end)
		err = count_node(t, (struct rowtree_place){ .node = c, .part = part });
	return err;
}

/* What follows: the next function of the node, or the nodes below it. */
static int count_next(struct rowtree *t, struct rowtree_place p)
{
	if (p.skip + 1 == t->fold->nodes[p.node].nr)
		return count_children(t, p.node, p.part);
	p.skip++;
	return count_node(t, p);
}

/* Heaviest first; of equal weight, by place in memory, so that the same recording always looks the same. */
static bool before(const struct rowtree *t, const struct rowtree_branch *l,
		   const struct rowtree_branch *r)
{
	const struct name_func *fl = &t->names->funcs[l->func], *fr = &t->names->funcs[r->func];
	if (l->weight != r->weight)
		return l->weight > r->weight;
	return fl->image != fr->image ? fl->image < fr->image : fl->start > fr->start;
}

static void sort_branches(const struct rowtree *t, struct rowtree_branch *b, size_t nr)
{
	/* Insertion: there are at most 100 / limit of them, and mostly two or three. */
	for (size_t i = 1; i < nr; i++) {
		struct rowtree_branch x = b[i];
		size_t at = i;
		for (; at > 0 && before(t, &x, &b[at - 1]); at--)
			b[at] = b[at - 1];
		b[at] = x;
	}
}

/* Room on the stacks for every branch that is heavy enough. Returns how many functions there are, light ones included. */
static s64 open_branches(struct rowtree *t)
{
	t->below = 0;
	vec_for_each (&t->touched, func)
		t->below += t->sums[*func].weight;
	u64 min_weight = t->share > 0 ? (u64)ceil((double)t->below * t->share) : t->min;
	vec_for_each (&t->touched, func) {
		struct rowtree_sum *s = &t->sums[*func];
		if (s->weight < min_weight)
			continue;
		struct rowtree_branch *b = vec_push(&t->branches);
		if (!b || !big_vec_reserve(&t->places, t->places.nr + s->nr))
			return -ENOMEM;
		*b = (struct rowtree_branch){ .func = *func,
					      .start = (u32)t->places.nr,
					      .weight = s->weight };
		t->places.nr += s->nr;
	}
	return (s64)t->touched.nr;
}

static void close_sums(struct rowtree *t)
{
	vec_for_each (&t->touched, func)
		t->sums[*func] = (struct rowtree_sum){ 0 };
	t->touched.nr = 0;
}

/*
 * Turns the candidates into new branches on top of the stack, heaviest first. Returns how many different functions there are, also
 * those too light to be drawn.
 */
static s64 take_candidates(struct rowtree *t)
{
	u32 base = (u32)t->branches.nr;
	s64 distinct = open_branches(t);
	for (u32 i = base; i < t->branches.nr && distinct >= 0; i++)
		t->sums[t->branches.at[i].func].at = i - base + 1;
	vec_for_each (&t->candidates, c) {
		u32 at = t->sums[c->func].at;
		if (!at || distinct < 0)
			continue;
		struct rowtree_branch *br = &t->branches.at[base + at - 1];
		t->places.at[br->start + br->nr++] = c->place;
	}
	t->candidates.nr = 0;
	close_sums(t);
	if (t->branches.nr > base)
		sort_branches(t, t->branches.at + base, t->branches.nr - base);
	return distinct;
}

/* Places are all over the tree: have their memory fetched some steps ahead. */
static void fetch_node(const struct rowtree *t, u32 node)
{
	__builtin_prefetch(&t->fold->nodes[node]);
	if (t->ending)
		__builtin_prefetch(&t->ending[node]);
}

static void fetch_func(const struct rowtree *t, u32 node, u32 skip)
{
	__builtin_prefetch(&t->fold->funcs[t->fold->nodes[node].at + skip]);
}

/* All that follows places [start, start + nr). */
static s64 expand(struct rowtree *t, u32 start, u32 nr)
{
	for (u32 i = start; i < start + nr; i++) {
		if (i + AHEAD < start + nr)
			fetch_node(t, t->places.at[i + AHEAD].node);
		if (i + NEAR < start + nr)
			fetch_func(t, t->places.at[i + NEAR].node, t->places.at[i + NEAR].skip + 1);
		int err = count_next(t, t->places.at[i]);
		if (err)
			return err;
	}
	return take_candidates(t);
}

/* ---- drawing ---- */

static const char *label_of(struct rowtree *t, u32 func)
{
	const struct name_func *f = &t->names->funcs[func];
	if (f->name)
		return name_label(f);
	char text[32], **own = vec_push(&t->own_labels);
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)f->start);
	return own ? *own = strdup(text) : NULL;
}

static int add_label(struct rowtree *t, struct tree *ret, u32 func)
{
	const char **label = vec_push(&ret->labels);
	if (!label)
		return -ENOMEM;
	*label = label_of(t, func);
	if (unlikely(ret->with_places)) {
		const struct name_func *f = &t->names->funcs[func];
		struct tree_place *place = vec_push(&ret->places);
		if (!place)
			return -ENOMEM;
		*place = (struct tree_place){
			.name = f->name, .func = func, .mode = f->mode, .inlined = f->inlined
		};
	}
	return *label ? 0 : -ENOMEM;
}

static int draw_branches(struct rowtree *t, u32 base, struct tree *ret, u32 parent);

/* The places of the only branch, from where those of its caller were: a long straight way holds two of its steps at a time, not all. */
static void move_places(struct rowtree *t, struct rowtree_branch *b, u32 to)
{
	memmove(&t->places.at[to], &t->places.at[b->start], b->nr * sizeof(*t->places.at));
	b->start = to;
	t->places.nr = to + b->nr;
}

/* One node: straight on while nothing ends and nothing else branches off; then its branches. */
static int draw(struct rowtree *t, struct rowtree_branch b, struct tree *ret)
{
	u32 made = (u32)ret->nodes.nr;
	struct tree_node *n = vec_push(&ret->nodes);
	if (!n)
		return -ENOMEM;
	*n = (struct tree_node){ .first_label = (u32)ret->labels.nr,
				 .first_child = TREE_NONE,
				 .next = TREE_NONE,
				 .total = b.weight,
				 .count = count_branch(t, &b, false) };
	u32 base = (u32)t->branches.nr, room = (u32)t->places.nr;
	for (;;) {
		int err = add_label(t, ret, b.func);
		s64 distinct = err ? err : expand(t, b.start, b.nr);
		if (distinct < 0)
			return (int)distinct;
		ret->nodes.at[made].nr_labels++;
		if (distinct != 1 || t->branches.nr == base ||
		    t->branches.at[base].weight != b.weight)
			break;
		b = t->branches.at[base];
		t->branches.nr = base;
		move_places(t, &b, room);
	}
	ret->nodes.at[made].self = b.weight - t->below;
	ret->nodes.at[made].self_count = count_branch(t, &b, true);
	return draw_branches(t, base, ret, made);
}

static int draw_branches(struct rowtree *t, u32 base, struct tree *ret, u32 parent)
{
	u32 before = TREE_NONE, top = (u32)t->places.nr, end = (u32)t->branches.nr;
	int err = 0;
	for (u32 i = base; i < end && !err; i++) {
		u32 made = (u32)ret->nodes.nr;
		err = draw(t, t->branches.at[i], ret);
		t->places.nr = top;
		t->branches.nr = end;
		if (before != TREE_NONE)
			ret->nodes.at[before].next = made;
		else if (parent != TREE_NONE)
			ret->nodes.at[parent].first_child = made;
		else
			ret->first_root = made;
		before = made;
	}
	return err;
}

static int first_places(struct rowtree *t, const struct rowtree_row *row)
{
	int err = count_children(t, row->root, row->own ? ROWTREE_ALL : ROWTREE_ENDING);
	for (u32 i = 0; i < row->nr_places && !err; i++) {
		if (i + AHEAD < row->nr_places)
			fetch_node(t, row->places[i + AHEAD].node);
		if (i + NEAR < row->nr_places)
			fetch_func(t, row->places[i + NEAR].node, row->places[i + NEAR].skip);
		struct rowtree_start at = row->places[i];
		err = count_node(t, (struct rowtree_place){ .node = at.node,
							    .skip = at.skip,
							    .part = ROWTREE_OTHER });
	}
	return err ? err : (int)min(take_candidates(t), (s64)0);
}

int rowtree_build(struct rowtree *t, const struct rowtree_row *row, struct tree *ret)
{
	drop_labels(t);
	tree_clear(ret);
	ret->total = row->total;
	t->places.nr = 0;
	t->branches.nr = 0;
	t->candidates.nr = 0;
	t->min = row->min;
	t->share = row->share;
	if (row->total < row->min)
		return 0; /* no branch can be heavier than the row */
	bool few = few_items(t, row);
	int err = row->own ? 0 : mark_ending(t, row, few);
	if (err)
		return err;
	if (!row->own)
		count_ending(t, row, true);
	err = first_places(t, row);
	t->first_func = !err && t->branches.nr ? t->branches.at[0].func : 0;
	if (!err)
		err = draw_branches(t, 0, ret, TREE_NONE);
	if (!row->own) {
		unmark_ending(t, row, few);
		count_ending(t, row, false);
	}
	return err;
}
