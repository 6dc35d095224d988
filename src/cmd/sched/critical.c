/* `sonde sched critical`: what an interval of time was spent waiting for, through all threads that took part. */
#include "cmd/sched/sched.h"

#include "base/num.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "session/named_run.h"
#include "session/recording.h"
#include "session/sched_critical.h"
#include "session/wait_chain.h"

#include <errno.h>

struct critical_call {
	struct app *app;
	const struct sched_opts *o;
	struct source *src;
	struct critical_opts opts;
	struct wait_chain_names chain;
	struct strbuf text;
};

static const char *label(void *ctx, u32 chain)
{
	struct critical_call *c = ctx;
	return wait_chain_text(&c->chain, chain, &c->text);
}

/* "sched:sched_switch", or without the system. */
static int find_event(struct critical_call *c, const char *option, const char *name, u32 *ret)
{
	struct diag *d = &c->app->diag;
	*ret = THREAD_NONE;
	for (u32 i = 0; name && i < c->src->catalog.events.nr; i++) {
		const char *have = c->src->catalog.events.at[i].name;
		const char *colon = have ? strchr(have, ':') : NULL;
		if (have && (!strcmp(have, name) || (colon && !strcmp(colon + 1, name))))
			*ret = i;
	}
	if (!name || *ret != THREAD_NONE)
		return 0;
	(void)diag_error(d, -EINVAL, "%s %s: %s has no such event", option, name, c->o->input);
	diag_hint(d, "%s evlist -i %s lists those that it has", c->app->prog, c->o->input);
	return -EINVAL;
}

static int say_none(struct critical_call *c, int err)
{
	struct diag *d = &c->app->diag;
	const struct sched_opts *o = c->o;
	if (err == -E2BIG) {
		(void)diag_error(d, err, "%s: too many intervals to follow", o->input);
		diag_hint(d, "record a shorter time");
	} else if (err == -ENODATA) {
		(void)diag_error(d, err, "%s: %s did not occur%s%s", o->input, o->critical_from,
				 o->pids ? " in process " : "", o->pids ? o->pids : "");
	} else if (err == -ENOENT && o->critical_to) {
		(void)diag_error(d, err, "%s: %s did not occur%s%s%s", o->input, o->critical_to,
				 o->critical_from ? " after " : "",
				 o->critical_from ? o->critical_from : "",
				 o->pids ? " in that process" : "");
	} else if (err == -ENOENT) {
		(void)diag_error(d, err, "%s: nothing was recorded of process %s", o->input,
				 o->pids);
		diag_hint(d, "%s sched timehist -s lists the threads of the recording",
			  c->app->prog);
	}
	return err;
}

static int show(struct critical_call *c, struct critical *critical, struct named_run *run)
{
	struct tell to = app_tell(c->app);
	struct sched_critical_view v = { .critical = critical,
					 .max_rows =
						 (u32)min(c->o->critical_rows, (u64)UINT32_MAX) };
	bool chains = source_facts(c->src).has_chains;
	c->chain =
		(struct wait_chain_names){ .names = &run->named,
					   .frames = &run->tables.frames,
					   .chains = &run->tables.chains,
					   .max_stack = (u32)min(c->o->why_stack, (u64)UINT16_MAX) };
	c->text.screen = to.out->screen;
	int err = critical_finish(critical, chains ? label : NULL, c);
	if (err)
		return say_none(c, err);
	err = sched_critical_print(&v, &to);
	if (!chains && !c->app->json)
		diag_note(&c->app->diag, "no call chains were recorded: sched record -g shows "
					 "where threads blocked");
	sched_warn_losses(c->app, critical_states(critical), c->src);
	return err;
}

static int critical(struct critical_call *c)
{
	struct named_run run = { 0 };
	int err = find_event(c, "--from", c->o->critical_from, &c->opts.from_event);
	if (!err)
		err = find_event(c, "--to", c->o->critical_to, &c->opts.to_event);
	struct critical *critical = err ? NULL : critical_new(&c->opts);
	if (err || !critical)
		return err ? err : -ENOMEM;
	err = named_run(&run, c->src, critical_sink(critical, source_facts(c->src).has_chains),
			&(struct named_run_opts){ .symbols = app_symbols(c->app),
						  .names = &c->o->symbols,
						  .want = WANT_SYMBOL,
						  .workers = 1 });
	strbuf_init(&c->text);
	err = err && err != -E2BIG ? err : err ? say_none(c, err) : show(c, critical, &run);
	strbuf_done(&c->text);
	critical_free(critical);
	named_run_done(&run);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct sched_opts *o = opts;
	struct critical_call c = { .app = app, .o = o };
	const char *at = o->pids;
	size_t len;
	int status = sched_take_input(app, o, argc, argv);
	if (status)
		return status;
	if (!o->pids && !o->critical_to)
		return app_usage(app, "which interval? -p PID, or --from EVENT --to EVENT");
	if (at && (num_next_id(&at, &len, &c.opts.pid) <= 0 || *at))
		return app_usage(app, "-p: invalid process ID '%s'", o->pids);
	int err = sched_open(app, o, &c.src);
	if (err)
		return app_fail(app, err);
	err = critical(&c);
	c.src->ops->close(c.src);
	return err ? app_fail(app, err) : APP_DONE;
}

/* clang-format off */
static const struct opt rows[] = {
	SCHED_INPUT_ROWS,
	OPT_STR('p', "pid", struct sched_opts, pids, "PID", "the life of this process's main thread; with --from and --to: only events of this process"),
	OPT_STR(0, "from", struct sched_opts, critical_from, "EVENT", "the interval begins at the first EVENT (default: with the process, or the recording)"),
	OPT_STR(0, "to", struct sched_opts, critical_to, "EVENT", "the interval ends at the first EVENT after that, in the thread that it occurred in (default: with the process)"),
	OPT_UINT(0, "rows", struct sched_opts, critical_rows, "N", "rows of the tree (the longest ones) and of the table, 0 for all (30)"),
	OPT_UINT(0, "max-stack", struct sched_opts, why_stack, "N", "maximum number of frames per call chain, of the kernel and of the program each (4)"),
	SYMBOL_OPT_ROWS(struct sched_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "sched critical -p 1234", "what a process waited for, from its beginning to its end" },
	{ "sched critical --from sched_process_fork --to sched_process_exit -p 1234",
	  "from the fork of its first child to its exit" },
	{ 0 },
};

const struct command command_sched_critical = {
	.name = "critical",
	.summary = "show the chain of threads and waits that determined an interval",
	.usage = "[-p PID] [--from EVENT] [--to EVENT] [OPTIONS] [FILE]",
	.about =
		"Walks back from the end of the interval: while the thread ran, waited for a CPU, "
		"or for a timer or a device, that is the path; where another thread woke it, what "
		"that one did meanwhile is. The tree has the waits, and below them what the others "
		"did; its leaves add up to the interval. The table has each thread's part: without "
		"it, the interval would be shorter by no more than that, since another path may "
		"then be the longest. Record with 'sched record -g' for call chains.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct sched_opts),
	.defaults = sched_defaults,
	.mixed_words = true,
	.same_opts = true,
	.run = run,
};
