/* `stat` for people: rows with the ratios after a '#', as perf prints them. */
#pragma once

#include "view/stat_view.h"

/* The line of column names: before intervals, and before --metric-only's rows. */
void text_stat_columns(const struct stat_view *v, const struct stat_head *h,
		       const struct stat_rows *rows);
void text_stat_rows(const struct stat_view *v, const struct stat_head *h,
		    const struct stat_rows *rows);

/* " Performance counter stats for 'true' (3 runs):" with its blank lines; target is what follows "for". */
void text_stat_title(const struct stat_view *v, const char *target, u32 nr_runs);

struct stat_times {
	const double *elapsed_s; /* of each run */
	u32 nr_runs;
	double mean_s, error_s; /* of elapsed_s */
	bool table; /* the runs one by one */
	bool has_usage; /* the command's own seconds: */
	double user_s, system_s;
};
void text_stat_times(const struct stat_view *v, const struct stat_times *t);
