#include "session/what_openmetrics.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static void put_name(struct strbuf *to, const char *text)
{
	for (; *text; text++)
		strbuf_char(to, isalnum((unsigned char)*text) ? *text : '_');
}

static void put_label(struct strbuf *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			strbuf_char(to, '\\');
		if (*text == '\n')
			strbuf_str(to, "\\n");
		else
			strbuf_char(to, *text);
	}
}

/* "sonde_disk_read_bytes": the unit is the end of the name, as the format wants it. */
static void put_metric(const struct what_engine *w, size_t i, bool counter, struct strbuf *to)
{
	const struct series_column *c = &w->series.columns.at[i];
	const struct what_column *column = what_column_at(w, i);
	const char *unit = !column ? "" : counter ? column->unit->total : column->unit->name;
	strbuf_str(to, "sonde_");
	put_name(to, c->part.group);
	strbuf_char(to, '_');
	put_name(to, c->key);
	if (!strcmp(unit, "%"))
		unit = "percent";
	if (*unit && strcmp(unit, "1/s") && strcmp(unit, "tasks")) {
		strbuf_char(to, '_');
		put_name(to, !strcmp(unit, "kB") ? "kilobytes" : unit);
	}
}

static bool same_metric(const struct series_column *a, const struct series_column *b)
{
	return !strcmp(a->part.group, b->part.group) && !strcmp(a->key, b->key);
}

static bool is_counter(const struct what_engine *w, size_t i)
{
	const struct what_column *c = what_column_at(w, i);
	return !c || (c->how == WHAT_RATE && c->unit->total);
}

static double value_of(const struct what_engine *w, size_t i)
{
	return is_counter(w, i) ? what_total(w, i)
				: series_number(&w->series, w->series.nr_rows - 1, i);
}

double what_metric(const struct what_engine *w, size_t column, struct strbuf *name)
{
	strbuf_reset(name);
	put_metric(w, column, is_counter(w, column), name);
	if (is_counter(w, column))
		strbuf_str(name, "_total");
	return value_of(w, column);
}

static void put_value(const struct what_engine *w, size_t i, bool counter, struct strbuf *to)
{
	const struct series_column *c = &w->series.columns.at[i];
	double v = value_of(w, i);
	if (isnan(v))
		return;
	put_metric(w, i, counter, to);
	if (counter)
		strbuf_str(to, "_total");
	if (*c->part.row) {
		strbuf_str(to, "{name=\"");
		put_label(to, c->part.row);
		strbuf_str(to, "\"}");
	}
	strbuf_printf(to, " %.15g\n", v);
}

void what_openmetrics(const struct what_engine *w, struct strbuf *to)
{
	const struct series *s = &w->series;
	for (size_t i = 0; s->nr_rows && i < s->columns.nr; i++) {
		bool counter = is_counter(w, i), known = false;
		/* The values of a metric stand together, below its head. */
		for (size_t k = 0; k < i && !known; k++)
			known = same_metric(&s->columns.at[k], &s->columns.at[i]);
		if (known)
			continue;
		const struct what_column *column = what_column_at(w, i);
		strbuf_str(to, "# TYPE ");
		put_metric(w, i, counter, to);
		strbuf_str(to, counter ? " counter\n# HELP " : " gauge\n# HELP ");
		put_metric(w, i, counter, to);
		strbuf_char(to, ' ');
		strbuf_str(to, column ? column->about : "times the event happened");
		strbuf_char(to, '\n');
		for (size_t k = i; k < s->columns.nr; k++)
			if (same_metric(&s->columns.at[k], &s->columns.at[i]))
				put_value(w, k, counter, to);
	}
	strbuf_str(to, "# EOF\n");
}
