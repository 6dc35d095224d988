#include "cmd/ftrace/hist_count.h"

#include "cmd/ftrace/record.h"
#include "cmd/ftrace/setup_opts.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"
#include "view/json_key_counts.h"

#include <errno.h>
#include <stdio.h>

/* What is counted of a recording; ctx is a struct event_counting. */
struct event_counting {
	struct app *app;
	struct event_hist_opts hist;
	struct source *src;
};

static const char *count_symbol(void *ctx, u64 addr, u64 *offset)
{
	return ftrace_env_symbol(replay_ftrace_env(((struct event_counting *)ctx)->src, 0), addr,
				 offset);
}

static const char *count_comm(void *ctx, s32 pid)
{
	const char *comm =
		ftrace_env_comm(replay_ftrace_env(((struct event_counting *)ctx)->src, 0), pid);
	return comm ? comm : "<...>";
}

static int count_json(struct app *app, struct event_hist *h)
{
	struct key_counts t;
	key_counts_init(&t);
	int err = event_hist_counts(h, &t);
	if (!err)
		err = json_key_counts(&t, &app->out);
	key_counts_done(&t);
	return err;
}

static int count_events(void *ctx, const char *path)
{
	struct event_counting *c = ctx;
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL };
	struct run_tables tables = { 0 };
	struct event_hist *h;
	int err = replay_ftrace_open(path, &replay, &c->src, &c->app->diag);
	if (err)
		return err;
	err = event_hist_new(&c->hist, &h, &c->app->diag);
	if (!err) {
		err = stream_run(c->src, event_hist_sink(h), 1, &tables, &c->app->diag);
		run_tables_done(&tables);
		if (!err && event_hist_missing(h)) {
			err = diag_error(&c->app->diag, -ENOENT, "%s has no field '%s'",
					 c->hist.event, event_hist_missing(h));
			diag_hint(&c->app->diag, "'sonde ftrace list -e %s -F' shows its fields",
				  c->hist.event);
		} else if (!err && c->app->json) {
			err = count_json(c->app, h);
		} else if (!err) {
			event_hist_text(h, &c->app->out);
		}
		event_hist_free(h);
	}
	c->src->ops->close(c->src);
	return err;
}

int ftrace_count_recorded(struct app *app, struct event_hist_opts hist, const char *filter,
			  int argc, char **argv)
{
	struct event_counting c = { .app = app, .hist = hist };
	struct event_hist *trial;
	struct ftrace_setup f = { 0 };
	char event[300];
	c.hist.ctx = &c;
	c.hist.symbol = count_symbol;
	c.hist.comm = count_comm;
	/* What is wrong with the words is told before anything is recorded. */
	int err = event_hist_new(&c.hist, &trial, &app->diag);
	if (err)
		return app_fail(app, err);
	event_hist_free(trial);
	(void)snprintf(event, sizeof(event), "%s:%s", hist.system, hist.event);
	ftrace_setup_defaults(&f);
	err = ftrace_take_event(&f, event, false, &app->diag);
	if (!err && filter)
		err = ftrace_take_filter(&f, filter, false, &app->diag);
	if (err) {
		ftrace_setup_end(&f);
		return app_fail(app, err);
	}
	return ftrace_record_and(app, &f, argc, argv, count_events, &c);
}
