/* SYSTEM:EVENT and syscall:NAME: globs over tracefs, ids, filters; and what to say when there is none. */
#include "event/resolve_impl.h"

#include "base/glob.h"
#include "event/closest.h"
#include "event/filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int check_filter(struct event_resolver *r, const struct event_spec *e,
			const struct event_desc *desc)
{
	struct filter_fault f;
	int err = filter_check(&r->env->tracing, desc->system, desc->event, desc->filter, &f);
	if (err >= 0 || err == -ENOMEM)
		return err;
	struct event_span at = { .start = e->filter.start + f.at.start, .len = f.at.len };
	(void)resolve_error(r, -EINVAL, at, "%s", f.message);
	if (f.meant[0])
		diag_hint(r->diag, "did you mean %s?", f.meant);
	else if (err == -ENOENT)
		diag_hint(r->diag, "'sonde list -v %s:%s' shows its fields", desc->system,
			  desc->event);
	return -EINVAL;
}

int resolve_push_tracepoint(struct event_resolver *r, const struct event_spec *e,
			    enum event_kind kind, const char *system, const char *event)
{
	u64 id;
	int err = tracing_event_id(&r->env->tracing, system, event, &id);
	if (err < 0)
		return err;
	struct event_desc *desc = resolve_push(r, e, kind);
	if (!desc)
		return -ENOMEM;
	struct arena *a = &r->list->arena;
	desc->attr.type = PERF_TYPE_TRACEPOINT;
	desc->attr.config = id;
	desc->attr.sample_period = 1;
	desc->system = arena_strdup(a, system);
	desc->event = arena_strdup(a, event);
	if (e->has_filter)
		desc->filter = resolve_str(r, e->filter);
	struct strbuf name;
	strbuf_init(&name);
	strbuf_printf(&name, "%s:%s", system, event);
	if (e->mods.span.len)
		strbuf_printf(&name, ":%.*s", (int)e->mods.span.len, resolve_at(r, e->mods.span));
	desc->name = arena_strdup(a, strbuf_cstr(&name));
	if (name.err)
		desc->name = NULL;
	strbuf_done(&name);
	if (!desc->system || !desc->event || !desc->name || (e->has_filter && !desc->filter))
		return -ENOMEM;
	err = desc->filter ? check_filter(r, e, desc) : 0;
	return err < 0 ? err : resolve_static_terms(r, e, desc);
}

static int no_tracefs(struct event_resolver *r, const struct event_spec *e)
{
	int err = tracing_explain(&r->env->tracing, r->diag);
	diag_span(r->diag, r->specs->text, e->span.start, e->span.len);
	return err;
}

/* "cycles:ux": the left side is no system but an event, so the right side was meant as modifiers. */
static bool is_event_word(struct event_resolver *r, struct event_span s)
{
	const char *word = resolve_at(r, s);
	size_t nr;
	const struct legacy_event *rows = legacy_hardware(&nr);
	if (legacy_find(rows, nr, word, s.len))
		return true;
	rows = legacy_software(&nr);
	u64 config;
	return legacy_find(rows, nr, word, s.len) || cache_event_parse(word, s.len, &config) == 0;
}

static bool hint_system(struct event_resolver *r, const char *word)
{
	struct tracing_events systems;
	bool found = false;
	if (tracing_list_systems(&r->env->tracing, &systems) < 0)
		return false;
	vec_for_each (&systems.items, s)
		found |= !strcmp(s->system, word);
	if (found)
		diag_hint(r->diag, "use '%s:*' for all tracepoints of that system", word);
	tracing_events_done(&systems);
	return found;
}

bool resolve_hint_tracepoint(struct event_resolver *r, const char *event)
{
	struct tracing_events all;
	if (glob_is_pattern(event) || tracing_list_events(&r->env->tracing, NULL, event, &all) < 0)
		return false;
	bool found = all.items.nr;
	for (size_t i = 0; i < all.items.nr && i < 3; i++)
		diag_hint(r->diag, "did you mean %s:%s?", all.items.at[i].system,
			  all.items.at[i].name);
	tracing_events_done(&all);
	return found || hint_system(r, event);
}

static int unknown_tracepoint(struct event_resolver *r, const struct event_spec *e,
			      const char *system, const char *event)
{
	struct tracing_events systems, events;
	bool known_system = false;
	struct closest c;
	if (glob_is_pattern(system)) {
		(void)resolve_error(r, -ENOENT, e->span, "no tracepoint matches '%s:%s'", system,
				    event);
		return -ENOENT;
	}
	if (tracing_list_systems(&r->env->tracing, &systems) < 0)
		return resolve_error(r, -ENOENT, e->span, "no tracepoint '%s:%s'", system, event);
	closest_init(&c, system, strlen(system));
	vec_for_each (&systems.items, s) {
		known_system |= !strcmp(s->system, system);
		(void)closest_offer(&c, s->system);
	}
	if (!known_system) {
		(void)resolve_error(r, -ENOENT, e->name,
				    "no tracepoints of a system '%s' in this kernel", system);
		if (!resolve_hint_tracepoint(r, event) && c.best)
			diag_hint(r->diag, "did you mean %s:%s?", c.best, event);
	} else {
		(void)resolve_error(r, -ENOENT, e->event,
				    "no tracepoint '%s' in system '%s' of this kernel", event,
				    system);
		closest_init(&c, event, strlen(event));
		if (tracing_list_events(&r->env->tracing, system, NULL, &events) == 0) {
			vec_for_each (&events.items, t)
				(void)closest_offer(&c, t->name);
			if (c.best)
				diag_hint(r->diag, "did you mean %s:%s?", system, c.best);
			else
				diag_hint(r->diag, "sonde list '%s:*' shows all %zu", system,
					  events.items.nr);
			tracing_events_done(&events);
		}
		(void)resolve_hint_tracepoint(r, event);
	}
	tracing_events_done(&systems);
	return -ENOENT;
}

