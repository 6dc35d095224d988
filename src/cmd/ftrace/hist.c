/*
 * `sonde ftrace hist`: histograms that the kernel makes (hist triggers), in an instance of our own while a command runs or until
 * Ctrl-C; and the time between two events by a key, with a synthetic event.
 */
#include "cmd/app/commands.h"
#include "cmd/ftrace/watch.h"
#include "session/call_chains.h"
#include "session/event_count.h"
#include "session/event_latency.h"
#include "session/sql_rows.h"
#include "tracing/hist_text.h"
#include "tracing/hists.h"
#include "view/json_key_counts.h"
#include "view/latency.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct hist_opts {
	const char *keys, *values, *sort, *filter, *size, *latency, *by, *trigger, *input;
	bool dry_run, all_pids;
};

struct hist_run {
	struct app *app;
	const struct hist_opts *o;
	struct tracing t;
	struct ftrace_hists hists;
	char *cmdline;
	const char *label; /* of a duration in it; NULL: none */
	bool usecs; /* its unit, else nanoseconds */
	struct command_run run;
};

/* A signal is the command's too; it need not heed it. */
static int wait_for_end(struct hist_run *h, int argc, char **argv)
{
	struct command_run *r = &h->run;
	int err = command_run_open(r, &(struct command_run_opts){ 0 });
	if (!err && argc)
		err = command_run_prepare(r, argv, NULL, &h->app->diag);
	if (!err)
		err = command_run_go(r, argc ? argv[0] : NULL, &h->app->diag);
	if (!err)
		err = command_run_wait(r);
	if (r->signal && !r->ended)
		(void)command_run_ask(r, r->signal, 0);
	return err;
}

static int json_result(struct hist_run *h, const char *text)
{
	struct key_counts t;
	key_counts_init(&t);
	int err = hist_text_parse(text, &t);
	if (err == -EBADMSG)
		diag_error(&h->app->diag, err, "cannot understand the kernel's text in %s",
			   h->hists.shown);
	if (!err)
		err = json_key_counts(&t, &h->app->out);
	key_counts_done(&t);
	return err;
}

static int status_of(const struct hist_run *h)
{
	bool by_itself = h->run.ended && !h->run.was_ended;
	return by_itself ? child_exit_status(h->run.wait_status) : APP_DONE;
}

static int print_result(struct hist_run *h)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = tracing_read(&h->t, h->hists.shown, &text);
	if (err) {
		diag_error(&h->app->diag, err, "cannot read %s: %s", h->hists.shown, strerror(-err));
	} else if (h->app->json) {
		err = json_result(h, strbuf_cstr(&text));
	} else {
		strbuf_add(&h->app->out, strbuf_cstr(&text), text.len);
		if (h->label)
			latency_of_text(strbuf_cstr(&text), h->label, h->usecs, &h->app->out);
	}
	strbuf_done(&text);
	return err;
}

static int hist(struct hist_run *h, int argc, char **argv)
{
	const struct hist_opts *o = h->o;
	h->label = o->latency && !o->keys ? "usecs" : NULL;
	h->usecs = true;
	int err = ftrace_hists_open(&h->hists, &h->t, h->cmdline, o->dry_run ? &h->app->out : NULL,
				    &h->app->diag);
	if (!err)
		err = ftrace_hists_begin(
			&h->hists, &(struct ftrace_hist_words){ .event = o->latency ? NULL : argv[0],
								.keys = o->keys,
								.values = o->values,
								.sort = o->sort,
								.filter = o->filter,
								.size = o->size,
								.trigger = o->trigger,
								.latency = o->latency,
								.by = o->by });
	if (err || o->dry_run)
		return err;
	int skip = o->latency ? 0 : 1;
	err = wait_for_end(h, argc - skip, argv + skip);
	if (!err)
		err = ftrace_hists_stop(&h->hists);
	return err ? err : print_result(h);
}

