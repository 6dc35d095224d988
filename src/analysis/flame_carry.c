/*
 * A flame's stacks in a new generation of ids (model/source.h). Where there are too many of them, light ones lose their inner frames: a
 * stack is cut where those that share its callers so far are too light together.
 *
 *	main;a;b;c   90            main;a;b;c               90
 *	main;a;d;x    2     ─►     main;a;[light stacks]     5
 *	main;a;e;y    3
 *
 * What they weigh stays, below the callers that they have in common, and so do their points in time.
 */
#include "analysis/flame_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_STACKS = 1 << 18, KEPT_TASKS = 1 << 15, DEPTH_MAX = 1024 };

/* ---- tasks ---- */

struct weighed_task {
	u64 weight;
	u32 task;
};

static int by_weight(const void *l, const void *r)
{
	const struct weighed_task *a = l, *b = r;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->task > b->task) - (a->task < b->task);
}

/* By what fell on them, heaviest first. */
static struct weighed_task *weigh_tasks(const struct flame_stacks *s)
{
	struct weighed_task *w = malloc((s->tasks.nr + 1) * sizeof(*w));
	if (!w)
		return NULL;
	for (size_t i = 0; i < s->tasks.nr; i++)
		w[i] = (struct weighed_task){ .task = (u32)i };
	for (size_t i = 0; i < s->points.nr; i++)
		w[s->entries.at[s->points.at[i].node].task].weight += s->points.at[i].period;
	qsort(w, s->tasks.nr, sizeof(*w), by_weight);
	return w;
}

/* Where there are many, light ones are told apart by their names only. *ret: [task] -> new one. */
static int carry_tasks(const struct flame_stacks *s, struct flame_stacks *to, struct carry *c,
		       u32 *ret)
{
	_cleanup_free_ struct weighed_task *w = weigh_tasks(s);
	int err = w ? 0 : -ENOMEM;
	for (size_t i = 0; i < s->tasks.nr && !err; i++) {
		const struct flame_seen_task *t = &s->tasks.at[w[i].task];
		bool light = i >= KEPT_TASKS;
		s64 comm = light && COMM_IS_UNNAMED(t->comm) ? (s64)COMM_UNNAMED(0)
							     : carry_string(c, t->comm);
		s64 task = comm < 0 ? comm
				    : flame_task_at(to, light ? 0 : t->pid, light ? 0 : t->tid,
						    (u32)comm);
		err = (int)min(task, (s64)0);
		ret[w[i].task] = (u32)task;
	}
	return err;
}

/* ---- stacks ---- */

struct cut_stack {
	u64 weight;
	const u32 *row; /* frames, outermost first */
	u32 nr;
	u32 entry, event, task; /* task: the new one */
	u32 keep; /* so many frames; less than nr: it is cut */
};

struct cutting {
	struct cut_stack *stacks;
	size_t nr;
	u64 least; /* what weighs less is cut */
	u64 nr_stacks, nr_frames; /* that are left */
};

static int compare_rows(const struct cut_stack *a, const struct cut_stack *b)
{
	u32 nr = min(a->nr, b->nr), i = 0;
	while (i < nr && a->row[i] == b->row[i])
		i++;
	if (i < nr)
		return a->row[i] < b->row[i] ? -1 : 1;
	return (a->nr > b->nr) - (a->nr < b->nr);
}

static int by_place(const void *l, const void *r)
{
	const struct cut_stack *a = l, *b = r;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return compare_rows(a, b);
}

/* All stacks, so that those that share callers are neighbours. 0 or -ENOMEM. */
static int find_stacks(const struct flame_stacks *s, const struct carry *c, const u32 *task_map,
		       struct cutting *w)
{
	w->nr = s->entries.nr;
	w->stacks = calloc(w->nr + 1, sizeof(*w->stacks));
	if (!w->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < w->nr; i++) {
		const struct flame_entry *e = &s->entries.at[i];
		struct cut_stack *to = &w->stacks[i];
		*to = (struct cut_stack){ .row = &e->leaf,
					  .nr = 1,
					  .entry = (u32)i,
					  .event = e->event,
					  .task = task_map[e->task] };
		if (e->chain)
			to->row = chain_frames(&c->old->chains, e->chain, &to->nr);
		w->nr_frames += to->keep = to->nr;
	}
	w->nr_stacks = w->nr;
	for (size_t i = 0; i < s->points.nr; i++)
		w->stacks[s->points.at[i].node].weight += s->points.at[i].period;
	qsort(w->stacks, w->nr, sizeof(*w->stacks), by_place);
	return 0;
}

static void keep_stack(struct cutting *w, struct cut_stack *s)
{
	s->keep = s->nr;
	w->nr_stacks++;
	w->nr_frames += s->nr;
}

