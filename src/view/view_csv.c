/* Models as comma-separated values: everything is a table. */
#include "view/as_table.h"
#include "view/csv_table.h"
#include "view/view.h"

static int table(const struct table *t, const struct view_style *s, struct strbuf *to)
{
	return csv_table(t, s->table.min_percent, to);
}

static int end_table(struct table *t, int err, struct strbuf *to)
{
	if (!err)
		err = csv_table(t, 0, to);
	table_done(t);
	return err;
}

static int tree(const struct tree *tree, const struct view_style *s, struct strbuf *to)
{
	struct table t;
	(void)s;
	table_init(&t);
	return end_table(&t, as_table_tree(tree, &t), to);
}

static int series(const struct series *v, const struct view_style *s, struct strbuf *to)
{
	struct table t;
	table_init(&t);
	return end_table(&t, as_table_series(v, s->rates, &t), to);
}

static int histogram(struct histogram *h, const struct view_style *s, struct strbuf *to)
{
	struct table t;
	(void)s;
	table_init(&t);
	return end_table(&t, as_table_histogram(h, &t), to);
}

const struct view_ops view_csv = {
	.name = "csv",
	.table = table,
	.tree = tree,
	.series = series,
	.histogram = histogram,
};