/* ---- from a recording ---- */

static struct tell to(struct app *app)
{
	return (struct tell){ &app->out, &app->diag, app->json };
}

/* The kernel cannot do it, or it is over: the same from events that are traced, or were recorded. */
static int from_events(struct app *app, const struct hist_opts *o, int argc, char **argv)
{
	struct event_latency l = { .to = to(app),
				   .only_table = app->dialect->ends_with_table,
				   .name = o->input ? o->input : "the trace" };
	struct ftrace_watch w = { .live.style = PRINT_STYLE_KERNEL,
				  .answer = event_latency_answer(&l) };
	struct ftrace_setup f = { 0 };
	struct arena a;
	int status = APP_DONE;
	arena_init(&a);
	int err = event_latency_rule(o->latency, o->by, &a, &l.rule, &app->diag);
	if (!err && o->input) {
		err = trace_answer_file(&w.answer, o->input, 0, &app->diag);
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
			status = ftrace_watch(app, &f, argc, argv, &w);
		else
			ftrace_setup_end(&f);
	}
	event_latency_done(&l);
	arena_done(&a);
	return err ? app_fail(app, err) : status;
}

static int count_traced(struct app *app, struct event_hist_opts hist, const char *filter, int argc,
			char **argv)
{
	struct event_count c = { .opts = hist, .to = to(app) };
	struct ftrace_watch w = { .live.style = PRINT_STYLE_KERNEL,
				  .answer = event_count_answer(&c) };
	struct ftrace_setup f = { 0 };
	struct strbuf event;
	int status = 0, err = event_count_check(&c);
	if (err)
		return app_fail(app, err);
	strbuf_init(&event);
	strbuf_printf(&event, "%s:%s", hist.system, hist.event);
	ftrace_setup_defaults(&f);
	err = ftrace_take_event(&f, strbuf_cstr(&event), false, &app->diag);
	if (!err && filter)
		err = ftrace_take_filter(&f, filter, false, &app->diag);
	if (!err)
		status = ftrace_watch(app, &f, argc, argv, &w);
	else
		ftrace_setup_end(&f);
	event_count_done(&c);
	strbuf_done(&event);
	return err ? app_fail(app, err) : status;
}

/* A kernel without histograms: the same from a recording. */
static int without_triggers(struct hist_run *h, int argc, char **argv)
{
	struct app *app = h->app;
	const struct hist_opts *o = h->o;
	char system[128], event[128];
	if (o->trigger) {
		(void)diag_error(&app->diag, -ENOTSUP, "this kernel does not support histograms");
		diag_hint(&app->diag, "-k KEY and --latency A,B work anyway: events are recorded "
				      "and counted in user space");
		return app_fail(app, -ENOTSUP);
	}
	if (o->latency) {
		diag_note(&app->diag, "this kernel does not support histograms: counting from a "
				      "recording instead");
		return from_events(app, o, argc, argv);
	}
	int err = ftrace_hists_event(&h->hists, argv[0], system, event, sizeof(event));
	if (err)
		return app_fail(app, err);
	diag_note(&app->diag,
		  "this kernel does not support histograms: counting from a recording instead");
	return count_traced(app,
			    (struct event_hist_opts){ .system = system,
						      .event = event,
						      .keys = o->keys,
						      .values = o->values,
						      .sort = o->sort },
			    o->filter, argc - 1, argv + 1);
}

