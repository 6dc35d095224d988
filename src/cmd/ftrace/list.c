/* `sonde ftrace list`: what can be traced here, as trace-cmd lists it; `options`; `check-events`. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/options.h"
#include "tracing/which.h"
#include "file/compress.h"
#include "kern/perf_tsc.h"
#include "wire/format.h"
#include "wire/print_fmt.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

struct list_opts {
	const char *events, *functions, *buffer;
	bool systems, tracers, options, instances, clocks, plugins, plugin_options, compression,
		proto;
	bool format, full, triggers, filters;
};

struct ftrace_listing {
	struct app *app;
	const struct tracing *t;
	const struct list_opts *o;
	struct json *j; /* NULL: text */
	char folder[PATH_MAX - 600];
};

/* A basic one, as trace-cmd takes it. */
static int compile(struct ftrace_listing *l, const char *pattern, regex_t *re)
{
	return regcomp(re, pattern, REG_ICASE | REG_NOSUB)
		       ? diag_error(&l->app->diag, -EINVAL, "invalid regular expression '%s'",
				    pattern)
		       : 0;
}

/* Each line of a text that the pattern is found in; NULL: all. */
static int each_line(struct ftrace_listing *l, const char *text, const char *pattern,
		     void (*fn)(struct ftrace_listing *l, const char *line, size_t len))
{
	regex_t re;
	int err = pattern ? compile(l, pattern, &re) : 0;
	if (err)
		return err;
	while (*text) {
		size_t len = strcspn(text, "\n");
		char line[1024];
		if (len && len < sizeof(line)) {
			memcpy(line, text, len);
			line[len] = 0;
			if (!pattern || !regexec(&re, line, 0, NULL, 0))
				fn(l, line, len);
		}
		text += len + (text[len] == '\n');
	}
	if (pattern)
		regfree(&re);
	return 0;
}

static void put_line(struct ftrace_listing *l, const char *line, size_t len)
{
	if (l->j) {
		json_strn(l->j, line, len);
		return;
	}
	strbuf_add(&l->app->out, line, len);
	strbuf_char(&l->app->out, '\n');
}

static int list_file(struct ftrace_listing *l, const char *file, const char *pattern)
{
	struct strbuf s;
	strbuf_init(&s);
	int err = tracing_read(l->t, file, &s);
	if (err)
		diag_error(&l->app->diag, err, "cannot read %s/%s: %s", l->t->path, file,
			   strerror(-err));
	else
		err = each_line(l, strbuf_cstr(&s), pattern, put_line);
	strbuf_done(&s);
	return err;
}

/* ---- events ------------------------------------------------------------------------------------------------------------------ */

static void put_event_file(struct ftrace_listing *l, const char *system, const char *name,
			   const char *file)
{
	struct strbuf s;
	char path[PATH_MAX];
	bool format = !strcmp(file, "format");
	strbuf_init(&s);
	(void)!str_path(path, sizeof(path), "%sevents/%s/%s/%s", format ? "" : l->folder, system,
			name, file);
	if (tracing_read(l->t, path, &s))
		strbuf_reset(&s);
	const char *text = strbuf_cstr(&s);
	size_t len = s.len;
	const char *print = format && !l->o->full ? strstr(text, "\nprint fmt:") : NULL;
	if (print)
		len = (size_t)(print + 1 - text);
	if (l->j) {
		json_key(l->j, file);
		json_strn(l->j, text, len);
	} else {
		strbuf_add(&l->app->out, text, len);
		if (!format)
			strbuf_char(&l->app->out, '\n');
	}
	strbuf_done(&s);
}

static void put_event(struct ftrace_listing *l, const char *line, size_t len)
{
	char system[256];
	const char *colon = strchr(line, ':');
	bool details = l->o->format || l->o->triggers || l->o->filters;
	if (!colon || !details) {
		put_line(l, line, len);
		return;
	}
	(void)snprintf(system, sizeof(system), "%.*s", (int)(colon - line), line);
	if (l->j) {
		json_object(l->j);
		json_put_str(l->j, "event", line);
	} else if (l->o->format) {
		strbuf_printf(&l->app->out, "system: %s\n", system);
	} else {
		strbuf_printf(&l->app->out, "%s\n", line);
	}
	if (l->o->format)
		put_event_file(l, system, colon + 1, "format");
	if (l->o->filters)
		put_event_file(l, system, colon + 1, "filter");
	if (l->o->triggers)
		put_event_file(l, system, colon + 1, "trigger");
	if (l->j)
		json_object_end(l->j);
}

