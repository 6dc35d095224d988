/* What `sonde diff` has compared, as perf's table and as JSON. */
#include "session/diff.h"
#include "base/num.h"
#include "view/json_table.h"
#include "view/text_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PERCENT_COLUMNS = 8, VALUE_COLUMNS = 14, FORMULA_COLUMNS = 70 };

struct diff_layout {
	u32 baseline, value, period, base_period;
	u32 *keys;
	char suffix[DIFF_FILES_MAX][NUM_DIGITS_MAX + 2]; /* "/1" when there are more than two files */
};

static const struct {
	const char *name;
	u32 width;
} compute_columns[] = {
	[DIFF_DELTA] = { "Delta", 7 },
	[DIFF_DELTA_ABS] = { "Delta Abs", 7 },
	[DIFF_RATIO] = { "Ratio", VALUE_COLUMNS },
	[DIFF_WDIFF] = { "Weighted diff", VALUE_COLUMNS },
};

/* A separator inside a cell would make two of it. */
static void add_separated(const struct diff *d, const char *text, struct strbuf *to)
{
	for (; *text; text++)
		strbuf_char(to, *text == *d->opts->separator ? '.' : *text);
}

/* before: what stands between it and the cell to its left. */
static void add_cell(const struct diff *d, const char *before, const char *text, u32 width,
		     bool left, struct strbuf *to)
{
	strbuf_str(to, before);
	if (d->opts->separator)
		add_separated(d, text, to);
	else if (left)
		strbuf_left(to, text, width);
	else
		strbuf_right(to, text, width);
}

static const char *between(const struct diff *d)
{
	return d->opts->separator ? d->opts->separator : "  ";
}

static void add_title(const struct diff *d, const struct diff_layout *y, bool dots,
		      const char *name, u32 file, u32 width, struct strbuf *to)
{
	struct strbuf s;
	strbuf_init(&s);
	if (dots)
		strbuf_fill(&s, '.', width);
	else
		strbuf_printf(&s, "%s%s", name, y->suffix[file]);
	/* A name is the same in every table, whatever separates it. */
	strbuf_str(to, between(d));
	if (d->opts->separator)
		strbuf_str(to, strbuf_cstr(&s));
	else
		strbuf_right(to, strbuf_cstr(&s), width);
	strbuf_done(&s);
}

static void add_heading(const struct diff *d, const struct diff_layout *y, bool dots,
			struct strbuf *to)
{
	const struct table *t = &d->inputs[0].table;
	const struct diff_opts *o = d->opts;
	struct strbuf line;
	strbuf_init(&line);
	add_title(d, y, dots, "Baseline", 0, y->baseline, &line);
	if (o->period)
		add_title(d, y, dots, "Base period", 0, y->base_period, &line);
	for (u32 f = 1; f < d->nr; f++) {
		add_title(d, y, dots, compute_columns[d->compute].name, f, y->value, &line);
		if (o->formula)
			add_title(d, y, dots, "Formula", f, FORMULA_COLUMNS, &line);
		if (o->period)
			add_title(d, y, dots, "Period", f, y->period, &line);
	}
	for (size_t c = DIFF_KEY_CELL; c < t->columns.nr; c++) {
		strbuf_str(&line, between(d));
		if (dots)
			strbuf_fill(&line, '.', y->keys[c]);
		else
			strbuf_left(&line, t->columns.at[c].name, o->separator ? 0 : y->keys[c]);
	}
	strbuf_str(to, "# ");
	strbuf_str(to, strbuf_cstr(&line) + strlen(between(d)));
	strbuf_char(to, '\n');
	strbuf_done(&line);
}

static void value_text(const struct diff *d, const struct diff_row *r, u32 file, struct strbuf *to)
{
	if (!r->of[file].there)
		return;
	double v = diff_value(d, r, file);
	if (d->compute >= DIFF_RATIO && !r->of[0].there)
		strbuf_str(to, "N/A");
	else if (d->compute == DIFF_RATIO && v > 0)
		strbuf_printf(to, "%.6f", v);
	else if (d->compute == DIFF_WDIFF)
		strbuf_printf(to, "%lld", (long long)v);
	else if (d->compute <= DIFF_DELTA_ABS)
		strbuf_printf(to, "%+4.2f%%", v);
}

/* The numbers that diff_value() takes, and what it does with them. */
static void formula_text(const struct diff *d, const struct diff_row *r, u32 file, struct strbuf *to)
{
	typedef unsigned long long ull;
	ull old = r->of[0].period, new = r->of[file].period;
	if (!r->of[file].there)
		return;
	if (d->compute == DIFF_RATIO)
		strbuf_printf(to, "%llu / %llu", new, old);
	else if (d->compute == DIFF_WDIFF)
		strbuf_printf(to, "(%llu * %lld) - (%llu * %lld)", new, (long long)d->w2, old,
			      (long long)d->w1);
	else
		strbuf_printf(to, "(%llu * 100 / %llu) - (%llu * 100 / %llu)", new,
			      (ull)d->inputs[file].total, old, (ull)d->inputs[0].total);
}

static void add_number(const struct diff *d, u64 v, bool there, u32 width, struct strbuf *to)
{
	char text[NUM_DIGITS_MAX + 1];
	text[num_u64(text, v)] = '\0';
	add_cell(d, between(d), there ? text : "", width, false, to);
}

