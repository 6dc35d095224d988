#include "analysis/event_hist.h"

#include "base/arena.h"
#include "base/dict.h"
#include "base/num.h"
#include "base/str.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 4, VALUES_MAX = 8 };

enum modifier { MOD_NONE, MOD_HEX, MOD_SYM, MOD_SYM_OFFSET, MOD_EXECNAME, MOD_LOG2, MOD_BUCKETS };

struct key {
	const char *name; /* of the field; as it is printed */
	enum modifier mod;
	u64 bucket;
	const struct schema_field *field;
	bool cpu; /* the CPU, which is no field */
};

struct event_hist_value {
	const char *name;
	const struct schema_field *field;
};

struct counted_row {
	const char *key; /* "next_comm: sh, next_prio: 120", as it is printed */
	u64 nr;
	const u64 *values; /* as many as there are values */
};

struct event_hist_row {
	struct counted_row shown;
	const struct key_value *typed; /* [key] */
	u64 sort; /* of the key that rows are sorted by, when it is a number */
};

struct event_hist {
	struct sink sink;
	struct event_hist_opts o;
	struct arena arena;
	struct key keys[KEYS_MAX];
	struct event_hist_value values[VALUES_MAX];
	size_t nr_keys, nr_values;
	int sort_key, sort_value; /* -1: not by one */
	bool descending;
	const struct schema *schema; /* bound to */
	const char *missing;
	struct dict found; /* hash of the text -> index */
	VEC(struct event_hist_row) rows;
	struct strbuf text; /* scratch */
	u64 nr;
};

/* ---- words ---- */

