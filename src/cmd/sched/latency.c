/* `sonde sched latency`: how long threads waited for a CPU, in the layout of perf sched latency. */
#include "cmd/sched/sched.h"

#include "analysis/sched_latency.h"
#include "base/json.h"
#include "cmd/app/commands.h"
#include "stream/run.h"

#include <errno.h>
#include <string.h>

enum { NAME_WIDTH = 24, TOP_RULE = 139, TOTAL_RULE = 113, LAST_RULE = 51 };

static const char *const key_names[SCHED_NR_KEYS] = {
	[SCHED_BY_AVG] = "avg",		[SCHED_BY_MAX] = "max", [SCHED_BY_SWITCHES] = "switch",
	[SCHED_BY_RUNTIME] = "runtime", [SCHED_BY_PID] = "pid",
};
static const char default_sort[] = "avg,max,switch,runtime";

/* "avg,max": what is longer than all keys repeats itself. */
static int parse_keys(const char *text, enum sched_latency_key keys[SCHED_NR_KEYS], u32 *nr,
		      struct diag *d)
{
	*nr = 0;
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ", ");
		int key = -1;
		for (int i = 0; i < SCHED_NR_KEYS; i++)
			if (strlen(key_names[i]) == len && !strncmp(key_names[i], at, len))
				key = i;
		if (len && key < 0) {
			(void)diag_error(d, -EINVAL, "unknown sort key '%.*s'", (int)len, at);
			diag_hint(d, "sort keys are avg, max, switch, runtime and pid");
			return -EINVAL;
		}
		if (len && *nr < SCHED_NR_KEYS)
			keys[(*nr)++] = (enum sched_latency_key)key;
		at += len + (at[len] != '\0');
	}
	return *nr ? 0 : diag_error(d, -EINVAL, "-s needs a sort key");
}

static void add_rule(struct strbuf *to, size_t len)
{
	strbuf_char(to, ' ');
	strbuf_fill(to, '-', len);
	strbuf_char(to, '\n');
}

static void add_seconds(struct strbuf *to, u64 ns)
{
	strbuf_printf(to, "%5llu.%06llu", (unsigned long long)(ns / 1000000000),
		      (unsigned long long)(ns % 1000000000 / 1000));
}

static void add_row(const struct thread_states *ts, const struct sched_latency_row *r,
		    struct strbuf *to)
{
	struct strbuf name;
	strbuf_init(&name);
	name.screen = to->screen;
	strbuf_str(&name, "  ");
	printable_name(&name, thread_comm(ts, r->thread));
	if (r->nr_threads > 1)
		strbuf_printf(&name, ":(%u) ", r->nr_threads);
	else
		strbuf_printf(&name, ":%d ", thread_at(ts, r->thread)->tid);
	strbuf_left(to, strbuf_cstr(&name), NAME_WIDTH);
	strbuf_done(&name);
	u64 average_ns = r->total_ns / r->nr;
	strbuf_printf(to, "|%11.3f ms |%9llu | avg:%8.3f ms | max:%8.3f ms | max start: ",
		      (double)r->runtime_ns / 1e6, (unsigned long long)r->nr,
		      (double)average_ns / 1e6, (double)r->max_ns / 1e6);
	add_seconds(to, r->max_from_ns);
	strbuf_str(to, " s | max end: ");
	add_seconds(to, r->max_to_ns);
	strbuf_str(to, " s\n");
}

/* What did not fit together: lines that perf has below the table. */
static void add_bad(const struct thread_states *ts, const struct source *src, struct strbuf *to)
{
	const struct thread_states_totals *t = thread_states_totals(ts);
	typedef unsigned long long ull;
	u64 lost = src->catalog.nr_lost, stamps = t->nr_wakes + t->nr_switches;
	if (t->nr_unordered && stamps)
		strbuf_printf(to, "  INFO: %.3f%% unordered timestamps (%llu out of %llu)\n",
			      (double)t->nr_unordered / (double)stamps * 100, (ull)t->nr_unordered,
			      (ull)stamps);
	if (lost && t->nr_events)
		strbuf_printf(to, "  INFO: %.3f%% lost events (%llu out of %llu, in %llu chunks)\n",
			      (double)lost / (double)t->nr_events * 100, (ull)lost,
			      (ull)t->nr_events, (ull)src->catalog.nr_lost_events);
	if (t->nr_bugs && t->nr_switches)
		strbuf_printf(to, "  INFO: %.3f%% context switch bugs (%llu out of %llu)%s\n",
			      (double)t->nr_bugs / (double)t->nr_switches * 100, (ull)t->nr_bugs,
			      (ull)t->nr_switches, lost ? " (due to lost events?)" : "");
}

