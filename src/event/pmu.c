/*
 * PMU/terms/: values go through the PMU's format files into config words; a bare word may be one of the PMU's own events,
 * whose terms are then put in its place. Later terms win over earlier ones.
 */
#include "event/resolve_impl.h"

#include "base/num.h"
#include "event/closest.h"
#include "event/vendor.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { ALIAS_DEPTH = 4 };

/* Where terms come from: the person's text, or a PMU's event file. Faults in the latter are shown at the word used. */
struct term_source {
	const char *text;
	struct event_span shown; /* len 0: the terms' own spans */
};

struct pmu_builder {
	struct event_resolver *r;
	struct pmu *pmu; /* NULL: static terms only */
	struct event_desc *desc;
	u64 words[PMU_CONFIG_WORDS];
	int depth;
};

static struct event_span shown(const struct term_source *src, struct event_span s)
{
	return src->shown.len ? src->shown : s;
}

static bool word_is(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && !strncmp(s, word, len);
}

static bool parse_number(const char *s, u32 len, u64 *ret)
{
	char buf[32];
	if (!len || len >= sizeof(buf) || !isdigit((unsigned char)s[0]))
		return false;
	memcpy(buf, s, len);
	buf[len] = '\0';
	return num_parse_u64(buf, 0, ret) == 0;
}

static int need_number(struct pmu_builder *b, const struct term_source *src,
		       const struct event_term *t, u64 *ret)
{
	if (t->has_value && parse_number(src->text + t->value.start, t->value.len, ret))
		return 0;
	return resolve_error(b->r, -EINVAL, shown(src, t->has_value ? t->value : t->name),
			     "'%.*s' needs a number", (int)t->name.len, src->text + t->name.start);
}

/* Terms that say how samples are taken mean nothing to a counter. */
static int check_recording(struct pmu_builder *b, const struct term_source *src,
			   const struct event_term *t)
{
	static const char *const counting[] = { "name",	   "period",  "config",
						"config1", "config2", "config3",
						"config4", "percore", "metric-id" };
	const char *s = src->text + t->name.start;
	if (b->r->use != EVENT_USE_COUNT || !event_is_static_term(s, t->name.len))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(counting); i++)
		if (word_is(s, t->name.len, counting[i]))
			return 0;
	(void)resolve_error(b->r, -EOPNOTSUPP, shown(src, t->name),
			    "'%.*s' is an option for recording: it has no meaning for counting",
			    (int)t->name.len, s);
	diag_hint(b->r->diag, "use it with: sonde record");
	return -EOPNOTSUPP;
}

static int driver_term(struct pmu_builder *b, const struct term_source *src,
		       const struct event_term *t)
{
	struct event_terms *to = &b->desc->terms;
	struct strbuf text;
	strbuf_init(&text);
	if (to->driver)
		strbuf_printf(&text, "%s,", to->driver);
	strbuf_add(&text, src->text + t->name.start, t->name.len);
	if (t->has_value)
		strbuf_printf(&text, "=%.*s", (int)t->value.len, src->text + t->value.start);
	to->driver = arena_strdup(&b->r->list->arena, strbuf_cstr(&text));
	if (text.err)
		to->driver = NULL;
	strbuf_done(&text);
	return to->driver ? 1 : -ENOMEM;
}

static const char **text_place(struct event_desc *desc, const char *s, size_t len)
{
	return word_is(s, len, "name")		? &desc->name
	       : word_is(s, len, "call-graph")	? &desc->terms.call_graph
	       : word_is(s, len, "branch_type") ? &desc->terms.branch_type
						: NULL;
}

static int text_term(struct pmu_builder *b, const struct term_source *src,
		     const struct event_term *t, const char **to)
{
	if (!t->has_value)
		return resolve_error(b->r, -EINVAL, shown(src, t->name), "'%.*s' needs a value",
				     (int)t->name.len, src->text + t->name.start);
	*to = arena_strndup(&b->r->list->arena, src->text + t->value.start, t->value.len);
	return *to ? 1 : -ENOMEM;
}

