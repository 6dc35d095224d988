/* What a browser shows after keys: lines of rows and graphs, zooms and searches, without a terminal. */
#include "tap.h"
#include "view/browse.h"

static const char *const names[][3] = {
	{ "cat", "libc.so.6", "read" },
	{ "cat", "[kernel]", "copy_to_user" },
	{ "sh", "libc.so.6", "fork" },
};
static const double shares[] = { 50, 30, 20 };
static unsigned asked; /* how often a graph was made */

/* main > { parse > lex, read }; labels are the test's own and change, as a table's may. */
static char label_store[5][16];

static int graph_of(void *ctx, size_t row, struct tree *t)
{
	static const char *const labels[] = { "_start", "main", "parse", "lex", "read" };
	asked++;
	tree_clear(t);
	if (row == 2)
		return 0;
	for (u32 i = 0; i < 5; i++) {
		(void)snprintf(label_store[i], sizeof(label_store[i]), "%s", labels[i]);
		*vec_push(&t->labels) = label_store[i];
	}
	const struct tree_node nodes[] = {
		{ .first_label = 0, .nr_labels = 2, .first_child = 1, .next = TREE_NONE, .total = 50 },
		{ .first_label = 2, .nr_labels = 2, .first_child = TREE_NONE, .next = 2, .total = 40 },
		{ .first_label = 4,
		  .nr_labels = 1,
		  .first_child = TREE_NONE,
		  .next = TREE_NONE,
		  .total = 10 },
	};
	for (u32 i = 0; i < 3; i++)
		*vec_push(&t->nodes) = nodes[i];
	t->first_root = 0;
	t->total = 50;
	return 0;
}

static void fill(struct table *t)
{
	table_init(t);
	table_column(t, "Overhead", "overhead", CELL_PERCENT);
	table_column(t, "Command", "comm", CELL_STR);
	table_column(t, "Shared Object", "dso", CELL_STR);
	table_column(t, "Symbol", "sym", CELL_STR);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		union cell *c = table_row(t);
		c[0].f = shares[i];
		for (u32 k = 0; k < 3; k++)
			c[1 + k].str = names[i][k];
	}
	t->tree_of = graph_of;
	t->total = 100;
}

/* "+0 -0 -1:_start ...": sign, row, depth and label of every line. */
static const char *lines(const struct browse *b, struct strbuf *s)
{
	strbuf_reset(s);
	for (size_t i = 0; i < browse_nr_lines(b); i++) {
		struct browse_line l = browse_line(b, i);
		strbuf_printf(s, "%s%c%zu", i ? " " : "", l.sign == ' ' ? '.' : l.sign, l.row);
		if (l.node != TREE_NONE)
			strbuf_printf(s, "/%u:%s", l.depth, l.label);
		if (l.has_percent)
			strbuf_printf(s, "=%.0f", l.percent);
	}
	return strbuf_cstr(s);
}

