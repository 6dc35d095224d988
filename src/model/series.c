#include "model/series.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void series_init(struct series *s, size_t max_rows, enum series_keep keep)
{
	*s = (struct series){ .keep = keep, .max_rows = max(max_rows, (size_t)4), .per_row = 1 };
	arena_init(&s->arena);
}

void series_done(struct series *s)
{
	vec_free(&s->columns);
	free(s->times);
	free(s->values);
	free(s->before);
	arena_done(&s->arena);
	*s = (struct series){ 0 };
}

int series_column(struct series *s, const char *name, const char *key, const char *unit,
		  enum series_kind kind)
{
	if (s->nr_rows)
		return -EINVAL;
	struct series_column c = { .name = arena_strdup(&s->arena, name),
				   .key = arena_strdup(&s->arena, key),
				   .unit = arena_strdup(&s->arena, unit),
				   .kind = kind };
	struct series_column *slot = c.name && c.key && c.unit ? vec_push(&s->columns) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = c;
	return 0;
}

int series_column_part(struct series *s, const struct series_part *part,
		       const struct series_look *look)
{
	struct series_column *c = &s->columns.at[s->columns.nr - 1];
	const struct series_part *last = s->columns.nr > 1 ? &c[-1].part : NULL;
	c->look = *look;
	if (last && last->group && !strcmp(last->group, part->group) &&
	    !strcmp(last->title, part->title) && !strcmp(last->row, part->row)) {
		c->part = *last;
		return 0;
	}
	c->part = (struct series_part){ .group = arena_strdup(&s->arena, part->group),
					.title = arena_strdup(&s->arena, part->title),
					.row = arena_strdup(&s->arena, part->row) };
	return c->part.group && c->part.title && c->part.row ? 0 : -ENOMEM;
}

/* ---- the ring ---- */

static size_t slot_of(const struct series *s, size_t row)
{
	size_t slot = s->first + row;
	return slot < s->cap_rows ? slot : slot - s->cap_rows;
}

static union series_value *values_at(const struct series *s, size_t row)
{
	return &s->values[slot_of(s, row) * s->columns.nr];
}

/* Only until max_rows are there, and nothing was dropped: rows are in order from slot 0. */
static int grow(struct series *s)
{
	size_t cap = min(max(s->cap_rows * 2, (size_t)16), s->max_rows), nr = s->columns.nr;
	u64 *times = reallocarray(s->times, cap, sizeof(*times));
	if (!times)
		return -ENOMEM;
	s->times = times;
	union series_value *values =
		reallocarray(s->values, cap, max(nr, (size_t)1) * sizeof(*values));
	if (!values)
		return -ENOMEM;
	s->values = values;
	if (!s->before && !(s->before = calloc(max(nr, (size_t)1), sizeof(*s->before))))
		return -ENOMEM;
	s->cap_rows = cap;
	return 0;
}

static void drop_first(struct series *s)
{
	memcpy(s->before, values_at(s, 0), s->columns.nr * sizeof(*s->before));
	s->before_ns = series_time(s, 0);
	s->has_before = true;
	s->first = slot_of(s, 1);
	s->nr_rows--;
}

/* ---- half the resolution ---- */

/* Means are weighted by how long each of the two lasted. */
static double joined_gauge(const struct series *s, size_t row, double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	double first = (double)(series_time(s, row) - series_since(s, row));
	double second = (double)(series_time(s, row + 1) - series_time(s, row));
	return first > 0 ? (a * first + b * second) / (first + second) : b;
}

