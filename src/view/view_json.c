/* Models as JSON values. Numbers are numbers; what is missing is null. */
#include "view/json_table.h"
#include "view/view.h"

static int table(const struct table *t, const struct view_style *s, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	int err = json_table(t, s->table.min_percent, &j), end = json_end(&j);
	return err ? err : end;
}

static int tree(const struct tree *t, const struct view_style *s, struct strbuf *to)
{
	struct json j;
	(void)s;
	json_begin(&j, to, JSON_PRETTY);
	json_tree(t, &j);
	return json_end(&j);
}

static const char *kind_word(enum series_kind kind)
{
	static const char *const words[] = {
		[SERIES_COUNTER] = "counter",
		[SERIES_GAUGE] = "gauge",
		[SERIES_DELTA] = "delta",
	};
	return words[kind];
}

static void put_row(const struct series *v, size_t row, bool rates, struct json *j)
{
	json_object(j);
	json_put_u64(j, "time_ns", series_time(v, row));
	for (size_t i = 0; i < v->columns.nr; i++) {
		const struct series_column *c = &v->columns.at[i];
		const union series_value *value = &series_values(v, row)[i];
		if (rates)
			json_put_double(j, c->key, series_rate(v, row, i));
		else if (c->kind == SERIES_COUNTER && value->total != SERIES_MISSING)
			json_put_u64(j, c->key, value->total);
		else
			json_put_double(j, c->key, series_number(v, row, i));
	}
	json_object_end(j);
}

static int series(const struct series *v, const struct view_style *s, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_key(&j, "columns");
	json_array(&j);
	vec_for_each (&v->columns, c) {
		json_object(&j);
		json_put_str(&j, "key", c->key);
		json_put_str(&j, "unit", c->unit);
		json_put_str(&j, "kind", kind_word(c->kind));
		json_object_end(&j);
	}
	json_array_end(&j);
	json_put_bool(&j, "per_second", s->rates);
	json_key(&j, "rows");
	json_array(&j);
	for (size_t row = 0; row < v->nr_rows; row++)
		put_row(v, row, s->rates, &j);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

static void bucket(const struct histogram_bucket *b, struct json *j)
{
	json_object(j);
	if (!b->no_start)
		json_put_s64(j, "from", b->from);
	if (!b->no_end)
		json_put_s64(j, "to", b->to);
	json_put_u64(j, "count", b->count);
	json_object_end(j);
}

static int histogram(struct histogram *h, const struct view_style *s, struct strbuf *to)
{
	struct json j;
	size_t first, end;
	(void)s;
	histogram_range(h, &first, &end);
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "unit", h->opts.unit ? h->opts.unit : "");
	json_put_u64(&j, "count", h->nr);
	json_put_s64(&j, "sum", h->sum);
	json_put_s64(&j, "min", h->min);
	json_put_s64(&j, "max", h->max);
	json_key(&j, "buckets");
	json_array(&j);
	for (size_t i = first; i < end; i++) {
		struct histogram_bucket b = histogram_bucket(h, i);
		bucket(&b, &j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

const struct view_ops view_json = {
	.name = "json",
	.table = table,
	.tree = tree,
	.series = series,
	.histogram = histogram,
};
