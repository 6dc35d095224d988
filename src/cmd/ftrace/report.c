/* `sonde ftrace report`: the events of one or several trace.dat as text or JSON. */
#include "analysis/event_filter.h"
#include "analysis/wakeups.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/json.h"
#include "base/num.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/options.h"
#include "session/task_times.h"
#include "session/trace_samples.h"
#include "session/tracedat_answers.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"
#include "view/text_events.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_HARDIRQ = 8, FLAG_SOFTIRQ = 16, FILES_MAX = 64 };

struct filter_opt {
	const char *text;
	bool out;
};

struct ftrace_report_opts {
	VEC(struct replay_ftrace_input) inputs;
	VEC(struct filter_opt) filters;
	bool negate; /* -v was seen: filters from here on */
	s64 ts_offset; /* given before any file */
	u64 ts_hz;
	const char *cpus, *ignored;
	const char *event;
	const char *samples;
	struct opt_list comms;
	struct opt_list raw_events, plain_events;
	bool raw, nanoseconds, latency, plain, quiet;
	bool no_hardirq, no_softirq;
	bool test_filters;
	bool wakeups, profile;
	struct task_times_opts profiling;
	struct text_events_functions layout;
	bool diff, align, raw_ts, no_date, check_ts;
	bool endian, functions, printk, names, formats, check, stat, uname, version;
	bool list_cpus, first, last, page_size;
	u64 workers;
};

static int input_call(void *opts, const char *value, bool negated, struct diag *d)
{
	struct ftrace_report_opts *o = opts;
	struct replay_ftrace_input *in = o->inputs.nr < FILES_MAX ? vec_push(&o->inputs) : NULL;
	if (!in)
		return o->inputs.nr < FILES_MAX
			       ? -ENOMEM
			       : diag_error(d, -E2BIG, "more than %d files", FILES_MAX);
	*in = (struct replay_ftrace_input){ .path = value,
					    .ts_offset = o->ts_offset,
					    .ts_hz = o->ts_hz };
	return 0;
}

static int filter_call(void *opts, const char *value, bool negated, struct diag *d)
{
	struct ftrace_report_opts *o = opts;
	struct filter_opt *f = vec_push(&o->filters);
	if (!f)
		return -ENOMEM;
	*f = (struct filter_opt){ .text = value, .out = o->negate };
	return 0;
}

static int negate_call(void *opts, const char *value, bool negated, struct diag *d)
{
	((struct ftrace_report_opts *)opts)->negate = true;
	return 0;
}

/* These two are about the file before them; before any file, about all. */
static int offset_call(void *opts, const char *value, bool negated, struct diag *d)
{
	struct ftrace_report_opts *o = opts;
	char *end;
	errno = 0;
	s64 v = strtoll(value, &end, 0);
	if (end == value || *end || errno)
		return diag_error(d, -EINVAL, "--ts-offset: invalid number '%s'", value);
	*(o->inputs.nr ? &o->inputs.at[o->inputs.nr - 1].ts_offset : &o->ts_offset) = v;
	return 0;
}

static int hz_call(void *opts, const char *value, bool negated, struct diag *d)
{
	struct ftrace_report_opts *o = opts;
	char *end;
	errno = 0;
	u64 v = strtoull(value, &end, 0);
	if (end == value || *end || errno || !v)
		return diag_error(d, -EINVAL, "--ts2secs: invalid frequency '%s'", value);
	*(o->inputs.nr ? &o->inputs.at[o->inputs.nr - 1].ts_hz : &o->ts_hz) = v;
	return 0;
}

static int option_call(void *opts, const char *value, bool negated, struct diag *d)
{
	return ftrace_options_set(&((struct ftrace_report_opts *)opts)->layout, value, d);
}

