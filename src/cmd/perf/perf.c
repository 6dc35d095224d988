#include "cmd/perf/perf.h"

#include "base/opts_doc.h"
#include "cmd/app/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PERF_FAILED = 255, WORDS_MAX = 4096 };

/* All verbs of perf 6.1 and later: those that we do not have are known by name. */
static const char *const verbs[] = {
	"annotate", "archive", "bench",	    "buildid-cache", "buildid-list", "c2c",	"check",
	"config",   "daemon",  "data",	    "diff",	     "evlist",	     "ftrace",	"help",
	"inject",   "iostat",  "kallsyms",  "kmem",	     "kvm",	     "kwork",	"list",
	"lock",	    "mem",     "probe",	    "record",	     "report",	     "sched",	"script",
	"stat",	    "test",    "timechart", "top",	     "trace",	     "version",
};

static const struct command *const own[] = {
	&command_perf_check,	&command_perf_config, &command_perf_ftrace,  &command_perf_help,
	&command_perf_kallsyms, &command_perf_test,   &command_perf_version, NULL,
};

/* perf's verbs before ours of the same name; then ours that perf has not (doctor, flame). */
static const struct command *find(const char *word)
{
	const struct command *cmd = app_find(own, word);
	return cmd ? cmd : app_find(commands, word);
}

/* perf's own list of verbs with our summaries. */
static void perf_show_usage(struct app *app)
{
	strbuf_str(&app->out, "\n usage: perf [--version] [--help] [OPTIONS] COMMAND [ARGS]\n\n "
			      "The most commonly used perf commands are:\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		const struct command *cmd = find(verbs[i]);
		if (cmd)
			strbuf_printf(&app->out, "   %-15s %s\n", cmd->name, cmd->summary);
	}
	strbuf_str(&app->out,
		   "\n See 'perf help COMMAND' for more information on a specific command.\n\n");
}

static int unknown_verb(struct app *app, const char *word)
{
	bool of_perf = false;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		of_perf = of_perf || !strcmp(verbs[i], word);
	if (!of_perf) {
		const char *close = str_closest(word, verbs, ARRAY_SIZE(verbs));
		strbuf_printf(&app->err, "perf: '%s' is not a perf-command. See 'perf --help'.\n",
			      word);
		if (close && find(close))
			strbuf_printf(&app->err, "\nDid you mean this?\n\t%s\n", close);
		return APP_FAILED;
	}
	strbuf_printf(&app->err,
		      "perf: '%s' is a command of perf that sonde does not have. There are:", word);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (find(verbs[i]))
			strbuf_printf(&app->err, " %s", verbs[i]);
	strbuf_str(&app->err, "\n");
	if (!strcmp(word, "daemon"))
		strbuf_str(&app->err,
			   "  hint: 'perf record -a --overwrite --switch-output' keeps the newest "
			   "samples until SIGUSR2; systemd or a shell keeps it running\n");
	return APP_FAILED;
}

/* ---- what the settings change ----------------------------------------------------------------------------------- */

/* A setting as an option that stands before those on the command line. */
static const struct {
	const char *key, *verb, *option;
	enum {
		AS_VALUE, /* --OPTION=VALUE */
		AS_FLAG, /* --OPTION or --no-OPTION */
		AS_OPPOSITE, /* --no-OPTION when it is true */
	} how;
} defaults[] = {
	{ "report.children", "report", "children", AS_FLAG },
	{ "report.group", "report", "group", AS_FLAG },
	{ "report.percent-limit", "report", "percent-limit", AS_VALUE },
	{ "report.sort_order", "report", "sort", AS_VALUE },
	{ "call-graph.print-type", "report", "call-graph-default", AS_VALUE },
	{ "call-graph.threshold", "report", "call-graph-default", AS_VALUE },
	{ "call-graph.order", "report", "call-graph-default", AS_VALUE },
	{ "call-graph.sort-key", "report", "call-graph-default", AS_VALUE },
	{ "hist.percentage", "report", "percentage", AS_VALUE },
	{ "hist.percentage", "diff", "percentage", AS_VALUE },
	{ "diff.order", "diff", "order", AS_VALUE },
	{ "diff.compute", "diff", "compute", AS_VALUE },
	{ "annotate.disassembler_style", "annotate", "disassembler-style", AS_VALUE },
	{ "annotate.hide_src_code", "annotate", "source", AS_OPPOSITE },
	{ "annotate.show_nr_samples", "annotate", "show-nr-samples", AS_FLAG },
	{ "annotate.show_total_period", "annotate", "show-total-period", AS_FLAG },
	{ "stat.big-num", "stat", "big-num", AS_FLAG },
};

static bool has_option(const struct command *cmd, const char *name)
{
	for (const struct opt *row = cmd->opts; row && row->type != OPT_TYPE_END; row++)
		if (row->long_name && !strcmp(row->long_name, name))
			return true;
	return false;
}

