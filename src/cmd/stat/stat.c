/* sonde stat: counts events of a command, of processes, of CPUs or cgroups, as perf stat does. */
#include "cmd/stat/stat.h"

#include "cmd/app/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SHORT_MS = 10 }; /* below it our own work shows in the counts */

/* ---- options ---------------------------------------------------------------------------------------------------- */

static int add_word(void *opts, enum stat_word_kind kind, const char *text)
{
	struct stat_word *w = vec_push(&((struct stat_opts *)opts)->words.list);
	if (!w)
		return -ENOMEM;
	*w = (struct stat_word){ .kind = kind, .text = text };
	return 0;
}

static int take_event(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return add_word(opts, STAT_WORD_EVENT, value);
}

static bool has_events(const struct stat_opts *o)
{
	vec_for_each (&o->words.list, w)
		if (w->kind == STAT_WORD_EVENT)
			return true;
	return false;
}

static int take_filter(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	if (!has_events(opts))
		return diag_error(d, -EINVAL, "--filter must follow the -e it applies to");
	return add_word(opts, STAT_WORD_FILTER, value);
}

static int take_cgroup(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return add_word(opts, STAT_WORD_CGROUP, value);
}

/* --no-metric-only is for --topdown, which shows nothing else by itself. */
static int take_metric_only(void *opts, const char *value, bool negated, struct diag *d)
{
	struct stat_opts *o = opts;
	(void)value;
	(void)d;
	o->metric_only = !negated;
	o->metric_only_given = true;
	return 0;
}

static int check_options(const struct stat_opts *o, int argc, struct diag *d)
{
	bool repeats = o->repeat != 1;
	if (o->separator && o->json)
		return diag_error(d, -EINVAL, "-x and -j are mutually exclusive");
	if (o->table && !repeats)
		return diag_error(d, -EINVAL, "--table needs -r N");
	if (o->metric_only && repeats)
		return diag_error(d, -EINVAL, "--metric-only cannot be combined with -r");
	if (o->interval_count && !o->interval_ms)
		return diag_error(d, -EINVAL, "--interval-count needs -I MS");
	if (o->timeout_ms && o->interval_ms)
		return diag_error(d, -EINVAL,
				  "--timeout cannot be combined with -I: use --interval-count");
	if (repeats && !argc)
		return diag_error(d, -EINVAL, "-r needs a command to repeat");
	if (o->record && repeats)
		return diag_error(d, -EINVAL,
				  "-r cannot be combined with 'stat record': it records one run");
	if (o->record && (o->append || o->log_fd_given))
		return diag_error(d, -EINVAL,
				  "%s cannot be combined with 'stat record': -o names its file",
				  o->append ? "--append" : "--log-fd");
	if (o->append && !o->output)
		return diag_error(d, -EINVAL, "--append needs -o FILE");
	if (o->output && o->log_fd_given)
		return diag_error(d, -EINVAL, "-o and --log-fd are mutually exclusive");
	if (o->interval_ms && o->interval_ms < SHORT_MS)
		diag_warn(d, "-I %llu: below 10 ms, reading the counters itself affects the counts",
			  (unsigned long long)o->interval_ms);
	return 0;
}

static int make_room(struct stat_session *s)
{
	size_t nr = max(s->plan.counters.nr * s->plan.slots.nr, (size_t)1);
	s->now = calloc(nr, sizeof(*s->now));
	s->before = calloc(nr, sizeof(*s->before));
	s->delta = calloc(nr, sizeof(*s->delta));
	if (!s->now || !s->before || !s->delta)
		return -ENOMEM;
	int err = stat_open(&s->acc, &s->plan.spec);
	return err ? err : stat_open(&s->total, &s->plan.spec);
}