static const struct opt rows[] = {
	OPT_CALL('i', "input", "FILE", "read FILE instead of trace.dat; several are merged by time",
		 input_call),
	OPT_STR(0, "samples", struct ftrace_report_opts, samples,
		"FILE", "merge in the samples of a perf.data by time, as recorded by `record --with-samples`"),
	OPT_HEADING("Filtering events"),
	OPT_CALL('F', "filter",
		 "FILTER", "only matching events: 'sched/sched_switch : next_pid == 0'; repeat for alternatives",
		 filter_call),
	OPT_CALL('v', NULL, NULL, "following filters exclude events", negate_call),
	OPT_LIST(0, "comm", struct ftrace_report_opts, comms, "NAME",
		 "only events of tasks with this name, including their wake-ups and switches"),
	OPT_STR(0, "cpu", struct ftrace_report_opts, cpus, "LIST", "only these CPUs: 0,2-5"),
	OPT_FLAG('I', NULL, struct ftrace_report_opts, no_hardirq,
		 "exclude events in hard interrupts"),
	OPT_FLAG('S', NULL, struct ftrace_report_opts, no_softirq,
		 "exclude events in soft interrupts"),
	OPT_FLAG('T', "test-filters", struct ftrace_report_opts, test_filters,
		 "show which events the filters apply to instead of events"),
	OPT_FLAG(0, "filter-test", struct ftrace_report_opts, test_filters, "same as above",
		 .hidden = true),
	OPT_HEADING("Output format"),
	OPT_FLAG('R', "raw", struct ftrace_report_opts, raw, "print fields as name=value"),
	OPT_LIST('r', NULL, struct ftrace_report_opts, raw_events, "REGEX", "same, for these events"),
	OPT_FLAG('t', "nanoseconds", struct ftrace_report_opts, nanoseconds,
		 "print full nanoseconds"),
	OPT_FLAG('l', "latency", struct ftrace_report_opts, latency,
		 "print the flags of each event: interrupts, resched, context, depth"),
	OPT_FLAG('w', "wakeups", struct ftrace_report_opts, wakeups,
		 "after each sched_switch, show how long the task waited since its wake-up"),
	OPT_FLAG('N', "plain", struct ftrace_report_opts, plain,
		 "use only the kernel's print formats, no built-in layouts"),
	OPT_LIST('n', NULL, struct ftrace_report_opts, plain_events, "REGEX",
		 "same, for these events"),
	OPT_CALL('O', "option", "OPTION",
		 "set a layout option (`ftrace options`): parent, indent=0, fgraph:tailprint",
		 option_call),
	OPT_STR('V', NULL, struct ftrace_report_opts, ignored, "LEVEL",
		"verbosity: use -v before the verb", .hidden = true, .optional = true,
		.fallback = ""),
	OPT_FLAG('L', NULL, struct ftrace_report_opts, plain,
		 "only plug-ins in the user's directory: there are none, so same as -N",
		 .hidden = true),
	OPT_FLAG('q', "quiet", struct ftrace_report_opts, quiet, "no warnings"),
	OPT_HEADING("Times"),
	OPT_FLAG(0, "ts-diff", struct ftrace_report_opts, diff,
		 "after each time, show the time since the previous event"),
	OPT_FLAG(0, "align-ts", struct ftrace_report_opts, align,
		 "times relative to the first event"),
	OPT_FLAG(0, "raw-ts", struct ftrace_report_opts, raw_ts, "raw clock values"),
	OPT_FLAG(0, "nodate", struct ftrace_report_opts, no_date,
		 "do not show time of day, even if recorded with --date"),
	OPT_CALL(0, "ts-offset", "N", "add to the times of the preceding file, in clock units",
		 offset_call),
	OPT_CALL(0, "ts2secs", "HZ", "clock frequency of the preceding file, in Hz", hz_call),
	OPT_FLAG(0, "ts-check", struct ftrace_report_opts, check_ts,
		 "accepted; times that go backwards are always reported", .hidden = true),
	OPT_HEADING("Where tasks spend their time"),
	OPT_FLAG(0, "profile", struct ftrace_report_opts, profile,
		 "show a profile instead of events, as `ftrace profile`"),
	OPT_LIST('H', NULL, struct ftrace_report_opts, profiling.hooks, "HOOK",
		 "with --profile: time between two events, EVENT,FIELD/EVENT,FIELD"),
	OPT_FLAG('G', NULL, struct ftrace_report_opts, profiling.irqs_by_cpu,
		 "with --profile: interrupts per CPU, not per task"),
	OPT_FLAG(0, "by-comm", struct ftrace_report_opts, profiling.by_comm,
		 "with --profile: merge tasks with the same name"),
	OPT_HEADING("File information instead of events"),
	OPT_FLAG('E', NULL, struct ftrace_report_opts, names, "names of the events in the file"),
	OPT_FLAG(0, "events", struct ftrace_report_opts, formats, "formats of the events"),
	OPT_STR(0, "event", struct ftrace_report_opts, event, "REGEX", "formats of these events"),
	OPT_FLAG(0, "check-events", struct ftrace_report_opts, check,
		 "check that all formats can be parsed"),
	OPT_FLAG(0, "cpus", struct ftrace_report_opts, list_cpus, "CPUs with events"),
	OPT_FLAG(0, "first-event", struct ftrace_report_opts, first,
		 "the time of each CPU's first event"),
	OPT_FLAG(0, "last-event", struct ftrace_report_opts, last, "time of each CPU's last event"),
	OPT_FLAG(0, "stat", struct ftrace_report_opts, stat,
		 "the kernel's statistics: events, lost, read"),
	OPT_FLAG(0, "uname", struct ftrace_report_opts, uname, "the kernel it was recorded on"),
	OPT_FLAG(0, "version", struct ftrace_report_opts, version, "the program that recorded it"),
	OPT_FLAG('e', NULL, struct ftrace_report_opts, endian, "its byte order"),
	OPT_FLAG('p', NULL, struct ftrace_report_opts, page_size,
		 "page sizes of the file and of this machine"),
	OPT_FLAG('f', NULL, struct ftrace_report_opts, functions, "functions it has names for"),
	OPT_FLAG('P', NULL, struct ftrace_report_opts, printk, "kernel strings stored in it"),
	OPT_UINT(0, "threads", struct ftrace_report_opts, workers, "N",
		 "number of threads (default: one per CPU)", .hidden = true),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "ftrace report", "print the events of trace.dat" },
	{ "ftrace report -l boot.dat", "another file, with latency columns" },
	{ "ftrace report -F 'sched/sched_switch : next_pid == 0'", "only switches to idle" },
	{ "ftrace report -v -F function -F 'irq.*'", "everything but functions and interrupts" },
	{ "ftrace report -i host.dat -i guest.dat", "two files, merged by time" },
	{ "ftrace report --samples trace.dat.perf", "with the samples of the same run" },
	{ "ftrace report -w -F sched", "how long tasks waited from wake-up to running" },
	{ "ftrace report --cpu 0,2-5 -t", "some CPUs, times in nanoseconds" },
	{ "ftrace report --stat", "what was recorded and what was lost" },
	{ "ftrace report --json | jq .event", "one JSON object per line" },
	{ 0 },
};

