#include "bpf/metrics.h"

#include "base/str.h"
#include "bpf/hist_text.h"

#include <stdio.h>

/* A row of a map on its way to lines that differ in the end of their name and in one more label. */
struct metrics_row {
	const char *name; /* of the map, without its @ */
	const char *labels; /* `key="x"`, or "" */
	struct strbuf *to;
};

static void add_name(const char *name, const char *end, struct strbuf *to)
{
	strbuf_str(to, "sonde_map");
	if (*name)
		strbuf_char(to, '_');
	strbuf_str(to, name);
	strbuf_str(to, end);
}

/* label: one more, or NULL. */
static void begin_line(const struct metrics_row *m, const char *end, const char *label)
{
	add_name(m->name, end, m->to);
	if (!*m->labels && !label) {
		strbuf_char(m->to, ' ');
		return;
	}
	strbuf_char(m->to, '{');
	strbuf_str(m->to, m->labels);
	if (label) {
		strbuf_str(m->to, *m->labels ? "," : "");
		strbuf_str(m->to, label);
	}
	strbuf_str(m->to, "} ");
}

static void add_u64(const struct metrics_row *m, const char *end, const char *label, u64 v)
{
	begin_line(m, end, label);
	strbuf_u64(m->to, v);
	strbuf_char(m->to, '\n');
}

static void add_s64(const struct metrics_row *m, const char *end, const char *label, s64 v)
{
	begin_line(m, end, label);
	strbuf_s64(m->to, v);
	strbuf_char(m->to, '\n');
}

static const char *type_of(const struct program_type *t)
{
	switch (t->kind) {
	case PROGRAM_COUNT: return "counter";
	case PROGRAM_SUM: return t->is_signed ? "gauge" : "counter";
	case PROGRAM_HIST:
	case PROGRAM_LHIST: return "histogram";
	case PROGRAM_STATS:
	case PROGRAM_QUANTILE: return "summary";
	case PROGRAM_AVG: return "gauge";
	default: return value_is_int(t) ? "gauge" : NULL;
	}
}

/* Buckets up to the last that has something; each counts all below its bound, as the format wants it. */
static void add_hist(const struct metrics_row *m, const struct program_type *t, const u64 *buckets)
{
	u32 nr = hist_nr(t), end = nr;
	u64 sum = 0;
	while (end && !buckets[end - 1])
		end--;
	for (u32 i = 0; i < end; i++) {
		s64 low, high;
		char label[40];
		hist_range(t, i, &low, &high);
		sum += buckets[i];
		if (high == INT64_MAX)
			break;
		snprintf(label, sizeof(label), "le=\"%lld\"", (long long)high);
		add_u64(m, "_bucket", label, sum);
	}
	add_u64(m, "_bucket", "le=\"+Inf\"", hist_total(buckets, nr));
	add_u64(m, "_count", NULL, hist_total(buckets, nr));
}

static void add_quantiles(const struct metrics_row *m, const struct program_type *t,
			  const u64 *buckets)
{
	for (u32 i = 0; i < t->nr; i++) {
		char label[32];
		snprintf(label, sizeof(label), "quantile=\"%u.%02u\"", t->quantiles[i] / 100,
			 t->quantiles[i] % 100);
		add_s64(m, "", label, hist_quantile(t, buckets, t->quantiles[i]));
	}
	add_u64(m, "_count", NULL, hist_total(buckets, hist_nr(t)));
}

static void add_value(const struct metrics_row *m, const struct program_type *t, const void *value)
{
	u64 pair[2] = { 0 };
	memcpy(pair, value, min((size_t)t->size, sizeof(pair)));
	switch (t->kind) {
	case PROGRAM_HIST:
	case PROGRAM_LHIST: add_hist(m, t, value); break;
	case PROGRAM_QUANTILE: add_quantiles(m, t, value); break;
	case PROGRAM_COUNT: add_u64(m, "_total", NULL, pair[0]); break;
	case PROGRAM_STATS:
		add_u64(m, "_count", NULL, pair[1]);
		add_s64(m, "_sum", NULL, (s64)pair[0]);
		break;
	case PROGRAM_AVG: add_s64(m, "", NULL, pair[1] ? (s64)pair[0] / (s64)pair[1] : 0); break;
	case PROGRAM_SUM:
		if (!t->is_signed) {
			add_u64(m, "_total", NULL, pair[0]);
			break;
		}
		add_s64(m, "", NULL, (s64)pair[0]);
		break;
	case PROGRAM_MIN:
	case PROGRAM_MAX:
		if (!pair[1])
			break;
		if (t->is_signed)
			add_s64(m, "", NULL, (s64)pair[0]);
		else
			add_u64(m, "", NULL, pair[0]);
		break;
	default:
		if (t->is_signed)
			add_s64(m, "", NULL, value_int(t, value));
		else
			add_u64(m, "", NULL, (u64)value_int(t, value));
	}
}

static void add_label(const char *name, const struct value_style *s, const struct program_type *t,
		      const void *data, struct strbuf *to)
{
	struct strbuf text;
	strbuf_init(&text);
	value_key_text(s, t, data, ",", &text);
	strbuf_printf(to, "%s=\"", name);
	for (const char *c = strbuf_cstr(&text), *end = c + text.len; c < end;) {
		bool bad = false;
		size_t len = str_utf8_len((const u8 *)c, (size_t)(end - c), &bad);
		if (*c == '\n' || *c == '"' || *c == '\\')
			strbuf_printf(to, "\\%c", *c == '\n' ? 'n' : *c);
		else if (bad)
			strbuf_str(to, "\xef\xbf\xbd"); /* U+FFFD: the format is UTF-8 */
		else
			strbuf_add(to, c, len);
		c += max(len, (size_t)1);
	}
	strbuf_char(to, '"');
	strbuf_done(&text);
}

static void add_labels(const struct map_rows *r, const struct value_style *s, const u8 *key,
		       struct strbuf *to)
{
	const struct program_type *t = r->map->key;
	strbuf_reset(to);
	if (r->map->is_scalar || !t)
		return;
	if (t->kind != PROGRAM_TUPLE) {
		add_label("key", s, t, key, to);
		return;
	}
	for (u32 i = 0; i < t->nr; i++) {
		char name[16];
		snprintf(name, sizeof(name), "key%u", i);
		strbuf_str(to, i ? "," : "");
		add_label(name, s, t->fields[i].type, key + t->fields[i].offset, to);
	}
}

void metrics_map(const struct map_rows *r, const struct value_style *s, struct strbuf *to)
{
	const char *type = type_of(r->map->value);
	if (!type)
		return;
	const char *name = r->map->name[0] == '@' ? r->map->name + 1 : r->map->name;
	struct strbuf labels;
	strbuf_init(&labels);
	strbuf_str(to, "# TYPE ");
	add_name(name, "", to);
	strbuf_printf(to, " %s\n", type);
	for (u32 i = 0; i < r->nr; i++) {
		u32 row = r->order ? r->order[i] : i;
		add_labels(r, s, r->keys + (size_t)row * r->key_size, &labels);
		const struct metrics_row m = { .name = name,
					       .labels = strbuf_cstr(&labels),
					       .to = to };
		add_value(&m, r->map->value, r->values + (size_t)row * r->value_size);
	}
	strbuf_done(&labels);
}

void metrics_end(struct strbuf *to)
{
	strbuf_str(to, "# EOF\n");
}
