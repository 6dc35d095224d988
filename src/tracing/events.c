/* Which events are meant, their filters and triggers, and the writes that follow. */
#include "tracing/setup_impl.h"
#include "event/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is meant --------------------------------------------------------------------------------------------------------- */

/* What is to happen when a function of the pattern is called: traceoff:1, stacktrace, enable_event:SYS:EVENT ... */
static int take_command(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *glob,
			const char *command)
{
	struct strbuf line;
	strbuf_init(&line);
	strbuf_printf(&line, "%s:%s", glob, command);
	const char *copy = arena_strdup(&s->arena, strbuf_cstr(&line));
	strbuf_done(&line);
	if (strstr(command, " if ")) {
		int err = diag_error(s->diag, -EINVAL,
				     "'%s': function commands cannot have a condition", command);
		diag_hint(s->diag, "'%s:%s+%s' has", event_provider_of(EVENT_KIND_KPROBE)->prefix,
			  glob, command);
		return err;
	}
	return copy ? ftrace_add_word(&b->functions, copy) : -ENOMEM;
}

/* function: and graph: are a tracer and its functions in another dress. */
static int take_functions(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
			  const struct ftrace_event_opt *o, const struct event_desc *e)
{
	bool fn = e->kind == EVENT_KIND_FUNCTION;
	const char *tracer = fn ? "function" : "function_graph";
	const char *glob = e->probe.symbol;
	if (b->tracer && strcmp(b->tracer, tracer))
		return diag_error(s->diag, -EINVAL,
				  "'%s' needs the %s tracer, but only one tracer can be active: %s",
				  e->name, tracer, b->tracer);
	if (o->filter) {
		int err = diag_error(s->diag, -EINVAL,
				     "'%s': function tracers cannot filter by field", e->name);
		diag_hint(s->diag, "use '%s:%s/FILTER/' instead",
			  event_provider_of(EVENT_KIND_KPROBE)->prefix, glob);
		return err;
	}
	b->tracer = tracer;
	int err = strcmp(glob, "*") ? ftrace_add_word(fn ? &b->functions : &b->graph, glob) : 0;
	for (u32 i = 0; i < e->nr_triggers && !err; i++)
		err = take_command(s, b, glob, e->triggers[i]);
	for (size_t i = 0; i < o->triggers.nr && !err; i++)
		err = take_command(s, b, glob, o->triggers.at[i]);
	return err;
}

static int take_event(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
		      const struct ftrace_event_opt *o, const struct event_desc *e)
{
	struct ftrace_traced *t = vec_push(&b->traced);
	if (!t)
		return -ENOMEM;
	*t = (struct ftrace_traced){
		.from = (u32)(o - b->events.at),
		.kind = e->kind,
		.system = e->system,
		.name = e->event,
		.filter = e->filter ? e->filter : o->filter,
		.probe = e->probe,
		.off = o->off || e->off,
		.whole = e->whole,
	};
	if (e->filter && o->filter)
		return diag_error(s->diag, -EINVAL, "'%s' has two filters", o->text);
	int err = 0;
	for (u32 i = 0; i < e->nr_triggers && !err; i++)
		err = ftrace_add_word(&t->triggers, e->triggers[i]);
	for (size_t i = 0; i < o->triggers.nr && !err; i++)
		err = ftrace_add_word(&t->triggers, o->triggers.at[i]);
	return err;
}

/* 1: it is not there, and that was said to be well. */
static int resolve(struct ftrace_setup *s, const char *text, u32 use)
{
	/* The first of a list. */
	struct event_env env = { .tracing = s->tracing,
				 .root = s->root_path,
				 .pid = s->pids ? (s32)strtol(s->pids, NULL, 10) : 0 };
	struct diag quiet;
	if (!s->ignore_missing)
		return event_list_add(&s->events, &env, text, use, s->diag);
	diag_init(&quiet);
	int err = event_list_add(&s->events, &env, text, use, &quiet);
	diag_done(&quiet);
	if (err == -ENOENT) {
		diag_warn(s->diag, "no event matches '%s'", text);
		return 1;
	}
	return err ? event_list_add(&s->events, &env, text, use, s->diag) : 0;
}

int ftrace_resolve_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b, u32 use)
{
	int err = 0;
	for (size_t i = 0; i < b->events.nr && !err; i++) {
		const struct ftrace_event_opt *o = &b->events.at[i];
		size_t first = s->events.events.nr;
		err = resolve(s, o->text, use);
		if (err == 1) {
			err = 0;
			continue;
		}
		for (size_t k = first; k < s->events.events.nr && !err; k++) {
			const struct event_desc *e = &s->events.events.at[k];
			err = e->open == EVENT_OPEN_FTRACE ? take_functions(s, b, o, e)
							   : take_event(s, b, o, e);
		}
	}
	return err;
}

/* ---- the writes ------------------------------------------------------------------------------------------------------------ */

int ftrace_setup_note_system(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *system)
{
	vec_for_each (&b->systems, have)
		if (!strcmp(*have, system))
			return 0;
	const char *copy = arena_strdup(&s->arena, system);
	return copy ? ftrace_add_word(&b->systems, copy) : -ENOMEM;
}

