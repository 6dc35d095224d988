/* sonde trace: system calls and events as they happen. */
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/record/preset.h"
#include "base/json.h"
#include "base/outplace.h"
#include "bpf/capture.h"
#include "session/call_trace.h"
#include "session/live_names.h"
#include "session/live_run.h"
#include "session/recording.h"
#include "stream/run.h"
#include "view/text_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line is printed when all rings have been read twice since. */
enum { FLUSH_NS = 50000000 };

struct trace_opts {
	struct record_opts record; /* first: its option calls get this struct */
	VEC(struct record_word) words; /* of -e and --filter, as they were given */
	struct opt_list paths;
	struct call_trace_opts show;
	const char *input;
	const char *output;
	const char *duration;
	const char *summary_mode;
	const char *faults;
	bool syscalls; /* also where -e names only events */
	bool summary, with_summary, errno_summary;
	bool no_tasks;
	bool no_strings, no_fd_names;
	u64 string_limit;
	bool ignored;
	struct symbol_opts symbols;
};

struct trace_job {
	struct app *app;
	struct trace_opts *o;
	struct tracing tracing;
	struct syscall_table *table;
	struct syscall_set set;
	struct call_filters filters;
	struct last_event { /* -e, to which --filter may be added */
		struct syscall_set calls;
		bool events;
	} last;
	struct arena arena; /* of event words */
	struct strbuf filter;
	struct live_run live;
	struct call_trace trace;
	struct recorder_stats recorded;
	struct run_tables tables;
	struct names *names;
	struct source *src; /* of -i */
	struct sysroot root;
	struct capture capture;
	struct live_output output;
	bool captures;
	int out_fd; /* -o, or what standard output was; -1: neither */
};

/* ---- what -e asks for ------------------------------------------------------------------------------------------- */

static int take_word(struct trace_opts *o, const char *text, int kind)
{
	struct record_word *w = vec_push(&o->words);
	if (!w)
		return -ENOMEM;
	*w = (struct record_word){ .text = text, .kind = kind };
	return 0;
}

static int take_event(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return take_word(opts, value, WORD_EVENT);
}

static int take_filter(void *opts, const char *value, bool negated, struct diag *d)
{
	struct trace_opts *o = opts;
	(void)negated;
	if (!o->words.nr)
		return diag_error(
			d, -EINVAL,
			"--filter must follow the -e it applies to ('*': all system calls)");
	return take_word(o, value, WORD_FILTER);
}

static int add_word(struct record_opts *r, const char *text, int kind)
{
	struct record_word *w = vec_push(&r->words.list);
	if (!w)
		return -ENOMEM;
	*w = (struct record_word){ .text = text, .kind = kind };
	return 0;
}

/* Up to the next comma that is not between braces, slashes or quotes. */
static size_t word_len(const char *at)
{
	size_t len = 0;
	int depth = 0;
	bool slash = false;
	char quote = 0;
	for (; at[len]; len++) {
		char c = at[len];
		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '/')
			slash = !slash;
		else if (c == '{')
			depth++;
		else if (c == '}')
			depth--;
		else if (c == ',' && !slash && depth <= 0)
			break;
	}
	return len;
}

