#include "session/stat_plan.h"

#include "base/glob.h"
#include "kern/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what to count ---------------------------------------------------------------------------------------------- */

static bool cpu_pmu_has(struct event_env *env, const char *event)
{
	struct pmu *cpu = pmu_find(&env->pmus, "cpu", 3);
	return cpu && !pmu_load_aliases(&env->pmus, cpu) &&
	       pmu_alias_find(cpu, event, strlen(event));
}

/* What perf counts when nothing is said. */
static int add_default_events(struct stat_plan *p, struct diag *d)
{
	struct strbuf text;
	strbuf_init(&text);
	strbuf_printf(&text, "%s,context-switches,cpu-migrations,page-faults,cycles",
		      p->system_wide ? "cpu-clock" : "task-clock");
	if (cpu_pmu_has(&p->env, "stalled-cycles-frontend"))
		strbuf_str(&text, ",stalled-cycles-frontend");
	if (cpu_pmu_has(&p->env, "stalled-cycles-backend"))
		strbuf_str(&text, ",stalled-cycles-backend");
	strbuf_str(&text, ",instructions,branches,branch-misses");
	int err = event_list_add(&p->list, &p->env, strbuf_cstr(&text), EVENT_USE_COUNT, d);
	strbuf_done(&text);
	return err;
}

/* -T: Intel's transactional memory, as perf counts it. */
static int add_transaction_events(struct stat_plan *p, struct diag *d)
{
	if (!cpu_pmu_has(&p->env, "cycles-t") || !cpu_pmu_has(&p->env, "tx-start")) {
		diag_error(d, -EOPNOTSUPP, "%s: this machine cannot count transactions",
			   p->opts->labels->transaction);
		diag_hint(d,
			  "the CPU's PMU must have the events cycles-t and tx-start (Intel TSX): "
			  "sonde list 'cpu/*'");
		return -EOPNOTSUPP;
	}
	const char
		*all = "task-clock,{instructions,cycles,cpu/cycles-t/,cpu/tx-start/,cpu/el-start/,"
		       "cpu/cycles-ct/}",
		*few = "task-clock,{instructions,cycles,cpu/cycles-t/,cpu/tx-start/}";
	bool more = cpu_pmu_has(&p->env, "cycles-ct") && cpu_pmu_has(&p->env, "el-start");
	return event_list_add(&p->list, &p->env, more ? all : few, EVENT_USE_COUNT, d);
}

static int add_detailed_events(struct stat_plan *p, struct diag *d)
{
	static const char *const more[] = {
		"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
		("L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,"
		 "iTLB-load-misses"),
		"L1-dcache-prefetches,L1-dcache-prefetch-misses",
	};
	int err = 0;
	for (unsigned i = 0; i < min(p->opts->detailed, (unsigned)ARRAY_SIZE(more)) && !err; i++)
		err = event_list_add(&p->list, &p->env, more[i], EVENT_USE_COUNT, d);
	return err;
}

static int add_words(struct stat_plan *p, struct diag *d)
{
	u32 first = 0;
	int err = 0;
	vec_for_each (&p->opts->words.list, w) {
		u32 before = (u32)p->list.events.nr;
		switch (w->kind) {
		case STAT_WORD_EVENT:
			err = event_list_add(&p->list, &p->env, w->text, EVENT_USE_COUNT, d);
			first = before;
			break;
		case STAT_WORD_FILTER:
			err = event_list_filter(&p->list, &p->env, first, w->text, d);
			break;
		case STAT_WORD_CGROUP: break;
		}
		if (err)
			return err;
	}
	return 0;
}

/* -g: everything in one group. */
static void group_all(struct stat_plan *p)
{
	vec_for_each (&p->list.events, e) {
		e->leader = 0;
		e->nr_members = 1;
	}
	if (p->list.events.nr)
		p->list.events.at[0].nr_members = (u32)p->list.events.nr;
}

/* ---- counters: events, once for each cgroup ---------------------------------------------------------------------- */