static void test_open(const struct table *t, struct strbuf *s)
{
	struct browse *b = browse_new(t, false);
	asked = 0;
	is_str(lines(b, s), "+0 +1 +2", "rows, all closed");
	is_u64(asked, 0, "no graph was made yet");
	is_u64(browse_toggle(b, 0), 1, "opens");
	is_str(lines(b, s), "-0 -0/1:_start=50 .0/2:main +0/2:parse=40 .0/2:read=10 +1 +2",
	       "the only root is open, its branches are closed");
	is_u64(browse_toggle(b, 3), 1, "opens a branch");
	is_str(lines(b, s), "-0 -0/1:_start=50 .0/2:main -0/2:parse=40 .0/3:lex .0/2:read=10 +1 +2",
	       "a straight run shows its other names");
	is_u64(browse_toggle(b, 5), 0, "nothing behind a leaf");
	is_u64(browse_toggle(b, 0), 1, "closes");
	is_str(lines(b, s), "+0 +1 +2", "closed again");
	is_u64(browse_toggle(b, 0), 1, "opens");
	is_u64(asked, 1, "the graph is kept");
	is_u64(browse_open(b, 0, false), 1, "closes with everything below");
	is_u64(browse_toggle(b, 0), 1, "opens");
	is_str(lines(b, s), "-0 +0/1:_start=50 +1 +2", "what was below is closed too");
	is_u64(browse_open(b, 0, true), 1, "opens everything below");
	is_u64(browse_nr_lines(b), 8, "all lines");
	is_u64(browse_find_row(b, 1), 6, "where a row is");
	is_u64(browse_toggle(b, 7), 1, "a row whose graph is empty");
	is_u64(browse_line(b, 7).sign, ' ', "promises none any more");
	is_u64(browse_open_all(b, false), 0, "closes all");
	is_str(lines(b, s), "+0 +1 .2", "all closed");
	is_u64(browse_open_all(b, true), 0, "opens all");
	is_u64(browse_nr_lines(b), 13, "all open");
	browse_free(b);
}

static void test_sort(const struct table *t, struct strbuf *s)
{
	struct browse *b = browse_new(t, false);
	is_u64(browse_sorted(b), 4, "the table's own order");
	ok(!browse_sort(b, 3), "by function");
	is_str(lines(b, s), "+1 +2 +0", "names by the alphabet");
	is_u64(browse_toggle(b, 2), 1, "opens the last");
	ok(!browse_sort(b, 0), "by share");
	is_str(lines(b, s), "-0 -0/1:_start=50 .0/2:main +0/2:parse=40 .0/2:read=10 +1 +2",
	       "numbers from the largest, what was open stays so");
	is_u64(browse_zoom(b, "dso", 0), 1, "with a filter");
	ok(!browse_sort(b, 1), "by command");
	is_u64(browse_nr_rows(b), 2, "which stays");
	ok(!browse_sort(b, 9) && browse_sorted(b) == 4, "no such column: the table's order");
	browse_free(b);
}

static void test_filters(const struct table *t, struct strbuf *s)
{
	struct browse *b = browse_new(t, false);
	ok(browse_shown_percent(b) == 100, "all rows are the whole");
	is_u64(browse_zoom(b, "dso", 2), 1, "zoom by library");
	is_str(lines(b, s), "+0 +2", "only its rows");
	ok(browse_shown_percent(b) == 70, "what they weigh");
	is_u64(browse_zoom(b, "dso", 0), 0, "twice is once");
	is_u64(browse_zoom(b, "comm", 1), 1, "and by command");
	is_str(lines(b, s), "+2", "both hold");
	is_u64(browse_zoom(b, "cpu", 0), 0, "no such column");
	strbuf_reset(s);
	browse_filters(b, s);
	is_str(strbuf_cstr(s), "dso: libc.so.6, comm: sh", "says so");
	is_u64(browse_find_row(b, 0), browse_nr_lines(b), "a hidden row is nowhere");
	ok(browse_back(b), "back");
	is_str(lines(b, s), "+0 +2", "one is left");
	ok(browse_back(b) && !browse_back(b), "back, and no further");
	is_u64(browse_toggle(b, 1), 1, "open a row");
	is_u64(browse_search(b, "LEX"), 1, "search");
	is_str(lines(b, s), "-1 -1/1:_start=50 .1/2:main +1/2:parse=40 .1/2:read=10",
	       "names of an open graph count, case does not");
	is_u64(browse_search(b, "read"), 1, "another text");
	is_str(lines(b, s), "+0 -1 -1/1:_start=50 .1/2:main +1/2:parse=40 .1/2:read=10",
	       "both rows");
	is_u64(browse_next_match(b, 0, false), 5, "the next line with it");
	is_u64(browse_next_match(b, 5, false), 0, "and round again");
	is_u64(browse_next_match(b, 0, true), 5, "backwards");
	is_u64(browse_search(b, "nothing"), 1, "what is not there");
	is_u64(browse_nr_lines(b), 0, "no lines");
	is_u64(browse_toggle(b, 0), 0, "nor anything to open");
	is_u64(browse_search(b, ""), 1, "no text");
	is_u64(browse_nr_rows(b), 3, "all rows again");
	browse_free(b);
}

