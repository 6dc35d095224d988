/* `sonde ftrace profile`: where tasks spend their time, as it is traced or of a file. */
#include "analysis/event_times.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/func_stat.h"
#include "cmd/ftrace/watch.h"
#include "session/outfile.h"
#include "session/profile_events.h"
#include "session/recording.h"
#include "session/task_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 256 };

struct profile_cmd_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	struct ftrace_refused refused;
	struct task_times_opts o;
	const char *input, *output;
	bool only_given, to_err, functions;
};

struct ftrace_looking {
	struct app *app;
	struct profile_cmd_opts *o;
	struct task_times times;
	struct strbuf text; /* for a file, which is written when it is whole */
};

/* The tasks of -P and -F, as the events have them. */
static int chosen_tasks(const struct ftrace_setup *f, s32 pids[TASKS_MAX])
{
	const char *at = f->pids;
	size_t len;
	int nr = 0;
	while (at && nr < TASKS_MAX - 1 && num_next_id(&at, &len, &pids[nr]) > 0)
		nr++;
	if (f->only_command && f->command_pid > 0)
		pids[nr++] = f->command_pid;
	return nr;
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct trace_answer a = task_times_answer(&((struct ftrace_looking *)ctx)->times);
	return a.sink(a.ctx, src, ret);
}

static int show(void *ctx, struct source *src)
{
	struct ftrace_looking *l = ctx;
	struct profile_cmd_opts *o = l->o;
	struct trace_answer a = task_times_answer(&l->times);
	s32 pids[TASKS_MAX];
	int chosen = o->input ? 0 : chosen_tasks(&o->setup, pids);
	o->o.pids = chosen ? pids : NULL;
	o->o.nr_pids = (size_t)chosen;
	o->o.children = o->setup.children;
	int err = a.show(a.ctx, src);
	if (!err && o->output)
		err = l->text.err ? l->text.err
				  : outfile_write(o->output, strbuf_cstr(&l->text), l->text.len,
						  false, &l->app->diag);
	return err;
}

static int of_file(struct app *app, struct profile_cmd_opts *o, const struct trace_answer *a)
{
	int err = trace_answer_file(a, o->input, (unsigned)o->o.workers, &app->diag);
	ftrace_setup_end(&o->setup);
	return err ? app_fail(app, err) : APP_DONE;
}

static int profile(struct ftrace_looking *l, int argc, char **argv)
{
	struct app *app = l->app;
	struct profile_cmd_opts *o = l->o;
	struct ftrace_watch w = { .live.style = PRINT_STYLE_KERNEL,
				  .answer = { make_sink, show, l } };
	if (o->output && outfile_check(o->output, &app->diag)) {
		ftrace_setup_end(&o->setup);
		return app_fail(app, -EACCES);
	}
	if (o->functions && o->input && !argc) {
		ftrace_setup_end(&o->setup);
		int err = ftrace_func_stat_file(app, o->input);
		return err ? app_fail(app, err) : APP_DONE;
	}
	if (o->functions && !o->input)
		return ftrace_func_stat_live(app, &o->setup, argc, argv);
	if (o->input) {
		if (argc) {
			ftrace_setup_end(&o->setup);
			return app_usage(app, "--input reads a file: unexpected command");
		}
		return of_file(app, o, &w.answer);
	}
	if (argc && recording_kind(argv[0])) {
		ftrace_setup_end(&o->setup);
		(void)diag_error(&app->diag, -EINVAL, "'%s' is a recording, not a command to run",
				 argv[0]);
		diag_hint(&app->diag, "sonde ftrace report --profile -i %s, or profile --input",
			  argv[0]);
		return app_usage_said(app);
	}
	for (size_t i = 0; i < o->o.hooks.items.nr; i++) {
		struct event_times_hook h;
		if (event_times_parse_hook(o->o.hooks.items.at[i], &h, &app->diag)) {
			ftrace_setup_end(&o->setup);
			return app_usage_said(app);
		}
	}
	struct arena names;
	int status;
	arena_init(&names);
	int err = profile_events(&o->setup, &o->o.hooks, o->only_given, &names, &app->diag);
	if (err) {
		ftrace_setup_end(&o->setup);
		status = app_fail(app, err);
	} else {
		status = ftrace_watch(app, &o->setup, argc, argv, &w);
	}
	arena_done(&names);
	return status;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct profile_cmd_opts *o = opts;
	struct ftrace_looking l = { .app = app,
				    .o = o,
				    .times = { .o = &o->o,
					       .to = { &app->out, &app->diag, app->json } } };
	o->o.human = !app->dialect->plain_times;
	strbuf_init(&l.text);
	if (o->output)
		l.times.to.out = &l.text;
	else if (o->to_err)
		l.times.to.out = &app->err;
	int status = profile(&l, argc, argv);
	task_times_done(&l.times);
	strbuf_done(&l.text);
	return status;
}