/* The others (counter, x86-tsc) are shown as they are. */
static bool counts_ns(const struct tracedat *t)
{
	return !t->clock || t->has_tsc2nsec || clock_traced_is_ns(t->clock);
}

struct ftrace_reporting {
	struct app *app;
	const struct ftrace_report_opts *opts;
	struct source *src;
	const struct replay_ftrace_opts *replay;
	struct event_filter *filter;
	struct trace_samples *samples; /* NULL: none */
	struct wakeups *wakeups;
	const char **buffers; /* what stands before a line */
	u32 *file_of; /* [buffer] */
	bool *raw_events, *plain_events;
};

/* ---- what the lines and filters ask ---- */

static const struct schema *schema_of(void *ctx, u32 event)
{
	return source_schema(((struct ftrace_reporting *)ctx)->src, event);
}

static const char *symbol_in(void *ctx, u32 buffer, u64 addr, u64 *offset)
{
	return source_symbol(((struct ftrace_reporting *)ctx)->src, buffer, addr, offset);
}

static bool has_comm(void *ctx, u32 buffer, s32 pid)
{
	return source_task_name(((struct ftrace_reporting *)ctx)->src, buffer, pid);
}

static bool keep(void *ctx, const struct sample *s)
{
	return event_filter_keep(((struct ftrace_reporting *)ctx)->filter, s);
}

static bool keep_before(void *ctx, const struct sample *s)
{
	struct ftrace_reporting *r = ctx;
	struct sample before;
	return replay_ftrace_before(r->src, s, &before) && event_filter_keep(r->filter, &before);
}

static void write_samples(void *ctx, u64 until_ns, struct strbuf *to)
{
	struct ftrace_reporting *r = ctx;
	trace_samples_write(r->samples, until_ns, r->opts->nanoseconds, r->app->json, to);
}

