#include "bpf/map_view.h"

#include "bpf/hist_text.h"
#include "bpf/printf.h"
#include "bpf/series_text.h"

#include <errno.h>
#include <stdio.h>

static bool is_hist(const struct program_type *t)
{
	return t->kind == PROGRAM_HIST || t->kind == PROGRAM_LHIST;
}

static bool is_stats(const struct program_type *t)
{
	return t->kind == PROGRAM_AVG || t->kind == PROGRAM_STATS;
}

/* Of several lines, below its name. */
static bool is_picture(const struct program_type *t)
{
	return is_hist(t) || t->kind == PROGRAM_TSERIES;
}

/* Whether rows are in the order of their values. */
static bool is_ordered_by_value(const struct program_type *t)
{
	return value_is_int(t) || is_stats(t) || is_hist(t) || t->kind == PROGRAM_QUANTILE;
}

static const u8 *key_at(const struct map_rows *r, u32 row)
{
	return r->keys + (size_t)row * r->key_size;
}

static const u8 *value_at(const struct map_rows *r, u32 row)
{
	return r->values + (size_t)row * r->value_size;
}

static int compare_values(const struct program_type *t, const void *a, const void *b)
{
	if (!is_hist(t) && t->kind != PROGRAM_QUANTILE)
		return value_compare(t, a, b);
	u64 x = hist_total(a, hist_nr(t)), y = hist_total(b, hist_nr(t));
	return x < y ? -1 : x > y;
}

struct row_order {
	const struct map_rows *rows;
	const struct program_action *action;
};

/* By what the script asks for; 0: the same. */
static int compare_asked(const struct row_order *s, u32 x, u32 y)
{
	const struct map_rows *r = s->rows;
	bool by_key = s->action->sort.by == PROGRAM_SORT_KEY;
	const struct program_type *t = by_key ? r->map->key : r->map->value;
	const u8 *a = by_key ? key_at(r, x) : value_at(r, x);
	const u8 *b = by_key ? key_at(r, y) : value_at(r, y);
	u32 member = s->action->sort.member;
	if (member && t->kind == PROGRAM_TUPLE && member <= t->nr) {
		const struct program_field *f = &t->fields[member - 1];
		return value_compare(f->type, a + f->offset, b + f->offset);
	}
	return by_key ? value_compare(t, a, b) : compare_values(t, a, b);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct row_order *s = ctx;
	const struct map_rows *r = s->rows;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	if (s->action && s->action->sort.by != PROGRAM_SORT_DEFAULT) {
		int asked = compare_asked(s, x, y);
		if (asked)
			return asked;
	}
	const struct program_map *m = r->map;
	int c = 0;
	if (is_ordered_by_value(m->value))
		c = compare_values(m->value, value_at(r, x), value_at(r, y));
	if (!c && m->key && !m->is_scalar)
		c = value_compare(m->key, key_at(r, x), key_at(r, y));
	return c ? c : x < y ? -1 : x > y;
}

int map_rows_sort(struct map_rows *r)
{
	return map_rows_sort_by(r, NULL);
}

int map_rows_sort_by(struct map_rows *r, const struct program_action *action)
{
	struct row_order s = { r, action };
	free(r->order);
	r->order = malloc(max((size_t)r->nr, (size_t)1) * sizeof(*r->order));
	if (!r->order)
		return -ENOMEM;
	for (u32 i = 0; i < r->nr; i++)
		r->order[i] = i;
	qsort_r(r->order, r->nr, sizeof(*r->order), compare_rows, &s);
	return 0;
}

void map_rows_keep(struct map_rows *r, const void *key)
{
	u32 kept = 0;
	for (u32 i = 0; i < r->nr && !kept; i++) {
		if (memcmp(key_at(r, i), key, r->key_size))
			continue;
		memmove(r->keys, key_at(r, i), r->key_size);
		memmove(r->values, value_at(r, i), r->value_size);
		kept = 1;
	}
	r->nr = kept;
}