static void print_text(const struct sched_latency *l, const struct thread_states *ts,
		       const struct source *src, struct strbuf *to)
{
	size_t nr;
	const struct sched_latency_row *rows = sched_latency_rows(l, &nr);
	u64 runtime_ns = 0, switches = 0;
	strbuf_char(to, '\n');
	add_rule(to, TOP_RULE);
	strbuf_str(to, "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max "
		       "delay ms    | Max delay start           | Max delay end          |\n");
	add_rule(to, TOP_RULE);
	for (size_t i = 0; i < nr; i++) {
		add_row(ts, &rows[i], to);
		runtime_ns += rows[i].runtime_ns;
		switches += rows[i].nr;
	}
	add_rule(to, TOTAL_RULE);
	strbuf_printf(to, "  TOTAL:                |%11.3f ms |%9llu |\n", (double)runtime_ns / 1e6,
		      (unsigned long long)switches);
	add_rule(to, LAST_RULE);
	add_bad(ts, src, to);
	strbuf_char(to, '\n');
}

static int print_json(const struct sched_latency *l, const struct thread_states *ts,
		      const struct source *src, struct strbuf *to)
{
	size_t nr;
	const struct sched_latency_row *rows = sched_latency_rows(l, &nr);
	const struct thread_states_totals *t = thread_states_totals(ts);
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_key(&j, "tasks");
	json_array(&j);
	for (size_t i = 0; i < nr; i++) {
		const struct sched_latency_row *r = &rows[i];
		json_object(&j);
		json_put_str(&j, "comm", thread_comm(ts, r->thread));
		if (r->nr_threads == 1)
			json_put_s64(&j, "tid", thread_at(ts, r->thread)->tid);
		json_put_u64(&j, "threads", r->nr_threads);
		json_put_u64(&j, "runtime_ns", r->runtime_ns);
		json_put_u64(&j, "switches", r->nr);
		json_put_u64(&j, "delay_ns", r->total_ns);
		json_put_u64(&j, "avg_delay_ns", r->total_ns / r->nr);
		json_put_u64(&j, "max_delay_ns", r->max_ns);
		json_put_u64(&j, "max_delay_start_ns", r->max_from_ns);
		json_put_u64(&j, "max_delay_end_ns", r->max_to_ns);
		json_put_u64(&j, "lossy_ns", r->lossy_ns);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_put_u64(&j, "events", t->nr_events);
	json_put_u64(&j, "lost", src->catalog.nr_lost);
	json_put_u64(&j, "unordered", t->nr_unordered);
	json_put_u64(&j, "switch_bugs", t->nr_bugs);
	json_object_end(&j);
	return json_end(&j);
}

static int latency(struct app *app, const struct sched_opts *o, const struct sched_latency_opts *lo)
{
	struct source *src;
	struct run_tables tables = { 0 };
	int err = sched_open(app, o, &src);
	if (err)
		return err;
	struct sched_latency *l = sched_latency_new(lo);
	struct thread_states *ts = l ? sched_latency_states(l) : NULL;
	err = ts ? stream_run(src, thread_states_sink(ts, false), 1, &tables, &app->diag) : -ENOMEM;
	run_tables_done(&tables);
	if (!err)
		err = sched_latency_finish(l);
	if (!err && app->json)
		err = print_json(l, ts, src, &app->out);
	else if (!err)
		print_text(l, ts, src, &app->out);
	if (!err && !app->dialect->quiet_notes)
		sched_warn_losses(app, ts, src);
	sched_latency_free(l);
	src->ops->close(src);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct sched_opts *o = opts;
	enum sched_latency_key keys[SCHED_NR_KEYS];
	struct sched_latency_opts lo = { .cpu = o->cpu, .per_pid = o->per_pid, .keys = keys };
	int status = sched_take_input(app, o, argc, argv);
	if (status)
		return status;
	if (parse_keys(o->sort ? o->sort : default_sort, keys, &lo.nr_keys, &app->diag))
		return app_usage_said(app);
	int err = latency(app, o, &lo);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt rows[] = {
	SCHED_INPUT_ROWS,
	OPT_STR('s', "sort", struct sched_opts, sort, "KEYS",
		"sort by avg, max, switch, runtime or pid; several separated by commas (avg,max,"
		"switch,runtime)"),
	OPT_INT('C', "CPU", struct sched_opts, cpu, "CPU", "only delays before running on this CPU"),
	OPT_FLAG('p', "pids", struct sched_opts, per_pid,
		 "one row per thread instead of one per name"),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "sched latency", "who waited for a CPU longest, on average" },
	{ "sched latency -p -s max", "each thread, the longest delay first" },
	{ "sched latency -i trace.dat", "from a recording of ftrace" },
	{ 0 },
};

const struct command command_sched_latency = {
	.name = "latency",
	.summary = "show how long threads waited for a CPU",
	.usage = "[OPTIONS] [FILE]",
	.about = "A delay lasts from the moment a thread could have run (it was woken, created, or "
		 "preempted) until it did. Rows are tasks of one name, or single threads with -p. "
		 "Runtime is what the kernel accounted (sched_stat_runtime); without such events, "
		 "the time between switches.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct sched_opts),
	.defaults = sched_defaults,
	.mixed_words = true,
	.same_opts = true,
	.run = run,
};
