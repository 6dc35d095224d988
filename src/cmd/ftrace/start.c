/* `sonde ftrace start`, `set`: settings that stay; `stop`, `restart`, `clear`: switches. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "session/child.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/setup_opts.h"
#include "cmd/ftrace/which_opts.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- start, set --------------------------------------------------------------------------------------------------------- */

struct start_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	struct ftrace_refused refused;
	bool fork;
};

static int run_command(struct app *app, struct child *c, char **argv, bool leave)
{
	int status;
	int err = child_go(c, argv[0], &app->diag);
	if (err)
		return child_exec_status(err);
	if (leave)
		return APP_DONE;
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return app_fail(app, -errno);
	return child_exit_status(status);
}

static int start(struct app *app, struct start_opts *o, bool clears, int argc, char **argv)
{
	struct ftrace_setup *s = &o->setup;
	struct child child = { .go_fd = -1, .exec_fd = -1 };
	int err = ftrace_setup_begin(s, false, NULL);
	if (!err && argc) {
		err = child_check(argv[0], &app->diag);
		if (err)
			return child_exec_status(err);
		err = s->dry_run ? 0 : child_prepare(&child, argv, NULL, &app->diag);
	}
	if (!err)
		err = ftrace_setup_apply(s, false, child.pid);
	for (size_t i = 0; clears && i < s->buffers.nr && !err; i++) {
		char path[320];
		(void)!str_path(path, sizeof(path), "%strace", s->buffers.at[i].folder);
		err = journal_poke(s->journal, path, "", true, &app->diag);
	}
	if (!err)
		err = ftrace_setup_switch(s, true);
	if (!err)
		err = journal_keep(s->journal);
	int status = err ? app_fail(app, err) : APP_DONE;
	if (!err && argc && !s->dry_run)
		status = run_command(app, &child, argv, o->fork);
	child_done(&child);
	return status;
}

static bool asks_for_nothing(const struct ftrace_buffer_opt *b)
{
	return !b->name && !b->tracer && !b->clock && !b->cpumask && !b->size && !b->events.nr &&
	       !b->functions.nr && !b->no_functions.nr && !b->graph.nr && !b->no_graph.nr &&
	       !b->options.nr && !b->stacks && !b->func_stack;
}

/* Everything follows a -B: the top buffer stays as it is. */
static void leave_top_alone(struct ftrace_setup *s)
{
	if (s->buffers.nr < 2 || s->top || !asks_for_nothing(&s->buffers.at[0]))
		return;
	s->buffers.nr--;
	memmove(s->buffers.at, s->buffers.at + 1, s->buffers.nr * sizeof(*s->buffers.at));
}

static int run_setup(struct app *app, void *opts, bool clears, int argc, char **argv)
{
	struct ftrace_setup *s = &((struct start_opts *)opts)->setup;
	if (s->only_command && !argc)
		return app_usage(app, "-F needs a command");
	s->no_filter = true; /* we are gone before anything happens */
	leave_top_alone(s);
	int err = ftrace_setup_open(s, &app->diag, &app->out);
	int status = err ? app_fail(app, err) : start(app, opts, clears, argc, argv);
	ftrace_setup_end(s);
	return status;
}

static int run_start(struct app *app, void *opts, int argc, char **argv)
{
	return run_setup(app, opts, true, argc, argv);
}

static int run_set(struct app *app, void *opts, int argc, char **argv)
{
	return run_setup(app, opts, false, argc, argv);
}

static void defaults(void *opts)
{
	ftrace_setup_defaults(&((struct start_opts *)opts)->setup);
}

static const struct opt start_rows[] = {
	FTRACE_SETUP_ROWS,
	OPT_FLAG(0, "fork", struct start_opts, fork, "Do not wait for the command"),
	OPT_FLAG('k', NULL, struct start_opts, refused.flag, "Settings are always left in place",
		 .hidden = true),
	FTRACE_NEVER_ROWS(struct start_opts),
	FTRACE_NO_FILE_ROWS(struct start_opts),
	FTRACE_NO_PROFILE_ROWS(struct start_opts),
	OPT_END(),
};

static const struct opt_example start_examples[] = {
	{ "ftrace start -e sched", "scheduler events into the top-level buffer" },
	{ "ftrace start -p function -l 'tcp_*'", "the function tracer; view with 'ftrace show'" },
	{ 0 },
};

