#include "tracing/hists.h"

#include "base/str.h"
#include "event/event.h"
#include "wire/format.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ftrace_hists_event(const struct ftrace_hists *h, const char *text, char *system, char *event,
		       size_t size)
{
	struct event_env env = { .tracing = *h->t, .root = "" };
	struct event_list l;
	event_list_init(&l);
	int err = event_list_add(&l, &env, text, EVENT_USE_HIST, h->diag);
	const struct event_desc *e = l.events.nr == 1 ? l.events.at : NULL;
	if (!err && e && !e->filter && !e->nr_triggers && !e->off) {
		(void)snprintf(system, size, "%s", e->system);
		(void)snprintf(event, size, "%s", e->event);
	} else if (!err) {
		err = diag_error(h->diag, -ENOENT, "'%s' is more than one event", text);
		diag_hint(h->diag, e ? "-f FILTER selects events, -k and -R what is counted"
				     : "'sonde ftrace list -e' shows all events");
	}
	event_list_done(&l);
	return err;
}

static int add_trigger(struct ftrace_hists *h, const char *system, const char *event,
		       const char *line)
{
	char path[PATH_MAX];
	struct strbuf undo; /* a filter may be of any length */
	int err = str_path(path, sizeof(path), "%sevents/%s/%s/trigger", h->folder, system, event);
	if (err)
		return diag_error(h->diag, err, "event %s:%s: %s", system, event, strerror(-err));
	strbuf_init(&undo);
	strbuf_printf(&undo, "!%s", line);
	err = undo.err ? undo.err : journal_add(h->j, path, line, strbuf_cstr(&undo), h->diag);
	strbuf_done(&undo);
	return err;
}

/* keys=...:vals=...:sort=...:size=... if FILTER */
static int plain_hist(struct ftrace_hists *h, const struct ftrace_hist_words *o)
{
	char system[128], event[128];
	struct strbuf line;
	int err = ftrace_hists_event(h, o->event, system, event, sizeof(event));
	if (err)
		return err;
	strbuf_init(&line);
	if (o->trigger)
		strbuf_str(&line, o->trigger);
	else
		strbuf_printf(&line, "hist:keys=%s", o->keys);
	if (!o->trigger && o->values)
		strbuf_printf(&line, ":vals=%s", o->values);
	if (!o->trigger && o->sort)
		strbuf_printf(&line, ":sort=%s", o->sort);
	if (!o->trigger && o->size)
		strbuf_printf(&line, ":size=%s", o->size);
	if (o->filter)
		strbuf_printf(&line, " if %s", o->filter);
	err = line.err ? line.err : add_trigger(h, system, event, strbuf_cstr(&line));
	strbuf_done(&line);
	(void)!str_path(h->shown, sizeof(h->shown), "%sevents/%s/%s/hist", h->folder, system, event);
	return err;
}

static void synth_name(char *to, size_t size)
{
	(void)snprintf(to, size, "sonde_lat_%d", (int)getpid());
}

/* Made before the instance that uses it, so that it is removed after it. */
static int make_synth(struct ftrace_hists *h)
{
	char name[64], line[128], undo[96];
	synth_name(name, sizeof(name));
	(void)snprintf(line, sizeof(line), "%s u64 usecs", name);
	(void)snprintf(undo, sizeof(undo), "!%s", name);
	return journal_add(h->j, "synthetic_events", line, undo, h->diag);
}

/*
 * A notes its time under the key, B finds it and makes an event of the difference, whose histogram is the answer. A key may have
 * two names: pid=next_pid.
 */
