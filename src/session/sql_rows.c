#include "session/sql_rows.h"

#include "analysis/event_pair.h"
#include "base/dict.h"
#include "model/key_counts.h"
#include "view/json_key_counts.h"
#include "view/latency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct counted {
	const char *text;
	u64 nr;
	u64 value; /* of the difference of times, where one was asked for */
	const struct key_value *keys; /* [item] */
};

struct sql_rows {
	const struct ftrace_sql *q;
	struct arena arena;
	struct dict found; /* hash of the text -> index */
	VEC(struct counted) rows;
	struct strbuf text; /* scratch */
	u64 nr;
	const struct sql_item *delta; /* the first difference of times; NULL: none */
	struct histogram times; /* of it, in nanoseconds */
	struct event_pair *pair;
	struct tell to;
};

struct sql_rows *sql_rows_new(const struct ftrace_sql *q)
{
	struct sql_rows *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	if (histogram_init(&r->times, &(struct histogram_opts){ .kind = HISTOGRAM_LOGLINEAR })) {
		free(r);
		return NULL;
	}
	r->q = q;
	vec_for_each (&q->items, i)
		if (!r->delta && sql_is_delta(i))
			r->delta = i;
	arena_init(&r->arena);
	dict_init(&r->found);
	strbuf_init(&r->text);
	return r;
}

void sql_rows_free(struct sql_rows *r)
{
	if (!r)
		return;
	event_pair_free(r->pair);
	histogram_done(&r->times);
	vec_free(&r->rows);
	dict_done(&r->found);
	strbuf_done(&r->text);
	arena_done(&r->arena);
	free(r);
}

struct arena *sql_rows_arena(struct sql_rows *r)
{
	return &r->arena;
}

static u64 number(const struct event_pair_match *m, const struct sql_operand *o)
{
	const struct event_at *e = o->side ? &m->end : &m->start;
	u64 v = 0;
	if (!o->field)
		return o->usecs ? e->time_ns / 1000 : e->time_ns;
	(void)event_at_u64(e, o->field, &v);
	return v;
}

/* A key; its text is borrowed from the event, and `len` long. */
static struct key_value typed_value(const struct event_pair_match *m, const struct sql_item *i,
				    u32 *len)
{
	const struct event_at *e = i->a.side ? &m->end : &m->start;
	const struct schema_field *f = i->a.field ? schema_find(e->schema, i->a.field) : NULL;
	u64 a = number(m, &i->a), b = i->op ? number(m, &i->b) : 0;
	if (sql_is_delta(i))
		return key_value_power_range(key_value_power(a - b));
	if (!i->op && f && (f->flags & FIELD_STRING)) {
		const char *text = schema_bytes(e->schema, f, e->raw, e->size, len);
		return (struct key_value){ .type = KEY_VALUE_TEXT, .text = text ? text : "" };
	}
	return (struct key_value){ .type = KEY_VALUE_SIGNED,
				   .number = !i->op	    ? a
					     : i->op == '-' ? a - b
							    : a + b };
}

static const struct key_value *keep_keys(struct sql_rows *r, const struct event_pair_match *m)
{
	struct key_value *own = arena_array(&r->arena, r->q->items.nr + 1, sizeof(*own));
	for (size_t i = 0; own && i < r->q->items.nr; i++) {
		u32 len = 0;
		own[i] = typed_value(m, &r->q->items.at[i], &len);
		if (own[i].type == KEY_VALUE_TEXT &&
		    !(own[i].text = arena_strndup(&r->arena, own[i].text, strnlen(own[i].text, len))))
			return NULL;
	}
	return own;
}

static void add_value(struct sql_rows *r, const struct event_pair_match *m, const struct sql_item *i)
{
	const struct event_at *e = i->a.side ? &m->end : &m->start;
	const struct schema_field *f = i->a.field ? schema_find(e->schema, i->a.field) : NULL;
	u32 len;
	if (sql_is_delta(i)) {
		u64 v = number(m, &i->a) - number(m, &i->b);
		strbuf_printf(&r->text, "~ 2^%-2u", key_value_power(v));
	} else if (i->op) {
		u64 a = number(m, &i->a), b = number(m, &i->b);
		strbuf_s64(&r->text, (s64)(i->op == '-' ? a - b : a + b));
	} else if (f && (f->flags & FIELD_STRING)) {
		const char *text = schema_bytes(e->schema, f, e->raw, e->size, &len);
		strbuf_add(&r->text, text ? text : "", text ? len : 0);
	} else {
		strbuf_s64(&r->text, (s64)number(m, &i->a));
	}
}