static void match_system(struct ftrace_listing *l, const char *name, regex_t *system,
			 regex_t *event, bool both)
{
	struct sysroot dir = { .dir_fd = l->t->dir };
	char path[PATH_MAX], line[1024];
	bool of_system = !regexec(system, name, 0, NULL, 0);
	(void)!str_path(path, sizeof(path), "events/%s", name);
	DIR *d = (both && !of_system) ? NULL : sysroot_dir(&dir, path);
	for (struct dirent *e; d && (e = readdir(d));) {
		bool itself = !regexec(event, e->d_name, 0, NULL, 0);
		int len = snprintf(line, sizeof(line), "%s:%s", name, e->d_name);
		if (e->d_name[0] != '.' && e->d_type == DT_DIR && len < (int)sizeof(line) &&
		    (itself || (of_system && !both)))
			put_event(l, line, (size_t)len);
	}
	if (d)
		(void)closedir(d);
}

/*
 * "SYSTEM:EVENT", each a pattern; without a colon a pattern that a system fits means all of its events. Also those of system ftrace,
 * which the kernel's own list leaves out.
 */
static int match_events(struct ftrace_listing *l, const char *pattern)
{
	regex_t system, event;
	char first[512];
	const char *colon = strchr(pattern, ':');
	(void)snprintf(first, sizeof(first), "%.*s", colon ? (int)(colon - pattern) : 511, pattern);
	int err = compile(l, first, &system);
	if (err)
		return err;
	err = compile(l, colon ? colon + 1 : first, &event);
	if (err) {
		regfree(&system);
		return err;
	}
	struct sysroot dir = { .dir_fd = l->t->dir };
	DIR *systems = sysroot_dir(
		&dir,
		"events"); /* ftrace first, then in the order of the folder, as trace-cmd has it */
	if (!systems)
		err = diag_error(&l->app->diag, -errno, "cannot read %s/events: %s", l->t->path,
				 strerror(errno));
	else
		match_system(l, "ftrace", &system, &event, colon != NULL);
	for (struct dirent *e; systems && (e = readdir(systems));)
		if (e->d_name[0] != '.' && e->d_type == DT_DIR && strcmp(e->d_name, "ftrace"))
			match_system(l, e->d_name, &system, &event, colon != NULL);
	if (systems)
		(void)closedir(systems);
	regfree(&system);
	regfree(&event);
	return err;
}

static int list_events(struct ftrace_listing *l, const char *pattern)
{
	if (pattern)
		return match_events(l, pattern);
	struct strbuf s;
	strbuf_init(&s);
	int err = tracing_read(l->t, "available_events", &s);
	if (!err)
		err = each_line(l, strbuf_cstr(&s), NULL, put_event);
	else
		diag_error(&l->app->diag, err, "cannot read available_events: %s", strerror(-err));
	strbuf_done(&s);
	return err;
}

/* ---- the rest ------------------------------------------------------------------------------------------------------------------ */

static int list_instances(struct ftrace_listing *l)
{
	struct ftrace_names names;
	int err = ftrace_instances(l->t, &names);
	if (err)
		return err;
	vec_for_each (&names.list, name)
		put_line(l, *name, strlen(*name));
	if (!names.list.nr && !l->j)
		strbuf_str(&l->app->out, "No buffer instances defined\n");
	ftrace_names_done(&names);
	return 0;
}

static int list_compression(struct ftrace_listing *l)
{
	static const enum compress_kind kinds[] = { COMPRESS_ZSTD, COMPRESS_ZLIB };
	if (!l->j)
		strbuf_str(&l->app->out, "Supported compression algorithms:\n");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (l->j)
			json_str(l->j, compress_name(kinds[i]));
		else
			strbuf_printf(&l->app->out, "\t%s, %s\n", compress_name(kinds[i]),
				      compress_version(kinds[i]));
	}
	if (!l->j)
		strbuf_char(&l->app->out, '\n');
	return 0;
}

