#include "session/profile_events.h"

#include "analysis/event_times.h"

#include <errno.h>
#include <string.h>

static int add_event(struct ftrace_setup *f, const char *event, bool stack)
{
	struct ftrace_event_opt *e = ftrace_setup_event(f, event);
	if (!e)
		return -ENOMEM;
	return stack ? ftrace_add_word(&e->triggers, "stacktrace") : 0;
}

static bool has_tracer(const struct tracing *t, const char *name)
{
	struct strbuf s;
	size_t len = strlen(name);
	bool found = false;
	strbuf_init(&s);
	if (!tracing_read(t, "available_tracers", &s))
		for (const char *p = strbuf_cstr(&s); *p && !found;) {
			size_t word = strcspn(p, " \n");
			found = word == len && !strncmp(p, name, len);
			p += word + (p[word] != '\0');
		}
	strbuf_done(&s);
	return found;
}

static int add_default_events(struct ftrace_setup *f, const struct tracing *t)
{
	static const struct {
		const char *name;
		bool stack;
	} all[] = {
		{ "sched:sched_switch", true },		 { "sched:sched_wakeup", true },
		{ "sched:sched_wakeup_new", true },	 { "irq:irq_handler_entry", false },
		{ "irq:irq_handler_exit", false },	 { "irq:softirq_raise", false },
		{ "irq:softirq_entry", false },		 { "irq:softirq_exit", false },
		{ "raw_syscalls:sys_enter", false },	 { "raw_syscalls:sys_exit", false },
		{ "exceptions:page_fault_user", false },
	};
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(all) && !err; i++) {
		char path[160];
		const char *colon = strchr(all[i].name, ':');
		(void)!str_path(path, sizeof(path), "events/%.*s/%s/enable",
				(int)(colon - all[i].name), all[i].name, colon + 1);
		if (tracing_has(t, path))
			err = add_event(f, all[i].name, all[i].stack);
	}
	if (!err && f->buffers.nr && !f->buffers.at[0].tracer && has_tracer(t, "function_graph")) {
		f->buffers.at[0].tracer = "function_graph";
		if (!f->max_depth)
			f->max_depth = "1";
	}
	return err;
}

int profile_events(struct ftrace_setup *f, const struct opt_list *hooks, bool only_given,
		   struct arena *names, struct diag *d)
{
	struct tracing t;
	int err = ftrace_open(&t, d);
	if (err)
		return err;
	if (!only_given)
		err = add_default_events(f, &t);
	for (size_t i = 0; i < hooks->items.nr && !err; i++) {
		struct event_times_hook h;
		err = event_times_parse_hook(hooks->items.at[i], &h, d);
		const char *start = err ? NULL : arena_strdup(names, h.start),
			   *end = err ? NULL : arena_strdup(names, h.end);
		if (!err)
			err = start && end ? add_event(f, start, h.stack) : -ENOMEM;
		if (!err)
			err = add_event(f, end, false);
	}
	tracing_close(&t);
	return err;
}