static int add_event(struct trace_job *j, const char *text, size_t len)
{
	char *copy = arena_alloc(&j->arena, len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	int err = add_word(&j->o->record, copy, WORD_EVENT);
	return err || !j->o->record.all ? err : add_word(&j->o->record, NULL, WORD_NOT_US_IF);
}

/* One -e: system calls, or all but these, and events. */
static int split_event(struct trace_job *j, const char *text, bool *negated)
{
	struct diag *d = &j->app->diag;
	bool all_but = *text == '!';
	j->last = (struct last_event){ 0 };
	for (const char *at = text + all_but; *at;) {
		size_t len = word_len(at);
		bool event = memchr(at, ':', len) || memchr(at, '/', len) || memchr(at, '{', len);
		if (event && all_but)
			return diag_error(d, -EINVAL, "-e %s: '!' is for system calls only", text);
		if (!event && !syscall_set_add(&j->set, j->table, at, len)) {
			/* Events without a colon: page-faults, cpu-clock. */
			if (*at == '%' || all_but) {
				diag_error(d, -EINVAL, "-e: unknown %s '%.*s'",
					   *at == '%' ? "group of system calls" : "system call",
					   (int)len, at);
				diag_hint(d, "groups: %s", syscall_set_groups);
				return -EINVAL;
			}
			event = true;
		}
		if (!event)
			(void)syscall_set_add(&j->last.calls, j->table, at, len);
		j->last.events |= event;
		int err = event ? add_event(j, at, len) : 0;
		if (err)
			return err;
		at += len + (at[len] == ',');
	}
	*negated |= all_but;
	if (all_but)
		syscall_set_negate(&j->last.calls);
	return 0;
}

/* --filter: of tracepoints for the kernel, of system calls for us. */
static int add_filter(struct trace_job *j, const char *text)
{
	struct diag *d = &j->app->diag;
	if (!j->last.calls.any)
		return add_word(&j->o->record, text, WORD_FILTER);
	if (!j->last.events)
		return call_filters_add(&j->filters, j->table, &j->last.calls, text, d);
	return diag_error(
		d,
		-EINVAL, "--filter %s: the -e before it names system calls and events: each needs a -e of its own",
		text);
}

/* What --filter and --path compare has to be there. */
static int check_filters(struct trace_job *j)
{
	const char *name = j->captures ? NULL : call_filters_need_strings(&j->filters, j->table);
	if (!name)
		return 0;
	return diag_error(&j->app->diag, -EINVAL,
			  "'%s' is compared with text, but only pointers are known %s", name,
			  j->o->input		 ? "in a recording"
			  : j->o->no_strings	 ? "with --no-strings"
			  : j->o->record.cgroups ? "with -G"
						 : "here: no BPF program can be loaded");
}

/* -F: every page fault, with the address that was touched. */
static int add_faults(struct trace_job *j)
{
	static const struct {
		const char *word;
		const char *events[2];
	} kinds[] = {
		{ "all",
		  { "major-faults/period=1,name=major-faults/",
		    "minor-faults/period=1,name=minor-faults/" } },
		{ "maj", { "major-faults/period=1,name=major-faults/" } },
		{ "min", { "minor-faults/period=1,name=minor-faults/" } },
	};
	struct trace_opts *o = j->o;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(o->faults, kinds[i].word) != 0)
			continue;
		int err = 0;
		for (size_t k = 0; k < ARRAY_SIZE(kinds[i].events) && !err; k++)
			if (kinds[i].events[k])
				err = add_word(&o->record, kinds[i].events[k], WORD_EVENT);
		o->record.live.data_addr = o->show.faults = true;
		return err;
	}
	return diag_error(&j->app->diag, -EINVAL,
			  "-F: unknown kind of page faults '%s' (all, maj or min)", o->faults);
}

/* ---- strings and structures ------------------------------------------------------------------------------------- */

static int add_target(void *ctx, s32 tid, bool until_exec)
{
	struct trace_job *j = ctx;
	char path[64];
	(void)snprintf(path, sizeof(path), "proc/%d/task/%d", tid, tid);
	/* Before its first event: the thread that reads the rings has nothing to read yet. */
	int err = sysroot_exists(&j->root, path) ? call_trace_add_process(&j->trace, &j->root, tid)
						 : 0;
	return err ? err : capture_add_task(&j->capture, tid, until_exec);
}

static int add_cpu(void *ctx, u32 cpu, int fd)
{
	struct trace_job *j = ctx;
	return capture_add_cpu(&j->capture, cpu, fd);
}

static s64 number_of(struct trace_job *j, const char *name)
{
	u64 nr;
	return syscall_table_find(j->table, name, &nr) ? (s64)nr : -1;
}

static bool may_capture(const struct trace_opts *o)
{
	return !o->no_strings && !o->input && !o->record.cgroups;
}

