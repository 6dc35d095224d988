#include "cmd/app/app.h"
#include "cmd/app/files.h"
#include "base/guard.h"
#include "base/opts_doc.h"
#include "session/symbols.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT_BUFFER = 1 << 16, ERR_BUFFER = 1 << 12, NAMES_MAX = 128 };

static const char *const when_words[] = { "auto", "always", "never", NULL };

/* trace-cmd's levels, by name or number: from "info" on it says more than warnings, which we always do. */
static int verbose_level(void *opts, const char *value, bool negated, struct diag *d)
{
	static const char *const levels[] = { "none", "crit", "err", "warn", "info", "debug", "all" };
	static const char *const long_names[] = { "none", "critical", "error", "warning",
						  "info", "debug",    "all" };
	enum { WARN = 3 };
	(void)negated;
	for (unsigned i = 0; i < ARRAY_SIZE(levels); i++)
		if (!strcmp(value, levels[i]) || !strcmp(value, long_names[i]) ||
		    (value[0] == (char)('0' + i) && !value[1])) {
			((struct app_common *)opts)->verbose = i > WARN ? i - WARN : 0;
			return 0;
		}
	return diag_error(
		d, -EINVAL,
		"--verbose=%s: expected none, crit, err, warn, info, debug or all, or 0 to 6",
		value);
}

/* clang-format off */
#define COMMON_ROWS                                                                                                  \
	OPT_COUNT('v', "verbose", struct app_common, verbose, "Be more verbose; repeat for more", .call = verbose_level), \
	OPT_FLAG(0, "json", struct app_common, json, "Print JSON"),                                      \
	OPT_FLAG(0, "no-pager", struct app_common, no_pager, "Do not use a pager"),  \
	OPT_ENUM(0, "color", struct app_common, colour, "WHEN", "When to use colours", when_words,                   \
		 .optional = true, .fallback = "always")
/* clang-format on */

const struct opt app_common_rows[] = {
	COMMON_ROWS,
	OPT_FLAG(0, "version", struct app_common, version, "Show the version", .hidden = true),
	OPT_END(),
};
const struct opt app_global_rows[] = {
	OPT_FLAG('V', "version", struct app_common, version, "Show the version"),
	COMMON_ROWS,
	OPT_END(),
};

/* The pager outlives a signal that ends us, and would then fight the shell for the terminal: wait for it. */
static volatile sig_atomic_t pager_pid, pager_fd;

static void die_after_pager(int signo)
{
	(void)close(pager_fd);
	while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
		;
	(void)signal(signo, SIG_DFL);
	(void)raise(signo);
}

bool app_may_draw(struct app *app)
{
	const char *term = getenv("TERM");
	if (app->wide || term_capable())
		return !app->wide;
	if (!app->told_plain && (!app->dialect->quiet_notes || app->verbose))
		diag_note(&app->diag, "TERM is %s: plain text, no pager and no terminal UI",
			  term && *term ? term : "not set");
	app->told_plain = true;
	return false;
}

