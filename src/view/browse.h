/*
 * A table one can walk through: which lines are to be seen now, given what was opened, searched and filtered. It knows nothing of
 * a terminal; tui_table draws it, and tests ask it for lines.
 *
 *	row                     + or - when it has a call graph
 *	  node, first label     + or - when more is behind it
 *	    its other labels, then its children
 */
#pragma once

#include "base/strbuf.h"
#include "model/table.h"

struct browse_line {
	size_t row; /* of the table */
	u32 node; /* of the row's graph; TREE_NONE: the row itself */
	u32 depth; /* 0: the row */
	char sign; /* '+' closed, '-' open, ' ' nothing behind it */
	bool has_percent;
	double percent;
	const char *label; /* of a node; borrowed until the next change */
};

struct browse;

/* The table is borrowed and must not change; names that were zoomed into stay valid without it. fractal: shares of the parent, as in the text. NULL: no memory. */
struct browse *browse_new(const struct table *t, bool fractal);
void browse_free(struct browse *b);

/*
 * The table was made anew: order, filters, search and what is open are those of `from`, as far as its rows are in this one too. Rows are the
 * same where all their names are. *line: of `from`, then of this one; the row's first line where there is no such line, the same
 * number where there is no such row.
 */
int browse_take_over(struct browse *b, const struct browse *from, size_t *line) must_check;

size_t browse_nr_lines(const struct browse *b);
struct browse_line browse_line(const struct browse *b, size_t line);
/* What the shown rows weigh together, in percent of the whole: with filters, what zooming in has left. */
double browse_shown_percent(const struct browse *b);
/* Of which column: "Self" where there is one, since what is in Children counts in several rows. */
const char *browse_shown_column(const struct browse *b);
size_t browse_nr_rows(const struct browse *b); /* shown */

/* Opens or closes what the line stands for; returns 1 if anything changed, 0, or negative errno. */
int browse_toggle(struct browse *b, size_t line) must_check;
/* Opens (or closes) it and everything below. */
int browse_open(struct browse *b, size_t line, bool open) must_check;
/* All rows with everything below; rows that are opened are limited, so that this ends. 1: there were more. */
int browse_open_all(struct browse *b, bool open) must_check;

/*
 * Rows in the order of a column: numbers from the largest, names by the alphabet, rows that are equal as the table has them. The table's
 * own order: columns.nr. Graphs stay open.
 */
int browse_sort(struct browse *b, size_t column) must_check;
size_t browse_sorted(const struct browse *b); /* by which; columns.nr: as the table is */
/* Only rows whose column `key` ("dso", "comm") is what it is in this line. 0: there is no such column, or it is in force already. */
int browse_zoom(struct browse *b, const char *key, size_t line) must_check;
/* Only rows in which text occurs (any name, or a label of an open graph); "" or NULL: no such limit. */
int browse_search(struct browse *b, const char *text) must_check;
/* Takes back the last zoom, then the search. False: there was none. */
bool browse_back(struct browse *b);
const char *browse_text(const struct browse *b); /* searched for; "" */
/* "dso: libc.so.6, comm: cat, 'read'" or nothing. */
void browse_filters(const struct browse *b, struct strbuf *to);

/* The next line (after the given one, or before it) in which the searched text occurs; the line itself if there is none. */
size_t browse_next_match(const struct browse *b, size_t line, bool backwards);
/* Where the row's own line is now: after a change the same row is found again. browse_nr_lines() if it is hidden. */
size_t browse_find_row(const struct browse *b, size_t row);