/* "inherit", "no-inherit", "overwrite=0": 1 when it was one. */
static int switch_term(struct pmu_builder *b, const struct term_source *src,
		       const struct event_term *t)
{
	const char *s = src->text + t->name.start;
	size_t len = t->name.len;
	bool on = len < 3 || strncmp(s, "no-", 3) != 0;
	if (!on) {
		s += 3;
		len -= 3;
	}
	struct event_terms *to = &b->desc->terms;
	bool inherit = word_is(s, len, "inherit"), overwrite = word_is(s, len, "overwrite");
	bool percore = on && word_is(s, len, "percore"), aux = on && word_is(s, len, "aux-output");
	if (!inherit && !overwrite && !percore && !aux)
		return 0;
	u64 v = 1;
	int err = t->has_value ? need_number(b, src, t, &v) : 0;
	if (err < 0)
		return err;
	if (!v)
		on = !on;
	if (inherit)
		to->inherit = on;
	else if (overwrite)
		to->overwrite = on;
	else if (percore)
		to->percore = on;
	else
		to->aux_output = on;
	return 1;
}

enum number_term {
	TERM_PERIOD,
	TERM_FREQ,
	TERM_TIME,
	TERM_STACK_SIZE,
	TERM_MAX_STACK,
	TERM_NR,
	TERM_AUX_SAMPLE,
	TERM_METRIC_ID,
	TERM_CONFIG, /* and config1 .. config4 after it */
	TERM_END = TERM_CONFIG + PMU_CONFIG_WORDS,
};

static enum number_term number_term_find(const char *s, size_t len)
{
	static const char *const words[TERM_END] = {
		"period",	   "freq",	"time",	  "stack-size", "max-stack", "nr",
		"aux-sample-size", "metric-id", "config", "config1",	"config2",   "config3",
		"config4",
	};
	unsigned i = 0;
	while (i < TERM_END && !word_is(s, len, words[i]))
		i++;
	return (enum number_term)i;
}

static int number_term(struct pmu_builder *b, const struct term_source *src,
		       const struct event_term *t, enum number_term which)
{
	struct event_desc *desc = b->desc;
	u64 v = 1; /* of a bare word, as with perf */
	if (which == TERM_METRIC_ID) /* for perf's own metrics; without meaning here */
		return 1;
	int err = t->has_value ? need_number(b, src, t, &v) : 0;
	if (err < 0)
		return err;
	u64 most = which == TERM_TIME					 ? 1
		   : which == TERM_MAX_STACK || which == TERM_AUX_SAMPLE ? UINT32_MAX
									 : UINT64_MAX;
	if (v > most)
		return resolve_error(b->r, -EINVAL, shown(src, t->value),
				     "value too large for '%.*s'", (int)t->name.len,
				     src->text + t->name.start);
	switch (which) {
	case TERM_PERIOD:
	case TERM_FREQ:
		desc->attr.sample_period = v;
		desc->attr.freq = which == TERM_FREQ;
		desc->terms.has_freq = which == TERM_FREQ;
		desc->terms.has_period = which == TERM_PERIOD;
		break;
	case TERM_TIME: desc->terms.time = (s8)v; break;
	case TERM_STACK_SIZE: desc->terms.stack_size = v; break;
	case TERM_MAX_STACK: desc->terms.max_stack = (u32)v; break;
	case TERM_NR: desc->terms.nr = v; break;
	case TERM_AUX_SAMPLE: desc->terms.aux_sample_size = (u32)v; break;
	default: b->words[which - TERM_CONFIG] = v; break;
	}
	return 1;
}

/* 1: taken; 0: not a static term. */
static int static_term(struct pmu_builder *b, const struct term_source *src,
		       const struct event_term *t)
{
	const char *s = src->text + t->name.start;
	if (t->driver)
		return driver_term(b, src, t);
	const char **text = text_place(b->desc, s, t->name.len);
	if (text)
		return text_term(b, src, t, text);
	int err = switch_term(b, src, t);
	if (err)
		return err;
	enum number_term which = number_term_find(s, t->name.len);
	return which < TERM_END ? number_term(b, src, t, which) : 0;
}

