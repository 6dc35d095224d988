/* `sonde kwork top`: CPU usage of tasks, interrupts and softirqs over a recording, in the layout of perf 7's kwork top. */
#include "cmd/kwork/kwork.h"

#include "base/json.h"
#include "view/text_kwork.h"

#include <errno.h>
#include <string.h>

enum { KEYS_MAX = 3 };

static const char *const key_names[KEYS_MAX] = {
	[KWORK_TOP_RATE] = "rate", [KWORK_TOP_RUNTIME] = "runtime", [KWORK_TOP_TID] = "tid"
};

struct kwork_top_call {
	struct app *app;
	const struct kwork_opts *o;
	enum kwork_top_key keys[KEYS_MAX];
	u32 nr_keys;
	struct number_list tids;
};

static int parse_keys(struct kwork_top_call *c, const char *text)
{
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ", ");
		int key = -1;
		for (int i = 0; i < KEYS_MAX; i++)
			if (strlen(key_names[i]) == len && !memcmp(at, key_names[i], len))
				key = i;
		if (key < 0 && len) {
			diag_error(&c->app->diag, -EINVAL, "-s: unknown key '%.*s'", (int)len, at);
			diag_hint(&c->app->diag, "keys: rate, runtime, tid");
			return app_usage_said(c->app);
		}
		if (len && c->nr_keys < KEYS_MAX)
			c->keys[c->nr_keys++] = (enum kwork_top_key)key;
		at += len + (at[len] != '\0');
	}
	return 0;
}

static int parse_tids(struct kwork_top_call *c, const char *text)
{
	const char *at = text;
	size_t len;
	s32 tid;
	int more;
	while ((more = num_next_id(&at, &len, &tid)) > 0) {
		s32 *slot = vec_push(&c->tids.at);
		if (!slot)
			return app_fail(c->app, -ENOMEM);
		*slot = tid;
	}
	return more < 0 ? app_usage(c->app, "-t: invalid thread ID list '%s'", text) : 0;
}

/* ---- printing ---- */

static bool task_wanted(const struct kwork_top_call *c, const struct kwork_task *t)
{
	bool among = !c->o->tids;
	for (size_t i = 0; i < c->tids.at.nr && !among; i++)
		among = c->tids.at.at[i] == t->tid;
	return among && (!c->o->name || !strcmp(c->o->name, t->name));
}

static void print_text(const struct kwork_top_call *c, const struct kwork_top_run *r)
{
	struct strbuf *to = &c->app->out;
	text_kwork_cpus(r->cpus, r->nr_cpus, to);
	text_kwork_task_head(to);
	for (size_t i = 0; i < r->nr_tasks; i++)
		if (task_wanted(c, &r->tasks[i]))
			text_kwork_task(&r->tasks[i], to);
	strbuf_char(to, '\n');
}

static void put_cpu(struct json *j, const struct kwork_cpu_time *c)
{
	json_object(j);
	json_put_s64(j, "cpu", c->cpu);
	json_put_u64(j, "load_ns", c->load_ns);
	json_put_u64(j, "idle_ns", c->idle_ns);
	json_put_u64(j, "irq_ns", c->irq_ns);
	json_put_u64(j, "softirq_ns", c->softirq_ns);
	json_object_end(j);
}

static void put_task(struct json *j, const struct kwork_task *t)
{
	json_object(j);
	json_put_s64(j, "tid", t->tid);
	if (t->pid > 0)
		json_put_s64(j, "pid", t->pid);
	if (!t->tid)
		json_put_s64(j, "cpu", t->cpu);
	json_put_str(j, "comm", t->name);
	json_put_u64(j, "runtime_ns", t->run_ns);
	json_put_double(j, "cpu_percent", (double)t->rate / 100);
	json_put_u64(j, "lossy_ns", t->lossy_ns);
	json_object_end(j);
}

