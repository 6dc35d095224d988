#include "cmd/ftrace/watch.h"

#include <errno.h>

/* Sums are made while the run goes on; what a burst brings may wait, for a gap would spoil them. */
enum { HELD_BYTES = 256 << 20 };

int ftrace_run_status(struct app *app, const struct command_run *r, bool command)
{
	bool by_itself = command && r->ended && !r->was_ended;
	/* "Hit Ctrl^C to stop recording": for trace-cmd that is how it ends. */
	if (r->signal == SIGINT && !command && app->dialect->traces_until_ctrl_c)
		return APP_DONE;
	if (r->signal && !by_itself) {
		app->die_of = r->signal;
		return 128 + r->signal;
	}
	return by_itself ? child_exit_status(r->wait_status) : APP_DONE;
}

static void say_lost(struct app *app, const struct live_ftrace_stats *st)
{
	u64 lost = st->overrun + st->dropped;
	if (lost)
		diag_warn(&app->diag, "%llu %s lost: use a larger buffer (-b) or fewer events",
			  (unsigned long long)lost, str_plural(lost, "event was", "events were"));
}

static int watch(struct app *app, struct ftrace_setup *f, char **argv, const struct ftrace_watch *w)
{
	struct trace_run r;
	struct trace_run_opts o = { .setup = f, .argv = argv, .live = w->live, .answer = &w->answer };
	if (!o.live.held_bytes)
		o.live.held_bytes = HELD_BYTES;
	int err = trace_run(&r, &o), status;
	if (w->warn_lost && r.began)
		say_lost(app, &r.stats);
	if (!err && r.began && w->answer.show)
		err = w->answer.show(w->answer.ctx, r.live.source);
	if (r.run.exec_failed)
		status = child_exec_status(err);
	else if (err && err != -EPIPE)
		status = app_fail(app, err);
	else
		status = ftrace_run_status(app, &r.run, argv != NULL);
	trace_run_done(&r);
	return status;
}

int ftrace_watch(struct app *app, struct ftrace_setup *f, int argc, char **argv,
		 const struct ftrace_watch *w)
{
	int status;
	app_live(app);
	if (f->only_command && !argc) {
		status = app_usage(app, "-F needs a command");
	} else {
		int err = ftrace_setup_open(f, &app->diag, &app->out);
		status = err ? app_fail(app, err) : watch(app, f, argc ? argv : NULL, w);
	}
	ftrace_setup_end(f);
	return status;
}
