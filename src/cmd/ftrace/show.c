/* `sonde ftrace show`, `snapshot`, `stack`, `mark`: what tracefs has to say, as text. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "tracing/which.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 16 };

/* A file of tracefs to standard output as it comes, or as one JSON string. */
static int show_file(struct app *app, const struct tracing *t, const char *file)
{
	int fd = openat(t->dir, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return diag_error(&app->diag, -errno, "cannot read %s/%s: %s", t->path, file,
				  strerror(errno));
	if (app->json) {
		struct json j;
		struct strbuf text;
		strbuf_init(&text);
		(void)close(fd);
		int err = tracing_read(t, file, &text);
		json_begin(&j, &app->out, JSON_PRETTY);
		json_object(&j);
		json_put_str(&j, "file", file);
		json_key(&j, "text");
		json_strn(&j, strbuf_cstr(&text), text.len);
		json_object_end(&j);
		err = err ? err : json_end(&j);
		strbuf_done(&text);
		return err;
	}
	int err = 0;
	for (;;) {
		char *room = strbuf_room(&app->out, COPY_BYTES / 2);
		ssize_t n = room ? read(fd, room, COPY_BYTES / 2) : -1;
		if (n < 0 && room && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n ? (room ? -errno : app->out.err) : 0;
			break;
		}
		strbuf_commit(&app->out, (size_t)n);
		if (!app->may_page && strbuf_flush(&app->out)) {
			err = app->out.err;
			break;
		}
	}
	(void)close(fd);
	return err == -EPIPE ? 0 : err;
}

/* ---- show ------------------------------------------------------------------------------------------------------------------- */

struct show_opts {
	const char *buffer, *cpu, *hist, *trigger, *filter;
	bool pipe, snapshot, path, follow;
	bool tracing_on, current_tracer, buffer_size, buffer_total_size, ftrace_filter;
	bool ftrace_notrace, ftrace_pid, graph_function, graph_notrace, cpumask, current;
	bool clock, event_pid, thresh, max_latency, options, set_event, stats;
};

/* "SYSTEM:EVENT" or "EVENT" of any system: its folder, or -ENOENT with a diag. */
static int event_file(struct app *app, const struct tracing *t, const char *folder,
		      const char *event, const char *file, char *to, size_t size)
{
	const char *colon = strchr(event, ':');
	struct tracing_events list;
	char system[128];
	(void)snprintf(system, sizeof(system), "%.*s", colon ? (int)(colon - event) : 0, event);
	int err = tracing_list_events(t, colon ? system : NULL, colon ? colon + 1 : event, &list);
	if (!err && !list.items.nr) {
		tracing_events_done(&list);
		err = -ENOENT;
	}
	if (err) {
		diag_error(&app->diag, err, "unknown event '%s'", event);
		diag_hint(&app->diag, "'sonde ftrace list -e' shows all events");
		return err;
	}
	(void)!str_path(to, size, "%sevents/%s/%s/%s", folder, list.items.at[0].system,
			list.items.at[0].name, file);
	tracing_events_done(&list);
	return 0;
}

static int show(struct app *app, const struct show_opts *o, const struct tracing *t)
{
	const struct {
		bool on;
		const char *file;
	} files[] = {
		{ o->tracing_on, "tracing_on" },
		{ o->current_tracer || o->current, "current_tracer" },
		{ o->buffer_size, "buffer_size_kb" },
		{ o->buffer_total_size, "buffer_total_size_kb" },
		{ o->ftrace_filter, "set_ftrace_filter" },
		{ o->ftrace_notrace, "set_ftrace_notrace" },
		{ o->ftrace_pid, "set_ftrace_pid" },
		{ o->graph_function, "set_graph_function" },
		{ o->graph_notrace, "set_graph_notrace" },
		{ o->cpumask, "tracing_cpumask" },
		{ o->clock, "trace_clock" },
		{ o->event_pid, "set_event_pid" },
		{ o->set_event, "set_event" },
		{ o->thresh, "tracing_thresh" },
		{ o->max_latency, "tracing_max_latency" },
		{ o->options, "trace_options" },
	};
	char folder[PATH_MAX - 400], path[PATH_MAX];
	int err = ftrace_folder(t, o->buffer, folder, sizeof(folder), &app->diag);
	if (err)
		return err;
	const char *event = o->hist ? o->hist : o->trigger ? o->trigger : o->filter;
	if (event) {
		err = event_file(app, t, folder, event,
				 o->hist      ? "hist"
				 : o->trigger ? "trigger"
					      : "filter",
				 path, sizeof(path));
		return err ? err : show_file(app, t, path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].on) {
			(void)!str_path(path, sizeof(path), "%s%s", folder, files[i].file);
			return show_file(app, t, path);
		}
	char cpu[32] = "";
	if (o->cpu) {
		u64 nr;
		if (num_parse_u64(o->cpu, 10, &nr))
			return diag_error(&app->diag, -EINVAL, "-c %s: expected a CPU number",
					  o->cpu);
		(void)snprintf(cpu, sizeof(cpu), "per_cpu/cpu%llu/", (unsigned long long)nr);
	}
	(void)!str_path(path, sizeof(path), "%s%s%s", folder, cpu,
			o->stats      ? "stats"
			: o->pipe     ? "trace_pipe"
			: o->snapshot ? "snapshot"
				      : "trace");
	if (o->path)
		strbuf_printf(&app->out, "%s/%s\n", t->path, path);
	if (o->pipe)
		app_live(app);
	return show_file(app, t, path);
}

static int run_show(struct app *app, void *opts, int argc, char **argv)
{
	struct show_opts *o = opts;
	struct tracing t;
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	if (o->pipe && o->snapshot)
		return app_usage(app, "-p and -s are mutually exclusive");
	if (o->stats && !o->cpu)
		return app_usage(app, "--stats needs a CPU: add -c N");
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	err = show(app, o, &t);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

/* clang-format off */
static const struct opt show_rows[] = {
	OPT_FLAG('p', "pipe", struct show_opts, pipe, "Print new events as they come (removes them from the buffer)"),
	OPT_FLAG('s', "snapshot", struct show_opts, snapshot, "The snapshot"),
	OPT_STR('c', "cpu", struct show_opts, cpu, "CPU", "Buffer of one CPU"),
	OPT_STR('B', "buffer", struct show_opts, buffer, "NAME", "Buffer of an instance"),
	OPT_FLAG('f', "path", struct show_opts, path, "Print the path of the file first"),
	OPT_HEADING("Settings instead of the buffer"),
	OPT_FLAG(0, "tracing_on", struct show_opts, tracing_on, "Whether tracing is on"),
	OPT_FLAG(0, "current_tracer", struct show_opts, current_tracer, "Current tracer"),
	OPT_FLAG(0, "current", struct show_opts, current, "Current tracer", .hidden = true),
	OPT_FLAG(0, "buffer_size", struct show_opts, buffer_size, "Kilobytes per CPU"),
	OPT_FLAG(0, "buffer_total_size", struct show_opts, buffer_total_size, "Kilobytes in total"),
	OPT_FLAG(0, "ftrace_filter", struct show_opts, ftrace_filter, "Traced functions"),
	OPT_FLAG(0, "ftrace_notrace", struct show_opts, ftrace_notrace, "Excluded functions"),
	OPT_FLAG(0, "ftrace_pid", struct show_opts, ftrace_pid, "Tasks whose functions are traced"),
	OPT_FLAG(0, "graph_function", struct show_opts, graph_function, "Functions that graphs start at"),
	OPT_FLAG(0, "graph_notrace", struct show_opts, graph_notrace, "Functions excluded from graphs"),
	OPT_FLAG(0, "cpumask", struct show_opts, cpumask, "CPUs"),
	OPT_FLAG(0, "clock", struct show_opts, clock, "Clocks, the current one in brackets"),
	OPT_FLAG(0, "event_pid", struct show_opts, event_pid, "Tasks whose events are traced"),
	OPT_FLAG(0, "events", struct show_opts, set_event, "Enabled events"),
	OPT_FLAG(0, "thresh", struct show_opts, thresh, "tracing_thresh"),
	OPT_FLAG(0, "max_latency", struct show_opts, max_latency, "tracing_max_latency"),
	OPT_FLAG(0, "options", struct show_opts, options, "trace_options"),
	OPT_FLAG(0, "stats", struct show_opts, stats, "Entries, overruns and times of a CPU's buffer (with -c)"),
	OPT_STR(0, "hist", struct show_opts, hist, "EVENT", "Histograms of an event"),
	OPT_STR(0, "trigger", struct show_opts, trigger, "EVENT", "Triggers of an event"),
	OPT_STR(0, "filter", struct show_opts, filter, "EVENT", "Filter of an event"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example show_examples[] = {
	{ "ftrace show", "contents of the buffer" },
	{ "ftrace show -p", "events as they come" },
	{ "ftrace show -c 1 -B mine", "one CPU of an instance" },
	{ "ftrace show --hist sched_switch", "an event's histograms" },
	{ 0 },
};

const struct command command_ftrace_show = {
	.name = "show",
	.summary = "print the kernel's buffer, or one of its settings",
	.usage = "[OPTIONS]",
	.examples = show_examples,
	.opts = show_rows,
	.opts_size = sizeof(struct show_opts),
	.run = run_show,
};

/* ---- snapshot ------------------------------------------------------------------------------------------------------------------ */

struct snapshot_opts {
	const char *buffer, *cpu;
	bool take, reset, release;
};

static int snapshot(struct app *app, const struct snapshot_opts *o, const struct tracing *t)
{
	char folder[PATH_MAX - 400], path[PATH_MAX], cpu[64] = "";
	int err = ftrace_folder(t, o->buffer, folder, sizeof(folder), &app->diag);
	if (err)
		return err;
	if (o->cpu)
		(void)snprintf(cpu, sizeof(cpu), "per_cpu/cpu%s/", o->cpu);
	(void)!str_path(path, sizeof(path), "%s%ssnapshot", folder, cpu);
	if (!tracing_has(t, path)) {
		err = diag_error(&app->diag, -ENOENT, "this kernel has no snapshots%s",
				 o->cpu ? " for a CPU, or there is no such CPU" : "");
		diag_hint(&app->diag, "it was built without CONFIG_TRACER_SNAPSHOT");
		return err;
	}
	if (!o->take && !o->reset && !o->release)
		return show_file(app, t, path);
	err = tracing_write(t, path, o->take ? "1\n" : o->reset ? "2\n" : "0\n", false);
	return err ? diag_error(&app->diag, err, "cannot write to %s/%s: %s", t->path, path,
				strerror(-err))
		   : 0;
}

static int run_snapshot(struct app *app, void *opts, int argc, char **argv)
{
	struct snapshot_opts *o = opts;
	struct tracing t;
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	if (o->take + o->reset + o->release > 1)
		return app_usage(app, "use only one of -s, -r and -f");
	if (o->cpu && o->cpu[strspn(o->cpu, "0123456789")])
		return app_usage(app, "-c %s: expected a CPU number", o->cpu);
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	err = snapshot(app, o, &t);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt snapshot_rows[] = {
	OPT_FLAG('s', "take", struct snapshot_opts, take,
		 "Take a snapshot: swap the buffer with a spare"),
	OPT_FLAG('r', "reset", struct snapshot_opts, reset, "Clear the snapshot"),
	OPT_FLAG('f', "free", struct snapshot_opts, release, "Free the snapshot's memory"),
	OPT_STR('B', "buffer", struct snapshot_opts, buffer, "NAME", "Buffer of an instance"),
	OPT_STR('c', "cpu", struct snapshot_opts, cpu, "CPU", "Buffer of one CPU"),
	OPT_END(),
};

static const struct opt_example snapshot_examples[] = {
	{ "ftrace snapshot -s", "keep the current contents of the buffer" },
	{ "ftrace snapshot", "print it" },
	{ "ftrace snapshot -f", "free its memory" },
	{ 0 },
};

const struct command command_ftrace_snapshot = {
	.name = "snapshot",
	.summary = "take, print or free a snapshot of the buffer",
	.usage = "[OPTIONS]",
	.examples = snapshot_examples,
	.opts = snapshot_rows,
	.opts_size = sizeof(struct snapshot_opts),
	.run = run_snapshot,
};

/* ---- stack --------------------------------------------------------------------------------------------------------------------- */

#define STACK_SYSCTL "/proc/sys/kernel/stack_tracer_enabled"

struct stack_opts {
	bool start, stop, reset, size;
	struct opt_list functions;
};

static int stack_filter(struct app *app, const struct tracing *t, const struct opt_list *l)
{
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < l->items.nr; i++)
		strbuf_printf(&s, "%s\n", l->items.at[i]);
	int err = tracing_write(t, "stack_trace_filter", strbuf_cstr(&s), true);
	strbuf_done(&s);
	return err ? diag_error(&app->diag, err, "cannot set stack_trace_filter: %s", strerror(-err))
		   : 0;
}

static int stack(struct app *app, const struct stack_opts *o, const struct tracing *t)
{
	struct strbuf s;
	if (!tracing_has(t, "stack_trace")) {
		int err = diag_error(&app->diag, -ENOENT, "this kernel has no stack tracer");
		diag_hint(&app->diag, "it was built without CONFIG_STACK_TRACER");
		return err;
	}
	int err = o->functions.items.nr ? stack_filter(app, t, &o->functions) : 0;
	if (!err && (o->start || o->stop))
		err = tracing_write(t, STACK_SYSCTL, o->start ? "1\n" : "0\n", false);
	if (!err && o->reset)
		err = tracing_write(t, "stack_max_size", "0\n", false);
	if (err)
		return app->diag.nr_errors
			       ? err
			       : diag_error(&app->diag, err, "the stack tracer refused: %s",
					    strerror(-err));
	if (o->start || o->stop || o->reset || (o->functions.items.nr && !o->size))
		return 0;
	if (o->size)
		return show_file(app, t, "stack_max_size");
	strbuf_init(&s);
	if (!app->json && !strcmp(tracing_line(t, STACK_SYSCTL, &s), "0"))
		strbuf_str(&app->out, "(stack tracer not running)\n");
	strbuf_done(&s);
	return show_file(app, t, "stack_trace");
}

static int run_stack(struct app *app, void *opts, int argc, char **argv)
{
	struct tracing t;
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	err = stack(app, opts, &t);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt stack_rows[] = {
	OPT_FLAG(0, "start", struct stack_opts, start, "Switch the stack tracer on"),
	OPT_FLAG(0, "stop", struct stack_opts, stop, "Switch it off"),
	OPT_FLAG(0, "reset", struct stack_opts, reset, "Reset the deepest stack"),
	OPT_FLAG(0, "size", struct stack_opts, size, "Only print the size of the deepest stack"),
	OPT_LIST('l', "function", struct stack_opts, functions, "FUNC",
		 "Check only in these functions"),
	OPT_END(),
};

static const struct opt_example stack_examples[] = {
	{ "ftrace stack --start", "track the depth of the kernel stack" },
	{ "ftrace stack", "the deepest stack so far: depth, size and offset of each function" },
	{ 0 },
};

const struct command command_ftrace_stack = {
	.name = "stack",
	.summary = "show the deepest kernel stack seen so far",
	.usage = "[OPTIONS]",
	.examples = stack_examples,
	.opts = stack_rows,
	.opts_size = sizeof(struct stack_opts),
	.run = run_stack,
};

/* ---- mark ---------------------------------------------------------------------------------------------------------------------- */

struct mark_opts {
	const char *buffer, *raw;
};

static int mark(struct app *app, const struct mark_opts *o, const struct tracing *t, int argc,
		char **argv)
{
	char folder[PATH_MAX - 400], path[PATH_MAX];
	struct strbuf s;
	int err = ftrace_folder(t, o->buffer, folder, sizeof(folder), &app->diag);
	if (err)
		return err;
	(void)!str_path(path, sizeof(path), "%strace_marker%s", folder, o->raw ? "_raw" : "");
	_cleanup_close_ int fd = openat(t->dir, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return diag_error(&app->diag, -errno, "cannot open %s/%s: %s", t->path, path,
				  strerror(errno));
	strbuf_init(&s);
	if (o->raw) {
		u64 id;
		if (num_parse_u64(o->raw, 0, &id) || id > UINT32_MAX) {
			strbuf_done(&s);
			return diag_error(&app->diag, -EINVAL, "--raw %s: expected a number as ID",
					  o->raw);
		}
		u32 tag = (u32)id;
		strbuf_add(&s, &tag, sizeof(tag));
	}
	for (int i = 0; i < argc; i++)
		strbuf_printf(&s, "%s%s", i ? " " : "", argv[i]);
	err = s.err;
	if (!err && write(fd, s.data, s.len) != (ssize_t)s.len)
		err = -errno;
	strbuf_done(&s);
	if (err == -EBADF) {
		diag_error(&app->diag, err, "tracing is off: nothing is written to the buffer");
		diag_hint(&app->diag, "'sonde ftrace restart' turns it on");
		return err;
	}
	return err ? diag_error(&app->diag, err, "cannot write the marker: %s", strerror(-err)) : 0;
}

static int run_mark(struct app *app, void *opts, int argc, char **argv)
{
	struct tracing t;
	if (!argc)
		return app_usage(app, "no text given");
	int err = ftrace_open(&t, &app->diag);
	if (err)
		return app_fail(app, err);
	err = mark(app, opts, &t, argc, argv);
	tracing_close(&t);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt mark_rows[] = {
	OPT_STR('B', "buffer", struct mark_opts, buffer, "NAME", "Write to an instance"),
	OPT_STR(0, "raw", struct mark_opts, raw, "ID",
		"Write raw data with this ID (trace_marker_raw)"),
	OPT_END(),
};

static const struct opt_example mark_examples[] = {
	{ "ftrace mark 'test 3 begins'", "a line in the trace" },
	{ 0 },
};

const struct command command_ftrace_mark = {
	.name = "mark",
	.summary = "write a line into the trace",
	.usage = "[OPTIONS] TEXT...",
	.examples = mark_examples,
	.opts = mark_rows,
	.opts_size = sizeof(struct mark_opts),
	.run = run_mark,
};
