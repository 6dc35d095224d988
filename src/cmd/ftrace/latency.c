#include "cmd/ftrace/latency.h"

#include "event/provider.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"
#include "view/latency.h"

#include <errno.h>
#include <string.h>

int ftrace_latency_print(struct app *app, struct latency_hist *l)
{
	if (app->json)
		return latency_json(&l->units, &l->times, &app->out);
	latency_text(&l->units, &app->out);
	if (!app->dialect->ends_with_table)
		latency_summary(&app->out, "latency", &l->times);
	return 0;
}

static int on_match(void *ctx, const struct event_pair_match *m)
{
	latency_hist_add(ctx, event_pair_ns(m));
	return 0;
}

static int say_missing(struct app *app, const char *path, const char *system, const char *event,
		       const char *field)
{
	int err = diag_error(&app->diag, -ENOENT, "%s has no event '%s%s%s'%s%s%s", path,
			     system ? system : "", system ? ":" : "", event,
			     field ? " with a field '" : "", field ? field : "", field ? "'" : "");
	diag_hint(&app->diag, "'sonde ftrace report -E -i FILE' shows its events");
	return err;
}

int ftrace_latency_read(struct app *app, const char *path, const struct event_pair_rule *rule,
			struct latency_hist *l)
{
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL };
	struct run_tables tables = { 0 };
	struct source *src;
	int err = replay_ftrace_open(path, &replay, &src, &app->diag);
	if (err)
		return err;
	struct event_pair *p = event_pair_new(&(struct event_pair_opts){
		.rules = rule, .nr_rules = 1, .ctx = l, .match = on_match });
	err = p ? stream_run(src, event_pair_sink(p), 0, &tables, &app->diag) : -ENOMEM;
	run_tables_done(&tables);
	if (!err && event_pair_nr_gaps(p))
		diag_warn(
			&app->diag, "events were lost %llu times: intervals that began before a gap are not counted",
			(unsigned long long)event_pair_nr_gaps(p));
	/* A recording without a single one of them may simply have seen none; a file that never heard of it is a mistake. */
	if (!err && (!event_pair_startable(p) || !event_pair_endable(p))) {
		bool start = false, end = false;
		for (u32 i = 0; i < replay_ftrace_nr_events(src); i++) {
			const struct schema *s = replay_ftrace_schema(src, i);
			if (!s)
				continue;
			start |= !strcmp(s->name, rule->start_event) &&
				 (!rule->start_keys[0] || schema_find(s, rule->start_keys[0]));
			end |= !strcmp(s->name, rule->end_event) &&
			       (!rule->end_keys[0] || schema_find(s, rule->end_keys[0]));
		}
		if (!start)
			err = say_missing(app, path, rule->start_system, rule->start_event,
					  rule->start_keys[0]);
		else if (!end)
			err = say_missing(app, path, rule->end_system, rule->end_event,
					  rule->end_keys[0]);
	}
	event_pair_free(p);
	src->ops->close(src);
	return err;
}

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

int ftrace_latency_rule(const char *events, const char *by, struct arena *a,
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
