/*
 * The chains of a profile at the level of functions: one tree per group of samples, with inclusive weights, and the places
 * where samples end. Built from the address-level tree of the run in one pass over what is reachable.
 *
 *	group 0 root ── main ── parse ── lex          parent ids are smaller than child ids;
 *	group 1 root ── main ── read                  first/next link the children of a node
 */
#pragma once

#include "base/vec.h"
#include "model/frame.h"
#include "model/names.h"

/* Samples that share group, leaf and chain: what a shard adds up. */
struct fold_entry {
	u32 group;
	u32 leaf; /* frame */
	u32 node; /* of the run's chains */
	u32 spare;
	u64 period;
	u64 count;
};

struct fold_node {
	u32 parent; /* 0 on group roots */
	u32 func;   /* index into names; 0 on group roots */
	u32 first, next; /* children; 0: none */
	u64 incl;
};

struct fold_end {
	u32 node;
	u32 leaf; /* func */
	u32 group;
	u32 next_in_row; /* index + 1 of the next end of the same row; 0: last */
	u64 period;
	u64 count;
};

struct fold {
	VEC(struct fold_node) nodes; /* [0] unused, [1 + g] the root of group g */
	VEC(struct fold_end) ends;
	u32 nr_groups;
};

/* entries are sorted in place. */
int fold_build(struct fold *f, struct fold_entry *entries, size_t nr, u32 nr_groups, const struct chain_tree *chains,
	       const struct names_result *names) must_check;
void fold_done(struct fold *f);

static inline u32 fold_root(u32 group)
{
	return group + 1;
}