static int stat_session(struct app *app, struct stat_session *s)
{
	struct diag *d = &app->diag;
	int err = check_options(s->o, s->argc, d);
	if (err)
		return app_usage_said(app);
	err = sysroot_open(&s->root, NULL);
	if (!err)
		err = stat_plan_init(&s->plan, s->o);
	if (!err)
		err = stat_plan_make(&s->plan, &s->root, s->argc, s->argv, d);
	if (err == -EINVAL)
		return app_usage_said(app);
	if (!err && s->argc) {
		err = child_check(s->argv[0], d);
		if (err)
			return child_exec_status(err);
	}
	if (!err)
		err = stat_print_open(s, d);
	if (!err)
		err = make_room(s);
	if (!err)
		err = stat_run_watch(s);
	if (!err)
		run_probes_watch(&s->plan.probes, &s->plan.list);
	if (!err)
		err = stat_run_all(s);
	if (!err)
		run_probes_report(&s->plan.probes, &s->plan.list, d);
	if (err)
		return s->run.exec_failed ? child_exec_status(err) : app_fail(app, err);
	app->die_of = s->run.signal;
	bool own = s->argc && !s->run.signal && !s->run.was_ended;
	return own ? child_exit_status(s->run.wait_status) : APP_DONE;
}

static int stat_run(struct app *app, void *opts, int argc, char **argv)
{
	struct stat_opts *o = opts;
	struct stat_session s = { .tell = app_tell(app),
				  .o = o,
				  .argc = argc,
				  .argv = argv,
				  .root = { .dir_fd = -1 },
				  .run = COMMAND_RUN_NONE };
	o->json |= app->json;
	o->metric_only |= o->topdown && !o->metric_only_given;
	strbuf_init(&s.out);
	app_live(app);
	int status = stat_session(app, &s);
	stat_run_end(&s);
	stat_record_close(&s);
	command_run_close(&s.run);
	stat_close(&s.acc);
	stat_close(&s.total);
	free(s.now);
	free(s.before);
	free(s.delta);
	vec_free(&s.elapsed.list);
	strbuf_done(&s.out);
	(void)!printable_end(&s.screen, s.out_fd, 0);
	if (s.close_out && close(s.out_fd) && !status) {
		diag_error(&app->diag, -errno, "cannot write '%s': %s", o->output, strerror(errno));
		status = APP_FAILED;
	}
	if (s.plan.opts)
		stat_plan_done(&s.plan);
	sysroot_close(&s.root);
	vec_free(&o->words.list);
	return status;
}

static int stat_run_recording(struct app *app, void *opts, int argc, char **argv)
{
	((struct stat_opts *)opts)->record = true;
	return stat_run(app, opts, argc, argv);
}

const struct stat_labels stat_option_names = {
	.by = { [STAT_BY_CPU] = "-A",
		[STAT_BY_CORE] = "--per-core",
		[STAT_BY_DIE] = "--per-die",
		[STAT_BY_SOCKET] = "--per-socket",
		[STAT_BY_NODE] = "--per-node",
		[STAT_BY_THREAD] = "--per-thread" },
	.all = "-a",
	.cpus = "-C",
	.pids = "-p",
	.tids = "-t",
	.metric = "-M",
	.metric_file = "--metrics",
	.metric_only = "--metric-only",
	.transaction = "-T",
	.topdown = "--topdown",
	.td_level = "--td-level",
	.pre = "--pre",
	.post = "--post",
	.control = "--control",
	.log_fd = "--log-fd",
};

static void stat_defaults(void *opts)
{
	*(struct stat_opts *)opts = (struct stat_opts){
		.labels = &stat_option_names, .repeat = 1, .big_num = true, .scale = true
	};
}

