/*
 * Events of tracefs, for the verbs that trace: words as trace-cmd has them (a system, an event of any system, globs, all), and probes
 * that whoever traces defines.
 */
#include "event/resolve_impl.h"

#include "base/glob.h"
#include "base/str.h"
#include "event/closest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- words ---- */

struct words {
	const char *system, *name; /* globs; NULL: any */
	const char *text; /* both, as they were written */
};

static bool is_any(const char *s)
{
	return !*s || !strcmp(s, "*");
}

static int read_words(struct event_resolver *r, const struct event_spec *e, struct words *w)
{
	bool two = e->kind == EVENT_KIND_TRACEPOINT;
	struct event_span all = e->name;
	if (two)
		all.len = e->event.start + e->event.len - all.start;
	w->text = resolve_str(r, all);
	w->system = two ? resolve_str(r, e->name) : NULL;
	w->name = resolve_str(r, two ? e->event : e->name);
	if (!w->text || !w->name || (two && !w->system))
		return -ENOMEM;
	if (w->system && is_any(w->system))
		w->system = NULL;
	if (is_any(w->name) || (!two && !strcmp(w->name, "all")))
		w->name = NULL;
	return 0;
}

/* A word alone is a system or an event of any system. */
static int find_events(struct event_resolver *r, const struct words *w, bool alone, bool *whole,
		       struct tracing_events *ret)
{
	const struct tracing *t = &r->env->tracing;
	if (alone && w->name) {
		int err = tracing_list_events(t, w->name, NULL, ret);
		*whole = !err && ret->items.nr;
		if (*whole)
			return 0;
		if (!err)
			tracing_events_done(ret);
	}
	*whole = !w->name;
	int err = tracing_list_events(t, w->system, w->name, ret);
	if (err == -ENOENT) {
		*ret = (struct tracing_events){ 0 };
		arena_init(&ret->arena);
		err = 0;
	}
	return err;
}

/* A word that perf has and tracefs has not: what can use it. */
static int refuse_counter(struct event_resolver *r, const struct event_spec *e)
{
	static const struct {
		const struct legacy_event *(*rows)(size_t *nr);
		enum event_kind kind;
	} tables[] = { { legacy_hardware, EVENT_KIND_HARDWARE },
		       { legacy_software, EVENT_KIND_SOFTWARE },
		       { legacy_tool, EVENT_KIND_TOOL } };
	const char *word = resolve_at(r, e->name);
	size_t nr;
	u64 config;
	for (size_t i = 0; i < ARRAY_SIZE(tables) && e->kind == EVENT_KIND_NAME; i++) {
		const struct legacy_event *rows = tables[i].rows(&nr);
		if (legacy_find(rows, nr, word, e->name.len))
			return resolve_check_use(r, e, tables[i].kind);
	}
	if (e->kind == EVENT_KIND_NAME && cache_event_parse(word, e->name.len, &config) == 0)
		return resolve_check_use(r, e, EVENT_KIND_CACHE);
	return 0;
}

static int no_event(struct event_resolver *r, const struct event_spec *e, const char *text)
{
	struct tracing_events all;
	struct closest c;
	char best[160] = "", each[160];
	const char *colon = strchr(text, ':');
	struct event_span at = { .start = e->name.start, .len = (u32)strlen(text) };
	int err = refuse_counter(r, e);
	if (err < 0)
		return err;
	(void)resolve_error(r, -ENOENT, at, "unknown event '%s'", text);
	if (tracing_list_events(&r->env->tracing, NULL, NULL, &all))
		return -ENOENT;
	closest_init(&c, text, strlen(text));
	vec_for_each (&all.items, t) {
		(void)snprintf(each, sizeof(each), "%s%s%s", colon ? t->system : "",
			       colon ? ":" : "", t->name);
		if (closest_offer(&c, each))
			(void)snprintf(best, sizeof(best), "%s:%s", t->system, t->name);
	}
	tracing_events_done(&all);
	if (*best)
		diag_hint(r->diag, "did you mean %s?", best);
	diag_hint(r->diag, "'sonde ftrace list -e' shows all events");
	return -ENOENT;
}