static int parse_modifier(struct key *k, const char *word, struct diag *d)
{
	static const struct {
		const char *word;
		enum modifier mod;
	} rows[] = {
		{ "hex", MOD_HEX },
		{ "sym", MOD_SYM },
		{ "sym-offset", MOD_SYM_OFFSET },
		{ "execname", MOD_EXECNAME },
		{ "log2", MOD_LOG2 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(word, rows[i].word)) {
			k->mod = rows[i].mod;
			return 0;
		}
	if (str_starts(word, "buckets=") && !num_parse_u64(word + 8, 10, &k->bucket) && k->bucket) {
		k->mod = MOD_BUCKETS;
		return 0;
	}
	int err = diag_error(d, -EINVAL, "'.%s' cannot be computed from recorded events", word);
	diag_hint(d, "available without kernel support: .hex .sym .sym-offset .execname .log2 "
		     ".buckets=N");
	return err;
}

static int parse_keys(struct event_hist *h, struct diag *d)
{
	for (const char *p = h->o.keys; *p;) {
		size_t len = strcspn(p, ",");
		if (h->nr_keys == KEYS_MAX)
			return diag_error(d, -E2BIG, "more than %d keys", KEYS_MAX);
		char *word = arena_strndup(&h->arena, p, len);
		if (!word)
			return -ENOMEM;
		struct key *k = &h->keys[h->nr_keys++];
		char *dot = strchr(word, '.');
		if (dot)
			*dot = '\0';
		k->name = word;
		k->cpu = !strcmp(word, "cpu") || !strcmp(word, "common_cpu");
		if (!strcmp(word, "stacktrace") || !strcmp(word, "common_stacktrace"))
			return diag_error(d, -EOPNOTSUPP,
					  "histograms keyed by stack need kernel support");
		int err = dot ? parse_modifier(k, dot + 1, d) : 0;
		if (err)
			return err;
		p += len + (p[len] == ',');
	}
	return h->nr_keys ? 0 : diag_error(d, -EINVAL, "no key");
}

static int parse_values(struct event_hist *h, struct diag *d)
{
	for (const char *p = h->o.values ? h->o.values : ""; *p;) {
		size_t len = strcspn(p, ",");
		char *word = arena_strndup(&h->arena, p, len);
		if (!word)
			return -ENOMEM;
		if (strcmp(word, "hitcount")) {
			if (h->nr_values == VALUES_MAX)
				return diag_error(d, -E2BIG, "more than %d values", VALUES_MAX);
			h->values[h->nr_values++].name = word;
		}
		p += len + (p[len] == ',');
	}
	return 0;
}

static int parse_sort(struct event_hist *h, struct diag *d)
{
	const char *sort = h->o.sort ? h->o.sort : "hitcount";
	size_t len = strcspn(sort, ".,");
	h->sort_key = h->sort_value = -1;
	h->descending = !strcmp(sort + len, ".descending");
	if (sort[len] && !h->descending && strcmp(sort + len, ".ascending"))
		return diag_error(d, -EINVAL, "invalid sort order '%s'", sort);
	if (len == 8 && !memcmp(sort, "hitcount", 8))
		return 0;
	for (size_t i = 0; i < h->nr_keys; i++)
		if (strlen(h->keys[i].name) == len && !memcmp(h->keys[i].name, sort, len))
			h->sort_key = (int)i;
	for (size_t i = 0; i < h->nr_values; i++)
		if (strlen(h->values[i].name) == len && !memcmp(h->values[i].name, sort, len))
			h->sort_value = (int)i;
	if (h->sort_key < 0 && h->sort_value < 0)
		return diag_error(d, -EINVAL,
				  "cannot sort by '%s': it is neither a key nor a value", sort);
	return 0;
}

/* ---- counting ---- */

static void bind(struct event_hist *h, const struct schema *s)
{
	h->schema = s;
	for (size_t i = 0; i < h->nr_keys; i++) {
		struct key *k = &h->keys[i];
		k->field = schema_find(s, k->name);
		if (!k->field && !k->cpu)
			h->missing = k->name;
	}
	for (size_t i = 0; i < h->nr_values; i++) {
		h->values[i].field = schema_find(s, h->values[i].name);
		if (!h->values[i].field)
			h->missing = h->values[i].name;
	}
}

static void put_symbol(struct event_hist *h, u64 addr, bool with_offset, struct key_value *typed)
{
	u64 offset = 0;
	const char *name = h->o.symbol(h->o.ctx, addr, &offset);
	strbuf_printf(&h->text, "[%llx] %s", (unsigned long long)addr, name ? name : "");
	if (name && with_offset)
		strbuf_printf(&h->text, "+0x%llx", (unsigned long long)offset);
	*typed = (struct key_value){ .type = KEY_VALUE_SYMBOL,
				     .text = name,
				     .number = addr,
				     .extra = offset,
				     .has_offset = name && with_offset };
}

/* Text as the kernel writes it; *sort: how rows compare by it; *typed: its text is borrowed from the sample. */
static void put_key(struct event_hist *h, const struct key *k, const struct sample *s, u64 *sort,
		    struct key_value *typed, u32 *text_len)
{
	struct strbuf *t = &h->text;
	u32 len;
	strbuf_printf(t, "%s: ", k->name);
	if (k->field && (k->field->flags & FIELD_STRING)) {
		const char *str = schema_bytes(s->schema, k->field, s->raw, s->raw_size, &len);
		strbuf_printf(t, "%-50.*s", str ? (int)len : 0, str ? str : "");
		*typed = (struct key_value){ .type = KEY_VALUE_TEXT, .text = str ? str : "" };
		*text_len = str ? len : 0;
		return;
	}
	u64 v = k->field ? schema_u64(s->schema, k->field, s->raw, s->raw_size) : (u32)s->cpu;
	bool is_signed = k->field && (k->field->flags & FIELD_SIGNED);
	unsigned log = key_value_power(v);
	*sort = v;
	*typed = (struct key_value){ .type = is_signed ? KEY_VALUE_SIGNED : KEY_VALUE_UNSIGNED,
				     .number = v };
	switch (k->mod) {
	case MOD_NONE:
		if (is_signed)
			strbuf_printf(t, "%10lld", (long long)v);
		else
			strbuf_printf(t, "%10llu", (unsigned long long)v);
		break;
	case MOD_HEX:
		strbuf_printf(t, "%llx", (unsigned long long)v);
		typed->type = KEY_VALUE_UNSIGNED;
		break;
	case MOD_SYM:
	case MOD_SYM_OFFSET: put_symbol(h, v, k->mod == MOD_SYM_OFFSET, typed); break;
	case MOD_EXECNAME:
		*typed = (struct key_value){ .type = KEY_VALUE_NAMED,
					     .text = h->o.comm(h->o.ctx, (s32)v),
					     .number = v };
		strbuf_printf(t, "%-16s[%10llu]", typed->text, (unsigned long long)v);
		break;
	case MOD_LOG2:
		strbuf_printf(t, "~ 2^%-2u", log);
		*sort = log;
		*typed = key_value_power_range(log);
		break;
	case MOD_BUCKETS:
		*sort = v / k->bucket;
		strbuf_printf(t, "~ %llu-%llu", (unsigned long long)(*sort * k->bucket),
			      (unsigned long long)((*sort + 1) * k->bucket - 1));
		*typed = (struct key_value){ .type = KEY_VALUE_RANGE,
					     .number = *sort * k->bucket,
					     .extra = (*sort + 1) * k->bucket - 1 };
		break;
	}
}

/* Keys that outlive the sample; lens: of texts, which need not end with a zero. */
static const struct key_value *keep_keys(struct event_hist *h, const struct key_value *typed,
					 const u32 *lens)
{
	struct key_value *own = arena_array(&h->arena, h->nr_keys, sizeof(*own));
	for (size_t i = 0; own && i < h->nr_keys; i++) {
		own[i] = typed[i];
		if (typed[i].type == KEY_VALUE_TEXT &&
		    !(own[i].text = arena_strndup(&h->arena, typed[i].text,
						  strnlen(typed[i].text, lens[i]))))
			return NULL;
	}
	return own;
}

static struct event_hist_row *row_of(struct event_hist *h, u64 sort, const struct key_value *typed,
				     const u32 *lens)
{
	const char *text = strbuf_cstr(&h->text);
	u64 hash = hash_bytes(text, h->text.len);
	u32 index;
	for (; (index = dict_get(&h->found, hash)) != DICT_NONE; hash = hash_u64(hash + 1))
		if (!strcmp(h->rows.at[index].shown.key, text))
			return &h->rows.at[index];
	struct event_hist_row *r = h->rows.nr < DICT_NONE ? vec_push(&h->rows) : NULL;
	u64 *values = arena_zalloc(&h->arena, (h->nr_values + 1) * sizeof(*values));
	char *copy = arena_strdup(&h->arena, text);
	const struct key_value *own = keep_keys(h, typed, lens);
	if (!r || !values || !copy || !own || dict_add(&h->found, hash, (u32)h->rows.nr - 1, &index))
		return NULL;
	*r = (struct event_hist_row){ .shown = { .key = copy, .values = values },
				      .typed = own,
				      .sort = sort };
	return r;
}

static int count(struct event_hist *h, const struct sample *s)
{
	struct key_value typed[KEYS_MAX] = { 0 };
	u32 lens[KEYS_MAX] = { 0 };
	u64 sort = 0;
	strbuf_reset(&h->text);
	for (size_t i = 0; i < h->nr_keys; i++) {
		u64 own = 0;
		if (i)
			strbuf_str(&h->text, ", ");
		put_key(h, &h->keys[i], s, &own, &typed[i], &lens[i]);
		if ((int)i == h->sort_key)
			sort = own;
	}
	struct event_hist_row *r = h->text.err ? NULL : row_of(h, sort, typed, lens);
	if (!r)
		return -ENOMEM;
	r->shown.nr++;
	h->nr++;
	for (size_t i = 0; i < h->nr_values; i++)
		((u64 *)r->shown.values)[i] +=
			schema_u64(s->schema, h->values[i].field, s->raw, s->raw_size);
	return 0;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct event_hist *h = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct sample *s = &b->samples[i];
		if (!s->schema || !s->raw || strcmp(s->schema->name, h->o.event) ||
		    strcmp(s->schema->system, h->o.system))
			continue;
		if (h->schema != s->schema)
			bind(h, s->schema);
		if (!h->missing)
			err = count(h, s);
	}
	return err;
}

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	*state = container_of(k, struct event_hist, sink);
	return index ? -EINVAL : 0;
}

