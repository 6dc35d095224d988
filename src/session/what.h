/*
 * The engine of `sonde what`: chosen groups (what_groups.h) become cells, each with the items of counter files (kern/counter_file) that it is
 * computed from. A reading adds a row to the series.
 *
 *	what_init, what_choose..., what_event...   what is asked for
 *	what_start                                 files are opened, cells made
 *	what_read                                  a row of `series`; when devices came or went, `series` is a new one
 *	what_done
 *
 * The values of a row are those of the interval: rates, shares, states. Totals, for OpenMetrics, are computed from the items.
 */
#pragma once

#include "base/diag.h"
#include "base/opts.h"
#include "kern/counter_file.h"
#include "session/what_groups.h"

struct what_chosen {
	const struct what_group *group;
	const char *rows; /* "vda,total"; "all": each; NULL: the total */
	struct what_rows listed; /* where rows have files of their own: those that are there now */
};

struct what_file {
	struct counter_file file;
	u64 generation; /* of the items that cells are bound to */
	int err; /* of the last read */
};

/* An item that goes into a cell. */
struct what_term {
	u32 file, item;
	s8 sign;
};

struct what_cell {
	const struct what_column *column;
	u32 terms, nr_terms; /* of what->terms */
	u32 per, nr_per;
};

struct what_part {
	const struct what_group *group;
	char *row; /* "total", "vda"; "": the group has no rows */
	u32 cells, nr_cells;
};

struct what_events; /* counters of -e, what_events.c */

struct what_engine {
	const struct sysroot *root;
	VEC(struct what_chosen) chosen;
	VEC(struct what_file) files;
	VEC(struct what_part) parts;
	VEC(struct what_cell) cells;
	VEC(struct what_term) terms;
	struct what_events *events; /* NULL: none; their columns are the last */
	struct series series;
	u64 generation; /* of the series: grows when columns have changed */
	size_t max_rows; /* of the series */
	u64 read_ns; /* CLOCK_MONOTONIC of the last reading; 0: there was none */
	double seconds; /* of its interval */
	bool since_boot; /* its interval began at boot */
	double *sums; /* [column]: value times seconds, for averages */
	double sum_seconds;
	double *row; /* [column]: being made */
};

void what_init(struct what_engine *w, const struct sysroot *root, size_t max_rows);
void what_done(struct what_engine *w);
/* rows: borrowed. 0 or -ENOMEM. */
int what_choose(struct what_engine *w, const struct what_group *g, const char *rows) must_check;
/* Events of the event language, counted on all CPUs; labels are those of the command's options. 0, or negative errno with a diag. */
int what_count_events(struct what_engine *w, const struct opt_list *events,
		      struct diag *d) must_check;
/* Opens, and reads for the first time. What cannot be read is a warning, unless nothing can. */
int what_start(struct what_engine *w, struct diag *d) must_check;
/* A row of what happened since the reading before; since_boot: since boot, of what was read by what_start(). 0 or negative errno. */
int what_read(struct what_engine *w) must_check;
int what_read_since_boot(struct what_engine *w) must_check;
/* How much the fields of a column have grown in the last interval, and those it is divided by (NAN: none, or not known). Of a state: its value. */
void what_growth(const struct what_engine *w, size_t column, double *of, double *per);
/* What growth is multiplied by. */
double what_scale(const struct what_engine *w, size_t column);
/* The series has its columns: room for their values. Who fills the series itself calls it. 0 or -ENOMEM. */
int what_columns_made(struct what_engine *w) must_check;
/* A row of values that come from elsewhere, of an interval of w->seconds. 0 or negative errno. */
int what_put_row(struct what_engine *w, u64 wall_ns, const double *values) must_check;
/* The mean of a column over all intervals that were read; NAN: none. */
double what_average(const struct what_engine *w, size_t column);
/* The total of a column, in the unit that its rate has without the time; NAN: it has none. */
double what_total(const struct what_engine *w, size_t column);
/* The column that column `column` of the series shows; NULL: an event. */
const struct what_column *what_column_at(const struct what_engine *w, size_t column);

/* ---- what_events.c ---- */

struct what_events *what_events_open(const struct sysroot *root, const struct opt_list *events,
				     struct diag *d); /* NULL: see the diag */
void what_events_close(struct what_events *e);
size_t what_events_nr(const struct what_events *e);
const char *what_event_name(const struct what_events *e, size_t i);
void what_events_read(struct what_events *e);
/* Counts since the reading before, or in all; NAN: it cannot be counted here. */
double what_event_change(const struct what_events *e, size_t i);
double what_event_total(const struct what_events *e, size_t i);
