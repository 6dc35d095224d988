#include "event/metric.h"
#include "event/metric_impl.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* A share of misses in percent, yellow, magenta and red as perf has them for caches and branches. */
#define MISSES(n, ev, of, group, text)                                                             \
	{                                                                                          \
		.name = n, .event = ev, .expr = "100 * value / " of, .format = "%7.2f%%",          \
		.unit = text, .about = "misses per access, percent", .groups = group, .limits = {  \
			20,                                                                        \
			10,                                                                        \
			5                                                                          \
		}                                                                                  \
	}

/* Top-down analysis: what became of the slots of the pipeline. First with Intel's metric events, whose sum is all slots ... */
#define TD_SLOTS                                                                                   \
	"(topdown\\-retiring + topdown\\-bad\\-spec + topdown\\-fe\\-bound + "                     \
	"topdown\\-be\\-bound)"
#define TOPDOWN(n, ev, slots, text, what, limit, lvl)                                              \
	{                                                                                          \
		.name = n, .event = ev, .expr = "100 * (" slots ") / " TD_SLOTS,                   \
		.format = "%8.1f%%", .unit = text, .about = what,                                  \
		.groups = (lvl) > 1 ? "TopdownL2" : "TopdownL1", .limits = {                       \
			limit,                                                                     \
			limit,                                                                     \
			limit                                                                      \
		}                                                                                  \
	}

/* ... then with counts of slots, as CPUs before them have. perf shows a share just below zero as 0. */
#define TD_TOTAL "topdown\\-total\\-slots"
#define TD_BAD(bubbles)                                                                            \
	"(topdown\\-slots\\-issued - topdown\\-slots\\-retired + " bubbles ") / " TD_TOTAL
#define TD_REST(bad)                                                                               \
	"1 - (" bad " + (topdown\\-slots\\-retired + topdown\\-fetch\\-bubbles) / " TD_TOTAL ")"
#define TD_SANE(x) "100 * (0 if " x " < 0 && " x " >= -0.02 else " x ")"
#define TD_BUBBLES "topdown\\-recovery\\-bubbles"
#define SLOTS(n, ev, value, text, what, limit, ...)                                                \
	{                                                                                          \
		.name = n, .event = ev, .expr = value, .format = "%8.1f%%", .unit = text,          \
		.about = what, .limits = { limit, limit, limit }, .groups = "TopdownSlots",        \
		__VA_ARGS__                                                                        \
	}