static int print_json(const struct kwork_top_call *c, const struct kwork_top_run *r)
{
	struct json j;
	json_begin(&j, &c->app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "span_ns", r->totals->last_ns - r->totals->first_ns);
	json_put_u64(&j, "switches", r->totals->nr_switches);
	json_put_u64(&j, "lost", r->nr_lost);
	json_key(&j, "cpus");
	json_array(&j);
	for (size_t i = 0; i < r->nr_cpus; i++)
		put_cpu(&j, &r->cpus[i]);
	json_array_end(&j);
	json_key(&j, "tasks");
	json_array(&j);
	for (size_t i = 0; i < r->nr_tasks; i++)
		if (task_wanted(c, &r->tasks[i]))
			put_task(&j, &r->tasks[i]);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

/* ---- running ---- */

static int check_switches(const struct kwork_top_call *c, const struct kwork_top_run *r,
			  const char *input)
{
	struct diag *d = &c->app->diag;
	unsigned long long lost = r->nr_lost;
	if (!r->totals->nr_switches) {
		diag_error(d, -ENODATA, "%s has no sched:sched_switch events", input);
		diag_hint(d,
			  "'kwork -k sched,irq,softirq record -- COMMAND' records what top reads");
		return -ENODATA;
	}
	if (lost)
		diag_warn(d, "%llu %s lost: times around the gaps are not exact", lost,
			  str_plural(lost, "record was", "records were"));
	return 0;
}

static int show(struct kwork_top_call *c, const char *input)
{
	struct app *app = c->app;
	struct kwork_choosing choosing = { &c->o->choose, &app->diag };
	struct kwork_top_run r;
	struct kwork_run_opts ro = {
		.input = input, .symbols = c->o->symbols, .choose = kwork_choose, .ctx = &choosing
	};
	ro.classes = kwork_parse_classes(c->o->classes, KWORK_WORK | 1u << KWORK_SCHED, &app->diag);
	if (!ro.classes)
		return app_usage_said(app);
	if (!(ro.classes & 1u << KWORK_SCHED))
		return app_usage(app, "-k: top needs sched");
	app->diag.recorder = "kwork -k sched,irq,softirq record -- COMMAND";
	int err = kwork_top_run(&r, app_symbols(app), &ro);
	if (!err)
		err = check_switches(c, &r, input);
	if (!err) {
		kwork_top_sort(r.tasks, r.nr_tasks, c->keys, c->nr_keys);
		if (app->json)
			err = print_json(c, &r);
		else
			print_text(c, &r);
	}
	kwork_top_run_done(&r);
	return err ? app_fail(app, err) : APP_DONE;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct kwork_top_call c = { .app = app, .o = opts };
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	int status = choose_check(&c.o->choose, app);
	if (!status)
		status = parse_keys(&c, c.o->sort ? c.o->sort : "rate,runtime");
	if (!status && c.o->tids)
		status = parse_tids(&c, c.o->tids);
	if (!status)
		status = show(&c, argc ? argv[0] : c.o->input);
	vec_free(&c.tids.at);
	return status;
}

/* clang-format off */
#define T struct kwork_opts
static const struct opt rows[] = {
	KWORK_INPUT_ROWS,
	OPT_STR('k', "kwork", T, classes, "LIST", "Kinds of work: sched, irq, softirq (all); the time of a kind that is left out counts for the task"),
	OPT_STR('s', "sort", T, sort, "KEYS", "Sort by rate, runtime (default, in this order), tid"),
	OPT_STR('n', "name", T, name, "NAME", "Only tasks with this name; totals include all tasks"),
	OPT_STR('t', "tid", T, tids, "LIST", "Only these threads; totals include all tasks"),
	KWORK_CPU_TIME_ROWS,
	OPT_FLAG('b', "use-bpf", T, bpf, "No counting in the kernel: use 'who -b -d 5 -n 1' for CPU usage without a recording", .refused = true),
	OPT_END(),
};
#undef T
/* clang-format on */

static const struct opt_example examples[] = {
	{ "kwork top", "which tasks used the CPUs" },
	{ "kwork top -C 0 -s runtime", "of one CPU" },
	{ "kwork top --time 10%/2 -n make", "one task, in the second tenth of the recording" },
	{ 0 },
};

const struct command command_kwork_top = {
	.name = "top",
	.summary = "CPU usage of tasks, interrupts and softirqs",
	.usage = "[OPTIONS] [FILE]",
	.about = "Reads sched_switch and, where they were recorded, the entries and exits of "
		 "interrupts and softirqs: id is idle time, hi and si are interrupts and softirqs, "
		 "which are charged to no task. A bar shows the share of tasks that are not idle. "
		 "Percentages are of one CPU. "
		 "Record with 'kwork -k sched,irq,softirq record'.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct kwork_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = run,
};
