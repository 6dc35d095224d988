/*
 * Specs → descriptors. Each kind's row has a function that adds descriptors; what all events have in common (names,
 * modifiers, groups, refusals) is done here, once, after it.
 */
#include "event/resolve_impl.h"

#include "event/closest.h"
#include "event/filter.h"
#include "event/vendor.h"

#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>

int event_env_open(struct event_env *env, const char *root)
{
	*env = (struct event_env){ .root = root };
	int r = pmu_set_open(&env->pmus, root);
	if (r < 0)
		return r;
	r = tracing_open(&env->tracing, root);
	if (r < 0)
		pmu_set_close(&env->pmus);
	return r;
}

void event_env_close(struct event_env *env)
{
	pmu_set_close(&env->pmus);
	tracing_close(&env->tracing);
}

void event_list_init(struct event_list *l)
{
	*l = (struct event_list){ 0 };
	arena_init(&l->arena);
}

void event_list_done(struct event_list *l)
{
	vec_free(&l->events);
	arena_done(&l->arena);
}

int resolve_error(struct event_resolver *r, int err, struct event_span at, const char *fmt, ...)
{
	struct strbuf s;
	strbuf_init(&s);
	va_list ap;
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	(void)diag_error(r->diag, err, "%s", strbuf_cstr(&s));
	diag_span(r->diag, r->specs->text, at.start, at.len);
	strbuf_done(&s);
	return err;
}

const char *resolve_str(struct event_resolver *r, struct event_span s)
{
	return arena_strndup(&r->list->arena, r->specs->text + s.start, s.len);
}

struct event_desc *resolve_push(struct event_resolver *r, const struct event_spec *e,
				enum event_kind kind)
{
	struct event_desc *desc = vec_push(&r->list->events);
	if (!desc)
		return NULL;
	desc->kind = kind;
	desc->attr.size = sizeof(desc->attr);
	desc->attr.exclude_guest = r->env->side == EVENT_HOST;
	desc->attr.exclude_host = r->env->side == EVENT_GUEST;
	desc->scale = 1;
	desc->nr_members = 1;
	desc->leader = (u32)(desc - r->list->events.at);
	desc->text = r->specs->text;
	desc->span = e->span;
	desc->terms.time = desc->terms.inherit = desc->terms.overwrite = -1;
	desc->name = resolve_str(r, e->span);
	return desc->name ? desc : NULL;
}

/* ---- words ---- */

static const char no_core_pmu[] = "this machine has no hardware counters (no CPU PMU in sysfs: a "
				  "virtual machine without one?)";

/* Generic hardware and cache events: one for each kind of core, told apart by the upper half of config. */
static int push_generic(struct event_resolver *r, const struct event_spec *e, enum event_kind kind,
			u32 type, u64 config)
{
	struct pmu *core = pmu_next_core(&r->env->pmus, NULL);
	bool several = core && pmu_next_core(&r->env->pmus, core);
	u32 merge = several ? ++r->list->nr_merges : 0;
	do {
		struct event_desc *desc = resolve_push(r, e, kind);
		if (!desc)
			return -ENOMEM;
		desc->attr.type = type;
		desc->attr.config = config;
		desc->merge = merge;
		if (several) {
			desc->attr.config |= (u64)core->type << PERF_PMU_TYPE_SHIFT;
			desc->pmu = core->name;
			desc->cpus = core->cpus;
		} else if (core) {
			desc->pmu = core->name;
		} else if (!r->env->pmus.err) {
			desc->why_not = no_core_pmu;
		}
		int err = resolve_static_terms(r, e, desc);
		if (err < 0)
			return err;
	} while (several && (core = pmu_next_core(&r->env->pmus, core)));
	return 0;
}

static int push_software(struct event_resolver *r, const struct event_spec *e, u64 config)
{
	struct event_desc *desc = resolve_push(r, e, EVENT_KIND_SOFTWARE);
	if (!desc)
		return -ENOMEM;
	desc->attr.type = PERF_TYPE_SOFTWARE;
	desc->attr.config = config;
	return resolve_static_terms(r, e, desc);
}

static int push_tool(struct event_resolver *r, const struct event_spec *e, enum event_tool tool)
{
	struct event_desc *desc = resolve_push(r, e, EVENT_KIND_TOOL);
	if (!desc)
		return -ENOMEM;
	desc->open = EVENT_OPEN_TOOL;
	desc->tool = tool;
	desc->attr.type = PERF_TYPE_SOFTWARE;
	desc->attr.config = PERF_COUNT_SW_DUMMY;
	desc->unit = "ns";
	return resolve_static_terms(r, e, desc);
}

