#include "event/metric.h"
#include "event/metric_impl.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* A share of misses in percent, yellow, magenta and red as perf has them for caches and branches. */
#define MISSES(n, ev, of, text)                                                                    \
	{                                                                                          \
		.name = n, .event = ev, .expr = "100 * value / " of, .format = "%7.2f%%",          \
		.unit = text, .about = "misses per access, percent", .limits = {                   \
			20,                                                                        \
			10,                                                                        \
			5                                                                          \
		}                                                                                  \
	}

static const struct metric builtin[] = {
	{ .name = "cpus_utilized",
	  .event = "task-clock",
	  .expr = "value / elapsed_ns",
	  .format = "%8.3f",
	  .unit = "CPUs utilized",
	  .about = "CPUs kept busy on average" },
	{ .name = "cpus_utilized",
	  .event = "cpu-clock",
	  .expr = "value / elapsed_ns",
	  .format = "%8.3f",
	  .unit = "CPUs utilized",
	  .about = "CPUs kept busy on average" },
	{ .name = "cycles_ghz",
	  .event = "cpu-cycles",
	  .expr = "value / running_ns",
	  .format = "%8.3f",
	  .unit = "GHz",
	  .about = "cycles per nanosecond on the CPU" },
	{ .name = "insn_per_cycle",
	  .event = "instructions",
	  .expr = "value / cpu\\-cycles",
	  .format = "%7.2f ",
	  .unit = "insn per cycle",
	  .about = "instructions retired per cycle" },
	{ .name = "stalled_cycles_per_insn",
	  .event = "instructions",
	  .expr = "max(stalled\\-cycles\\-frontend, stalled\\-cycles\\-backend) / value",
	  .format = "%7.2f ",
	  .unit = "stalled cycles per insn",
	  .about = "cycles lost per instruction",
	  .new_line = true },
	{ .name = "frontend_cycles_idle",
	  .event = "stalled-cycles-frontend",
	  .expr = "100 * value / cpu\\-cycles",
	  .format = "%7.2f%%",
	  .unit = "frontend cycles idle",
	  .about = "cycles without an instruction to issue, percent",
	  .limits = { 50, 30, 10 } },
	{ .name = "backend_cycles_idle",
	  .event = "stalled-cycles-backend",
	  .expr = "100 * value / cpu\\-cycles",
	  .format = "%7.2f%%",
	  .unit = "backend cycles idle",
	  .about = "cycles without an instruction to retire, percent",
	  .limits = { 75, 50, 20 } },
	MISSES("branch_miss_rate", "branch-misses", "branch\\-instructions", "of all branches"),
	MISSES("l1_dcache_miss_rate", "L1-dcache-load-misses", "L1\\-dcache\\-loads",
	       "of all L1-dcache accesses"),
	MISSES("l1_icache_miss_rate", "L1-icache-load-misses", "L1\\-icache\\-loads",
	       "of all L1-icache accesses"),
	MISSES("llc_miss_rate", "LLC-load-misses", "LLC\\-loads", "of all LL-cache accesses"),
	MISSES("dtlb_miss_rate", "dTLB-load-misses", "dTLB\\-loads", "of all dTLB cache accesses"),
	MISSES("itlb_miss_rate", "iTLB-load-misses", "iTLB\\-loads", "of all iTLB cache accesses"),
	{ .name = "cache_miss_rate",
	  .event = "cache-misses",
	  .expr = "100 * value / cache\\-references",
	  .format = "%8.3f %%",
	  .unit = "of all cache refs",
	  .about = "misses per reference of the last-level cache, percent",
	  .limits = { 20, 10, 5 } },
	{ .name = "transactional_cycles",
	  .event = "cpu/cycles-t/",
	  .expr = "100 * value / cpu\\-cycles",
	  .format = "%7.2f%%",
	  .unit = "transactional cycles",
	  .about = "cycles inside of transactions, percent" },
	{ .name = "aborted_cycles",
	  .event = "cpu/cycles-ct/",
	  .expr = "100 * (cpu\\/cycles\\-t\\/ - min(value, cpu\\/cycles\\-t\\/)) / cpu\\-cycles",
	  .format = "%7.2f%%",
	  .unit = "aborted cycles",
	  .about = "cycles of transactions that were thrown away, percent" },
	{ .name = "cycles_per_transaction",
	  .event = "cpu/tx-start/",
	  .expr = "cpu\\/cycles\\-t\\/ / value",
	  .format = "%8.0f",
	  .unit = "cycles / transaction",
	  .about = "length of a transaction" },
	{ .name = "cycles_per_elision",
	  .event = "cpu/el-start/",
	  .expr = "cpu\\/cycles\\-t\\/ / value",
	  .format = "%8.0f",
	  .unit = "cycles / elision",
	  .about = "length of an elided lock" },
};

