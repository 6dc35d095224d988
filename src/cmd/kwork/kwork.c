/* `sonde kwork`: interrupts, softirqs and work queues: how long they run, and how long they were pending before. */
#include "cmd/kwork/kwork.h"

#include "base/json.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/record/preset.h"
#include "view/text_kwork.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { KEYS_MAX = 3 };

static void kwork_defaults(void *opts)
{
	struct kwork_opts *o = opts;
	o->input = "perf.data";
}

/* ---- classes and keys ---------------------------------------------------------------------------------------------- */

static const char *const class_names[KWORK_NR_CLASSES + 1] = { "irq", "softirq", "workqueue",
							       "sched" };

u32 kwork_parse_classes(const char *text, u32 standard, struct diag *d)
{
	u32 ret = 0;
	if (!text)
		return standard;
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ", ");
		u32 bit = 0;
		for (size_t i = 0; i < ARRAY_SIZE(class_names); i++)
			if (strlen(class_names[i]) == len && !memcmp(at, class_names[i], len))
				bit = 1u << i;
		if (!bit && len) {
			diag_error(d, -EINVAL, "unknown kind of work '%.*s'", (int)len, at);
			diag_hint(d, "kinds: irq, softirq, workqueue, sched");
			return 0;
		}
		ret |= bit;
		at += len + (at[len] != '\0');
	}
	if (!ret)
		diag_error(d, -EINVAL, "no kind of work given");
	return ret;
}

/* Of the tables of work, which have no rows for tasks. */
static u32 parse_work(const char *text, struct diag *d)
{
	u32 classes = kwork_parse_classes(text, KWORK_WORK, d);
	if (!(classes & 1u << KWORK_SCHED))
		return classes;
	diag_error(d, -EINVAL, "-k sched: tasks are not in this table");
	diag_hint(d, "'kwork top' shows the CPU usage of tasks");
	return 0;
}

struct sort_key {
	const char *name;
	enum kwork_key key;
};

static const struct sort_key report_keys[KEYS_MAX] = { { "runtime", KWORK_RUNTIME },
						       { "max", KWORK_MAX },
						       { "count", KWORK_COUNT } };
static const struct sort_key latency_keys[KEYS_MAX] = { { "avg", KWORK_DELAY_AVG },
							{ "max", KWORK_DELAY_MAX },
							{ "count", KWORK_DELAY_COUNT } };

static int find_key(const struct sort_key *known, const char *name, size_t len)
{
	for (int i = 0; i < KEYS_MAX; i++)
		if (strlen(known[i].name) == len && !memcmp(known[i].name, name, len))
			return i;
	return -1;
}