/* -ENOENT without a diag when the word is in no table. */
static int resolve_legacy(struct event_resolver *r, const struct event_spec *e)
{
	const char *word = resolve_at(r, e->name);
	size_t nr;
	const struct legacy_event *rows = legacy_hardware(&nr), *hit;
	if ((hit = legacy_find(rows, nr, word, e->name.len)))
		return push_generic(r, e, EVENT_KIND_HARDWARE, PERF_TYPE_HARDWARE, hit->config);
	rows = legacy_software(&nr);
	if ((hit = legacy_find(rows, nr, word, e->name.len)))
		return push_software(r, e, hit->config);
	rows = legacy_tool(&nr);
	if ((hit = legacy_find(rows, nr, word, e->name.len)))
		return push_tool(r, e, (enum event_tool)hit->config);
	u64 config;
	int err = cache_event_parse(word, e->name.len, &config);
	if (err == -EINVAL)
		return resolve_error(r, -EINVAL, e->name,
				     "no cache event '%.*s': unsupported operation for this cache",
				     (int)e->name.len, word);
	return err < 0 ? err : push_generic(r, e, EVENT_KIND_CACHE, PERF_TYPE_HW_CACHE, config);
}

static void offer_legacy(struct closest *c)
{
	size_t nr;
	const struct legacy_event *(*tables[])(size_t *) = { legacy_hardware, legacy_software,
							     legacy_tool };
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		const struct legacy_event *rows = tables[t](&nr);
		for (size_t i = 0; i < nr; i++) {
			(void)closest_offer(c, rows[i].name);
			if (rows[i].alias)
				(void)closest_offer(c, rows[i].alias);
		}
	}
}

static void hint_meant(struct event_resolver *r, struct closest *c, const char *prefix)
{
	if (c->best)
		diag_hint(r->diag, "did you mean %s%s?", prefix, c->best);
}

/* A word that is nothing: what is close to it. */
static int unknown_name(struct event_resolver *r, const struct event_spec *e)
{
	int len = (int)e->name.len;
	const char *word = resolve_at(r, e->name);
	char cache[CACHE_NAME_MAX], best_cache[CACHE_NAME_MAX];
	struct closest c;
	closest_init(&c, word, e->name.len);
	offer_legacy(&c);
	u64 config;
	for (u32 at = 0; cache_event_next(&at, cache, &config);) {
		if (closest_offer(&c, cache)) {
			memcpy(best_cache, cache, sizeof(cache));
			c.best = best_cache;
		}
	}
	vec_for_each (&r->env->pmus.pmus, p) {
		if (pmu_load_aliases(&r->env->pmus, p) < 0)
			return -ENOMEM;
		(void)closest_offer(&c, p->name);
		vec_for_each (&p->aliases, al)
			(void)closest_offer(&c, al->name);
	}
	if (e->has_terms) {
		(void)resolve_error(r, -ENOENT, e->name, "no PMU or event is called '%.*s'", len,
				    word);
		if (!strncmp(word, "cpu", (size_t)len) && len == 3)
			diag_hint(r->diag, "%s", no_core_pmu);
	} else if (event_provider_find(word, e->name.len)) {
		(void)resolve_error(r, -EINVAL, e->name, "'%.*s' is not an event by itself", len,
				    word);
		diag_hint(r->diag, "the syntax is %s", event_provider_find(word, e->name.len)->form);
		return -EINVAL;
	} else if (pmu_find(&r->env->pmus, word, e->name.len)) {
		(void)resolve_error(r, -EINVAL, e->name,
				    "'%.*s' is a PMU: name one of its events, as in %.*s/EVENT/",
				    len, word, len, word);
		return -EINVAL;
	} else {
		(void)resolve_error(r, -ENOENT, e->name, "unknown event '%.*s'", len, word);
	}
	const char *name = e->has_terms ? NULL : resolve_str(r, e->name);
	bool told = name && resolve_hint_tracepoint(r, name);
	if (!told)
		hint_meant(r, &c, "");
	if (!told && !c.best)
		diag_hint(r->diag, "'sonde list' shows the known events");
	return -ENOENT;
}