const struct metric *metric_builtin(size_t *nr)
{
	*nr = ARRAY_SIZE(builtin);
	return builtin;
}

/* ---- which event ---- */

static bool name_is(const struct legacy_event *(*table)(size_t *), u64 config, const char *name)
{
	size_t nr;
	const struct legacy_event *rows = table(&nr);
	const struct legacy_event *hit = legacy_find(rows, nr, name, strlen(name));
	return hit && hit->config == config;
}

bool metric_is_event(const char *name, const struct event_desc *e)
{
	u64 low = e->attr.config & PERF_HW_EVENT_MASK, config;
	switch (e->kind) {
	case EVENT_KIND_HARDWARE: return name_is(legacy_hardware, low, name);
	case EVENT_KIND_SOFTWARE: return name_is(legacy_software, e->attr.config, name);
	case EVENT_KIND_TOOL: return name_is(legacy_tool, e->tool, name);
	case EVENT_KIND_CACHE:
		return cache_event_parse(name, strlen(name), &config) == 0 && config == low;
	default: break;
	}
	/* As written, modifiers aside. */
	size_t len = strlen(name);
	return !strncmp(e->name, name, len) && (!e->name[len] || e->name[len] == ':');
}

const struct metric *metric_next_beside(const struct event_desc *e, u32 *at)
{
	while (*at < ARRAY_SIZE(builtin)) {
		const struct metric *m = &builtin[(*at)++];
		if (metric_is_event(m->event, e))
			return m;
	}
	return NULL;
}

const struct metric *metric_find(const struct metric_set *s, const char *name)
{
	for (size_t i = 0; s && i < s->items.nr; i++)
		if (!strcmp(s->items.at[i].name, name))
			return &s->items.at[i];
	for (size_t i = 0; i < ARRAY_SIZE(builtin); i++)
		if (!strcmp(builtin[i].name, name))
			return &builtin[i];
	return NULL;
}

/* ---- evaluation ---- */

static const char *const functions[] = { "source_count", "has_event", "strcmp_cpuid_str", NULL };

bool metric_needs_facts(const struct metric *m)
{
	if (strchr(m->expr, '#'))
		return true;
	for (size_t i = 0; functions[i]; i++)
		if (strstr(m->expr, functions[i]))
			return true;
	return false;
}

int metric_prog_init(struct metric_prog *p, const struct metric *m,
		     const struct metric_facts *facts, struct diag *d)
{
	p->metric = m;
	/* A built-in one may be asked for by name (-M): "value" is then the event it stands beside. */
	int err = expr_parse(&p->expr, m->expr, functions, d);
	if (err || !metric_needs_facts(m))
		return err;
	err = metric_fold_facts(&p->expr, facts, d);
	if (err)
		expr_done(&p->expr);
	return err;
}

void metric_prog_done(struct metric_prog *p)
{
	expr_done(&p->expr);
}

const char *metric_prog_next_event(const struct metric_prog *p, u32 *at)
{
	while (*at < p->expr.idents.nr) {
		const char *name = p->expr.idents.at[(*at)++];
		if (!strcmp(name, "value") && p->metric->event)
			return p->metric->event;
		if (name[0] != '#' && strcmp(name, "elapsed_ns") && strcmp(name, "value") &&
		    strcmp(name, "running_ns"))
			return name;
	}
	return NULL;
}

struct eval_ctx {
	int (*get)(void *ctx, const char *name, double *ret);
	void *ctx;
};

static int eval_get(void *ctx, u32 ident, const char *name, struct expr_value *ret)
{
	struct eval_ctx *c = ctx;
	double v;
	int err = c->get(c->ctx, name, &v);
	if (err == 0)
		*ret = (struct expr_value){ .type = EXPR_FLOAT, .f = v };
	return err;
}

int metric_prog_eval(const struct metric_prog *p,
		     int (*get)(void *ctx, const char *name, double *ret), void *ctx, double *ret)
{
	struct eval_ctx c = { .get = get, .ctx = ctx };
	struct expr_env env = { .get = eval_get, .ctx = &c };
	struct expr_value v;
	int err = expr_eval(&p->expr, &env, &v, NULL);
	if (err < 0)
		return err;
	double f = expr_float(&v);
	if (!isfinite(f))
		return -EDOM;
	*ret = f;
	return 0;
}