static const struct sink_ops event_hist_ops = {
	.needs = NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
};

int event_hist_new(const struct event_hist_opts *o, struct event_hist **ret, struct diag *d)
{
	struct event_hist *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->sink = (struct sink){ .ops = &event_hist_ops, .needs = event_hist_ops.needs };
	h->o = *o;
	arena_init(&h->arena);
	dict_init(&h->found);
	strbuf_init(&h->text);
	int err = parse_keys(h, d);
	if (!err)
		err = parse_values(h, d);
	if (!err)
		err = parse_sort(h, d);
	if (err)
		event_hist_free(h);
	else
		*ret = h;
	return err;
}

void event_hist_free(struct event_hist *h)
{
	if (!h)
		return;
	vec_free(&h->rows);
	dict_done(&h->found);
	strbuf_done(&h->text);
	arena_done(&h->arena);
	free(h);
}

struct sink *event_hist_sink(struct event_hist *h)
{
	return &h->sink;
}

const char *event_hist_missing(const struct event_hist *h)
{
	return h->missing;
}

/* ---- afterwards ---- */

static int compare_u64(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct event_hist *h = ctx;
	const struct event_hist_row *a = pa, *b = pb;
	int c;
	if (h->sort_value >= 0)
		c = compare_u64(a->shown.values[h->sort_value], b->shown.values[h->sort_value]);
	else if (h->sort_key >= 0)
		c = h->keys[h->sort_key].field && (h->keys[h->sort_key].field->flags & FIELD_SIGNED)
			    ? ((s64)a->sort > (s64)b->sort) - ((s64)a->sort < (s64)b->sort)
			    : compare_u64(a->sort, b->sort);
	else
		c = compare_u64(a->shown.nr, b->shown.nr);
	c = h->descending ? -c : c;
	return c ? c : strcmp(a->shown.key, b->shown.key);
}

