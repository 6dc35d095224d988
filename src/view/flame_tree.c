#include "view/flame_tree.h"

#include <errno.h>
#include <string.h>

/* What is still to be put below a box: a task's root or a node. */
struct flame_tree_pending {
	u32 node;
	u32 parent; /* box */
	u32 task; /* UINT32_MAX: a frame */
};

struct flame_tree_builder {
	const struct flame *f;
	struct flame_boxes *to;
	u64 *self, *total, *count;
	struct pendings {
		VEC(struct flame_tree_pending) list;
	} stack;
};

static const char *name_of(const struct flame_tree_builder *b, const struct flame_tree_pending *p)
{
	const struct flame *f = b->f;
	return p->task == UINT32_MAX ? flame_str(f, f->frames.at[f->nodes.at[p->node].frame].name)
				     : flame_str(f, f->tasks.at[p->task].comm);
}

/* Lightest first: the stack gives the last one out first. */
static int lighter(const void *l, const void *r, void *ctx)
{
	const struct flame_tree_builder *b = ctx;
	const struct flame_tree_pending *p = l, *q = r;
	u64 wp = b->total[p->node], wq = b->total[q->node];
	if (wp != wq)
		return wp < wq ? -1 : 1;
	int c = strcmp(name_of(b, q), name_of(b, p));
	return c ? c : (p->node < q->node) - (p->node > q->node);
}

static int push(struct flame_tree_builder *b, u32 node, u32 parent, u32 task)
{
	struct flame_tree_pending *p = vec_push(&b->stack.list);
	if (!p)
		return -ENOMEM;
	*p = (struct flame_tree_pending){ .node = node, .parent = parent, .task = task };
	return 0;
}

static void sort_from(struct flame_tree_builder *b, size_t base)
{
	size_t nr = b->stack.list.nr - base;
	if (nr > 1)
		qsort_r(b->stack.list.at + base, nr, sizeof(struct flame_tree_pending), lighter, b);
}

static int put_box(struct flame_tree_builder *b, const struct flame_tree_pending *p)
{
	const struct flame *f = b->f;
	struct flame_box *box = vec_push(&b->to->list);
	if (!box)
		return -ENOMEM;
	u32 own = (u32)b->to->list.nr - 1;
	bool task = p->task != UINT32_MAX;
	const struct flame_frame *fr = &f->frames.at[f->nodes.at[p->node].frame];
	*box = (struct flame_box){ .parent = p->parent,
				   .depth = b->to->list.at[p->parent].depth + 1,
				   .name = name_of(b, p),
				   .module = task ? "" : flame_str(f, fr->module),
				   .kind = task ? FLAME_MARK : fr->kind,
				   .self = b->self[p->node],
				   .total = b->total[p->node],
				   .count = b->count[p->node] };
	size_t base = b->stack.list.nr;
	int err = 0;
	for (u32 c = p->node + 1; c < f->nodes.at[p->node].end && !err; c = f->nodes.at[c].end)
		err = push(b, c, own, UINT32_MAX);
	sort_from(b, base);
	return err;
}

/* The first event with samples, as on the page. */
static u32 main_event(const struct flame_tree_builder *b)
{
	u32 first = UINT32_MAX;
	vec_for_each (&b->f->trees, t)
		if (b->total[t->root])
			first = min(first, t->event);
	return first == UINT32_MAX ? 0 : first;
}

static int build(struct flame_tree_builder *b)
{
	struct flame_box *all = vec_push(&b->to->list);
	int err = all && b->self && b->total && b->count ? 0 : -ENOMEM;
	if (!err) {
		flame_sum(b->f, b->total);
		flame_sum(b->f, b->count);
		*all = (struct flame_box){ .name = "all", .module = "", .kind = FLAME_MARK };
		b->to->event = main_event(b);
	}
	for (u32 t = 0; t < b->f->trees.nr && !err; t++) {
		const struct flame_tree *tree = &b->f->trees.at[t];
		if (tree->event != b->to->event)
			continue;
		all->total = u64_sum(all->total, b->total[tree->root]);
		all->count += b->count[tree->root];
		err = push(b, tree->root, 0, tree->task);
	}
	sort_from(b, 0);
	while (b->stack.list.nr && !err) {
		struct flame_tree_pending p = b->stack.list.at[--b->stack.list.nr];
		err = put_box(b, &p);
	}
	struct flame_box *boxes = b->to->list.at;
	for (size_t i = b->to->list.nr; i-- > 0 && !err;) {
		boxes[i].end = max(boxes[i].end, (u32)i + 1);
		boxes[boxes[i].parent].end = max(boxes[boxes[i].parent].end, boxes[i].end);
	}
	return err;
}

int flame_tree(const struct flame *f, struct flame_boxes *ret)
{
	*ret = (struct flame_boxes){ 0 };
	struct flame_tree_builder b = { .f = f,
					.to = ret,
					.self = flame_self(f, UINT32_MAX),
					.total = flame_self(f, UINT32_MAX),
					.count = flame_counts(f) };
	int err = build(&b);
	vec_free(&b.stack.list);
	free(b.self);
	free(b.total);
	free(b.count);
	return err;
}