double metric_rate(double per_second, char *unit)
{
	static const struct {
		double over;
		const char *text;
	} rows[] = { { 1e9, "G/sec" }, { 1e6, "M/sec" }, { 1e3, "K/sec" } };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (per_second > rows[i].over) {
			memcpy(unit, rows[i].text, strlen(rows[i].text) + 1);
			return per_second / rows[i].over;
		}
	}
	memcpy(unit, "/sec", sizeof("/sec"));
	return per_second;
}

/* ---- files ---- */

void metric_set_init(struct metric_set *s)
{
	*s = (struct metric_set){ 0 };
	arena_init(&s->arena);
}

void metric_set_done(struct metric_set *s)
{
	vec_free(&s->items);
	arena_done(&s->arena);
}

struct line {
	const char *path;
	unsigned number;
	const char *text; /* NUL-terminated copy */
};

static int line_error(const struct line *l, struct diag *d, size_t start, size_t len,
		      const char *message)
{
	(void)diag_error(d, -EINVAL, "%s:%u: %s", l->path, l->number, message);
	diag_span(d, l->text, start, len);
	return -EINVAL;
}

static void trim(const char *text, size_t *start, size_t *end)
{
	while (*start < *end && isspace((unsigned char)text[*start]))
		++*start;
	while (*end > *start && isspace((unsigned char)text[*end - 1]))
		--*end;
}

/* The expression must parse: its complaint is moved to the place in the line. */
static int check_expr(const struct line *l, size_t start, const char *expr, struct diag *d)
{
	struct diag inner;
	struct expr e;
	diag_init(&inner);
	int err = expr_parse(&e, expr, functions, &inner);
	if (err == 0)
		expr_done(&e);
	else if (err == -EINVAL && inner.items.nr)
		err = line_error(l, d, start + inner.items.at[0].start, inner.items.at[0].len,
				 inner.items.at[0].message ? inner.items.at[0].message
							   : "not an expression");
	diag_done(&inner);
	return err;
}

/* "=" that is not part of ==, <=, >=, != */
static size_t find_assign(const char *s)
{
	for (size_t i = 0; s[i]; i++)
		if (s[i] == '=' && s[i + 1] != '=' && (i == 0 || !strchr("=<>!", s[i - 1])))
			return i;
	return strlen(s);
}

static int parse_line(struct metric_set *s, const struct line *l, struct diag *d)
{
	const char *text = l->text;
	size_t assign = find_assign(text), start = 0, end = assign;
	trim(text, &start, &end);
	if (!text[assign])
		return line_error(l, d, start, end - start, "a metric is NAME = EXPRESSION");
	if (start == end)
		return line_error(l, d, assign, 1, "the metric's name is missing");
	for (size_t i = start; i < end; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_.-", text[i]))
			return line_error(l, d, i, 1,
					  "a metric's name has letters, digits, _ . and -");
	struct metric m = { .name = arena_strndup(&s->arena, text + start, end - start) };
	const char **fields[] = { &m.expr, &m.unit, &m.about };
	size_t at = assign + 1, expr_start = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t stop =
			i + 1 < ARRAY_SIZE(fields) ? at + strcspn(text + at, ";") : strlen(text);
		size_t from = at, to = stop;
		trim(text, &from, &to);
		if (i == 0 && from == to)
			return line_error(l, d, assign, 1, "the expression is missing");
		if (i == 0)
			expr_start = from;
		*fields[i] = arena_strndup(&s->arena, text + from, to - from);
		if (!*fields[i])
			return -ENOMEM;
		at = text[stop] ? stop + 1 : stop;
	}
	if (!m.name)
		return -ENOMEM;
	int err = check_expr(l, expr_start, m.expr, d);
	if (err < 0)
		return err;
	struct metric *to = vec_push(&s->items);
	if (!to)
		return -ENOMEM;
	*to = m;
	return 0;
}

int metric_set_parse(struct metric_set *s, const char *path, const char *text, struct diag *d)
{
	struct line l = { .path = path };
	while (*text) {
		size_t len = strcspn(text, "\n"), start = 0, end = len;
		l.number++;
		trim(text, &start, &end);
		if (start < end && text[start] != '#') {
			l.text = arena_strndup(&s->arena, text, len);
			int err = l.text ? parse_line(s, &l, d) : -ENOMEM;
			if (err < 0)
				return err;
		}
		text += len + (text[len] == '\n');
	}
	return 0;
}
