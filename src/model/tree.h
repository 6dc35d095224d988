/*
 * A weighted tree with labels, as a view draws it: siblings are linked, heaviest first. Unary runs are kept as single
 * nodes with several labels (perf draws them below each other without a new branch).
 */
#pragma once

#include "base/types.h"
#include "base/vec.h"

enum { TREE_NONE = 0xffffffffu };

struct tree_node {
	u32 first_label; /* into tree.labels */
	u32 nr_labels;
	u32 first_child; /* TREE_NONE: leaf */
	u32 next; /* sibling */
	u64 self; /* weight that ends here */
	u64 total; /* self and all below */
	u64 count; /* samples, like total; only where they are asked for */
	u64 self_count;
};

/* What a label stands for, in parts. */
struct tree_place {
	const char *name; /* of the function, without what the label says of it; NULL: it has none */
	const char *module; /* the file that its code is in */
	u32 func; /* of whoever made the tree */
	u16 mode; /* enum frame_mode */
	bool inlined;
};

struct tree {
	VEC(struct tree_node) nodes;
	VEC(const char *) labels;
	bool with_places; /* asked for by who wants them, and kept by tree_clear(): */
	VEC(struct tree_place) places; /* [label], else empty */
	u32 first_root; /* TREE_NONE: empty */
	u64 total; /* of the row: what fractal percentages are relative to */
	u64 hidden; /* weight of branches below the limit */
	bool own_first; /* the first label is the row's own name */
	u64 min; /* weight below which nothing is drawn */
};

void tree_init(struct tree *t);
void tree_done(struct tree *t);
void tree_clear(struct tree *t);