static const struct metric builtin[] = {
	{ .name = "cpus_utilized",
	  .groups = "cpu",
	  .event = "task-clock",
	  .expr = "value / elapsed_ns",
	  .format = "%8.3f",
	  .unit = "CPUs utilized",
	  .about = "CPUs kept busy on average" },
	{ .name = "cpus_utilized",
	  .groups = "cpu",
	  .event = "cpu-clock",
	  .expr = "value / elapsed_ns",
	  .format = "%8.3f",
	  .unit = "CPUs utilized",
	  .about = "CPUs kept busy on average" },
	{ .name = "cycles_ghz",
	  .groups = "cpu",
	  .event = "cpu-cycles",
	  .expr = "value / running_ns",
	  .format = "%8.3f",
	  .unit = "GHz",
	  .about = "cycles per nanosecond on the CPU" },
	{ .name = "insn_per_cycle",
	  .groups = "pipeline",
	  .event = "instructions",
	  .expr = "value / cpu\\-cycles",
	  .format = "%7.2f ",
	  .unit = "insn per cycle",
	  .about = "instructions retired per cycle" },
	{ .name = "stalled_cycles_per_insn",
	  .groups = "pipeline",
	  .event = "instructions",
	  .expr = "max(stalled\\-cycles\\-frontend, stalled\\-cycles\\-backend) / value",
	  .format = "%7.2f ",
	  .unit = "stalled cycles per insn",
	  .about = "cycles lost per instruction",
	  .new_line = true },
	{ .name = "frontend_cycles_idle",
	  .groups = "pipeline",
	  .event = "stalled-cycles-frontend",
	  .expr = "100 * value / cpu\\-cycles",
	  .format = "%7.2f%%",
	  .unit = "frontend cycles idle",
	  .about = "cycles without an instruction to issue, percent",
	  .limits = { 50, 30, 10 } },
	{ .name = "backend_cycles_idle",
	  .groups = "pipeline",
	  .event = "stalled-cycles-backend",
	  .expr = "100 * value / cpu\\-cycles",
	  .format = "%7.2f%%",
	  .unit = "backend cycles idle",
	  .about = "cycles without an instruction to retire, percent",
	  .limits = { 75, 50, 20 } },
	MISSES("branch_miss_rate", "branch-misses", "branch\\-instructions", "branch_prediction",
	       "of all branches"),
	MISSES("l1_dcache_miss_rate", "L1-dcache-load-misses", "L1\\-dcache\\-loads", "cache",
	       "of all L1-dcache accesses"),
	MISSES("l1_icache_miss_rate", "L1-icache-load-misses", "L1\\-icache\\-loads", "cache",
	       "of all L1-icache accesses"),
	MISSES("llc_miss_rate", "LLC-load-misses", "LLC\\-loads", "cache",
	       "of all LL-cache accesses"),
	MISSES("dtlb_miss_rate", "dTLB-load-misses", "dTLB\\-loads", "tlb",
	       "of all dTLB cache accesses"),
	MISSES("itlb_miss_rate", "iTLB-load-misses", "iTLB\\-loads", "tlb",
	       "of all iTLB cache accesses"),
	{ .name = "cache_miss_rate",
	  .groups = "cache",
	  .event = "cache-misses",
	  .expr = "100 * value / cache\\-references",
	  .format = "%8.3f %%",
	  .unit = "of all cache refs",
	  .about = "misses per reference of the last-level cache, percent",
	  .limits = { 20, 10, 5 } },
	{ .name = "transactional_cycles",
	  .groups = "transaction",
	  .event = "cpu/cycles-t/",
	  .expr = "100 * value / cpu\\-cycles",
	  .format = "%7.2f%%",
	  .unit = "transactional cycles",
	  .about = "cycles in transactions, percent" },
	{ .name = "aborted_cycles",
	  .groups = "transaction",
	  .event = "cpu/cycles-ct/",
	  .expr = "100 * (cpu\\/cycles\\-t\\/ - min(value, cpu\\/cycles\\-t\\/)) / cpu\\-cycles",
	  .format = "%7.2f%%",
	  .unit = "aborted cycles",
	  .about = "cycles of aborted transactions, percent" },
	{ .name = "cycles_per_transaction",
	  .groups = "transaction",
	  .event = "cpu/tx-start/",
	  .expr = "cpu\\/cycles\\-t\\/ / value",
	  .format = "%8.0f",
	  .unit = "cycles / transaction",
	  .about = "length of a transaction" },
	{ .name = "cycles_per_elision",
	  .groups = "transaction",
	  .event = "cpu/el-start/",
	  .expr = "cpu\\/cycles\\-t\\/ / value",
	  .format = "%8.0f",
	  .unit = "cycles / elision",
	  .about = "length of an elided lock" },
	TOPDOWN("topdown_retiring", "topdown-retiring", "value", "Retiring",
		"slots with useful work, percent", 0, 1),
	TOPDOWN("topdown_bad_speculation", "topdown-bad-spec", "value", "Bad Speculation",
		"slots with discarded work, percent", 10, 1),
	TOPDOWN("topdown_frontend_bound", "topdown-fe-bound", "value", "Frontend Bound",
		"slots that received no instruction in time, percent", 20, 1),
	TOPDOWN("topdown_backend_bound", "topdown-be-bound", "value", "Backend Bound",
		"slots lost to memory and execution units, percent", 20, 1),
	TOPDOWN("topdown_heavy_operations", "topdown-heavy-ops", "value", "Heavy Operations",
		"retired slots of multi-operation instructions, percent", 0, 2),
	TOPDOWN("topdown_light_operations", "topdown-heavy-ops", "topdown\\-retiring - value",
		"Light Operations", "retired slots of simple instructions, percent", 0, 2),
	TOPDOWN("topdown_branch_mispredict", "topdown-br-mispredict", "value", "Branch Mispredict",
		"slots lost to mispredicted branches, percent", 5, 2),
	TOPDOWN("topdown_machine_clears", "topdown-br-mispredict", "topdown\\-bad\\-spec - value",
		"Machine Clears", "slots lost to machine clears, percent", 5, 2),
	TOPDOWN("topdown_fetch_latency", "topdown-fetch-lat", "value", "Fetch Latency",
		"slots without any instruction to issue, percent", 15, 2),
	TOPDOWN("topdown_fetch_bandwidth", "topdown-fetch-lat", "topdown\\-fe\\-bound - value",
		"Fetch Bandwidth", "slots with too few instructions to issue, percent", 10, 2),
	TOPDOWN("topdown_memory_bound", "topdown-mem-bound", "value", "Memory Bound",
		"slots that waited for memory, percent", 20, 2),
	TOPDOWN("topdown_core_bound", "topdown-mem-bound", "topdown\\-be\\-bound - value",
		"Core Bound", "slots that waited for execution units, percent", 10, 2),
	SLOTS("slots_retiring", "topdown-slots-retired", "100 * value / " TD_TOTAL, "retiring",
	      "slots with useful work, percent", 0),
	SLOTS("slots_bad_speculation", "topdown-recovery-bubbles", TD_SANE(TD_BAD("value")),
	      "bad speculation", "slots with discarded work, percent", 10),
	SLOTS("slots_frontend_bound", "topdown-fetch-bubbles", "100 * value / " TD_TOTAL,
	      "frontend bound", "slots that received no instruction in time, percent", 20),
	SLOTS("slots_backend_bound", "topdown-slots-issued", TD_SANE(TD_REST(TD_BAD(TD_BUBBLES))),
	      "backend bound", "slots lost to memory and execution units, percent", 20,
	      .needs = "topdown-recovery-bubbles"),
	SLOTS("slots_backend_or_bad", "topdown-slots-issued", TD_SANE(TD_REST(TD_BAD("0"))),
	      "backend bound/bad spec", "slots lost to the back end or to speculation, percent", 20,
	      .unless = "topdown-recovery-bubbles"),
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
	if (!strncmp(e->name, name, len) && (!e->name[len] || e->name[len] == ':'))
		return true;
	/* An event of the core's PMU may be written in full: cpu_core/topdown-retiring/. */
	const char *slash = e->pmu && !strncmp(e->pmu, "cpu", 3) ? strchr(e->name, '/') : NULL;
	return slash && !strncmp(slash + 1, name, len) && slash[1 + len] == '/';
}

