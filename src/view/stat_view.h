/* What the three layouts of `stat` (text, CSV, JSON lines) have in common. The layouts are perf's. */
#pragma once

#include "base/strbuf.h"
#include "model/stat.h"

/* How numbers are written in text; CSV and JSON always have "1234.5". */
struct stat_digits {
	char separator[8]; /* between groups; "": no groups */
	char grouping[8]; /* sizes of the groups, as localeconv() has them */
	char point[8]; /* "" is "." */
};

struct stat_view {
	struct strbuf *to;
	struct stat_digits digits;
	const char *separator; /* of CSV */
	bool colour;
};

/* --metric-only: the columns are the ratios of the events, in order; rates are left out. */
bool stat_view_is_column(const struct stat_ratio *r);
/* "GHz", or with the event's name where the unit does not say it: "branch-misses of all branches". */
void stat_view_column(const struct stat_head *h, const struct stat_row *row,
		      const struct stat_ratio *r, struct strbuf *to);
/* Decimals of a count: two where its scale is no whole number, as perf has them. */
int stat_view_decimals(const struct stat_event *e);
/* The share of time in which a row's counters had the hardware, percent. */
double stat_view_share(const struct stat_row *row);
/* The number of a ratio without blanks and signs: "12.34". */
void stat_view_plain(const struct stat_ratio *r, struct strbuf *to);
/* "S0-D1-C3", "CPU0", "comm-123"; nothing for STAT_BY_ALL. */
void stat_view_key(const struct stat_head *h, const struct stat_row *row, struct strbuf *to);
/* Whether rows tell how many CPUs they stand for. */
bool stat_view_has_places(enum stat_by by);