static int format_term(struct pmu_builder *b, const struct term_source *src,
		       const struct event_term *t, const struct pmu_format *f)
{
	u64 v = 1;
	if (t->has_value) {
		const char *value = src->text + t->value.start;
		if (t->value.len == 1 && *value == '?')
			return resolve_error(b->r, -EINVAL, shown(src, t->name),
					     "this event needs a value for '%s': add %s=N", f->name,
					     f->name);
		int err = need_number(b, src, t, &v);
		if (err < 0)
			return err;
	}
	bool over;
	u64 bits = pmu_scatter(f->mask, v, &over);
	if (over) {
		(void)resolve_error(b->r, -EINVAL, shown(src, t->has_value ? t->value : t->name),
				    "value too large for '%s', which has %d bit%s (%s)", f->name,
				    __builtin_popcountll(f->mask),
				    f->mask & (f->mask - 1) ? "s" : "", f->text);
		return -EINVAL;
	}
	b->words[f->word] = (b->words[f->word] & ~f->mask) | bits;
	return 0;
}

static int add_terms(struct pmu_builder *b, const struct term_source *src,
		     const struct event_term *terms, u32 nr);

static int alias_term(struct pmu_builder *b, const struct term_source *src,
		      const struct event_term *t, const struct pmu_alias *al)
{
	struct event_span at = shown(src, t->name);
	if (++b->depth > ALIAS_DEPTH)
		return resolve_error(b->r, -ELOOP, at, "event '%s' of PMU %s refers to itself",
				     al->name, b->pmu->name);
	struct event_term *terms;
	u32 nr;
	struct diag quiet;
	diag_init(&quiet);
	int err = event_parse_terms(&b->r->list->arena, al->terms, &terms, &nr, &quiet);
	diag_done(&quiet);
	if (err < 0)
		return resolve_error(b->r, err, at,
				     "cannot parse the kernel's definition of %s/%s/: '%s'",
				     b->pmu->name, al->name, al->terms);
	struct term_source inner = { .text = al->terms, .shown = at };
	err = add_terms(b, &inner, terms, nr);
	if (err < 0)
		return err;
	if (al->unit)
		b->desc->unit = arena_strdup(&b->r->list->arena, al->unit);
	b->desc->scale = al->scale;
	b->desc->per_pkg = al->per_pkg;
	b->desc->snapshot = al->snapshot;
	b->depth--;
	return al->unit && !b->desc->unit ? -ENOMEM : 0;
}

/* A generic name on a core PMU that does not list it: the kernel translates it, told by the upper half of config. */
static int generic_term(struct pmu_builder *b, const struct term_source *src,
			const struct event_term *t)
{
	const char *s = src->text + t->name.start;
	size_t nr;
	const struct legacy_event *rows = legacy_hardware(&nr);
	const struct legacy_event *hit = legacy_find(rows, nr, s, t->name.len);
	if (hit) {
		const struct pmu_alias *al = pmu_alias_find(b->pmu, hit->name, strlen(hit->name));
		if (!al && hit->alias)
			al = pmu_alias_find(b->pmu, hit->alias, strlen(hit->alias));
		if (al)
			return alias_term(b, src, t, al);
	}
	u64 config;
	if (!hit && cache_event_parse(s, t->name.len, &config) < 0)
		return -ENOENT;
	b->desc->attr.type = hit ? PERF_TYPE_HARDWARE : PERF_TYPE_HW_CACHE;
	b->words[0] = (hit ? hit->config : config) | (u64)b->pmu->type << PERF_PMU_TYPE_SHIFT;
	b->desc->kind = hit ? EVENT_KIND_HARDWARE : EVENT_KIND_CACHE;
	return 0;
}