/* A table made anew: one row is gone, one is new, the others have changed places. */
static void test_take_over(const struct table *t, struct strbuf *s)
{
	static const char *const later[][3] = {
		{ "sh", "libc.so.6", "fork" },
		{ "dd", "libc.so.6", "write" },
		{ "cat", "libc.so.6", "read" },
	};
	struct table next;
	struct browse *b = browse_new(t, false), *n;
	size_t line = 0;
	fill(&next);
	for (u32 i = 0; i < 3; i++)
		for (u32 k = 0; k < 3; k++)
			next.cells.at[i * 4 + 1 + k].str = later[i][k];
	ok(browse_toggle(b, 0) == 1 && browse_toggle(b, 3) == 1, "a row and a node are open");
	is_str(lines(b, s), "-0 -0/1:_start=50 .0/2:main -0/2:parse=40 .0/3:lex .0/2:read=10 +1 +2",
	       "before");
	line = 3;
	n = browse_new(&next, false);
	ok(!browse_take_over(n, b, &line), "another table takes its place");
	is_str(lines(n, s), "+0 +1 .2", "a row whose graph is gone is closed");
	browse_free(n);
	next.tree_of = NULL;
	n = browse_new(&next, false);
	line = 3;
	ok(!browse_take_over(n, b, &line), "a table without graphs");
	is_u64(line, 2, "the row of a line that is gone is selected");
	line = 6;
	browse_free(n);
	n = browse_new(&next, false);
	ok(!browse_take_over(n, b, &line), "once more");
	is_u64(line, 6, "a row that is gone leaves the number");
	browse_free(n);
	ok(browse_zoom(b, "dso", 0) == 1 && browse_search(b, "R") == 1 && !browse_sort(b, 3),
	   "a zoom, a search, an order");
	line = 0;
	n = browse_new(&next, false);
	ok(!browse_take_over(n, b, &line), "take over");
	is_str(lines(n, s), ".0 .2 .1", "rows are chosen and ordered as before");
	strbuf_reset(s);
	browse_filters(n, s);
	is_str(strbuf_cstr(s), "dso: libc.so.6, 'R'", "by the same filters");
	is_u64(browse_sorted(n), 3, "and the same column");
	browse_free(b);
	strbuf_reset(s);
	browse_filters(n, s);
	is_str(strbuf_cstr(s), "dso: libc.so.6, 'R'", "which do not need the old table");
	browse_free(n);
	table_done(&next);
}

/* The same rows with graphs: what was open below them is open again. */
static void test_take_graphs(const struct table *t, struct strbuf *s)
{
	struct browse *b = browse_new(t, false), *n = browse_new(t, false);
	size_t line = 4;
	ok(browse_toggle(b, 0) == 1 && browse_toggle(b, 3) == 1, "a row and a node are open");
	ok(!browse_take_over(n, b, &line), "take over");
	is_str(lines(n, s), "-0 -0/1:_start=50 .0/2:main -0/2:parse=40 .0/3:lex .0/2:read=10 +1 +2",
	       "both are open again");
	is_u64(line, 4, "the same line is selected");
	browse_free(b);
	browse_free(n);
}

int main(void)
{
	struct table t;
	struct strbuf s;
	fill(&t);
	strbuf_init(&s);
	test_open(&t, &s);
	test_sort(&t, &s);
	test_filters(&t, &s);
	test_take_over(&t, &s);
	test_take_graphs(&t, &s);
	table_done(&t);
	strbuf_done(&s);
	return done_testing();
}
