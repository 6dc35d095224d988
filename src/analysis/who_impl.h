/* What who.c and who_columns.c share. */
#pragma once

#include "analysis/who.h"

struct who_row {
	const struct task *t;
	const struct task *before; /* NULL: it began in this interval */
	u32 depth; /* of a tree */
	u32 sequence; /* in the reading */
};

struct who {
	struct who_env env;
	struct who_readings in;
	const struct who_opts *o;
	double seconds; /* between the readings */
	struct arena *arena; /* of the table: texts of cells */
	VEC(struct who_row) rows;
	VEC(union cell) keys; /* [sequence]: what rows are sorted by */
	VEC(u32) links; /* scratch of the tree */
	VEC(bool) placed;
	struct {
		VEC(const struct task *) tasks;
	} shown; /* [row of the table] */
	struct who_summary summary;
};

/* What the cell of a column is for a row: NAN where a number is not known, NULL where a text is not. */
void who_cell(const struct who *w, const struct who_row *r, u16 column, union cell *to);
u64 who_cpu_ns(const struct who *w, const struct task *t);
