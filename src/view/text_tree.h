/* A weighted tree in lines and pipes, as perf report draws call graphs. */
#pragma once

#include "base/strbuf.h"
#include "model/tree.h"

enum text_tree_form {
	TEXT_TREE_GRAPH, /* percentages relative to the whole */
	TEXT_TREE_FRACTAL, /* ... to the branches beside; what is not drawn is [...] */
	TEXT_TREE_FLAT, /* each chain for itself, a frame a line */
	TEXT_TREE_FOLDED, /* each chain on one line */
};

enum text_tree_value { TEXT_TREE_PERCENT, TEXT_TREE_PERIOD, TEXT_TREE_COUNT };

struct text_tree_style {
	u32 indent; /* columns before the first pipe */
	enum text_tree_form form;
	enum text_tree_value value;
	u32 limit; /* branches (or chains) of one place that are shown; 0: all */
	bool hide_own; /* a single root that is named as its row: its first label is left out */
};

/* total: what 100 % is. */
void text_tree(const struct tree *t, u64 total, const struct text_tree_style *style,
	       struct strbuf *to);