static void name_of(void *ctx, u32 event, const char **system, const char **name)
{
	const struct tracedat_format *f =
		replay_ftrace_format(((struct ftrace_reporting *)ctx)->src, event);
	*system = f->system;
	*name = f->name;
}

static const char *comm_of(void *ctx, const struct sample *s)
{
	struct ftrace_reporting *r = ctx;
	return COMM_IS_UNNAMED(s->comm) ? "<...>" : strtab_str(&r->src->catalog.strings, s->comm);
}

static const char *symbol_first(void *ctx, u64 addr, u64 *offset)
{
	return source_symbol(((struct ftrace_reporting *)ctx)->src, 0, addr, offset);
}

/* ---- setting up ---- */

/* Events whose name or system one of the patterns fits. */
static int mark_events(struct ftrace_reporting *r, const struct opt_list *patterns, bool **ret)
{
	if (!patterns->items.nr)
		return 0;
	u32 nr = replay_ftrace_nr_events(r->src);
	*ret = calloc(nr + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	vec_for_each (&patterns->items, p) {
		regex_t re;
		if (regcomp(&re, *p, REG_EXTENDED | REG_ICASE | REG_NOSUB))
			return diag_error(&r->app->diag, -EINVAL,
					  "invalid regular expression for events: '%s'", *p);
		for (u32 i = 0; i < nr; i++) {
			const struct tracedat_format *f = replay_ftrace_format(r->src, i);
			(*ret)[i] |= !regexec(&re, f->name, 0, NULL, 0);
		}
		regfree(&re);
	}
	return 0;
}

static bool plain_name(void *ctx, const char *system, const char *name)
{
	const struct ftrace_report_opts *o = ctx;
	bool found = false;
	vec_for_each (&o->plain_events.items, p) {
		regex_t re;
		if (regcomp(&re, *p, REG_EXTENDED | REG_ICASE | REG_NOSUB))
			continue;
		found |= !regexec(&re, name, 0, NULL, 0);
		regfree(&re);
	}
	return found;
}

/* What a task does, and what is done to it. A file may lack some of these events. */
static int add_comm(struct ftrace_reporting *r, const char *comm)
{
	static const char *const filters[] = { ".*: COMM", "sched/sched_switch: next_comm",
					       "sched/.*: comm" };
	if (!*comm || strpbrk(comm, "\"\\"))
		return diag_error(&r->app->diag, -EINVAL, "--comm: invalid name '%s'", comm);
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		char text[256];
		(void)snprintf(text, sizeof(text), "%s == \"%s\"", filters[i], comm);
		int err = event_filter_add(r->filter, text, false, i ? NULL : &r->app->diag);
		if (err && (!i || err == -ENOMEM))
			return err;
	}
	return 0;
}

static int set_filters(struct ftrace_reporting *r)
{
	const struct ftrace_report_opts *o = r->opts;
	if (!o->filters.nr && !o->comms.items.nr && !o->no_hardirq && !o->no_softirq)
		return 0;
	r->filter = event_filter_new(&(struct event_filter_env){
		.ctx = r,
		.nr_events = replay_ftrace_nr_events(r->src),
		.name_of = name_of,
		.schema_of = schema_of,
		.comm_of = comm_of,
		.symbol = symbol_first,
	});
	if (!r->filter)
		return -ENOMEM;
	event_filter_drop_flags(r->filter, (o->no_hardirq ? FLAG_HARDIRQ : 0) |
						   (o->no_softirq ? FLAG_SOFTIRQ : 0));
	vec_for_each (&o->filters, f) {
		int err = event_filter_add(r->filter, f->text, f->out, &r->app->diag);
		if (err)
			return err;
	}
	vec_for_each (&o->comms.items, comm) {
		int err = add_comm(r, *comm);
		if (err)
			return err;
	}
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* Of one of several files: without its folder, unless another file has the same name. */
static const char *file_title(const struct ftrace_report_opts *o, u32 file)
{
	const char *name = base_name(o->inputs.at[file].path);
	for (u32 i = 0; i < o->inputs.nr; i++)
		if (i != file && !strcmp(base_name(o->inputs.at[i].path), name))
			return o->inputs.at[file].path;
	return name;
}

/* The names before lines: of files when there are several, of instances. */
static int name_buffers(struct ftrace_reporting *r)
{
	u32 nr = replay_ftrace_nr_buffers(r->src), files = replay_ftrace_nr_files(r->src);
	r->buffers = calloc(nr + 1, sizeof(*r->buffers));
	r->file_of = calloc(nr + 1, sizeof(*r->file_of));
	if (!r->buffers || !r->file_of)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		u32 own;
		r->file_of[i] = replay_ftrace_file_of(r->src, i, &own);
		const char *name = replay_ftrace_file(r->src, r->file_of[i])->buffers.at[own].name;
		r->buffers[i] = *name || files == 1 ? name : file_title(r->opts, r->file_of[i]);
	}
	return 0;
}