int resolve_name(struct event_resolver *r, const struct event_spec *e)
{
	int err = e->has_terms ? resolve_pmu(r, e) : -ENOENT;
	if (err == -ENOENT)
		err = resolve_legacy(r, e);
	if (err == -ENOENT && !e->has_terms)
		err = resolve_alias(r, e);
	if (err == -ENOENT && !e->has_terms) {
		const char *name = resolve_str(r, e->name);
		if (!name)
			return -ENOMEM;
		err = resolve_vendor_name(r, e, name);
	}
	if (err == -ENOENT && e->mods.span.len) {
		/* "foo:keep": letters that are modifiers, but perhaps a tracepoint. */
		struct event_spec tp = *e;
		tp.event = e->mods.span;
		tp.mods = (struct event_mods){ 0 };
		char system[64], name[32];
		u64 id;
		if (snprintf(system, sizeof(system), "%.*s", (int)e->name.len,
			     resolve_at(r, e->name)) < (int)sizeof(system) &&
		    snprintf(name, sizeof(name), "%.*s", (int)tp.event.len,
			     resolve_at(r, tp.event)) < (int)sizeof(name) &&
		    tracing_event_id(&r->env->tracing, system, name, &id) == 0)
			return resolve_tracepoint(r, &tp);
	}
	return err == -ENOENT ? unknown_name(r, e) : err;
}

/* ---- numbers ---- */

/* A raw event is of the core PMU: its own type where there are several or it is not called cpu. */
int resolve_raw(struct event_resolver *r, const struct event_spec *e)
{
	struct pmu *core = pmu_next_core(&r->env->pmus, NULL);
	bool several = core && pmu_next_core(&r->env->pmus, core);
	u32 merge = several ? ++r->list->nr_merges : 0;
	do {
		struct event_desc *desc = resolve_push(r, e, EVENT_KIND_RAW);
		if (!desc)
			return -ENOMEM;
		desc->attr.type = several ? core->type : PERF_TYPE_RAW;
		desc->attr.config = e->number;
		desc->merge = merge;
		if (core)
			desc->pmu = core->name;
		if (several)
			desc->cpus = core->cpus;
		if (!core && !r->env->pmus.err)
			desc->why_not = no_core_pmu;
		int err = resolve_static_terms(r, e, desc);
		if (err < 0)
			return err;
	} while (several && (core = pmu_next_core(&r->env->pmus, core)));
	return 0;
}

int resolve_numeric(struct event_resolver *r, const struct event_spec *e)
{
	if (e->type > UINT32_MAX)
		return resolve_error(r, -EINVAL, e->name, "the type is limited to 32 bits");
	struct event_desc *desc = resolve_push(r, e, EVENT_KIND_NUMERIC);
	if (!desc)
		return -ENOMEM;
	desc->attr.type = (u32)e->type;
	desc->attr.config = e->number;
	struct pmu *p = pmu_find_type(&r->env->pmus, (u32)e->type);
	if (p && e->type > PERF_TYPE_BREAKPOINT) {
		desc->pmu = p->name;
		desc->cpus = p->cpus;
		desc->is_uncore = p->cpus && !p->is_core;
	}
	return resolve_static_terms(r, e, desc);
}

int resolve_breakpoint(struct event_resolver *r, const struct event_spec *e)
{
	struct event_desc *desc = resolve_push(r, e, EVENT_KIND_BREAKPOINT);
	if (!desc)
		return -ENOMEM;
	u32 access = e->access ? e->access : EVENT_BP_R | EVENT_BP_W;
	desc->attr.type = PERF_TYPE_BREAKPOINT;
	desc->attr.bp_addr = e->number;
	desc->attr.bp_type = (access & EVENT_BP_R ? HW_BREAKPOINT_R : 0) |
			     (access & EVENT_BP_W ? HW_BREAKPOINT_W : 0) |
			     (access & EVENT_BP_X ? HW_BREAKPOINT_X : 0);
	desc->attr.bp_len = e->type		   ? e->type
			    : access == EVENT_BP_X ? sizeof(long)
						   : HW_BREAKPOINT_LEN_4;
	desc->attr.sample_period = 1;
	return 0;
}

int resolve_profile(struct event_resolver *r, const struct event_spec *e)
{
	struct event_desc *desc = resolve_push(r, e, EVENT_KIND_PROFILE);
	if (!desc)
		return -ENOMEM;
	desc->attr.type = PERF_TYPE_SOFTWARE;
	desc->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	desc->attr.freq = !e->period_ns;
	desc->attr.sample_freq = e->number;
	desc->terms.has_freq = !e->period_ns;
	desc->terms.has_period = e->period_ns;
	return 0;
}