/* BPF programs in place of raw_syscalls, if they can be loaded. Otherwise one note gives the reason, and tracing continues without. */
static int open_capture(struct trace_job *j)
{
	struct trace_opts *o = j->o;
	struct record_opts *r = &o->record;
	if (!may_capture(o))
		return 0;
	/* As the rings are opened: -C is all tasks there, and tasks that are named go before -a. */
	bool tasks = r->pids || r->tids || r->user;
	int err = sysroot_open(&j->root, NULL);
	if (err)
		return err;
	err = capture_open(&j->capture, &j->root,
			   &(struct capture_opts){
				   .everybody = !tasks && (r->all || r->cpus),
				   .children = r->inherit >= 0,
				   .execs = { number_of(j, "execve"), number_of(j, "execveat") } },
			   &j->app->diag);
	if (err)
		return err == -ENOMEM ? err : 0;
	j->captures = true;
	o->show.fd_names = !r->all && !r->tids && !r->cpus && !o->no_fd_names;
	for (u64 nr = 0; nr < CAPTURE_CALLS && !err; nr++) {
		bool shown = !j->set.any || j->set.has[nr];
		const struct syscall *call = syscall_table_at(j->table, nr);
		if (call && (shown || (o->show.fd_names && call->fd_effect)))
			err = capture_add_call(&j->capture, nr, call);
	}
	j->output = (struct live_output){ .add_target = add_target, .add_cpu = add_cpu, .ctx = j };
	r->live.output = &j->output;
	o->show.captured = true;
	return err ? err : add_word(r, "bpf-output", WORD_EVENT);
}

static int add_syscalls(struct trace_job *j)
{
	int opened = open_capture(j);
	if (opened || j->captures)
		return opened;
	static const char *const events[] = { "raw_syscalls:sys_enter", "raw_syscalls:sys_exit" };
	struct record_opts *r = &j->o->record;
	int err = 0;
	if (j->set.any)
		syscall_set_filter(&j->set, &j->filter);
	for (size_t i = 0; i < ARRAY_SIZE(events) && !err; i++) {
		err = add_word(r, events[i], WORD_EVENT);
		if (!err && j->set.any)
			err = add_word(r, strbuf_cstr(&j->filter), WORD_FILTER);
		if (!err && r->all)
			err = add_word(r, NULL, WORD_NOT_US_IF);
	}
	return err ? err : j->filter.err;
}

static int choose_events(struct trace_job *j)
{
	struct trace_opts *o = j->o;
	bool negated = false;
	int err = 0;
	if (may_capture(o)) /* before filters ask for calls */
		syscall_table_copy(j->table, (u32)min(o->string_limit, (u64)CAPTURE_PIECE_MAX));
	vec_for_each (&o->words, w) {
		err = w->kind == WORD_EVENT ? split_event(j, w->text, &negated)
					    : add_filter(j, w->text);
		if (err)
			return err;
	}
	vec_for_each (&o->paths.items, path)
		if ((err = call_filters_add_path(&j->filters, *path)))
			return err;
	if (negated)
		syscall_set_negate(&j->set);
	if (o->faults && !o->input && (err = add_faults(j)))
		return err;
	bool events = o->record.words.list.nr;
	o->show.syscalls = j->set.any || o->syscalls || !events;
	o->show.calls = j->set.any ? &j->set : NULL;
	o->show.filters = j->filters.list.nr || j->filters.paths.nr ? &j->filters : NULL;
	err = o->show.syscalls ? add_syscalls(j) : 0;
	return err || !o->show.syscalls ? err : check_filters(j);
}

/* ---- output ----------------------------------------------------------------------------------------------------- */

static int open_file(const char *path, struct diag *d)
{
	struct outplace p;
	char aside[NAME_MAX + 1];
	int err = outplace_open(&p, path, 0, d);
	if (err)
		return err;
	int fd = p.kind == OUTPLACE_SPECIAL ? outplace_reopen(&p, O_WRONLY | O_CLOEXEC)
					    : outplace_create(&p, 0666, aside);
	if (fd >= 0 && p.kind != OUTPLACE_SPECIAL) {
		err = outplace_rename(&p, aside);
		if (err)
			(void)close(fd);
	} else if (fd < 0) {
		err = fd;
	}
	outplace_close(&p);
	return err ? diag_error(d, err, "-o %s: %s", path, strerror(-err)) : fd;
}

/*
 * Where lines go: -o; else standard output, or standard error for who expects perf. With JSON standard output is ours alone: what the command
 * prints goes where messages go.
 */
