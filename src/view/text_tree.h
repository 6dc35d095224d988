/* A weighted tree in lines and pipes, as perf report draws call graphs. */
#pragma once

#include "base/strbuf.h"
#include "model/tree.h"

struct text_tree_style {
	u32 indent;    /* columns before the first pipe */
	bool fractal;  /* percentages relative to the branches beside, and what is not drawn as [...]; else to the whole */
	bool hide_own; /* a single root that is named as its row: its first label is left out */
};

/* total: what 100 % is. */
void text_tree(const struct tree *t, u64 total, const struct text_tree_style *style, struct strbuf *to);
