/*
 * perf config: settings in files of git's kind (base/ini). perf itself rewrites the whole file when one key is set and loses
 * comments and whatever follows a line it does not understand; here only the one line changes.
 */
#include "session/outfile.h"
#include "cmd/perf/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20 };

static const char system_path[] = "/etc/perfconfig";

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* -ENOENT: none; -EPERM: somebody else's, which is said. */
static int read_file(const char *path, struct strbuf *to, struct diag *d)
{
	struct stat st;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return -EINVAL;
	if (st.st_uid && st.st_uid != geteuid()) {
		diag_warn(d, "%s is owned by neither you nor root: ignored", path);
		return -EPERM;
	}
	for (;;) {
		char *room = strbuf_room(to, 4096);
		ssize_t n = room ? read(fd, room, 4096) : -1;
		if (n <= 0)
			return !room ? -ENOMEM : n ? -errno : 0;
		strbuf_commit(to, (size_t)n);
		if (to->len > FILE_MAX)
			return -EFBIG;
	}
}

static int load_file(struct ini *c, const char *path, struct diag *d)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = read_file(path, &text, d);
	if (!err)
		err = ini_parse(c, strbuf_cstr(&text), path, d);
	else if (err != -ENOENT && err != -EPERM && err != -ENOMEM)
		diag_warn(d, "cannot read %s: %s", path, strerror(-err));
	strbuf_done(&text);
	return err == -ENOMEM ? err : 0;
}

static bool user_path(char *to, size_t size)
{
	const char *home = secure_getenv("HOME");
	return home && *home && snprintf(to, size, "%s/.perfconfig", home) < (int)size;
}

int perf_config_load(struct ini *c, enum perf_config_from from, struct diag *d)
{
	char path[PATH_MAX];
	const char *only = secure_getenv("PERF_CONFIG");
	int err = 0;
	if (getauxval(AT_SECURE))
		return 0;
	if (only && from == PERF_CONFIG_ALL)
		return load_file(c, only, d);
	if (from != PERF_CONFIG_USER && !secure_getenv("PERF_CONFIG_NOSYSTEM"))
		err = load_file(c, system_path, d);
	if (!err && from != PERF_CONFIG_SYSTEM && user_path(path, sizeof(path)) &&
	    (from == PERF_CONFIG_USER || !secure_getenv("PERF_CONFIG_NOGLOBAL")))
		err = load_file(c, path, d);
	return err;
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

struct config_opts {
	bool list;
	bool user;
	bool system;
};

static int set(struct app *app, const struct config_opts *o, const char *key, const char *value)
{
	char home[PATH_MAX];
	const char *only = secure_getenv("PERF_CONFIG"), *path = o->system ? system_path : NULL;
	struct strbuf old, new;
	if (!path && only && !o->user)
		path = only;
	if (!path)
		path = user_path(home, sizeof(home)) ? home : NULL;
	if (!path || getauxval(AT_SECURE))
		return diag_error(&app->diag, -ENOENT, "no file to write to: HOME is not set");
	strbuf_init(&old);
	strbuf_init(&new);
	int err = read_file(path, &old, &app->diag);
	if (!err || err == -ENOENT) {
		ini_edit(strbuf_cstr(&old), key, value, &new);
		err = new.err ? new.err : outfile_write(path, new.data, new.len, true, &app->diag);
	} else if (err != -EPERM || !app->diag.items.nr) {
		err = diag_error(&app->diag, err, "cannot read %s: %s", path, strerror(-err));
	}
	strbuf_done(&old);
	strbuf_done(&new);
	return err;
}

static int get_or_set(struct app *app, const struct config_opts *o, const struct ini *c, char *word)
{
	char *eq = strchr(word, '=');
	if (eq)
		*eq = '\0';
	if (!strchr(word, '.'))
		return diag_error(&app->diag, -EINVAL,
				  "The config variable does not contain a section name: %s", word);
	if (!ini_key(word))
		return diag_error(&app->diag, -EINVAL,
				  "The config variable does not contain a variable name: %s", word);
	if (eq)
		return set(app, o, word, eq + 1);
	const char *value = ini_get(c, word);
	if (value)
		strbuf_printf(&app->out, "%s=%s\n", word, value);
	return 0;
}

static int config_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct config_opts *o = opts;
	struct ini c;
	if (o->user && o->system)
		return app_usage(app, "--user or --system, not both");
	ini_init(&c);
	int err = perf_config_load(&c,
				   o->user     ? PERF_CONFIG_USER
				   : o->system ? PERF_CONFIG_SYSTEM
					       : PERF_CONFIG_ALL,
				   &app->diag);
	if (!err && (o->list || !argc))
		vec_for_each (&c.list, s)
			strbuf_printf(&app->out, "%s=%s\n", s->key, s->value);
	for (int i = 0; i < argc && !err; i++)
		err = get_or_set(app, o, &c, argv[i]);
	ini_done(&c);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt config_rows[] = {
	OPT_FLAG('l', "list", struct config_opts, list, "All settings (the default)"),
	OPT_FLAG(0, "user", struct config_opts, user, "Only ~/.perfconfig"),
	OPT_FLAG(0, "system", struct config_opts, system, "Only /etc/perfconfig"),
	OPT_END(),
};

static const struct opt_example config_examples[] = {
	{ "config -l", "all settings" },
	{ "config report.children", "one of them" },
	{ "config report.children=false", "set it in ~/.perfconfig" },
	{ 0 },
};

const struct command command_perf_config = {
	.name = "config",
	.summary = "show and change settings in ~/.perfconfig",
	.usage = "[OPTIONS] [SECTION.NAME[=VALUE]...]",
	.about = "These of perf's settings have an effect: "
		 "report.{children,group,percent-limit,sort_order}, "
		 "call-graph.{print-type,threshold,order,sort-key}, hist.percentage, "
		 "diff.{order,compute}, "
		 "annotate.{disassembler_style,hide_src_code,show_nr_samples,show_total_period}, "
		 "stat.big-num, "
		 "buildid.dir, pager.COMMAND. $PERF_CONFIG names a file to read instead of all "
		 "others.",
	.examples = config_examples,
	.opts = config_rows,
	.opts_size = sizeof(struct config_opts),
	.mixed_words = true,
	.run = config_run,
};