/* Keys that are not named come after those that are, as with perf. */
static int parse_keys(const char *text, const struct sort_key *known, enum kwork_key keys[KEYS_MAX],
		      struct diag *d)
{
	bool used[KEYS_MAX] = { false };
	u32 nr = 0;
	for (const char *at = text; at && *at;) {
		size_t len = strcspn(at, ", ");
		int i = find_key(known, at, len);
		if (i < 0) {
			diag_error(d, -EINVAL, "-s: unknown key '%.*s'", (int)len, at);
			diag_hint(d, "keys: %s, %s, %s", known[0].name, known[1].name,
				  known[2].name);
			return -EINVAL;
		}
		if (!used[i])
			keys[nr++] = known[i].key;
		used[i] = true;
		at += len + (at[len] != '\0');
	}
	for (int i = 0; i < KEYS_MAX; i++)
		if (!used[i])
			keys[nr++] = known[i].key;
	return 0;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static void put_span(struct json *j, const char *prefix, const struct kwork_span *s)
{
	struct strbuf key;
	strbuf_init(&key);
	strbuf_printf(&key, "max_%s_ns", prefix);
	json_put_u64(j, strbuf_cstr(&key), s->end_ns - s->start_ns);
	strbuf_reset(&key);
	strbuf_printf(&key, "max_%s_start_ns", prefix);
	json_put_u64(j, strbuf_cstr(&key), s->start_ns);
	strbuf_done(&key);
}

static void put_name(struct json *j, const struct kwork_row *r)
{
	struct strbuf name;
	strbuf_init(&name);
	text_kwork_name(r, &name);
	json_put_str(j, "kind", class_names[r->class]);
	json_put_str(j, "name", strbuf_cstr(&name));
	json_put_s64(j, "cpu", r->cpu);
	strbuf_done(&name);
}

static void put_row(struct json *j, const struct kwork_row *r)
{
	json_object(j);
	put_name(j, r);
	json_put_u64(j, "runs", r->nr_runs);
	json_put_u64(j, "runtime_ns", r->run_ns);
	put_span(j, "runtime", &r->longest_run);
	json_put_u64(j, "delays", r->nr_delays);
	json_put_u64(j, "delay_ns", r->delay_ns);
	put_span(j, "delay", &r->longest_delay);
	json_object_end(j);
}

static void put_one(struct json *j, const struct kwork_row *r, const struct kwork_one *one)
{
	json_object(j);
	put_name(j, r);
	json_put_u64(j, "start_ns", one->run.start_ns);
	json_put_u64(j, "runtime_ns", one->run.end_ns - one->run.start_ns);
	if (one->has_delay)
		json_put_u64(j, "delay_ns", one->delay_ns);
	json_object_end(j);
}

static int print_json(struct app *app, const struct kwork_run *r, bool list)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "runs", r->totals.nr_runs);
	json_put_u64(&j, "runtime_ns", r->totals.run_ns);
	json_put_u64(&j, "span_ns", r->totals.last_ns - r->totals.first_ns);
	json_put_u64(&j, "unmatched_raises", r->totals.nr_raises);
	json_put_u64(&j, "unmatched_entries", r->totals.nr_entries);
	json_put_u64(&j, "unmatched_exits", r->totals.nr_exits);
	json_put_u64(&j, "lost", r->nr_lost);
	json_key(&j, list ? "list" : "work");
	json_array(&j);
	for (size_t i = 0; list && i < r->nr_each; i++)
		if (r->shown[r->each[i].row])
			put_one(&j, &r->all[r->each[i].row], &r->each[i]);
	for (size_t i = 0; !list && i < r->nr; i++)
		put_row(&j, &r->rows[i]);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

/* ---- text ---------------------------------------------------------------------------------------------------------- */

static void print_table(struct app *app, const struct kwork_opts *o, const struct kwork_run *r,
			enum text_kwork_table table)
{
	struct kwork_totals t = r->totals;
	/* Where delays are asked for, an end is nobody's business, and the other way round. */
	if (table == TEXT_KWORK_RUNS)
		t.nr_raises = 0;
	else
		t.nr_exits = t.nr_entries = 0;
	text_kwork_head(table, &app->out);
	for (size_t i = 0; i < r->nr; i++)
		if (table == TEXT_KWORK_RUNS ? r->rows[i].nr_runs : r->rows[i].nr_delays)
			text_kwork_row(&r->rows[i], table, &app->out);
	text_kwork_end(&t, o->summary, &app->out);
}

