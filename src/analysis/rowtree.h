/*
 * The call graph under one row, built when it is drawn: chains that end in the row's function, and (with children) what lies
 * below the function where it was only on the way. It is a walk over the folded tree with many places at once: places that show
 * the same function are one branch; a branch under the limit is not entered. So a row costs what is drawn of it, not what was
 * recorded.
 */
#pragma once

#include "analysis/fold.h"
#include "model/tree.h"

/* Which samples of a sub-tree count. */
enum rowtree_part {
	ROWTREE_ALL,
	ROWTREE_ENDING, /* that end in the row's function */
	ROWTREE_OTHER, /* that do not */
};

/* A function in the fold: a node and how many of its functions lie before it. */
struct rowtree_start {
	u32 node;
	u32 skip;
};

/* The same, and which of its samples count. Small: a row may have as many as there are nodes. */
struct rowtree_place {
	u32 node;
	u32 skip : 30;
	u32 part : 2; /* enum rowtree_part */
};

/* A place that may be drawn. */
struct rowtree_candidate {
	struct rowtree_place place;
	u32 func;
};

/* What the places that follow have in common: a sum for each function. */
struct rowtree_sum {
	u64 weight;
	u32 nr;
	u32 at; /* where its places go; 0: the branch is too light */
};

struct rowtree_branch {
	u32 func;
	u32 start, nr; /* places */
	u64 weight;
};

/* Numbers of samples beside the weights, only where they are asked for. [node]: of those that end there, and of all below too. */
struct rowtree_counts {
	const u64 *of_item;
	u64 *own, *incl;
	u64 *own_ending, *incl_ending; /* of those that end in the row's function */
};

/* Kept between rows: memory is reused. Each worker that draws has its own. */
struct rowtree {
	const struct fold_item *items;
	const struct fold *fold;
	u64 *ending; /* [node] weight of samples below that end in the row's function; zero between rows */
	const struct names_result *names;
	struct rowtree_sum *sums; /* [func] */
	VEC(u32) touched; /* funcs with a sum */
	VEC(struct rowtree_place) places; /* a stack */
	VEC(struct rowtree_branch) branches; /* a stack */
	VEC(struct rowtree_candidate) candidates;
	VEC(char *) own_labels;
	double share; /* of the row that is drawn */
	u64 min;
	u32 first_func; /* of the tree's first label */
	u64 below; /* what the candidates taken last weigh together, light ones included */
	struct rowtree_counts counts; /* of_item NULL: not asked for */
};

int rowtree_init(struct rowtree *t, const struct fold *f, const struct fold_item *items,
		 const struct names_result *names) must_check;
/* Branches will say how many samples they are of: counts[item], borrowed. */
int rowtree_count(struct rowtree *t, const u64 *counts, size_t nr_items) must_check;
void rowtree_done(struct rowtree *t);

/*
 * Either the fold has a tree for each row (own), which then simply is the graph; or it has one for each group of rows, and the
 * graph is found in it: samples that end in the row's function from the root on, the others from the function on.
 */
struct rowtree_row {
	u32 root; /* fold node */
	bool own;
	u32 first_item; /* index + 1 of an item that ends in the row's function; 0: none */
	const u32 *next_item; /* [item] -> the next one, index + 1 */
	const struct rowtree_start *places; /* where the function is outermost on its path */
	u32 nr_places;
	u64 total; /* of the row */
	u64 min; /* weight below which a branch is not drawn */
	double share; /* instead: of what its parent's branches weigh together; 0: none */
};

/* Labels are borrowed from names or from t until the next call. */
int rowtree_build(struct rowtree *t, const struct rowtree_row *row, struct tree *ret) must_check;
