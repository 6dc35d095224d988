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
#include "tracing/sql.h"
#include "event/event.h"
#include "view/json_key_counts.h"
#include "view/latency.h"
#include "wire/format.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct hist_opts {
	const char *keys, *values, *sort, *filter, *size, *latency, *by, *trigger, *input;
	bool dry_run, all_pids;
};

struct histing {
	struct app *app;
	const struct hist_opts *o;
	struct tracing t;
	struct journal *j;
	char *cmdline;
	char folder[300], name[128];
	char shown[600]; /* the file with the result */
	const char *label; /* of a duration in it; NULL: none */
	bool usecs; /* its unit, else nanoseconds */
	struct command_run run;
};

static int split_event(struct histing *h, const char *text, char *system, char *event, size_t size)
{
	struct event_env env = { .tracing = h->t, .root = "" };
	struct event_list l;
	event_list_init(&l);
	int err = event_list_add(&l, &env, text, EVENT_USE_HIST, &h->app->diag);
	const struct event_desc *e = l.events.nr == 1 ? l.events.at : NULL;
	if (!err && e && !e->filter && !e->nr_triggers && !e->off) {
		(void)snprintf(system, size, "%s", e->system);
		(void)snprintf(event, size, "%s", e->event);
	} else if (!err) {
		err = diag_error(&h->app->diag, -ENOENT, "'%s' is more than one event", text);
		diag_hint(&h->app->diag, e ? "-f FILTER selects events, -k and -R what is counted"
					   : "'sonde ftrace list -e' shows all events");
	}
	event_list_done(&l);
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
		return diag_error(&h->app->diag, -EINVAL, "--latency A,B: expected two events");
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

/* A signal is the command's too; it need not heed it. */
static int wait_for_end(struct histing *h, int argc, char **argv)
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

static int json_result(struct histing *h, const char *text)
{
	struct key_counts t;
	key_counts_init(&t);
	int err = hist_text_parse(text, &t);
	if (err == -EBADMSG)
		diag_error(&h->app->diag, err, "cannot understand the kernel's text in %s",
			   h->shown);
	if (!err)
		err = json_key_counts(&t, &h->app->out);
	key_counts_done(&t);
	return err;
}

static int status_of(const struct histing *h)
{
	bool by_itself = h->run.ended && !h->run.was_ended;
	return by_itself ? child_exit_status(h->run.wait_status) : APP_DONE;
}

static int print_result(struct histing *h)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = tracing_read(&h->t, h->shown, &text);
	if (err) {
		diag_error(&h->app->diag, err, "cannot read %s: %s", h->shown, strerror(-err));
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

static int hist(struct histing *h, int argc, char **argv)
{
	struct diag *d = &h->app->diag;
	struct journal_opts jo = { .title = h->cmdline, .dry = h->o->dry_run ? &h->app->out : NULL };
	char path[400];
	h->label = h->o->latency && !h->o->keys ? "usecs" : NULL;
	h->usecs = true;
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
static int without_triggers(struct histing *h, int argc, char **argv)
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
	int err = split_event(h, argv[0], system, event, sizeof(event));
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
	struct histing h = { .app = app, .o = o, .run = COMMAND_RUN_NONE };
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
	if (!o->dry_run && !tracing_has(&h.t, "events/sched/sched_switch/hist")) {
		int status = without_triggers(&h, argc, argv);
		tracing_close(&h.t);
		return status;
	}
	h.cmdline = ftrace_own_cmdline();
	err = hist(&h, argc, argv);
	command_run_close(&h.run);
	journal_close(h.j, &app->diag);
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

/* As the synthetic event has it: the kernel compares sizes and signs. */
static int add_type(struct histing *h, const struct ftrace_sql *q, const struct sql_item *i,
		    struct strbuf *to)
{
	const struct sql_side *side = &q->sides[i->a.side];
	struct arena a;
	struct strbuf text;
	struct schema *schema;
	char path[400];
	if (!i->a.field) {
		strbuf_printf(to, " u64 %s;", i->label);
		return 0;
	}
	arena_init(&a);
	strbuf_init(&text);
	(void)snprintf(path, sizeof(path), "events/%s/%s/format", side->system, side->event);
	int err = tracing_read(&h->t, path, &text);
	if (!err)
		err = format_parse(&a, side->system, strbuf_cstr(&text), text.len, false,
				   sizeof(long), &schema, NULL);
	const struct schema_field *f = err ? NULL : schema_find(schema, i->a.field);
	if (!err && !f) {
		err = diag_error(&h->app->diag, -ENOENT, "%s has no field '%s'", side->event,
				 i->a.field);
		diag_hint(&h->app->diag, "'sonde ftrace list -e %s -F' shows its fields",
			  side->event);
	} else if (!err && (f->flags & FIELD_STRING)) {
		strbuf_printf(to,
			      f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC) ? " char[] %s;"
									  : " char %s[%u];",
			      i->label, f->size);
	} else if (!err) {
		strbuf_printf(to, " %c%u %s;", f->flags & FIELD_SIGNED ? 's' : 'u', f->size * 8,
			      i->label);
	}
	strbuf_done(&text);
	arena_done(&a);
	return err;
}

static int add_synth(struct histing *h, const struct ftrace_sql *q, const char *name)
{
	struct strbuf line;
	char undo[160];
	int err = 0;
	strbuf_init(&line);
	strbuf_str(&line, name);
	vec_for_each (&q->items, i)
		if (!err)
			err = add_type(h, q, i, &line);
	if (line.len && line.data[line.len - 1] == ';')
		line.len--;
	(void)snprintf(undo, sizeof(undo), "!%s", name);
	if (!err)
		err = journal_add(h->j, "synthetic_events", strbuf_cstr(&line), undo, &h->app->diag);
	strbuf_done(&line);
	return err;
}

static int find_sides(struct histing *h, struct ftrace_sql *q)
{
	int err = 0;
	for (int i = 0; i < 1 + q->join && !err; i++) {
		char text[256], system[128], event[128];
		struct sql_side *s = &q->sides[i];
		(void)snprintf(text, sizeof(text), "%s%s%s", s->system ? s->system : "",
			       s->system ? ":" : "", s->event);
		err = split_event(h, text, system, event, sizeof(event));
		if (err)
			return err;
		s->system = arena_strdup(&q->arena, system);
		s->event = arena_strdup(&q->arena, event);
		err = s->system && s->event ? 0 : -ENOMEM;
	}
	return err;
}

/* Names are checked before anything is written, or recorded. */
static int check_fields(struct histing *h, const struct ftrace_sql *q)
{
	struct strbuf scratch;
	int err = 0;
	strbuf_init(&scratch);
	vec_for_each (&q->items, i) {
		struct sql_item other = { .a = i->b, .label = "" };
		if (!err)
			err = add_type(h, q, i, &scratch);
		if (!err && i->op)
			err = add_type(h, q, &other, &scratch);
	}
	for (int side = 0; side < 2; side++)
		vec_for_each (&q->keys[side], key) {
			struct sql_item i = { .a = { .side = side, .field = *key }, .label = "" };
			if (!err)
				err = add_type(h, q, &i, &scratch);
		}
	strbuf_done(&scratch);
	return err;
}

static int sql_triggers(struct histing *h, const struct ftrace_sql *q, const char *name)
{
	const struct sql_side *a = &q->sides[0], *b = &q->sides[1];
	struct strbuf line[3];
	for (int i = 0; i < 3; i++)
		strbuf_init(&line[i]);
	int err;
	if (q->join) {
		ftrace_sql_start(q, &line[0]);
		ftrace_sql_end(q, name, &line[1]);
		ftrace_sql_shown(q, &line[2]);
		err = add_trigger(h, a->system, a->event, strbuf_cstr(&line[0]));
		if (!err)
			err = add_trigger(h, b->system, b->event, strbuf_cstr(&line[1]));
		if (!err)
			err = add_trigger(h, "synthetic", name, strbuf_cstr(&line[2]));
	} else {
		ftrace_sql_plain(q, &line[0]);
		err = add_trigger(h, a->system, a->event, strbuf_cstr(&line[0]));
	}
	(void)snprintf(h->shown, sizeof(h->shown), "%sevents/%s/%s/hist", h->folder,
		       q->join ? "synthetic" : a->system, q->join ? name : a->event);
	for (int i = 0; i < 3; i++)
		strbuf_done(&line[i]);
	return err;
}

static int sql_run(struct histing *h, struct ftrace_sql *q, const struct sql_opts *o, int argc,
		   char **argv)
{
	struct diag *d = &h->app->diag;
	struct journal_opts jo = { .title = h->cmdline, .dry = o->execute ? NULL : &h->app->out };
	char synth[64], path[400];
	(void)snprintf(synth, sizeof(synth), "sonde_sql_%d", (int)getpid());
	const char *name = o->name ? o->name : synth;
	vec_for_each (&q->items, i)
		if (!h->label && sql_is_delta(i)) {
			h->label = i->label;
			h->usecs = i->a.usecs;
		}
	int err = journal_open(&h->j, &h->t, &jo, d);
	if (err)
		return err;
	(void)snprintf(h->name, sizeof(h->name), "sonde-%s", journal_name(h->j));
	(void)snprintf(h->folder, sizeof(h->folder), "instances/%s/", h->name);
	err = q->join ? add_synth(h, q, name) : 0;
	if (!err)
		err = journal_instance(h->j, h->name, d);
	if (!err)
		err = sql_triggers(h, q, name);
	if (err || !o->execute)
		return err;
	err = wait_for_end(h, argc, argv);
	(void)snprintf(path, sizeof(path), "%stracing_on", h->folder);
	if (!err)
		err = journal_set(h->j, path, "0", d);
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
	struct histing h = { .app = app, .run = COMMAND_RUN_NONE };
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
	err = find_sides(&h, &q);
	if (!err)
		err = check_fields(&h, &q);
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
		journal_close(h.j, &app->diag);
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