/* As trace-cmd has it: without anything that the kernel would be asked for, a word is a file. */
static int of_file(struct app *app, const struct hist_opts *o, int argc, char **argv)
{
	const char *path = o->input ? o->input : argc ? argv[0] : "trace.dat";
	if (argc > 1 || (argc && o->input))
		return app_usage(app, "unexpected argument '%s': only one file at a time",
				 argv[argc - 1]);
	if (o->filter || o->by)
		return app_usage(app,
				 "-f and --by need an event histogram: -k KEY or --latency A,B");
	if (argc && access(path, F_OK) &&
	    strspn(path, "abcdefghijklmnopqrstuvwxyz_0123456789:*") == strlen(path)) {
		(void)diag_error(&app->diag, -ENOENT, "no such file: '%s'", path);
		diag_hint(&app->diag, "for a kernel event, give a field with -k KEY");
		return app_fail(app, -ENOENT);
	}
	int err = call_chains_print(&(struct tell){ &app->out, &app->diag, app->json }, path,
				    o->all_pids);
	return err ? app_fail(app, err) : APP_DONE;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct hist_opts *o = opts;
	struct hist_run h = { .app = app, .o = o, .run = COMMAND_RUN_NONE };
	bool live = o->keys || o->trigger || o->values || o->sort || o->size || o->dry_run;
	if (!o->latency && !live)
		return of_file(app, o, argc, argv);
	if (o->all_pids)
		return app_usage(app, "-P is only for call chains of a file");
	if (o->input && !o->latency)
		return app_usage(app, "these histograms are made by the running kernel: use -i "
				      "FILE with --latency, or alone");
	if (o->input && argc)
		return app_usage(app, "-i reads a file: unexpected command");
	if (o->input)
		return from_events(app, o, 0, NULL);
	if (!o->latency && !argc)
		return app_usage(app, "no event given");
	if (!o->latency && !o->keys && !o->trigger)
		return app_usage(app, "no key field given: -k KEY");
	int err = ftrace_open(&h.t, &app->diag);
	if (err)
		return app_fail(app, err);
	h.hists = (struct ftrace_hists){ .t = &h.t, .diag = &app->diag };
	if (!o->dry_run && !tracing_has(&h.t, "events/sched/sched_switch/hist")) {
		int status = without_triggers(&h, argc, argv);
		tracing_close(&h.t);
		return status;
	}
	h.cmdline = ftrace_own_cmdline();
	err = hist(&h, argc, argv);
	command_run_close(&h.run);
	ftrace_hists_close(&h.hists);
	tracing_close(&h.t);
	free(h.cmdline);
	if (err)
		return app_fail(app, err);
	return status_of(&h);
}

/* ---- sqlhist ---- */

struct sql_opts {
	const char *name;
	bool execute;
};

static int sql_run(struct hist_run *h, struct ftrace_sql *q, const struct sql_opts *o, int argc,
		   char **argv)
{
	char synth[64];
	(void)snprintf(synth, sizeof(synth), "sonde_sql_%d", (int)getpid());
	vec_for_each (&q->items, i)
		if (!h->label && sql_is_delta(i)) {
			h->label = i->label;
			h->usecs = i->a.usecs;
		}
	int err = ftrace_hists_open(&h->hists, &h->t, h->cmdline, o->execute ? NULL : &h->app->out,
				    &h->app->diag);
	if (!err)
		err = ftrace_hists_query(&h->hists, q, o->name ? o->name : synth);
	if (err || !o->execute)
		return err;
	err = wait_for_end(h, argc, argv);
	if (!err)
		err = ftrace_hists_stop(&h->hists);
	return err ? err : print_result(h);
}

/* Where the kernel makes no histograms: the events are recorded, with their filters, and met here. */
static int sql_recorded(struct app *app, const struct ftrace_sql *q, int argc, char **argv)
{
	struct sql_rows *rows = sql_rows_new(q);
	struct ftrace_setup f = { 0 };
	ftrace_setup_defaults(&f);
	int err = rows ? 0 : -ENOMEM;
	for (int i = 0; i < 2 && !err; i++) {
		char text[300];
		(void)snprintf(text, sizeof(text), "%s:%s", q->sides[i].system, q->sides[i].event);
		const char *event = arena_strdup(sql_rows_arena(rows), text);
		err = event ? ftrace_take_event(&f, event, false, &app->diag) : -ENOMEM;
		if (!err && q->sides[i].filter)
			err = ftrace_take_filter(&f, q->sides[i].filter, false, &app->diag);
	}
	int status = 0;
	if (err) {
		ftrace_setup_end(&f);
	} else {
		struct tell tell = to(app);
		status = ftrace_watch(
			app, &f, argc, argv,
			&(struct ftrace_watch){ .live.style = PRINT_STYLE_KERNEL,
						.answer = sql_rows_answer(rows, &tell) });
	}
	sql_rows_free(rows);
	return err ? app_fail(app, err) : status;
}

