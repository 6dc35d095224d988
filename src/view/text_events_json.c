/* One event as a JSON object on a line. */
#include "view/text_events_impl.h"
#include "view/json_fields.h"

#include <string.h>

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
	strbuf_str(t, ",\"fields\":");
	if (look)
		json_fields(t, look->schema, look->before, s);
	else
		strbuf_str(t, "{}");
	if (look)
		add_printk(t, look->schema, s);
	strbuf_str(t, "}\n");
	sh->nr_lines++;
}