/* Merging what different clocks say is only sensible if the user knows how they relate. */
static void compare_clocks(struct ftrace_reporting *r)
{
	const char *first = replay_ftrace_file(r->src, 0)->clock;
	for (u32 i = 1; i < replay_ftrace_nr_files(r->src); i++) {
		const char *clock = replay_ftrace_file(r->src, i)->clock;
		if (!strcmp(clock ? clock : "local", first ? first : "local"))
			continue;
		diag_warn(
			&r->app->diag, "'%s' was recorded with clock '%s', '%s' with '%s': their order is unreliable",
			r->opts->inputs.at[0].path, first ? first : "local",
			r->opts->inputs.at[i].path, clock ? clock : "local");
		diag_hint(&r->app->diag,
			  "use --ts-offset and --ts2secs after a file to adjust its times");
	}
}

static int earliest(void *ctx, const struct replay_ftrace_ends *e)
{
	u64 *first = ctx;
	*first = min(*first, e->first_ns);
	return 0;
}

static int align(struct ftrace_reporting *r)
{
	u64 first = UINT64_MAX;
	int err = r->opts->align ? replay_ftrace_ends(r->src, earliest, &first) : 0;
	if (!err && first != UINT64_MAX)
		replay_ftrace_align(r->src, first);
	return err;
}

/* ---- wake-ups ---- */

/* Lines are made in parallel: what they owe to wake-ups long before is found in a first pass. */
static int find_wakeups(struct ftrace_reporting *r)
{
	const struct ftrace_report_opts *o = r->opts;
	struct source *again, *first = r->src;
	struct run_tables tables = { 0 };
	int err = replay_ftrace_open_files(o->inputs.at, (u32)o->inputs.nr, r->replay, &again,
					   &r->app->diag);
	if (err)
		return err;
	r->src = again;
	err = align(r);
	if (!err)
		r->wakeups = wakeups_new(r->filter ? keep : NULL, r);
	if (!err)
		err = r->wakeups ? stream_run(again, wakeups_sink(r->wakeups), (unsigned)o->workers,
					      &tables, &r->app->diag)
				 : -ENOMEM;
	run_tables_done(&tables);
	r->src = first;
	again->ops->close(again);
	return err;
}

static void add_wait(void *ctx, const struct sample *s, struct strbuf *to)
{
	u64 ns;
	if (wakeups_waited(((struct ftrace_reporting *)ctx)->wakeups, s, &ns))
		strbuf_printf(to, " Latency: %llu.%03llu usecs", (unsigned long long)(ns / 1000),
			      (unsigned long long)(ns % 1000));
}

/* ---- printing ---- */

/* A latency tracer's file holds finished text. */
static void print_latency(struct ftrace_reporting *r, u32 file)
{
	struct app *app = r->app;
	struct tracedat_text text = replay_ftrace_latency_text(r->src, file);
	if (!text.data)
		return;
	if (app->json) {
		struct json j;
		json_begin(&j, &app->out, JSON_COMPACT);
		json_object(&j);
		json_key(&j, "latency_text");
		json_strn(&j, text.data, text.len);
		json_object_end(&j);
		if (json_end(&j))
			diag_note(&app->diag, "cannot convert the text to JSON");
		return;
	}
	strbuf_add(&app->out, text.data, text.len);
	strbuf_char(&app->out, '\n');
}

/* What trace-cmd told of every file before 3.0, and tells since when asked to say more. */
static void print_version(struct ftrace_reporting *r, u32 file)
{
	const struct tracedat *t = replay_ftrace_file(r->src, file);
	strbuf_printf(&r->app->out, "version = %u\n", t->version);
	for (u32 i = 0; t->buffers.nr && i < t->buffers.at[0].nr_cpus; i++)
		if (!t->buffers.at[0].cpus[i].nr_pages)
			strbuf_printf(&r->app->out, "CPU %u is empty\n",
				      t->buffers.at[0].cpus[i].cpu);
}

