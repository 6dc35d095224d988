#include "view/csv_table.h"

#include <math.h>
#include <string.h>

static void quoted(const char *text, struct strbuf *to)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		strbuf_str(to, text);
		return;
	}
	strbuf_char(to, '"');
	for (; *text; text++) {
		if (*text == '"')
			strbuf_char(to, '"');
		strbuf_char(to, *text);
	}
	strbuf_char(to, '"');
}

static void one_value(const struct column *c, const union cell *v, u32 i, struct strbuf *to)
{
	switch (c->type) {
	case CELL_STR: quoted(v->str ? v->str : "", to); break;
	case CELL_S64: strbuf_s64(to, v->s); break;
	case CELL_PERCENT: strbuf_printf(to, "%.2f", c->nr_values ? v->fs[i] : v->f); break;
	case CELL_FLOAT:
		if (!isnan(v->f))
			strbuf_printf(to, "%.*f", c->digits, v->f);
		break;
	case CELL_CLOCK:
	case CELL_TIME:
		strbuf_printf(to, "%llu.%09llu", (unsigned long long)(v->u / 1000000000),
			      (unsigned long long)(v->u % 1000000000));
		break;
	default: strbuf_u64(to, c->nr_values ? v->us[i] : v->u); break;
	}
}

static void names(const struct table *t, struct strbuf *to)
{
	strbuf_str(to, t->nr_levels ? "level," : "");
	for (size_t col = 0; col < t->columns.nr; col++) {
		const struct column *c = &t->columns.at[col];
		for (u32 i = 0; i < max(c->nr_values, 1u); i++) {
			strbuf_str(to, col || i ? "," : "");
			quoted(c->key, to);
			if (c->nr_values)
				strbuf_printf(to, ".%u", i);
		}
	}
	strbuf_char(to, '\n');
}

int csv_table_rows(const struct table *t, double min_percent, struct strbuf *to)
{
	for (size_t row = 0; row < t->nr_rows; row++) {
		if (table_share(t, row) < min_percent)
			continue;
		if (t->nr_levels)
			strbuf_printf(to, "%u,", t->depths.at[row]);
		for (size_t col = 0; col < t->columns.nr; col++) {
			const struct column *c = &t->columns.at[col];
			for (u32 i = 0; i < max(c->nr_values, 1u); i++) {
				strbuf_str(to, col || i ? "," : "");
				one_value(c, &table_cells(t, row)[col], i, to);
			}
		}
		strbuf_char(to, '\n');
	}
	return to->err;
}

int csv_table(const struct table *t, double min_percent, struct strbuf *to)
{
	names(t, to);
	return csv_table_rows(t, min_percent, to);
}