static int choose_output(struct trace_job *j, bool command)
{
	struct app *app = j->app;
	if (j->o->output) {
		j->out_fd = open_file(j->o->output, &app->diag);
		if (j->out_fd < 0)
			return j->out_fd;
		app->out_fd = j->out_fd;
		app->out.screen = false;
		app->colour = false;
	} else if (app->json && command) {
		j->out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		if (j->out_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
			return diag_error(&app->diag, -errno, "--json: standard output: %s",
					  strerror(errno));
		app->out_fd = j->out_fd;
	} else if (app->dialect->prints_to_stderr && !app->json) {
		app->out_fd = STDERR_FILENO;
		app->out.screen = app->err.screen;
		app->colour = app->colour_err;
	}
	return 0;
}

static int report(struct trace_job *j)
{
	struct trace_opts *o = j->o;
	struct app *app = j->app;
	struct call_trace *c = &j->trace;
	int err = 0;
	if (!o->show.summary && !app->json)
		return 0;
	syscall_stat_sort(&c->stat);
	if (!app->json) {
		text_trace_summary(&c->stat,
				   &(struct text_trace_summary){
					   .errors = o->errno_summary,
					   .percentiles = !app->dialect->perf_closing_lines },
				   &app->out);
	} else if (o->show.summary) {
		err = json_trace_summary(&c->stat, j->recorded.nr_lost, &app->out);
	} else {
		struct json js;
		json_begin(&js, &app->out, JSON_COMPACT);
		json_object(&js);
		json_put_u64(&js, "events", c->nr_events);
		json_put_u64(&js, "lost", j->recorded.nr_lost);
		json_object_end(&js);
		err = json_end(&js);
	}
	return err;
}

/* ---- live ------------------------------------------------------------------------------------------------------- */

static int begin(void *ctx)
{
	struct trace_job *j = ctx;
	int err = j->captures ? capture_start(&j->capture, &j->app->diag) : 0;
	return err ? err : live_run_start(&j->live, &j->trace.sink);
}

static int open_sink(struct trace_job *j, struct source *src)
{
	struct trace_opts *o = j->o;
	o->show.json = j->app->json;
	o->show.colour = app_colours(j->app);
	o->show.names = j->names;
	return call_trace_init(&j->trace, &o->show, src, j->table, &j->app->out);
}

/* What was not seen or not kept. */
static void report_capture(struct trace_job *j)
{
	u64 missed = j->captures ? capture_missed(&j->capture) : 0;
	u64 dropped = j->trace.nr_dropped;
	if (missed)
		diag_warn(&j->app->diag, "%llu %s not traced: more than %d at once",
			  (unsigned long long)missed,
			  str_plural(missed, "thread was", "threads were"), CAPTURE_TASKS);
	if (dropped)
		diag_warn(&j->app->diag,
			  "%llu %s shown without all strings: too many at once to keep",
			  (unsigned long long)dropped, str_plural(dropped, "call is", "calls are"));
}

static int trace_live(struct trace_job *j, int argc, char **argv)
{
	struct app *app = j->app;
	struct record_opts *r = &j->o->record;
	bool json = app->json;
	int err = choose_events(j);
	if (err)
		return err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
	err = choose_output(j, argc);
	if (!err)
		err = live_run_open(&j->live,
				    &(struct live_run_opts){ .option_names = app->diag.options });
	j->o->show.stacks = r->graph || r->call_graph;
	if (!err && (j->o->show.stacks || j->o->show.faults)) {
		j->names = live_names_new(app_symbols(app), &j->o->symbols);
		err = j->names ? 0 : -ENOMEM;
	}
	if (!err)
		err = open_sink(j, j->live.source);
	if (err)
		return app_fail(app, err);
	r->source = j->live.source;
	r->begin = begin;
	r->begin_ctx = j;
	r->result = &j->recorded;
	r->source_enough = &j->trace.enough;
	r->live.sample_time = 1;
	r->live.settle = true;
	r->live.flush_ns = FLUSH_NS;
	if (!r->ring)
		r->ring = "4M";
	app_live(app);
	app->json = false; /* its closing line is ours */
	int status = command_record.run(app, r, argc, argv);
	app->json = json;
	err = live_run_end(&j->live);
	diag_join(&app->diag, &j->live.diag);
	report_capture(j);
	if (err == -ESRCH) /* it never began, and it was said why */
		return status;
	if (!err)
		err = report(j);
	if (err && err != -EPIPE)
		return app_fail(app, err);
	return status;
}

/* ---- recordings ------------------------------------------------------------------------------------------------- */

static int trace_file(struct trace_job *j, int argc, char **argv)
{
	struct app *app = j->app;
	struct trace_opts *o = j->o;
	const struct record_opts *r = &o->record;
	if (argc)
		return app_usage(app, "unexpected argument '%s': -i reads a recording", argv[0]);
	if (r->pids || r->tids || r->user || r->cpus || r->all)
		return app_usage(app,
				 "-i reads a recording: -a, -C, -p, -t and -u are for live traces");
	int err = choose_events(j);
	if (err)
		return err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
	/* What was recorded besides is shown, too, unless system calls were asked for. */
	err = choose_output(j, false);
	if (!err)
		err = recording_open(app_symbols(app), o->input, RECORDING_EVENTS, &o->symbols,
				     &j->src);
	if (!err) {
		err = j->src->ops->prepare(j->src, 0, &app->diag);
		o->symbols.of_data = call_trace_has_faults(j->src);
		j->names = recording_names(app_symbols(app), j->src, &o->symbols);
		err = j->names ? err : -ENOMEM;
	}
	struct source_facts facts = { 0 };
	if (!err)
		facts = source_facts(j->src);
	if (!err && facts.arch) {
		syscall_table_close(j->table);
		j->table = NULL;
		err = syscall_table_open(&j->table, facts.arch, &j->tracing, &app->diag);
	}
	if (!err) {
		struct names *names = j->names;
		o->show.stacks = facts.has_chains;
		o->show.faults = call_trace_has_faults(j->src);
		j->names = o->show.stacks || o->show.faults ? names : NULL;
		err = open_sink(j, j->src);
		j->names = names;
	}
	if (!err)
		err = stream_run(j->src, &j->trace.sink, 1, &j->tables, &app->diag);
	if (!err && j->src->catalog.nr_lost)
		diag_warn(&app->diag, "%llu %s lost while recording",
			  (unsigned long long)j->src->catalog.nr_lost,
			  str_plural(j->src->catalog.nr_lost, "record was", "records were"));
	if (!err) {
		j->recorded.nr_lost = j->src->catalog.nr_lost;
		err = report(j);
	}
	return err ? app_fail(app, err) : APP_DONE;
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int check_options(struct trace_job *j, int argc)
{
	struct trace_opts *o = j->o;
	struct app *app = j->app;
	if (o->duration) {
		char *end;
		double ms = strtod(o->duration, &end);
		if (end == o->duration || *end || !(ms >= 0) || ms > 1e12)
			return app_usage(app, "--duration: invalid time '%s' (milliseconds)",
					 o->duration);
		o->show.min_ns = (u64)(ms * 1e6);
	}
	if (o->summary_mode && strcmp(o->summary_mode, "thread") != 0 &&
	    strcmp(o->summary_mode, "total") != 0)
		return app_usage(app, "--summary-mode: unknown mode '%s' (thread or total)",
				 o->summary_mode);
	o->show.together = o->summary_mode && !strcmp(o->summary_mode, "total");
	o->show.summary = o->summary || o->with_summary || o->errno_summary || o->summary_mode;
	o->show.lines = !o->summary;
	o->show.tasks = !o->no_tasks;
	o->show.as_perf = app->dialect->perf_closing_lines;
	o->show.unfinished = !app->dialect->perf_closing_lines;
	struct record_opts *r = &o->record;
	r->all |= !o->input && !argc && !r->pids && !r->tids && !r->user && !r->cpus;
	return 0;
}

static void job_done(struct trace_job *j)
{
	call_trace_done(&j->trace);
	if (j->names)
		j->names->ops->free(j->names);
	run_tables_done(&j->tables);
	if (j->live.source)
		live_run_close(&j->live);
	if (j->src)
		j->src->ops->close(j->src);
	if (j->captures)
		capture_close(&j->capture);
	sysroot_close(&j->root);
	syscall_table_close(j->table);
	tracing_close(&j->tracing);
	call_filters_done(&j->filters);
	strbuf_done(&j->filter);
	arena_done(&j->arena);
}

static int trace_run(struct app *app, void *opts, int argc, char **argv)
{
	struct trace_opts *o = opts;
	struct trace_job j = { .app = app, .o = o, .out_fd = -1, .root.dir_fd = -1 };
	strbuf_init(&j.filter);
	arena_init(&j.arena);
	int status = check_options(&j, argc);
	int err = tracing_open(&j.tracing, "");
	if (!status && !err)
		err = syscall_table_open(&j.table, NULL, &j.tracing, &app->diag);
	if (!status)
		status = err	    ? app_fail(app, err)
			 : o->input ? trace_file(&j, argc, argv)
				    : trace_live(&j, argc, argv);
	job_done(&j);
	vec_free(&o->words);
	vec_free(&o->record.words.list);
	return status;
}

static int record_calls(struct app *app, void *opts, int argc, char **argv)
{
	static const char *const events[] = { "raw_syscalls:sys_enter", "raw_syscalls:sys_exit",
					      NULL };
	struct record_opts *o = opts;
	return record_run_preset(app, o,
				 &(struct record_preset){ .events = events, .system_wide = !argc },
				 argc, argv);
}

static void set_defaults(void *opts)
{
	struct trace_opts *o = opts;
	o->string_limit = 32;
}

/* clang-format off */
static const struct opt trace_rows[] = {
	OPT_HEADING("What to trace"),
	OPT_CALL('e', "event", "LIST", "System calls by name, pattern or group (%file, %desc, %network, %process, %memory, %signal), '!' before the list for all others; and any events of `sonde list` (all system calls)", take_event),
	OPT_CALL(0, "filter", "FILTER", "Only those of the preceding -e that satisfy FILTER: for tracepoints in the kernel's syntax; for system calls an expression over their arguments, ret, error, duration (ms), COMM, PID (filename ~ \"*.conf\" && ret < 0)", take_filter),
	OPT_LIST(0, "path", struct trace_opts, paths, "PATTERN", "Only system calls with a matching file as an argument, by name or as a descriptor (/etc/*)"),
	OPT_CALL(0, "expr", "LIST", "Same as -e", take_event, .hidden = true),
	OPT_FLAG(0, "syscalls", struct trace_opts, syscalls, "System calls too where -e names only events"),
	OPT_STR('F', "pf", struct trace_opts, faults, "KIND", "Page faults, a line each with the code and the address that it touched: all, maj (those that read from disk), min. System calls only with -e or --syscalls"),
	OPT_FLAG('g', NULL, struct trace_opts, record.graph, "Call chains below each line: --call-graph auto"),
	OPT_STR(0, "call-graph", struct trace_opts, record.call_graph, "HOW", "Call chains below each line: fp, dwarf[,BYTES], auto, lbr"),
	OPT_HEADING("Of whom"),
	OPT_FLAG('a', "all-cpus", struct trace_opts, record.all, "The whole system (default without a command)"),
	OPT_STR('C', "cpu", struct trace_opts, record.cpus, "LIST", "These CPUs only (0-3,8)"),
	OPT_STR('p', "pid", struct trace_opts, record.pids, "PID", "Running processes with all their threads"),
	OPT_STR('t', "tid", struct trace_opts, record.tids, "TID", "Running threads"),
	OPT_STR('u', "uid", struct trace_opts, record.user, "USER", "Current processes of this user, by name or number"),
	OPT_STR('G', "cgroup", struct trace_opts, record.cgroups, "NAME", "Only this cgroup (needs -a)"),
	OPT_CALL(0, "no-inherit", NULL, "Exclude children and threads created later", record_take_inherit),
	OPT_STR('i', "input", struct trace_opts, input, "FILE", "Read a recording (`trace record`) instead"),
	OPT_HEADING("What to show"),
	OPT_UINT(0, "max-events", struct trace_opts, show.max_lines, "N", "Stop after N lines; a command goes on"),
	OPT_STR(0, "duration", struct trace_opts, duration, "MS", "Only calls that took longer than this many milliseconds (0.5)"),
	OPT_FLAG(0, "failure", struct trace_opts, show.failures, "Only calls that failed"),
	OPT_FLAG('T', "time", struct trace_opts, show.full_time, "Show full timestamps instead of times since the first event"),
	OPT_FLAG(0, "show-zeros", struct trace_opts, show.zeros, "Show arguments of 0 too"),
	OPT_FLAG(0, "no-comm", struct trace_opts, no_tasks, "Do not show the command and thread"),
	OPT_UINT(0, "string-limit", struct trace_opts, string_limit, "BYTES", "Show up to BYTES of buffers that are read and written; file names are shown in full (32)"),
	OPT_FLAG(0, "no-strings", struct trace_opts, no_strings, "Show pointers instead of what they point to; no BPF program is loaded"),
	OPT_FLAG(0, "no-fd-names", struct trace_opts, no_fd_names, "Do not show what descriptors refer to"),
	OPT_UINT(0, "max-stack", struct trace_opts, show.max_stack, "N", "Show only N frames of call chains"),
	OPT_FLAG('s', "summary", struct trace_opts, summary, "Only a table at the end: calls, errors, times"),
	OPT_FLAG('S', "with-summary", struct trace_opts, with_summary, "Lines, and the table at the end"),
	OPT_FLAG(0, "errno-summary", struct trace_opts, errno_summary, "The table with how often each error occurred"),
	OPT_STR(0, "summary-mode", struct trace_opts, summary_mode, "MODE", "A table for each thread, or one: thread, total (thread)"),
	OPT_STR('o', "output", struct trace_opts, output, "FILE", "Write to FILE (standard output)"),
	OPT_HEADING("How"),
	OPT_STR('m', "mmap-pages", struct trace_opts, record.ring, "PAGES", "Ring buffer size per CPU: pages, or a size like 16M (4M)"),
	OPT_FLAG(0, "comm", struct trace_opts, ignored, "Always shown, unless --no-comm", .hidden = true),
	OPT_FLAG('f', "force", struct trace_opts, ignored, "Accepted; nothing is checked", .hidden = true),
	OPT_FLAG(0, "sort-events", struct trace_opts, ignored, "Always", .hidden = true),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example record_examples[] = {
	{ "trace record -- make", "record system calls, to be read with `trace -i`" },
	{ 0 },
};

static const struct command command_trace_record = {
	.name = "record",
	.summary = "record system calls into perf.data",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Takes all options of `sonde record`.",
	.examples = record_examples,
	.opts = record_rows,
	.opts_size = sizeof(struct record_opts),
	.run = record_calls,
};

static const struct command *const subs[] = {
	&command_trace_record,
	NULL,
};

static const struct opt_example examples[] = {
	{ "trace -- ls", "the system calls of a command" },
	{ "trace -p 1234 -e %network", "what a running process does with sockets" },
	{ "trace -s -- make", "a table: calls, errors, times" },
	{ "trace -e kmem:kmalloc", "an event of the whole system, with the task that caused it" },
	{ "trace -e 'openat,close' --failure -a",
	  "files that any process failed to open or close" },
	{ "trace -e openat --filter 'filename ~ \"*.conf\"' -a", "who opens configuration files" },
	{ "trace --path '/var/log/*' -p 1234", "what a process does with these files" },
	{ "trace -F maj -a", "who waits for pages that are read from disk, and which" },
	{ "trace --duration 10 -p 1234", "calls that took longer than 10 ms" },
	{ "trace -e sched:sched_switch --max-events 5 --json", "five events as JSON" },
	{ "trace -i perf.data", "what `trace record` recorded" },
	{ 0 },
};

const struct command command_trace = {
	.name = "trace",
	.group = "What is happening",
	.summary = "system calls and events as they happen",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "A line for each system call, when it has ended: time since the first event, "
		 "duration, "
		 "command and thread, arguments, result. Where something else is printed first, a "
		 "line "
		 "that ends in ... says that it has begun. Arguments of 0 are left out. No process "
		 "is "
		 "stopped (no ptrace): events come through ring buffers, and what is lost when "
		 "they are "
		 "full is counted.\nWithout a command and without -p, -t, -u or -C the whole "
		 "system is "
		 "traced, until Ctrl-C. The exit status is that of the command.\nWith --json, one "
		 "object "
		 "per line, and a last one with the number of events and of lost records; the "
		 "command's "
		 "own output goes to standard error.\nStrings, buffers and structures that "
		 "arguments point to are copied by BPF programs (they need root, or CAP_BPF and "
		 "CAP_PERFMON); without them, with -G and in recordings pointers are shown. "
		 "What a descriptor refers to (3</etc/passwd>) is known where all calls of a "
		 "process are seen: not with -a, -t and -C. Names are those that the process used, "
		 "relative ones too. Calls of 32-bit programs are shown by their number, as "
		 "syscall32_4.",
	.examples = examples,
	.opts = trace_rows,
	.opts_size = sizeof(struct trace_opts),
	.defaults = set_defaults,
	.subs = subs,
	.run = trace_run,
};
