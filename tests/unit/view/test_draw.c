/* Tables and call graphs as text, separated values and JSON: what a person or a script sees. */
#include "tap.h"
#include "view/json_table.h"
#include "view/text_table.h"
#include "view/text_tree.h"

struct spec {
	u32 depth;
	u64 weight;
	const char *labels[4];
};

/* A tree from an indented list. */
static void grow(struct tree *t, const struct spec *s, size_t nr, u64 total)
{
	u32 last[8] = { TREE_NONE, TREE_NONE, TREE_NONE, TREE_NONE,
			TREE_NONE, TREE_NONE, TREE_NONE, TREE_NONE };
	tree_clear(t);
	t->total = total;
	for (size_t i = 0; i < nr; i++) {
		u32 made = (u32)t->nodes.nr;
		struct tree_node *n = vec_push(&t->nodes);
		*n = (struct tree_node){ .first_label = (u32)t->labels.nr,
					 .first_child = TREE_NONE,
					 .next = TREE_NONE,
					 .total = s[i].weight };
		for (u32 k = 0; k < 4 && s[i].labels[k]; k++, n->nr_labels++)
			*vec_push(&t->labels) = s[i].labels[k];
		u32 d = s[i].depth;
		if (last[d] != TREE_NONE)
			t->nodes.at[last[d]].next = made;
		else if (d)
			t->nodes.at[last[d - 1]].first_child = made;
		else
			t->first_root = made;
		last[d] = made;
		for (u32 k = d + 1; k < 8; k++)
			last[k] = TREE_NONE;
	}
}

/* Numbers of KiB in a narrow column, as top writes them. */
static void test_memory(void)
{
	static const struct {
		u8 unit;
		double kib;
		const char *text;
	} rows[] = {
		{ MEMORY_KIB, 1024, "1024" },
		{ MEMORY_KIB, 9999999, "9999999" },
		{ MEMORY_KIB, 10000000, "9765.6m" },
		{ MEMORY_KIB, 21475127820, "20480g" }, /* what a sanitizer reserves */
		{ MEMORY_MIB, 1024, "1.0m" },
		{ MEMORY_MIB, 99999.0 * 1024, "99999m" },
		{ MEMORY_GIB, 1024, "0.0g" },
		{ MEMORY_PIB, 1e30,
		  "909494701772928256p" }, /* nothing is wide enough, nothing is cut */
	};
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct column c = { .type = CELL_FLOAT, .min_width = 7, .memory = rows[i].unit };
		strbuf_reset(&s);
		text_cell(&c, &(union cell){ .f = rows[i].kib }, &s);
		is_str(strbuf_cstr(&s), rows[i].text, "memory");
		c.type = CELL_NUMBER;
		strbuf_reset(&s);
		if (rows[i].kib > 1e18)
			continue;
		text_cell(&c, &(union cell){ .u = (u64)rows[i].kib }, &s);
		is_str(strbuf_cstr(&s), rows[i].text, "the same of a whole number");
	}
	struct column c = { .type = CELL_FLOAT, .min_width = 7, .memory = MEMORY_KIB };
	strbuf_reset(&s);
	text_cell(&c, &(union cell){ .f = __builtin_nan("") }, &s);
	is_str(strbuf_cstr(&s), "-", "what is not known");
	c.memory = MEMORY_AS_IS;
	strbuf_reset(&s);
	text_cell(&c, &(union cell){ .f = 21475127820 }, &s);
	is_str(strbuf_cstr(&s), "21475127820", "a column that was not asked to");
	strbuf_done(&s);
}

static const struct spec one_root[] = {
	{ 0, 100, { "_start", "main" } },
	{ 1, 60, { "parse", "lex" } },
	{ 2, 40, { "next" } },
	{ 2, 20, { "skip" } },
	{ 1, 40, { "read" } },
};
static const struct spec two_roots[] = { { 0, 70, { "a" } }, { 1, 70, { "b" } }, { 0, 30, { "c" } } };

