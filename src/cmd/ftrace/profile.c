/* `sonde ftrace profile`: where tasks spend their time, as it is traced or of a file. */
#include "cmd/ftrace/profile.h"

#include "analysis/event_times.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/func_stat.h"
#include "cmd/ftrace/watch.h"
#include "session/outfile.h"
#include "session/profile_events.h"
#include "session/recording.h"
#include "stream/run.h"
#include "session/times_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 256 };

struct ftrace_profile {
	struct app *app;
	const struct ftrace_profile_opts *o;
	struct source *src;
	struct event_times *times;
};

/* The saved name as everywhere; else what a scheduler event told. */
static const char *comm_of(void *ctx, s64 task)
{
	struct ftrace_profile *p = ctx;
	const char *comm =
		task > 0 ? ftrace_env_comm(replay_ftrace_env(p->src, 0), (s32)task) : NULL;
	if (!comm || !strcmp(comm, "<...>"))
		comm = event_times_comm(p->times, task);
	return comm ? comm : task < 0 ? "<idle>" : "<...>";
}

static const char *symbol(void *ctx, u64 addr)
{
	u64 offset;
	return ftrace_env_symbol(replay_ftrace_env(((struct ftrace_profile *)ctx)->src, 0), addr,
				 &offset);
}

static int begin(struct ftrace_profile *p, bool (*keep)(void *ctx, const struct sample *s),
		 void *ctx)
{
	return event_times_new(&(struct event_times_opts){ .hooks = p->o->hooks.items.at,
							   .nr_hooks = (u32)p->o->hooks.items.nr,
							   .irqs_by_cpu = p->o->irqs_by_cpu,
							   .keep = keep,
							   .ctx = ctx },
			       &p->times, &p->app->diag);
}

/* Everything was seen. */
static int print(struct ftrace_profile *p, struct strbuf *to)
{
	struct app *app = p->app;
	int err = event_times_finish(p->times, p->o->by_comm, comm_of, p);
	if (!err)
		err = text_times(&(struct event_times_view){
			.times = p->times,
			.to = to,
			.json = app->json,
			.human = p->o->human,
			.nr_cpus = replay_ftrace_file(p->src, 0)->nr_cpus,
			.pids = p->o->pids,
			.nr_pids = p->o->nr_pids,
			.children = p->o->children,
			.ctx = p,
			.comm_of = comm_of,
			.symbol = symbol });
	if (!err && event_times_nr_gaps(p->times))
		diag_warn(
			&app->diag, "events were lost %llu times: intervals that began before a gap are not counted",
			(unsigned long long)event_times_nr_gaps(p->times));
	int idle = err ? -1 : event_times_idle_hook(p->times);
	if (idle >= 0)
		diag_warn(&app->diag, "-H %s: no such event, or it lacks the field",
			  p->o->hooks.items.at[idle]);
	return err;
}

int ftrace_profile_print(struct app *app, struct source *src, const struct ftrace_profile_opts *o,
			 bool (*keep)(void *ctx, const struct sample *s), void *ctx,
			 struct strbuf *to)
{
	struct ftrace_profile p = { .app = app, .src = src, .o = o };
	struct run_tables tables = { 0 };
	int err = begin(&p, keep, ctx);
	if (!err)
		err = stream_run(src, event_times_sink(p.times), (unsigned)o->workers, &tables,
				 &app->diag);
	run_tables_done(&tables);
	if (!err)
		err = print(&p, to);
	event_times_free(p.times);
	return err;
}

/* ---- the command ---- */

struct profile_cmd_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	struct ftrace_refused refused;
	struct ftrace_profile_opts o;
	const char *input, *output;
	bool only_given, to_err, functions;
};

struct looking {
	struct app *app;
	struct profile_cmd_opts *o;
	struct ftrace_profile live;
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

/* To where the answer is wanted: a file of its own is written when it is whole. */
static int show(struct looking *l, struct ftrace_profile *live, struct source *src)
{
	struct profile_cmd_opts *o = l->o;
	struct strbuf text, *to = o->output ? &text : o->to_err ? &l->app->err : &l->app->out;
	strbuf_init(&text);
	int err = live ? print(live, to) : ftrace_profile_print(l->app, src, &o->o, NULL, NULL, to);
	if (!err && o->output)
		err = text.err ? text.err
			       : outfile_write(o->output, strbuf_cstr(&text), text.len, false,
					       &l->app->diag);
	strbuf_done(&text);
	return err;
}

static int show_file(struct looking *l, const char *path)
{
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL };
	struct source *src;
	int err = replay_ftrace_open(path, &replay, &src, &l->app->diag);
	if (err)
		return err;
	err = show(l, NULL, src);
	src->ops->close(src);
	return err;
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct looking *l = ctx;
	l->live = (struct ftrace_profile){ .app = l->app, .o = &l->o->o, .src = src };
	int err = begin(&l->live, NULL, NULL);
	*ret = err ? NULL : event_times_sink(l->live.times);
	return err;
}

static int show_live(void *ctx, struct source *src)
{
	struct looking *l = ctx;
	s32 pids[TASKS_MAX];
	int chosen = chosen_tasks(&l->o->setup, pids);
	(void)src;
	l->o->o.pids = chosen ? pids : NULL;
	l->o->o.nr_pids = (size_t)chosen;
	l->o->o.children = l->o->setup.children;
	return show(l, &l->live, NULL);
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct profile_cmd_opts *o = opts;
	struct looking l = { .app = app, .o = o };
	o->o.human = !app->dialect->plain_times;
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
		int err = argc ? 0 : show_file(&l, o->input);
		ftrace_setup_end(&o->setup);
		if (argc)
			return app_usage(app, "--input reads a file: unexpected command");
		return err ? app_fail(app, err) : APP_DONE;
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
		status = ftrace_watch(
			app, &o->setup, argc, argv,
			&(struct ftrace_watch){ .live.style = PRINT_STYLE_KERNEL,
						.answer = { make_sink, show_live, &l } });
		event_times_free(l.live.times);
	}
	arena_done(&names);
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