const struct command command_ftrace_start = {
	.name = "start",
	.summary = "start tracing without a reader, and leave it on",
	.usage = "[OPTIONS] [COMMAND [ARGS]]",
	.about = "Settings apply to the top-level buffer (or an instance with -B), which is "
		 "cleared first, and stay until 'ftrace reset'. 'ftrace show' prints the buffer, "
		 "'ftrace extract' saves it as a trace.dat.",
	.examples = start_examples,
	.opts = start_rows,
	.opts_size = sizeof(struct start_opts),
	.defaults = defaults,
	.run = run_start,
};

static const struct opt_example set_examples[] = {
	{ "ftrace set -O stacktrace", "one more setting; the buffer keeps its contents" },
	{ 0 },
};

const struct command command_ftrace_set = {
	.name = "set",
	.summary = "change settings without clearing the buffer",
	.usage = "[OPTIONS] [COMMAND [ARGS]]",
	.examples = set_examples,
	.opts = start_rows,
	.opts_size = sizeof(struct start_opts),
	.defaults = defaults,
	.run = run_set,
};

/* ---- stop, restart, clear ------------------------------------------------------------------------------------------------- */

struct switch_opts {
	struct ftrace_which which;
};

struct poking {
	const struct tracing *t;
	struct diag *d;
	const char *file, *text;
	bool truncate;
};

static int poke(void *ctx, const char *folder, const char *name)
{
	struct poking *p = ctx;
	char path[400];
	(void)name;
	(void)!str_path(path, sizeof(path), "%s%s", folder, p->file);
	int err = tracing_write(p->t, path, p->text, p->truncate);
	return err ? diag_error(p->d, err, "cannot write to %s/%s: %s", p->t->path, path,
				strerror(-err))
		   : 0;
}

static int run_poke(struct app *app, void *opts, int argc, char **argv, struct poking p)
{
	struct switch_opts *o = opts;
	struct tracing t;
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	p.t = &t;
	p.d = &app->diag;
	err = ftrace_which_each(&o->which, &t, poke, &p, &app->diag);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

static int run_stop(struct app *app, void *opts, int argc, char **argv)
{
	return run_poke(app, opts, argc, argv,
			(struct poking){ .file = "tracing_on", .text = "0\n" });
}

static int run_restart(struct app *app, void *opts, int argc, char **argv)
{
	return run_poke(app, opts, argc, argv,
			(struct poking){ .file = "tracing_on", .text = "1\n" });
}

static int run_clear(struct app *app, void *opts, int argc, char **argv)
{
	return run_poke(app, opts, argc, argv,
			(struct poking){ .file = "trace", .text = "", .truncate = true });
}

static const struct opt switch_rows[] = { FTRACE_WHICH_ROWS(struct switch_opts, which), OPT_END() };

static const struct opt_example stop_examples[] = {
	{ "ftrace stop", "the buffer keeps its contents" },
	{ "ftrace stop -B mine", "for an instance" },
	{ 0 },
};

const struct command command_ftrace_stop = {
	.name = "stop",
	.summary = "stop writing to the buffer; keep all settings",
	.usage = "[OPTIONS]",
	.examples = stop_examples,
	.opts = switch_rows,
	.opts_size = sizeof(struct switch_opts),
	.run = run_stop,
};

static const struct opt_example restart_examples[] = {
	{ "ftrace restart", "continue after 'ftrace stop'" }, { 0 }
};

const struct command command_ftrace_restart = {
	.name = "restart",
	.summary = "resume writing to the buffer",
	.usage = "[OPTIONS]",
	.examples = restart_examples,
	.opts = switch_rows,
	.opts_size = sizeof(struct switch_opts),
	.run = run_restart,
};

static const struct opt_example clear_examples[] = {
	{ "ftrace clear -a", "clear the buffers of all instances" }, { 0 }
};

const struct command command_ftrace_clear = {
	.name = "clear",
	.summary = "clear the buffer",
	.usage = "[OPTIONS]",
	.examples = clear_examples,
	.opts = switch_rows,
	.opts_size = sizeof(struct switch_opts),
	.run = run_clear,
};
