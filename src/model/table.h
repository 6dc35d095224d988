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
};

struct column {
	const char *name; /* "Overhead" */
	const char *key; /* "overhead": JSON and CSV */
	enum cell_type type;
	u32 min_width;
	bool last; /* no padding behind it */
};

union cell {
	const char *str; /* borrowed from the table's arena or from whoever outlives it */
	u64 u;
	s64 s;
	double f;
};

struct table {
	struct arena arena;
	VEC(struct column) columns;
	VEC(union cell) cells; /* row-major */
	size_t nr_rows;
	/* The tree under a row, made when asked for and valid until the next call; NULL: tables without trees. */
	int (*tree_of)(void *ctx, size_t row, struct tree *ret);
	void *ctx;
	u64 total; /* what 100 % is, for trees */
};

void table_init(struct table *t);
void table_done(struct table *t);
struct column *table_column(struct table *t, const char *name, const char *key, enum cell_type type);
/* A zeroed row of as many cells as there are columns, or NULL. */
union cell *table_row(struct table *t);
static inline const union cell *table_cells(const struct table *t, size_t row)
{
	return &t->cells.at[row * t->columns.nr];
}
