#include "cmd/app/help.h"
#include "base/json.h"
#include "base/opts_doc.h"
#include "cmd/app/commands.h"
#include "event/manual.h"
#include "lang/manual.h"

#include <string.h>

/* Headings of the overview, in its order; each command names one of them. */
static const char *const groups[] = {
	"Who is causing it",  "What is happening",	     "Why",
	"How did it develop", "About the machine and sonde",
};

struct help_opts {
	bool man;
	bool bash, zsh, fish;
};

/* Columns for the names of all commands. */
static int name_width(void)
{
	size_t width = 0;
	for (size_t i = 0; commands[i]; i++)
		width = max(width, strlen(commands[i]->name));
	return (int)width;
}

static int example_width(const struct opt_example *e)
{
	size_t width = 0;
	for (; e->line; e++)
		width = max(width, strlen(e->line));
	return (int)width;
}

static void overview_group(struct strbuf *to, const char *group, bool colour)
{
	int width = name_width();
	bool any = false;
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->group || strcmp(commands[i]->group, group))
			continue;
		if (!any)
			strbuf_printf(to, "\n%s%s%s:\n", colour ? "\033[1m" : "", group,
				      colour ? "\033[0m" : "");
		any = true;
		strbuf_printf(to, "  %-*s  %s\n", width, commands[i]->name, commands[i]->summary);
	}
}

void help_overview(struct app *app)
{
	struct strbuf *to = &app->out;
	strbuf_printf(to, "%s: %s\n\nExamples:\n", program.name, program.summary);
	int width = example_width(program.examples);
	for (const struct opt_example *e = program.examples; e->line; e++)
		strbuf_printf(to, "  %s %-*s  %s\n", app->prog, width, e->line, e->what);
	strbuf_printf(to, "\nUsage: %s %s\n", app->prog, program.usage);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		overview_group(to, groups[i], app_colours(app));
	strbuf_printf(
		to, "\n'%s help COMMAND' or '%s COMMAND --help' shows examples and all options.\n",
		app->prog, app->prog);
}

