#include "session/event_latency.h"

#include "event/provider.h"
#include "view/latency.h"

#include <errno.h>
#include <string.h>

static int on_match(void *ctx, const struct event_pair_match *m)
{
	latency_hist_add(ctx, event_pair_ns(m));
	return 0;
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct event_latency *l = ctx;
	(void)src;
	int err = latency_hist_init(&l->hist, l->in_ns);
	if (err)
		return err;
	l->pair = event_pair_new(&(struct event_pair_opts){
		.rules = &l->rule, .nr_rules = 1, .ctx = &l->hist, .match = on_match });
	if (!l->pair)
		return -ENOMEM;
	*ret = event_pair_sink(l->pair);
	return 0;
}

static int say_missing(const struct event_latency *l, const char *system, const char *event,
		       const char *field)
{
	int err = diag_error(l->to.diag, -ENOENT, "%s has no event '%s%s%s'%s%s%s", l->name,
			     system ? system : "", system ? ":" : "", event,
			     field ? " with a field '" : "", field ? field : "", field ? "'" : "");
	diag_hint(l->to.diag, "'sonde ftrace report -E -i FILE' shows its events");
	return err;
}

static bool has_event(struct source *src, const char *event, const char *key)
{
	for (u32 i = 0; i < src->catalog.events.nr; i++) {
		const struct schema *s = source_schema(src, i);
		if (s && !strcmp(s->name, event) && (!key || schema_find(s, key)))
			return true;
	}
	return false;
}

/* A recording without a single one of them may simply have seen none; a file that never heard of it is a mistake. */
static int check(const struct event_latency *l, struct source *src)
{
	const struct event_pair_rule *r = &l->rule;
	if (event_pair_startable(l->pair) && event_pair_endable(l->pair))
		return 0;
	if (!has_event(src, r->start_event, r->start_keys[0]))
		return say_missing(l, r->start_system, r->start_event, r->start_keys[0]);
	if (!has_event(src, r->end_event, r->end_keys[0]))
		return say_missing(l, r->end_system, r->end_event, r->end_keys[0]);
	return 0;
}

static int show(void *ctx, struct source *src)
{
	struct event_latency *l = ctx;
	if (event_pair_nr_gaps(l->pair))
		diag_warn(
			l->to.diag, "events were lost %llu times: intervals that began before a gap are not counted",
			(unsigned long long)event_pair_nr_gaps(l->pair));
	int err = check(l, src);
	if (err || l->to.json)
		return err ? err : latency_json(&l->hist.units, &l->hist.times, l->to.out);
	latency_text(&l->hist.units, l->to.out);
	if (!l->only_table)
		latency_summary(l->to.out, "latency", &l->hist.times);
	return 0;
}

struct trace_answer event_latency_answer(struct event_latency *l)
{
	return (struct trace_answer){ .sink = make_sink, .show = show, .ctx = l };
}

void event_latency_done(struct event_latency *l)
{
	event_pair_free(l->pair);
	l->pair = NULL;
	latency_hist_done(&l->hist);
}

/* ---- the rule ---- */

static int split_name(struct arena *a, const struct event_specs *specs, const struct event_spec *e,
		      const char **system, const char **event)
{
	bool two = e->kind == EVENT_KIND_TRACEPOINT;
	struct event_span name = two ? e->event : e->name;
	*system = two ? arena_strndup(a, specs->text + e->name.start, e->name.len) : NULL;
	*event = arena_strndup(a, specs->text + name.start, name.len);
	return *event && (*system || !two) ? 0 : -ENOMEM;
}

/* Words of a file, which this kernel need not have. */
static bool are_words(const struct event_specs *specs)
{
	for (u32 i = 0; i < specs->nr_items; i++) {
		const struct event_spec *e = &specs->items[i];
		bool two = e->kind == EVENT_KIND_TRACEPOINT;
		if ((!two && e->kind != EVENT_KIND_NAME) || !e->name.len ||
		    (two && !e->event.len) || e->has_filter || e->triggers.len || e->off)
			return false;
	}
	return true;
}

int event_latency_rule(const char *events, const char *by, struct arena *a,
		       struct event_pair_rule *ret, struct diag *d)
{
	struct event_specs specs;
	int err = event_parse(a, events, EVENT_USE_HIST, &specs, d);
	if (err)
		return err;
	if (specs.nr_items != 2 || !are_words(&specs))
		return diag_error(d, -EINVAL, "'%s': expected two events: A,B", events);
	if (!by)
		by = "common_pid";
	const char *equal = strchr(by, '=');
	char *key = arena_strndup(a, by, equal ? (size_t)(equal - by) : strlen(by)),
	     *end_key = arena_strdup(a, equal ? equal + 1 : by);
	if (!key || !end_key)
		return -ENOMEM;
	*ret = (struct event_pair_rule){ .start_keys = { key }, .end_keys = { end_key } };
	err = split_name(a, &specs, &specs.items[0], &ret->start_system, &ret->start_event);
	return err ? err : split_name(a, &specs, &specs.items[1], &ret->end_system, &ret->end_event);
}