int resolve_function(struct event_resolver *r, const struct event_spec *e)
{
	if (e->has_filter) {
		(void)resolve_error(r, -EINVAL, e->filter,
				    "function tracers cannot filter by field");
		diag_hint(r->diag, "use %s:%.*s/FILTER/ instead",
			  event_provider_of(EVENT_KIND_KPROBE)->prefix, (int)e->name.len,
			  resolve_at(r, e->name));
		return -EINVAL;
	}
	struct event_desc *desc = resolve_push(r, e, e->kind);
	if (!desc)
		return -ENOMEM;
	desc->open = EVENT_OPEN_FTRACE;
	desc->probe.symbol = resolve_str(r, e->name);
	return desc->probe.symbol ? 0 : -ENOMEM;
}

/* The event is known, what follows it is not. */
static int refuse_vendor(struct event_resolver *r, struct event_span at, const char *name,
			 const char *why)
{
	(void)resolve_error(r, -EINVAL, at, "libpfm rejected '%s': %s", name, why);
	diag_hint(r->diag, "sonde list '%.*s' %s shows its umasks and modifiers",
		  (int)strcspn(name, ".:"), name, diag_option(r->diag, DIAG_OPT_DETAILS));
	return -EINVAL;
}

int resolve_vendor_code(struct event_resolver *r, struct event_span at, const char *name,
			struct perf_event_attr *attr)
{
	const char *why = "";
	int err = vendor_encode(name, attr, &why);
	if (err == -EINVAL)
		return refuse_vendor(r, at, name, why);
	return err == -EOPNOTSUPP ? -ENOENT : err;
}

int resolve_vendor(struct event_resolver *r, const struct event_spec *e)
{
	const char *name = resolve_str(r, e->name);
	if (!name)
		return -ENOMEM;
	int err = resolve_vendor_name(r, e, name);
	if (err != -ENOENT)
		return err;
	(void)resolve_error(r, -ENOENT, e->name, "libpfm does not know '%s' on this CPU", name);
	diag_hint(r->diag, "'sonde list pfm' shows the vendor names it knows");
	return -ENOENT;
}

int resolve_vendor_name(struct event_resolver *r, const struct event_spec *e, const char *name)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	int err = resolve_vendor_code(r, e->name, name, &attr);
	if (err < 0)
		return err;
	struct event_desc *desc = resolve_push(r, e, EVENT_KIND_PFM);
	if (!desc)
		return -ENOMEM;
	if (r->env->side == EVENT_GUEST)
		attr.exclude_host = 1;
	attr.exclude_guest = r->env->side == EVENT_HOST && !attr.exclude_host;
	desc->attr = attr;
	desc->attr.size = sizeof(desc->attr);
	desc->terms.has_period = attr.sample_period && !attr.freq;
	desc->terms.has_freq = attr.freq;
	desc->has_exclude = attr.exclude_user || attr.exclude_kernel;
	struct pmu *p = pmu_find_type(&r->env->pmus, attr.type);
	if (p) {
		desc->pmu = p->name;
		desc->cpus = p->is_core ? NULL : p->cpus;
		desc->is_uncore = p->cpus && !p->is_core;
	}
	if (!pmu_next_core(&r->env->pmus, NULL) && !r->env->pmus.err)
		desc->why_not = no_core_pmu;
	return 0;
}

/* ---- modifiers and groups ---- */

/*
 * u, k, h: what is named is counted, the rest is not. A group's letters add to a member's own. G, H likewise for guest
 * and host. Without G or H, perf 6.1's rule: guests are left out of an event without letters and of one with u or p, and
 * counted by one whose own letters are others (cycles:k). Where guests are wanted as well, only
 * p leaves them out; where nothing else is wanted, letters do not change that (perf 6.1 forgets it, and records the host).
 */
