/*
 * Chains at the level of functions, as trees with weights. A node is a run of functions that no chain leaves or ends in before
 * its last one; most chains end in a long run of their own, so there are far fewer nodes than frames. Nodes stand in the
 * order of a walk: a sub-tree is a range.
 *
 *	chains           main parse lex next   main parse   main read
 *
 *	nodes   0 root   1 [main]   2 [parse]   3 [lex next]   4 [read]        node 1 spans [1, 5), node 2 [2, 4)
 *	funcs   main parse lex next read
 *
 * Chains are sorted, several functions packed into a word at a time; the tree falls out of how much neighbours have in common.
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
	u32 end; /* after the last node of the sub-tree */
	u32 at, nr; /* its functions: fold.funcs[at ... at + nr); roots have none */
	u64 incl; /* weight of the sub-tree */
};

struct fold {
	struct fold_node *nodes;
	u32 *heights; /* [node] functions on the longest way down, its own included */
	u32 *funcs; /* index into names */
	u32 *root_of; /* [tree] -> node */
	u32 *node_of; /* [item] -> the node where its chain ends */
	u32 nr_trees;
	u32 nr_nodes; /* in use; numbers run from room - nr_nodes to room */
	u32 room;
	u64 nr_funcs;
	size_t nr_items;
};

struct fold_input {
	const struct fold_item *items;
	size_t nr;
	u32 nr_trees;
	bool reverse; /* trees grow from the innermost function to its callers */
	const struct chain_table *chains;
	const struct names_result *names;
	unsigned workers; /* 0: one */
};

/* The same for any number of workers. */
int fold_build(struct fold *f, const struct fold_input *in) must_check;
void fold_done(struct fold *f);
