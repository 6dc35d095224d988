/*
 * A series as it grows, a row at a time: lines of columns below two lines of titles, a table with a line for each device, CSV, JSON Lines.
 * For columns that have parts (model/series.h). Whole series are view.h's.
 */
#pragma once

#include "base/strbuf.h"
#include "model/series.h"

/* What is shown beside the numbers of a row: the process that used most CPU time in its interval. */
struct series_process {
	s32 pid; /* 0: none used any, or it is not known */
	const char *command;
	double cpu_percent; /* of one CPU */
};

struct series_lines {
	bool colour; /* numbers only, by unit */
	bool stamped; /* lines begin with the time of day */
	bool plain; /* blanks between parts, names above the ends of their numbers */
	bool dated; /* lines begin with day and time, below a title of its own */
	const struct series_process *process; /* NULL: not shown */
};

/* The two lines of titles. */
void series_lines_head(const struct series *s, const struct series_lines *o, struct strbuf *to);
void series_lines_row(const struct series *s, size_t row, const struct series_lines *o,
		      struct strbuf *to);
/* A line of other values, one for each column, as those of a row are written. */
void series_lines_values(const struct series *s, const double *values, const char *stamp,
			 const struct series_lines *o, struct strbuf *to);
/* A line for each part, below the names of the columns, which are the same for all. */
void series_lines_table(const struct series *s, size_t row, const char *first, const char *stamp,
			const double *values, const struct series_lines *o, struct strbuf *to);

/* p: NULL: not shown. */
void series_lines_csv_head(const struct series *s, const struct series_process *p,
			   struct strbuf *to);
void series_lines_csv(const struct series *s, size_t row, const struct series_process *p,
		      struct strbuf *to);
/*
 * {"time":..., "interval_s":..., "since_boot":..., "cpu":{"user":...}, "disk":{"vda":{"read":...}}} and a newline; p: as
 * "top_process":{"pid":...}. 0 or negative errno.
 */
int series_lines_json(const struct series *s, size_t row, double interval_s, bool since_boot,
		      const struct series_process *p, struct strbuf *to) must_check;

/* A number in so many characters: "84k ", "9.38", "  -". */
void series_lines_number(double v, const struct series_look *look, struct strbuf *to);
