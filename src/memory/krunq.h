/* Run queues: what each CPU runs, and which tasks are ready to run there, as the scheduler's own queues have them. */
#pragma once

#include "memory/ktasks.h"

enum krunq_class { KRUNQ_RT, KRUNQ_CFS };

struct krunq {
	u32 cpu;
	u64 addr; /* of the CPU's struct rq */
	u64 current; /* task_struct that runs */
	u64 rt, cfs; /* of the RT queues, and of the tree of the fair class */
	u32 nr_running; /* as the queue counts them, the current one among them */
};

struct krunqs {
	struct kspace *k;
	struct {
		u64 cpu, curr, nr_running, rt, cfs; /* in rq; rt, cfs: the queues themselves */
		u64 bitmap, queue; /* in rt_prio_array */
		u64 run_list, rt_task; /* in sched_rt_entity, and that in task_struct */
		u64 run_node, my_q, fair_task; /* in sched_entity, and that in task_struct */
		u64 tree, group_curr; /* in cfs_rq */
	} at;
	struct kspace_global global;
};

/* -ENOENT with a diag. */
int krunqs_open(struct krunqs *r, struct kspace *k) must_check;
/* One CPU's. -ENOENT: it is offline. */
int krunqs_read(struct krunqs *r, u32 cpu, struct krunq *ret) must_check;
/*
 * Tasks that wait in a CPU's queues of a class, in the order of the queue; those of groups in place of their group. The one that runs is
 * in the RT queues, but not in the fair class's tree. The queue changes while it is read: *ret says how the walk ended.
 */
typedef int (*krunq_fn)(void *ctx, u64 task);
int krunqs_each(struct krunqs *r, const struct krunq *q, enum krunq_class class, krunq_fn fn,
		void *ctx, struct walk_result *ret) must_check;
