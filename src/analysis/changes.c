#include "analysis/changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS_MIN = 8 }; /* with fewer nothing is usual */
#define BEYOND	    3.0 /* usual distances that are no news */
#define LEAST_SHARE 0.05 /* of the usual value: what is steadier than this counts as this steady */
#define LEAST_REACH 0.1 /* the same of the largest distance, for what is usually 0 */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double median(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), by_size);
	return nr % 2 ? v[nr / 2] : (v[nr / 2 - 1] + v[nr / 2]) / 2;
}

/* The run of rows with the largest sum of excess, up (sign 1) or down (-1). */
static struct column_change best_run(const struct series *s, size_t column, double usual,
				     double spread, double sign)
{
	struct column_change best = { .column = column, .usual = usual };
	double sum = 0, values = 0;
	size_t first = 0;
	for (size_t row = 0; row < s->nr_rows; row++) {
		double v = series_number(s, row, column);
		double excess = isnan(v) ? -BEYOND : sign * (v - usual) / spread - BEYOND;
		if (sum <= 0) {
			sum = values = 0;
			first = row;
		}
		sum += excess;
		values += isnan(v) ? usual : v;
		if (sum <= best.score)
			continue;
		best.score = sum;
		best.rows = row - first + 1;
		best.during = values / (double)best.rows;
		best.from_ns = series_since(s, first);
		best.to_ns = series_time(s, row);
	}
	return best;
}

static int find_one(const struct series *s, size_t column, double *room, struct changes *to)
{
	size_t nr = 0;
	for (size_t row = 0; row < s->nr_rows; row++)
		if (!isnan(series_number(s, row, column)))
			room[nr++] = series_number(s, row, column);
	if (nr < ROWS_MIN)
		return 0;
	double usual = median(room, nr);
	for (size_t i = 0; i < nr; i++)
		room[i] = fabs(room[i] - usual);
	double spread = median(room, nr);
	double largest = room[nr - 1];
	/* A column that is nearly always the same would make a mountain of a molehill. */
	spread = max(spread, max(fabs(usual) * LEAST_SHARE, largest * LEAST_REACH));
	if (!(spread > 0))
		return 0;
	struct column_change up = best_run(s, column, usual, spread, 1);
	struct column_change down = best_run(s, column, usual, spread, -1);
	const struct column_change *best = up.score >= down.score ? &up : &down;
	if (!best->rows)
		return 0;
	struct column_change *slot = vec_push(&to->list);
	if (!slot)
		return -ENOMEM;
	*slot = *best;
	return 0;
}

static int by_score(const void *a, const void *b)
{
	const struct column_change *x = a, *y = b;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->column < y->column ? -1 : x->column > y->column;
}

int changes_find(const struct series *s, struct changes *to)
{
	double *room = calloc(max(s->nr_rows, (size_t)1), sizeof(*room));
	int err = room ? 0 : -ENOMEM;
	for (size_t i = 0; i < s->columns.nr && !err; i++)
		err = find_one(s, i, room, to);
	free(room);
	if (!err && to->list.nr)
		qsort(to->list.at, to->list.nr, sizeof(*to->list.at), by_score);
	return err;
}

void changes_done(struct changes *c)
{
	vec_free(&c->list);
}
