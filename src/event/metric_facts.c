/* What a metric's formula asks about the machine: answered once, when it is parsed. */
#include "event/metric_impl.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

struct metric_fold {
	struct expr *e;
	const struct metric_facts *facts;
	struct diag *d;
	bool *used; /* [ident] */
};

static bool has_smt(const struct machine *m)
{
	return m->cores.nr && m->cores.nr < m->nr_cpus_online;
}

static bool fact_of(const struct metric_facts *f, const char *name, s64 *ret)
{
	const struct machine *m = f->machine;
	const struct {
		const char *name;
		s64 value;
	} facts[] = {
		{ "#num_cpus", m->nr_cpus_present },
		{ "#num_cpus_online", m->nr_cpus_online },
		{ "#num_cores", (s64)m->cores.nr },
		{ "#num_dies", (s64)m->dies.nr },
		{ "#num_packages", (s64)m->packages.nr },
		{ "#smt_on", has_smt(m) },
		{ "#core_wide", !has_smt(m) || f->core_wide },
	};
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (!strcmp(facts[i].name, name)) {
			*ret = facts[i].value;
			return true;
		}
	return false;
}

/* perf.data has "AuthenticAMD,25,17,1", metrics write AuthenticAMD-25-11-1: family decimal, model and stepping hexadecimal. */
static bool cpu_fits(const struct machine *m, const char *pattern)
{
	char vendor[32], id[96];
	unsigned family, model, stepping;
	regex_t re;
	if (!m->cpu_id)
		return false;
	if (sscanf(m->cpu_id, "%31[^,],%u,%u,%u", vendor, &family, &model, &stepping) == 4)
		(void)snprintf(id, sizeof(id), "%s-%u-%X-%X", vendor, family, model, stepping);
	else
		(void)snprintf(id, sizeof(id), "%s", m->cpu_id);
	if (strlen(pattern) > 256 || regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	bool fits = !regexec(&re, id, 0, NULL, 0);
	regfree(&re);
	return fits;
}

/* The one argument as text: a name that was not quoted, or a string. NULL: neither. */
static const char *argument(const struct metric_fold *f, const struct expr_node *call)
{
	const struct expr_node *a = call->kids[0];
	if (call->nr_args != 1)
		return NULL;
	return a->op == EXPR_IDENT				  ? f->e->idents.at[a->ident]
	       : a->op == EXPR_VALUE && a->value.type == EXPR_STR ? a->value.s
								  : NULL;
}

static void set_value(struct expr_node *n, s64 value)
{
	n->op = EXPR_VALUE;
	n->value = expr_int(value);
}

static int fail_at(const struct metric_fold *f, const struct expr_node *n, const char *why)
{
	(void)diag_error(f->d, -EINVAL, "%s", why);
	diag_span(f->d, f->e->text, n->start, n->len);
	return -EINVAL;
}

static int fold_call(struct metric_fold *f, struct expr_node *n)
{
	const char *text = argument(f, n);
	if (!text)
		return fail_at(f, n, "this function takes an event name or a string");
	if (!strcmp(n->func, "strcmp_cpuid_str")) {
		set_value(n, cpu_fits(f->facts->machine, text));
		return 0;
	}
	u32 nr = f->facts->count_events ? f->facts->count_events(f->facts->ctx, text) : 0;
	set_value(n, !strcmp(n->func, "has_event") ? nr > 0 : nr);
	return 0;
}

static bool is_question(const char *func)
{
	return !strcmp(func, "strcmp_cpuid_str") || !strcmp(func, "has_event") ||
	       !strcmp(func, "source_count");
}

/* The tree is at most EXPR_DEPTH_MAX deep; arguments of a call are a list. */
static int fold_node(struct metric_fold *f, struct expr_node *n)
{
	int err = 0;
	s64 value;
	if (n->op == EXPR_CALL && is_question(n->func))
		return fold_call(f, n);
	if (n->op == EXPR_CALL) {
		for (struct expr_node *a = n->kids[0]; a && !err; a = a->next)
			err = fold_node(f, a);
		return err;
	}
	if (n->op == EXPR_IDENT) {
		const char *name = f->e->idents.at[n->ident];
		if (name[0] != '#') {
			f->used[n->ident] = true;
			return 0;
		}
		if (fact_of(f->facts, name, &value)) {
			set_value(n, value);
			return 0;
		}
		err = fail_at(f, n, "unknown property of the machine");
		diag_hint(f->d, "known: #num_cpus, #num_cpus_online, #num_cores, #num_dies, "
				"#num_packages, #smt_on, #core_wide");
		return err;
	}
	for (size_t i = 0; i < ARRAY_SIZE(n->kids) && !err; i++)
		err = n->kids[i] ? fold_node(f, n->kids[i]) : 0;
	return err;
}

int metric_fold_facts(struct expr *e, const struct metric_facts *facts, struct diag *d)
{
	struct metric_fold f = { .e = e, .facts = facts, .d = d };
	if (!facts || !facts->machine)
		return diag_error(d, -EINVAL, "unknown property of the machine: '%s'", e->text);
	f.used = arena_zalloc(&e->arena, e->idents.nr + 1);
	if (!f.used)
		return -ENOMEM;
	int err = fold_node(&f, (struct expr_node *)e->root);
	for (size_t i = 0; i < e->idents.nr && !err; i++)
		if (!f.used[i])
			e->idents.at[i] = "#";
	return err;
}
