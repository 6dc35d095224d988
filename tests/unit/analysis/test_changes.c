/* Stretches that differ: planted in noise, upwards and downwards, and series in which nothing stands out. */
#include "analysis/changes.h"
#include "tap.h"

#include <math.h>

enum { ROWS = 200 };
#define SECOND 1000000000ull

static double noise(unsigned i)
{
	return (double)(i * 2654435761u >> 24) / 256 - 0.5; /* -0.5 to 0.5 */
}

static void fill(struct series *s)
{
	series_init(s, ROWS, SERIES_KEEP_LAST);
	static const char *const names[] = { "up",   "down", "steady", "noisy",
					     "zero", "once", "missing" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (series_column(s, names[i], names[i], "", SERIES_GAUGE))
			return;
	for (unsigned row = 0; row < ROWS; row++) {
		union series_value *v;
		if (series_row(s, (row + 1) * SECOND, &v))
			return;
		v[0].number = 100 + 5 * noise(row) + (row >= 50 && row < 90 ? 400 : 0);
		v[1].number = 1000 + 20 * noise(row + 7) - (row >= 120 && row < 130 ? 900 : 0);
		v[2].number = 42;
		v[3].number = 100 + 100 * noise(row + 3);
		v[4].number = 0;
		v[5].number = row == 77 ? 1e6 : 0;
		v[6].number = NAN;
	}
}

static const struct column_change *of(const struct changes *c, size_t column)
{
	vec_for_each (&c->list, i)
		if (i->column == column)
			return i;
	return NULL;
}

int main(void)
{
	struct series s;
	struct changes c = { 0 };
	fill(&s);
	ok(!changes_find(&s, &c), "changes are looked for");
	const struct column_change *up = of(&c, 0), *down = of(&c, 1), *once = of(&c, 5);
	ok(up && up->from_ns == 50 * SECOND && up->to_ns == 90 * SECOND,
	   "when a column was higher");
	ok(up && fabs(up->usual - 100) < 5 && fabs(up->during - 500) < 5,
	   "its usual value, and that of the stretch");
	ok(down && down->from_ns == 120 * SECOND && down->to_ns == 130 * SECOND,
	   "when one was lower");
	ok(down && fabs(down->during - 100) < 10, "its value then");
	ok(!of(&c, 2) && !of(&c, 4) && !of(&c, 6),
	   "nothing of what never changes, or is not known");
	ok(!of(&c, 3), "nothing of what is always noisy");
	ok(once && once->rows == 1 && once->from_ns == 77 * SECOND, "a single spike over nothing");
	ok(c.list.nr && c.list.at[0].column == 0, "the longest and largest comes first");
	changes_done(&c);
	series_done(&s);

	series_init(&s, 16, SERIES_KEEP_LAST);
	ok(!changes_find(&s, &c) && !c.list.nr, "an empty series");
	changes_done(&c);
	series_done(&s);
	return done_testing();
}
