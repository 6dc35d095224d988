/*
 *	rq.rt.active    bitmap | queue[100] of sched_rt_entity.run_list       in task_struct: rt
 *	rq.cfs          tasks_timeline of sched_entity.run_node               in task_struct: se; with my_q: a group's own tree
 */
#include "memory/krunq.h"

#include "memory/eval.h"

#include <errno.h>

enum { PRIORITIES = 100, GROUPS_DEEP = 32, TASKS_MAX = 1 << 17 };

int krunqs_open(struct krunqs *r, struct kspace *k)
{
	struct memory *m;
	*r = (struct krunqs){ .k = k };
	const struct eval_offset rows[] = {
		{ "rq", "cpu", &r->at.cpu },
		{ "rq", "curr", &r->at.curr },
		{ "rq", "nr_running", &r->at.nr_running },
		{ "rq", "rt.active", &r->at.rt },
		{ "rq", "cfs", &r->at.cfs },
		{ "rt_prio_array", "bitmap", &r->at.bitmap },
		{ "rt_prio_array", "queue", &r->at.queue },
		{ "sched_rt_entity", "run_list", &r->at.run_list },
		{ "task_struct", "rt", &r->at.rt_task },
		{ "sched_entity", "run_node", &r->at.run_node },
		{ "sched_entity", "my_q", &r->at.my_q, true },
		{ "task_struct", "se", &r->at.fair_task },
		{ "cfs_rq", "tasks_timeline.rb_root", &r->at.tree },
		{ "cfs_rq", "curr", &r->at.group_curr, true },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = kspace_memory(k, &m);
	return err ? err : kspace_global(k, "runqueues", &r->global);
}

int krunqs_read(struct krunqs *r, u32 cpu, struct krunq *ret)
{
	struct krunq q = { .cpu = cpu };
	struct diag quiet, *diag = r->k->diag;
	u32 number;
	diag_init(&quiet);
	r->k->diag = &quiet; /* an offline CPU has no copy that could be found */
	int err = kspace_per_cpu(r->k, &r->global, cpu, &q.addr);
	r->k->diag = diag;
	diag_done(&quiet);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	struct memory_piece pieces[] = {
		{ .addr = q.addr + r->at.cpu, .to = &number, .size = sizeof(number) },
		{ .addr = q.addr + r->at.curr, .to = &q.current, .size = sizeof(q.current) },
		{ .addr = q.addr + r->at.nr_running, .to = &q.nr_running, .size = sizeof(u32) },
	};
	err = memory_read_pieces(r->k->memory, pieces, ARRAY_SIZE(pieces));
	for (size_t n = 0; !err && n < ARRAY_SIZE(pieces); n++)
		err = pieces[n].err;
	if (err || number != cpu || !q.current)
		return err && err != -EFAULT ? err : -ENOENT;
	q.rt = q.addr + r->at.rt;
	q.cfs = q.addr + r->at.cfs + r->at.tree;
	*ret = q;
	return 0;
}

struct queue_walk {
	struct krunqs *r;
	krunq_fn fn;
	void *ctx;
	u64 nr;
	u32 nr_groups;
	unsigned depth;
	struct walk_result *ret;
	bool enough;
};

static int tell(struct queue_walk *w, u64 task)
{
	if (w->nr++ == TASKS_MAX) {
		w->ret->end = WALK_STOPPED;
		w->enough = true;
		return 1;
	}
	int rc = w->fn(w->ctx, task);
	w->enough |= rc > 0;
	return rc;
}

/* What went wrong deep in a group counts for all. */
static int queue_end(struct queue_walk *w, int rc, const struct walk_result *part)
{
	if (rc >= 0 && part->end != WALK_ENDED && !w->enough && w->ret->end == WALK_ENDED)
		*w->ret = *part;
	return rc < 0 ? rc : w->enough;
}

static int fair_tree(struct queue_walk *w, u64 root);

static int each_entity(void *ctx, const struct walk_node *node)
{
	struct queue_walk *w = ctx;
	u64 my_q = 0;
	if (w->r->at.my_q != EVAL_NO_OFFSET &&
	    memory_read(w->r->k->memory, node->addr + w->r->at.my_q, &my_q, sizeof(my_q)))
		return 0;
	return my_q ? fair_tree(w, my_q + w->r->at.tree) : tell(w, node->addr - w->r->at.fair_task);
}

/* The group of the task that runs is not in the tree that it was taken from; its other tasks wait all the same. */
static int current_group(struct queue_walk *w, u64 root)
{
	struct memory *m = w->r->k->memory;
	u64 curr = 0, my_q = 0;
	if (w->r->at.my_q == EVAL_NO_OFFSET || w->r->at.group_curr == EVAL_NO_OFFSET ||
	    memory_read(m, root - w->r->at.tree + w->r->at.group_curr, &curr, sizeof(curr)) ||
	    !curr || memory_read(m, curr + w->r->at.my_q, &my_q, sizeof(my_q)) || !my_q)
		return 0;
	return fair_tree(w, my_q + w->r->at.tree);
}

static int fair_tree(struct queue_walk *w, u64 root)
{
	struct walk_result part;
	const struct walk_tree tree = { .kind = WALK_RBTREE,
					.root = root,
					.offset = w->r->at.run_node };
	/* Groups of a damaged dump that hold each other, and no task, would be walked for ever. */
	w->enough |= w->nr_groups++ == TASKS_MAX;
	if (w->depth == GROUPS_DEEP || w->enough) {
		w->ret->end = WALK_DEEP;
		return w->enough;
	}
	w->depth++;
	int rc = current_group(w, root);
	if (!rc)
		rc = walk_tree(w->r->k, &tree, each_entity, w, &part);
	else
		part.end = WALK_ENDED;
	w->depth--;
	return queue_end(w, rc, &part);
}

static int each_rt_entity(void *ctx, const struct walk_node *node)
{
	struct queue_walk *w = ctx;
	return tell(w, node->addr - w->r->at.rt_task);
}

static int rt_queues(struct queue_walk *w, u64 array)
{
	enum { HEAD = 16, WORD = 64 };
	u64 bitmap[(PRIORITIES + WORD - 1) / WORD];
	int err = memory_read(w->r->k->memory, array + w->r->at.bitmap, bitmap, sizeof(bitmap));
	for (u32 n = 0; !err && n < PRIORITIES; n++) {
		struct walk_result part;
		struct walk_list list = { .kind = WALK_LIST_HEAD, .offset = w->r->at.run_list };
		if (!(bitmap[n / WORD] >> n % WORD & 1))
			continue;
		list.start = array + w->r->at.queue + (u64)n * HEAD;
		err = queue_end(w, walk_list(w->r->k, &list, each_rt_entity, w, &part), &part);
	}
	return err;
}

int krunqs_each(struct krunqs *r, const struct krunq *q, enum krunq_class class, krunq_fn fn,
		void *ctx, struct walk_result *ret)
{
	struct queue_walk w = { .r = r, .fn = fn, .ctx = ctx, .ret = ret };
	*ret = (struct walk_result){ .end = WALK_ENDED };
	int rc = class == KRUNQ_RT ? rt_queues(&w, q->rt) : fair_tree(&w, q->cfs);
	ret->nr = w.nr;
	return rc < 0 ? rc : 0;
}
