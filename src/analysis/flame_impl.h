/* Shared by the parts of analysis/flame. */
#pragma once

#include "analysis/flame.h"

#include <stdatomic.h>

/* Samples that share event, task, stack. */
struct flame_entry {
	u32 event, task;
	u32 leaf, chain;
	u32 next; /* of the same chain (or leaf), index + 1 */
};

struct flame_seen_task {
	s32 pid, tid;
	u32 comm;
};

/* [id] -> first entry of a list, index + 1. */
struct flame_heads {
	VEC(u32) list;
};

/* Of a shard, or of the run. */
struct flame_stacks {
	VEC(struct flame_seen_task) tasks;
	struct dict task_of; /* tid, comm -> task */
	VEC(struct flame_entry) entries;
	struct flame_heads by_chain, by_leaf; /* those without a chain go by their leaf */
	struct dict entry_of; /* hash of all that an entry is -> entry; empty until a list is long */
	VEC(struct flame_point) points; /* node: the entry */
	u32 shift; /* times are right to 1 << shift */
	size_t join_at; /* so many points, over many rounds: join them */
};

struct flame_sink {
	struct sink sink;
	atomic_size_t nr_points; /* of all shards */
	struct flame_stacks all;
};

void flame_stacks_done(struct flame_stacks *s);
/* Found, or made: its index, or -ENOMEM. */
s64 flame_task_at(struct flame_stacks *s, s32 pid, s32 tid, u32 comm) must_check;
s64 flame_entry_at(struct flame_stacks *s, u32 event, u32 task, u32 leaf, u32 chain) must_check;
/* A new generation of ids (model/source.h). */
int flame_carry(struct sink *k, struct carry *c) must_check;

/* Numbers frames, tasks, trees and strings again, by what they are. */
int flame_order(struct flame_build *b) must_check;

/* Makes the flame's nodes from those of the fold; points and trees follow. */
int flame_expand(struct flame *f, const struct fold *fold, unsigned workers) must_check;
/*
 * The same with the lightest branches joined, so that about so many nodes remain. 1, 0: none is light enough, and nothing was done, or
 * -ENOMEM.
 */
int flame_join(struct flame *f, const struct fold *fold, u32 max_nodes, unsigned workers) must_check;
