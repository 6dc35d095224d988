#include "session/run_probes.h"

#include "probe/point.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int begin(struct run_probes *p, struct diag *d)
{
	int err = tracing_open(&p->tracing, "");
	if (err)
		return err;
	err = p->tracing.err ? tracing_explain(&p->tracing, d)
			     : journal_open(&p->journal, &p->tracing,
					    &(struct journal_opts){ .title = p->title }, d);
	if (err) {
		tracing_close(&p->tracing);
		return err;
	}
	(void)snprintf(p->group, sizeof(p->group), "sonde_%s", journal_name(p->journal));
	for (char *c = p->group; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return 0;
}

static int define(void *ctx, const struct event_probe *at,
		  int (*each)(void *each_ctx, const char *system, const char *event),
		  void *each_ctx, struct diag *d)
{
	struct run_probes *p = ctx;
	size_t first = p->defs.at.nr;
	int err = p->journal ? 0 : begin(p, d);
	if (!err)
		err = probe_point_find(at, false, p->group, "", &p->defs, d);
	for (size_t i = first; i < p->defs.at.nr && !err; i++) {
		const struct probe_def *def = &p->defs.at.at[i];
		err = probe_define(p->journal, &p->tracing, def, d);
		if (!err)
			err = each(each_ctx, def->group, def->event);
	}
	return err;
}

void run_probes_init(struct run_probes *p, const char *title)
{
	*p = (struct run_probes){ .title = title, .ops = { .define = define, .ctx = p } };
	probe_defs_init(&p->defs);
}

/* A symbol or a path by its address in our memory; a probe at an address has none. */
static bool has_pointer(const struct event_desc *e)
{
	switch (e->kind) {
	case EVENT_KIND_KPROBE:
	case EVENT_KIND_KRETPROBE: return !e->system && e->attr.kprobe_func;
	case EVENT_KIND_UPROBE:
	case EVENT_KIND_URETPROBE:
	case EVENT_KIND_USDT: return !e->system && e->attr.uprobe_path;
	default: return false;
	}
}

/* The event in place of what perf_event_open() would have made. */
static int define_plain(struct run_probes *p, struct event_list *l, struct event_desc *e,
			struct diag *d)
{
	u64 id;
	int err = p->journal ? 0 : begin(p, d);
	if (!err)
		err = probe_point_plain(&e->probe, p->group, &p->defs, d);
	if (err)
		return err;
	const struct probe_def *def = &p->defs.at.at[p->defs.at.nr - 1];
	err = probe_define(p->journal, &p->tracing, def, d);
	if (!err)
		err = tracing_event_id(&p->tracing, def->group, def->event, &id);
	if (err)
		return err;
	e->system = arena_strdup(&l->arena, def->group);
	e->event = arena_strdup(&l->arena, def->event);
	if (!e->system || !e->event)
		return -ENOMEM;
	e->pmu = NULL;
	e->attr.type = PERF_TYPE_TRACEPOINT;
	e->attr.config = id;
	e->attr.config1 = e->attr.config2 = 0;
	return 0;
}

/* A child gets a group as a whole: as its leader says. */
static void leave_out_children(struct event_list *l, const struct event_desc *of)
{
	vec_for_each (&l->events, e)
		if (e->leader == of->leader)
			e->terms.inherit = 0;
}

int run_probes_inherit(struct run_probes *p, struct event_list *l, struct diag *d)
{
	struct diag why;
	int err = 0;
	diag_init(&why);
	for (size_t i = 0; i < l->events.nr && !err; i++) {
		struct event_desc *e = &l->events.at[i];
		if (!has_pointer(e) || !e->terms.inherit)
			continue;
		err = define_plain(p, l, e, &why);
		if (!err || err == -ENOMEM)
			continue;
		diag_warn(d, "%s: children and new threads are not included: %s", e->name,
			  why.items.nr ? why.items.at[0].message : strerror(-err));
		leave_out_children(l, e);
		diag_done(&why);
		diag_init(&why);
		err = 0;
	}
	diag_done(&why);
	return err;
}

static bool is_event(void *ctx, const char *group, const char *event)
{
	const struct event_list *l = ctx;
	vec_for_each (&l->events, e)
		if (e->system && !strcmp(e->system, group) && !strcmp(e->event, event))
			return true;
	return false;
}

/* Events in tracefs may be probes, of this run or defined before. */
static struct probe_misses count_missed(struct event_list *l)
{
	struct probe_misses none = { 0 };
	struct tracing t;
	bool any = false;
	vec_for_each (&l->events, e)
		any |= e->system != NULL;
	if (!any || tracing_open(&t, ""))
		return none;
	struct probe_misses sum = t.err ? none : probe_misses_read(&t, is_event, l);
	tracing_close(&t);
	return sum;
}

void run_probes_watch(struct run_probes *p, struct event_list *l)
{
	p->missed_before = count_missed(l);
}

void run_probes_report(const struct run_probes *p, struct event_list *l, struct diag *d)
{
	struct probe_misses now = count_missed(l);
	probe_misses_report(&p->missed_before, &now, d);
}

void run_probes_close(struct run_probes *p, struct diag *d)
{
	if (p->journal) {
		journal_close(p->journal, d);
		tracing_close(&p->tracing);
		p->journal = NULL;
	}
	probe_defs_done(&p->defs);
}