static void cut_stacks(struct cutting *w, size_t from, size_t to, u32 depth)
{
	for (size_t i = from; i < to; i++)
		w->stacks[i].keep = depth;
	w->nr_stacks++;
	w->nr_frames += depth + 1;
}

/* Those that are alike up to a depth: what goes on below together, and is heavy enough, stays. */
static void cut_below(struct cutting *w, size_t from, size_t to, u32 depth)
{
	while (from < to) {
		struct cut_stack *s = &w->stacks[from];
		if (s->nr <= depth) {
			keep_stack(w, s);
			from++;
			continue;
		}
		size_t end = from;
		u64 weight = 0;
		for (; end < to && w->stacks[end].row[depth] == s->row[depth]; end++)
			weight += w->stacks[end].weight;
		if (weight < w->least || depth >= DEPTH_MAX)
			cut_stacks(w, from, end, depth);
		else if (end == from + 1)
			keep_stack(w, s);
		else
			cut_below(w, from, end, depth + 1);
		from = end;
	}
}

/* Weights of different events cannot be compared: each has its share. */
static void cut_event(struct cutting *w, size_t from, size_t to, u64 share)
{
	u64 weight = 0;
	for (size_t i = from; i < to; i++)
		weight += w->stacks[i].weight;
	w->least = weight / share + 1;
	for (size_t end; from < to; from = end) {
		for (end = from; end < to && w->stacks[end].task == w->stacks[from].task; end++)
			;
		cut_below(w, from, end, 0);
	}
}

static u64 count_events(const struct cutting *w)
{
	u64 nr = 0;
	for (size_t i = 0; i < w->nr; i++)
		nr += !i || w->stacks[i].event != w->stacks[i - 1].event;
	return nr;
}

/* Until they fit. */
static void cut_all(struct cutting *w, u64 room, u64 room_frames)
{
	u64 share = room / max(count_events(w), (u64)1);
	for (; share && (w->nr_stacks > room || w->nr_frames > room_frames); share /= 2) {
		w->nr_stacks = w->nr_frames = 0;
		for (size_t from = 0, end; from < w->nr; from = end) {
			for (end = from; end < w->nr; end++)
				if (w->stacks[end].event != w->stacks[from].event)
					break;
			cut_event(w, from, end, share);
		}
	}
}

static s64 carry_stack(const struct flame_entry *e, const struct cut_stack *s, struct carry *c,
		       struct flame_stacks *to)
{
	static const struct frame joined = { .mode = FRAME_MARK, .offset = MARK_JOINED };
	bool cut = s->keep < s->nr;
	s64 chain = cut ? carry_cut_chain(c, e->chain, s->keep, joined) : carry_chain(c, e->chain);
	s64 leaf = chain ? FRAME_NONE : carry_frame(c, e->leaf);
	if (chain < 0 || leaf < 0)
		return -ENOMEM;
	return flame_entry_at(to, s->event, s->task, (u32)leaf, (u32)chain);
}

static int carry_stacks(struct flame_stacks *s, struct flame_stacks *to, struct carry *c,
			const u32 *task_map)
{
	struct cutting w = { 0 };
	u32 *entry_map = malloc((s->entries.nr + 1) * sizeof(*entry_map));
	int err = entry_map ? find_stacks(s, c, task_map, &w) : -ENOMEM;
	if (!err)
		cut_all(&w, min((u64)c->room_chains, (u64)KEPT_STACKS), c->room_pool);
	for (size_t i = 0; i < w.nr && !err; i++) {
		u32 from = w.stacks[i].entry;
		s64 entry = carry_stack(&s->entries.at[from], &w.stacks[i], c, to);
		err = (int)min(entry, (s64)0);
		entry_map[from] = (u32)entry;
	}
	for (size_t i = 0; i < s->points.nr && !err; i++)
		s->points.at[i].node = entry_map[s->points.at[i].node];
	free(w.stacks);
	free(entry_map);
	return err;
}

int flame_carry(struct sink *k, struct carry *c)
{
	struct flame_stacks *s = &container_of(k, struct flame_sink, sink)->all, fresh = { 0 };
	_cleanup_free_ u32 *task_map = calloc(s->tasks.nr + 1, sizeof(*task_map));
	int err = task_map ? carry_tasks(s, &fresh, c, task_map) : -ENOMEM;
	if (!err)
		err = carry_stacks(s, &fresh, c, task_map);
	if (err) {
		flame_stacks_done(&fresh);
		return err;
	}
	/* Points and what is known of their times stay where they are. */
	memcpy(&fresh.points, &s->points, sizeof(fresh.points));
	memset(&s->points, 0, sizeof(s->points));
	fresh.shift = s->shift;
	fresh.join_at = s->join_at;
	flame_stacks_done(s);
	*s = fresh;
	return 0;
}
