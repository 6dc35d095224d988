/* sonde report: a recording as a table of who spent how much where, with call graphs. */
#include "cmd/report/report.h"
#include "cmd/app/choose_opts.h"

#include "cmd/annotate/annotate.h"
#include "cmd/app/commands.h"
#include "session/recording.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report_call {
	struct app *app;
	const struct report_opts *opts;
};

/* Which other option may have left nothing. */
static const char *narrows(const struct report_opts *o)
{
	return o->dsos		  ? "--dsos"
	       : o->symbols_only  ? "--symbols"
	       : o->symbol_part	  ? "--symbol-filter"
	       : o->exclude_other ? "--exclude-other"
	       : o->gate.on	  ? "--switch-on"
	       : o->gate.off	  ? "--switch-off"
				  : NULL;
}

static bool may_draw(void *ctx)
{
	return app_may_draw(((struct report_call *)ctx)->app);
}

static int annotate_row(void *ctx, const struct name_func *f, u32 event, struct strbuf *why)
{
	struct report_call *c = ctx;
	return annotate_browse(c->app, c->opts->input, &c->opts->symbols, f, event, why);
}

/* 0 or negative errno; *usage: what was asked for is wrong. */
static int report_source(struct app *app, struct report *r, bool *usage)
{
	const struct report_opts *o = r->opts;
	/* Keys may ask about all that was mapped, and times about all of the recording. */
	bool plain = !r->sort && !o->fields && !o->choose.time && !o->gate.on && !o->gate.off;
	if (o->branch_history && replay_perf_file(r->src))
		replay_perf_branch_history(r->src);
	int err = r->src->ops->prepare(r->src, plain ? MAY_START_EARLY : 0, &app->diag);
	if (!err)
		err = choose_parse(&r->choose, &o->choose, r->src, &app->diag);
	if (err)
		return err;
	err = choose_gate(&o->gate, r->src, &r->gate, &app->diag);
	*usage = err;
	if (!err)
		err = choose_words(&r->choose, o->dsos, &r->dsos);
	if (!err)
		err = choose_words(&r->choose, o->symbols_only, &r->symbols);
	if (!err)
		err = report_samples(r);
	if (!err && r->is_empty)
		choose_say_none(&o->choose, narrows(o), r->src, &app->diag);
	*usage |= r->bad_keys;
	return err;
}

/* What a trace.dat has not. */
static int check_trace(struct report *r)
{
	const struct report_opts *o = r->opts;
	const char *what = o->header || o->header_only ? "--header"
			   : o->dump		       ? "--dump-raw-trace"
			   : o->stats		       ? "--stats"
			   : o->tasks		       ? "--tasks"
			   : o->mmaps		       ? "--mmaps"
						       : NULL;
	return what ? recording_needs_perf(r->src, o->input, what, r->tell.diag) : 0;
}

static const struct report_labels labels = {
	.sort = "--sort",
	.fields = "--fields",
	.socket = "--socket-filter",
	.cpus = "--cpu",
	.branch_history = "--branch-history",
	.total_cycles = "--total-cycles",
	.no_branches = "--no-branch-stack",
};

/* One run over the recording; *again: the browser asks for another. */
static int report_once(struct app *app, struct report_opts *o, bool *again)
{
	struct report_call call = { .app = app, .opts = o };
	struct report r = { .tell = app_tell(app),
			    .labels = &labels,
			    .names = app_symbols(app),
			    .opts = o,
			    .annotate = annotate_row,
			    .ctx = &call,
			    .may_draw = may_draw };
	struct strbuf sort;
	bool usage = false;
	int status = report_check(app, &r);
	if (status)
		return status;
	strbuf_init(&sort);
	choose_init(&r.choose);
	int err = report_join_sort(&r, &sort);
	if (o->by_thread)
		r.sort = "tid,dso,sym";
	if (!err)
		err = recording_open_inputs(app_symbols(app), &o->inputs, o->input, RECORDING_TIME,
					    &o->symbols, &r.src);
	if (!err)
		err = check_trace(&r);
	if (!err && (o->header_only || o->stats || o->tasks || o->mmaps || o->dump))
		err = report_side(&r);
	else if (!err)
		err = report_source(app, &r, &usage);
	if (r.src)
		r.src->ops->close(r.src);
	report_done(&r);
	strbuf_done(&sort);
	*again = r.toggle_threads && !err;
	return usage ? app_usage_said(app) : err ? app_fail(app, err) : APP_DONE;
}

static int report_run(struct app *app, void *opts, int argc, char **argv)
{
	struct report_opts *o = opts;
	o->choose.sides_given |= guest_opts_named(&o->symbols.guest);
	choose_sides(&o->choose, app);
	int taken = report_take_sort(o, argc, argv);
	if (taken < 0)
		return app_fail(app, taken);
	argc -= taken;
	argv += taken;
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
	o->input = recording_input(&o->inputs, o->input);
	if (argc == 1)
		o->input = argv[0];
	if (argc == 1 && o->inputs.items.nr > 1)
		return app_usage(app, "unexpected argument '%s': use -i for several files", argv[0]);
	bool again;
	int status;
	do {
		status = report_once(app, o, &again);
		o->by_thread = !o->by_thread;
	} while (again);
	return status;
}

const struct command command_report = {
	.name = "report",
	.group = "Why",
	.summary = "show where the time of a recording went",
	.usage = "[OPTIONS] [FILE]",
	.about = "Reads a perf.data file (ours or perf's) and prints one row for each command, "
		 "library and function, heaviest first, weighted by period. With call chains, "
		 "callers are counted too and each row shows its call graph.\nFor a trace.dat, "
		 "each event is a sample with the stack recorded with it; calls of the function "
		 "graph tracer are weighted by their own duration in nanoseconds.",
	.examples = report_examples,
	.opts = report_rows,
	.opts_size = sizeof(struct report_opts),
	.defaults = report_defaults,
	.mixed_words = true,
	.run = report_run,
};