bool map_rows_are_zero(const struct map_rows *r)
{
	for (size_t i = 0; i < (size_t)r->nr * r->value_size; i++)
		if (r->values[i])
			return false;
	return true;
}

static void quantile_text(const struct program_type *t, const u64 *buckets, struct strbuf *to)
{
	strbuf_printf(to, "count %llu", (unsigned long long)hist_total(buckets, hist_nr(t)));
	for (u32 i = 0; i < t->nr; i++)
		strbuf_printf(to, ", p%u %lld", t->quantiles[i],
			      (long long)hist_quantile(t, buckets, t->quantiles[i]));
}

static s64 divided(const struct program_type *t, const void *value, u64 div)
{
	u64 v[2] = { 0, 1 };
	memcpy(v, value, min((size_t)t->size, sizeof(v)));
	if (t->kind == PROGRAM_INT)
		v[0] = (u64)value_int(t, value);
	if (t->kind == PROGRAM_AVG)
		v[0] = v[1] ? (u64)((s64)v[0] / (s64)v[1]) : 0;
	if (t->is_signed || t->kind == PROGRAM_AVG)
		return (s64)v[0] / (s64)div;
	return (s64)(v[0] / div);
}

static bool may_divide(const struct program_type *t)
{
	return t->kind == PROGRAM_INT || t->kind == PROGRAM_COUNT || t->kind == PROGRAM_SUM ||
	       t->kind == PROGRAM_MIN || t->kind == PROGRAM_MAX || t->kind == PROGRAM_AVG;
}

void map_value_text(const struct value_style *s, const struct program_type *t, const void *value,
		    u64 div, struct strbuf *to)
{
	if (is_hist(t)) {
		strbuf_char(to, '\n');
		hist_text(t, value, div, !s->old_layout, to);
	} else if (t->kind == PROGRAM_TSERIES) {
		strbuf_char(to, '\n');
		series_text(s, t, value, to);
	} else if (t->kind == PROGRAM_QUANTILE) {
		quantile_text(t, value, to);
	} else if (div > 1 && may_divide(t)) {
		s64 v = divided(t, value, div);
		if (t->is_signed || t->kind == PROGRAM_AVG)
			strbuf_s64(to, v);
		else
			strbuf_u64(to, (u64)v);
	} else {
		value_text(s, t, value, to);
	}
}

/* Nothing was counted in it: it was cleared, or never reached. Numbers are shown then, pictures are not. */
static bool is_empty(const struct program_type *t, const u8 *value, u32 size)
{
	if (value_is_int(t) && t->kind != PROGRAM_MIN && t->kind != PROGRAM_MAX)
		return false;
	for (u32 i = 0; i < size; i++)
		if (value[i])
			return false;
	return true;
}

struct chosen {
	u32 first, end;
};

static struct chosen choose(const struct map_rows *r, const struct value_style *s,
			    const struct map_print *p)
{
	bool all = !p->top || p->top >= r->nr ||
		   (s->old_layout && r->map->value->kind == PROGRAM_STATS);
	return (struct chosen){ .first = all ? 0 : r->nr - p->top, .end = r->nr };
}

static u32 row_of(const struct map_rows *r, u32 i)
{
	return r->order ? r->order[i] : i;
}

/* With print()'s fmt option: numbers by its conversion. */
static void row_value_text(const struct map_rows *r, const struct value_style *s,
			   const struct map_print *p, u32 row, struct strbuf *to)
{
	const struct program_type *t = r->map->value;
	const char *format = p->order ? p->order->format : NULL;
	if (!format || !may_divide(t)) {
		map_value_text(s, t, value_at(r, row), p->div, to);
		return;
	}
	s64 v = divided(t, value_at(r, row), max(p->div, (u64)1));
	struct program_type number = { .kind = PROGRAM_INT, .size = 8, .is_signed = t->is_signed };
	struct program_field field = { .type = &number };
	struct program_type fields = { .kind = PROGRAM_RECORD, .fields = &field, .nr = 1 };
	printf_text(s, format, &fields, &v, to);
}

