/*
 * `sonde ftrace hist`: histograms that the kernel makes (hist triggers), in an instance of our own while a command runs or until
 * Ctrl-C; and the time between two events by a key, with a synthetic event.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/loop.h"
#include "cmd/child.h"
#include "cmd/commands.h"
#include "cmd/ftrace_latency.h"
#include "cmd/ftrace_record.h"
#include "cmd/ftrace_setup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct hist_opts {
	const char *keys, *values, *sort, *filter, *size, *latency, *by, *trigger, *input;
	bool dry_run;
};

struct histing {
	struct app *app;
	const struct hist_opts *o;
	struct tracing t;
	struct journal *j;
	char *cmdline;
	char folder[300], name[128];
	char shown[600]; /* the file with the result */
	int signal, wait_status;
	bool child_done;
};

static int split_event(struct histing *h, const char *text, char *system, char *event, size_t size)
{
	const char *colon = strchr(text, ':');
	struct tracing_events list;
	char glob[128];
	(void)snprintf(glob, sizeof(glob), "%.*s", colon ? (int)(colon - text) : 0, text);
	int err = tracing_list_events(&h->t, colon ? glob : NULL, colon ? colon + 1 : text, &list);
	if (!err && list.items.nr == 1) {
		(void)snprintf(system, size, "%s", list.items.at[0].system);
		(void)snprintf(event, size, "%s", list.items.at[0].name);
	} else {
		err = diag_error(&h->app->diag, -ENOENT, "'%s' is not one event", text);
		diag_hint(&h->app->diag, "'sonde ftrace list -e' shows all events");
	}
	if (list.items.nr)
		tracing_events_done(&list);
	return err;
}

static int add_trigger(struct histing *h, const char *system, const char *event, const char *line)
{
	char path[700], undo[1200];
	(void)snprintf(path, sizeof(path), "%sevents/%s/%s/trigger", h->folder, system, event);
	(void)snprintf(undo, sizeof(undo), "!%s", line);
	return journal_add(h->j, path, line, undo, &h->app->diag);
}

/* keys=...:vals=...:sort=...:size=... if FILTER */
static int plain_hist(struct histing *h, const char *text)
{
	const struct hist_opts *o = h->o;
	char system[128], event[128];
	struct strbuf line;
	int err = split_event(h, text, system, event, sizeof(event));
	if (err)
		return err;
	strbuf_init(&line);
	if (o->trigger)
		strbuf_str(&line, o->trigger);
	else
		strbuf_printf(&line, "hist:keys=%s", o->keys);
	if (!o->trigger && o->values)
		strbuf_printf(&line, ":vals=%s", o->values);
	if (!o->trigger && o->sort)
		strbuf_printf(&line, ":sort=%s", o->sort);
	if (!o->trigger && o->size)
		strbuf_printf(&line, ":size=%s", o->size);
	if (o->filter)
		strbuf_printf(&line, " if %s", o->filter);
	err = line.err ? line.err : add_trigger(h, system, event, strbuf_cstr(&line));
	strbuf_done(&line);
	(void)snprintf(h->shown, sizeof(h->shown), "%sevents/%s/%s/hist", h->folder, system, event);
	return err;
}

static void synth_name(char *to, size_t size)
{
	(void)snprintf(to, size, "sonde_lat_%d", (int)getpid());
}

/* Made before the instance that uses it, so that it is removed after it. */
static int make_synth(struct histing *h)
{
	char name[64], line[128], undo[96];
	synth_name(name, sizeof(name));
	(void)snprintf(line, sizeof(line), "%s u64 usecs", name);
	(void)snprintf(undo, sizeof(undo), "!%s", name);
	return journal_add(h->j, "synthetic_events", line, undo, &h->app->diag);
}

/*
 * A notes its time under the key, B finds it and makes an event of the difference, whose histogram is the answer. A key may have
 * two names: pid=next_pid.
 */
static int latency_hist(struct histing *h)
{
	char first[256], sa[128], ea[128], sb[128], eb[128], ka[64], kb[64], line[1024], synth[64];
	const char *comma = strchr(h->o->latency, ','), *by = h->o->by ? h->o->by : "common_pid";
	const char *equal = strchr(by, '=');
	if (!comma || comma - h->o->latency >= (long)sizeof(first))
		return diag_error(&h->app->diag, -EINVAL, "--latency A,B: two events");
	(void)snprintf(first, sizeof(first), "%.*s", (int)(comma - h->o->latency), h->o->latency);
	(void)snprintf(ka, sizeof(ka), "%.*s", equal ? (int)(equal - by) : (int)strlen(by), by);
	(void)snprintf(kb, sizeof(kb), "%s", equal ? equal + 1 : by);
	int err = split_event(h, first, sa, ea, sizeof(ea));
	if (!err)
		err = split_event(h, comma + 1, sb, eb, sizeof(eb));
	if (err)
		return err;
	synth_name(synth, sizeof(synth));
	(void)snprintf(line, sizeof(line), "hist:keys=%s:ts0=common_timestamp.usecs%s%s", ka,
		       h->o->filter ? " if " : "", h->o->filter ? h->o->filter : "");
	if (!err)
		err = add_trigger(h, sa, ea, line);
	(void)snprintf(line, sizeof(line),
		       "hist:keys=%s:lat=common_timestamp.usecs-$ts0:onmatch(%s.%s).%s($lat)", kb,
		       sa, ea, synth);
	if (!err)
		err = add_trigger(h, sb, eb, line);
	if (!err)
		err = add_trigger(h, "synthetic", synth,
				  h->o->keys && strcmp(h->o->keys, "usecs")
					  ? h->o->keys
					  : "hist:keys=usecs.log2:sort=usecs");
	(void)snprintf(h->shown, sizeof(h->shown), "%sevents/synthetic/%s/hist", h->folder, synth);
	return err;
}