static void test_tree(void)
{
	struct tree t;
	struct strbuf s;
	tree_init(&t);
	strbuf_init(&s);
	grow(&t, one_root, ARRAY_SIZE(one_root), 100);
	text_tree(&t, 200, &(struct text_tree_style){ .indent = 2 }, &s);
	is_str(strbuf_cstr(&s),
	       "  |\n"
	       "  ---_start\n"
	       "     main\n"
	       "     |          \n"
	       "     |--30.00%--parse\n"
	       "     |          lex\n"
	       "     |          |          \n"
	       "     |          |--20.00%--next\n"
	       "     |          |          \n"
	       "     |           --10.00%--skip\n"
	       "     |          \n"
	       "      --20.00%--read\n"
	       "\n",
	       "a root that is the whole row has no percentage; branches are of the whole");
	s.len = 0;
	text_tree(&t, 200, &(struct text_tree_style){ .indent = 2, .form = TEXT_TREE_FRACTAL }, &s);
	is_str(strbuf_cstr(&s),
	       "  |\n"
	       "  ---_start\n"
	       "     main\n"
	       "     |          \n"
	       "     |--60.00%--parse\n"
	       "     |          lex\n"
	       "     |          |          \n"
	       "     |          |--66.67%--next\n"
	       "     |          |          \n"
	       "     |           --33.33%--skip\n"
	       "     |          \n"
	       "      --40.00%--read\n"
	       "\n",
	       "fractal: of the branch");
	s.len = 0;
	t.nodes.at[1].total = 50; /* 10 of the row are not drawn, and 4 of parse end in lex itself */
	t.nodes.at[1].self = 4;
	t.nodes.at[2].total = 36;
	t.nodes.at[3].total = 6;
	text_tree(&t, 200, &(struct text_tree_style){ .indent = 2, .form = TEXT_TREE_FRACTAL }, &s);
	is_str(strbuf_cstr(&s),
	       "  |\n"
	       "  ---_start\n"
	       "     main\n"
	       "     |          \n"
	       "     |--50.00%--parse\n"
	       "     |          lex\n"
	       "     |          |          \n"
	       "     |          |--78.26%--next\n"
	       "     |          |          \n"
	       "     |          |--13.04%--skip\n"
	       "     |           --8.70%--[...]\n"
	       "     |          \n"
	       "     |--40.00%--read\n"
	       "      --10.00%--[...]\n"
	       "\n",
	       "fractal: what is not drawn is said");
	s.len = 0;
	t.own_first = true;
	text_tree(&t, 200, &(struct text_tree_style){ .hide_own = true }, &s);
	ok(strstr(strbuf_cstr(&s), "|\n---main\n   |          \n   |--25.00%--parse\n") == s.data,
	   "the row's own name can be left out");
	s.len = 0;
	t.nodes.at[0].nr_labels = 1;
	text_tree(&t, 200, &(struct text_tree_style){ .hide_own = true }, &s);
	ok(strstr(strbuf_cstr(&s), "|          \n|--25.00%--parse\n") == s.data,
	   "and leaves no stump");
	s.len = 0;
	grow(&t, two_roots, ARRAY_SIZE(two_roots), 100);
	text_tree(&t, 100, &(struct text_tree_style){ 0 }, &s);
	is_str(strbuf_cstr(&s),
	       "|          \n"
	       "|--70.00%--a\n"
	       "|          |          \n"
	       "|           --70.00%--b\n"
	       "|          \n"
	       " --30.00%--c\n"
	       "\n",
	       "several roots are branches");
	s.len = 0;
	tree_clear(&t);
	text_tree(&t, 100, &(struct text_tree_style){ 0 }, &s);
	is_str(strbuf_cstr(&s), "", "no tree draws nothing");
	grow(&t, two_roots, 1, 90); /* a part of the row is without chain */
	text_tree(&t, 90, &(struct text_tree_style){ 0 }, &s);
	is_str(strbuf_cstr(&s), "|          \n --77.78%--a\n\n",
	       "a single root that is not the whole row keeps its percentage");
	strbuf_done(&s);
	tree_done(&t);
}

/* Deeper than anything is drawn: no crash, and it ends. */
static void test_deep(void)
{
	struct tree t;
	struct strbuf s;
	tree_init(&t);
	strbuf_init(&s);
	t.first_root = 0;
	t.total = 10000;
	for (u32 i = 0; i < 2000; i++) {
		struct tree_node *n = vec_push(&t.nodes);
		*n = (struct tree_node){ .first_label = i,
					 .nr_labels = 1,
					 .first_child = i < 1999 ? i + 1 : TREE_NONE,
					 .next = TREE_NONE,
					 .total = 9000 - i };
		*vec_push(&t.labels) = "f";
	}
	text_tree(&t, 10000, &(struct text_tree_style){ .indent = 12 }, &s);
	ok(!s.err && s.len > 100000, "2,000 levels");
	strbuf_done(&s);
	tree_done(&t);
}

static int tree_of(void *ctx, size_t row, struct tree *ret)
{
	grow(ret, two_roots, row ? 0 : ARRAY_SIZE(two_roots), 100);
	return 0;
}

static void fill(struct table *t)
{
	table_init(t);
	table_column(t, "Overhead", "overhead", CELL_PERCENT);
	table_column(t, "Samples", "samples", CELL_U64);
	table_column(t, "Command", "comm", CELL_STR);
	table_column(t, "Symbol", "symbol", CELL_STR)->last = true;
	static const struct {
		double f;
		u64 n;
		const char *comm, *sym;
	} rows[] = { { 99.995, 123456789012345, "a-long-command", "[.] main" },
		     { 0.004, 1, "sh", "[k] say \"hi\"" } };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		union cell *c = table_row(t);
		c[0].f = rows[i].f;
		c[1].u = rows[i].n;
		c[2].str = rows[i].comm;
		c[3].str = rows[i].sym;
	}
	t->total = 100;
}