static void apply_mods(struct event_desc *desc, enum event_side side, const struct event_mods *own,
		       const struct event_mods *group)
{
	u32 bits = own->bits | group->bits;
	struct perf_event_attr *a = &desc->attr;
	u32 levels = bits & (EVENT_MOD_USER | EVENT_MOD_KERNEL | EVENT_MOD_HV);
	if (levels) {
		a->exclude_user = !(levels & EVENT_MOD_USER);
		a->exclude_kernel = !(levels & EVENT_MOD_KERNEL);
		a->exclude_hv = !(levels & EVENT_MOD_HV);
		desc->has_exclude = true;
	}
	u8 precise = (u8)min(own->precise + group->precise, 3);
	if (precise)
		a->precise_ip = precise;
	u32 worlds = bits & (EVENT_MOD_GUEST | EVENT_MOD_HOST);
	if (worlds) {
		a->exclude_guest = !(worlds & EVENT_MOD_GUEST);
		a->exclude_host = !(worlds & EVENT_MOD_HOST);
	} else if (own->span.len && side != EVENT_GUEST) {
		a->exclude_guest = (side == EVENT_HOST && bits & EVENT_MOD_USER) || precise;
	}
	if (bits & EVENT_MOD_NO_IDLE)
		a->exclude_idle = 1;
	desc->precise_max |= (bits & EVENT_MOD_PRECISE_MAX) != 0;
	desc->sample_read |= (bits & EVENT_MOD_READ) != 0;
	desc->weak |= (bits & EVENT_MOD_WEAK) != 0;
	/* What binds a group to the PMU is asked of its leader. */
	if (bits & EVENT_MOD_PINNED)
		a->pinned = 1;
	if (bits & EVENT_MOD_EXCLUSIVE)
		a->exclusive = 1;
}

static bool same_pmu(const struct event_desc *a, const struct event_desc *b)
{
	return a->pmu && b->pmu && !strcmp(a->pmu, b->pmu);
}

/*
 * A group whose events stand for several PMUs each (hybrid cores, uncore instances) becomes one group per PMU of the
 * leader, in that order: events [first, nr) are rearranged. Events of no such PMU stay with the first.
 */
static int split_group(struct event_list *l, u32 first)
{
	u32 nr = (u32)l->events.nr - first;
	struct event_desc *at = l->events.at + first;
	u32 instances = 1;
	while (instances < nr && at[0].merge && at[instances].merge == at[0].merge)
		instances++;
	struct event_desc *out = calloc(nr + 1, sizeof(*out));
	bool *used = calloc(nr + 1, sizeof(*used));
	if (!out || !used) {
		free(out);
		free(used);
		return -ENOMEM;
	}
	u32 n = 0;
	for (u32 k = 0; k < instances; k++) {
		u32 leader = n;
		for (u32 i = 0; i < nr; i++) {
			bool here = i == k ||
				    (!used[i] && i >= instances &&
				     (instances == 1 || !at[i].merge ? k == 0
								     : same_pmu(&at[i], &at[k])));
			if (!here || used[i])
				continue;
			used[i] = true;
			out[n] = at[i];
			out[n].leader = first + leader;
			n++;
		}
		out[leader].nr_members = n - leader;
	}
	/* Instances of PMUs that the leader has not: alone. */
	for (u32 i = 0; i < nr; i++) {
		if (used[i])
			continue;
		out[n] = at[i];
		out[n].leader = first + n;
		n++;
	}
	memcpy(at, out, nr * sizeof(*out));
	free(out);
	free(used);
	return 0;
}

static int finish_group(struct event_resolver *r, const struct event_group_spec *g, u32 first)
{
	if (r->list->events.nr == first)
		return 0;
	int err = split_group(r->list, first);
	if (err < 0)
		return err;
	const char *name = g->name.len ? resolve_str(r, g->name) : NULL;
	if (g->name.len && !name)
		return -ENOMEM;
	for (u32 i = first; i < r->list->events.nr; i++) {
		struct event_desc *desc = &r->list->events.at[i];
		desc->group_name = name;
		if (desc->leader != i)
			desc->attr.pinned = desc->attr.exclusive = 0;
	}
	return 0;
}

/* ---- the whole ---- */

int resolve_check_use(struct event_resolver *r, const struct event_spec *e, enum event_kind kind)
{
	const struct event_provider *row = event_provider_of(kind);
	u32 cannot = r->use & ~row->uses;
	bool nobody = !(r->use & EVENT_USE_TRACEFS) && row->trace && !row->resolve;
	if (!cannot && !nobody)
		return 0;
	struct strbuf wants, has;
	strbuf_init(&wants);
	strbuf_init(&has);
	event_use_verbs(cannot, &wants);
	event_use_verbs(row->uses, &has);
	(void)resolve_error(r, -EOPNOTSUPP, e->span, "'%s' cannot use this event (%s)",
			    strbuf_cstr(&wants), row->about);
	diag_hint(r->diag, "use it with: sonde %s", strbuf_cstr(&has));
	strbuf_done(&wants);
	strbuf_done(&has);
	return -EOPNOTSUPP;
}

