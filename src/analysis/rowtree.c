#include "analysis/rowtree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void rowtree_init(struct rowtree *t, const struct fold *f, const struct names_result *names, const u32 *key_of)
{
	*t = (struct rowtree){ .fold = f, .names = names, .key_of = key_of };
	dict_init(&t->children);
	dict_init(&t->minus);
}

static void drop_labels(struct rowtree *t)
{
	vec_for_each(&t->own_labels, l) free(*l);
	t->own_labels.nr = 0;
}

void rowtree_done(struct rowtree *t)
{
	drop_labels(t);
	vec_free(&t->own_labels);
	vec_free(&t->nodes);
	vec_free(&t->places);
	vec_free(&t->queue);
	vec_free(&t->path);
	vec_free(&t->minuses);
	vec_free(&t->order);
	dict_done(&t->children);
	dict_done(&t->minus);
}

static s64 child_of(struct rowtree *t, u32 parent, u32 func)
{
	u32 got, fresh = (u32)t->nodes.nr;
	int err = dict_add(&t->children, (u64)parent << 32 | func, fresh, &got);
	if (err || got != fresh)
		return err ? err : got;
	struct rowtree_node *n = vec_push(&t->nodes);
	if (!n)
		return -ENOMEM;
	struct rowtree_node *p = &t->nodes.at[parent];
	n->func = func;
	n->next = p->first;
	p->first = fresh;
	p->nr_children++;
	return fresh;
}

static int add_step(struct rowtree *t, u32 *at, u32 func, u64 weight)
{
	s64 child = child_of(t, *at, func);
	if (child < 0)
		return (int)child;
	t->nodes.at[child].total += weight;
	*at = (u32)child;
	return 0;
}

/* The whole chain of an end. Climbing gives it from the inside out; from_root needs it the other way round. */
static int add_end(struct rowtree *t, const struct fold_end *e, bool from_root)
{
	u32 at = 0;
	int err = 0;
	t->path.nr = 0;
	for (u32 n = e->node; t->fold->nodes.at[n].parent; n = t->fold->nodes.at[n].parent) {
		if (!from_root) {
			err = add_step(t, &at, t->fold->nodes.at[n].func, e->period);
		} else {
			u32 *step = vec_push(&t->path);
			err = step ? 0 : -ENOMEM;
			if (step)
				*step = t->fold->nodes.at[n].func;
		}
		if (err)
			return err;
	}
	for (size_t i = t->path.nr; i-- > 0 && !err;)
		err = add_step(t, &at, t->path.at[i], e->period);
	return err;
}

/*
 * A sample that ends in the row's function was added with its whole chain already; where the function also is further out on the
 * same path, the sample must not count a second time. Notes its weight against every node from its end up to that place.
 */
static int subtract_end(struct rowtree *t, const struct fold_end *e, u32 key)
{
	u32 top = 0;
	for (u32 n = e->node; t->fold->nodes.at[n].parent; n = t->fold->nodes.at[n].parent)
		if (t->key_of[t->fold->nodes.at[n].func] == key)
			top = n;
	if (!top)
		return 0;
	for (u32 n = e->node;; n = t->fold->nodes.at[n].parent) {
		u32 got, fresh = (u32)t->minuses.nr;
		int err = dict_add(&t->minus, n, fresh, &got);
		if (err)
			return err;
		if (got == fresh && !vec_push(&t->minuses))
			return -ENOMEM;
		t->minuses.at[got] += e->period;
		if (n == top)
			return 0;
	}
}

static u64 weight_of(const struct rowtree *t, u32 fold_node)
{
	u64 w = t->fold->nodes.at[fold_node].incl;
	u32 minus = t->minuses.nr ? dict_get(&t->minus, fold_node) : DICT_NONE;
	return minus == DICT_NONE ? w : w - min(w, t->minuses.at[minus]);
}

/* Puts a fold node under a parent of ours, together with others of the same function. */
static int add_place(struct rowtree *t, u32 parent, u32 fold_node)
{
	u64 weight = weight_of(t, fold_node);
	if (!weight)
		return 0;
	s64 child = child_of(t, parent, t->fold->nodes.at[fold_node].func);
	if (child < 0)
		return (int)child;
	struct rowtree_place *p = vec_push(&t->places);
	if (!p)
		return -ENOMEM;
	struct rowtree_node *n = &t->nodes.at[child];
	*p = (struct rowtree_place){ .node = fold_node, .next = n->places };
	n->places = (u32)t->places.nr;
	n->total += weight;
	if (n->queued)
		return 0;
	n->queued = true;
	u32 *q = vec_push(&t->queue);
	if (!q)
		return -ENOMEM;
	*q = (u32)child;
	return 0;
}

/* Level by level: when a node is taken from the queue, all places that belong to it are there. */
static int add_below(struct rowtree *t, u64 min_weight)
{
	for (size_t i = 0; i < t->queue.nr; i++) {
		u32 at = t->queue.at[i];
		if (t->nodes.at[at].total < min_weight)
			continue;
		for (u32 p = t->nodes.at[at].places; p; p = t->places.at[p - 1].next) {
			u32 node = t->places.at[p - 1].node;
			for (u32 c = t->fold->nodes.at[node].first; c; c = t->fold->nodes.at[c].next) {
				int err = add_place(t, at, c);
				if (err)
					return err;
			}
		}
	}
	return 0;
}

