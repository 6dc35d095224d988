/* `sonde sched why`: where all the time of threads went, and who they waited for. */
#include "cmd/sched/sched.h"

#include "cmd/app/choose_opts.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "session/recording.h"
#include "session/sched_why.h"
#include "stream/run.h"

#include <errno.h>

struct why_call {
	struct app *app;
	const struct sched_opts *o;
	struct source *src;
	struct choose choose;
	struct names *names;
	struct run_tables tables;
	struct names_result named;
};

/* One run; then names for what it met. */
static int run_why(struct why_call *c, struct sched_why *why)
{
	bool chains = source_facts(c->src).has_chains;
	struct sink *sink = thread_states_sink(sched_why_states(why), chains);
	int err = stream_run(c->src, sink, 1, &c->tables, &c->app->diag);
	if (!err)
		err = sched_why_finish(why);
	if (err || !chains)
		return err;
	c->names = recording_names(app_symbols(c->app), c->src, &c->o->symbols);
	if (!c->names)
		return -ENOMEM;
	return c->names->ops->resolve(c->names, &c->src->catalog, &c->tables.frames, WANT_SYMBOL,
				      &c->named);
}

static int print_why(struct why_call *c, const struct sched_why *why, const struct thread_states *ts)
{
	struct tell to = app_tell(c->app);
	struct sched_why_view v = {
		.why = why,
		.states = ts,
		.chain = { .names = c->names ? &c->named : NULL,
			   .frames = &c->tables.frames,
			   .chains = &c->tables.chains,
			   .max_stack = (u32)min(c->o->why_stack, (u64)UINT16_MAX) },
		.pids = c->choose.pids.at.at,
		.nr_pids = c->choose.pids.at.nr,
		.tids = c->choose.tids.at.at,
		.nr_tids = c->choose.tids.at.nr,
		.max_threads = (u32)min(c->o->max_threads, (u64)UINT32_MAX),
		.max_rows = (u32)min(c->o->max_rows, (u64)UINT32_MAX),
	};
	s64 shown = sched_why_print(&v, &to);
	size_t all;
	if (shown < 0)
		return (int)shown;
	(void)sched_why_threads(why, &all);
	if (!shown) {
		diag_warn(&c->app->diag, "no threads match the filters");
		diag_hint(&c->app->diag, "sched timehist -s lists the threads of the recording");
	} else if (!v.nr_pids && !v.nr_tids && (size_t)shown < all) {
		diag_note(&c->app->diag,
			  "the busiest %lld of %zu threads: -p chooses others, "
			  "--threads 0 shows all",
			  (long long)shown, all);
	}
	if (!c->names && !c->app->json)
		diag_note(&c->app->diag, "no call chains were recorded: sched record -g shows "
					 "where threads blocked");
	if (sched_why_uncharged_ns(why))
		diag_warn(&c->app->diag,
			  "too many threads waited at once: %.3f ms of waiting for a CPU are not "
			  "attributed to others",
			  (double)sched_why_uncharged_ns(why) / 1e6);
	sched_warn_losses(c->app, ts, c->src);
	return 0;
}

static int why(struct why_call *c)
{
	const struct sched_opts *o = c->o;
	struct choose_opts co = { .time = o->time, .pids = o->pids, .tids = o->tids };
	struct sched_why_opts wo = { 0 };
	int err = choose_parse(&c->choose, &co, c->src, &c->app->diag);
	if (!err && c->choose.ranges.nr > 1)
		err = diag_error(&c->app->diag, -EINVAL, "--time: expected one range");
	if (err)
		return err;
	if (c->choose.ranges.nr) {
		wo.from_ns = c->choose.ranges.at[0].from_ns;
		wo.until_ns = c->choose.ranges.at[0].until_ns;
	}
	struct sched_why *w = sched_why_new(&wo);
	if (!w)
		return -ENOMEM;
	err = run_why(c, w);
	if (!err)
		err = print_why(c, w, sched_why_states(w));
	sched_why_free(w);
	if (c->names)
		c->names->ops->free(c->names);
	run_tables_done(&c->tables);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct sched_opts *o = opts;
	struct why_call c = { .app = app, .o = o };
	int status = sched_take_input(app, o, argc, argv);
	if (!status)
		status = choose_check(
			&(struct choose_opts){ .time = o->time, .pids = o->pids, .tids = o->tids },
			app);
	if (status)
		return status;
	int err = sched_open(app, o, &c.src);
	if (err)
		return app_fail(app, err);
	choose_init(&c.choose);
	err = why(&c);
	choose_done(&c.choose);
	c.src->ops->close(c.src);
	return err ? app_fail(app, err) : APP_DONE;
}

/* clang-format off */
static const struct opt rows[] = {
	SCHED_INPUT_ROWS,
	OPT_STR('p', "pid", struct sched_opts, pids, "LIST", "only threads of these processes"),
	OPT_STR('t', "tid", struct sched_opts, tids, "LIST", "only these threads"),
	OPT_STR(0, "time", struct sched_opts, time, "RANGE", "only in the time range FROM,UNTIL in seconds (either may be omitted)"),
	OPT_UINT(0, "threads", struct sched_opts, max_threads, "N", "without -p and -t: the N busiest threads, 0 for all (10)"),
	OPT_UINT(0, "rows", struct sched_opts, max_rows, "N", "rows per section, 0 for all (5)"),
	OPT_UINT(0, "max-stack", struct sched_opts, why_stack, "N", "maximum number of frames per call chain, of the kernel and of the program each (4)"),
	SYMBOL_OPT_ROWS(struct sched_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "sched why -p 1234", "one process, thread by thread" },
	{ "sched why", "the busiest threads" },
	{ "sched why --time 12.5,13 --rows 0", "half a second, with every culprit" },
	{ 0 },
};

const struct command command_sched_why = {
	.name = "why",
	.summary = "show where all the time of threads went, and who they waited for",
	.usage = "[OPTIONS] [FILE]",
	.about =
		"A table per thread that adds up to all of its time in the recording: running; "
		"ready to run, by the thread that had the CPU instead; blocked, by state and call "
		"chain, and by who ended the wait, with the waker's call chain. Record with 'sched "
		"record -g' for call chains.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct sched_opts),
	.defaults = sched_defaults,
	.mixed_words = true,
	.same_opts = true,
	.run = run,
};
