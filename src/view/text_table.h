/*
 * A table as aligned text in the layout of perf report: header lines after '#', percentages right, names left, the tree of a
 * row below it. Or with a separator (-t, CSV): no alignment, no trees.
 */
#pragma once

#include "base/strbuf.h"
#include "model/table.h"
#include "view/text_tree.h"

struct text_table_style {
	const char *separator; /* NULL: aligned columns */
	bool header;
	bool plain; /* as ps and top: no '#', one blank between columns */
	double min_percent; /* rows below this share of the total are left out */
	enum text_tree_form graph; /* see text_tree */
	enum text_tree_value value;
	u32 graph_limit;
	bool hide_own;
};

/* 0 or the sticky error of `to`. A row's tree is dropped when its text is there, and the text when all before it were added. */
int text_table(const struct table *t, const struct text_table_style *style,
	       struct strbuf *to) must_check;

/* How wide each column is, header included; widths[] has room for all. */
int text_table_widths(const struct table *t, bool screen, u32 *widths) must_check;

/* CELL_* as it stands in a column, no padding. */
void text_cell(const struct column *c, const union cell *v, struct strbuf *to);
