/*
 * Chains at the level of functions, as trees with weights. Chains of a tree are partitioned by their first function, each part by
 * the second one, and so on: no hashing, and the nodes come out in the order of a walk, so that a sub-tree is a range:
 *
 *	nodes  0 root   1 main   2 parse   3 lex   4 read        main spans [1, 5), parse [2, 4)
 */
#pragma once

#include "base/vec.h"
#include "model/frame.h"
#include "model/names.h"

/* Samples that share a chain, to be put into a tree. */
struct fold_item {
	u32 tree;
	u32 start, nr; /* frames in the pool of the chain table */
	u64 period;
};

struct fold_node {
	u32 parent; /* roots: themselves */
	u32 func; /* index into names; 0 on roots */
	u32 end; /* behind the last node of the sub-tree */
	u32 height; /* nodes on the longest way down, this one included */
	u64 incl; /* weight of the sub-tree */
	u64 ending; /* scratch of whoever draws: beside the rest, because it is read together with it */
};

struct fold {
	VEC(struct fold_node) nodes;
	u32 *root_of; /* [tree] */
	u32 *node_of; /* [item] -> the node where its chain ends */
	u32 nr_trees;
};

/* reverse: trees grow from the innermost function to its callers. */
int fold_build(struct fold *f, const struct fold_item *items, size_t nr, u32 nr_trees, bool reverse,
	       const struct chain_table *chains, const struct names_result *names) must_check;
void fold_done(struct fold *f);
