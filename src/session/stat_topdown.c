/*
 * --topdown: what became of the slots of the pipeline. Newer Intel CPUs have metric events for it, one group led by `slots`, with a
 * second level on some; older ones count slots, which belong to both threads of a core, so that they are counted on whole CPUs and
 * added up by core. The ratios stand in event/metric.
 */
#include "session/stat_plan.h"

#include <errno.h>
#include <string.h>

enum { FIRST_LEVEL = 5 };

static const char *const metric_events[] = {
	"slots",
	"topdown-retiring",
	"topdown-bad-spec",
	"topdown-fe-bound",
	"topdown-be-bound",
	"topdown-heavy-ops",
	"topdown-br-mispredict",
	"topdown-fetch-lat",
	"topdown-mem-bound",
};
static const char *const slot_events[] = {
	"topdown-total-slots",	 "topdown-slots-retired", "topdown-recovery-bubbles",
	"topdown-fetch-bubbles", "topdown-slots-issued",
};

/* The core's PMU; of two kinds of cores, the larger ones have it. */
static struct pmu *core_pmu(struct event_env *env)
{
	struct pmu *pmu = pmu_find(&env->pmus, "cpu", 3);
	if (!pmu)
		pmu = pmu_find(&env->pmus, "cpu_core", 8);
	return pmu && !pmu_load_aliases(&env->pmus, pmu) ? pmu : NULL;
}

static bool has(const struct pmu *pmu, const char *event)
{
	return pmu && pmu_alias_find(pmu, event, strlen(event));
}

/* Counts those of the events that are there. */
static int add_events(struct stat_plan *p, const struct pmu *pmu, const char *const *events,
		      size_t nr, bool group, struct diag *d)
{
	struct strbuf text;
	const char *before = group ? "{" : "";
	bool in_full = strcmp(pmu->name, "cpu");
	strbuf_init(&text);
	for (size_t i = 0; i < nr; i++) {
		if (!has(pmu, events[i]))
			continue;
		if (in_full)
			strbuf_printf(&text, "%s%s/%s/", before, pmu->name, events[i]);
		else
			strbuf_printf(&text, "%s%s", before, events[i]);
		before = ",";
	}
	if (group)
		strbuf_char(&text, '}');
	int err = event_list_add(&p->list, &p->env, strbuf_cstr(&text), EVENT_USE_COUNT, d);
	strbuf_done(&text);
	return err;
}

/* The watchdog for hard lockups keeps a counter for itself: a group of four would then never run. */
static bool watchdog_counts(const struct sysroot *root)
{
	struct strbuf text;
	strbuf_init(&text);
	bool on = root && !sysroot_read(root, "proc/sys/kernel/nmi_watchdog", &text) &&
		  *strbuf_cstr(&text) == '1';
	strbuf_done(&text);
	return on;
}

static int add_slots(struct stat_plan *p, const struct pmu *pmu, struct diag *d)
{
	const struct stat_opts *o = p->opts;
	if (o->no_aggr || o->per_die || o->per_socket || o->per_node || o->per_thread)
		return diag_error(d, -EINVAL, "top down event configuration requires %s mode",
				  p->opts->labels->by[STAT_BY_CORE]);
	bool by_cgroup = o->each_cgroup;
	vec_for_each (&o->words.list, w)
		by_cgroup |= w->kind == STAT_WORD_CGROUP;
	if (by_cgroup || !p->system_wide)
		return diag_error(d, -EINVAL,
				  "top down event configuration requires system-wide mode (-a)");
	bool watchdog = watchdog_counts(p->root);
	if (watchdog) {
		diag_warn(d, "nmi_watchdog enabled with topdown. May give wrong results.");
		diag_hint(d, "disable it with: echo 0 > /proc/sys/kernel/nmi_watchdog");
	}
	p->by = STAT_BY_CORE;
	return add_events(p, pmu, slot_events, ARRAY_SIZE(slot_events), !watchdog, d);
}

static int unsupported(const struct stat_plan *p, struct diag *d)
{
	diag_error(d, -EOPNOTSUPP, "%s: system does not support topdown", p->opts->labels->topdown);
	diag_hint(d, "the CPU's PMU must have the events topdown-retiring or topdown-slots-retired "
		     "(Intel): sonde list 'topdown'");
	return -EOPNOTSUPP;
}

int stat_topdown_add(struct stat_plan *p, struct diag *d)
{
	const struct pmu *pmu = core_pmu(&p->env);
	bool metrics = has(pmu, "topdown-retiring");
	u64 max_level = metrics && has(pmu, metric_events[FIRST_LEVEL]) ? 2 : 1;
	u64 level = p->opts->td_level ? p->opts->td_level : max_level;
	if (!metrics && !has(pmu, "topdown-slots-retired"))
		return unsupported(p, d);
	if (level > max_level)
		return diag_error(d, -EINVAL,
				  "%s %llu: invalid top-down metrics level. The max level is %llu.",
				  p->opts->labels->td_level, (unsigned long long)level,
				  (unsigned long long)max_level);
	if (!metrics)
		return add_slots(p, pmu, d);
	return add_events(p, pmu, metric_events,
			  level > 1 ? ARRAY_SIZE(metric_events) : FIRST_LEVEL, true, d);
}