static int add_counter(struct stat_plan *p, const struct event_desc *e, u32 first_of_copy,
		       const char *cgroup, int cgroup_fd)
{
	struct counter *c = vec_push(&p->counters);
	if (!c)
		return -ENOMEM;
	*c = (struct counter){ .desc = e,
			       .cgroup = cgroup,
			       .cgroup_fd = cgroup_fd,
			       .leader = first_of_copy + e->leader };
	return 0;
}

static int add_copy(struct stat_plan *p, const char *cgroup, int cgroup_fd)
{
	u32 first = (u32)p->counters.nr;
	vec_for_each (&p->list.events, e) {
		int err = add_counter(p, e, first, cgroup, cgroup_fd);
		if (err)
			return err;
	}
	return 0;
}

/* The group of that name, opened once. */
static int find_cgroup(struct stat_plan *p, const struct sysroot *root, const char *name,
		       struct stat_cgroup *ret, struct diag *d)
{
	vec_for_each (&p->cgroups, c) {
		if (!strcmp(c->name, name)) {
			*ret = *c;
			return 0;
		}
	}
	struct stat_cgroup *c = vec_push(&p->cgroups);
	if (!c)
		return -ENOMEM;
	*c = (struct stat_cgroup){ .name = arena_strdup(&p->arena, name) };
	c->fd = c->name ? cgroup_open(root, name, d) : -ENOMEM;
	if (c->fd < 0) {
		p->cgroups.nr--;
		return c->fd;
	}
	*ret = *c;
	return 0;
}

static int add_cgroup_copy(struct stat_plan *p, const struct sysroot *root, const char *name,
			   struct diag *d)
{
	struct stat_cgroup c;
	int err = find_cgroup(p, root, name, &c, d);
	return err ? err : add_copy(p, c.name, c.fd);
}

/* --for-each-cgroup a,b,sys*: all events for each of them. */
static int add_each_cgroup(struct stat_plan *p, const struct sysroot *root, struct diag *d)
{
	int err = 0;
	for (const char *text = p->opts->each_cgroup; *text && !err;) {
		size_t len = strcspn(text, ",");
		const char *name = arena_strndup(&p->arena, text, len);
		struct cgroup_names names = { 0 };
		if (!name)
			return -ENOMEM;
		if (!glob_is_pattern(name)) {
			err = add_cgroup_copy(p, root, name, d);
		} else {
			err = cgroup_match(root, name, &names, d);
			for (size_t i = 0; i < names.list.nr && !err; i++)
				err = add_cgroup_copy(p, root, names.list.at[i], d);
			cgroup_names_done(&names);
		}
		text += len + (text[len] == ',');
	}
	return err;
}

/* -G a,,b: the first event in a, the second everywhere, the third in b; a single name is for all events before it. */
static int apply_cgroups(struct stat_plan *p, const struct sysroot *root, const char *text,
			 struct diag *d)
{
	bool single = !strchr(text, ',');
	for (size_t i = 0; i < p->counters.nr && (single || *text); i++) {
		size_t len = strcspn(text, ",");
		const char *name = arena_strndup(&p->arena, text, len);
		struct stat_cgroup c = { .fd = -1 };
		int err = !name ? -ENOMEM : len ? find_cgroup(p, root, name, &c, d) : 0;
		if (err)
			return err;
		p->counters.at[i].cgroup = c.name;
		p->counters.at[i].cgroup_fd = c.fd;
		if (!single)
			text += len + (text[len] == ',');
	}
	return 0;
}

/* What we measure ourselves is in no group of the kernel: the first member that it counts leads the others. */
static void free_tools(struct stat_plan *p)
{
	for (u32 i = 0; i < p->counters.nr; i++) {
		if (p->counters.at[i].desc->open != EVENT_OPEN_TOOL)
			continue;
		u32 next = i;
		for (u32 j = i + 1; j < p->counters.nr; j++) {
			struct counter *c = &p->counters.at[j];
			if (c->leader == i && c->desc->open != EVENT_OPEN_TOOL)
				c->leader = next = next == i ? j : next;
		}
		p->counters.at[i].leader = i;
	}
}

