#include "view/json_key_counts.h"

#include <string.h>

static void put_stack(struct json *j, const char *text)
{
	json_array(j);
	for (const char *p = text ? text : ""; *p;) {
		size_t len = strcspn(p, "\n");
		json_strn(j, p, len);
		p += len + (p[len] == '\n');
	}
	json_array_end(j);
}

static void put_parts(struct json *j, const struct key_value *v)
{
	json_object(j);
	if (v->type == KEY_VALUE_NAMED) {
		json_put_str(j, "name", v->text);
		json_put_u64(j, "id", v->number);
	} else if (v->type == KEY_VALUE_SYMBOL) {
		json_put_u64(j, "address", v->number);
		json_put_str(j, "symbol", v->text);
		if (v->has_offset)
			json_put_u64(j, "offset", v->extra);
	} else {
		json_put_u64(j, "from", v->number);
		json_put_u64(j, "to", v->extra);
	}
	json_object_end(j);
}

static void put_value(struct json *j, const struct key_value *v)
{
	switch (v->type) {
	case KEY_VALUE_SIGNED: json_s64(j, (s64)v->number); break;
	case KEY_VALUE_UNSIGNED: json_u64(j, v->number); break;
	case KEY_VALUE_TEXT: json_str(j, v->text); break;
	case KEY_VALUE_STACK: put_stack(j, v->text); break;
	default: put_parts(j, v); break;
	}
}

static void put_row(struct json *j, const struct key_counts *t, const struct key_counts_row *r)
{
	json_object(j);
	json_key(j, "key");
	json_object(j);
	for (size_t i = 0; i < t->keys.nr; i++) {
		json_key(j, t->keys.at[i]);
		put_value(j, &r->keys[i]);
	}
	json_object_end(j);
	json_put_u64(j, "hitcount", r->hits);
	json_key(j, "values");
	json_object(j);
	for (size_t i = 0; i < t->values.nr; i++)
		json_put_u64(j, t->values.at[i], r->values[i]);
	json_object_end(j);
	json_object_end(j);
}

int json_key_counts(const struct key_counts *t, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_key(&j, "rows");
	json_array(&j);
	vec_for_each (&t->rows, r)
		put_row(&j, t, r);
	json_array_end(&j);
	json_key(&j, "totals");
	json_object(&j);
	json_put_u64(&j, "hits", t->hits);
	json_put_u64(&j, "entries", t->rows.nr);
	json_put_u64(&j, "dropped", t->dropped);
	json_object_end(&j);
	if (t->notes.nr) {
		json_key(&j, "notes");
		json_array(&j);
		vec_for_each (&t->notes, line)
			json_str(&j, *line);
		json_array_end(&j);
	}
	json_object_end(&j);
	return json_end(&j);
}
