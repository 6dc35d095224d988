#include "cmd/script/names.h"

#include "cmd/app/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name; /* of perf's script */
	const char *instead;
} scripts[] = {
	{ "flamegraph", "flame" },
	{ "export-to-sqlite", "sql" },
	{ "export-to-postgresql", "export" },
	{ "gecko", "export" },
	{ "stackcollapse", "export" },
	{ "syscall-counts", "stat -e 'syscalls:sys_enter_*'" },
	{ "syscall-counts-by-pid", "stat --per-thread -e 'syscalls:sys_enter_*'" },
	{ "failed-syscalls", "record -e 'syscalls:sys_exit_*' --filter 'ret < 0'" },
	{ "failed-syscalls-by-pid", "record -e 'syscalls:sys_exit_*' --filter 'ret < 0'" },
	{ "wakeup-latency", "sched latency" },
	{ "sched-migration", "ftrace record -e sched:sched_migrate_task" },
	{ "futex-contention", "ftrace profile" },
	{ "rw-by-file", "ftrace hist" },
	{ "rw-by-pid", "ftrace hist" },
	{ "rwtop", "ftrace hist" },
	{ "sctop", "ftrace hist" },
};

int script_names_list(struct app *app)
{
	strbuf_str(&app->out,
		   "perf's Perl and Python scripts are not supported; built-in replacements:\n");
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		strbuf_printf(&app->out, "  %-24s sonde %s\n", scripts[i].name, scripts[i].instead);
	strbuf_str(&app->out,
		   "  any other                sonde script --json, for your own program\n");
	return APP_DONE;
}

/* perf writes flamegraph.html; what follows the name is for flame. */
static int run_flame(struct app *app, const char *input, int argc, char **argv)
{
	enum { OWN = 5 };
	char **words = calloc((size_t)argc + OWN + 1, sizeof(*words));
	if (!words)
		return app_fail(app, -ENOMEM);
	int nr = 0;
	words[nr++] = (char *)"flame";
	words[nr++] = (char *)"-i";
	words[nr++] = (char *)input;
	words[nr++] = (char *)"-o";
	words[nr++] = (char *)"flamegraph.html";
	for (int i = 0; i < argc; i++)
		words[nr++] = argv[i];
	(void)snprintf(app->title, sizeof(app->title), "%s", app->prog);
	int status = app_command(app, &command_flame, nr, words);
	free(words);
	return status;
}

bool script_names_run(struct app *app, const char *input, int argc, char **argv, int *status)
{
	bool verb = argc > 1 && (!strcmp(argv[0], "report") || !strcmp(argv[0], "record"));
	const char *name = argc ? argv[verb] : NULL;
	if (!name || (!verb && !access(name, F_OK)))
		return false; /* a recording of that name */
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		if (strcmp(scripts[i].name, name))
			continue;
		if (!i && !(verb && argv[0][2] == 'c')) {
			*status = run_flame(app, input, argc - 1 - verb, argv + 1 + verb);
			return true;
		}
		diag_error(&app->diag, -ENOTSUP, "perf's script '%s' is not supported", name);
		diag_hint(&app->diag, "use sonde %s instead", scripts[i].instead);
		*status = app_usage_said(app);
		return true;
	}
	return false;
}
