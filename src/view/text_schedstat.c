#include "view/text_schedstat.h"

#include "base/printable.h"

#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

enum { RULE = 100, NAME_WIDTH = 65, NAME_MAX_BYTES = 96 };

static void add_rule(struct strbuf *to)
{
	strbuf_fill(to, '-', RULE);
	strbuf_char(to, '\n');
}

/* The name in the middle of a rule. */
static void add_title(const char *title, struct strbuf *to)
{
	char text[NAME_MAX_BYTES];
	int len = snprintf(text, sizeof(text), " <%s> ", title);
	unsigned left = (RULE - (unsigned)len) / 2;
	strbuf_fill(to, '-', left);
	strbuf_str(to, text);
	strbuf_fill(to, '-', RULE - left - (unsigned)len);
	strbuf_char(to, '\n');
}

static double share(u64 part, u64 whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static double change(double from, double to)
{
	return from > 0 ? 100 * (to - from) / from : 0;
}

void text_schedstat_head(const struct schedstat *a, const struct schedstat *b, struct strbuf *to)
{
	strbuf_str(to, "Columns description\n");
	add_rule(to);
	strbuf_str(to, "DESC                    -> Description of the field\n"
		       "COUNT                   -> Value of the field\n"
		       "PCT_CHANGE              -> Percent change with corresponding base value\n"
		       "AVG_JIFFIES             -> Avg time in jiffies between two consecutive "
		       "occurrence of event\n");
	add_rule(to);
	strbuf_printf(to, "%-*s: %11llu", NAME_WIDTH, "Time elapsed (in jiffies)", (ull)a->jiffies);
	if (b)
		strbuf_printf(to, ",%11llu", (ull)b->jiffies);
	strbuf_char(to, '\n');
	add_rule(to);
}

/* b NULL: there is no other run. */
static void add_count(const char *name, u64 a, const u64 *b, struct strbuf *to)
{
	strbuf_printf(to, "%-*s: %11llu", NAME_WIDTH, name, (ull)a);
	if (b)
		strbuf_printf(to, ",%11llu  | %8.2f%% |", (ull)*b, change((double)a, (double)*b));
}

static void add_cpu_fields(const u64 *a, const u64 *b, struct strbuf *to)
{
	for (u32 i = 0; i < SCHEDSTAT_CPU_FIELDS; i++) {
		const struct schedstat_field *f = &schedstat_cpu_fields[i];
		add_count(f->text, a[i], b ? &b[i] : NULL, to);
		if (f->of >= 0 && b)
			strbuf_printf(to, "  ( %8.2f%%, %8.2f%% )", share(a[i], a[f->of]),
				      share(b[i], b[f->of]));
		else if (f->of >= 0)
			strbuf_printf(to, "  ( %8.2f%% )", share(a[i], a[f->of]));
		strbuf_char(to, '\n');
	}
}

static double apart(u64 jiffies, u64 nr)
{
	return nr ? (double)jiffies / (double)nr : 0;
}

/* Where fields are, by name: version 17 has others. */
static u64 value_of(const struct schedstat_field *fields, u32 nr, const u64 *v, const char *key)
{
	for (u32 i = 0; i < nr; i++)
		if (!strcmp(fields[i].key, key))
			return v[i];
	return 0;
}

static u64 successes(const struct schedstat_field *fields, u32 nr, const u64 *v)
{
	u64 all = value_of(fields, nr, v, "lb_count");
	u64 others = value_of(fields, nr, v, "lb_balanced") + value_of(fields, nr, v, "lb_failed");
	return all > others ? all - others : 0;
}

static void add_derived(const struct schedstat_field *fields, u32 nr, const char *kind,
			const u64 *a, const u64 *b, struct strbuf *to)
{
	char name[NAME_MAX_BYTES];
	u64 sa = successes(fields, nr, a), sb = b ? successes(fields, nr, b) : 0;
	double pa = apart(value_of(fields, nr, a, "lb_gained"), sa);
	double pb = b ? apart(value_of(fields, nr, b, "lb_gained"), sb) : 0;
	(void)snprintf(name, sizeof(name), "*load_balance() success count on cpu %s", kind);
	add_count(name, sa, b ? &sb : NULL, to);
	(void)snprintf(name, sizeof(name), "*avg task pulled per successful lb attempt (cpu %s)",
		       kind);
	strbuf_printf(to, "\n%-*s: %11.2f", NAME_WIDTH, name, pa);
	if (b)
		strbuf_printf(to, ",%11.2f  | %8.2f%% |", pb, change(pa, pb));
	strbuf_char(to, '\n');
}

static void add_kind(const struct schedstat *a, const struct schedstat *b, u32 i, const u64 *va,
		     const u64 *vb, struct strbuf *to)
{
	const struct schedstat_kind *kind = schedstat_kind(a->version, i);
	char text[NAME_MAX_BYTES];
	u32 nr;
	const struct schedstat_field *fields = schedstat_balance_fields(a->version, &nr);
	(void)snprintf(text, sizeof(text), "Category %s", kind->title);
	add_title(text, to);
	for (u32 f = 0; f < nr; f++) {
		const char *blank = strstr(fields[f].text, "%s");
		(void)snprintf(text, sizeof(text), "%.*s%s", (int)(blank - fields[f].text),
			       fields[f].text, kind->text);
		add_count(text, va[f], vb ? &vb[f] : NULL, to);
		if (fields[f].rate && vb)
			strbuf_printf(to, "  $ %11.2f,%11.2f $", apart(a->jiffies, va[f]),
				      apart(b->jiffies, vb[f]));
		else if (fields[f].rate)
			strbuf_printf(to, "  $ %11.2f $", apart(a->jiffies, va[f]));
		strbuf_char(to, '\n');
	}
	add_derived(fields, nr, kind->text, va, vb, to);
}

static void add_rest(const u64 *a, const u64 *b, struct strbuf *to)
{
	static const struct {
		u32 at;
		const char *title;
	} parts[] = { { 0, "Category active_load_balance()" },
		      { 3, "Category sched_balance_exec()" },
		      { 6, "Category sched_balance_fork()" },
		      { 9, "Wakeup Info" } };
	for (u32 i = 0; i < SCHEDSTAT_REST; i++) {
		for (u32 p = 0; p < ARRAY_SIZE(parts); p++)
			if (parts[p].at == i)
				add_title(parts[p].title, to);
		add_count(schedstat_rest_fields[i].text, a[i], b ? &b[i] : NULL, to);
		strbuf_char(to, '\n');
	}
	add_rule(to);
}

static void add_where(s32 cpu, struct strbuf *to)
{
	if (cpu < 0)
		strbuf_str(to, "CPU: <ALL CPUS SUMMARY>");
	else
		strbuf_printf(to, "CPU: %d", cpu);
}

static void add_domain(const struct schedstat *a, const struct schedstat *b,
		       const struct schedstat_domain *d, struct strbuf *to)
{
	const struct schedstat_domain *o = b ? schedstat_domain_of(b, d->cpu, d->number) : NULL;
	u32 nr;
	if (b && !o)
		return;
	(void)schedstat_balance_fields(a->version, &nr);
	add_where(d->cpu, to);
	strbuf_str(to, " | DOMAIN: ");
	if (d->name)
		printable_name(to, d->name);
	else
		strbuf_printf(to, "%u", d->number);
	if (d->cpu >= 0) {
		strbuf_str(to, " | DOMAIN_CPUS: ");
		printable_name(to, d->cpus);
	}
	strbuf_char(to, '\n');
	add_rule(to);
	strbuf_printf(to, "%-*s  %11s  %s\n", NAME_WIDTH - 1, "DESC", "COUNT",
		      b ? "            PCT_CHANGE    AVG_JIFFIES1 AVG_JIFFIES2" : "  AVG_JIFFIES");
	for (u32 i = 0; i < SCHEDSTAT_KINDS; i++)
		add_kind(a, b, i, d->v + nr * i, o ? o->v + nr * i : NULL, to);
	add_rest(d->v + nr * SCHEDSTAT_KINDS, o ? o->v + nr * SCHEDSTAT_KINDS : NULL, to);
}

void text_schedstat_cpu(const struct schedstat *a, const struct schedstat *b, s32 cpu,
			struct strbuf *to)
{
	const struct schedstat_cpu *ca = schedstat_cpu_of(a, cpu);
	const struct schedstat_cpu *cb = b ? schedstat_cpu_of(b, cpu) : NULL;
	if (!ca || (b && !cb))
		return;
	strbuf_char(to, '\n');
	add_rule(to);
	add_where(cpu, to);
	strbuf_char(to, '\n');
	add_rule(to);
	strbuf_printf(to, "%-*s  %11s  %s\n", NAME_WIDTH - 1, "DESC", b ? "COUNT1" : "COUNT",
		      b ? "   COUNT2   PCT_CHANGE    PCT_CHANGE1 PCT_CHANGE2" : "  PCT_CHANGE");
	add_rule(to);
	add_cpu_fields(ca->v, cb ? cb->v : NULL, to);
	add_rule(to);
	for (size_t i = schedstat_first_domain(a, cpu);
	     i < a->domains.nr && a->domains.at[i].cpu == cpu; i++)
		add_domain(a, b, &a->domains.at[i], to);
}