/* Layouts that differ from the kernel's print fmt are part of the program; there are no files to load. */
static int list_plugins(struct ftrace_listing *l)
{
	static const char *const names[] = { "function", "fgraph",  "sched_switch", "hrtimer",
					     "kmem",	 "kvm",	    "scsi",	    "tlb",
					     "futex",	 "mac80211" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char line[64];
		int n = snprintf(line, sizeof(line), "  %s (built in)", names[i]);
		put_line(l, line, (size_t)n);
	}
	return 0;
}

/* Lines, also in JSON, as everywhere in this list: `ftrace options --json` has objects. */
static int list_plugin_options(struct ftrace_listing *l)
{
	struct strbuf text;
	strbuf_init(&text);
	ftrace_options_text(&text);
	int err = each_line(l, strbuf_cstr(&text), NULL, put_line);
	strbuf_done(&text);
	return err;
}

static int list_systems(struct ftrace_listing *l)
{
	struct sysroot dir = { .dir_fd = l->t->dir };
	DIR *d = sysroot_dir(&dir, "events"); /* in the order of the folder, as trace-cmd has it */
	if (!d)
		return diag_error(&l->app->diag, -errno, "cannot read %s/events: %s", l->t->path,
				  strerror(errno));
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' && e->d_type == DT_DIR)
			put_line(l, e->d_name, strlen(e->d_name));
	(void)closedir(d);
	return 0;
}

static int section(struct ftrace_listing *l, const char *key, int (*fn)(struct ftrace_listing *l))
{
	if (l->j) {
		json_key(l->j, key);
		json_array(l->j);
	}
	int err = fn(l);
	if (l->j)
		json_array_end(l->j);
	return err;
}

static int just_tracers(struct ftrace_listing *l)
{
	return list_file(l, "available_tracers", NULL);
}

static int just_options(struct ftrace_listing *l)
{
	struct sysroot dir = { .dir_fd = l->t->dir };
	struct strbuf s;
	char path[PATH_MAX], line[300];
	(void)!str_path(path, sizeof(path), "%soptions", l->folder);
	DIR *d = sysroot_dir(&dir, path); /* in the order of the folder, as trace-cmd has it */
	if (!d)
		return diag_error(&l->app->diag, -errno, "cannot read %s/%s: %s", l->t->path, path,
				  strerror(errno));
	strbuf_init(&s);
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		(void)!str_path(path, sizeof(path), "%soptions/%s", l->folder, e->d_name);
		bool off = *tracing_line(l->t, path, &s) == '0';
		int n = snprintf(line, sizeof(line), "%s%s", off ? "no" : "", e->d_name);
		put_line(l, line, (size_t)n);
	}
	(void)closedir(d);
	strbuf_done(&s);
	return 0;
}

static int just_clocks(struct ftrace_listing *l)
{
	char path[PATH_MAX];
	struct strbuf text;
	struct perf_tsc tsc;
	strbuf_init(&text);
	(void)!str_path(path, sizeof(path), "%strace_clock", l->folder);
	int err = tracing_read(l->t, path, &text);
	if (err) {
		diag_error(&l->app->diag, err, "cannot read %s/%s: %s", l->t->path, path,
			   strerror(-err));
	} else {
		while (text.len && strchr("\n ", text.data[text.len - 1]))
			text.len--;
		if (strstr(strbuf_cstr(&text), "x86-tsc") && !perf_tsc_read(&tsc))
			strbuf_str(&text, " tsc2nsec");
		put_line(l, strbuf_cstr(&text), text.len);
	}
	strbuf_done(&text);
	return err;
}

static int just_events(struct ftrace_listing *l)
{
	const char *pattern = l->o->events;
	return list_events(l, pattern && *pattern ? pattern : NULL);
}