static int unknown_term(struct pmu_builder *b, const struct term_source *src,
			const struct event_term *t)
{
	const char *s = src->text + t->name.start;
	int len = (int)t->name.len;
	struct event_span at = shown(src, t->name);
	if (!b->pmu) {
		(void)resolve_error(b->r, -EINVAL, at, "unknown term '%.*s'", len, s);
		diag_hint(
			b->r->diag,
			"terms: name= period= freq= time= call-graph= stack-size= max-stack= nr= "
			"[no-]inherit "
			"[no-]overwrite branch_type= percore aux-output config= config1= config2=");
		return -EINVAL;
	}
	(void)resolve_error(b->r, -EINVAL, at, "PMU %s has no %s '%.*s'", b->pmu->name,
			    t->has_value ? "term" : "event or term", len, s);
	struct closest c;
	closest_init(&c, s, t->name.len);
	struct strbuf formats;
	strbuf_init(&formats);
	vec_for_each (&b->pmu->formats, f) {
		(void)closest_offer(&c, f->name);
		strbuf_printf(&formats, "%s%s=", formats.len ? " " : "", f->name);
	}
	if (!t->has_value)
		vec_for_each (&b->pmu->aliases, al)
			(void)closest_offer(&c, al->name);
	if (c.best)
		diag_hint(b->r->diag, "did you mean %s?", c.best);
	if (formats.len)
		diag_hint(b->r->diag, "terms of %s: %s config= config1= config2= period= name= ...",
			  b->pmu->name, strbuf_cstr(&formats));
	else
		diag_hint(b->r->diag, "%s takes only config= config1= config2= period= name= ...",
			  b->pmu->name);
	strbuf_done(&formats);
	return -EINVAL;
}

static bool raw_term(const char *s, u32 len, u64 *ret)
{
	char buf[24];
	if (len < 2 || len > 19 || s[0] != 'r')
		return false;
	memcpy(buf, s + 1, len - 1);
	buf[len - 1] = '\0';
	return num_parse_u64(buf, 16, ret) == 0;
}

/* cpu/l2_rqsts.miss/: a name of the CPU's vendor, where the kernel has none. */
static int vendor_term(struct pmu_builder *b, const struct term_source *src,
		       const struct event_term *t)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	const char *name = arena_strndup(&b->r->list->arena, src->text + t->name.start, t->name.len);
	if (!name)
		return -ENOMEM;
	int err = resolve_vendor_code(b->r, shown(src, t->name), name, &attr);
	if (err < 0)
		return err;
	b->words[0] |= attr.config;
	b->words[1] |= attr.config1;
	b->words[2] |= attr.config2;
	return 0;
}

static int one_term(struct pmu_builder *b, const struct term_source *src, const struct event_term *t)
{
	const char *s = src->text + t->name.start;
	const struct pmu_format *f = b->pmu ? pmu_format_find(b->pmu, s, t->name.len) : NULL;
	int err = f ? 0 : check_recording(b, src, t);
	if (err < 0)
		return err;
	/* A PMU may have a format called "freq" or "config2": then that is meant. */
	if (f && !t->driver)
		return format_term(b, src, t, f);
	err = static_term(b, src, t);
	if (err)
		return min(err, 0);
	if (!b->pmu)
		return unknown_term(b, src, t);
	if (!t->has_value) {
		const struct pmu_alias *al = pmu_alias_find(b->pmu, s, t->name.len);
		u64 raw;
		if (al)
			return alias_term(b, src, t, al);
		if (b->pmu->is_core && (err = generic_term(b, src, t)) != -ENOENT)
			return err;
		if (raw_term(s, t->name.len, &raw)) {
			b->words[0] = raw;
			return 0;
		}
		if (b->pmu->is_core && (err = vendor_term(b, src, t)) != -ENOENT)
			return err;
	}
	return unknown_term(b, src, t);
}

