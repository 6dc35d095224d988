/* `stat report`: what `stat record` (ours or perf's) kept, shown as `stat` would have, added up as asked. */
#include "session/stat_run.h"

#include "event/print.h"
#include "file/statdata.h"
#include "kern/machine.h"

#include <errno.h>
#include <string.h>

/* Counts that lie in a file. */
struct stat_reading {
	struct stat_session session; /* what printing needs; nothing of it runs */
	struct perfdata file;
	struct statdata counts;
	struct machine machine; /* its topology only */
	struct event_desc *descs; /* one an event of the file */
	struct count *now;
};

/* ---- the plan: the file's events and places ---- */

static enum event_kind kind_of(const struct perf_event_attr *a)
{
	switch (a->type) {
	case PERF_TYPE_HARDWARE: return EVENT_KIND_HARDWARE;
	case PERF_TYPE_SOFTWARE: return EVENT_KIND_SOFTWARE;
	case PERF_TYPE_HW_CACHE: return EVENT_KIND_CACHE;
	case PERF_TYPE_TRACEPOINT: return EVENT_KIND_TRACEPOINT;
	case PERF_TYPE_RAW: return EVENT_KIND_RAW;
	case PERF_TYPE_BREAKPOINT: return EVENT_KIND_BREAKPOINT;
	default: return EVENT_KIND_PMU;
	}
}

/* Times that the recorder measured itself stand beside an event that counts nothing. */
static enum event_tool tool_of(const struct perf_event_attr *a, const char *name)
{
	if (a->type != PERF_TYPE_SOFTWARE || a->config != PERF_COUNT_SW_DUMMY)
		return EVENT_TOOL_NONE;
	size_t nr;
	const struct legacy_event *tools = legacy_tool(&nr),
				  *t = legacy_find(tools, nr, name, strlen(name));
	return t ? (enum event_tool)t->config : EVENT_TOOL_NONE;
}

/* Instances of one event on several PMUs have its name. */
static u32 merge_of(const struct stat_reading *r, u32 event)
{
	const struct event_desc *e = &r->descs[event];
	for (u32 i = 0; i < event; i++)
		if (r->descs[i].attr.type != e->attr.type && !strcmp(r->descs[i].name, e->name)) {
			r->descs[i].merge = r->descs[i].merge ? r->descs[i].merge : i + 1;
			return r->descs[i].merge;
		}
	return 0;
}

/* A stream does not name what could not be counted. perf calls the hardware's events by their short names. */
static const char *name_of(struct stat_plan *p, const struct perfdata_attr *a)
{
	const struct event_desc e = { .kind = kind_of(&a->attr), .attr = a->attr };
	const char *generic =
		e.kind == EVENT_KIND_HARDWARE ? legacy_shown(a->attr.type, a->attr.config) : NULL;
	struct strbuf name;
	if (a->name || generic)
		return a->name ? a->name : generic;
	strbuf_init(&name);
	event_print(&e, &name);
	const char *kept = arena_strdup(&p->arena, strbuf_cstr(&name));
	strbuf_done(&name);
	return kept;
}

static int add_event(struct stat_reading *r, u32 i)
{
	struct stat_plan *p = &r->session.plan;
	const struct perfdata_attr *a = &r->file.attrs.at[i];
	const struct statdata_event *more = &r->counts.events.at[i];
	struct event_desc *e = &r->descs[i];
	*e = (struct event_desc){ .name = name_of(p, a),
				  .kind = kind_of(&a->attr),
				  .attr = a->attr,
				  .leader = i,
				  .unit = more->unit,
				  .scale = more->scale };
	if (!e->name)
		return -ENOMEM;
	e->tool = tool_of(&a->attr, e->name);
	if (e->tool != EVENT_TOOL_NONE) {
		e->kind = EVENT_KIND_TOOL;
		e->open = EVENT_OPEN_TOOL;
	}
	e->merge = merge_of(r, i);
	struct counter *c = vec_push(&p->counters);
	if (!c)
		return -ENOMEM;
	*c = (struct counter){ .desc = e, .cgroup_fd = -1, .leader = i, .supported = a->nr_ids };
	return 0;
}

