/*
 * `perf ftrace trace|latency|profile` (and `sonde ftrace latency`): the function tracers in perf's words. What is traced is set up as for
 * `ftrace record`: in an instance of our own where the tracer allows one, undone afterwards whatever happens.
 *
 *	trace     the kernel's own text, as it comes
 *	latency   how long a function takes, or from one event to another, as a histogram
 *	profile   a table of functions
 */
#include "base/cpuset.h"
#include "base/json.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/watch.h"
#include "cmd/perf/perf.h"
#include "session/event_latency.h"
#include "session/graph_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_NS = 100000000, READ_BYTES = 16384, LOOK_BYTES = 1 << 20 };

struct perf_ftrace_opts {
	struct ftrace_setup setup; /* first: functions are taken in order */
	const char *tracer, *pid, *tid, *cpus, *func_opts, *graph_opts, *list, *sort, *events, *by;
	const char *input;
	u64 delay_ms;
	bool all, inherit, in_ns, bpf;
};

/* ---- what perf's options mean ---- */

/* "thresh=10": the value after the name; NULL: another word. */
static const char *value_of(const char *word, size_t len, const char *name)
{
	size_t n = strlen(name);
	return len > n && !strncmp(word, name, n) && word[n] == '=' ? word + n + 1 : NULL;
}

struct words_to_options {
	const char *word, *option; /* trace options; option NULL: takes a value */
};

static const struct words_to_options func_words[] = {
	{ "call-graph", "func_stack_trace" },
	{ "irq-info", "irq-info" },
	{ 0 },
};

static const struct words_to_options graph_words[] = {
	{ "nosleep-time", "nosleep-time" }, { "noirqs", "nofuncgraph-irqs" },
	{ "tail", "funcgraph-tail" },	    { "args", "funcgraph-args" },
	{ "retval", "funcgraph-retval" },   { "retval-hex", "funcgraph-retval-hex" },
	{ "retaddr", "funcgraph-retaddr" }, { 0 },
};

static int unknown_word(const char *option, const char *text, size_t at, size_t len, struct diag *d)
{
	int err = diag_error(d, -EINVAL, "%s: unknown keyword '%.*s'", option, (int)len, text + at);
	diag_span(d, text, at, len);
	return err;
}

static int take_words(struct perf_ftrace_opts *o, const char *option, const char *text,
		      const struct words_to_options *known, struct arena *a, struct diag *d)
{
	for (const char *p = text; p && *p;) {
		size_t len = strcspn(p, ",");
		const struct words_to_options *w = known;
		const char *value;
		int err = 0;
		while (w->word && (strlen(w->word) != len || strncmp(w->word, p, len)))
			w++;
		if (w->word) {
			err = ftrace_take_option(o, w->option, false, d);
		} else if (known == graph_words && (value = value_of(p, len, "thresh"))) {
			o->setup.thresh = arena_strndup(a, value, (size_t)(p + len - value));
		} else if (known == graph_words && (value = value_of(p, len, "depth"))) {
			o->setup.max_depth = arena_strndup(a, value, (size_t)(p + len - value));
		} else if (known == graph_words && len == 7 && !strncmp(p, "verbose", 7)) {
			static const char *const more[] = { "funcgraph-proc", "funcgraph-abstime" };
			for (size_t i = 0; i < ARRAY_SIZE(more) && !err; i++)
				err = ftrace_take_option(o, more[i], false, d);
		} else {
			err = unknown_word(option, text, (size_t)(p - text), len, d);
		}
		if (err)
			return err;
		p += len + (p[len] == ',');
	}
	return 0;
}

/* Everything but the tracer. */
static int prepare(struct perf_ftrace_opts *o, int argc, struct arena *a, struct diag *d)
{
	struct ftrace_setup *f = &o->setup;
	int err = take_words(o, "--func-opts", o->func_opts, func_words, a, d);
	if (!err)
		err = take_words(o, "--graph-opts", o->graph_opts, graph_words, a, d);
	if (!err && o->cpus) {
		struct cpuset cpus;
		struct strbuf mask;
		strbuf_init(&mask);
		err = cpuset_parse_list(o->cpus, &cpus, d);
		if (!err) {
			cpuset_add_mask(&cpus, &mask);
			err = ftrace_take_cpumask(o, arena_strdup(a, strbuf_cstr(&mask)), false, d);
		}
		strbuf_done(&mask);
	}
	if (!err && (o->pid || o->tid) && o->all)
		err = diag_error(d, -EINVAL, "-a cannot be combined with -p or --tid");
	if (!err && o->pid && o->tid)
		err = diag_error(d, -EINVAL, "-p and --tid are mutually exclusive");
	f->pids = o->pid ? o->pid : o->tid;
	f->children = o->inherit;
	f->only_command = argc && !o->all && !o->cpus && !f->pids;
	return err;
}