/* The same for a question about one event. */
static int sql_counted(struct app *app, const struct ftrace_sql *q, int argc, char **argv)
{
	struct strbuf words[2];
	strbuf_init(&words[0]);
	strbuf_init(&words[1]);
	vec_for_each (&q->items, i) {
		struct strbuf *to = &words[i->counter];
		strbuf_printf(to, "%s%s", to->len ? "," : "", i->a.field);
	}
	int status = count_traced(app,
				  (struct event_hist_opts){ .system = q->sides[0].system,
							    .event = q->sides[0].event,
							    .keys = strbuf_cstr(&words[0]),
							    .values = strbuf_cstr(&words[1]) },
				  q->sides[0].filter, argc, argv);
	strbuf_done(&words[0]);
	strbuf_done(&words[1]);
	return status;
}

static int run_sql(struct app *app, void *opts, int argc, char **argv)
{
	struct sql_opts *o = opts;
	struct hist_run h = { .app = app, .run = COMMAND_RUN_NONE };
	struct ftrace_sql q;
	if (!argc)
		return app_usage(app, "no query given: 'SELECT ... FROM ...'");
	if (argc > 1 && !o->execute)
		return app_usage(app, "use -e to run a command; quote the query as one argument");
	if (ftrace_sql_parse(&q, argv[0], &app->diag))
		return app_usage_said(app);
	int err = ftrace_open(&h.t, &app->diag);
	if (err) {
		ftrace_sql_done(&q);
		return app_fail(app, err);
	}
	int status = APP_DONE;
	h.hists = (struct ftrace_hists){ .t = &h.t, .diag = &app->diag };
	err = ftrace_hists_check(&h.hists, &q);
	bool lacks = !err && o->execute && !tracing_has(&h.t, "events/sched/sched_switch/hist");
	if (lacks && q.join) {
		diag_note(&app->diag, "this kernel does not support histograms: counting from a "
				      "recording instead");
		status = sql_recorded(app, &q, argc - 1, argv + 1);
	} else if (lacks) {
		diag_note(&app->diag, "this kernel does not support histograms: counting from a "
				      "recording instead");
		status = sql_counted(app, &q, argc - 1, argv + 1);
	} else if (!err) {
		h.cmdline = ftrace_own_cmdline();
		err = sql_run(&h, &q, o, argc - 1, argv + 1);
		command_run_close(&h.run);
		ftrace_hists_close(&h.hists);
		free(h.cmdline);
	}
	tracing_close(&h.t);
	ftrace_sql_done(&q);
	if (err)
		return app_fail(app, err);
	return h.run.ended ? status_of(&h) : status;
}

static const struct opt sql_opt_rows[] = {
	OPT_FLAG('e', "execute", struct sql_opts, execute,
		 "Run it during the command, or until Ctrl-C, and print the histogram"),
	OPT_STR('n', "name", struct sql_opts, name, "NAME", "Name of the synthetic event"),
	OPT_END(),
};

static const struct opt_example sql_examples[] = {
	{ "ftrace sqlhist 'SELECT start.pid, TIMESTAMP_DELTA_USECS AS lat FROM sched_waking AS "
	  "start JOIN sched_switch AS end ON start.pid = end.next_pid'",
	  "what to write to tracefs for the wake-up latency of each task" },
	{ "ftrace sqlhist -e 'SELECT TIMESTAMP_DELTA_USECS AS lat FROM sched_waking AS start JOIN "
	  "sched_switch AS end ON start.pid = end.next_pid WHERE start.prio < 100' sleep 5",
	  "the histogram of real-time tasks" },
	{ "ftrace sqlhist -e 'SELECT next_comm, next_prio FROM sched_switch' sleep 5",
	  "how often each task was switched to" },
	{ 0 },
};