static int on_signal(void *ctx, u64 what)
{
	((struct histing *)ctx)->signal = (int)what;
	return 1;
}

static int on_child(void *ctx, u64 what)
{
	struct histing *h = ctx;
	h->wait_status = (int)what;
	h->child_done = true;
	return 1;
}

/* A loop ends by itself when nobody is waited for: a clock that never matters keeps it. */
static int tick(void *ctx, u64 what)
{
	(void)ctx;
	(void)what;
	return 0;
}

static int wait_for_end(struct histing *h, int argc, char **argv)
{
	struct child c = { .go_fd = -1, .exec_fd = -1 };
	struct loop *l = loop_new();
	int err = l ? loop_add_signal(l, SIGINT, on_signal, h) : -errno;
	if (!err)
		err = loop_add_signal(l, SIGTERM, on_signal, h);
	if (!err && argc)
		err = child_prepare(&c, argv, loop_old_signals(l), &h->app->diag);
	if (!err && argc)
		err = child_go(&c, argv[0], &h->app->diag);
	if (!err)
		err = argc ? loop_add_child(l, c.pid, on_child, h)
			   : loop_add_timer(l, NS_PER_SEC, NS_PER_SEC, tick, h, NULL);
	if (!err)
		err = loop_run(l);
	if (h->signal && c.pid > 0 && !h->child_done)
		(void)kill(c.pid, h->signal);
	child_done(&c);
	loop_free(l);
	return err;
}

static int print_result(struct histing *h)
{
	struct strbuf text;
	struct json j;
	strbuf_init(&text);
	int err = tracing_read(&h->t, h->shown, &text);
	if (err) {
		diag_error(&h->app->diag, err, "cannot read %s: %s", h->shown, strerror(-err));
	} else if (h->app->json) {
		json_begin(&j, &h->app->out, JSON_PRETTY);
		json_object(&j);
		json_key(&j, "hist");
		json_strn(&j, strbuf_cstr(&text), text.len);
		json_object_end(&j);
		err = json_end(&j);
	} else {
		strbuf_add(&h->app->out, strbuf_cstr(&text), text.len);
	}
	strbuf_done(&text);
	return err;
}

static int hist(struct histing *h, int argc, char **argv)
{
	struct diag *d = &h->app->diag;
	struct journal_opts jo = { .title = h->cmdline, .dry = h->o->dry_run ? &h->app->out : NULL };
	char path[400];
	if (!h->o->dry_run && !tracing_has(&h->t, "events/sched/sched_switch/hist")) {
		int err = diag_error(d, -ENOTSUP, "this kernel makes no histograms");
		diag_hint(d,
			  "it was built without CONFIG_HIST_TRIGGERS; record the events instead");
		return err;
	}
	int err = journal_open(&h->j, &h->t, &jo, d);
	if (err)
		return err;
	(void)snprintf(h->name, sizeof(h->name), "sonde-%s", journal_name(h->j));
	(void)snprintf(h->folder, sizeof(h->folder), "instances/%s/", h->name);
	err = h->o->latency ? make_synth(h) : 0;
	if (!err)
		err = journal_instance(h->j, h->name, d);
	if (!err)
		err = h->o->latency ? latency_hist(h) : plain_hist(h, argv[0]);
	if (err || h->o->dry_run)
		return err;
	int skip = h->o->latency ? 0 : 1;
	err = wait_for_end(h, argc - skip, argv + skip);
	(void)snprintf(path, sizeof(path), "%stracing_on", h->folder);
	if (!err)
		err = journal_set(h->j, path, "0", d);
	return err ? err : print_result(h);
}

/* ---- from a recording ---- */

struct recorded {
	struct app *app;
	struct event_pair_rule rule;
};

static int look(void *ctx, const char *path)
{
	const struct recorded *r = ctx;
	struct ftrace_latency l = { 0 };
	int err = ftrace_latency_read(r->app, path, &r->rule, &l);
	return err ? err : ftrace_latency_print(r->app, &l);
}