static int add_counters(struct stat_plan *p, const struct sysroot *root, struct diag *d)
{
	int err = p->opts->each_cgroup ? add_each_cgroup(p, root, d) : add_copy(p, NULL, -1);
	vec_for_each (&p->opts->words.list, w)
		if (!err && w->kind == STAT_WORD_CGROUP)
			err = apply_cgroups(p, root, w->text, d);
	free_tools(p);
	return err;
}

static bool is_clock(const struct event_desc *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && e->open == EVENT_OPEN_PERF &&
	       (e->attr.config == PERF_COUNT_SW_TASK_CLOCK ||
		e->attr.config == PERF_COUNT_SW_CPU_CLOCK);
}

static int add_shown_event(struct stat_plan *p, const struct counter *c)
{
	const struct event_desc *e = c->desc;
	struct stat_event *to = vec_push(&p->events);
	if (!to)
		return -ENOMEM;
	*to = (struct stat_event){
		.name = e->name,
		.unit = e->unit ? e->unit : "",
		.cgroup = c->cgroup,
		.scale = e->scale != 0 ? e->scale : 1,
		.is_clock = is_clock(e),
		.is_tool = e->open == EVENT_OPEN_TOOL,
		.snapshot = e->snapshot,
		.per_pkg = e->per_pkg,
		.merge = e->merge,
	};
	if (to->is_clock) {
		to->unit = "msec";
		to->scale = 1e-6;
	} else if (to->is_tool) {
		to->unit = "ns";
	}
	if (e->merge && p->opts->no_merge && e->pmu && !strchr(e->name, '/')) {
		struct strbuf name;
		strbuf_init(&name);
		strbuf_printf(&name, "%s [%s]", e->name, e->pmu);
		to->name = arena_strdup(&p->arena, strbuf_cstr(&name));
		strbuf_done(&name);
	}
	return to->name ? 0 : -ENOMEM;
}

/* ---- formulae ----------------------------------------------------------------------------------------------------- */

static bool same_part(const struct event_desc *a, const struct event_desc *b)
{
	return a->attr.exclude_user == b->attr.exclude_user &&
	       a->attr.exclude_kernel == b->attr.exclude_kernel &&
	       a->attr.exclude_hv == b->attr.exclude_hv;
}

/*
 * The counter that a formula beside `beside` means by a name: of the same cgroup and the same part (user, kernel); one in the
 * same group is better than another.
 */
static bool find_input(const struct stat_plan *p, u32 beside, const char *name, u32 *ret)
{
	const struct counter *of = &p->counters.at[beside];
	bool found = false;
	for (u32 i = 0; i < p->counters.nr; i++) {
		const struct counter *c = &p->counters.at[i];
		if (c->cgroup != of->cgroup || !same_part(c->desc, of->desc) ||
		    !metric_is_event(name, c->desc))
			continue;
		if (found && c->leader != of->leader)
			continue;
		*ret = i;
		found = true;
		if (c->leader == of->leader)
			break;
	}
	return found;
}

/* "%  tma_retiring": who asked for a metric by its name finds it by that. */
static const char *asked_unit(struct stat_plan *p, const struct metric *m)
{
	struct strbuf s;
	if (!m->unit || !*m->unit || m->event)
		return m->name;
	strbuf_init(&s);
	strbuf_printf(&s, "%s  %s", m->unit, m->name);
	const char *text = arena_strdup(&p->arena, strbuf_cstr(&s));
	strbuf_done(&s);
	return text;
}

static int add_formula(struct stat_plan *p, u32 beside, const struct metric_prog *prog, bool asked)
{
	const struct metric *m = prog->metric;
	u32 nr = 0, max_inputs = (u32)prog->expr.idents.nr;
	struct stat_input *inputs = arena_array(&p->arena, max_inputs + 1, sizeof(*inputs));
	struct stat_formula *f = inputs ? vec_push(&p->formulae) : NULL;
	if (!f)
		return -ENOMEM;
	const char *name;
	for (u32 at = 0; (name = metric_prog_next_event(prog, &at));)
		if (find_input(p, beside, name, &inputs[nr].event))
			inputs[nr++].name = name;
	const char *unit = asked ? asked_unit(p, m) : m->unit ? m->unit : m->name;
	if (!unit)
		return -ENOMEM;
	*f = (struct stat_formula){
		.unit = unit,
		.format = m->format ? m->format : "%8.2f",
		.red = m->limits.red,
		.magenta = m->limits.magenta,
		.yellow = m->limits.yellow,
		.new_line = m->new_line,
		.is_rate = !strcmp(m->name, "cpus_utilized"),
		.beside = beside,
		.prog = prog,
		.inputs = inputs,
		.nr_inputs = nr,
	};
	return 0;
}

