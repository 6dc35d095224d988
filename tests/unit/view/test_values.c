/* Values of tables as CSV, JSON and text, and text in pages. */
#include "tap.h"
#include "view/csv_table.h"
#include "view/json_table.h"
#include "view/markup.h"
#include "view/text_table.h"

#include <stdlib.h>

static void fill(struct table *t)
{
	table_init(t);
	if (!table_column(t, "Overhead", "overhead", CELL_PERCENT) ||
	    !table_column(t, "Name", "name", CELL_STR) ||
	    !table_column(t, "Time", "time", CELL_TIME))
		abort();
	static const struct {
		double share;
		const char *name;
		u64 ns;
	} rows[] = { { 74.5, "say \"hi\", you", 1000000005 },
		     { 25, "plain", 2030000000 },
		     { 0.5, "little", 1 } };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		union cell *c = table_row(t);
		if (!c)
			abort();
		c[0].f = rows[i].share;
		c[1].str = rows[i].name;
		c[2].u = rows[i].ns;
	}
}

static void test_csv(const struct table *t, struct strbuf *s)
{
	strbuf_reset(s);
	ok(!csv_table(t, 25, s), "a table as CSV");
	is_str(strbuf_cstr(s),
	       "overhead,name,time\n"
	       "74.50,\"say \"\"hi\"\", you\",1.000000005\n"
	       "25.00,plain,2.030000000\n",
	       "quotes are doubled, times have all their digits, a row at the limit is there");
}

static void test_json(const struct table *t, struct strbuf *s)
{
	struct json j;
	strbuf_reset(s);
	json_begin(&j, s, JSON_COMPACT);
	ok(!json_table(t, 25, &j) && !json_end(&j), "a table as JSON");
	ok(strstr(strbuf_cstr(s), "\"plain\"") && !strstr(strbuf_cstr(s), "\"little\""),
	   "a row at the limit is there, one below it is not");
}

static void test_text(struct table *t, struct strbuf *s)
{
	strbuf_reset(s);
	t->columns.at[1].fixed_width = 3;
	ok(!text_table(t, &(struct text_table_style){ .header = true }, s), "a table as text");
	ok(strstr(strbuf_cstr(s), "  say  ") && !strstr(strbuf_cstr(s), "say "
									"\""),
	   "a column of a fixed width cuts its cells");
}

static void test_markup(struct strbuf *s)
{
	static const char text[] = "<a href=\"x\">&\x01\xff</a>";
	strbuf_reset(s);
	markup_text(text, sizeof(text) - 1, s);
	is_str(strbuf_cstr(s), "&lt;a href=&quot;x&quot;&gt;&amp; \xef\xbf\xbd&lt;/a&gt;",
	       "nothing leaves the attribute it stands in");
}

int main(void)
{
	struct table t;
	struct strbuf s;
	strbuf_init(&s);
	fill(&t);
	test_csv(&t, &s);
	test_json(&t, &s);
	test_text(&t, &s);
	test_markup(&s);
	table_done(&t);
	strbuf_done(&s);
	return done_testing();
}
