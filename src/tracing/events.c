/* -e: which events are meant, their filters and triggers, and the writes that follow. */
#include "tracing/setup_impl.h"
#include "event/closest.h"
#include "event/filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One -e, taken apart. */
struct spec {
	const char *system, *name; /* globs; NULL: any */
	const char *filter;
	bool stack;
	VEC(const char *) triggers;
};

/* "EVENT/FILTER/+TRIGGER+TRIGGER" */
static int split_spec(struct ftrace_setup *s, const struct ftrace_event_opt *e, struct spec *ret)
{
	char *text = arena_strdup(&s->arena, e->text);
	if (!text)
		return -ENOMEM;
	*ret = (struct spec){ .filter = e->filter };
	char *slash = strchr(text, '/');
	char *plus = slash ? NULL : strchr(text, '+');
	if (slash) {
		char *end = strrchr(text, '/');
		if (end == slash) {
			diag_error(s->diag, -EINVAL, "the filter of '%s' has no end: EVENT/FILTER/",
				   e->text);
			diag_span(s->diag, e->text, (size_t)(slash - text), 1);
			return -EINVAL;
		}
		plus = end[1] == '+' ? end + 1 : NULL;
		*slash = *end = 0;
		if (ret->filter)
			return diag_error(s->diag, -EINVAL, "'-e %s' has two filters", e->text);
		ret->filter = slash + 1;
	}
	while (plus) {
		*plus++ = 0;
		char *word = strsep(&plus, "+");
		if (!strcmp(word, "stack"))
			word = arena_strdup(&s->arena, "stacktrace");
		if (ftrace_add_word(&ret->triggers, word))
			return -ENOMEM;
	}
	vec_for_each (&e->triggers, t)
		if (ftrace_add_word(&ret->triggers, *t))
			return -ENOMEM;
	char *colon = strchr(text, ':');
	if (colon)
		*colon = 0;
	ret->system = colon ? text : NULL;
	ret->name = colon ? colon + 1 : text;
	if (ret->system && (!*ret->system || !strcmp(ret->system, "*")))
		ret->system = NULL;
	if (!*ret->name || !strcmp(ret->name, "*") || (!colon && !strcmp(text, "all")))
		ret->name = NULL;
	return 0;
}

static void hint_event(struct ftrace_setup *s, const char *text)
{
	struct tracing_events all;
	struct closest c;
	char best[160] = "", each[160];
	const char *colon = strchr(text, ':');
	if (tracing_list_events(&s->tracing, NULL, NULL, &all))
		return;
	closest_init(&c, text, strlen(text));
	vec_for_each (&all.items, e) {
		(void)snprintf(each, sizeof(each), "%s%s%s", colon ? e->system : "",
			       colon ? ":" : "", e->name);
		if (closest_offer(&c, each))
			(void)snprintf(best, sizeof(best), "%s:%s", e->system, e->name);
	}
	tracing_events_done(&all);
	if (*best)
		diag_hint(s->diag, "did you mean %s?", best);
	if (strchr(text, ','))
		diag_hint(s->diag, "each event has an -e of its own: -e A -e B");
	diag_hint(s->diag, "'sonde ftrace list -e' shows all events");
}

/* A word alone is a system or an event of any system. */
static int find_events(struct ftrace_setup *s, const struct spec *spec, bool *whole_system,
		       struct tracing_events *ret)
{
	*whole_system = false;
	if (!spec->system && spec->name) {
		int err = tracing_list_events(&s->tracing, spec->name, NULL, ret);
		*whole_system = !err && ret->items.nr;
		if (*whole_system)
			return 0;
		if (!err)
			tracing_events_done(ret);
	}
	*whole_system = !spec->name;
	int err = tracing_list_events(&s->tracing, spec->system, spec->name, ret);
	if (err == -ENOENT) {
		*ret = (struct tracing_events){ 0 };
		arena_init(&ret->arena);
		err = 0;
	}
	return err;
}

int ftrace_setup_note_system(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *system)
{
	vec_for_each (&b->systems, have)
		if (!strcmp(*have, system))
			return 0;
	const char *copy = arena_strdup(&s->arena, system);
	return copy ? ftrace_add_word(&b->systems, copy) : -ENOMEM;
}

