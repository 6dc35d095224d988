/*
 * Results are models (table, tree, series, histogram), and a view is one way to write them. An analysis makes a model and calls the
 * operations of the format that was asked for; it needs no strbuf of its own.
 *
 *	const struct view_ops *v = view_find("csv");
 *	err = v->table(&table, &style, &app->out);
 *
 * Layouts that other tools fixed (perf's stat rows, annotate, event lines) have functions of their own beside these; call graphs below rows
 * are part of `table`.
 */
#pragma once

#include "base/strbuf.h"
#include "model/histogram.h"
#include "model/series.h"
#include "model/table.h"
#include "view/text_table.h"

struct view_style {
	const char *title; /* of a page or screen; NULL: none */
	struct text_table_style table; /* min_percent holds for all formats, the rest is about text */
	bool rates; /* series: counters and deltas per second, else as they are */
	bool colour; /* terminal */
};

/* Each returns 0 or negative errno; the terminal also -ENOTTY: it cannot draw, nothing was shown. */
struct view_ops {
	const char *name; /* "text" */
	int (*table)(const struct table *t, const struct view_style *s, struct strbuf *to);
	int (*tree)(const struct tree *t, const struct view_style *s, struct strbuf *to);
	int (*series)(const struct series *v, const struct view_style *s, struct strbuf *to);
	int (*histogram)(struct histogram *h, const struct view_style *s, struct strbuf *to);
};

extern const struct view_ops view_text, view_csv, view_json, view_html;
extern const struct view_ops view_terminal; /* interactive, until the user leaves; `to` is not written to */

/* "text", "csv", "json", "html", "terminal"; NULL: unknown. */
const struct view_ops *view_find(const char *name);