static int on_match(void *ctx, const struct event_pair_match *m)
{
	struct sql_rows *r = ctx;
	strbuf_reset(&r->text);
	for (size_t i = 0; i < r->q->items.nr; i++) {
		strbuf_printf(&r->text, "%s%s: ", i ? ", " : "", r->q->items.at[i].label);
		add_value(r, m, &r->q->items.at[i]);
	}
	if (r->text.err)
		return r->text.err;
	u64 value = 0;
	if (r->delta) {
		u64 v = number(m, &r->delta->a) - number(m, &r->delta->b);
		u64 ns = v * (r->delta->a.usecs ? 1000 : 1);
		histogram_add(&r->times, (s64)min(ns, (u64)INT64_MAX), 1);
		value = key_value_power(v);
	}
	r->nr++;
	const char *text = strbuf_cstr(&r->text);
	u64 hash = hash_text(text, r->text.len, hash_seed());
	u32 index;
	for (; (index = dict_get(&r->found, hash)) != DICT_NONE; hash = hash_u64(hash + 1))
		if (!strcmp(r->rows.at[index].text, text)) {
			r->rows.at[index].nr++;
			return 0;
		}
	struct counted *c = r->rows.nr < DICT_NONE ? vec_push(&r->rows) : NULL;
	if (!c || !(c->text = arena_strdup(&r->arena, text)) || !(c->keys = keep_keys(r, m)))
		return -ENOMEM;
	c->nr = 1;
	c->value = value;
	return dict_add(&r->found, hash, (u32)r->rows.nr - 1, &index);
}

static int compare(const void *pa, const void *pb)
{
	const struct counted *a = pa, *b = pb;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	return strcmp(a->text, b->text);
}

static int print_json(const struct tell *to, struct sql_rows *r)
{
	struct key_counts t;
	int err = 0;
	key_counts_init(&t);
	vec_for_each (&r->q->items, i)
		if (!err)
			err = key_counts_key(&t, i->label);
	vec_for_each (&r->rows, c)
		if (!err)
			err = key_counts_add(&t, c->keys, c->nr, NULL);
	t.hits = r->nr;
	if (!err)
		err = json_key_counts(&t, to->out);
	key_counts_done(&t);
	return err;
}

static int print(const struct tell *to, struct sql_rows *r)
{
	if (r->rows.nr)
		qsort(r->rows.at, r->rows.nr, sizeof(*r->rows.at), compare);
	if (to->json)
		return print_json(to, r);
	vec_for_each (&r->rows, c)
		strbuf_printf(to->out, "{ %s } hitcount: %10llu\n", c->text,
			      (unsigned long long)c->nr);
	strbuf_printf(to->out, "\nTotals:\n    Hits: %llu\n    Entries: %zu\n",
		      (unsigned long long)r->nr, r->rows.nr);
	if (r->delta)
		latency_summary(to->out, r->delta->label, &r->times);
	return 0;
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct sql_rows *r = ctx;
	const struct ftrace_sql *q = r->q;
	struct event_pair_rule rule = { .start_system = q->sides[0].system,
					.start_event = q->sides[0].event,
					.end_system = q->sides[1].system,
					.end_event = q->sides[1].event };
	(void)src;
	for (size_t i = 0; i < min(q->keys[0].nr, (size_t)EVENT_PAIR_KEYS_MAX); i++) {
		rule.start_keys[i] = q->keys[0].at[i];
		rule.end_keys[i] = q->keys[1].at[i];
	}
	r->pair = event_pair_new(&(struct event_pair_opts){
		.rules = &rule, .nr_rules = 1, .ctx = r, .match = on_match });
	if (!r->pair)
		return -ENOMEM;
	*ret = event_pair_sink(r->pair);
	return 0;
}

static int show(void *ctx, struct source *src)
{
	struct sql_rows *r = ctx;
	(void)src;
	if (event_pair_nr_gaps(r->pair))
		diag_warn(
			r->to.diag, "events were lost %llu times: intervals that began before a gap are not counted",
			(unsigned long long)event_pair_nr_gaps(r->pair));
	return print(&r->to, r);
}

struct trace_answer sql_rows_answer(struct sql_rows *r, const struct tell *to)
{
	r->to = *to;
	return (struct trace_answer){ .sink = make_sink, .show = show, .ctx = r };
}