static const char *label_of(struct rowtree *t, u32 func)
{
	const struct name_func *f = &t->names->funcs[func];
	if (f->name)
		return f->name;
	char **own = vec_push(&t->own_labels);
	if (!own || asprintf(own, "%#llx", (unsigned long long)f->start) < 0)
		return NULL;
	return *own;
}


/* Children of one node that are heavy enough, heaviest first, appended to t->order. */
static int sorted_children(struct rowtree *t, u32 node, u64 min_weight)
{
	size_t start = t->order.nr;
	for (u32 c = t->nodes.at[node].first; c; c = t->nodes.at[c].next) {
		if (t->nodes.at[c].total < min_weight)
			continue;
		u32 *o = vec_push(&t->order);
		if (!o)
			return -ENOMEM;
		/* Insertion: there are at most 100 / limit of them, and mostly two or three. */
		size_t at = t->order.nr - 1;
		while (at > start) {
			const struct rowtree_node *l = &t->nodes.at[t->order.at[at - 1]], *r = &t->nodes.at[c];
			if (l->total > r->total || (l->total == r->total && l->func < r->func))
				break;
			t->order.at[at] = t->order.at[at - 1];
			at--;
		}
		t->order.at[at] = c;
	}
	return 0;
}

/* One node of the drawing: straight on while nothing ends and nothing else branches off. Returns the last of the run. */
static int emit_node(struct rowtree *t, u32 node, struct tree *ret, u32 *last)
{
	struct tree_node *out = vec_push(&ret->nodes);
	if (!out)
		return -ENOMEM;
	*out = (struct tree_node){ .first_label = (u32)ret->labels.nr, .first_child = TREE_NONE, .next = TREE_NONE };
	out->total = t->nodes.at[node].total;
	for (;;) {
		const char **label = vec_push(&ret->labels);
		if (!label)
			return -ENOMEM;
		*label = label_of(t, t->nodes.at[node].func);
		if (!*label)
			return -ENOMEM;
		out->nr_labels++;
		u32 only = t->nodes.at[node].first;
		if (t->nodes.at[node].nr_children != 1 || t->nodes.at[only].total != t->nodes.at[node].total)
			break;
		node = only;
	}
	*last = node;
	return 0;
}

static void link_node(struct tree *ret, u32 parent, u32 before, u32 made)
{
	if (before != TREE_NONE)
		ret->nodes.at[before].next = made;
	else if (parent == TREE_NONE)
		ret->first_root = made;
	else
		ret->nodes.at[parent].first_child = made;
}

/* The drawn children of one node. The queue receives (our node, drawn node) for each, so that all below follows level by level. */
static int emit_children(struct rowtree *t, u32 node, u32 parent, struct tree *ret, u64 min_weight)
{
	u32 before = TREE_NONE;
	t->order.nr = 0;
	int err = sorted_children(t, node, min_weight);
	for (size_t k = 0; k < t->order.nr && !err; k++) {
		u32 last, made = (u32)ret->nodes.nr;
		err = emit_node(t, t->order.at[k], ret, &last);
		if (err || !vec_reserve(&t->queue, t->queue.nr + 2))
			return err ? err : -ENOMEM;
		t->queue.at[t->queue.nr++] = last;
		t->queue.at[t->queue.nr++] = made;
		link_node(ret, parent, before, made);
		before = made;
	}
	return err;
}

static int emit(struct rowtree *t, struct tree *ret, u64 min_weight)
{
	t->queue.nr = 0;
	int err = emit_children(t, 0, TREE_NONE, ret, min_weight);
	for (size_t i = 0; i < t->queue.nr && !err; i += 2)
		err = emit_children(t, t->queue.at[i], t->queue.at[i + 1], ret, min_weight);
	return err;
}

static void restart(struct rowtree *t)
{
	drop_labels(t);
	t->nodes.nr = 0;
	t->places.nr = 0;
	t->queue.nr = 0;
	t->minuses.nr = 0;
	dict_done(&t->children);
	dict_done(&t->minus);
}

int rowtree_build(struct rowtree *t, const struct rowtree_row *row, struct tree *ret)
{
	restart(t);
	tree_clear(ret);
	if (!vec_push(&t->nodes))
		return -ENOMEM;
	int err = 0;
	for (u32 e = row->first_end; e && !err; e = t->fold->ends.at[e - 1].next_in_row) {
		err = add_end(t, &t->fold->ends.at[e - 1], row->from_root);
		if (!err && row->first_place)
			err = subtract_end(t, &t->fold->ends.at[e - 1], row->key);
	}
	for (u32 p = row->first_place; p && !err; p = row->next_place[p])
		err = add_place(t, 0, p);
	if (!err)
		err = add_below(t, row->min);
	if (!err)
		err = emit(t, ret, row->min);
	ret->total = row->total;
	return err;
}
