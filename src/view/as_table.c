#include "view/as_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- series ---- */

static const char *column_name(const struct series_column *c, bool rates, struct arena *a)
{
	bool per_second = rates && c->kind != SERIES_GAUGE;
	size_t size = strlen(c->name) + strlen(c->unit) + 8;
	if (!c->unit[0] && !per_second)
		return c->name;
	char *text = arena_alloc(a, size);
	if (text)
		(void)snprintf(text, size, "%s %s%s", c->name, c->unit[0] ? c->unit : "",
			       per_second ? "/s" : "");
	return text;
}

/* Totals are whole numbers, and may be larger than a double can tell apart. */
static bool is_total(const struct series_column *c, bool rates)
{
	return c->kind == SERIES_COUNTER && !rates;
}

static int series_columns(const struct series *s, bool rates, struct table *t)
{
	if (!table_column(t, "Time", "time", CELL_TIME))
		return -ENOMEM;
	vec_for_each (&s->columns, c) {
		const char *name = column_name(c, rates, &t->arena);
		struct column *to = name ? table_column(t, name, c->key, CELL_FLOAT) : NULL;
		if (!to)
			return -ENOMEM;
		to->digits = is_total(c, rates) ? 0 : 2;
	}
	return 0;
}

int as_table_series(const struct series *s, bool rates, struct table *t)
{
	int err = series_columns(s, rates, t);
	for (size_t row = 0; row < s->nr_rows && !err; row++) {
		union cell *cells = table_row(t);
		if (!cells)
			return -ENOMEM;
		cells[0].u = series_time(s, row);
		for (size_t i = 0; i < s->columns.nr; i++)
			cells[i + 1].f = rates ? series_rate(s, row, i) : series_number(s, row, i);
	}
	return err;
}

/* ---- histogram ---- */

int as_table_histogram(struct histogram *h, struct table *t)
{
	size_t first, end;
	histogram_range(h, &first, &end);
	struct column *from = table_column(t, "From", "from", CELL_FLOAT);
	struct column *to = from ? table_column(t, "To", "to", CELL_FLOAT) : NULL;
	if (!to || !table_column(t, "Count", "count", CELL_NUMBER) ||
	    !table_column(t, "Percent", "percent", CELL_PERCENT))
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		struct histogram_bucket b = histogram_bucket(h, i);
		union cell *cells = table_row(t);
		if (!cells)
			return -ENOMEM;
		cells[0].f = b.no_start ? (double)NAN : (double)b.from;
		cells[1].f = b.no_end ? (double)NAN : (double)b.to;
		cells[2].u = b.count;
		cells[3].f = 100.0 * (double)b.count / (double)h->nr;
	}
	return 0;
}

/* ---- tree ---- */

/* Where a walk goes on after what is below a node. */
struct as_table_open_node {
	u32 node, depth;
};

struct tree_walk {
	const struct tree *tree;
	struct table *t;
};

static int tree_row(const struct tree_walk *w, const struct tree_node *n, u32 depth, u32 label)
{
	union cell *cells = table_row(w->t);
	if (!cells)
		return -ENOMEM;
	cells[0].f = w->tree->total ? 100.0 * (double)n->total / (double)w->tree->total : 0;
	cells[1].u = n->total;
	cells[2].u = depth + label;
	cells[3].str = w->tree->labels.at[n->first_label + label];
	return 0;
}

/* Trees of call chains may be as deep as these: no recursion. */
int as_table_tree(const struct tree *tree, struct table *t)
{
	struct tree_walk w = { .tree = tree, .t = t };
	VEC(struct as_table_open_node) open = { 0 };
	if (!table_column(t, "Percent", "percent", CELL_PERCENT) ||
	    !table_column(t, "Weight", "weight", CELL_NUMBER) ||
	    !table_column(t, "Depth", "depth", CELL_NUMBER) ||
	    !table_column(t, "Name", "name", CELL_STR))
		return -ENOMEM;
	u32 node = tree->first_root, depth = 0;
	int err = 0;
	while (!err && (node != TREE_NONE || open.nr)) {
		if (node == TREE_NONE) {
			struct as_table_open_node up = open.at[--open.nr];
			node = up.node;
			depth = up.depth;
			continue;
		}
		const struct tree_node *n = &tree->nodes.at[node];
		for (u32 i = 0; i < n->nr_labels && !err; i++)
			err = tree_row(&w, n, depth, i);
		struct as_table_open_node *after = vec_push(&open);
		if (!after)
			err = -ENOMEM;
		else
			*after = (struct as_table_open_node){ n->next, depth };
		depth += n->nr_labels;
		node = n->first_child;
	}
	vec_free(&open);
	return err;
}