static void start_pager(struct app *app)
{
	int fd;
	pid_t pid;
	const char *command = term_pager_command(app->dialect->pager);
	app->may_page = false;
	if (!command || !app_may_draw(app) || term_pager_open(command, &fd, &pid))
		return;
	app->out_fd = fd;
	app->pager_pid = pid;
	pager_fd = fd;
	pager_pid = pid;
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction act = { .sa_handler = die_after_pager };
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaction(signals[i], &act, NULL);
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

static void show_progress(void *ctx, const char *hex, size_t done, size_t total)
{
	struct term_progress *p = ctx;
	char line[160];
	if (done == SIZE_MAX) {
		term_progress_clear(p);
		return;
	}
	if (!term_progress_due(p))
		return;
	if (total)
		(void)snprintf(line, sizeof(line),
			       "debug symbols of %.12s: %.1f of %.1f MB (Ctrl-C to skip)", hex,
			       (double)done / 1e6, (double)total / 1e6);
	else
		(void)snprintf(line, sizeof(line),
			       "debug symbols of %.12s: asking the servers (Ctrl-C to skip)", hex);
	term_progress_show(p, line);
}

static void say(void *ctx)
{
	app_say(ctx);
}

struct tell app_tell(struct app *app)
{
	return (struct tell){ .out = &app->out,
			      .diag = &app->diag,
			      .json = app->json,
			      .err = &app->err,
			      .title = app->title,
			      .verbose = app->verbose,
			      .colour = app->colour,
			      .colour_err = app->colour_err,
			      .when_colour = (enum term_when)app->common.colour,
			      .say = say,
			      .ctx = app };
}

struct symbols *app_symbols(struct app *app)
{
	/* A request may still run when the process ends. */
	static struct term_progress progress;
	static struct symbols symbols;
	struct symbols *s = app->symbols = &symbols;
	if (!s->diag)
		term_progress_init(&progress, STDERR_FILENO);
	s->diag = &app->diag;
	s->opener = files_opener();
	s->bounds = !app->dialect->plain_names;
	s->all_notes = app->verbose;
	s->server.progress = show_progress;
	s->server.ctx = &progress;
	return s;
}

/* ---- output ------------------------------------------------------------------------------------------------------- */

static int out_drain(void *ctx, const char *data, size_t len)
{
	struct app *app = ctx;
	if (app->may_page)
		start_pager(app);
	if (!app->out.screen)
		return strbuf_drain_fd(&app->out_fd, data, len);
	return printable_write(&app->out_screen, app->out_fd, data, len,
			       term_printable(app->painted));
}

static int err_drain(void *ctx, const char *data, size_t len)
{
	struct app *app = ctx;
	if (!app->err.screen)
		return strbuf_drain_fd(&app->err_fd, data, len);
	return printable_write(&app->err_screen, app->err_fd, data, len,
			       term_printable(app->colour_err));
}

void app_init(struct app *app, const struct dialect *dialect)
{
	*app = (struct app){ .dialect = dialect,
			     .prog = dialect->called,
			     .out_fd = STDOUT_FILENO,
			     .err_fd = STDERR_FILENO };
	(void)snprintf(app->title, sizeof(app->title), "%s", app->prog);
	strbuf_init_drain(&app->out, OUT_BUFFER, out_drain, app);
	strbuf_init_drain(&app->err, ERR_BUFFER, err_drain, app);
	diag_init(&app->diag);
	app->diag.options = app_option_names;
	app_decide(app);
}

void app_decide(struct app *app)
{
	enum term_when when = (enum term_when)app->common.colour;
	app->json = app->common.json;
	app->verbose = app->common.verbose;
	app->colour = term_colour(when, STDOUT_FILENO);
	app->colour_err = term_colour(when, STDERR_FILENO);
	app->width = term_width(STDOUT_FILENO);
	app->wide = !term_is_tty(STDOUT_FILENO);
	app->out.screen = !app->wide;
	app->err.screen = term_is_tty(STDERR_FILENO);
	app->may_page = !app->wide && !app->common.no_pager && !app->pager_pid;
}

bool app_colours(struct app *app)
{
	app->painted |= app->colour;
	return app->colour;
}

void app_live(struct app *app)
{
	app->may_page = false;
}

int app_flush(struct app *app)
{
	int err = strbuf_flush(&app->out);
	(void)strbuf_flush(&app->err);
	return err;
}

void app_say(struct app *app)
{
	if (app->dialect->quiet_notes && !app->verbose)
		diag_drop_notes(&app->diag);
	diag_render(&app->diag, app->title, app->colour_err, &app->err);
	if (app->diag.nr_errors && !app->diag.items.nr)
		strbuf_printf(&app->err, "%s: out of memory\n", app->title);
	diag_done(&app->diag);
	(void)strbuf_flush(&app->err);
}

/* Files that we mapped and somebody truncated: one message each, whoever of many threads came upon it. */
static bool report_cut_inputs(struct app *app)
{
	bool any = false;
	for (char *name; (name = guard_take_cut()); free(name), any = true)
		diag_error(&app->diag, -EIO, "'%s' was truncated while it was being read", name);
	return any;
}

int app_fail(struct app *app, int err)
{
	(void)report_cut_inputs(app);
	/* What could not be written is told once, when the output is closed. */
	if (!app->diag.nr_errors && err != app->out.err)
		diag_error(&app->diag, err, "%s", strerror(-err));
	return APP_FAILED;
}

int app_usage_said(struct app *app)
{
	diag_hint(&app->diag, "'%s --help' shows examples and all options", app->title);
	return APP_USAGE;
}

int app_usage(struct app *app, const char *fmt, ...)
{
	va_list ap;
	struct strbuf s;
	strbuf_init(&s);
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	diag_error(&app->diag, -EINVAL, "%s", strbuf_cstr(&s));
	strbuf_done(&s);
	return app_usage_said(app);
}

/* Text that fits on the screen needs no pager. */
static bool fits_screen(const struct app *app)
{
	unsigned lines = 0;
	for (size_t i = 0; i < app->out.len; i++)
		lines += app->out.data[i] == '\n';
	return lines + 1 < term_height(STDOUT_FILENO);
}

static int close_out(struct app *app)
{
	int err = strbuf_flush(&app->out);
	int end = printable_end(&app->out_screen, app->out_fd, term_printable(app->painted));
	err = err ? err : end;
	/* A full disk may only show here. A standard output that was closed is an error only if something was written. */
	if (close(app->out_fd) && !err && errno != EBADF)
		err = -errno;
	if (app->pager_pid)
		while (waitpid(app->pager_pid, NULL, 0) < 0 && errno == EINTR)
			;
	return err;
}

static void die_of(int signo)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, signo);
	(void)signal(signo, SIG_DFL);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(signo);
}