static int latency_hist(struct ftrace_hists *h, const struct ftrace_hist_words *o)
{
	char first[256], sa[128], ea[128], sb[128], eb[128], ka[64], kb[64], line[1024], synth[64];
	const char *comma = strchr(o->latency, ','), *by = o->by ? o->by : "common_pid";
	const char *equal = strchr(by, '=');
	if (!comma || comma - o->latency >= (long)sizeof(first))
		return diag_error(h->diag, -EINVAL, "%s A,B: expected two events",
				  diag_option(h->diag, DIAG_OPT_LATENCY));
	(void)snprintf(first, sizeof(first), "%.*s", (int)(comma - o->latency), o->latency);
	(void)snprintf(ka, sizeof(ka), "%.*s", equal ? (int)(equal - by) : (int)strlen(by), by);
	(void)snprintf(kb, sizeof(kb), "%s", equal ? equal + 1 : by);
	int err = ftrace_hists_event(h, first, sa, ea, sizeof(ea));
	if (!err)
		err = ftrace_hists_event(h, comma + 1, sb, eb, sizeof(eb));
	if (err)
		return err;
	synth_name(synth, sizeof(synth));
	(void)snprintf(line, sizeof(line), "hist:keys=%s:ts0=common_timestamp.usecs%s%s", ka,
		       o->filter ? " if " : "", o->filter ? o->filter : "");
	if (!err)
		err = add_trigger(h, sa, ea, line);
	(void)snprintf(line, sizeof(line),
		       "hist:keys=%s:lat=common_timestamp.usecs-$ts0:onmatch(%s.%s).%s($lat)", kb,
		       sa, ea, synth);
	if (!err)
		err = add_trigger(h, sb, eb, line);
	if (!err)
		err = add_trigger(h, "synthetic", synth,
				  o->keys && strcmp(o->keys, "usecs")
					  ? o->keys
					  : "hist:keys=usecs.log2:sort=usecs");
	(void)!str_path(h->shown, sizeof(h->shown), "%sevents/synthetic/%s/hist", h->folder, synth);
	return err;
}

int ftrace_hists_open(struct ftrace_hists *h, const struct tracing *t, const char *title,
		      struct strbuf *dry, struct diag *d)
{
	struct journal_opts jo = { .title = title, .dry = dry };
	*h = (struct ftrace_hists){ .t = t, .diag = d };
	int err = journal_open(&h->j, t, &jo, d);
	if (err)
		return err;
	(void)snprintf(h->name, sizeof(h->name), "sonde-%s", journal_name(h->j));
	(void)snprintf(h->folder, sizeof(h->folder), "instances/%s/", h->name);
	return 0;
}

int ftrace_hists_begin(struct ftrace_hists *h, const struct ftrace_hist_words *o)
{
	int err = o->latency ? make_synth(h) : 0;
	if (!err)
		err = journal_instance(h->j, h->name, h->diag);
	if (err)
		return err;
	return o->latency ? latency_hist(h, o) : plain_hist(h, o);
}

int ftrace_hists_stop(struct ftrace_hists *h)
{
	struct strbuf path;
	strbuf_init(&path);
	strbuf_printf(&path, "%stracing_on", h->folder);
	int err = journal_set(h->j, strbuf_cstr(&path), "0", h->diag);
	strbuf_done(&path);
	return err;
}

void ftrace_hists_close(struct ftrace_hists *h)
{
	journal_close(h->j, h->diag);
	h->j = NULL;
}

/* ---- a query in SQL ---- */

/* As the synthetic event has it: the kernel compares sizes and signs. */
static int add_type(const struct ftrace_hists *h, const struct ftrace_sql *q,
		    const struct sql_item *i, struct strbuf *to)
{
	const struct sql_side *side = &q->sides[i->a.side];
	struct arena a;
	struct strbuf text;
	struct schema *schema;
	char path[400];
	if (!i->a.field) {
		strbuf_printf(to, " u64 %s;", i->label);
		return 0;
	}
	arena_init(&a);
	strbuf_init(&text);
	(void)!str_path(path, sizeof(path), "events/%s/%s/format", side->system, side->event);
	int err = tracing_read(h->t, path, &text);
	if (!err)
		err = format_parse(&a, side->system, strbuf_cstr(&text), text.len, false,
				   sizeof(long), &schema, NULL);
	const struct schema_field *f = err ? NULL : schema_find(schema, i->a.field);
	if (!err && !f) {
		err = diag_error(h->diag, -ENOENT, "%s has no field '%s'", side->event, i->a.field);
		diag_hint(h->diag, "'sonde ftrace list -e %s -F' shows its fields", side->event);
	} else if (!err && (f->flags & FIELD_STRING)) {
		strbuf_printf(to,
			      f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC) ? " char[] %s;"
									  : " char %s[%u];",
			      i->label, f->size);
	} else if (!err) {
		strbuf_printf(to, " %c%u %s;", f->flags & FIELD_SIGNED ? 's' : 'u', f->size * 8,
			      i->label);
	}
	strbuf_done(&text);
	arena_done(&a);
	return err;
}