static int resolve_one(struct event_resolver *r, const struct event_spec *e)
{
	static const struct event_mods none = { 0 };
	u32 first = (u32)r->list->events.nr;
	int err = resolve_check_use(r, e, e->kind);
	if (err < 0)
		return err;
	const struct event_provider *row = event_provider_of(e->kind);
	bool traced = r->use & EVENT_USE_TRACEFS;
	err = traced && row->trace ? row->trace(r, e) : row->resolve(r, e);
	if (err == 0 && traced)
		err = trace_finish(r, e, first);
	if (err < 0)
		return err;
	const struct event_mods *group = e->group >= 0 ? &r->specs->groups[e->group].mods : &none;
	for (u32 i = first; i < r->list->events.nr; i++) {
		err = resolve_check_use(r, e, r->list->events.at[i].kind);
		if (err < 0)
			return err;
		apply_mods(&r->list->events.at[i], r->env->side, &e->mods, group);
	}
	return 0;
}

static int resolve_all(struct event_resolver *r)
{
	u32 group_first = 0;
	for (u32 i = 0; i < r->specs->nr_items; i++) {
		const struct event_spec *e = &r->specs->items[i];
		const struct event_group_spec *g =
			e->group >= 0 ? &r->specs->groups[e->group] : NULL;
		if (g && i == g->first)
			group_first = (u32)r->list->events.nr;
		int err = resolve_one(r, e);
		if (err == 0 && g && i + 1 == g->first + g->nr)
			err = finish_group(r, g, group_first);
		if (err < 0)
			return err;
	}
	return 0;
}

int event_list_add(struct event_list *l, struct event_env *env, const char *text, u32 use,
		   struct diag *d)
{
	struct event_specs specs;
	int err = event_parse(&l->arena, text, use, &specs, d);
	if (err < 0)
		return err;
	struct event_resolver r = { .list = l, .env = env, .specs = &specs, .use = use, .diag = d };
	size_t had = l->events.nr, said = d ? d->nr_errors : 0;
	u32 merges = l->nr_merges;
	err = resolve_all(&r);
	if (err < 0 && err != -ENOMEM && d && d->nr_errors == said)
		(void)diag_error(d, err, "cannot look up '%s': %s", text, strerror(-err));
	if (err < 0) {
		l->events.nr = had;
		l->nr_merges = merges;
	}
	return err;
}

static int check_filter(struct event_env *env, const struct event_desc *desc, const char *filter,
			struct diag *d)
{
	struct filter_fault f;
	if (!desc->system)
		return 0;
	int err = filter_check(&env->tracing, desc->system, desc->event, filter, &f);
	if (err >= 0 || err == -ENOMEM)
		return err;
	(void)diag_error(d, -EINVAL, "%s: %s", diag_option(d, DIAG_OPT_FILTER), f.message);
	diag_span(d, filter, f.at.start, f.at.len);
	if (f.meant[0])
		diag_hint(d, "did you mean %s?", f.meant);
	return -EINVAL;
}

int event_list_filter(struct event_list *l, struct event_env *env, u32 first, const char *filter,
		      struct diag *d)
{
	if (first >= l->events.nr)
		return diag_error(d, -EINVAL, "%s must follow the -e it applies to",
				  diag_option(d, DIAG_OPT_FILTER));
	for (size_t i = first; i < l->events.nr; i++) {
		if (!event_provider_of(l->events.at[i].kind)->filter)
			return diag_error(d, -EINVAL,
					  "%s only applies to tracepoints and probes, not to '%s'",
					  diag_option(d, DIAG_OPT_FILTER), l->events.at[i].name);
		int err = check_filter(env, &l->events.at[i], filter, d);
		if (err < 0)
			return err;
	}
	for (size_t i = first; i < l->events.nr; i++) {
		struct event_desc *desc = &l->events.at[i];
		struct strbuf s;
		strbuf_init(&s);
		if (desc->filter)
			strbuf_printf(&s, "(%s) && (%s)", desc->filter, filter);
		else
			strbuf_str(&s, filter);
		desc->filter = arena_strdup(&l->arena, strbuf_cstr(&s));
		if (s.err)
			desc->filter = NULL;
		strbuf_done(&s);
		if (!desc->filter)
			return -ENOMEM;
	}
	return 0;
}
