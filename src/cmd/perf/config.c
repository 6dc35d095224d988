/*
 * perf config: settings in ini files of git's kind. perf itself rewrites the whole file when one key is set and loses
 * comments and whatever stands behind a line it does not understand; here only the one line changes.
 */
#include "session/outfile.h"
#include "cmd/perf/perf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_MAX = 256, FILE_MAX = 1 << 20 };

static const char system_path[] = "/etc/perfconfig";

void perf_config_init(struct perf_config *c)
{
	*c = (struct perf_config){ 0 };
	arena_init(&c->arena);
}

void perf_config_done(struct perf_config *c)
{
	vec_free(&c->list);
	arena_done(&c->arena);
}

const char *perf_config_get(const struct perf_config *c, const char *key)
{
	vec_for_each (&c->list, s)
		if (!strcmp(s->key, key))
			return s->value;
	return NULL;
}

static int put(struct perf_config *c, const char *key, const char *value)
{
	value = arena_strdup(&c->arena, value);
	if (!value)
		return -ENOMEM;
	vec_for_each (&c->list, s)
		if (!strcmp(s->key, key)) {
			s->value = value;
			return 0;
		}
	key = arena_strdup(&c->arena, key);
	struct perf_setting *s = key ? vec_push(&c->list) : NULL;
	if (!s)
		return -ENOMEM;
	*s = (struct perf_setting){ key, value };
	return 0;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* [section] or [section "part"], as "section" or "section.part"; false: not one. */
static bool parse_section(const char *line, size_t len, char to[KEY_MAX])
{
	const char *close = memrchr(line, ']', len);
	if (!len || *line != '[' || !close)
		return false;
	size_t n = 0;
	bool quoted = false;
	for (const char *p = line + 1; p < close; p++) {
		if (n + 2 >= KEY_MAX)
			return false;
		if (*p == '"')
			quoted = !quoted;
		else if (isspace((unsigned char)*p) && !quoted)
			to[n] = n && to[n - 1] != '.' ? '.' : to[n], n += n && to[n] == '.';
		else
			to[n++] = quoted ? *p : (char)tolower((unsigned char)*p);
	}
	while (n && to[n - 1] == '.')
		n--;
	to[n] = '\0';
	return n && !quoted;
}

/* "name", up to '=' or blank; the rest of the line in *rest. */
static bool parse_name(const char *line, size_t len, char to[KEY_MAX], const char **rest)
{
	size_t n = 0;
	while (n < len && (isalnum((unsigned char)line[n]) || strchr("-_.", line[n])) && line[n])
		n++;
	if (!n || n >= KEY_MAX)
		return false;
	memcpy(to, line, n);
	to[n] = '\0';
	while (n < len && (line[n] == ' ' || line[n] == '\t'))
		n++;
	*rest = line + n;
	return n == len || line[n] == '=' || line[n] == '#' || line[n] == ';';
}

/* Quotes go, a comment outside of them ends it, blanks at the end go. false: a quote stays open. */
static bool parse_value(const char *p, const char *end, struct strbuf *to)
{
	bool quoted = false;
	size_t solid = 0; /* length without blanks at the end */
	for (; p < end && (quoted || (*p != '#' && *p != ';')); p++) {
		if (*p == '"') {
			quoted = !quoted;
			solid = to->len;
			continue;
		}
		char c = *p;
		if (c == '\\' && p + 1 < end) {
			c = *++p;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		strbuf_char(to, c);
		if (quoted || !isspace((unsigned char)c))
			solid = to->len;
	}
	to->len = min(to->len, solid);
	return !quoted;
}

static int parse_line(struct perf_config *c, const char *line, size_t len, char section[KEY_MAX])
{
	char name[KEY_MAX], key[2 * KEY_MAX];
	const char *rest;
	while (len && isspace((unsigned char)*line))
		line++, len--;
	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	if (!len || *line == '#' || *line == ';')
		return 0;
	if (*line == '[')
		return parse_section(line, len, section) ? 0 : -EINVAL;
	if (!*section || !parse_name(line, len, name, &rest))
		return -EINVAL;
	(void)snprintf(key, sizeof(key), "%s.%s", section, name);
	if (rest == line + len || *rest != '=') /* a name alone switches on */
		return put(c, key, "true");
	struct strbuf value;
	strbuf_init(&value);
	for (rest++; rest < line + len && (*rest == ' ' || *rest == '\t');)
		rest++;
	bool good = parse_value(rest, line + len, &value);
	int err = good ? put(c, key, strbuf_cstr(&value)) : -EINVAL;
	strbuf_done(&value);
	return err;
}

/* text: a whole file, as git writes them; path is for messages. */
static int perf_config_parse(struct perf_config *c, const char *text, const char *path,
			     struct diag *d)
{
	char section[KEY_MAX] = "";
	for (unsigned nr = 1; *text; nr++) {
		size_t len = strcspn(text, "\n");
		int err = parse_line(c, text, len, section);
		if (err == -ENOMEM)
			return err;
		if (err)
			diag_warn(d, "bad config file line %u in %s", nr, path);
		text += len + (text[len] == '\n');
	}
	return 0;
}

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
		diag_warn(d, "%s is neither yours nor root's: it is not read", path);
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

static int load_file(struct perf_config *c, const char *path, struct diag *d)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = read_file(path, &text, d);
	if (!err)
		err = perf_config_parse(c, strbuf_cstr(&text), path, d);
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

int perf_config_load(struct perf_config *c, enum perf_config_from from, struct diag *d)
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

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void add_setting(struct strbuf *to, const char *name, const char *value)
{
	bool quote = strpbrk(value, "#;\"\\\n") || isspace((unsigned char)*value) ||
		     (*value && isspace((unsigned char)value[strlen(value) - 1]));
	strbuf_printf(to, "\t%s = %s", name, quote ? "\"" : "");
	for (; *value; value++)
		if (*value == '\n')
			strbuf_str(to, "\\n");
		else
			strbuf_printf(to, "%s%c", strchr("\"\\", *value) ? "\\" : "", *value);
	strbuf_str(to, quote ? "\"\n" : "\n");
}

/* The text of a file with one setting changed or added; all other lines stay. key has a dot in it. */
static void perf_config_edit(const char *text, const char *key, const char *value, struct strbuf *to)
{
	char section[KEY_MAX] = "", found[KEY_MAX], want[KEY_MAX];
	const char *dot = strrchr(key, '.'), *rest;
	size_t insert = 0; /* behind the section's last setting; 0: the section is not there */
	bool done = false;
	(void)snprintf(want, sizeof(want), "%.*s", (int)(dot - key), key);
	while (*text) {
		size_t len = strcspn(text, "\n"), skip = strspn(text, " \t");
		skip = min(skip, len);
		bool here = !strcmp(section, want);
		if (text[skip] == '[')
			here = parse_section(text + skip, strlen(text + skip) ? len - skip : 0,
					     section) &&
			       !strcmp(section, want);
		else if (here && parse_name(text + skip, len - skip, found, &rest) &&
			 !strcmp(found, dot + 1)) {
			if (!done)
				add_setting(to, dot + 1, value);
			done = true;
			text += len + (text[len] == '\n');
			continue;
		}
		strbuf_add(to, text, len);
		strbuf_char(to, '\n');
		if (here && skip < len)
			insert = to->len;
		text += len + (text[len] == '\n');
	}
	if (done)
		return;
	struct strbuf line;
	strbuf_init(&line);
	if (!insert) {
		/* A part of a section goes by its quotes. */
		const char *part = strchr(want, '.');
		if (part)
			strbuf_printf(&line, "[%.*s \"%s\"]\n", (int)(part - want), want, part + 1);
		else
			strbuf_printf(&line, "[%s]\n", want);
		insert = to->len;
	}
	add_setting(&line, dot + 1, value);
	char *room = strbuf_room(to, line.len);
	if (room) {
		memmove(to->data + insert + line.len, to->data + insert, to->len - insert);
		memcpy(to->data + insert, line.data, line.len);
		strbuf_commit(to, line.len);
	}
	strbuf_done(&line);
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
		perf_config_edit(strbuf_cstr(&old), key, value, &new);
		err = new.err ? new.err : outfile_write(path, new.data, new.len, true, &app->diag);
	} else if (err != -EPERM || !app->diag.items.nr) {
		err = diag_error(&app->diag, err, "cannot read %s: %s", path, strerror(-err));
	}
	strbuf_done(&old);
	strbuf_done(&new);
	return err;
}

static int get_or_set(struct app *app, const struct config_opts *o, const struct perf_config *c,
		      char *word)
{
	char *eq = strchr(word, '=');
	if (eq)
		*eq = '\0';
	const char *dot = strchr(word, '.');
	if (!dot)
		return diag_error(&app->diag, -EINVAL,
				  "The config variable does not contain a section name: %s", word);
	if (dot == word || !dot[1] || strrchr(word, '.')[1] == '\0' || strlen(word) >= KEY_MAX ||
	    strpbrk(word, " \t\n[]\"#;"))
		return diag_error(&app->diag, -EINVAL,
				  "The config variable does not contain a variable name: %s", word);
	if (eq)
		return set(app, o, word, eq + 1);
	const char *value = perf_config_get(c, word);
	if (value)
		strbuf_printf(&app->out, "%s=%s\n", word, value);
	return 0;
}

static int config_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct config_opts *o = opts;
	struct perf_config c;
	if (o->user && o->system)
		return app_usage(app, "--user or --system, not both");
	perf_config_init(&c);
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
	perf_config_done(&c);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt config_rows[] = {
	OPT_FLAG('l', "list", struct config_opts, list, "All settings (also without any argument)"),
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
	.summary = "show and set what ~/.perfconfig says",
	.usage = "[OPTIONS] [SECTION.NAME[=VALUE]...]",
	.about = "Of perf's settings these have an effect here: report.children, "
		 "report.percent-limit, report.sort_order, "
		 "stat.big-num, buildid.dir, pager.COMMAND. $PERF_CONFIG names a file to read "
		 "instead of all others.",
	.examples = config_examples,
	.opts = config_rows,
	.opts_size = sizeof(struct config_opts),
	.mixed_words = true,
	.run = config_run,
};