static bool is_counted(const struct stat_plan *p, const char *event)
{
	vec_for_each (&p->counters, c)
		if (metric_is_event(event, c->desc))
			return true;
	return false;
}

/* Of two metrics that stand for each other, the one whose events are counted. */
static bool is_meant(const struct stat_plan *p, const struct metric *m)
{
	return (!m->needs || is_counted(p, m->needs)) && !(m->unless && is_counted(p, m->unless));
}

/* What perf prints beside an event, whether asked for or not. */
static int add_built_in(struct stat_plan *p, u32 counter, size_t nr_asked, struct diag *d)
{
	const struct metric *m;
	for (u32 at = 0; (m = metric_next_beside(p->counters.at[counter].desc, &at));) {
		struct metric_prog *prog;
		bool asked = false;
		for (size_t i = 0; i < nr_asked; i++)
			asked |= !strcmp(p->progs.at[i]->metric->name, m->name);
		if (!is_meant(p, m))
			continue;
		int err = stat_metrics_prog(p, m, &prog, d);
		if (!err)
			err = add_formula(p, counter, prog, asked);
		if (err)
			return err;
		p->events.at[counter].no_rate = true;
	}
	return 0;
}

/* Metrics of -M stand beside the first event they need; built in ones stand beside theirs anyway. */
static int add_asked(struct stat_plan *p, const struct metric_prog *prog)
{
	const char *name;
	if (prog->metric->event)
		return 0;
	u32 at = 0;
	name = stat_metrics_event(prog, &at);
	for (u32 i = 0; name && i < p->counters.nr; i++) {
		if (!metric_is_event(name, p->counters.at[i].desc))
			continue;
		int err = add_formula(p, i, prog, true);
		if (err)
			return err;
		if (!p->opts->each_cgroup)
			break;
	}
	return 0;
}

static int add_formulae(struct stat_plan *p, struct diag *d)
{
	size_t nr_asked = p->progs.nr;
	int err = 0;
	for (u32 i = 0; i < p->counters.nr && !err; i++)
		err = add_built_in(p, i, nr_asked, d);
	for (size_t i = 0; i < nr_asked && !err; i++)
		err = add_asked(p, p->progs.at[i]);
	return err;
}

static int eval(const void *prog, int (*get)(void *ctx, const char *name, double *ret), void *ctx,
		double *ret)
{
	return metric_prog_eval(prog, get, ctx, ret);
}

/* ---- all together --------------------------------------------------------------------------------------------- */

int stat_plan_init(struct stat_plan *p, const struct stat_opts *o)
{
	*p = (struct stat_plan){ .opts = o };
	arena_init(&p->arena);
	event_list_init(&p->list);
	metric_set_init(&p->metric_set);
	run_probes_init(&p->probes, "stat");
	int err = event_env_open(&p->env, "");
	p->env.probes = &p->probes.ops;
	/* The first of a list. */
	const char *task = o->pids ? o->pids : o->tids;
	p->env.pid = task ? (s32)strtol(task, NULL, 10) : 0;
	return err;
}

void stat_plan_done(struct stat_plan *p)
{
	vec_for_each (&p->progs, prog) {
		metric_prog_done(*prog);
		free(*prog);
	}
	vec_free(&p->progs);
	vec_for_each (&p->cgroups, c)
		(void)close(c->fd);
	vec_free(&p->cgroups);
	vec_free(&p->counters);
	vec_free(&p->events);
	vec_free(&p->slots);
	vec_free(&p->slot_key);
	vec_free(&p->slot_package);
	vec_free(&p->keys);
	vec_free(&p->formulae);
	vec_free(&p->pids);
	vec_free(&p->tids);
	metric_set_done(&p->metric_set);
	event_list_done(&p->list);
	event_env_close(&p->env);
	run_probes_close(&p->probes, NULL);
	arena_done(&p->arena);
}