static int push_event(struct event_resolver *r, const struct event_spec *e,
		      const struct tracing_event *t, bool whole)
{
	struct event_desc *desc = resolve_push(r, e, EVENT_KIND_TRACEPOINT);
	if (!desc)
		return -ENOMEM;
	desc->system = arena_strdup(&r->list->arena, t->system);
	desc->event = arena_strdup(&r->list->arena, t->name);
	desc->filter = e->has_filter ? resolve_str(r, e->filter) : NULL;
	desc->whole = whole;
	return desc->system && desc->event && (desc->filter || !e->has_filter) ? 0 : -ENOMEM;
}

int trace_words(struct event_resolver *r, const struct event_spec *e)
{
	struct words w;
	struct tracing_events found;
	bool whole;
	int err = read_words(r, e, &w);
	if (!err)
		err = find_events(r, &w, e->kind == EVENT_KIND_NAME, &whole, &found);
	if (err)
		return err;
	bool any = false;
	for (size_t i = 0; i < found.items.nr && !err; i++) {
		if (!strcmp(found.items.at[i].system, "ftrace"))
			continue; /* those belong to tracers */
		any = true;
		err = push_event(r, e, &found.items.at[i], whole);
	}
	/* "ftrace" alone is there, and nothing to do. */
	if (!err && !any && !found.items.nr)
		err = no_event(r, e, w.text);
	tracing_events_done(&found);
	return err;
}

/* ---- probes ---- */

int trace_probe(struct event_resolver *r, const struct event_spec *e)
{
	struct event_desc *desc = resolve_push(r, e, e->kind);
	struct event_span at;
	if (!desc)
		return -ENOMEM;
	desc->open = EVENT_OPEN_DEFINE;
	if (e->has_filter && !(desc->filter = resolve_str(r, e->filter)))
		return -ENOMEM;
	if (e->point.len)
		return resolve_point(r, e, &desc->probe);
	int err = resolve_kernel_symbol(r, e, desc, &at);
	if (err < 0)
		return err;
	desc->probe.is_return = e->kind == EVENT_KIND_KRETPROBE || e->kind == EVENT_KIND_FRETPROBE;
	bool by_address = str_starts(desc->probe.symbol, "0x") && e->kind == EVENT_KIND_KPROBE;
	return by_address || glob_is_pattern(desc->probe.symbol)
		       ? 0
		       : resolve_check_kernel(r, &desc->probe, at);
}

int trace_uprobe(struct event_resolver *r, const struct event_spec *e)
{
	struct event_desc *desc = resolve_push(r, e, e->kind);
	if (!desc)
		return -ENOMEM;
	desc->open = EVENT_OPEN_DEFINE;
	if (e->has_filter && !(desc->filter = resolve_str(r, e->filter)))
		return -ENOMEM;
	return e->point.len ? resolve_point(r, e, &desc->probe) : resolve_binary(r, e, desc);
}

/* ---- what all have ---- */

static int split_triggers(struct event_resolver *r, struct event_span s, const char ***ret, u32 *nr)
{
	char *text = s.len ? arena_strndup(&r->list->arena, resolve_at(r, s), s.len) : NULL;
	*nr = 0;
	*ret = NULL;
	if (!s.len)
		return 0;
	u32 most = 1;
	for (const char *p = text; p && (p = strchr(p, '+')); p++)
		most++;
	*ret = arena_array(&r->list->arena, most, sizeof(**ret));
	if (!text || !*ret)
		return -ENOMEM;
	while (text) {
		const char *word = strsep(&text, "+");
		(*ret)[(*nr)++] = !strcmp(word, "stack") ? "stacktrace" : word;
	}
	return 0;
}

int trace_finish(struct event_resolver *r, const struct event_spec *e, u32 first)
{
	const char **triggers;
	u32 nr;
	int err = split_triggers(r, e->triggers, &triggers, &nr);
	for (u32 i = first; i < r->list->events.nr && !err; i++) {
		struct event_desc *desc = &r->list->events.at[i];
		desc->triggers = triggers;
		desc->nr_triggers = nr;
		desc->off = e->off;
		if (desc->system)
			desc->open = EVENT_OPEN_TRACEFS;
	}
	return err;
}
