/* `sonde ftrace stat`: how a buffer is set up, in trace-cmd's words. */
#include "base/cpuset.h"
#include "base/json.h"
#include "base/num.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/which_opts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct ftrace_stat_opts {
	struct ftrace_which which;
	bool options;
};

struct stating {
	struct app *app;
	const struct tracing *t;
	const struct ftrace_stat_opts *o;
	const char *folder;
};

/* The whole file without the newline at its end; "" when it cannot be read. */
static const char *get(struct stating *s, const char *file, struct strbuf *to)
{
	char path[PATH_MAX];
	(void)!str_path(path, sizeof(path), "%s%s", s->folder, file);
	strbuf_reset(to);
	if (tracing_read(s->t, path, to))
		strbuf_reset(to);
	while (to->len && isspace((unsigned char)to->data[to->len - 1]))
		to->len--;
	return strbuf_cstr(to);
}

static void say_tracer(struct stating *s, struct strbuf *b)
{
	const char *tracer = get(s, "current_tracer", b);
	if (*tracer && strcmp(tracer, "nop"))
		strbuf_printf(&s->app->out, "\nTracer: %s\n", tracer);
}

static bool event_is_on(struct stating *s, const char *system, const char *name)
{
	char path[PATH_MAX];
	struct strbuf b;
	strbuf_init(&b);
	(void)!str_path(path, sizeof(path), "events/%s%s%s/enable", system, name ? "/" : "",
			name ? name : "");
	bool on = *get(s, path, &b) == '1';
	strbuf_done(&b);
	return on;
}

/* set_event lists what is on; whole systems are told by their own enable file. */
static void say_events(struct stating *s, struct strbuf *b)
{
	struct strbuf *o = &s->app->out;
	strbuf_str(o, "\nEvents:\n");
	const char *all = get(s, "events/enable", b);
	if (*all != 'X') {
		strbuf_printf(o, " All %s\n", *all == '1' ? "enabled" : "disabled");
		return;
	}
	struct tracing_events systems;
	if (tracing_list_systems(s->t, &systems))
		return;
	const char *set = get(s, "set_event", b);
	bool head = false;
	vec_for_each (&systems.items, e)
		if (event_is_on(s, e->system, NULL)) {
			strbuf_printf(o, "%s   %s\n", head ? "" : " Individual systems:\n",
				      e->system);
			head = true;
		}
	head = false;
	vec_for_each (&systems.items, e) {
		size_t len = strlen(e->system);
		bool named = false;
		if (event_is_on(s, e->system, NULL))
			continue;
		for (const char *p = set; *p; p += strcspn(p, "\n"), p += *p == '\n') {
			char name[256];
			if (strncmp(p, e->system, len) || p[len] != ':')
				continue;
			/* set_event also lists what a trigger uses softly. */
			(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(p + len + 1, "\n"),
				       p + len + 1);
			if (!event_is_on(s, e->system, name))
				continue;
			if (!head)
				strbuf_str(o, " Individual events:\n");
			if (!named)
				strbuf_printf(o, "    %s\n", e->system);
			head = named = true;
			strbuf_printf(o, "        %s\n", name);
		}
	}
	tracing_events_done(&systems);
}

static void say_each_event(struct stating *s, const char *title, const char *file)
{
	struct tracing_events all;
	struct strbuf b;
	char path[PATH_MAX];
	bool head = false;
	if (tracing_list_events(s->t, NULL, NULL, &all))
		return;
	strbuf_init(&b);
	vec_for_each (&all.items, e) {
		(void)!str_path(path, sizeof(path), "events/%s/%s/%s", e->system, e->name, file);
		const char *text = get(s, path, &b);
		if (!*text || *text == '#' || !strcmp(text, "none"))
			continue;
		strbuf_printf(&s->app->out, "%s%s  %s:%s \"%s\"\n", head ? "" : "\n",
			      head ? "" : title, e->system, e->name, text);
		head = true;
	}
	strbuf_done(&b);
	tracing_events_done(&all);
}