static int just_functions(struct ftrace_listing *l)
{
	const char *pattern = l->o->functions;
	return list_file(l, "available_filter_functions", pattern && *pattern ? pattern : NULL);
}

static int list_everything(struct ftrace_listing *l)
{
	static const struct {
		const char *head, *key;
		int (*fn)(struct ftrace_listing *l);
	} all[] = {
		{ "event systems:\n", "systems", list_systems },
		{ "\nevents:\n", "events", just_events },
		{ "\ntracers:\n", "tracers", just_tracers },
		{ "\noptions:\n", "options", just_options },
		{ "", "compression", list_compression },
	};
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(all) && !err; i++) {
		if (!l->j)
			strbuf_str(&l->app->out, all[i].head);
		err = section(l, all[i].key, all[i].fn);
	}
	return err;
}

static int list(struct ftrace_listing *l)
{
	const struct list_opts *o = l->o;
	const struct {
		bool on;
		const char *key;
		int (*fn)(struct ftrace_listing *l);
	} parts[] = {
		{ o->systems, "systems", list_systems },
		{ o->events, "events", just_events },
		{ o->tracers, "tracers", just_tracers },
		{ o->options, "options", just_options },
		{ o->functions, "functions", just_functions },
		{ o->instances, "instances", list_instances },
		{ o->clocks, "clocks", just_clocks },
		{ o->plugins, "plugins", list_plugins },
		{ o->plugin_options, "plugin_options", list_plugin_options },
		{ o->compression, "compression", list_compression },
	};
	bool any = false;
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts) && !err; i++)
		if (parts[i].on) {
			any = true;
			err = section(l, parts[i].key, parts[i].fn);
		}
	return any ? err : list_everything(l);
}

