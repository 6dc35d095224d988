/* Models as one self-contained page: a table, with bars where there are percentages. No script, nothing from elsewhere. */
#include "view/as_table.h"
#include "view/markup.h"
#include "view/view.h"

#include <math.h>
#include <string.h>

static const char style_text[] =
	"body{font:14px sans-serif;margin:1em}table{border-collapse:collapse}"
	"th,td{padding:2px 8px;text-align:left;white-space:pre}td.n{text-align:right}"
	"th{border-bottom:1px solid #888}td.p{background:linear-gradient(#f6b26b,#f6b26b) "
	"no-repeat}";

static void put_text(struct strbuf *to, const char *text)
{
	markup_text(text, strlen(text), to);
}

static void head(const char *title, struct strbuf *to)
{
	strbuf_str(to, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
	put_text(to, title ? title : "sonde");
	strbuf_printf(to, "</title><style>%s</style></head><body>\n", style_text);
	if (title) {
		strbuf_str(to, "<h1>");
		put_text(to, title);
		strbuf_str(to, "</h1>\n");
	}
}

static void cell(const struct column *c, const union cell *v, struct strbuf *to)
{
	struct strbuf text;
	strbuf_init(&text);
	text_cell(c, v, &text);
	if (c->type == CELL_PERCENT && !c->nr_values)
		strbuf_printf(to, "<td class=\"n p\" style=\"background-size:%.2f%% 100%%\">",
			      v->f < 0	   ? 0
			      : v->f > 100 ? 100
					   : v->f);
	else
		strbuf_str(to, c->type == CELL_STR ? "<td>" : "<td class=\"n\">");
	put_text(to, strbuf_cstr(&text));
	strbuf_str(to, "</td>");
	if (text.err)
		to->err = text.err;
	strbuf_done(&text);
}

static int table(const struct table *t, const struct view_style *s, struct strbuf *to)
{
	head(s->title, to);
	strbuf_str(to, "<table>\n<tr>");
	vec_for_each (&t->columns, c) {
		strbuf_str(to, "<th>");
		put_text(to, c->name);
		strbuf_str(to, "</th>");
	}
	strbuf_str(to, "</tr>\n");
	for (size_t row = 0; row < t->nr_rows; row++) {
		if (table_share(t, row) < s->table.min_percent)
			continue;
		strbuf_str(to, "<tr>");
		for (size_t i = 0; i < t->columns.nr; i++)
			cell(&t->columns.at[i], &table_cells(t, row)[i], to);
		strbuf_str(to, "</tr>\n");
	}
	strbuf_str(to, "</table>\n</body></html>\n");
	return to->err;
}

static int end_table(struct table *t, int err, const struct view_style *s, struct strbuf *to)
{
	struct view_style all = { .title = s->title };
	if (!err)
		err = table(t, &all, to);
	table_done(t);
	return err;
}

static int tree(const struct tree *tree, const struct view_style *s, struct strbuf *to)
{
	struct table t;
	table_init(&t);
	return end_table(&t, as_table_tree(tree, &t), s, to);
}

static int series(const struct series *v, const struct view_style *s, struct strbuf *to)
{
	struct table t;
	table_init(&t);
	return end_table(&t, as_table_series(v, s->rates, &t), s, to);
}

static int histogram(struct histogram *h, const struct view_style *s, struct strbuf *to)
{
	struct table t;
	table_init(&t);
	return end_table(&t, as_table_histogram(h, &t), s, to);
}

const struct view_ops view_html = {
	.name = "html",
	.table = table,
	.tree = tree,
	.series = series,
	.histogram = histogram,
};