static int drain_into(void *ctx, const char *data, size_t len)
{
	strbuf_add(ctx, data, len);
	return 0;
}

/* Text goes out whenever a buffer is full, which may be anywhere: it must not change by that. */
static void test_drained(const struct table *t, const struct text_table_style *style,
			 const char *name)
{
	struct strbuf whole, pieces, out;
	size_t nr_wrong = 0;
	strbuf_init(&whole);
	bool good = !text_table(t, style, &whole) && whole.len;
	for (size_t cap = 64; cap < 200; cap++) {
		strbuf_init(&pieces);
		strbuf_init_drain(&out, cap, drain_into, &pieces);
		good = good && !text_table(t, style, &out) && !strbuf_flush(&out);
		nr_wrong += strcmp(strbuf_cstr(&whole), strbuf_cstr(&pieces)) != 0;
		strbuf_done(&out);
		strbuf_done(&pieces);
	}
	ok(good && !nr_wrong, "%s: the same text through buffers of any size", name);
	strbuf_done(&whole);
}

static void test_levels(void)
{
	struct table t;
	table_init(&t);
	table_column(&t, "Overhead", "overhead", CELL_PERCENT);
	table_column(&t, "    Pid:Command", "pid", CELL_STR)->level = 0;
	table_column(&t, "Symbol", "symbol", CELL_STR)->level = 1;
	t.nr_levels = 2;
	t.total = 100;
	for (u32 i = 0; i < 8; i++) {
		union cell *c = table_row(&t);
		u32 *depth = vec_push(&t.depths);
		c[0].f = 50;
		c[1].str = i % 2 ? NULL : "  17995:right";
		c[2].str = i % 2 ? "[.] main" : NULL;
		*depth = i % 2;
	}
	test_drained(&t, &(struct text_table_style){ .header = true }, "rows within rows");
	table_done(&t);
}

static void test_table(void)
{
	struct table t;
	struct strbuf s;
	fill(&t);
	strbuf_init(&s);
	test_drained(&t, &(struct text_table_style){ .header = true }, "a table");
	test_drained(&t, &(struct text_table_style){ .separator = "-" }, "with a separator");
	test_levels();
	ok(!text_table(&t, &(struct text_table_style){ .header = true }, &s), "a table");
	is_str(strbuf_cstr(&s),
	       "# Overhead          Samples  Command         Symbol      \n"
	       "# ........  ...............  ..............  ............\n"
	       "#\n"
	       "   100.00%  123456789012345  a-long-command  [.] main\n"
	       "     0.00%                1  sh              [k] say \"hi\"\n",
	       "columns as wide as what they hold; nothing behind the last");
	s.len = 0;
	ok(!text_table(&t, &(struct text_table_style){ .min_percent = 0.5 }, &s), "with a limit");
	is_str(strbuf_cstr(&s), "   100.00%  123456789012345  a-long-command  [.] main\n",
	       "light rows are left out");
	s.len = 0;
	ok(!text_table(&t, &(struct text_table_style){ .header = true, .separator = "|" }, &s),
	   "with a separator");
	is_str(strbuf_cstr(&s),
	       "# Overhead|Samples|Command|Symbol\n100.00%|123456789012345|a-long-command|[.] "
	       "main\n0.00%|1|sh|[k] say \"hi\"\n",
	       "no blanks");
	s.len = 0;
	t.tree_of = tree_of;
	ok(!text_table(&t, &(struct text_table_style){ .header = false }, &s), "with trees");
	is_str(strbuf_cstr(&s),
	       "   100.00%  123456789012345  a-long-command  [.] main\n"
	       "            |          \n"
	       "            |--70.00%--a\n"
	       "            |          |          \n"
	       "            |           --70.00%--b\n"
	       "            |          \n"
	       "             --30.00%--c\n"
	       "\n"
	       "     0.00%                1  sh              [k] say \"hi\"\n",
	       "a tree stands below its row");
	s.len = 0;
	struct json j;
	json_begin(&j, &s, 0);
	ok(!json_table(&t, 0, &j) && !json_end(&j), "as JSON");
	is_str(strbuf_cstr(&s),
	       "[{\"overhead\":99.995,\"samples\":123456789012345,\"comm\":\"a-long-command\","
	       "\"symbol\":\"[.] main\",\"graph\":["
	       "{\"functions\":[{\"name\":\"a\"}],\"period\":70,\"child\":1,\"next\":2},{"
	       "\"functions\":[{\"name\":\"b\"}]"
	       ",\"period\":70},"
	       "{\"functions\":[{\"name\":\"c\"}],\"period\":30}]},"
	       "{\"overhead\":0.004,\"samples\":1,\"comm\":\"sh\",\"symbol\":\"[k] say "
	       "\\\"hi\\\"\",\"graph\":[]}]\n",
	       "names and quotes are whole");
	strbuf_done(&s);
	table_done(&t);
}

int main(void)
{
	test_memory();
	test_tree();
	test_deep();
	test_table();
	return done_testing();
}