static void json_opts(struct json *j, const struct opt *row)
{
	json_key(j, "options");
	json_array(j);
	for (; row && row->type != OPT_TYPE_END; row++) {
		if (row->type == OPT_TYPE_HEADING || row->hidden || row->refused)
			continue;
		json_object(j);
		if (row->long_name)
			json_put_str(j, "long", row->long_name);
		if (row->short_name)
			json_put_str(j, "short", (char[]){ row->short_name, 0 });
		if (opt_takes_value(row))
			json_put_str(j, row->optional ? "optional_value" : "value", row->arg);
		json_put_str(j, "help", row->help);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_examples(struct json *j, const struct opt_example *e)
{
	json_key(j, "examples");
	json_array(j);
	for (; e && e->line; e++) {
		json_object(j);
		json_put_str(j, "line", e->line);
		json_put_str(j, "what", e->what);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_command(struct json *j, const struct command *cmd)
{
	json_object(j);
	json_put_str(j, "name", cmd->name);
	json_put_str(j, "summary", cmd->summary);
	json_put_str(j, "usage", cmd->usage);
	json_put_bool(j, "mixed_words", cmd->mixed_words);
	json_examples(j, cmd->examples);
	json_opts(j, cmd->opts);
	if (cmd->subs) {
		json_key(j, "commands");
		json_array(j);
		for (size_t i = 0; cmd->subs[i]; i++)
			json_command(j, cmd->subs[i]);
		json_array_end(j);
	}
	json_object_end(j);
}

static int show_json(struct app *app, const struct command *cmd)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_command(&j, cmd);
	int err = json_end(&j);
	return err ? app_fail(app, err) : APP_DONE;
}

/* What only the program's own page has: variables, files, and the pages of all commands. */
static void man_sections(struct strbuf *to)
{
	static const struct {
		const char *name, *what;
	} variables[] = {
		{ "SONDE_PAGER, PAGER", "pager for long output on a terminal (less); empty: none. PERF_PAGER when called as perf" },
		{ "NO_COLOR", "disables colours, whatever its value; \\-\\-color=always overrides it" },
		{ "COLUMNS, LINES", "terminal size where it cannot be queried" },
		{ "SONDE_CACHE, XDG_CACHE_HOME, HOME", "directory for cached symbol names, unwind tables and build IDs" },
		{ "TMPDIR", "directory for temporary files (/tmp)" },
		{ "PERF_BUILDID_DIR", "directory of the build ID cache (~/.debug)" },
		{ "DEBUGINFOD_URLS, DEBUGINFOD_TIMEOUT", "servers to ask for missing debug information, and how many seconds to wait for each" },
		{ "PERF_CONFIG", "settings when called as perf, instead of ~/.perfconfig" },
		{ "JITDUMPDIR", "directory where JIT compilers leave their dumps" },
	}, files[] = {
		{ "perf.data", "written by record and read by all other commands by default" },
		{ "trace.dat", "written by ftrace record" },
		{ "~/.debug", "binaries by build ID, in perf's layout" },
		{ "~/.cache/sonde", "function names and unwind tables; may be deleted" },
		{ "~/.perfconfig", "settings when called as perf" },
		{ "/run/sonde", "journals of kernel settings that were changed, until they are restored" },
		{ "/tmp/perf-PID.map", "names of JIT-compiled code, written by the compiler" },
	};
	strbuf_str(to, ".SH ENVIRONMENT\n");
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		strbuf_printf(to, ".TP\n\\fB%s\\fR\n%s\n", variables[i].name, variables[i].what);
	strbuf_str(to, ".SH FILES\n");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		strbuf_printf(to, ".TP\n\\fI%s\\fR\n%s\n", files[i].name, files[i].what);
	strbuf_str(to, ".SH SEE ALSO\n");
	for (size_t i = 0; commands[i]; i++)
		strbuf_printf(to, "%s\\fBsonde\\-%s\\fR(1)", i ? ",\n" : "", commands[i]->name);
	strbuf_str(to, ",\n\\fBsonde\\-events\\fR(7),\n\\fBsonde\\-language\\fR(7)\n");
}

static int show(struct app *app, const struct command *cmd, const char *title, bool man)
{
	if (app->json)
		return show_json(app, cmd);
	if (man)
		opts_man(cmd, cmd == &program ? NULL : app_common_rows, title, &app->out);
	if (man && cmd == &program)
		man_sections(&app->out);
	else if (man)
		;
	else if (cmd == &program)
		help_overview(app);
	else
		opts_help(cmd, app_common_rows, title, app->width, app_colours(app), &app->out);
	return APP_DONE;
}

/* Pages that belong to no command. */
static const struct help_page {
	const char *name;
	int (*json)(struct strbuf *to);
	void (*man)(struct strbuf *to);
	void (*text)(unsigned width, struct strbuf *to);
} pages[] = {
	{ "events", event_manual_json, event_manual, event_manual_text },
	{ "language", lang_manual_json, lang_manual, lang_manual_text },
};

static const struct help_page *find_page(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		if (!strcmp(pages[i].name, name))
			return &pages[i];
	return NULL;
}

static int show_page(struct app *app, const struct help_page *page, bool man)
{
	if (app->json) {
		int err = page->json(&app->out);
		return err ? app_fail(app, err) : APP_DONE;
	}
	if (man)
		page->man(&app->out);
	else
		page->text(app->width, &app->out);
	return APP_DONE;
}

/* The words lead from the program down to a sub-command: "ftrace record". */
static int help_run(struct app *app, void *opts, int argc, char **argv)
{
	struct help_opts *o = opts;
	const struct command *cmd = &program;
	struct strbuf title;
	if (o->bash)
		opts_bash_completion(commands, app_common_rows, program.name, &app->out);
	if (o->zsh)
		opts_zsh_completion(commands, app_common_rows, program.name, &app->out);
	if (o->fish)
		opts_fish_completion(commands, app_common_rows, program.name, &app->out);
	if (o->bash || o->zsh || o->fish)
		return APP_DONE;
	const struct help_page *page = argc == 1 ? find_page(argv[0]) : NULL;
	if (page)
		return show_page(app, page, o->man);
	strbuf_init(&title);
	strbuf_str(&title, app->prog);
	for (int i = 0; i < argc; i++) {
		const struct command *sub = cmd->subs ? app_find(cmd->subs, argv[i]) : NULL;
		if (!sub) {
			strbuf_done(&title);
			return app_no_command(app, cmd, argv[i], i ? NULL : "events");
		}
		cmd = sub;
		strbuf_printf(&title, " %s", cmd->name);
	}
	int status = show(app, cmd, strbuf_cstr(&title), o->man);
	strbuf_done(&title);
	return status;
}

static const struct opt help_rows[] = {
	OPT_FLAG(0, "man", struct help_opts, man, "Print a man page"),
	OPT_FLAG(0, "bash-completion", struct help_opts, bash, "Print the bash completion script"),
	OPT_FLAG(0, "zsh-completion", struct help_opts, zsh, "Print the zsh completion script"),
	OPT_FLAG(0, "fish-completion", struct help_opts, fish, "Print the fish completion script"),
	OPT_END(),
};

static const struct opt_example help_examples[] = {
	{ "help", "all commands" },
	{ "help workload", "one of them" },
	{ "help --man workload | man -l -", "its man page" },
	{ "help events", "how events are written, and which commands accept them" },
	{ "help language", "probes, values and functions for scripts of run" },
	{ "help --json", "all commands and options as JSON" },
	{ 0 },
};

const struct command command_help = {
	.name = "help",
	.group = "About the machine and sonde",
	.summary = "list the commands and show how to use them",
	.usage = "[OPTIONS] [COMMAND... | events | language]",
	.examples = help_examples,
	.opts = help_rows,
	.opts_size = sizeof(struct help_opts),
	.mixed_words = true,
	.run = help_run,
};

static int version_run(struct app *app, void *opts, int argc, char **argv)
{
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	if (!app->json) {
		strbuf_printf(&app->out, "%s\n", app->dialect->version);
		return APP_DONE;
	}
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "version", SONDE_VERSION);
	json_put_str(&j, "text", app->dialect->version);
	json_object_end(&j);
	int err = json_end(&j);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt_example version_examples[] = {
	{ "version", "the same as --version" },
	{ 0 },
};

const struct command command_version = {
	.name = "version",
	.group = "About the machine and sonde",
	.summary = "show the version",
	.usage = "",
	.examples = version_examples,
	.run = version_run,
};