static int choose_tracer(struct perf_ftrace_opts *o, const char *fallback, struct diag *d)
{
	const char *name = o->tracer ? o->tracer : fallback;
	if (strcmp(name, "function") && strcmp(name, "function_graph"))
		return diag_error(d, -EINVAL, "-t %s: expected function or function_graph", name);
	return ftrace_take_tracer(o, name, false, d);
}

static int not_begun(struct app *app, struct perf_ftrace_opts *o, int err)
{
	ftrace_setup_end(&o->setup);
	return err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
}

/* ---- trace ---- */

struct tracing_run {
	struct app *app;
	struct perf_ftrace_opts *o;
	struct command_run run;
	struct strbuf line; /* not whole yet; for JSON */
	int fd;
};

static int put_text(struct tracing_run *r, const char *text, size_t len)
{
	struct app *app = r->app;
	if (!app->json) {
		strbuf_add(&app->out, text, len);
		return app->out.err;
	}
	for (size_t i = 0; i < len; i++) {
		struct json j;
		if (text[i] != '\n') {
			strbuf_char(&r->line, text[i]);
			continue;
		}
		json_begin(&j, &app->out, JSON_COMPACT);
		json_object(&j);
		json_key(&j, "line");
		json_strn(&j, strbuf_cstr(&r->line), r->line.len);
		json_object_end(&j);
		int err = json_end(&j);
		strbuf_char(&app->out, '\n');
		strbuf_reset(&r->line);
		if (err)
			return err;
	}
	return r->line.err;
}