static int resolve_events(struct stat_plan *p, struct diag *d)
{
	if (p->opts->null_run)
		return 0;
	int err = add_words(p, d);
	if (!err)
		err = stat_metrics_add(p, d);
	if (!err && p->opts->transaction)
		err = add_transaction_events(p, d);
	if (!err && p->opts->topdown)
		err = stat_topdown_add(p, d);
	if (!err && !p->list.events.nr)
		err = add_default_events(p, d);
	if (!err)
		err = add_detailed_events(p, d);
	if (!err && p->opts->group_all)
		group_all(p);
	/* An event that is not there was mistyped: that is usage. */
	return err == -ENOENT || err == -EOPNOTSUPP ? -EINVAL : err;
}

static void fill_spec(struct stat_plan *p)
{
	p->spec = (struct stat_spec){
		.by = p->by,
		.events = p->events.at,
		.nr_events = (u32)p->events.nr,
		.nr_slots = (u32)p->slots.nr,
		.slot_key = p->slot_key.at,
		.nr_keys = (u32)p->keys.nr,
		.slot_package = p->slot_package.at,
		.formulae = p->formulae.at,
		.nr_formulae = (u32)p->formulae.nr,
		.no_merge = p->opts->no_merge,
		.raw = !p->opts->scale,
		.hide_zero = p->system_wide,
		.with_ratios = true,
		.eval = eval,
		.rate = metric_rate,
	};
}

/* A row for each counter, and the ratios of them. */
static int add_shown(struct stat_plan *p, struct diag *d)
{
	int err = 0;
	vec_for_each (&p->counters, c)
		if (!err)
			err = add_shown_event(p, c);
	return err ? err : add_formulae(p, d);
}

int stat_plan_make(struct stat_plan *p, const struct sysroot *root, int argc, char **argv,
		   struct diag *d)
{
	p->root = root;
	int err = stat_places_target(p, argc, argv, d);
	bool by_cgroup = p->opts->each_cgroup;
	vec_for_each (&p->opts->words.list, w)
		by_cgroup |= w->kind == STAT_WORD_CGROUP;
	if (!err && by_cgroup && !p->system_wide)
		return diag_error(d, -EINVAL, "cgroups are counted on whole CPUs: add %s or %s LIST",
				  p->opts->labels->all, p->opts->labels->cpus);
	if (!err)
		err = resolve_events(p, d);
	if (!err && !p->system_wide && !p->opts->no_inherit)
		err = run_probes_inherit(&p->probes, &p->list, d);
	if (!err)
		err = stat_places_by(p, d);
	if (!err && !p->opts->null_run)
		err = add_counters(p, root, d);
	if (!err)
		err = add_shown(p, d);
	if (!err)
		err = stat_places_slots(p, root, d);
	if (!err)
		err = stat_places_keys(p, root);
	fill_spec(p);
	return err;
}

int stat_plan_finish(struct stat_plan *p, const struct machine *m, struct diag *d)
{
	int err = add_shown(p, d);
	if (!err)
		err = stat_places_keys_of(p, m);
	fill_spec(p);
	return err;
}

void stat_plan_set_command(struct stat_plan *p, s32 pid)
{
	vec_for_each (&p->slots, s)
		if (p->of_command)
			s->tid = pid;
}

int stat_plan_opened(struct stat_plan *p)
{
	for (size_t i = 0; i < p->counters.nr; i++) {
		const struct counter *c = &p->counters.at[i];
		struct stat_event *e = &p->events.at[i];
		e->supported = c->supported;
		if (!c->only_user || c->desc->name != e->name)
			continue;
		struct strbuf name;
		strbuf_init(&name);
		strbuf_printf(&name, "%s:u", e->name);
		e->name = arena_strdup(&p->arena, strbuf_cstr(&name));
		strbuf_done(&name);
		if (!e->name)
			return -ENOMEM;
	}
	return 0;
}
