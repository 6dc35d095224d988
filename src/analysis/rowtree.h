/*
 * The call graph under one row, built when it is drawn: chains that end in the row's function, and (with children) what lies
 * below the function where it was only on the way. Branches under the limit are not entered, so a row costs what is drawn of it,
 * not what was recorded.
 */
#pragma once

#include "analysis/fold.h"
#include "base/dict.h"
#include "model/tree.h"

struct rowtree_node {
	u32 func;
	u32 first, next; /* children; 0: none */
	u32 nr_children; /* also those that will not be drawn: they break a straight line */
	u32 places;      /* index + 1 into rowtree.places: nodes of the fold that are merged here */
	u64 total;
	bool queued;
};

struct rowtree_place {
	u32 node; /* of the fold */
	u32 next;
};

/* Kept between rows: memory is reused. */
struct rowtree {
	const struct fold *fold;
	const struct names_result *names;
	const u32 *key_of; /* [func] -> key of the row it belongs to */
	VEC(struct rowtree_node) nodes; /* [0] is the root */
	VEC(struct rowtree_place) places;
	VEC(u32) queue;
	VEC(u32) path;
	VEC(char *) own_labels;
	struct dict children; /* (node, func) -> node */
	struct dict minus;    /* fold node -> index into minuses */
	VEC(u64) minuses;
	VEC(u32) order;
};

void rowtree_init(struct rowtree *t, const struct fold *f, const struct names_result *names, const u32 *key_of);
void rowtree_done(struct rowtree *t);

struct rowtree_row {
	u32 key;
	u32 first_end;         /* index + 1 into fold.ends, linked by next_in_row; 0: none */
	u32 first_place;       /* a fold node where the function is outermost on its path; 0: none */
	const u32 *next_place; /* [fold node] -> the next such node of the row */
	bool from_root;        /* chains start at the outermost caller, else at the row's function */
	u64 total;             /* of the row */
	u64 min;               /* weight below which a branch is not drawn */
};

/* Labels are borrowed from names or from t until the next call. */
int rowtree_build(struct rowtree *t, const struct rowtree_row *row, struct tree *ret) must_check;