bool metric_in_group(const struct metric *m, const char *group)
{
	size_t len = strlen(group);
	for (const char *at = m->groups; at && *at; at += *at == ';') {
		size_t word = strcspn(at, ";");
		if (word == len && !strncmp(at, group, len))
			return true;
		at += word;
	}
	return false;
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

struct metric_line {
	const char *path;
	unsigned number;
	const char *text; /* NUL-terminated copy */
};

static int line_error(const struct metric_line *l, struct diag *d, size_t start, size_t len,
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
static int check_expr(const struct metric_line *l, size_t start, const char *expr, struct diag *d)
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
							   : "invalid expression");
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

static int parse_line(struct metric_set *s, const struct metric_line *l, struct diag *d)
{
	const char *text = l->text;
	size_t assign = find_assign(text), start = 0, end = assign;
	trim(text, &start, &end);
	if (!text[assign])
		return line_error(l, d, start, end - start, "expected NAME = EXPRESSION");
	if (start == end)
		return line_error(l, d, assign, 1, "expected a metric name");
	for (size_t i = start; i < end; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_.-", text[i]))
			return line_error(l, d, i, 1,
					  "metric names consist of letters, digits, _ . and -");
	struct metric m = { .name = arena_strndup(&s->arena, text + start, end - start) };
	const char **fields[] = { &m.expr, &m.unit, &m.about };
	size_t at = assign + 1, expr_start = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t stop =
			i + 1 < ARRAY_SIZE(fields) ? at + strcspn(text + at, ";") : strlen(text);
		size_t from = at, to = stop;
		trim(text, &from, &to);
		if (i == 0 && from == to)
			return line_error(l, d, assign, 1, "expected an expression");
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
	struct metric_line l = { .path = path };
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
