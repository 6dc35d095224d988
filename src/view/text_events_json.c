/* One event as a JSON object on a line. */
#include "view/text_events_impl.h"

#include <string.h>

static void json_text(struct strbuf *t, const char *s, size_t len)
{
	strbuf_char(t, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\') {
			strbuf_char(t, '\\');
			strbuf_char(t, (char)c);
		} else if (c < 0x20 || c >= 0x7f) {
			strbuf_printf(t, "\\u%04x", c);
		} else {
			strbuf_char(t, (char)c);
		}
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

/* trace_printk(): its fields are addresses and packed arguments, and only the text says what was meant. */
static void add_printk(struct strbuf *t, const struct schema *sc, const struct sample *s)
{
	struct strbuf line;
	if (strcmp(sc->system, "ftrace") ||
	    (strcmp(sc->name, "bprint") && strcmp(sc->name, "bputs")))
		return;
	strbuf_init(&line);
	(void)sc->ops->print(sc, s->raw, s->raw_size, &line);
	strbuf_str(t, ",\"text\":");
	json_text(t, strbuf_cstr(&line), line.len);
	strbuf_done(&line);
}

void text_json_add(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	struct strbuf *t = &sh->text;
	const struct text_events_opts *o = &sh->te->o;
	if (unlikely(o->between))
		text_open_between(sh, s);
	strbuf_str(t, o->raw_time ? "{\"time\":" : "{\"time_ns\":");
	strbuf_u64(t, s->time_ns);
	strbuf_str(t, ",\"cpu\":");
	strbuf_s64(t, s->cpu);
	strbuf_str(t, ",\"pid\":");
	if (s->tid == -1)
		strbuf_str(t, "null");
	else
		strbuf_s64(t, s->tid);
	strbuf_str(t, ",\"comm\":");
	const char *comm =
		COMM_IS_UNNAMED(s->comm) ? NULL : strtab_str(&o->catalog->strings, s->comm);
	if (comm)
		json_text(t, comm, strlen(comm));
	else
		strbuf_str(t, "null");
	if (o->buffers && s->buffer < o->nr_buffers) {
		strbuf_str(t, ",\"buffer\":");
		json_text(t, o->buffers[s->buffer], strlen(o->buffers[s->buffer]));
	}
	if (s->missed) {
		strbuf_str(t, ",\"missed_before\":");
		if (s->missed == UINT32_MAX)
			strbuf_str(t, "null");
		else
			strbuf_u64(t, s->missed);
	}
	strbuf_str(t, ",\"system\":");
	if (look)
		json_text(t, look->schema->system, strlen(look->schema->system));
	else
		strbuf_str(t, "null");
	strbuf_str(t, ",\"event\":");
	if (look)
		json_text(t, look->schema->name, strlen(look->schema->name));
	else
		strbuf_str(t, "null");
	strbuf_str(t, ",\"fields\":{");
	for (u32 i = 0; look && i < look->schema->nr_fields; i++) {
		if (i)
			strbuf_char(t, ',');
		unsigned before = look->before ? look->before[i] : 0;
		json_field(t, look->schema, &look->schema->fields[i], before, s);
	}
	strbuf_char(t, '}');
	if (look)
		add_printk(t, look->schema, s);
	strbuf_str(t, "}\n");
	sh->nr_lines++;
}