/* Takes out what is there, so much at once: while it is read, more is traced, perhaps of reading itself. */
static int drain(struct tracing_run *r, u64 limit)
{
	char buffer[READ_BYTES];
	for (u64 got = 0; got < limit;) {
		ssize_t n = read(r->fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return diag_error(&r->app->diag, -errno, "cannot read trace_pipe: %s",
					  strerror(errno));
		if (n <= 0)
			return app_flush(r->app);
		int err = put_text(r, buffer, (size_t)n);
		if (err)
			return err;
		got += (u64)n;
	}
	return app_flush(r->app);
}

static int on_timer(void *ctx, u64 what)
{
	(void)what;
	return drain(ctx, LOOK_BYTES);
}

static int on_delay(void *ctx, u64 what)
{
	(void)what;
	return ftrace_setup_switch(&((struct tracing_run *)ctx)->o->setup, true);
}

/* The lines that say what the columns are. */
static int put_head(struct tracing_run *r)
{
	struct strbuf text;
	char path[PATH_MAX];
	strbuf_init(&text);
	(void)!str_path(path, sizeof(path), "%strace", r->o->setup.buffers.at[0].folder);
	int err = tracing_read(&r->o->setup.tracing, path, &text);
	if (!err)
		err = put_text(r, strbuf_cstr(&text), text.len);
	strbuf_done(&text);
	return err;
}

static int begin(struct tracing_run *r, char **argv)
{
	struct ftrace_setup *f = &r->o->setup;
	struct app *app = r->app;
	char path[PATH_MAX];
	int err = command_run_open(&r->run, &(struct command_run_opts){ 0 });
	if (!err && argv)
		err = command_run_prepare(&r->run, argv, NULL, &app->diag);
	if (!err)
		err = ftrace_setup_apply(f, true, r->run.child.pid);
	if (!err)
		err = trace_run_empty_buffers(f);
	if (err)
		return err;
	(void)!str_path(path, sizeof(path), "%strace_pipe", f->buffers.at[0].folder);
	r->fd = openat(f->tracing.dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->fd < 0)
		return diag_error(&app->diag, -errno, "cannot open %s/%s: %s", f->tracing.path,
				  path, strerror(errno));
	err = put_head(r);
	if (!err && !r->o->delay_ms)
		err = ftrace_setup_switch(f, true);
	else if (!err)
		err = loop_add_timer(r->run.loop, r->o->delay_ms * 1000000, 0, on_delay, r, NULL);
	return err ? err : loop_add_timer(r->run.loop, LOOK_NS, LOOK_NS, on_timer, r, NULL);
}

static int trace(struct tracing_run *r, char **argv)
{
	struct ftrace_setup *f = &r->o->setup;
	struct app *app = r->app;
	int err = argv ? child_check(argv[0], &app->diag) : 0;
	if (err)
		return child_exec_status(err);
	err = ftrace_setup_begin(f, true, NULL);
	if (!err && f->dry_run)
		err = ftrace_setup_apply(f, true, 0);
	if (err || f->dry_run)
		return err ? app_fail(app, err) : APP_DONE;
	err = begin(r, argv);
	if (!err)
		err = command_run_go(&r->run, argv ? argv[0] : NULL, &app->diag);
	if (r->run.exec_failed)
		return child_exec_status(err);
	if (!err)
		err = command_run_wait(&r->run);
	if (r->run.signal && !r->run.ended)
		(void)command_run_ask(&r->run, r->run.signal, 0);
	int off = ftrace_setup_switch(f, false);
	err = err ? err : off ? off : drain(r, UINT64_MAX);
	if (err && err != -EPIPE)
		return app_fail(app, err);
	bool by_itself = r->run.ended && !r->run.was_ended;
	app->die_of = by_itself ? 0 : r->run.signal;
	return by_itself ? child_exit_status(r->run.wait_status) : APP_DONE;
}

static int list_functions(struct app *app, const char *pattern)
{
	char f[] = "-f", list[] = "list", glob[256];
	(void)snprintf(glob, sizeof(glob), "%s", pattern);
	char *argv[] = { list, f, glob, NULL };
	return app_command(app, &command_ftrace_list, *pattern ? 3 : 2, argv);
}

static int run_trace(struct app *app, void *opts, int argc, char **argv)
{
	struct perf_ftrace_opts *o = opts;
	struct tracing_run r = { .app = app, .o = o, .fd = -1, .run = COMMAND_RUN_NONE };
	struct arena a;
	app_live(app);
	if (o->list) {
		ftrace_setup_end(&o->setup);
		return list_functions(app, o->list);
	}
	if (!argc && !o->all && !o->pid && !o->tid && !o->cpus) {
		ftrace_setup_end(&o->setup);
		return app_usage(app, "nothing to trace: give a command, -p PID, -C CPUS, or -a");
	}
	arena_init(&a);
	strbuf_init(&r.line);
	bool functions = false;
	vec_for_each (&o->setup.buffers, b)
		functions |= b->functions.nr > 0;
	int err = prepare(o, argc, &a, &app->diag);
	if (!err)
		err = choose_tracer(o, functions ? "function" : "function_graph", &app->diag);
	int status;
	if (err) {
		status = not_begun(app, o, err);
	} else {
		err = ftrace_setup_open(&o->setup, &app->diag, &app->out);
		status = err ? app_fail(app, err) : trace(&r, argc ? argv : NULL);
		command_run_close(&r.run);
		cleanup_close(&r.fd);
		ftrace_setup_end(&o->setup);
	}
	strbuf_done(&r.line);
	arena_done(&a);
	return status;
}

/* ---- latency ---- */

static const struct event_pair_rule function_rule = {
	.start_system = "ftrace",
	.start_event = "funcgraph_entry",
	.start_keys = { "func", "depth" },
	.end_system = "ftrace",
	.end_event = "funcgraph_exit",
	.end_keys = { "func", "depth" },
	.same_task = true,
};

static int set_up_latency(struct perf_ftrace_opts *o, struct event_latency *l, int argc,
			  struct arena *a, struct diag *d)
{
	l->rule = function_rule;
	int err = prepare(o, argc, a, d);
	if (!err && !o->events)
		return ftrace_take_tracer(o, "function_graph", false, d);
	if (!err)
		err = event_latency_rule(o->events, o->by, a, &l->rule, d);
	const char *comma = o->events ? strchr(o->events, ',') : NULL;
	if (!err)
		err = ftrace_take_event(o, arena_strndup(a, o->events, (size_t)(comma - o->events)),
					false, d);
	return err ? err : ftrace_take_event(o, comma + 1, false, d);
}

static int run_latency(struct app *app, void *opts, int argc, char **argv)
{
	struct perf_ftrace_opts *o = opts;
	struct event_latency l = { .to = { &app->out, &app->diag, app->json },
				   .in_ns = o->in_ns,
				   .only_table = app->dialect->ends_with_table,
				   .name = o->input ? o->input : "the trace" };
	struct ftrace_watch w = { .live.style = PRINT_STYLE_KERNEL,
				  .answer = event_latency_answer(&l) };
	struct arena a;
	bool functions = o->setup.buffers.nr && o->setup.buffers.at[0].functions.nr;
	const char *wrong = NULL;
	if (functions == (o->events != NULL) && !(o->input && !functions))
		wrong = functions ? "-T and -e are mutually exclusive"
				  : "nothing to measure: give -T FUNCTION or -e EVENT,EVENT";
	else if (o->by && !o->events)
		wrong = "--by needs -e";
	else if (o->input && argc)
		wrong = "--input reads a file: unexpected command";
	else if (!o->input && !argc && !o->all && !o->pid && !o->tid && !o->cpus)
		wrong = "nothing to trace: give a command, -p PID, -C CPUS, or -a";
	if (wrong) {
		ftrace_setup_end(&o->setup);
		return app_usage(app, "%s", wrong);
	}
	arena_init(&a);
	int status, err = set_up_latency(o, &l, argc, &a, &app->diag);
	if (err) {
		status = not_begun(app, o, err);
	} else if (o->input) {
		ftrace_setup_end(&o->setup);
		err = trace_answer_file(&w.answer, o->input, 0, &app->diag);
		status = err ? app_fail(app, err) : APP_DONE;
	} else {
		status = ftrace_watch(app, &o->setup, argc, argv, &w);
	}
	event_latency_done(&l);
	arena_done(&a);
	return status;
}

/* ---- profile ---- */

/* perf's words; in the order of enum calls_sort it is another one. */
static const struct {
	const char *name;
	enum calls_sort sort;
} profile_keys[] = { { "total", CALLS_BY_TOTAL },
		     { "avg", CALLS_BY_AVERAGE },
		     { "max", CALLS_BY_MAX },
		     { "count", CALLS_BY_CALLS },
		     { "name", CALLS_BY_NAME } };

static int run_profile(struct app *app, void *opts, int argc, char **argv)
{
	struct perf_ftrace_opts *o = opts;
	struct graph_calls g = { .to = { &app->out, &app->diag, app->json }, .view.perf = true };
	struct ftrace_watch w = { .live.style = PRINT_STYLE_KERNEL,
				  .answer = graph_calls_answer(&g) };
	struct arena a;
	bool known = !o->sort;
	for (size_t i = 0; i < ARRAY_SIZE(profile_keys) && o->sort; i++)
		if (!strcmp(o->sort, profile_keys[i].name)) {
			known = true;
			g.view.sort = profile_keys[i].sort;
		}
	if (!known || (!argc && !o->all && !o->pid && !o->tid && !o->cpus)) {
		ftrace_setup_end(&o->setup);
		return known ? app_usage(app,
					 "nothing to trace: give a command, -p PID, -C CPUS, or -a")
			     : app_usage(app, "-s %s: expected total, avg, max, count or name",
					 o->sort);
	}
	arena_init(&a);
	int err = prepare(o, argc, &a, &app->diag);
	if (!err)
		err = ftrace_take_tracer(o, "function_graph", false, &app->diag);
	int status = err ? not_begun(app, o, err) : ftrace_watch(app, &o->setup, argc, argv, &w);
	graph_calls_done(&g);
	arena_done(&a);
	return status;
}

/* ---- the commands ---- */

static void defaults(void *opts)
{
	static const struct ftrace_option_names names = {
		.tasks = "-p",
		.command = "a command",
		.size = "-m",
		.cpus = "-C",
		.option = "--func-opts",
		.functions = "-T",
		.graph = "-G",
		.tracer = "-t",
		.clock = "clock",
		.func_stack = "--func-opts call-graph",
		.force = "force",
		.top = "the top-level buffer",
		.date = "date",
	};
	struct ftrace_setup *s = &((struct perf_ftrace_opts *)opts)->setup;
	ftrace_setup_defaults(s);
	s->names = &names;
}

/* clang-format off */
#define WHOM_ROWS \
	OPT_STR('p', "pid", struct perf_ftrace_opts, pid, "PID", "These processes"), \
	OPT_STR(0, "tid", struct perf_ftrace_opts, tid, "TID", "These threads"), \
	OPT_FLAG('a', "all-cpus", struct perf_ftrace_opts, all, "Everybody"), \
	OPT_STR('C', "cpu", struct perf_ftrace_opts, cpus, "LIST", "On these CPUs: 0,2-5"), \
	OPT_FLAG(0, "inherit", struct perf_ftrace_opts, inherit, "Include children of the command or processes"), \
	OPT_CALL('m', "buffer-size", "SIZE", "Buffer size per CPU, with a unit: 64M", ftrace_take_size), \
	OPT_FLAG(0, "dry-run", struct perf_ftrace_opts, setup.dry_run, "Only print what would be written to tracefs")
#define FUNCTION_ROWS \
	OPT_CALL('T', "trace-funcs", "FUNC", "These functions (patterns)", ftrace_take_function), \
	OPT_CALL('N', "notrace-funcs", "FUNC", "Exclude these functions", ftrace_take_no_function), \
	OPT_CALL('G', "graph-funcs", "FUNC", "These functions and their callees", ftrace_take_graph), \
	OPT_CALL('g', "nograph-funcs", "FUNC", "Exclude these functions and their callees", ftrace_take_no_graph), \
	OPT_STR(0, "graph-opts", struct perf_ftrace_opts, graph_opts, "WORDS", "nosleep-time, noirqs, verbose, tail, args, retval, thresh=US, depth=N")

static const struct opt trace_rows[] = {
	OPT_STR('t', "tracer", struct perf_ftrace_opts, tracer, "TRACER", "function_graph (default), or function (default with -T)"),
	FUNCTION_ROWS,
	OPT_STR(0, "func-opts", struct perf_ftrace_opts, func_opts, "WORDS", "call-graph, irq-info"),
	OPT_UINT('D', "delay", struct perf_ftrace_opts, delay_ms, "MS", "Start this long after the command"),
	OPT_STR('F', "funcs", struct perf_ftrace_opts, list, "REGEX", "List functions that can be traced", .optional = true, .greedy = true, .fallback = ""),
	WHOM_ROWS,
	OPT_END(),
};

static const struct opt latency_rows[] = {
	OPT_CALL('T', "trace-funcs", "FUNC", "Duration of this function", ftrace_take_function),
	OPT_STR('e', "events", struct perf_ftrace_opts, events, "A,B", "Time from event A to event B"),
	OPT_STR(0, "by", struct perf_ftrace_opts, by, "KEY", "With -e: field that both events share (common_pid); pid=next_pid if the names differ"),
	OPT_FLAG('n', "use-nsec", struct perf_ftrace_opts, in_ns, "In nanoseconds"),
	OPT_FLAG('b', "use-bpf", struct perf_ftrace_opts, bpf, "Not needed", .hidden = true),
	OPT_STR(0, "input", struct perf_ftrace_opts, input, "FILE", "Profile this trace.dat instead of recording"),
	WHOM_ROWS,
	OPT_END(),
};

static const struct opt profile_rows[] = {
	FUNCTION_ROWS,
	OPT_STR('s', "sort", struct perf_ftrace_opts, sort, "KEY", "total (default), avg, max, count, name"),
	WHOM_ROWS,
	OPT_END(),
};
/* clang-format on */

static const struct opt_example trace_examples[] = {
	{ "ftrace -T 'vfs_*' ls", "functions of a command, as they are called" },
	{ "ftrace -G vfs_read -a sleep 1", "a function and its callees, in all tasks" },
	{ 0 },
};

static const struct opt_example latency_examples[] = {
	{ "ftrace latency -T vfs_read -a sleep 1", "how long vfs_read takes" },
	{ "ftrace latency -e sched:sched_waking,sched:sched_switch --by pid=next_pid -a sleep 1",
	  "how long tasks wait for a CPU" },
	{ 0 },
};

static const struct opt_example profile_examples[] = {
	{ "ftrace profile -G vfs_read ls", "which functions called by vfs_read took how long" },
	{ 0 },
};

static const struct command perf_trace = {
	.name = "trace",
	.summary = "trace kernel functions as they are called",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.examples = trace_examples,
	.opts = trace_rows,
	.opts_size = sizeof(struct perf_ftrace_opts),
	.defaults = defaults,
	.run = run_trace,
};

const struct command command_ftrace_latency = {
	.name = "latency",
	.summary = "histogram of the duration of a function, or of the time between two events",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Records while the command runs, or until Ctrl-C; with a command and no other "
		 "target, only that command. A row counts durations from its first number up to, "
		 "but not including, its second.",
	.examples = latency_examples,
	.opts = latency_rows,
	.opts_size = sizeof(struct perf_ftrace_opts),
	.defaults = defaults,
	.run = run_latency,
};

static const struct command perf_profile = {
	.name = "profile",
	.summary = "kernel functions by total time",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.examples = profile_examples,
	.opts = profile_rows,
	.opts_size = sizeof(struct perf_ftrace_opts),
	.defaults = defaults,
	.run = run_profile,
};

static const struct command *const subs[] = { &perf_trace, &command_ftrace_latency, &perf_profile,
					      NULL };

const struct command command_perf_ftrace = {
	.name = "ftrace",
	.summary = "trace kernel functions: calls, durations, profiles",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Without a subcommand, same as 'ftrace trace'.",
	.examples = trace_examples,
	.opts = trace_rows,
	.opts_size = sizeof(struct perf_ftrace_opts),
	.defaults = defaults,
	.subs = subs,
	.run = run_trace,
};