/* The kernel cannot do it, or it is over: the same from events that were recorded. */
static int from_recording(struct app *app, const struct hist_opts *o, int argc, char **argv)
{
	struct recorded r = { .app = app };
	struct ftrace_setup f = { 0 };
	struct arena a;
	int status = APP_DONE;
	arena_init(&a);
	int err = ftrace_latency_rule(o->latency, o->by, &a, &r.rule, &app->diag);
	if (!err && o->input) {
		err = look(&r, o->input);
	} else if (!err) {
		const char *comma = strchr(o->latency, ',');
		ftrace_setup_defaults(&f);
		err = ftrace_take_event(&f,
					arena_strndup(&a, o->latency, (size_t)(comma - o->latency)),
					false, &app->diag);
		if (!err && o->filter)
			err = ftrace_take_filter(&f, o->filter, false, &app->diag);
		if (!err)
			err = ftrace_take_event(&f, comma + 1, false, &app->diag);
		if (!err)
			status = ftrace_record_and(app, &f, argc, argv, look, &r);
		else
			ftrace_setup_end(&f);
	}
	arena_done(&a);
	return err ? app_fail(app, err) : status;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct hist_opts *o = opts;
	struct histing h = { .app = app, .o = o };
	if (o->input && (!o->latency || argc))
		return app_usage(app, o->latency
					      ? "-i reads a file: there is no command to run"
					      : "-i FILE goes with --latency; 'ftrace graph' and "
						"'ftrace profile' add up other things of a file");
	if (o->input)
		return from_recording(app, o, 0, NULL);
	if (!o->latency && !argc)
		return app_usage(app, "which event?");
	if (!o->latency && !o->keys && !o->trigger)
		return app_usage(app, "by which field? -k KEY");
	int err = ftrace_open(&h.t, &app->diag);
	if (err)
		return app_fail(app, err);
	if (o->latency && !o->dry_run && !tracing_has(&h.t, "events/sched/sched_switch/hist")) {
		tracing_close(&h.t);
		diag_note(&app->diag,
			  "this kernel makes no histograms: this one is made of a recording");
		return from_recording(app, o, argc, argv);
	}
	h.cmdline = ftrace_own_cmdline();
	err = hist(&h, argc, argv);
	journal_close(h.j, &app->diag);
	tracing_close(&h.t);
	free(h.cmdline);
	if (err)
		return app_fail(app, err);
	return h.child_done ? child_exit_status(h.wait_status) : APP_DONE;
}

/* clang-format off */
static const struct opt rows[] = {
	OPT_STR('k', "key", struct hist_opts, keys, "KEYS", "Count by these fields: pid, next_comm, common_pid.execname, len.log2, stacktrace"),
	OPT_STR('w', "values", struct hist_opts, values, "FIELDS", "Add up these fields"),
	OPT_STR('s', "sort", struct hist_opts, sort, "FIELD", "Sort by: hitcount, a key or a value; FIELD.descending"),
	OPT_STR(0, "size", struct hist_opts, size, "N", "Entries of the table (2048)"),
	OPT_STR('f', "filter", struct hist_opts, filter, "FILTER", "Only events where this holds"),
	OPT_STR(0, "trigger", struct hist_opts, trigger, "HIST", "The whole trigger: hist:keys=...:onmax($x).save(comm)"),
	OPT_STR(0, "latency", struct hist_opts, latency, "A,B", "The time from event A to event B, in powers of two of microseconds"),
	OPT_STR(0, "by", struct hist_opts, by, "KEY", "The field that both have in common (common_pid); pid=next_pid where the names differ"),
	OPT_STR('i', "input", struct hist_opts, input, "FILE", "With --latency: of this trace.dat"),
	OPT_FLAG(0, "dry-run", struct hist_opts, dry_run, "Only print what would be written to tracefs"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace hist -k next_comm sched:sched_switch sleep 5",
	  "how often each task was switched to" },
	{ "ftrace hist -k common_pid.execname -w bytes_req kmem:kmalloc",
	  "kernel memory by task, until Ctrl-C" },
	{ "ftrace hist --latency sched:sched_waking,sched:sched_switch --by pid=next_pid sleep 5",
	  "how long tasks wait until they run" },
	{ "ftrace hist -i trace.dat --latency irq:softirq_raise,irq:softirq_entry --by vec",
	  "the same kind of answer from a file" },
	{ 0 },
};

const struct command command_ftrace_hist = {
	.name = "hist",
	.summary = "histograms made by the kernel; time between two events",
	.usage = "[OPTIONS] EVENT [COMMAND [ARGS]]",
	.about = "The kernel counts; nothing is recorded. The histogram is made in an instance of "
		 "our own while "
		 "the command runs, or until Ctrl-C, and printed as the kernel prints it. A kernel "
		 "without histograms "
		 "is helped out for --latency: the two events are recorded and added up.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct hist_opts),
	.run = run,
};