static int add_events(struct stat_reading *r)
{
	struct stat_plan *p = &r->session.plan;
	u32 nr = (u32)r->file.attrs.nr;
	int err = 0;
	r->descs = calloc(max(nr, 1u), sizeof(*r->descs));
	if (!r->descs)
		return -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++)
		err = add_event(r, i);
	struct bytes cursor = perfdata_groups(&r->file);
	struct perfdata_group g;
	while (!err && perfdata_next_group(&r->file, &cursor, &g))
		for (u32 i = g.leader; i < g.leader + g.nr; i++)
			p->counters.at[i].leader = g.leader;
	return err;
}

static int add_slots(struct stat_reading *r)
{
	struct stat_plan *p = &r->session.plan;
	vec_for_each (&r->counts.cpus, cpu)
		vec_for_each (&r->counts.threads, t) {
			struct counter_slot *slot = vec_push(&p->slots);
			if (!slot)
				return -ENOMEM;
			*slot = (struct counter_slot){ .cpu = *cpu, .tid = t->tid };
		}
	return 0;
}

static void name_threads(struct stat_reading *r)
{
	struct stat_plan *p = &r->session.plan;
	vec_for_each (&p->keys, k) {
		k->comm = "";
		vec_for_each (&r->counts.threads, t)
			if (t->tid == k->tid)
				k->comm = t->comm;
	}
}

static void decide_by(struct stat_reading *r, const struct stat_opts *o, struct diag *d)
{
	struct stat_plan *p = &r->session.plan;
	enum stat_by asked = o->no_aggr	     ? STAT_BY_CPU
			     : o->per_core   ? STAT_BY_CORE
			     : o->per_die    ? STAT_BY_DIE
			     : o->per_socket ? STAT_BY_SOCKET
			     : o->per_node   ? STAT_BY_NODE
					     : STAT_BY_ALL;
	p->by = r->counts.by;
	p->system_wide = r->counts.cpus.at[0] >= 0 && p->by != STAT_BY_THREAD;
	if (asked == STAT_BY_ALL)
		return;
	if (p->system_wide)
		p->by = asked;
	else
		diag_warn(d,
			  "the file has counts of tasks, not of CPUs: they cannot be aggregated");
}

static int set_target(struct stat_reading *r)
{
	struct stat_plan *p = &r->session.plan;
	struct perfdata_feature f = r->file.features[FEAT_CMDLINE];
	struct bytes b = bytes_of(f.at, f.at ? f.size : 0, r->file.swap);
	struct strbuf text;
	strbuf_init(&text);
	strbuf_char(&text, '\'');
	const char *word = NULL;
	bool first = true;
	/* perf's streams do not say what ran, and its tests look for this word. */
	bool named = !r->file.is_pipe || !r->session.o->streams_unnamed;
	for (u32 nr = bytes_u32(&b); named && nr && !b.bad && (word = perfdata_take_string(&b));
	     nr--) {
		strbuf_printf(&text, "%s%s", first ? "" : " ", word);
		first = false;
	}
	strbuf_str(&text, first && r->file.is_pipe ? "pipe'" : "'");
	p->target = arena_strdup(&p->arena, strbuf_cstr(&text));
	strbuf_done(&text);
	return p->target ? 0 : -ENOMEM;
}