static void print_list(struct app *app, const struct kwork_run *r)
{
	text_kwork_list_head(&app->out);
	for (size_t i = 0; i < r->nr_each; i++)
		if (r->shown[r->each[i].row])
			text_kwork_list_row(&r->all[r->each[i].row], &r->each[i], &app->out);
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

int kwork_choose(void *ctx, const struct source *src, struct choose *c)
{
	const struct kwork_choosing *k = ctx;
	return choose_parse(c, k->opts, src, k->diag);
}

static void report_missed(struct app *app, const struct kwork_opts *o, const struct kwork_run *r)
{
	unsigned long long lost = r->nr_lost;
	if (!r->totals.nr_events) {
		diag_warn(&app->diag, "no %s events in the recording",
			  o->classes ? o->classes : "interrupt or work queue");
		diag_hint(&app->diag, "record them with 'kwork record -- COMMAND'");
	}
	if (lost)
		diag_warn(&app->diag, "%llu %s lost: runs around the gaps are missing", lost,
			  str_plural(lost, "record was", "records were"));
}

enum kwork_verb { VERB_REPORT, VERB_LATENCY, VERB_TIMEHIST };

static int analyse(struct app *app, const struct kwork_opts *o, enum kwork_verb verb, int argc,
		   char **argv)
{
	struct kwork_choosing choosing = { &o->choose, &app->diag };
	enum kwork_key keys[KEYS_MAX];
	struct kwork_run r;
	app->diag.recorder = "kwork record -- COMMAND";
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	struct kwork_run_opts ro = { .input = argc ? argv[0] : o->input,
				     .symbols = o->symbols,
				     .classes = parse_work(o->classes, &app->diag),
				     .name = o->name,
				     .keep_runs = verb == VERB_TIMEHIST,
				     .choose = kwork_choose,
				     .ctx = &choosing };
	if (!ro.classes || parse_keys(o->sort, verb == VERB_LATENCY ? latency_keys : report_keys,
				      keys, &app->diag))
		return app_usage_said(app);
	int status = choose_check(&o->choose, app);
	if (status)
		return status;
	int err = kwork_run(&r, app_symbols(app), &ro);
	if (!err) {
		kwork_sort(r.rows, r.nr, keys, KEYS_MAX);
		report_missed(app, o, &r);
		if (app->json)
			err = print_json(app, &r, verb == VERB_TIMEHIST);
		else if (verb == VERB_TIMEHIST)
			print_list(app, &r);
		else
			print_table(app, o, &r,
				    verb == VERB_LATENCY ? TEXT_KWORK_DELAYS : TEXT_KWORK_RUNS);
	}
	kwork_run_done(&r);
	return err ? app_fail(app, err) : APP_DONE;
}

static int run_report(struct app *app, void *opts, int argc, char **argv)
{
	return analyse(app, opts, VERB_REPORT, argc, argv);
}

static int run_latency(struct app *app, void *opts, int argc, char **argv)
{
	return analyse(app, opts, VERB_LATENCY, argc, argv);
}

static int run_timehist(struct app *app, void *opts, int argc, char **argv)
{
	return analyse(app, opts, VERB_TIMEHIST, argc, argv);
}

/* ---- recording ------------------------------------------------------------------------------------------------------ */

static const char *const events_of[KWORK_NR_CLASSES + 1][4] = {
	[KWORK_IRQ] = { "irq:irq_handler_entry", "irq:irq_handler_exit" },
	[KWORK_SOFTIRQ] = { "irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit" },
	[KWORK_WORKQUEUE] = { "workqueue:workqueue_activate_work",
			      "workqueue:workqueue_execute_start",
			      "workqueue:workqueue_execute_end" },
	[KWORK_SCHED] = { "sched:sched_switch" },
};

static int run_record(struct app *app, void *opts, int argc, char **argv)
{
	struct kwork_opts *o = opts;
	const char *events[(KWORK_NR_CLASSES + 1) * 4 + 1] = { NULL };
	u32 nr = 0, classes = kwork_parse_classes(o->classes, KWORK_WORK, &app->diag);
	if (!classes)
		return app_usage_said(app);
	for (int c = 0; c <= KWORK_NR_CLASSES; c++)
		for (int i = 0; i < 4 && classes >> c & 1; i++)
			if (events_of[c][i])
				events[nr++] = events_of[c][i];
	return record_run_preset(app, &o->record,
				 &(struct record_preset){ .events = events, .system_wide = true },
				 argc, argv);
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define T struct kwork_opts
#define CHOOSE_ROWS                                                                                                   \
	OPT_STR('n', "name", T, name, "NAME", "Only work with this name: NET_RX, a function"),                        \
	KWORK_CPU_TIME_ROWS,                                                                                          \
	OPT_STR(0, "vmlinux", T, symbols.vmlinux, "FILE", "Kernel image"),                                            \
	OPT_STR(0, "kallsyms", T, symbols.kallsyms, "FILE", "Kernel symbols from a copy of /proc/kallsyms")
#define RECORD_KINDS_ROW(short_name) OPT_STR(short_name, "kwork", T, classes, "LIST", "Kinds of work: irq, softirq, workqueue (default: these three), sched")
#define KINDS_ROW(short_name) OPT_STR(short_name, "kwork", T, classes, "LIST", "Kinds of work: irq, softirq, workqueue (all)")

static const struct opt kwork_rows[] = {
	RECORD_KINDS_ROW('k'),
	KWORK_INPUT_ROWS,
	OPT_END(),
};
static const struct opt kwork_record_rows[] = {
	RECORD_KINDS_ROW(0),
	OPT_END(),
};
static const struct opt report_rows[] = {
	KINDS_ROW('k'),
	KWORK_INPUT_ROWS,
	OPT_STR('s', "sort", T, sort, "KEYS", "Sort by runtime, max, count (default, in this order)"),
	OPT_FLAG('S', "with-summary", T, summary, "Add the sums over all rows"),
	CHOOSE_ROWS,
	OPT_END(),
};
static const struct opt latency_rows[] = {
	KINDS_ROW('k'),
	KWORK_INPUT_ROWS,
	OPT_STR('s', "sort", T, sort, "KEYS", "Sort by avg, max, count (default, in this order)"),
	CHOOSE_ROWS,
	OPT_END(),
};
static const struct opt timehist_rows[] = {
	KINDS_ROW(0),
	KWORK_INPUT_ROWS,
	CHOOSE_ROWS,
	OPT_FLAG('g', "call-graph", T, graph, "Call chains of these events are not printed: use 'script'", .refused = true),
	OPT_END(),
};
#undef T
/* clang-format on */

/* ---- commands ------------------------------------------------------------------------------------------------------- */

static const struct opt_example record_examples[] = {
	{ "kwork record -- sleep 5", "what the kernel does besides tasks for five seconds" },
	{ "kwork record --kwork irq -- sleep 5", "interrupts only" },
	{ "kwork record --kwork sched,irq,softirq -- sleep 5", "what `kwork top` reads" },
	{ 0 },
};
static const struct opt_example report_examples[] = {
	{ "kwork report -S", "what runs longest, and its share of the time" },
	{ "kwork report -k softirq -s max", "softirqs by their longest run" },
	{ 0 },
};
static const struct opt_example latency_examples[] = {
	{ "kwork latency", "what waited longest before it ran" },
	{ "kwork latency -n NET_RX -C 0", "received packets on CPU 0" },
	{ 0 },
};
static const struct opt_example timehist_examples[] = {
	{ "kwork timehist", "every run, with its delay" },
	{ "kwork timehist --kwork irq --time 10%/1", "interrupts in the first tenth" },
	{ 0 },
};

static const struct command command_kwork_record = {
	.name = "record",
	.summary = "record interrupts, softirqs and work items on all CPUs",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Takes all options of `sonde record`, where -k means something else: write "
		 "'kwork -k irq record' or 'kwork record --kwork irq'.",
	.examples = record_examples,
	.opts = kwork_record_rows,
	.opts_size = sizeof(struct kwork_opts),
	.same_opts = true,
	.takes = &command_record,
	.takes_at = offsetof(struct kwork_opts, record),
	.run = run_record,
};

static const struct command command_kwork_report = {
	.name = "report",
	.summary = "run time by work and CPU",
	.usage = "[OPTIONS] [FILE]",
	.about = "A run goes from the entry of a handler or work item to its exit. Entries and "
		 "exits without a counterpart are counted below the table.",
	.examples = report_examples,
	.opts = report_rows,
	.opts_size = sizeof(struct kwork_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = run_report,
};

static const struct command command_kwork_latency = {
	.name = "latency",
	.summary = "delay between becoming pending and running, by work and CPU",
	.usage = "[OPTIONS] [FILE]",
	.about = "The delay goes from the first time that a softirq was raised, or a work item "
		 "activated, to its start. Interrupts have none: no event shows when they were "
		 "raised.",
	.examples = latency_examples,
	.opts = latency_rows,
	.opts_size = sizeof(struct kwork_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = run_latency,
};

static const struct command command_kwork_timehist = {
	.name = "timehist",
	.summary = "every run, with its delay",
	.usage = "[OPTIONS] [FILE]",
	.examples = timehist_examples,
	.opts = timehist_rows,
	.opts_size = sizeof(struct kwork_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = run_timehist,
};

static const struct command *const subs[] = {
	&command_kwork_record,	 &command_kwork_report, &command_kwork_latency,
	&command_kwork_timehist, &command_kwork_top,	NULL,
};

static const struct opt_example examples[] = {
	{ "kwork record -- sleep 5", "record what the kernel does besides tasks" },
	{ "kwork report -S", "what runs longest" },
	{ "kwork latency", "what waited longest before it ran" },
	{ "kwork top", "CPU usage of tasks, interrupts and softirqs" },
	{ 0 },
};

const struct command command_kwork = {
	.name = "kwork",
	.group = "Why",
	.summary = "interrupts, softirqs and work queues: run times, delays, CPU usage",
	.usage = "[OPTIONS] COMMAND",
	.about =
		"Reads a perf.data of 'kwork record' (sonde's or perf's), or a trace.dat with irq, "
		"workqueue and sched events.",
	.examples = examples,
	.opts = kwork_rows,
	.opts_size = sizeof(struct kwork_opts),
	.defaults = kwork_defaults,
	.subs = subs,
};