static void defaults(void *opts)
{
	ftrace_setup_defaults(&((struct profile_cmd_opts *)opts)->setup);
}

/* clang-format off */
static const struct opt rows[] = {
	OPT_HEADING("The profile"),
	OPT_STR(0, "input", struct profile_cmd_opts, input, "FILE", "Profile this trace.dat instead of recording"),
	OPT_STR('o', "output", struct profile_cmd_opts, output, "FILE", "Write the profile to FILE"),
	OPT_FLAG(0, "stderr", struct profile_cmd_opts, to_err, "Write the profile to standard error"),
	OPT_FLAG(0, "functions", struct profile_cmd_opts, functions, "Instead, print hits, time, average and variance of each kernel function, from the kernel's profiler (trace_stat) or function_graph; select functions with -l"),
	OPT_LIST('H', "hook", struct profile_cmd_opts, o.hooks, "HOOK", "Time between two events: [SYSTEM:]EVENT,FIELD[,PIDFIELD]/[SYSTEM:]EVENT,FIELD[,FLAGS]; p: on one CPU, s: with stack, g: global, not per task"),
	OPT_FLAG('S', "only-given", struct profile_cmd_opts, only_given, "Only the events and tracers named here"),
	OPT_FLAG('G', "global-irqs", struct profile_cmd_opts, o.irqs_by_cpu, "Interrupts per CPU, not per interrupted task"),
	OPT_FLAG(0, "by-comm", struct profile_cmd_opts, o.by_comm, "Merge tasks with the same name"),
	OPT_UINT(0, "threads", struct profile_cmd_opts, o.workers, "N", "Number of threads (default: one per CPU)", .hidden = true),
	FTRACE_SETUP_ROWS,
	OPT_FLAG('k', NULL, struct profile_cmd_opts, refused.flag, "use 'ftrace start' to leave everything set up", .refused = true),
	OPT_FLAG(0, "fork", struct profile_cmd_opts, refused.flag, "use 'ftrace start --fork' to leave the command running", .refused = true),
	OPT_FLAG('q', "quiet", struct profile_cmd_opts, refused.flag, "No summary line", .hidden = true),
	OPT_FLAG(0, "profile", struct profile_cmd_opts, refused.flag, "It is one", .hidden = true),
	FTRACE_NEVER_ROWS(struct profile_cmd_opts),
	FTRACE_NO_FILE_ROWS(struct profile_cmd_opts),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace profile -F -c -- make", "where a command and its children spend their time" },
	{ "ftrace profile sleep 5", "the whole system, for five seconds" },
	{ "ftrace profile --input trace.dat", "from an earlier recording" },
	{ "ftrace profile --functions -l 'vfs_*' -- ls", "how often and how long functions ran" },
	{ "ftrace profile -S -H block:block_rq_issue,sector/block:block_rq_complete,sector,g sleep "
	  "5",
	  "disk latency" },
	{ 0 },
};

const struct command command_ftrace_profile = {
	.name = "profile",
	.summary = "show where tasks spend their time: on CPU, blocked, in interrupts and system "
		   "calls",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Records scheduler, interrupt and system call events, and one level of the "
		 "function graph tracer if the kernel has it, while the command runs or until "
		 "Ctrl-C. Then prints one line per task, followed by how often and how long: "
		 "count, total, average, longest and shortest (called as trace-cmd: without the "
		 "lines, in nanoseconds), with the kernel stacks where tasks left the CPU and were "
		 "woken. Entries like sched_switch:S show the time a task was off the CPU, by the "
		 "state it left in (R+: preempted).",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct profile_cmd_opts),
	.defaults = defaults,
	.run = run,
};