static bool is_true(const char *value)
{
	return !strcasecmp(value, "true") || !strcasecmp(value, "yes") ||
	       !strcasecmp(value, "on") || !strcmp(value, "1");
}

static char *default_word(const struct ini *c, const struct command *cmd, size_t i)
{
	const char *value = ini_get(c, defaults[i].key);
	char *word = NULL;
	if (!value || strcmp(defaults[i].verb, cmd->name) || !has_option(cmd, defaults[i].option))
		return NULL;
	bool on = is_true(value) == (defaults[i].how == AS_FLAG);
	int n = defaults[i].how == AS_VALUE
			? asprintf(&word, "--%s=%s", defaults[i].option, value)
			: asprintf(&word, "--%s%s", on ? "" : "no-", defaults[i].option);
	return n < 0 ? NULL : word;
}

/* A home folder's ~ is left to us. */
static void set_buildid_dir(const char *dir)
{
	char path[4096];
	const char *home = secure_getenv("HOME");
	if (dir[0] == '~' && dir[1] == '/' && home &&
	    snprintf(path, sizeof(path), "%s%s", home, dir + 1) < (int)sizeof(path))
		dir = path;
	(void)setenv("PERF_BUILDID_DIR", dir, 0);
}

static void set_pager(struct app *app, const struct ini *c, const char *verb)
{
	char key[96];
	(void)snprintf(key, sizeof(key), "pager.%s", verb);
	const char *value = ini_get(c, key);
	if (!value)
		return;
	if (!strcasecmp(value, "false") || !strcasecmp(value, "no") || !strcasecmp(value, "off") ||
	    !strcmp(value, "0"))
		app->common.no_pager = true;
	else if (!is_true(value))
		(void)setenv("PERF_PAGER", value, 0);
}

static int run_verb(struct app *app, const struct command *cmd, int argc, char **argv)
{
	struct ini c;
	char *words[ARRAY_SIZE(defaults)],
		**full = calloc((size_t)argc + ARRAY_SIZE(defaults) + 1, sizeof(*full));
	int nr = 0;
	if (!full)
		return app_fail(app, -ENOMEM);
	ini_init(&c);
	/* `perf config` says itself what is wrong with the files. */
	int err =
		cmd == &command_perf_config ? 0 : perf_config_load(&c, PERF_CONFIG_ALL, &app->diag);
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		words[nr] = default_word(&c, cmd, i);
		nr += words[nr] != NULL;
	}
	const char *dir = ini_get(&c, "buildid.dir");
	if (dir)
		set_buildid_dir(dir);
	set_pager(app, &c, cmd->name);
	full[0] = argv[0];
	memcpy(full + 1, words, (size_t)nr * sizeof(*full));
	memcpy(full + 1 + nr, argv + 1, (size_t)(argc - 1) * sizeof(*full));
	int status = err ? app_fail(app, err) : app_command(app, cmd, argc + nr, full);
	for (int i = 0; i < nr; i++)
		free(words[i]);
	free(full);
	ini_done(&c);
	/* Where we failed, not the command that we ran. */
	bool failed = app->diag.nr_errors &&
		      (status == APP_FAILED || status == APP_CANNOT_RUN || status == APP_NOT_FOUND);
	return failed ? PERF_FAILED : status;
}

/* ---- before the verb -------------------------------------------------------------------------------------------- */

struct perf_opts {
	bool version;
	unsigned verbose;
	bool paginate, no_pager;
	bool list_cmds, list_opts;
	bool exec_path, html_path;
	const char *buildid_dir;
	const char *debugfs_dir;
	const char *debug;
};

static const struct opt perf_rows[] = {
	OPT_FLAG(0, "version", struct perf_opts, version, "Show the version"),
	OPT_COUNT('v', NULL, struct perf_opts, verbose, "Show the version; -vv shows build options"),
	OPT_FLAG('p', "paginate", struct perf_opts, paginate, "Use a pager"),
	OPT_FLAG(0, "no-pager", struct perf_opts, no_pager, "Use no pager"),
	OPT_STR(0, "buildid-dir", struct perf_opts, buildid_dir, "DIR",
		"Directory of the build ID cache"),
	OPT_STR(0, "debugfs-dir", struct perf_opts, debugfs_dir, "DIR",
		"Not needed: it is detected", .hidden = true),
	OPT_STR(0, "debug", struct perf_opts, debug, "VARIABLE", "Not used", .hidden = true),
	OPT_FLAG(0, "list-cmds", struct perf_opts, list_cmds, "The verbs, for completion"),
	OPT_FLAG(0, "list-opts", struct perf_opts, list_opts, "These options, for completion"),
	OPT_FLAG(0, "exec-path", struct perf_opts, exec_path, "Where helper programs would be",
		 .hidden = true),
	OPT_FLAG(0, "html-path", struct perf_opts, html_path, "Where documentation would be",
		 .hidden = true),
	OPT_END(),
};

static void list_cmds(struct app *app)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (find(verbs[i]))
			strbuf_printf(&app->out, "%s ", verbs[i]);
	strbuf_char(&app->out, '\n');
}