static void print_heads(struct ftrace_reporting *r)
{
	u32 files = replay_ftrace_nr_files(r->src);
	size_t width = 0;
	for (u32 i = 0; i < replay_ftrace_nr_buffers(r->src); i++)
		width = max(width, strlen(r->buffers[i]));
	for (u32 i = 0; i < files && !r->app->json; i++) {
		if (r->app->common.verbose || r->opts->ignored)
			print_version(r, i);
		if (files > 1) {
			strbuf_right(&r->app->out, file_title(r->opts, i), width);
			strbuf_str(&r->app->out, ": ");
		}
		strbuf_printf(&r->app->out, "cpus=%u\n", replay_ftrace_file(r->src, i)->nr_cpus);
	}
	for (u32 i = 0; i < files; i++)
		print_latency(r, i);
}

static int print_events(struct ftrace_reporting *r)
{
	const struct ftrace_report_opts *o = r->opts;
	struct text_events_opts view = {
		.form = r->app->json ? TEXT_EVENTS_JSON : TEXT_EVENTS_LINES,
		.raw_fields = o->raw,
		.nanoseconds = o->nanoseconds,
		.latency = o->latency,
		.plain = o->plain,
		.functions = o->layout,
		.diff = o->diff,
		.raw_time = o->raw_ts ||
			    (!counts_ns(replay_ftrace_file(r->src, 0)) && !o->inputs.at[0].ts_hz),
		.raw_events = r->raw_events,
		.plain_events = r->plain_events,
		.file_of = r->file_of,
		.ctx = r,
		.catalog = &r->src->catalog,
		.schema_of = schema_of,
		.symbol = symbol_in,
		.has_comm = has_comm,
		.keep = r->filter ? keep : NULL,
		.keep_before = keep_before,
		.between = r->samples ? write_samples : NULL,
		.tail = r->wakeups ? add_wait : NULL,
	};
	if (replay_ftrace_nr_buffers(r->src) > 1) {
		view.buffers = r->buffers;
		view.nr_buffers = replay_ftrace_nr_buffers(r->src);
	}
	struct sink *sink;
	struct run_tables result = { 0 };
	int err = text_events_new(&view, &r->app->out, &sink);
	if (err)
		return err;
	print_heads(r);
	err = stream_run(r->src, sink, (unsigned)o->workers, &result, &r->app->diag);
	if (!err && r->samples)
		write_samples(r, UINT64_MAX, &r->app->out);
	text_events_free(sink);
	run_tables_done(&result);
	if (!err && r->wakeups && !r->app->json)
		wakeups_text(r->wakeups, &r->app->out);
	return err;
}

static u32 questions(const struct ftrace_report_opts *o)
{
	const struct {
		bool asked;
		u32 question;
	} all[] = {
		{ o->endian, ASK_ENDIAN },
		{ o->functions, ASK_FUNCTIONS },
		{ o->printk, ASK_PRINTK },
		{ o->names, ASK_EVENT_NAMES },
		{ o->formats || o->event, ASK_FORMATS },
		{ o->check, ASK_CHECK },
		{ o->stat, ASK_STAT },
		{ o->uname, ASK_UNAME },
		{ o->version, ASK_VERSION },
		{ o->list_cpus, ASK_CPUS },
		{ o->first, ASK_FIRST },
		{ o->last, ASK_LAST },
		{ o->page_size, ASK_PAGES },
	};
	u32 asked = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		asked |= all[i].asked ? all[i].question : 0;
	return asked;
}

static int answer(struct ftrace_reporting *r, u32 asked)
{
	int err = 0;
	for (u32 i = 0; i < replay_ftrace_nr_files(r->src) && !err; i++)
		err = tracedat_answer(
			&(struct tell){ &r->app->out, &r->app->diag, r->app->json }, r->src,
			&(struct tracedat_asked){ .questions = asked,
						  .path = r->opts->inputs.at[i].path,
						  .file = i,
						  .events = r->opts->event,
						  .nanoseconds = r->opts->nanoseconds });
	return err;
}

