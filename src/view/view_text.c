/* Models as text: perf's tables and call graphs, rows over time, bars. */
#include "view/as_table.h"
#include "view/text_histogram.h"
#include "view/view.h"

static int table(const struct table *t, const struct view_style *s, struct strbuf *to)
{
	return text_table(t, &s->table, to);
}

static int tree(const struct tree *t, const struct view_style *s, struct strbuf *to)
{
	text_tree(t, t->total,
		  &(struct text_tree_style){ .form = s->table.graph,
					     .value = s->table.value,
					     .limit = s->table.graph_limit,
					     .hide_own = s->table.hide_own },
		  to);
	return to->err;
}

static int series(const struct series *v, const struct view_style *s, struct strbuf *to)
{
	struct table t;
	table_init(&t);
	int err = as_table_series(v, s->rates, &t);
	if (!err)
		err = text_table(&t, &s->table, to);
	table_done(&t);
	return err;
}

static int histogram(struct histogram *h, const struct view_style *s, struct strbuf *to)
{
	(void)s;
	text_histogram(h, to);
	return to->err;
}

const struct view_ops view_text = {
	.name = "text",
	.table = table,
	.tree = tree,
	.series = series,
	.histogram = histogram,
};
