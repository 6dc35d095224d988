/* Finds the command by its name, or by the name we were called, and runs it. */
#include "base/guard.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "cmd/app/help.h"

#include <errno.h>
#include <string.h>

static int show_version(struct app *app)
{
	strbuf_printf(&app->out, "%s\n", app->dialect->version);
	return APP_DONE;
}

/* The whole command line belongs to one verb: "trace-cmd record" is "ftrace record". */
static int run_verb(struct app *app, int argc, char **argv)
{
	const struct command *cmd = app_find(commands, app->dialect->verb);
	if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")))
		return show_version(app);
	if (!cmd)
		return app_usage(app, "'%s' is not included in this build", app->dialect->verb);
	return app_command(app, cmd, argc, argv);
}

static int run(struct app *app, int argc, char **argv)
{
	int first;
	if (app->dialect->run)
		return app->dialect->run(app, argc, argv);
	if (app->dialect->verb)
		return run_verb(app, argc, argv);
	int ret = opts_parse(app_global_rows, false, &app->common, argc, argv, &first, &app->diag);
	app_decide(app);
	if (ret == -EINVAL)
		return app_usage_said(app);
	if (ret < 0)
		return app_fail(app, ret);
	if (ret > 0) {
		help_overview(app);
		return APP_DONE;
	}
	if (app->common.version)
		return show_version(app);
	if (first >= argc) {
		help_overview(app);
		return APP_USAGE;
	}
	const struct command *cmd = app_find(commands, argv[first]);
	if (!cmd)
		return app_no_command(app, &program, argv[first], NULL);
	return app_command(app, cmd, argc - first, argv + first);
}

int main(int argc, char **argv)
{
	guard_install();
	struct app app;
	app_init(&app, dialect_find(argc ? argv[0] : ""));
	return app_finish(&app, run(&app, argc, argv));
}