static void say_buffers(struct stating *s, struct strbuf *b)
{
	struct strbuf *o = &s->app->out;
	const char *size = get(s, "buffer_size_kb", b);
	if (!*size || strstr(size, "expanded")) /* nobody has used it yet */
		return;
	if (*size == 'X') {
		strbuf_char(o, '\n');
		for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
			char path[64];
			(void)!str_path(path, sizeof(path), "per_cpu/cpu%d/buffer_size_kb", cpu);
			strbuf_printf(o, "CPU %d buffer size (kb): %s\n", cpu, get(s, path, b));
		}
	} else {
		strbuf_printf(o, "\nBuffer size in kilobytes (per cpu):\n   %s\n", size);
	}
	strbuf_printf(o, "\nBuffer total size in kilobytes:\n   %s\n",
		      get(s, "buffer_total_size_kb", b));
}

static void say_clock(struct stating *s, struct strbuf *b)
{
	const char *text = get(s, "trace_clock", b), *open = strchr(text, '[');
	if (open && strncmp(open, "[local]", 7))
		strbuf_printf(&s->app->out, "\nClock: %.*s\n", (int)strcspn(open + 1, "]"),
			      open + 1);
}

static void say_cpumask(struct stating *s, struct strbuf *b)
{
	const char *mask = get(s, "tracing_cpumask", b);
	struct cpuset set;
	if (!*mask || cpuset_parse_mask(mask, &set, NULL))
		return;
	if (cpuset_count(&set) < (unsigned)sysconf(_SC_NPROCESSORS_CONF))
		strbuf_printf(&s->app->out, "\nCPU mask: %s\n", mask);
}

/* A list, unless it is empty or says that there is none. */
static void say_list(struct stating *s, struct strbuf *b, const char *file, const char *title)
{
	const char *text = get(s, file, b);
	if (!*text || *text == '#' || !strcmp(text, "no pid"))
		return;
	strbuf_printf(&s->app->out, "\n%s:\n%s\n", title, text);
}

/* The same with three blanks before each line, and without remarks. */
static void say_lines(struct stating *s, struct strbuf *b, const char *file, const char *title)
{
	bool head = false;
	for (const char *p = get(s, file, b); *p; p += *p == '\n') {
		size_t len = strcspn(p, "\n");
		if (len && *p != '#')
			strbuf_printf(&s->app->out, "%s%s%s   %.*s\n", head ? "" : "\n",
				      head ? "" : title, head ? "" : ":\n", (int)len, p);
		head |= len && *p != '#';
		p += len;
	}
}

/* In the order of the folder, as trace-cmd has it. */
static void say_options(struct stating *s, struct strbuf *b)
{
	struct sysroot root = { .dir_fd = s->t->dir };
	char path[PATH_MAX];
	(void)!str_path(path, sizeof(path), "%soptions", s->folder);
	DIR *d = sysroot_dir(&root, path);
	strbuf_str(&s->app->out, "\nOptions:\n");
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		(void)!str_path(path, sizeof(path), "options/%s", e->d_name);
		strbuf_printf(&s->app->out, "   %s%s\n", *get(s, path, b) == '0' ? "no" : "",
			      e->d_name);
	}
	if (d)
		(void)closedir(d);
}

/* The kernel has one of it; a kernel without it says nothing. */
static void say_stack_tracer(struct stating *s)
{
	struct strbuf b;
	strbuf_init(&b);
	s->folder = "";
	if (*get(s, "/proc/sys/kernel/stack_tracer_enabled", &b) == '1')
		strbuf_str(&s->app->out, "Stack tracing is enabled\n\n");
	strbuf_done(&b);
}

static void say_number(struct stating *s, struct strbuf *b, const char *file, const char *title)
{
	const char *text = get(s, file, b);
	if (*text && strcmp(text, "0"))
		strbuf_printf(&s->app->out, "\n%s: %s\n", title, text);
}