static int print_profile(struct ftrace_reporting *r)
{
	struct task_times_opts o = r->opts->profiling;
	struct task_times t = { .o = &o, .to = { &r->app->out, &r->app->diag, r->app->json } };
	o.keep = r->filter ? keep : NULL;
	o.ctx = r;
	int err = task_times_run(&t, r->src);
	task_times_done(&t);
	return err;
}

static int report(struct ftrace_reporting *r)
{
	u32 asked = questions(r->opts);
	if (asked)
		return answer(r, asked);
	int err = name_buffers(r);
	if (!err)
		err = set_filters(r);
	if (!err)
		err = mark_events(r, &r->opts->raw_events, &r->raw_events);
	if (!err)
		err = mark_events(r, &r->opts->plain_events, &r->plain_events);
	if (err)
		return err;
	if (r->opts->test_filters) {
		if (r->filter)
			event_filter_text(r->filter, &r->app->out);
		return 0;
	}
	compare_clocks(r);
	err = r->opts->wakeups ? find_wakeups(r) : 0;
	if (!err)
		err = align(r);
	if (!err && r->opts->profile)
		return print_profile(r);
	if (!err && r->opts->samples)
		err = trace_samples_open(&r->samples, app_symbols(r->app), r->opts->samples,
					 r->opts->inputs.at[0].path,
					 replay_ftrace_file(r->src, 0)->clock);
	return err ? err : print_events(r);
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct ftrace_report_opts *o = opts;
	struct ftrace_reporting r = { .app = app, .opts = o };
	struct cpuset cpus;
	if (argc > 1)
		return app_usage(
			app, "unexpected argument '%s': only one file at a time; use -i for several",
			argv[1]);
	if (argc == 1 && o->inputs.nr)
		return app_usage(app, "two files: '%s' and -i '%s'", argv[0], o->inputs.at[0].path);
	if (o->samples && (o->align || o->raw_ts))
		return app_usage(app,
				 "--samples needs unmodified times: it cannot be combined with %s",
				 o->align ? "--align-ts" : "--raw-ts");
	if (o->cpus && cpuset_parse_list(o->cpus, &cpus, &app->diag))
		return app_usage_said(app);
	if (!o->profile &&
	    (o->profiling.hooks.items.nr || o->profiling.irqs_by_cpu || o->profiling.by_comm))
		return app_usage(app, "-H, -G and --by-comm need --profile");
	o->profiling.workers = o->workers;
	int err = o->inputs.nr ? 0 : input_call(o, argc ? argv[0] : "trace.dat", false, &app->diag);
	struct replay_ftrace_opts replay = {
		.style = o->plain ? PRINT_STYLE_KERNEL : PRINT_STYLE_TRACE_CMD,
		.cpus = o->cpus ? &cpus : NULL,
		.no_date = o->no_date || o->samples,
		.raw_times = o->raw_ts,
		.plain = o->plain_events.items.nr ? plain_name : NULL,
		.ctx = o,
	};
	r.replay = &replay;
	if (!err)
		err = replay_ftrace_open_files(o->inputs.at, (u32)o->inputs.nr, &replay, &r.src,
					       &app->diag);
	if (!err) {
		err = report(&r);
		event_filter_free(r.filter);
		trace_samples_close(r.samples);
		wakeups_free(r.wakeups);
		free(r.buffers);
		free(r.file_of);
		free(r.raw_events);
		free(r.plain_events);
		r.src->ops->close(r.src);
	}
	vec_free(&o->inputs);
	vec_free(&o->filters);
	return err ? app_fail(app, err) : APP_DONE;
}

const struct command command_ftrace_report = {
	.name = "report",
	.summary = "print the events of a trace.dat",
	.usage = "[OPTIONS] [FILE]",
	.about = "Prints the events of a file recorded by trace-cmd or sonde (versions 6 and 7, "
		 "plain or compressed), in time order across all CPUs and buffers, as trace-cmd "
		 "prints them.\nA filter names events before the colon (SYSTEM/EVENT, or either; "
		 "regular expressions) and after it compares fields, COMM, CPU or TIMESTAMP with "
		 "numbers, strings and patterns: == != < <= > >= & | ^ + - * / % =~ !~ && || ! ( "
		 "). A comparison with a field that an event does not have is false.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct ftrace_report_opts),
	.mixed_words = true,
	.run = run,
};
