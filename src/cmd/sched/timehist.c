/* `sonde sched timehist`: every run of every thread, and sums for each. */
#include "cmd/sched/sched.h"

#include "cmd/app/choose_opts.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "session/look.h"
#include "session/recording.h"
#include "stream/run.h"

#include <errno.h>
#include <string.h>

struct timehist_call {
	struct app *app;
	struct sched_opts *o;
	struct source *src;
	struct choose choose;
	struct cpuset cpus;
};

/* What -p, -t and --time choose; a range of time is one. */
static int choose_what(struct timehist_call *c)
{
	struct sched_opts *o = c->o;
	struct choose_opts co = { .time = o->time, .pids = o->pids, .tids = o->tids };
	int err = choose_parse(&c->choose, &co, c->src, &c->app->diag);
	if (err)
		return err;
	o->timehist.pids = c->choose.pids.at.at;
	o->timehist.nr_pids = c->choose.pids.at.nr;
	o->timehist.tids = c->choose.tids.at.at;
	o->timehist.nr_tids = c->choose.tids.at.nr;
	if (c->choose.ranges.nr > 1)
		return diag_error(&c->app->diag, -EINVAL, "--time: expected one range");
	if (c->choose.ranges.nr) {
		o->timehist.from_ns = c->choose.ranges.at[0].from_ns;
		o->timehist.until_ns = c->choose.ranges.at[0].until_ns;
	}
	return 0;
}

/* Names of all frames first; then the lines are printed with them. */
static int name_frames(struct timehist_call *c, struct names *names, struct run_tables *tables,
		       struct names_result *named)
{
	struct sink look = look_sink(NEED_LEAF | NEED_FRAMES);
	int err = stream_run(c->src, &look, 0, tables, &c->app->diag);
	if (!err)
		err = names->ops->resolve(names, &c->src->catalog, &tables->frames, WANT_SYMBOL,
					  named);
	c->o->timehist.names = named;
	return err;
}

static int print_all(struct timehist_call *c, const struct run_tables *tables)
{
	struct sched_timehist_opts *to = &c->o->timehist;
	struct sched_timehist *h = sched_timehist_new(to, app_tell(c->app));
	if (!h)
		return -ENOMEM;
	struct thread_states *ts = sched_timehist_states(h);
	struct sink *sink = thread_states_sink(ts, to->chains);
	struct run_tables own = { 0 };
	sched_timehist_begin(h);
	int err = to->chains ? stream_run_named(c->src, sink, 1, &tables->frames, &c->app->diag)
			     : stream_run(c->src, sink, 1, &own, &c->app->diag);
	run_tables_done(&own);
	if (!err)
		err = sched_timehist_end(h);
	if (!err)
		sched_warn_losses(c->app, ts, c->src);
	sched_timehist_free(h);
	return err;
}

static int timehist(struct timehist_call *c)
{
	struct sched_opts *o = c->o;
	struct sched_timehist_opts *to = &o->timehist;
	struct run_tables tables = { 0 };
	struct names_result named;
	struct names *names = NULL;
	int err = choose_what(c);
	if (err)
		return err;
	to->chains = o->call_graph && !to->summary && source_facts(c->src).has_chains;
	if (o->call_graph && !to->chains && !to->summary && !c->app->json)
		diag_note(&c->app->diag, "no call chains were recorded: use sched record -g");
	to->max_stack = (u32)min(o->max_stack, (u64)UINT16_MAX);
	to->nr_cpus = c->src->catalog.nr_cpus;
	if (to->cpu_visual && to->nr_cpus > SCHED_COLUMNS_MAX) {
		diag_warn(&c->app->diag, "-V: no columns: the recording is of %u CPUs, more than %d",
			  to->nr_cpus, SCHED_COLUMNS_MAX);
		to->cpu_visual = false;
	}
	if (to->chains) {
		names = recording_names(app_symbols(c->app), c->src, &o->symbols);
		err = names ? name_frames(c, names, &tables, &named) : -ENOMEM;
	}
	if (!err)
		err = print_all(c, &tables);
	if (names)
		names->ops->free(names);
	run_tables_done(&tables);
	return err;
}