static int add_terms(struct pmu_builder *b, const struct term_source *src,
		     const struct event_term *terms, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		int err = one_term(b, src, &terms[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

/* "chip=?" in the PMU's text is filled by the person's own term, wherever that stands: theirs come last. */
static int build(struct pmu_builder *b, const struct event_spec *e)
{
	struct term_source src = { .text = b->r->specs->text };
	return add_terms(b, &src, e->terms, e->nr_terms);
}

static void finish(struct pmu_builder *b)
{
	b->desc->attr.config = b->words[0];
	b->desc->attr.config1 = b->words[1];
	b->desc->attr.config2 = b->words[2];
	b->desc->config3 = b->words[3];
	b->desc->config4 = b->words[4];
}

int resolve_static_terms(struct event_resolver *r, const struct event_spec *e,
			 struct event_desc *desc)
{
	struct pmu_builder b = { .r = r,
				 .desc = desc,
				 .words = { desc->attr.config, desc->attr.config1,
					    desc->attr.config2 } };
	int err = build(&b, e);
	if (err == 0)
		finish(&b);
	return err;
}

static int load(struct event_resolver *r, struct pmu *p)
{
	int err = pmu_load_formats(&r->env->pmus, p);
	return err < 0 ? err : pmu_load_aliases(&r->env->pmus, p);
}

static struct event_desc *push_pmu(struct event_resolver *r, const struct event_spec *e,
				   const struct pmu *p)
{
	struct event_desc *desc = resolve_push(r, e, EVENT_KIND_PMU);
	if (!desc)
		return NULL;
	desc->attr.type = p->type;
	desc->pmu = p->name;
	desc->cpus = p->cpus;
	desc->is_uncore = p->cpus && !p->is_core;
	return desc;
}

static int add_pmu(struct event_resolver *r, const struct event_spec *e, struct pmu *p)
{
	int err = load(r, p);
	if (err < 0)
		return err;
	struct event_desc *desc = push_pmu(r, e, p);
	if (!desc)
		return -ENOMEM;
	struct pmu_builder b = { .r = r, .pmu = p, .desc = desc };
	err = build(&b, e);
	if (err == 0)
		finish(&b);
	else
		r->list->events.nr--;
	return err;
}

static bool wants(struct event_resolver *r, const struct pmu *p, const char *word, u32 len)
{
	if (pmu_matches(p, word, len))
		return true;
	/* "cpu/.../" where the cores have names of their own. */
	return word_is(word, len, "cpu") && p->is_core && !pmu_find(&r->env->pmus, word, len);
}

static void mark_merge(struct event_resolver *r, size_t first)
{
	if (r->list->events.nr - first < 2)
		return;
	u32 merge = ++r->list->nr_merges;
	for (size_t i = first; i < r->list->events.nr; i++)
		r->list->events.at[i].merge = merge;
}

int resolve_pmu(struct event_resolver *r, const struct event_spec *e)
{
	const char *word = resolve_at(r, e->name);
	size_t first = r->list->events.nr;
	struct pmu *exact = pmu_find(&r->env->pmus, word, e->name.len);
	if (exact)
		return add_pmu(r, e, exact);
	/* Of several PMUs those count that know the terms; if none does, the first one's complaint is shown. */
	struct diag complaints;
	diag_init(&complaints);
	int result = -ENOENT;
	vec_for_each (&r->env->pmus.pmus, p) {
		if (!wants(r, p, word, e->name.len))
			continue;
		struct diag *outer = r->diag;
		r->diag = complaints.nr_errors ? NULL : &complaints;
		int err = add_pmu(r, e, p);
		r->diag = outer;
		if (err == -ENOMEM) {
			result = err;
			break;
		}
		if (result == -ENOENT)
			result = err;
	}
	if (r->list->events.nr > first && result != -ENOMEM)
		result = 0;
	if (result < 0 && complaints.items.nr) {
		const struct diag_item *it = &complaints.items.at[0];
		(void)resolve_error(r, result, (struct event_span){ (u32)it->start, (u32)it->len },
				    "%s", it->message ? it->message : "");
		if (it->hint)
			diag_hint(r->diag, "%s", it->hint);
	}
	diag_done(&complaints);
	if (result == 0)
		mark_merge(r, first);
	return result;
}

int resolve_alias(struct event_resolver *r, const struct event_spec *e)
{
	const char *word = resolve_at(r, e->name);
	size_t first = r->list->events.nr;
	vec_for_each (&r->env->pmus.pmus, p) {
		int err = load(r, p);
		if (err < 0)
			return err;
		if (!pmu_alias_find(p, word, e->name.len))
			continue;
		struct event_term term = { .name = e->name };
		struct event_spec as_pmu = *e;
		as_pmu.terms = &term;
		as_pmu.nr_terms = 1;
		err = add_pmu(r, &as_pmu, p);
		if (err < 0)
			return err;
	}
	if (r->list->events.nr == first)
		return -ENOENT;
	mark_merge(r, first);
	return 0;
}