static int by_id(const void *a, const void *b)
{
	const struct event_desc *x = a, *y = b;
	return x->attr.config < y->attr.config ? -1 : x->attr.config > y->attr.config;
}

/* The order in which the kernel made them, which is how tracefs lists them and perf prints them. */
static void sort_by_id(struct event_list *l, size_t first)
{
	if (l->events.nr <= first)
		return;
	qsort(l->events.at + first, l->events.nr - first, sizeof(*l->events.at), by_id);
	for (size_t i = first; i < l->events.nr; i++)
		l->events.at[i].leader = (u32)i;
}

static int add_matching(struct event_resolver *r, const struct event_spec *e, enum event_kind kind,
			const char *system, const char *event)
{
	if (!glob_is_pattern(system) && !glob_is_pattern(event))
		return resolve_push_tracepoint(r, e, kind, system, event);
	struct tracing_events l;
	int err = tracing_list_events(&r->env->tracing, system, event, &l);
	if (err < 0)
		return err;
	size_t first = r->list->events.nr;
	err = l.items.nr ? 0 : -ENOENT;
	vec_for_each (&l.items, t) {
		/* ftrace's own entries have ids, but cannot be opened as tracepoints except the function tracer's. */
		if (!strcmp(t->system, "ftrace") && glob_is_pattern(system))
			continue;
		err = resolve_push_tracepoint(r, e, kind, t->system, t->name);
		if (err < 0)
			break;
	}
	tracing_events_done(&l);
	sort_by_id(r->list, first);
	return err;
}

int resolve_tracepoint(struct event_resolver *r, const struct event_spec *e)
{
	const char *system = resolve_str(r, e->name), *event = resolve_str(r, e->event);
	if (!system || !event)
		return -ENOMEM;
	int err = add_matching(r, e, EVENT_KIND_TRACEPOINT, system, event);
	if (err != -ENOENT && err != -EACCES)
		return err;
	if (is_event_word(r, e->name)) {
		struct event_mods mods;
		return event_parse_mods(r->specs->text, e->event, &mods, r->diag);
	}
	struct diag *outer = r->diag;
	r->diag = NULL;
	struct event_span all = { e->name.start, e->event.start + e->event.len - e->name.start };
	const char *vendor = resolve_str(r, all);
	int vendor_err = vendor ? resolve_vendor_name(r, e, vendor) : -ENOMEM;
	r->diag = outer;
	if (vendor_err == 0)
		return 0;
	if (r->env->tracing.err)
		return no_tracefs(r, e);
	if (err == -EACCES) {
		(void)resolve_error(r, err, e->span,
				    "tracepoint '%s:%s' is not readable by this user", system,
				    event);
		diag_hint(r->diag, "run it as root, or: sudo mount -o remount,mode=750,gid=$(id "
				   "-g) /sys/kernel/tracing");
		return err;
	}
	return unknown_tracepoint(r, e, system, event);
}

int resolve_syscall(struct event_resolver *r, const struct event_spec *e)
{
	char event[128];
	int n = snprintf(event, sizeof(event), "sys_enter_%.*s", (int)e->name.len,
			 resolve_at(r, e->name));
	if (n >= (int)sizeof(event))
		return resolve_error(r, -ENOENT, e->name, "system call name too long");
	int err = add_matching(r, e, EVENT_KIND_SYSCALL, "syscalls", event);
	if (err != -ENOENT && err != -EACCES)
		return err;
	if (r->env->tracing.err)
		return no_tracefs(r, e);
	struct tracing_events l;
	int have = tracing_list_events(&r->env->tracing, "syscalls", "sys_enter_*", &l);
	if (have == -ENOMEM)
		return have;
	if (have < 0 || !l.items.nr) {
		if (have == 0)
			tracing_events_done(&l);
		(void)resolve_error(r, -EOPNOTSUPP, e->span,
				    "this kernel has no tracepoints for single system calls "
				    "(CONFIG_FTRACE_SYSCALLS)");
		diag_hint(r->diag, "use raw_syscalls:sys_enter/id == N/ instead");
		return -EOPNOTSUPP;
	}
	(void)resolve_error(r, -ENOENT, e->name, "no system call '%.*s' in this kernel",
			    (int)e->name.len, resolve_at(r, e->name));
	struct closest c;
	closest_init(&c, resolve_at(r, e->name), e->name.len);
	vec_for_each (&l.items, t)
		(void)closest_offer(&c, t->name + strlen("sys_enter_"));
	if (c.best)
		diag_hint(r->diag, "did you mean syscall:%s?", c.best);
	tracing_events_done(&l);
	return -ENOENT;
}