static int check(struct app *app, struct sched_opts *o)
{
	if (o->timehist.summary && (o->timehist.wakeups || o->timehist.next))
		return app_usage(app, "-s cannot be combined with %s: it prints no lines",
				 o->timehist.wakeups ? "-w" : "-n");
	return choose_check(
		&(struct choose_opts){
			.time = o->time, .cpus = o->cpus, .pids = o->pids, .tids = o->tids },
		app);
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct sched_opts *o = opts;
	struct timehist_call c = { .app = app, .o = o };
	int status = sched_take_input(app, o, argc, argv);
	if (!status)
		status = check(app, o);
	if (status)
		return status;
	if (o->cpus && cpuset_parse_list(o->cpus, &c.cpus, &app->diag))
		return app_usage_said(app);
	o->timehist.cpus = o->cpus ? &c.cpus : NULL;
	int err = sched_open(app, o, &c.src);
	if (err)
		return app_fail(app, err);
	choose_init(&c.choose);
	err = timehist(&c);
	choose_done(&c.choose);
	c.src->ops->close(c.src);
	return err ? app_fail(app, err) : APP_DONE;
}

/* clang-format off */
static const struct opt rows[] = {
	SCHED_INPUT_ROWS,
	OPT_HEADING("Lines"),
	OPT_FLAG('w', "wakeups", struct sched_opts, timehist.wakeups, "show wake-ups"),
	OPT_FLAG('n', "next", struct sched_opts, timehist.next, "show which thread ran next"),
	OPT_FLAG('M', "migrations", struct sched_opts, timehist.migrations, "show migrations"),
	OPT_FLAG('V', "cpu-visual", struct sched_opts, timehist.cpu_visual, "add a column per CPU: s a switch, i idle, m a migration"),
	OPT_FLAG(0, "state", struct sched_opts, timehist.state, "show the state in which a thread left the CPU"),
	OPT_FLAG(0, "show-prio", struct sched_opts, timehist.show_prio, "show the priority of threads"),
	OPT_FLAG('I', "idle-hist", struct sched_opts, timehist.idle_only, "only idle time, and in the summary after which thread"),
	OPT_FLAG('g', "call-graph", struct sched_opts, call_graph, "show call chains (default, if they were recorded)"),
	OPT_UINT(0, "max-stack", struct sched_opts, max_stack, "N", "maximum number of frames per call chain (5)"),
	OPT_HEADING("Summary"),
	OPT_FLAG('s', "summary", struct sched_opts, timehist.summary, "only the summary, a row per thread"),
	OPT_FLAG('S', "with-summary", struct sched_opts, timehist.with_summary, "the summary after all lines"),
	OPT_HEADING("Filtering"),
	OPT_STR(0, "time", struct sched_opts, time, "RANGE", "only in the time range FROM,UNTIL in seconds (either may be omitted)"),
	OPT_STR('C', "cpu", struct sched_opts, cpus, "LIST", "only these CPUs: 0,2-3"),
	OPT_STR('p', "pid", struct sched_opts, pids, "LIST", "only these processes"),
	OPT_STR('t', "tid", struct sched_opts, tids, "LIST", "only these threads"),
	SYMBOL_OPT_ROWS(struct sched_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "sched timehist", "each run: how long it waited, was delayed, and ran" },
	{ "sched timehist --state -w", "with states and wake-ups" },
	{ "sched timehist -s", "a row per thread" },
	{ "sched timehist -p 1234 --time 12.5,13", "one process, for half a second" },
	{ 0 },
};

const struct command command_sched_timehist = {
	.name = "timehist",
	.summary = "show every run of every thread, and how long it waited before",
	.usage = "[OPTIONS] [FILE]",
	.about =
		"A line per run, printed when the thread leaves the CPU. Wait time is all the time "
		"since it left a CPU before; sch delay is the part of it in which it could have "
		"run: after it was woken, or all of it if it was preempted.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct sched_opts),
	.defaults = sched_defaults,
	.mixed_words = true,
	.same_opts = true,
	.run = run,
};
