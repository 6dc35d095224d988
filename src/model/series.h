/*
 * Values over time: rows at growing times, columns that say what their numbers are. Analyses and samplers append rows, views ask for values or
 * rates.
 *
 *	COUNTER   a total that only grows (packets since boot): its rate is the difference to the row before
 *	GAUGE     a state at that moment (free memory): it has no rate, and is shown as it is
 *	DELTA     an amount since the row before (packets in this interval)
 *
 * Memory is bounded by max_rows, for runs that last days. When they are full, KEEP_LAST drops the oldest row; KEEP_ALL_OF_IT joins neighbours
 * in pairs, and from then on twice as many of those that come, so that the whole time stays at one, coarser resolution: of counters the later
 * total, of deltas the sum, of gauges the mean. Only the newest rows may still be finer.
 * The row before the first one is remembered, so that dropping rows loses no rate.
 *
 * `what` keeps its counters in one, `run` its print-every-interval maps; `stat -I` has perf's own row layout (model/stat.h).
 */
#pragma once

#include "base/arena.h"
#include "base/types.h"
#include "base/vec.h"

enum series_kind { SERIES_COUNTER, SERIES_GAUGE, SERIES_DELTA };
enum series_keep { SERIES_KEEP_LAST, SERIES_KEEP_ALL_OF_IT };

/* Columns that belong together: of one subsystem, and where there are several of one device. */
struct series_part {
	const char *group; /* "disk": JSON and CSV */
	const char *title; /* "dsk/vda": above the columns */
	const char *row; /* "vda"; "": there is only one */
};

/* How a number is written where columns have fixed widths. */
struct series_look {
	u8 width; /* 0: no matter */
	u8 digits; /* after the point */
	u16 base; /* 1000, 1024: scaled to fit, with a letter; 0: as it is */
};

struct series_column {
	const char *name; /* "Receive" */
	const char *key; /* "receive": JSON and CSV */
	const char *unit; /* "bytes", "ns"; "" for plain numbers */
	enum series_kind kind;
	struct series_part part; /* all NULL: none */
	struct series_look look;
};

union series_value {
	u64 total; /* of a COUNTER; SERIES_MISSING */
	double number; /* of the others; NAN: missing */
};
#define SERIES_MISSING UINT64_MAX

struct series {
	struct arena arena; /* of the names */
	VEC(struct series_column) columns;
	enum series_keep keep;
	size_t max_rows;
	size_t first, nr_rows; /* a ring of cap_rows rows */
	size_t cap_rows;
	u64 *times; /* [slot], ns */
	union series_value *values; /* [slot][column] */
	u64 per_row; /* KEEP_ALL_OF_IT: how many of the rows that were added make one; a power of two */
	u64 in_open; /* how many the row before the newest has; 0: there is none */
	bool has_before; /* a row was dropped: */
	u64 before_ns;
	union series_value *before; /* [column] */
};

/* max_rows: at least 4. */
void series_init(struct series *s, size_t max_rows, enum series_keep keep);
void series_done(struct series *s);
/* Before the first row; texts are copied. 0, -EINVAL (there are rows), -ENOMEM. */
int series_column(struct series *s, const char *name, const char *key, const char *unit,
		  enum series_kind kind) must_check;
/* What the last column is part of, and how it looks; texts are copied. 0 or -ENOMEM. */
int series_column_part(struct series *s, const struct series_part *part,
		       const struct series_look *look) must_check;
/*
 * A row whose values are all missing, to be filled before the next call: *ret has one for each column. 0; -EINVAL: the time is not after that
 * of the row before; -ENOMEM.
 */
int series_row(struct series *s, u64 time_ns, union series_value **ret) must_check;

u64 series_time(const struct series *s, size_t row);
/* When the interval of a row began: the time of the row before; its own time when there was none. */
u64 series_since(const struct series *s, size_t row);
const union series_value *series_values(const struct series *s, size_t row);
/* As a number whatever the kind; NAN: missing. */
double series_number(const struct series *s, size_t row, size_t column);
/*
 * What happened since the row before: of a counter the difference, of a delta the amount; NAN for gauges, where one of the two is missing, and where a
 * counter started over (it is smaller than before).
 */
double series_change(const struct series *s, size_t row, size_t column);
/* The change per second; of a gauge its value. */
double series_rate(const struct series *s, size_t row, size_t column);