static void add_file(const struct diff *d, const struct diff_layout *y, const struct diff_row *r,
		     u32 file, struct strbuf *s, struct strbuf *to)
{
	strbuf_reset(s);
	value_text(d, r, file, s);
	add_cell(d, between(d), strbuf_cstr(s), y->value, false, to);
	if (d->opts->formula) {
		strbuf_reset(s);
		formula_text(d, r, file, s);
		add_cell(d, between(d), strbuf_cstr(s), FORMULA_COLUMNS, false, to);
	}
	if (d->opts->period)
		add_number(d, r->of[file].period, r->of[file].there, y->period, to);
}

static void add_row(const struct diff *d, const struct diff_layout *y, const struct diff_row *r,
		    struct strbuf *to)
{
	struct strbuf s;
	bool separated = d->opts->separator;
	strbuf_init(&s);
	s.screen = to->screen;
	if (r->of[0].there)
		strbuf_printf(&s, separated ? "%.2f" : "%.2f%%",
			      diff_percent(r->of[0].period, d->base_total));
	add_cell(d, separated ? "" : between(d), strbuf_cstr(&s), y->baseline, false, to);
	if (d->opts->period)
		add_number(d, r->of[0].period, true, y->base_period, to);
	for (u32 f = 1; f < d->nr; f++)
		add_file(d, y, r, f, &s, to);
	for (size_t c = DIFF_KEY_CELL; c < r->table->columns.nr; c++) {
		const struct column *col = &r->table->columns.at[c];
		bool left = col->type == CELL_STR;
		strbuf_reset(&s);
		text_cell(col, &table_cells(r->table, r->index)[c], &s);
		add_cell(d, between(d), strbuf_cstr(&s), left && col->last ? 0 : y->keys[c], left,
			 to);
	}
	strbuf_char(to, '\n');
	strbuf_done(&s);
}

static int measure(const struct diff *d, struct diff_layout *y)
{
	const struct table *t = &d->inputs[0].table;
	struct strbuf s;
	y->keys = calloc(t->columns.nr + 1, sizeof(*y->keys));
	if (!y->keys)
		return -ENOMEM;
	for (u32 f = 0; d->nr > 2 && f < d->nr; f++) {
		y->suffix[f][0] = '/';
		y->suffix[f][1 + num_u64(y->suffix[f] + 1, f)] = '\0';
	}
	u32 more = (u32)strlen(y->suffix[d->nr - 1]);
	y->baseline = PERCENT_COLUMNS + more;
	y->value = max((u32)strlen(compute_columns[d->compute].name) + more,
		       compute_columns[d->compute].width);
	y->period = y->base_period = VALUE_COLUMNS;
	strbuf_init(&s);
	s.screen = d->tell.out->screen;
	for (size_t c = DIFF_KEY_CELL; c < t->columns.nr; c++)
		y->keys[c] = (u32)strlen(t->columns.at[c].name);
	vec_for_each (&d->rows, r)
		for (size_t c = DIFF_KEY_CELL; c < t->columns.nr; c++) {
			strbuf_reset(&s);
			text_cell(&t->columns.at[c], &table_cells(r->table, r->index)[c], &s);
			y->keys[c] = max(y->keys[c], (u32)s.len);
		}
	int err = s.err;
	strbuf_done(&s);
	return err;
}

int diff_print_text(struct diff *d, const char *event)
{
	struct strbuf *to = d->tell.out;
	struct diff_layout y = { 0 };
	int err = measure(d, &y);
	if (d->any && !d->opts->quiet)
		strbuf_char(to, '\n');
	if (!err && !d->opts->quiet) {
		strbuf_printf(to, "# Event '%s'\n#\n", event);
		if (d->nr > 2) {
			strbuf_str(to, "# Data files:\n");
			for (u32 f = 0; f < d->nr; f++)
				strbuf_printf(to, "#  [%u] %s %s\n", f, d->inputs[f].path,
					      f ? "" : "(Baseline)");
			strbuf_str(to, "#\n");
		}
		add_heading(d, &y, false, to);
		if (!d->opts->separator) {
			add_heading(d, &y, true, to);
			strbuf_str(to, "#\n");
		}
	}
	for (size_t i = 0; i < d->rows.nr && !err; i++)
		add_row(d, &y, &d->rows.at[i], to);
	free(y.keys);
	return err ? err : to->err;
}

static void json_row(const struct diff *d, const struct diff_row *r, struct json *j)
{
	json_object(j);
	for (size_t c = DIFF_KEY_CELL; c < r->table->columns.nr; c++) {
		const struct column *col = &r->table->columns.at[c];
		union cell v = table_cells(r->table, r->index)[c];
		json_cell(col, &v, j);
	}
	json_key(j, "periods");
	json_array(j);
	for (u32 f = 0; f < d->nr; f++)
		json_u64(j, r->of[f].period);
	json_array_end(j);
	json_key(j, "values");
	json_array(j);
	for (u32 f = 1; f < d->nr; f++) {
		bool known = r->of[f].there && (r->of[0].there || d->compute <= DIFF_DELTA_ABS);
		json_double(j, known ? diff_value(d, r, f) : (double)NAN);
	}
	json_array_end(j);
	json_object_end(j);
}

void diff_print_json(const struct diff *d, const char *event, struct json *j)
{
	json_object(j);
	json_put_str(j, "event", event);
	json_key(j, "rows");
	json_array(j);
	vec_for_each (&d->rows, r)
		json_row(d, r, j);
	json_array_end(j);
	json_object_end(j);
}