static int add_synth(struct ftrace_hists *h, const struct ftrace_sql *q, const char *name)
{
	struct strbuf line;
	char undo[160];
	int err = 0;
	strbuf_init(&line);
	strbuf_str(&line, name);
	vec_for_each (&q->items, i)
		if (!err)
			err = add_type(h, q, i, &line);
	if (line.len && line.data[line.len - 1] == ';')
		line.len--;
	(void)snprintf(undo, sizeof(undo), "!%s", name);
	if (!err)
		err = journal_add(h->j, "synthetic_events", strbuf_cstr(&line), undo, h->diag);
	strbuf_done(&line);
	return err;
}

static int find_sides(const struct ftrace_hists *h, struct ftrace_sql *q)
{
	int err = 0;
	for (int i = 0; i < 1 + q->join && !err; i++) {
		char text[256], system[128], event[128];
		struct sql_side *s = &q->sides[i];
		(void)snprintf(text, sizeof(text), "%s%s%s", s->system ? s->system : "",
			       s->system ? ":" : "", s->event);
		err = ftrace_hists_event(h, text, system, event, sizeof(event));
		if (err)
			return err;
		s->system = arena_strdup(&q->arena, system);
		s->event = arena_strdup(&q->arena, event);
		err = s->system && s->event ? 0 : -ENOMEM;
	}
	return err;
}

/* Names are checked before anything is written, or recorded. */
static int check_fields(const struct ftrace_hists *h, const struct ftrace_sql *q)
{
	struct strbuf scratch;
	int err = 0;
	strbuf_init(&scratch);
	vec_for_each (&q->items, i) {
		struct sql_item other = { .a = i->b, .label = "" };
		if (!err)
			err = add_type(h, q, i, &scratch);
		if (!err && i->op)
			err = add_type(h, q, &other, &scratch);
	}
	for (int side = 0; side < 2; side++)
		vec_for_each (&q->keys[side], key) {
			struct sql_item i = { .a = { .side = side, .field = *key }, .label = "" };
			if (!err)
				err = add_type(h, q, &i, &scratch);
		}
	strbuf_done(&scratch);
	return err;
}

static int sql_triggers(struct ftrace_hists *h, const struct ftrace_sql *q, const char *name)
{
	const struct sql_side *a = &q->sides[0], *b = &q->sides[1];
	struct strbuf line[3];
	for (int i = 0; i < 3; i++)
		strbuf_init(&line[i]);
	int err;
	if (q->join) {
		ftrace_sql_start(q, &line[0]);
		ftrace_sql_end(q, name, &line[1]);
		ftrace_sql_shown(q, &line[2]);
		err = add_trigger(h, a->system, a->event, strbuf_cstr(&line[0]));
		if (!err)
			err = add_trigger(h, b->system, b->event, strbuf_cstr(&line[1]));
		if (!err)
			err = add_trigger(h, "synthetic", name, strbuf_cstr(&line[2]));
	} else {
		ftrace_sql_plain(q, &line[0]);
		err = add_trigger(h, a->system, a->event, strbuf_cstr(&line[0]));
	}
	(void)!str_path(h->shown, sizeof(h->shown), "%sevents/%s/%s/hist", h->folder,
			q->join ? "synthetic" : a->system, q->join ? name : a->event);
	for (int i = 0; i < 3; i++)
		strbuf_done(&line[i]);
	return err;
}

int ftrace_hists_check(const struct ftrace_hists *h, struct ftrace_sql *q)
{
	int err = find_sides(h, q);
	return err ? err : check_fields(h, q);
}

int ftrace_hists_query(struct ftrace_hists *h, const struct ftrace_sql *q, const char *name)
{
	int err = q->join ? add_synth(h, q, name) : 0;
	if (!err)
		err = journal_instance(h->j, h->name, h->diag);
	return err ? err : sql_triggers(h, q, name);
}
