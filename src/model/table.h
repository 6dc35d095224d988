/*
 * A table any view can render: typed columns, rows of cells, and optionally a tree under each row. Analyses fill it;
 * text, CSV and JSON come from the same object.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "model/tree.h"

enum cell_type {
	CELL_STR,
	CELL_U64,
	CELL_S64,
	CELL_PERCENT, /* double, 0..100 */
	CELL_HEX,
	CELL_NS, /* u64 nanoseconds */
	CELL_NUMBER, /* u64, as wide as it is */
	CELL_TIME, /* u64 nanoseconds, shown as seconds with six digits, or column.digits 9 */
	CELL_CLOCK, /* u64 nanoseconds of CPU time or age, shown as minutes: 12:34, or 12:34.56 with column.digits 2 */
	CELL_FLOAT, /* double with column.digits decimals; NAN: nothing is known, shown as "-" */
};

/* What the text of a CELL_STR is made of, for views whose readers want the parts. */
enum cell_text {
	TEXT_PLAIN,
	TEXT_SYMBOL, /* "[k] vfs_read": the level the code runs at, and its name */
	TEXT_TASK, /* "  1234:bash" */
	TEXT_NUMBER, /* decimal, or a word where there is no number */
};

/* As top writes them: 1024, 1.0m, 20.5t. */
enum memory_unit { MEMORY_AS_IS, MEMORY_KIB, MEMORY_MIB, MEMORY_GIB, MEMORY_TIB, MEMORY_PIB };

struct column {
	const char *name; /* "Overhead" */
	const char *key; /* "overhead": JSON and CSV */
	enum cell_type type;
	enum cell_text text; /* of CELL_STR */
	u32 min_width;
	u32 fixed_width; /* cells are cut to it; 0: as wide as the widest */
	u8 digits; /* of CELL_S64: padded with zeros to so many; of CELL_FLOAT and CELL_CLOCK: decimals */
	bool left, right; /* other than its type does */
	bool loose; /* no padding after it where it stands last */
	bool last; /* it does */
	u8 memory; /* of numbers in KiB: text in this enum memory_unit, or the first one after it in which it fits min_width; 0: as it is */
	u32 nr_values; /* numbers that stand side by side in a cell (a group of events); 0: it is one number */
	u32 level; /* of a table with levels: where names of this column stand */
};

union cell {
	const char *str; /* borrowed from the table's arena or from whoever outlives it */
	u64 u;
	s64 s;
	double f;
	const double *fs; /* column.nr_values of them */
	const u64 *us;
};

struct table {
	struct arena arena;
	VEC(struct column) columns;
	VEC(union cell) cells; /* row-major */
	size_t nr_rows;
	u32 nr_levels; /* rows within rows: names stand in one column, each below its parent; 0: a plain table */
	VEC(u32)
	depths; /* [row]; only cells of that level's columns are filled, the other strings are NULL */
	VEC(u64) weights; /* [row]: its part of total; empty: nobody asks */
	/* The tree under a row, made when asked for and valid until the next call; NULL: tables without trees. */
	int (*tree_of)(void *ctx, size_t row, struct tree *ret);
	void *ctx;
	/* Another ctx, for tree_of on another thread; NULL: trees are made by one thread only. */
	void *(*ctx_new)(void *ctx);
	void (*ctx_free)(void *ctx);
	unsigned workers; /* that are worth starting for all rows; 0: one */
	u64 total; /* what 100 % is, for trees */
};

void table_init(struct table *t);
void table_done(struct table *t);
struct column *table_column(struct table *t, const char *name, const char *key, enum cell_type type);
/* A row's part of the total in percent: by its weight, else by its first cell; 100 where nobody knows. */
double table_share(const struct table *t, size_t row);
/* A zeroed row of as many cells as there are columns, or NULL. */
union cell *table_row(struct table *t);
static inline const union cell *table_cells(const struct table *t, size_t row)
{
	return &t->cells.at[row * t->columns.nr];
}