static int check_filter(struct ftrace_setup *s, const struct tracing_event *e, const char *filter)
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
		(void)snprintf(path, sizeof(path), "events/%s/%s/trigger", any.items.at[i].system,
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

static int set_event(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const struct spec *spec,
		     const struct tracing_event *e, bool off, bool enable)
{
	struct diag *d = s->diag;
	int err = 0;
	if (spec->filter && !off) {
		err = check_filter(s, e, spec->filter);
		if (!err)
			err = journal_set(
				s->journal,
				ftrace_path_in(s, b, "events/%s/%s/filter", e->system, e->name),
				spec->filter, d);
	}
	for (size_t i = 0; i < spec->triggers.nr && !err && !off; i++) {
		const char *undo = undo_trigger(s, spec->triggers.at[i]);
		/* "enable_event:SYS:EVENT": formats of that one too. */
		const char *other = strstr(spec->triggers.at[i], "able_event:");
		char system[128];
		if (other && sscanf(other, "able_event:%127[^:]", system) == 1)
			err = ftrace_setup_note_system(s, b, system);
		if (!err)
			err = undo ? journal_add(s->journal,
						 ftrace_path_in(s, b, "events/%s/%s/trigger",
								e->system, e->name),
						 spec->triggers.at[i], undo, d)
				   : -ENOMEM;
		if (err == -EINVAL)
			hint_triggers(s, spec->triggers.at[i]);
	}
	if (!err && enable)
		err = journal_set(s->journal,
				  ftrace_path_in(s, b, "events/%s/%s/enable", e->system, e->name),
				  off ? "0" : "1", d);
	return err ? err : ftrace_setup_note_system(s, b, e->system);
}

/* Where nobody else has one of a system on, all of it is one write. */
static bool whole_is_off(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *path)
{
	struct strbuf t;
	strbuf_init(&t);
	bool off = journal_owns(s->journal, path) || *tracing_line(&s->tracing, path, &t) == '0';
	strbuf_done(&t);
	(void)b;
	return off;
}

static int set_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
		      const struct ftrace_event_opt *e, const struct spec *spec)
{
	struct tracing_events list;
	bool whole;
	int err = find_events(s, spec, &whole, &list);
	if (err)
		return err;
	if (!list.items.nr) {
		if (s->ignore_missing) {
			diag_warn(s->diag, "no event '%s'", e->text);
		} else {
			err = diag_error(s->diag, -ENOENT, "there is no event '%s'", e->text);
			hint_event(s, e->text);
		}
	}
	const char *system = NULL;
	bool together = false;
	for (size_t i = 0; i < list.items.nr && !err; i++) {
		const struct tracing_event *ev = &list.items.at[i];
		if (!strcmp(ev->system, "ftrace"))
			continue; /* those belong to tracers */
		if (!system || strcmp(system, ev->system)) {
			system = ev->system;
			const char *path = ftrace_path_in(s, b, "events/%s/enable", system);
			together = whole && !e->off && whole_is_off(s, b, path);
			if (together)
				err = journal_set(s->journal, path, "1", s->diag);
		}
		if (!err)
			err = set_event(s, b, spec, ev, e->off, !together);
	}
	tracing_events_done(&list);
	return err;
}

int ftrace_apply_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	int err = 0;
	for (size_t i = 0; i < b->events.nr && !err; i++) {
		struct spec spec;
		err = split_spec(s, &b->events.at[i], &spec);
		if (!err && s->dry_run && b->events.at[i].probe) /* it does not exist */
			err = set_event(s, b, &(struct spec){ 0 },
					&(struct tracing_event){ spec.system, spec.name }, false,
					true);
		else if (!err)
			err = set_events(s, b, &b->events.at[i], &spec);
		vec_free(&spec.triggers);
	}
	return err;
}

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
				     "'%s': what a function does has no condition", command);
		diag_hint(s->diag, "-e kprobe:%s -R '%s' has", glob, command);
		return err;
	}
	return copy ? ftrace_add_word(&b->functions, copy) : -ENOMEM;
}

/* GLOB[+COMMAND...], and the -R behind it. */
static int take_functions(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
			  const struct ftrace_event_opt *e, bool fn)
{
	const char *text = strchr(e->text, ':') + 1;
	size_t len = strcspn(text, "+/");
	char *glob = arena_strndup(&s->arena, text, len),
	     *rest = arena_strdup(&s->arena, text + len);
	if (!glob || !rest)
		return -ENOMEM;
	if (e->filter || *rest == '/') {
		int err = diag_error(s->diag, -EINVAL,
				     "'%s': tracers of functions have no filter by field", e->text);
		diag_hint(s->diag, "-P PID and -F choose tasks; -e 'kprobe:%s/FILTER/' has one",
			  glob);
		return err;
	}
	int err = 0;
	if (strcmp(glob, "*"))
		err = ftrace_add_word(fn ? &b->functions : &b->graph, glob);
	for (char *word = strtok_r(rest, "+", &rest); word && !err;
	     word = strtok_r(NULL, "+", &rest))
		err = take_command(s, b, glob, word);
	for (size_t i = 0; i < e->triggers.nr && !err; i++)
		err = take_command(s, b, glob, e->triggers.at[i]);
	return err;
}

/* "-e function:GLOB" and "-e graph:GLOB" are -p and -l or -g in another dress. */
int ftrace_take_tracer_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	size_t to = 0;
	vec_for_each (&b->events, e) {
		bool fn = str_starts(e->text, "function:");
		const char *tracer = fn ? "function" : "function_graph";
		if (!fn && !str_starts(e->text, "graph:"))
			continue;
		if (b->tracer && strcmp(b->tracer, tracer))
			return diag_error(
				s->diag,
				-EINVAL, "'-e %s' needs the tracer %s, but there is one tracer at a time: %s",
				e->text, tracer, b->tracer);
		b->tracer = tracer;
		int err = take_functions(s, b, e, fn);
		if (err)
			return err;
	}
	for (size_t i = 0; i < b->events.nr; i++) {
		struct ftrace_event_opt *e = &b->events.at[i];
		if (str_starts(e->text, "function:") || str_starts(e->text, "graph:"))
			vec_free(&e->triggers);
		else
			b->events.at[to++] = *e;
	}
	b->events.nr = to;
	return 0;
}
