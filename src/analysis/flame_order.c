/*
 * Frames, tasks, trees and strings of a flame are numbered as workers came upon them. Before folding they are numbered by what they are, so
 * that the same recording gives the same bytes however its samples were shared out, and stacks stand in the order of their names.
 */
#include "analysis/flame_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_texts(const struct flame *f, u32 a, u32 b)
{
	return a == b ? 0 : strcmp(flame_str(f, a), flame_str(f, b));
}

static int compare_frames(const void *l, const void *r, void *ctx)
{
	const struct flame *f = ctx;
	const struct flame_frame *a = &f->frames.at[*(const u32 *)l];
	const struct flame_frame *b = &f->frames.at[*(const u32 *)r];
	int c = compare_texts(f, a->name, b->name);
	if (!c)
		c = compare_texts(f, a->module, b->module);
	return c ? c : (int)a->kind - (int)b->kind;
}

static int compare_tasks(const void *l, const void *r, void *ctx)
{
	const struct flame *f = ctx;
	const struct flame_task *a = &f->tasks.at[*(const u32 *)l];
	const struct flame_task *b = &f->tasks.at[*(const u32 *)r];
	int c = compare_texts(f, a->comm, b->comm);
	if (!c)
		c = (a->pid > b->pid) - (a->pid < b->pid);
	return c ? c : (a->tid > b->tid) - (a->tid < b->tid);
}

static int compare_trees(const void *l, const void *r, void *ctx)
{
	const struct flame *f = ctx;
	const struct flame_tree *a = &f->trees.at[*(const u32 *)l];
	const struct flame_tree *b = &f->trees.at[*(const u32 *)r];
	int c = (a->event > b->event) - (a->event < b->event);
	return c ? c : (a->task > b->task) - (a->task < b->task);
}

/* Puts the elements of at[] from `first` on into order; rank[old] tells where each one went. The caller frees rank. */
static int sort_array(void *at, size_t size, size_t nr, size_t first,
		      int (*compare)(const void *, const void *, void *), struct flame *f,
		      u32 **rank)
{
	*rank = malloc((nr + 1) * sizeof(**rank));
	_cleanup_free_ u32 *order = malloc((nr + 1) * sizeof(*order));
	_cleanup_free_ char *was = malloc(nr * size + 1);
	if (!*rank || !order || !was)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		order[i] = (u32)i;
	if (nr > first)
		qsort_r(order + first, nr - first, sizeof(*order), compare, f);
	if (nr)
		memcpy(was, at, nr * size);
	for (size_t i = 0; i < nr; i++) {
		memcpy((char *)at + i * size, was + order[i] * size, size);
		(*rank)[order[i]] = (u32)i;
	}
	return 0;
}

static void move_string(struct strtab *to, const struct flame *f, u32 *id, int *err)
{
	const char *text = flame_str(f, *id);
	s64 got = *err ? *err : strtab_add(to, text, strlen(text));
	if (got < 0)
		*err = (int)got;
	else
		*id = (u32)got;
}

/* Strings in the order in which the flame's parts name them. */
static int order_strings(struct flame *f)
{
	struct strtab to;
	strtab_init(&to);
	int err = 0;
	for (u32 i = 0; i < f->nr_sides; i++) {
		struct flame_side *s = &f->sides[i];
		u32 *ids[] = { &s->path, &s->host, &s->release, &s->arch, &s->cpu, &s->command };
		for (size_t k = 0; k < ARRAY_SIZE(ids); k++)
			move_string(&to, f, ids[k], &err);
	}
	vec_for_each (&f->events, e)
		move_string(&to, f, e, &err);
	vec_for_each (&f->tasks, t)
		move_string(&to, f, &t->comm, &err);
	vec_for_each (&f->frames, fr) {
		move_string(&to, f, &fr->name, &err);
		move_string(&to, f, &fr->module, &err);
		move_string(&to, f, &fr->file, &err);
	}
	strtab_done(err ? &to : &f->strings);
	if (!err)
		f->strings = to;
	return err;
}

int flame_order(struct flame_build *b)
{
	struct flame *f = b->flame;
	_cleanup_free_ u32 *frame_rank = NULL, *task_rank = NULL, *tree_rank = NULL;
	int err = sort_array(f->frames.at, sizeof(*f->frames.at), f->frames.nr, 1, compare_frames,
			     f, &frame_rank);
	if (!err)
		err = sort_array(f->tasks.at, sizeof(*f->tasks.at), f->tasks.nr, 0, compare_tasks,
				 f, &task_rank);
	if (err)
		return err;
	vec_for_each (&f->trees, t)
		t->task = task_rank[t->task];
	err = sort_array(f->trees.at, sizeof(*f->trees.at), f->trees.nr, 0, compare_trees, f,
			 &tree_rank);
	if (err)
		return err;
	vec_for_each (&b->frame_of, frame)
		*frame = frame_rank[*frame];
	vec_for_each (&b->items, it)
		it->tree = tree_rank[it->tree];
	return order_strings(f);
}
