/* Models to walk through with the keyboard: everything is a table, a single page of the browser. */
#include "view/as_table.h"
#include "view/tui_table.h"
#include "view/view.h"

#include <errno.h>
#include <string.h>

struct one_page {
	const struct view_style *style;
	int (*make)(const struct one_page *p, struct table *ret);
	const struct table *table;
	const struct tree *tree;
	const struct series *series;
	struct histogram *histogram;
};

static int open_page(void *ctx, u32 page, struct table *ret, struct strbuf *title)
{
	const struct one_page *p = ctx;
	(void)page;
	strbuf_str(title, p->style->title ? p->style->title : "");
	return p->make(p, ret);
}

static int show(const struct one_page *p)
{
	struct one_page own = *p;
	return tui_tables(&(struct tui_config){ .nr_pages = 1,
						.open = open_page,
						.ctx = &own,
						.fractal = p->style->table.graph == TEXT_TREE_FRACTAL,
						.colour = p->style->colour });
}

/* The browser owns its page: columns and cells are copied, texts and trees stay whose they are. */
static int copy_table(const struct one_page *p, struct table *ret)
{
	const struct table *t = p->table;
	vec_for_each (&t->columns, c) {
		struct column *slot = vec_push(&ret->columns);
		if (!slot)
			return -ENOMEM;
		*slot = *c;
	}
	for (size_t row = 0; row < t->nr_rows; row++) {
		union cell *cells = table_row(ret);
		u64 *weight = row < t->weights.nr ? vec_push(&ret->weights) : NULL;
		if (!cells || (row < t->weights.nr && !weight))
			return -ENOMEM;
		memcpy(cells, table_cells(t, row), t->columns.nr * sizeof(*cells));
		if (weight)
			*weight = t->weights.at[row];
	}
	ret->tree_of = t->tree_of;
	ret->ctx = t->ctx;
	ret->total = t->total;
	return 0;
}

static int make_tree(const struct one_page *p, struct table *ret)
{
	return as_table_tree(p->tree, ret);
}

static int make_series(const struct one_page *p, struct table *ret)
{
	return as_table_series(p->series, p->style->rates, ret);
}

static int make_histogram(const struct one_page *p, struct table *ret)
{
	return as_table_histogram(p->histogram, ret);
}

static int table(const struct table *t, const struct view_style *s, struct strbuf *to)
{
	(void)to;
	return show(&(struct one_page){ .style = s, .make = copy_table, .table = t });
}

static int tree(const struct tree *t, const struct view_style *s, struct strbuf *to)
{
	(void)to;
	return show(&(struct one_page){ .style = s, .make = make_tree, .tree = t });
}

static int series(const struct series *v, const struct view_style *s, struct strbuf *to)
{
	(void)to;
	return show(&(struct one_page){ .style = s, .make = make_series, .series = v });
}

static int histogram(struct histogram *h, const struct view_style *s, struct strbuf *to)
{
	(void)to;
	return show(&(struct one_page){ .style = s, .make = make_histogram, .histogram = h });
}

const struct view_ops view_terminal = {
	.name = "terminal",
	.table = table,
	.tree = tree,
	.series = series,
	.histogram = histogram,
};