/* clang-format off */
static const struct opt stat_rows[] = {
	OPT_HEADING("What to count"),
	OPT_CALL('e', "event", "EVENT", "Events, separated by commas; {a,b} is a group; see `sonde list`", take_event),
	OPT_CALL(0, "pfm-events", "EVENT", "Same as -e, which accepts libpfm names", take_event),
	OPT_CALL(0, "filter", "FILTER", "Filter for tracepoints of the preceding -e", take_filter),
	OPT_COUNT('d', "detailed", struct stat_opts, detailed, "Add cache events; repeat for more"),
	OPT_LIST('M', "metrics", struct stat_opts, metrics, "LIST|FILE", "Metrics and the events they need; or a file of lines NAME = EXPRESSION [; UNIT [; ABOUT]]"),
	OPT_FLAG('T', "transaction", struct stat_opts, transaction, "Transactions (Intel TSX): cycles in transactions, aborts"),
	OPT_FLAG(0, "topdown", struct stat_opts, topdown, "Pipeline slots: retiring, bad speculation, frontend bound, backend bound (Intel)"),
	OPT_UINT(0, "td-level", struct stat_opts, td_level, "N", "Level of detail of --topdown (default: the deepest the CPU supports)"),
	OPT_FLAG('n', "null", struct stat_opts, null_run, "No events: only the time"),
	OPT_FLAG(0, "all-user", struct stat_opts, only_user, "User space only"),
	OPT_FLAG(0, "all-kernel", struct stat_opts, only_kernel, "Kernel only"),
	OPT_FLAG('g', "group", struct stat_opts, group_all, "All events as one group"),
	OPT_HEADING("What to trace: tasks and CPUs"),
	OPT_FLAG('a', "all-cpus", struct stat_opts, all, "The whole system; with a command, while it runs"),
	OPT_STR('C', "cpu", struct stat_opts, cpus, "LIST", "These CPUs only (0-3,8)"),
	OPT_STR('p', "pid", struct stat_opts, pids, "PID", "Running processes with all their threads"),
	OPT_STR('t', "tid", struct stat_opts, tids, "TID", "Running threads"),
	OPT_FLAG('i', "no-inherit", struct stat_opts, no_inherit, "Exclude children and threads created later"),
	OPT_CALL('G', "cgroup", "NAMES", "Cgroup for each preceding event; a single name applies to all", take_cgroup),
	OPT_STR(0, "for-each-cgroup", struct stat_opts, each_cgroup, "NAMES", "Count all events once for each of these cgroups (names or patterns)"),
	OPT_HEADING("When"),
	OPT_UINT('I', "interval-print", struct stat_opts, interval_ms, "MS", "Print the counts of every interval of MS milliseconds"),
	OPT_UINT(0, "interval-count", struct stat_opts, interval_count, "N", "Stop after N intervals"),
	OPT_FLAG(0, "interval-clear", struct stat_opts, interval_clear, "Clear the screen before each interval"),
	OPT_UINT(0, "timeout", struct stat_opts, timeout_ms, "MS", "Stop after MS milliseconds"),
	OPT_INT('D', "delay", struct stat_opts, delay_ms, "MS", "Start MS milliseconds later; -1: wait for --control"),
	OPT_UINT('r', "repeat", struct stat_opts, repeat, "N", "Run the command N times and show mean and standard deviation; 0: until Ctrl-C"),
	OPT_STR(0, "pre", struct stat_opts, pre, "COMMAND", "Command to run before each run"),
	OPT_STR(0, "post", struct stat_opts, post, "COMMAND", "Command to run after each run"),
	OPT_FLAG('S', "sync", struct stat_opts, sync_first, "Call sync() before each run"),
	OPT_STR(0, "control", struct stat_opts, control, "fd:CTL[,ACK]", "Take commands (enable, disable, ping, stop) from a descriptor or fifo:PATH"),
	OPT_HEADING("Aggregation"),
	OPT_FLAG('A', "no-aggr", struct stat_opts, no_aggr, "None: one row per CPU"),
	OPT_FLAG(0, "per-core", struct stat_opts, per_core, "By core"),
	OPT_FLAG(0, "per-die", struct stat_opts, per_die, "Aggregate by die"),
	OPT_FLAG(0, "per-socket", struct stat_opts, per_socket, "Aggregate by socket"),
	OPT_FLAG(0, "per-node", struct stat_opts, per_node, "Aggregate by NUMA node"),
	OPT_FLAG(0, "per-thread", struct stat_opts, per_thread, "By thread, with -p, -t or for all threads"),
	OPT_FLAG(0, "no-merge", struct stat_opts, no_merge, "One row per PMU instance (uncore_imc_0, uncore_imc_1)"),
	OPT_HEADING("Output"),
	OPT_STR('x', "field-separator", struct stat_opts, separator, "SEP", "Separate fields by this, for programs; '\\t' is a tab"),
	OPT_FLAG('j', "json-output", struct stat_opts, json, "One JSON object per row"),
	OPT_STR('o', "output", struct stat_opts, output, "FILE", "Write FILE instead of standard error"),
	OPT_FLAG(0, "append", struct stat_opts, append, "Append to the FILE of -o"),
	OPT_INT(0, "log-fd", struct stat_opts, log_fd, "N", "Write to this open descriptor", OPT_SEEN(struct stat_opts, log_fd_given)),
	OPT_FLAG(0, "summary", struct stat_opts, summary, "Print totals after the intervals of -I"),
	OPT_FLAG(0, "no-csv-summary", struct stat_opts, no_csv_summary, "Rows of --summary do not start with 'summary'"),
	OPT_CALL(0, "metric-only", NULL, "Only metrics, as columns", take_metric_only),
	OPT_FLAG(0, "table", struct stat_opts, table, "Show the time of each run of -r"),
	OPT_FLAG('B', "big-num", struct stat_opts, big_num, "Group digits as in the locale (default; --no-big-num)"),
	OPT_FLAG(0, "quiet", struct stat_opts, quiet, "No counts at all"),
	OPT_FLAG('c', "scale", struct stat_opts, scale, "Scale multiplexed counts (default; --no-scale)"),
	OPT_FLAG(0, "metric-no-group", struct stat_opts, ignored, "Groups of -M are split automatically", .hidden = true),
	OPT_FLAG(0, "metric-no-merge", struct stat_opts, ignored, "", .hidden = true),
	OPT_FLAG(0, "hybrid-merge", struct stat_opts, ignored, "Rows of cpu_core and cpu_atom are merged unless --no-merge", .hidden = true),
	OPT_FLAG(0, "smi-cost", struct stat_opts, ignored, "Count -e msr/smi/,msr/aperf/,cycles", .refused = true),
	OPT_FLAG(0, "iostat", struct stat_opts, ignored, "Count the uncore_iio PMUs by name: sonde list 'uncore_iio*'", .refused = true),
	OPT_STR(0, "cputype", struct stat_opts, separator, "TYPE", "Name the PMU in the event: -e cpu_core/cycles/", .refused = true),
	OPT_FLAG(0, "percore-show-thread", struct stat_opts, ignored, "Use -A, or --per-core for the sum", .refused = true),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example stat_examples[] = {
	{ "stat -- make", "what a command and its children cost" },
	{ "stat -e cycles,instructions,cache-misses -r 5 -- ./job",
	  "these events, mean and deviation of five runs" },
	{ "stat -a -- sleep 5", "the whole system for five seconds" },
	{ "stat -C 0-3 -A -e context-switches,page-faults -- sleep 1",
	  "one row for each of four CPUs" },
	{ "stat -p 1234", "a running process, until Ctrl-C" },
	{ "stat -a -e kmem:kmalloc -I 1000", "a tracepoint, every second" },
	{ "stat -e '{cycles,instructions}:u' -x, -o counts.csv -- ./job",
	  "a group, as CSV in a file" },
	{ "stat -a -e task-clock,faults --for-each-cgroup 'system.slice/*' -- sleep 1",
	  "by cgroup" },
	{ 0 },
};

static const struct opt_example record_examples[] = {
	{ "stat record -- make", "count, print, and store the counts in perf.data" },
	{ "stat record -a -A -I 1000 -o day.data", "every second, by CPU, into another file" },
	{ 0 },
};

const struct command command_stat_record = {
	.name = "record",
	.summary = "count, and store the counts in a file",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about =
		"Takes the options of `sonde stat`, but -o names the file for the counts (default: "
		"perf.data; '-' for a pipe). `sonde stat report` and `perf stat report` show it.",
	.examples = record_examples,
	.opts = stat_rows,
	.opts_size = sizeof(struct stat_opts),
	.defaults = stat_defaults,
	.same_opts = true,
	.run = stat_run_recording,
};

static const struct command *const stat_subs[] = { &command_stat_record, &command_stat_report,
						   NULL };

const struct command command_stat = {
	.name = "stat",
	.group = "What is happening",
	.summary = "count events of a command, a process or the system",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Counts are printed to standard error, because standard output belongs to the "
		 "command; options and layout are those of perf stat. Without a command it counts "
		 "until Ctrl-C. A counter that shared the hardware with others is scaled to the "
		 "whole time, and the percentage of time it actually ran is shown at the end of "
		 "its row.\n<not supported> means that this machine has no such counter, <not "
		 "counted> that it never ran.",
	.examples = stat_examples,
	.opts = stat_rows,
	.opts_size = sizeof(struct stat_opts),
	.defaults = stat_defaults,
	.subs = stat_subs,
	.run = stat_run,
};