void map_rows_text(const struct map_rows *r, const struct value_style *s, const struct map_print *p,
		   struct strbuf *to)
{
	const struct program_map *m = r->map;
	struct chosen c = choose(r, s, p);
	bool any = false;
	bool down = p->order && p->order->sort.descending;
	for (u32 i = c.first; i < c.end; i++) {
		u32 row = row_of(r, down ? c.end - 1 - (i - c.first) : i);
		if (m->is_scalar && is_empty(m->value, value_at(r, row), r->value_size))
			continue;
		any = true;
		strbuf_str(to, m->name);
		if (!m->is_scalar) {
			strbuf_char(to, '[');
			value_key_text(s, m->key, key_at(r, row), ", ", to);
			strbuf_char(to, ']');
		}
		strbuf_char(to, ':');
		if (s->old_layout || !is_picture(m->value))
			strbuf_char(to, ' ');
		row_value_text(r, s, p, row, to);
		strbuf_char(to, '\n');
	}
	if (any && s->old_layout && is_stats(m->value))
		strbuf_char(to, '\n');
}

static void json_row_value(const struct map_rows *r, const struct value_style *s,
			   const struct map_print *p, u32 row, struct json *j)
{
	const struct program_type *t = r->map->value;
	const u8 *value = value_at(r, row);
	if (is_hist(t)) {
		hist_json(t, (const u64 *)(const void *)value, p->div, j);
		return;
	}
	if (t->kind == PROGRAM_TSERIES) {
		series_json(s, t, (const struct program_interval *)(const void *)value, j);
		return;
	}
	if (t->kind == PROGRAM_QUANTILE) {
		const u64 *buckets = (const u64 *)(const void *)value;
		json_object(j);
		json_put_u64(j, "count", hist_total(buckets, hist_nr(t)));
		for (u32 i = 0; i < t->nr; i++) {
			char key[8];
			snprintf(key, sizeof(key), "p%u", t->quantiles[i]);
			json_put_s64(j, key, hist_quantile(t, buckets, t->quantiles[i]));
		}
		json_object_end(j);
		return;
	}
	if (p->div > 1 && may_divide(t))
		json_s64(j, divided(t, value, p->div));
	else
		value_json(s, t, value, j);
}

static const char *json_type(const struct program_type *t)
{
	if (is_hist(t))
		return "hist";
	if (t->kind == PROGRAM_TSERIES)
		return "tseries";
	return is_stats(t) || t->kind == PROGRAM_QUANTILE ? "stats" : "map";
}

static void json_rows(const struct map_rows *r, const struct value_style *s,
		      const struct map_print *p, struct json *j)
{
	struct chosen c = choose(r, s, p);
	struct strbuf key;
	strbuf_init(&key);
	json_object(j);
	for (u32 i = c.first; i < c.end; i++) {
		u32 row = row_of(r, i);
		strbuf_reset(&key);
		value_key_text(s, r->map->key, key_at(r, row), ",", &key);
		json_key(j, strbuf_cstr(&key));
		json_row_value(r, s, p, row, j);
	}
	json_object_end(j);
	strbuf_done(&key);
}

void map_rows_json(const struct map_rows *r, const struct value_style *s, const struct map_print *p,
		   struct json *j)
{
	json_object(j);
	json_put_str(j, "type", json_type(r->map->value));
	json_key(j, "data");
	json_object(j);
	json_key(j, r->map->name);
	if (!r->map->is_scalar)
		json_rows(r, s, p, j);
	else if (r->nr)
		json_row_value(r, s, p, 0, j);
	else
		json_null(j);
	json_object_end(j);
	json_object_end(j);
}