int app_finish(struct app *app, int status)
{
	if (app->may_page && fits_screen(app))
		app->may_page = false;
	int err = close_out(app);
	files_report(app);
	if (report_cut_inputs(app) && !status)
		status = APP_FAILED;
	if (err == -EPIPE) { /* the reader has seen enough */
		app->die_of = app->die_of ? app->die_of : SIGPIPE;
	} else if (err) {
		diag_error(&app->diag, err, "cannot write to standard output: %s", strerror(-err));
		status = status ? status : APP_FAILED;
	}
	app_say(app);
	if (app->symbols)
		symbols_done(app->symbols);
	strbuf_done(&app->out);
	strbuf_done(&app->err);
	(void)!printable_end(&app->err_screen, app->err_fd, term_printable(app->colour_err));
	if (app->die_of)
		die_of(app->die_of);
	return status;
}

const struct command *app_find(const struct command *const *cmds, const char *name)
{
	for (; *cmds; cmds++)
		if (!strcmp((*cmds)->name, name))
			return *cmds;
	return NULL;
}

int app_no_command(struct app *app, const struct command *cmd, const char *word, const char *topic)
{
	const struct command *const *cmds = cmd->subs;
	const char *names[NAMES_MAX];
	size_t nr = 0;
	for (const struct opt_example *e = cmd->elsewhere; e && e->line; e++)
		if (!strcmp(e->line, word)) {
			diag_error(&app->diag, -ENOTSUP, "unknown command '%s'", word);
			diag_hint(&app->diag, "%s", e->what);
			return app_usage_said(app);
		}
	for (; cmds && cmds[nr] && nr < NAMES_MAX - 1; nr++)
		names[nr] = cmds[nr]->name;
	if (topic)
		names[nr++] = topic;
	const char *close = str_closest(word, names, nr);
	diag_error(&app->diag, -EINVAL, "unknown command '%s'", word);
	if (close)
		diag_hint(&app->diag, "did you mean '%s'?", close);
	return app_usage_said(app);
}

static int parse_and_run(struct app *app, const struct command *cmd, void *opts, int argc,
			 char **argv);

static void begin_command(struct app *app, const struct command *cmd, const char *word)
{
	size_t len = strlen(app->title);
	if (!strcmp(word, cmd->name))
		(void)snprintf(app->title + len, sizeof(app->title) - len, " %s", cmd->name);
	app->cmd = cmd;
}

static int run_words(struct app *app, const struct command *cmd, void *opts, int argc, char **argv)
{
	const struct command *sub = cmd->subs && argc ? app_find(cmd->subs, argv[0]) : NULL;
	if (sub && !sub->same_opts)
		return app_command(app, sub, argc, argv);
	if (sub) {
		begin_command(app, sub, argv[0]);
		return parse_and_run(app, sub, opts, argc, argv);
	}
	if (cmd->run)
		return cmd->run(app, opts, argc, argv);
	if (argc)
		return app_no_command(app, cmd, argv[0], NULL);
	return app_usage(app, "no command given");
}

static int parse_and_run(struct app *app, const struct command *cmd, void *opts, int argc,
			 char **argv)
{
	int first;
	void *taken = (char *)opts + cmd->takes_at;
	struct opt_set sets[] = { { cmd->opts, opts },
				  { cmd->takes ? cmd->takes->opts : NULL, taken },
				  { app_common_rows, &app->common } };
	int ret = opts_parse_sets(sets, ARRAY_SIZE(sets), cmd->mixed_words, argc, argv, &first,
				  &app->diag);
	app_decide(app);
	if (ret == -EINVAL)
		return app_usage_said(app);
	if (ret < 0)
		return app_fail(app, ret);
	if (ret == 0 && app->common.version) {
		strbuf_printf(&app->out, "%s\n", app->dialect->version);
		return APP_DONE;
	}
	if (ret == 0) {
		int status = run_words(app, cmd, opts, argc - first, argv + first);
		if (cmd->takes)
			opts_free(cmd->takes->opts, taken);
		return status;
	}
	opts_help(cmd, app_common_rows, app->title, app->width, app_colours(app), &app->out);
	return APP_DONE;
}

int app_command(struct app *app, const struct command *cmd, int argc, char **argv)
{
	void *opts = calloc(1, max(cmd->opts_size, (size_t)1));
	if (!opts)
		return app_fail(app, -ENOMEM);
	if (cmd->defaults)
		cmd->defaults(opts);
	begin_command(app, cmd, argv[0]);
	int status = parse_and_run(app, cmd, opts, argc, argv);
	opts_free(cmd->opts, opts);
	free(opts);
	return status;
}