static int check_filter(struct ftrace_setup *s, const struct ftrace_traced *e, const char *filter)
{
	struct filter_fault f;
	int err = filter_check(&s->tracing, e->system, e->name, filter, &f);
	if (err >= 0 || err == -ENOMEM)
		return err;
	diag_error(s->diag, err, "%s:%s: %s", e->system, e->name, f.message);
	diag_span(s->diag, filter, f.at.start, f.at.len);
	if (f.meant[0])
		diag_hint(s->diag, "did you mean %s?", f.meant);
	return -EINVAL;
}

/* The line that takes a trigger away: the command without its count, and the condition. */
static const char *undo_trigger(struct ftrace_setup *s, const char *trigger)
{
	struct strbuf u;
	strbuf_init(&u);
	const char *cond = strstr(trigger, " if ");
	size_t len = cond ? (size_t)(cond - trigger) : strlen(trigger);
	strbuf_printf(&u, "!%.*s%s", (int)len, trigger, cond ? cond : "");
	const char *copy = arena_strdup(&s->arena, strbuf_cstr(&u));
	strbuf_done(&u);
	return copy;
}

/* The file of an event without triggers tells which there are: "# Available triggers:", and a line of them. */
static void hint_triggers(struct ftrace_setup *s, const char *trigger)
{
	static const char head[] = "# Available triggers:\n#";
	struct strbuf t;
	struct tracing_events any;
	char path[300];
	size_t len = strcspn(trigger, ":. ");
	if (tracing_list_events(&s->tracing, NULL, NULL, &any))
		return;
	strbuf_init(&t);
	for (size_t i = 0; i < any.items.nr; i++) {
		(void)!str_path(path, sizeof(path), "events/%s/%s/trigger", any.items.at[i].system,
				any.items.at[i].name);
		strbuf_reset(&t);
		if (tracing_read(&s->tracing, path, &t) || !str_starts(strbuf_cstr(&t), head))
			continue;
		const char *words = strbuf_cstr(&t) + sizeof(head) - 1;
		size_t all = strcspn(words, "\n");
		const char *at = memmem(words, all, trigger, len);
		if (!len || !at || (at[-1] != ' ' || !strchr(" \n", at[len])))
			diag_hint(s->diag, "this kernel has:%.*s", (int)all, words);
		break;
	}
	strbuf_done(&t);
	tracing_events_done(&any);
}

static int set_filter(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
		      const struct ftrace_traced *e)
{
	int err = check_filter(s, e, e->filter);
	return err ? err
		   : journal_set(s->journal,
				 ftrace_path_in(s, b, "events/%s/%s/filter", e->system, e->name),
				 e->filter, s->diag);
}

static int add_trigger(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
		       const struct ftrace_traced *e, const char *trigger)
{
	const char *undo = undo_trigger(s, trigger);
	/* "enable_event:SYS:EVENT": formats of that one too. */
	const char *other = strstr(trigger, "able_event:");
	char system[128];
	int err = 0;
	if (other && sscanf(other, "able_event:%127[^:]", system) == 1)
		err = ftrace_setup_note_system(s, b, system);
	if (!err)
		err = undo ? journal_add(s->journal,
					 ftrace_path_in(s, b, "events/%s/%s/trigger", e->system,
							e->name),
					 trigger, undo, s->diag)
			   : -ENOMEM;
	if (err == -EINVAL)
		hint_triggers(s, trigger);
	return err;
}

static int set_event(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
		     const struct ftrace_traced *e, bool enable)
{
	/* In a dry run a probe does not exist. */
	bool bare = e->off || (s->dry_run && e->defined);
	int err = e->filter && !bare ? set_filter(s, b, e) : 0;
	for (size_t i = 0; i < e->triggers.nr && !err && !bare; i++)
		err = add_trigger(s, b, e, e->triggers.at[i]);
	if (!err && enable)
		err = journal_set(s->journal,
				  ftrace_path_in(s, b, "events/%s/%s/enable", e->system, e->name),
				  e->off ? "0" : "1", s->diag);
	return err ? err : ftrace_setup_note_system(s, b, e->system);
}

/* Where nobody else has one of a system on, all of it is one write. */
static bool whole_is_off(struct ftrace_setup *s, const char *path)
{
	struct strbuf t;
	strbuf_init(&t);
	bool off = journal_owns(s->journal, path) || *tracing_line(&s->tracing, path, &t) == '0';
	strbuf_done(&t);
	return off;
}

int ftrace_apply_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	const struct ftrace_traced *before = NULL;
	bool together = false;
	int err = 0;
	for (size_t i = 0; i < b->traced.nr && !err; i++) {
		const struct ftrace_traced *e = &b->traced.at[i];
		if (!before || before->from != e->from || strcmp(before->system, e->system)) {
			const char *path = ftrace_path_in(s, b, "events/%s/enable", e->system);
			together = e->whole && !e->off && whole_is_off(s, path);
			if (together)
				err = journal_set(s->journal, path, "1", s->diag);
		}
		if (!err)
			err = set_event(s, b, e, !together);
		before = e;
	}
	return err;
}
