#include "view/json_fields.h"
#include "base/dict.h"
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void escaped(struct strbuf *t, const char *s, size_t len)
{
	struct json j;
	json_begin(&j, t, JSON_COMPACT);
	json_strn(&j, s, len);
}

void json_text(struct strbuf *t, const char *s, size_t len)
{
	size_t start = t->len;
	strbuf_char(t, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') {
			t->len = start;
			escaped(t, s, len);
			return;
		}
		strbuf_char(t, (char)c);
	}
	strbuf_char(t, '"');
}

static void json_elements(struct strbuf *t, const struct schema *sc, const struct schema_field *f,
			  const u8 *p, u32 len)
{
	u32 step = f->elem_size == 1 || f->elem_size == 2 || f->elem_size == 4 || f->elem_size == 8
			   ? f->elem_size
			   : 1;
	struct schema_field one = { .size = step, .flags = f->flags & FIELD_SIGNED };
	strbuf_char(t, '[');
	for (u32 at = 0; at + step <= len; at += step) {
		u64 v = schema_u64(sc, &one, p + at, step);
		if (at)
			strbuf_char(t, ',');
		if (f->flags & FIELD_SIGNED)
			strbuf_s64(t, (s64)v);
		else
			strbuf_u64(t, v);
	}
	strbuf_char(t, ']');
}

/* before: not 0 where a field of this name came before; the second is NAME#2 */
static void json_field(struct strbuf *t, const struct schema *sc, const struct schema_field *f,
		       unsigned before, const struct sample *s)
{
	u32 len;
	json_text(t, f->name, strlen(f->name));
	if (unlikely(before)) {
		t->len--; /* the quote */
		strbuf_printf(t, "#%u\"", before + 1);
	}
	strbuf_char(t, ':');
	bool single = !(f->flags & (FIELD_STRING | FIELD_ARRAY | FIELD_DATA_LOC | FIELD_REL_LOC)) &&
		      f->size <= 8;
	if (single) {
		u64 v = schema_u64(sc, f, s->raw, s->raw_size);
		if (f->flags & FIELD_SIGNED)
			strbuf_s64(t, (s64)v);
		else
			strbuf_u64(t, v);
		return;
	}
	const u8 *p = schema_bytes(sc, f, s->raw, s->raw_size, &len);
	if (!p)
		strbuf_str(t, "null");
	else if (f->flags & FIELD_STRING)
		json_text(t, (const char *)p, len);
	else
		json_elements(t, sc, f, p, len);
}

int json_fields_before(const struct schema *sc, u16 **ret)
{
	struct dict last;
	bool again = false;
	u32 index;
	int err = 0;
	u16 *before = calloc(sc->nr_fields + 1, sizeof(*before));
	*ret = NULL;
	if (!before)
		return -ENOMEM;
	dict_init(&last);
	for (u32 i = 0; i < sc->nr_fields && !err; i++) {
		const char *name = sc->fields[i].name;
		/* Names that only share a hash count on, which harms nobody. */
		err = min(dict_add(&last, hash_bytes(name, strlen(name)), i, &index), 0);
		if (!err && index != i) {
			before[i] = ++before[sc->nr_fields];
			again = true;
		}
	}
	dict_done(&last);
	if (again && !err)
		*ret = before;
	else
		free(before);
	return err;
}

void json_fields(struct strbuf *t, const struct schema *sc, const u16 *before,
		 const struct sample *s)
{
	strbuf_char(t, '{');
	for (u32 i = 0; i < sc->nr_fields; i++) {
		if (i)
			strbuf_char(t, ',');
		json_field(t, sc, &sc->fields[i], before ? before[i] : 0, s);
	}
	strbuf_char(t, '}');
}