static int run_list(struct app *app, void *opts, int argc, char **argv)
{
	struct list_opts *o = opts;
	struct tracing t;
	struct json j;
	struct ftrace_listing l = { .app = app, .t = &t, .o = o, .j = app->json ? &j : NULL };
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	/* -e and -f may be followed by their pattern as a word of its own. */
	if (argc && o->events && !*o->events)
		o->events = argv[0];
	else if (argc && o->functions && !*o->functions)
		o->functions = argv[0];
	else if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	if ((o->format || o->triggers || o->filters) && !o->events)
		o->events = "";
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	/* -B alone lists the instances; with something else it says of which. */
	bool other = o->events || o->options || o->clocks;
	if (o->buffer && *o->buffer && other)
		err = ftrace_folder(&t, o->buffer, l.folder, sizeof(l.folder), &app->diag);
	o->instances = o->buffer && !other;
	if (l.j) {
		json_begin(&j, &app->out, JSON_PRETTY);
		json_object(&j);
	}
	if (!err)
		err = list(&l);
	if (l.j && !err) {
		json_object_end(&j);
		err = json_end(&j);
	}
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

/* clang-format off */
static const struct opt list_rows[] = {
	OPT_STR('e', "events", struct list_opts, events, "REGEX", "Events", .optional = true, .greedy = true, .fallback = ""),
	OPT_FLAG('F', "format", struct list_opts, format, "Show fields"),
	OPT_FLAG(0, "full", struct list_opts, full, "Show the print fmt"),
	OPT_FLAG('R', "triggers", struct list_opts, triggers, "Show triggers"),
	OPT_FLAG('l', "filters", struct list_opts, filters, "Show filters"),
	OPT_STR('f', "functions", struct list_opts, functions, "REGEX", "Functions that can be traced", .optional = true, .greedy = true, .fallback = ""),
	OPT_FLAG('s', "systems", struct list_opts, systems, "Event systems"),
	OPT_FLAG('t', "tracers", struct list_opts, tracers, "Tracers"),
	OPT_FLAG('p', NULL, struct list_opts, tracers, "Tracers", .hidden = true),
	OPT_FLAG('o', "options", struct list_opts, options, "Trace options and their current values"),
	OPT_STR('B', "buffers", struct list_opts, buffer, "NAME", "Instances; with -e, -o or -C: in this instance", .optional = true, .greedy = true, .fallback = ""),
	OPT_FLAG('C', "clocks", struct list_opts, clocks, "Clocks, the current one in brackets"),
	OPT_FLAG('P', "plugins", struct list_opts, plugins, "Built-in event layouts"),
	OPT_FLAG('O', "plugin-options", struct list_opts, plugin_options, "Options of built-in layouts, for `ftrace report -O`"),
	OPT_FLAG('c', "compression", struct list_opts, compression, "Compression algorithms"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example list_examples[] = {
	{ "ftrace list -e '^sched:'", "events of a system" },
	{ "ftrace list -e sched_switch -F", "an event's fields" },
	{ "ftrace list -f '^vfs_'", "functions that can be traced" },
	{ "ftrace list -t", "tracers of this kernel" },
	{ 0 },
};

const struct command command_ftrace_list = {
	.name = "list",
	.summary = "list events, tracers, functions, options and clocks of this kernel",
	.usage = "[OPTIONS]",
	.examples = list_examples,
	.opts = list_rows,
	.opts_size = sizeof(struct list_opts),
	.mixed_words = true,
	.run = run_list,
};

/* ---- check-events ---------------------------------------------------------------------------------------------------------------- */

struct check_opts {
	bool plain;
};

static int check_event(struct app *app, const struct tracing *t, const struct tracing_event *e,
		       bool plain, bool *ok)
{
	struct arena a;
	struct strbuf s;
	struct schema *schema;
	const struct print_prog *prog;
	static const struct print_env env;
	char path[PATH_MAX];
	arena_init(&a);
	strbuf_init(&s);
	*ok = false;
	(void)!str_path(path, sizeof(path), "events/%s/%s/format", e->system, e->name);
	int err = tracing_read(t, path, &s);
	if (!err)
		err = format_parse(&a, e->system, strbuf_cstr(&s), s.len, false, sizeof(long),
				   &schema, NULL);
	if (!err)
		err = print_prog_compile(&a, schema, &env,
					 plain ? PRINT_STYLE_KERNEL : PRINT_STYLE_TRACE_CMD, &prog,
					 ok, NULL);
	strbuf_done(&s);
	arena_done(&a);
	if (err == -ENOMEM)
		return err;
	if (!*ok && !app->json)
		strbuf_printf(&app->out, "%s:%s: format not understood: printed field by field\n",
			      e->system, e->name);
	return 0;
}

static int run_check(struct app *app, void *opts, int argc, char **argv)
{
	struct check_opts *o = opts;
	struct tracing t;
	struct tracing_events all;
	u64 bad = 0;
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	err = tracing_list_events(&t, NULL, NULL, &all);
	for (size_t i = 0; !err && i < all.items.nr; i++) {
		bool ok;
		err = check_event(app, &t, &all.items.at[i], o->plain, &ok);
		bad += !ok;
	}
	if (!err && app->json) {
		struct json j;
		json_begin(&j, &app->out, JSON_PRETTY);
		json_object(&j);
		json_put_u64(&j, "events", all.items.nr);
		json_put_u64(&j, "not_understood", bad);
		json_object_end(&j);
		err = json_end(&j);
	} else if (!err) {
		strbuf_printf(&app->err, "[ %zu formats, %llu not understood ]\n", all.items.nr,
			      (unsigned long long)bad);
	}
	if (!err)
		tracing_events_done(&all);
	tracing_close(&t);
	if (err)
		return app_fail(app, err);
	/* trace-cmd's status is 0 in any case. */
	return bad && !app->dialect->check_always_succeeds ? APP_FAILED : APP_DONE;
}

static const struct opt check_rows[] = {
	OPT_FLAG('N', "plain", struct check_opts, plain, "Without built-in layouts"),
	OPT_END(),
};

static const struct opt_example check_examples[] = {
	{ "ftrace check-events", "check that every event of this kernel can be printed" },
	{ 0 },
};

const struct command command_ftrace_check_events = {
	.name = "check-events",
	.summary = "parse the format of every event",
	.usage = "[OPTIONS]",
	.examples = check_examples,
	.opts = check_rows,
	.opts_size = sizeof(struct check_opts),
	.run = run_check,
};