static int stat_text(void *ctx, const char *folder, const char *name)
{
	struct stating *s = ctx;
	struct strbuf b;
	strbuf_init(&b);
	s->folder = folder;
	if (*name)
		strbuf_printf(&s->app->out, "Instance: %s\n", name);
	say_tracer(s, &b);
	say_events(s, &b);
	say_each_event(s, "Filters:\n", "filter");
	say_each_event(s, "Triggers:\n", "trigger");
	say_lines(s, &b, "set_ftrace_filter", "Function Filter");
	say_lines(s, &b, "set_ftrace_notrace", "Function No Trace");
	say_lines(s, &b, "set_graph_function", "Function Graph Filter");
	say_lines(s, &b, "set_graph_notrace", "Function Graph No Trace");
	say_buffers(s, &b);
	say_clock(s, &b);
	say_cpumask(s, &b);
	say_number(s, &b, "tracing_max_latency", "Max Latency");
	say_lines(s, &b, "kprobe_events", "Kprobe events");
	say_lines(s, &b, "uprobe_events", "Uprobe events");
	say_lines(s, &b, "synthetic_events", "Synthetic events");
	say_list(s, &b, "set_event_pid", "Filtered event PIDs");
	say_list(s, &b, "set_event_notrace_pid", "Filtered notrace event PIDs");
	say_list(s, &b, "set_ftrace_pid", "Filtered function tracer PIDs");
	say_list(s, &b, "set_ftrace_notrace_pid", "Filtered function tracer notrace PIDs");
	if (s->o->options)
		say_options(s, &b);
	strbuf_printf(&s->app->out, "\nTracing is %s\n\n",
		      *get(s, "tracing_on", &b) == '0' ? "disabled" : "enabled");
	say_list(s, &b, "error_log", "Error log");
	strbuf_done(&b);
	return 0;
}

/* Files that hold a number: "1410", also "7 (expanded: 1408)"; anything else stays text. */
static void put_number(struct json *j, const char *key, const char *text)
{
	char digits[24];
	u64 v;
	size_t len = text ? strspn(text, "0123456789") : 0;
	if (len && len < sizeof(digits)) {
		memcpy(digits, text, len);
		digits[len] = 0;
		if (!num_parse_u64(digits, 10, &v)) {
			json_put_u64(j, key, v);
			return;
		}
	}
	json_put_str(j, key, text && *text ? text : NULL);
}

static int stat_json(void *ctx, const char *folder, const char *name)
{
	static const struct {
		const char *name;
		bool number;
	} files[] = {
		{ "current_tracer" },	    { "set_event" },
		{ "buffer_size_kb", true }, { "buffer_total_size_kb", true },
		{ "trace_clock" },	    { "tracing_cpumask" },
		{ "set_ftrace_filter" },    { "set_ftrace_notrace" },
		{ "set_graph_function" },   { "set_event_pid" },
		{ "set_ftrace_pid" },	    { "tracing_thresh", true },
		{ "tracing_on", true },
	};
	struct stating *s = ctx;
	struct strbuf b;
	struct json j;
	s->folder = folder;
	strbuf_init(&b);
	json_begin(&j, &s->app->out, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "buffer", name);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *text = get(s, files[i].name, &b);
		if (files[i].number)
			put_number(&j, files[i].name, text);
		else
			json_put_str(&j, files[i].name, text);
	}
	json_object_end(&j);
	strbuf_done(&b);
	return json_end(&j);
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct ftrace_stat_opts *o = opts;
	struct tracing t;
	struct stating s = { .app = app, .t = &t, .o = o };
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	err = ftrace_which_each(&o->which, &t, app->json ? stat_json : stat_text, &s, &app->diag);
	bool top = o->which.top || (!o->which.all && !o->which.names.items.nr);
	struct ftrace_names names;
	if (!err && top && !app->json && !ftrace_instances(&t, &names)) {
		if (names.list.nr)
			strbuf_str(&app->out, "\nInstances:\n");
		vec_for_each (&names.list, name)
			strbuf_printf(&app->out, " %s\n", *name);
		ftrace_names_done(&names);
	}
	if (!err && !app->json)
		say_stack_tracer(&s);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt rows[] = {
	FTRACE_WHICH_ROWS(struct ftrace_stat_opts, which),
	OPT_FLAG('o', "options", struct ftrace_stat_opts, options, "Show trace options too"),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "ftrace stat", "settings of the top-level buffer" },
	{ "ftrace stat -B mine -o", "an instance, with its options" },
	{ 0 },
};

const struct command command_ftrace_stat = {
	.name = "stat",
	.summary = "show how a buffer is set up: tracer, events, filters, sizes",
	.usage = "[OPTIONS]",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct ftrace_stat_opts),
	.run = run,
};