static int make_plan(struct stat_reading *r, const struct stat_opts *o, struct diag *d)
{
	struct stat_plan *p = &r->session.plan;
	int err = stat_plan_init(p, o);
	if (!err)
		err = set_target(r);
	if (!err)
		err = add_events(r);
	if (!err)
		err = add_slots(r);
	if (!err)
		err = statdata_topology(&r->file, &r->machine);
	if (err)
		return err;
	decide_by(r, o, d);
	err = stat_plan_finish(p, &r->machine, d);
	if (!err && p->by == STAT_BY_THREAD)
		name_threads(r);
	for (size_t i = 0; i < p->events.nr && !err; i++)
		p->events.at[i].supported = p->counters.at[i].supported;
	p->spec.hide_zero = false;
	return err;
}

/* ---- rounds ---- */

static int show_interval(struct stat_reading *r, const struct statdata_round *round)
{
	struct stat_session *s = &r->session;
	const struct stat_spec *spec = &s->plan.spec;
	size_t nr = (size_t)spec->nr_events * spec->nr_slots;
	stat_delta(spec, r->now, s->before, s->delta);
	memcpy(s->before, r->now, nr * sizeof(*r->now));
	stat_reset(&s->acc);
	stat_add(&s->acc, s->delta);
	int err = stat_print_interval(s, round->time_ns);
	s->last_ns = round->time_ns;
	s->nr_intervals++;
	return err;
}

static int show_final(struct stat_reading *r, const struct statdata_round *round)
{
	struct stat_session *s = &r->session;
	double *elapsed = vec_push(&s->elapsed.list);
	if (!elapsed)
		return -ENOMEM;
	*elapsed = (double)round->time_ns / 1e9;
	stat_mean_add(&s->elapsed_mean, *elapsed);
	stat_add(&s->acc, r->now);
	return stat_print_whole(s, &s->acc);
}

static int show_rounds(struct stat_reading *r, struct diag *d)
{
	struct statdata_round round;
	int more, err = 0;
	u64 last_ns = 0;
	while (!err && (more = statdata_next_round(&r->counts, r->now, &round)) > 0) {
		if (round.time_ns < last_ns)
			return diag_error(d, -EBADMSG, "the file is damaged: time goes backwards");
		last_ns = round.time_ns;
		err = round.final ? show_final(r, &round) : show_interval(r, &round);
	}
	if (!err && (more < 0 || r->file.truncated || !last_ns))
		diag_warn(d, "the recording is truncated: counts after the last complete round are "
			     "missing");
	return err;
}

static int make_room(struct stat_reading *r)
{
	struct stat_session *s = &r->session;
	size_t nr = max(s->plan.counters.nr * s->plan.slots.nr, (size_t)1);
	r->now = calloc(nr, sizeof(*r->now));
	s->before = calloc(nr, sizeof(*s->before));
	s->delta = calloc(nr, sizeof(*s->delta));
	return r->now && s->before && s->delta ? stat_open(&s->acc, &s->plan.spec) : -ENOMEM;
}

static int show_file(struct stat_reading *r, const struct stat_opts *o, struct diag *d)
{
	int err = statdata_open(&r->counts, &r->file, d);
	if (err)
		return err;
	err = make_plan(r, o, d);
	if (!err)
		err = stat_print_open(&r->session, d);
	if (!err)
		err = make_room(r);
	if (!err)
		err = show_rounds(r, d);
	struct stat_session *s = &r->session;
	stat_close(&s->acc);
	free(s->before);
	free(s->delta);
	free(r->now);
	free(r->descs);
	vec_free(&s->elapsed.list);
	strbuf_done(&s->out);
	stat_plan_done(&s->plan);
	vec_free(&r->machine.cpus);
	vec_free(&r->machine.nodes);
	statdata_close(&r->counts);
	return err;
}

int stat_file_show(const struct stat_opts *o, const struct tell *to)
{
	struct stat_reading *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->session = (struct stat_session){ .tell = *to, .o = o };
	strbuf_init(&r->session.out);
	int err = perfdata_open(&r->file, o->input ? o->input : "perf.data", to->diag);
	if (!err) {
		err = show_file(r, o, to->diag);
		perfdata_close(&r->file);
	}
	free(r);
	return err;
}