const struct command command_ftrace_sqlhist = {
	.name = "sqlhist",
	.summary = "histograms of one or two events, as an SQL query",
	.usage = "[OPTIONS] 'SELECT ... FROM EVENT [JOIN EVENT ON ...] [WHERE ...]' [COMMAND "
		 "[ARGS]]",
	.about = "Turns a query into triggers and a synthetic event, and prints them; with -e it "
		 "sets them up in a private instance and prints the histogram at the end. On a "
		 "kernel without histograms the events are recorded and matched in user "
		 "space.\nFields are EVENT.FIELD or ALIAS.FIELD, times EVENT.TIMESTAMP and "
		 "EVENT.TIMESTAMP_USECS, their difference TIMESTAMP_DELTA and "
		 "TIMESTAMP_DELTA_USECS, which is shown in powers of two. CAST(FIELD AS _COUNTER_) "
		 "sums a field of a single event.",
	.examples = sql_examples,
	.opts = sql_opt_rows,
	.opts_size = sizeof(struct sql_opts),
	.run = run_sql,
};

/* ---- hist ---- */

/* clang-format off */
static const struct opt rows[] = {
	OPT_STR('k', "key", struct hist_opts, keys, "KEYS", "Count by these fields: pid, next_comm, common_pid.execname, len.log2, stacktrace"),
	OPT_STR('w', "values", struct hist_opts, values, "FIELDS", "Sum these fields"),
	OPT_STR('s', "sort", struct hist_opts, sort, "FIELD", "Sort by: hitcount, a key or a value; FIELD.descending"),
	OPT_STR(0, "size", struct hist_opts, size, "N", "Table size (2048)"),
	OPT_STR('f', "filter", struct hist_opts, filter, "FILTER", "Filter for the event"),
	OPT_STR(0, "trigger", struct hist_opts, trigger, "HIST", "The whole trigger: hist:keys=...:onmax($x).save(comm)"),
	OPT_STR(0, "latency", struct hist_opts, latency, "A,B", "Time from event A to event B, in powers of two of microseconds"),
	OPT_STR(0, "by", struct hist_opts, by, "KEY", "Field that both events share (common_pid); pid=next_pid if the names differ"),
	OPT_STR('i', "input", struct hist_opts, input, "FILE", "Call chains of this file instead of trace.dat; with --latency: latencies of its events"),
	OPT_FLAG('P', NULL, struct hist_opts, all_pids, "Merge call chains of all tasks"),
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
	  "how long tasks wait for a CPU" },
	{ "ftrace hist -i trace.dat --latency irq:softirq_raise,irq:softirq_entry --by vec",
	  "the same kind of answer from a file" },
	{ "ftrace hist -P trace.dat",
	  "which functions and events were most frequent, and who called them" },
	{ 0 },
};

const struct command command_ftrace_hist = {
	.name = "hist",
	.summary = "histograms: call chains of a file, events counted by the kernel, time between "
		   "two events",
	.usage = "[-P] [FILE] | -k KEY [OPTIONS] EVENT [COMMAND [ARGS]]",
	.about = "For a file (trace.dat): every call chain found in its functions, stacks and "
		 "events, most frequent first, with the share of each caller, as trace-cmd prints "
		 "it.\nWith -k or --trigger the kernel counts and nothing is recorded: the "
		 "histogram is set up in a private instance while the command runs, or until "
		 "Ctrl-C, and printed as the kernel prints it. On a kernel without histograms the "
		 "events are recorded and counted in user space.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct hist_opts),
	.run = run,
};