static double joined_delta(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* Rows `row` and the one after it become one, written where `row` is. */
static void join_two(struct series *s, size_t row)
{
	union series_value *a = values_at(s, row);
	const union series_value *b = values_at(s, row + 1);
	for (size_t i = 0; i < s->columns.nr; i++) {
		switch (s->columns.at[i].kind) {
		case SERIES_COUNTER: a[i].total = b[i].total; break;
		case SERIES_GAUGE:
			a[i].number = joined_gauge(s, row, a[i].number, b[i].number);
			break;
		case SERIES_DELTA: a[i].number = joined_delta(a[i].number, b[i].number); break;
		}
	}
}

static void halve(struct series *s)
{
	size_t pairs = s->nr_rows / 2;
	for (size_t row = 0; row + 1 < s->nr_rows; row += 2)
		join_two(s, row);
	for (size_t i = 0; i < pairs; i++) {
		memmove(values_at(s, i), values_at(s, 2 * i), s->columns.nr * sizeof(*s->values));
		s->times[slot_of(s, i)] = series_time(s, 2 * i + 1);
	}
	if (s->nr_rows % 2) {
		memmove(values_at(s, pairs), values_at(s, s->nr_rows - 1),
			s->columns.nr * sizeof(*s->values));
		s->times[slot_of(s, pairs)] = series_time(s, s->nr_rows - 1);
	}
	if (s->nr_rows % 2 == 0)
		s->in_open += s->per_row;
	s->nr_rows = pairs + s->nr_rows % 2;
	s->per_row *= 2;
}

/* The newest row was filled meanwhile: it joins the one before, unless that is whole. */
static void settle(struct series *s)
{
	if (s->in_open && s->in_open < s->per_row) {
		size_t open = s->nr_rows - 2;
		join_two(s, open);
		s->times[slot_of(s, open)] = series_time(s, open + 1);
		s->nr_rows--;
		s->in_open++;
	} else if (s->nr_rows) {
		s->in_open = 1;
	}
}

/* ---- rows ---- */

static int make_room(struct series *s)
{
	if (s->nr_rows < s->cap_rows)
		return 0;
	if (s->cap_rows < s->max_rows)
		return grow(s);
	if (s->keep == SERIES_KEEP_LAST)
		drop_first(s);
	else
		halve(s);
	return 0;
}

int series_row(struct series *s, u64 time_ns, union series_value **ret)
{
	if (s->nr_rows && time_ns <= series_time(s, s->nr_rows - 1))
		return -EINVAL;
	if (s->keep == SERIES_KEEP_ALL_OF_IT)
		settle(s);
	int err = make_room(s);
	if (err)
		return err;
	size_t row = s->nr_rows++;
	s->times[slot_of(s, row)] = time_ns;
	union series_value *v = values_at(s, row);
	for (size_t i = 0; i < s->columns.nr; i++) {
		if (s->columns.at[i].kind == SERIES_COUNTER)
			v[i].total = SERIES_MISSING;
		else
			v[i].number = NAN;
	}
	*ret = v;
	return 0;
}

u64 series_time(const struct series *s, size_t row)
{
	return s->times[slot_of(s, row)];
}

u64 series_since(const struct series *s, size_t row)
{
	if (row)
		return series_time(s, row - 1);
	return s->has_before ? s->before_ns : series_time(s, 0);
}

const union series_value *series_values(const struct series *s, size_t row)
{
	return values_at(s, row);
}

double series_number(const struct series *s, size_t row, size_t column)
{
	const union series_value *v = &values_at(s, row)[column];
	if (s->columns.at[column].kind != SERIES_COUNTER)
		return v->number;
	return v->total == SERIES_MISSING ? NAN : (double)v->total;
}

double series_change(const struct series *s, size_t row, size_t column)
{
	enum series_kind kind = s->columns.at[column].kind;
	if (kind == SERIES_DELTA)
		return series_number(s, row, column);
	if (kind == SERIES_GAUGE || (!row && !s->has_before))
		return NAN;
	const union series_value *before = row ? values_at(s, row - 1) : s->before;
	u64 now = values_at(s, row)[column].total, then = before[column].total;
	bool known = now != SERIES_MISSING && then != SERIES_MISSING && now >= then;
	return known ? (double)(now - then) : NAN;
}

double series_rate(const struct series *s, size_t row, size_t column)
{
	if (s->columns.at[column].kind == SERIES_GAUGE)
		return series_number(s, row, column);
	double seconds = (double)(series_time(s, row) - series_since(s, row)) / (double)NS_PER_SEC;
	return seconds > 0 ? series_change(s, row, column) / seconds : NAN;
}