static void sort_rows(struct event_hist *h)
{
	if (h->rows.nr)
		qsort_r(h->rows.at, h->rows.nr, sizeof(*h->rows.at), compare, h);
}

int event_hist_counts(struct event_hist *h, struct key_counts *ret)
{
	int err = 0;
	sort_rows(h);
	for (size_t i = 0; i < h->nr_keys && !err; i++)
		err = key_counts_key(ret, h->keys[i].name);
	for (size_t i = 0; i < h->nr_values && !err; i++)
		err = key_counts_sum(ret, h->values[i].name);
	for (size_t i = 0; i < h->rows.nr && !err; i++) {
		const struct event_hist_row *r = &h->rows.at[i];
		err = key_counts_add(ret, r->typed, r->shown.nr, r->shown.values);
	}
	ret->hits = h->nr;
	return err;
}

void event_hist_text(struct event_hist *h, struct strbuf *to)
{
	sort_rows(h);
	for (size_t i = 0; i < h->rows.nr; i++) {
		const struct counted_row *row = &h->rows.at[i].shown;
		strbuf_printf(to, "{ %s } hitcount: %10llu", row->key, (unsigned long long)row->nr);
		for (size_t v = 0; v < h->nr_values; v++)
			strbuf_printf(to, "  %s: %10llu", h->values[v].name,
				      (unsigned long long)row->values[v]);
		strbuf_char(to, '\n');
	}
	strbuf_printf(to, "\nTotals:\n    Hits: %llu\n    Entries: %zu\n    Dropped: 0\n",
		      (unsigned long long)h->nr, h->rows.nr);
}
