/* Every format over every model: what a new analysis gets without writing any text. */
#include "tap.h"
#include "view/view.h"

#include <math.h>
#include <stdlib.h>

static struct strbuf out;

static const char *text_of(int err)
{
	static char text[8192];
	(void)snprintf(text, sizeof(text), "%s%s", err ? "failed: " : "", strbuf_cstr(&out));
	strbuf_reset(&out);
	return text;
}

static void fill_table(struct table *t)
{
	table_init(t);
	if (!table_column(t, "Share", "share", CELL_PERCENT) ||
	    !table_column(t, "Name", "name", CELL_STR) ||
	    !table_column(t, "Load", "load", CELL_FLOAT))
		abort();
	t->columns.at[2].digits = 1;
	union cell *c = table_row(t);
	if (!c)
		abort();
	c[0].f = 75;
	c[1].str = "a<b";
	c[2].f = 1.25;
	c = table_row(t);
	if (!c)
		abort();
	c[0].f = 25;
	c[1].str = "c";
	c[2].f = NAN;
}

static void test_table(void)
{
	struct table t;
	struct view_style s = { .title = "T", .table = { .header = true } };
	fill_table(&t);
	is_str(text_of(view_find("text")->table(&t, &s, &out)),
	       "#    Share  Name  Load\n# ........  ....  ....\n#\n    75.00%  a<b    1.2\n    "
	       "25.00%  c "
	       "       -\n",
	       "a table as text");
	is_str(text_of(view_find("csv")->table(&t, &s, &out)),
	       "share,name,load\n75.00,a<b,1.2\n25.00,c,\n", "as CSV: what is unknown is empty");
	const char *json = text_of(view_find("json")->table(&t, &s, &out));
	ok(strstr(json, "\"load\": 1.25") && strstr(json, "\"load\": null"),
	   "as JSON: a number, and null");
	const char *html = text_of(view_find("html")->table(&t, &s, &out));
	ok(strstr(html, "<td>a&lt;b</td>") && strstr(html, "<title>T</title>") &&
		   strstr(html, "background-size:75.00% 100%"),
	   "as HTML: names are text, shares have bars");
	ok(!view_find("svg"), "no other format");
	table_done(&t);
}

static void test_tree(void)
{
	struct tree t;
	struct view_style s = { 0 };
	tree_init(&t);
	const struct tree_node nodes[] = {
		{ .first_label = 0, .nr_labels = 2, .first_child = 1, .next = TREE_NONE, .total = 10 },
		{ .first_label = 2, .nr_labels = 1, .first_child = TREE_NONE, .next = 2, .total = 6 },
		{ .first_label = 3,
		  .nr_labels = 1,
		  .first_child = TREE_NONE,
		  .next = TREE_NONE,
		  .total = 4 },
	};
	static const char *const labels[] = { "main", "run", "left", "right" };
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct tree_node *n = vec_push(&t.nodes);
		if (!n)
			abort();
		*n = nodes[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		const char **l = vec_push(&t.labels);
		struct tree_place *p = vec_push(&t.places);
		if (!l || !p)
			abort();
		*l = labels[i];
		*p = (struct tree_place){ .name = labels[i], .module = "a.out", .inlined = i == 2 };
	}
	t.first_root = 0;
	t.total = 10;
	is_str(text_of(view_csv.tree(&t, &s, &out)),
	       "percent,weight,depth,name\n100.00,10,0,main\n100.00,10,1,run\n60.00,6,2,left\n40."
	       "00,4,2,"
	       "right\n",
	       "a tree as CSV: a walk with depths");
	const char *text = text_of(view_text.tree(&t, &s, &out));
	ok(strstr(text, "--60.00%--left") && strstr(text, "--40.00%--right"), "as text: branches");
	const char *json = text_of(view_json.tree(&t, &s, &out));
	ok(strstr(json, "\"module\": \"a.out\"") && strstr(json, "\"inlined\": true"),
	   "as JSON: module and inlined are members");
	ok(strstr(text_of(view_html.tree(&t, &s, &out)), "<td>right</td>"), "as HTML");
	tree_done(&t);
}

static void test_series(void)
{
	struct series v;
	union series_value *row;
	struct view_style s = { .table = { .header = true } };
	series_init(&v, 10, SERIES_KEEP_LAST);
	if (series_column(&v, "Packets", "packets", "", SERIES_COUNTER) ||
	    series_column(&v, "Free", "free", "MB", SERIES_GAUGE))
		abort();
	for (u64 i = 1; i <= 2; i++) {
		if (series_row(&v, i * 1000000000, &row))
			abort();
		row[0].total = i * 100;
		row[1].number = (double)i / 2;
	}
	is_str(text_of(view_csv.series(&v, &s, &out)),
	       "time,packets,free\n1.000000000,100,0.50\n2.000000000,200,1.00\n", "a series as CSV");
	s.rates = true;
	is_str(text_of(view_text.series(&v, &s, &out)),
	       "#     Time  Packets /s  Free MB\n# ........  ..........  .......\n#\n  1.000000    "
	       "       -  "
	       "   0.50\n  2.000000      100.00     1.00\n",
	       "rates as text, with units");
	const char *json = text_of(view_json.series(&v, &s, &out));
	ok(strstr(json, "\"kind\": \"counter\"") && strstr(json, "\"packets\": null") &&
		   strstr(json, "\"packets\": 100"),
	   "as JSON: kinds, and null where there is no rate");
	ok(strstr(text_of(view_html.series(&v, &s, &out)), "<td class=\"n\">100.00</td>"),
	   "as HTML");
	series_done(&v);
}

static void test_histogram(void)
{
	struct histogram h;
	struct view_style s = { 0 };
	if (histogram_init(&h, &(struct histogram_opts){ .kind = HISTOGRAM_LOG2, .unit = "ns" }))
		abort();
	histogram_add(&h, 1, 2);
	histogram_add(&h, 700, 4);
	const char *text = text_of(view_text.histogram(&h, &s, &out));
	ok(!strncmp(text,
		    "[1]                    2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          "
		    "|\n"
		    "[2, 4)                 0 |",
		    90) &&
		   strstr(text, "\n[512, 1K)              4 "
				"|@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
				"@@@@@|\n"),
	   "a histogram as text: bars, the longest full");
	const char *json = text_of(view_json.histogram(&h, &s, &out));
	ok(strstr(json, "\"unit\": \"ns\"") && strstr(json, "\"from\": 512") &&
		   strstr(json, "\"max\": 700"),
	   "as JSON");
	ok(!strncmp(text_of(view_csv.histogram(&h, &s, &out)),
		    "from,to,count,percent\n1,2,2,33.33\n", 34),
	   "as CSV");
	ok(strstr(text_of(view_html.histogram(&h, &s, &out)), "background-size:66.67% 100%"),
	   "as HTML");
	histogram_done(&h);
}

int main(void)
{
	strbuf_init(&out);
	test_table();
	test_tree();
	test_series();
	test_histogram();
	strbuf_done(&out);
	return done_testing();
}