static void list_opts(struct app *app)
{
	strbuf_str(&app->out, "--help ");
	for (const struct opt *row = perf_rows; row->type != OPT_TYPE_END; row++)
		if (row->long_name)
			strbuf_printf(&app->out, "--%s ", row->long_name);
	strbuf_char(&app->out, '\n');
}

/* Options that answer by themselves. false: go on to the verb. */
static bool answered(struct app *app, const struct perf_opts *o)
{
	if (o->version || o->verbose)
		strbuf_printf(&app->out, "%s\n", perf_version_line);
	if (o->verbose > 1)
		perf_show_features(app);
	if (o->list_cmds)
		list_cmds(app);
	if (o->list_opts)
		list_opts(app);
	if (o->exec_path || o->html_path)
		strbuf_str(&app->out,
			   o->exec_path ? "/usr/lib/perf-core\n" : "/usr/share/doc/perf-core\n");
	return o->version || o->verbose || o->list_cmds || o->list_opts || o->exec_path ||
	       o->html_path;
}

int perf_run(struct app *app, int argc, char **argv)
{
	struct perf_opts o = { 0 };
	int first;
	int ret = opts_parse(perf_rows, false, &o, argc, argv, &first, &app->diag);
	if (ret == -EINVAL)
		return app_usage_said(app);
	if (ret < 0)
		return app_fail(app, ret);
	if (ret > 0) {
		perf_show_usage(app);
		return APP_DONE;
	}
	if (answered(app, &o))
		return APP_DONE;
	if (first >= argc) {
		perf_show_usage(app);
		return APP_FAILED;
	}
	app->common.no_pager = o.no_pager;
	if (o.buildid_dir)
		(void)setenv("PERF_BUILDID_DIR", o.buildid_dir, 1);
	const struct command *cmd = find(argv[first]);
	return cmd ? run_verb(app, cmd, argc - first, argv + first) : unknown_verb(app, argv[first]);
}

/* ---- help ------------------------------------------------------------------------------------------------------- */

static int help_run(struct app *app, void *opts, int argc, char **argv)
{
	char title[64];
	(void)opts;
	if (!argc) {
		perf_show_usage(app);
		return APP_DONE;
	}
	const struct command *cmd = find(argv[0]);
	if (!cmd)
		return unknown_verb(app, argv[0]);
	(void)snprintf(title, sizeof(title), "perf %s", cmd->name);
	opts_help(cmd, app_common_rows, title, app->width, app_colours(app), &app->out);
	return APP_DONE;
}

static const struct opt_example help_examples[] = {
	{ "help", "the commands" },
	{ "help record", "one of them" },
	{ 0 },
};

const struct command command_perf_help = {
	.name = "help",
	.summary = "show the commands, or one of them",
	.usage = "[COMMAND]",
	.examples = help_examples,
	.mixed_words = true,
	.run = help_run,
};

/* ---- test -w ---------------------------------------------------------------------------------------------------- */

struct test_opts {
	const char *workload;
	bool list_workloads;
	bool list;
	bool verbose;
};

/* Workloads that perf calls otherwise. */
static const char *const renamed[][2] = {
	{ "leafloop", "leaf" },
	{ "inlineloop", "inline" },
	{ "context_switch_loop", "switches" },
};

static int test_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct test_opts *o = opts;
	char *words[WORDS_MAX];
	if (!o->workload && !o->list_workloads) {
		diag_error(&app->diag, -ENOTSUP, "there are no built-in self-tests");
		diag_hint(
			&app->diag,
			"run 'make check' in the source tree; 'perf test -w NAME' runs a workload");
		return APP_FAILED;
	}
	const char *name = o->workload;
	for (size_t i = 0; name && i < ARRAY_SIZE(renamed); i++)
		if (!strcmp(renamed[i][0], name))
			name = renamed[i][1];
	int nr = 0;
	words[nr++] = (char *)"perf";
	words[nr++] = name ? (char *)name : (char *)"--list";
	for (int i = 0; i < argc && nr < WORDS_MAX - 1; i++)
		words[nr++] = argv[i];
	words[nr] = NULL;
	return app_command(app, &command_workload, nr, words);
}

static const struct opt test_rows[] = {
	OPT_STR('w', "workload", struct test_opts, workload, "NAME",
		"Run a workload with the following arguments"),
	OPT_FLAG(0, "list-workloads", struct test_opts, list_workloads, "List the workloads"),
	OPT_END(),
};

static const struct opt_example test_examples[] = {
	{ "test -w noploop 0.5", "half a second in a known loop" },
	{ "test --list-workloads", "available workloads" },
	{ 0 },
};

const struct command command_perf_test = {
	.name = "test",
	.summary = "run a small program with known behaviour",
	.usage = "-w NAME [ARGS]",
	.examples = test_examples,
	.opts = test_rows,
	.opts_size = sizeof(struct test_opts),
	.run = test_run,
};
