#include "model/table.h"

#include <string.h>

void table_init(struct table *t)
{
	*t = (struct table){ 0 };
	arena_init(&t->arena);
}

void table_done(struct table *t)
{
	vec_free(&t->columns);
	vec_free(&t->cells);
	vec_free(&t->weights);
	vec_free(&t->depths);
	arena_done(&t->arena);
}

struct column *table_column(struct table *t, const char *name, const char *key, enum cell_type type)
{
	struct column *c = vec_push(&t->columns);
	if (c)
		*c = (struct column){ .name = name, .key = key, .type = type };
	return c;
}

union cell *table_row(struct table *t)
{
	size_t nr = t->columns.nr;
	if (!vec_reserve(&t->cells, t->cells.nr + nr))
		return NULL;
	union cell *row = &t->cells.at[t->cells.nr];
	memset(row, 0, nr * sizeof(*row));
	t->cells.nr += nr;
	t->nr_rows++;
	return row;
}

double table_share(const struct table *t, size_t row)
{
	if (row < t->weights.nr)
		return t->total ? 100.0 * (double)t->weights.at[row] / (double)t->total : 0;
	const struct column *first = t->columns.nr ? t->columns.at : NULL;
	return first && first->type == CELL_PERCENT && !first->nr_values ? table_cells(t, row)[0].f
									 : 100;
}
