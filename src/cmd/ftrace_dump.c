/* `sonde ftrace dump`: what a trace.dat holds beside its events. */
#include "base/json.h"
#include "cmd/app.h"
#include "cmd/commands.h"
#include "file/tracedat_read.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

struct dump_opts {
	const char *input;
	bool summary, head_page, head_event, ftrace_events, systems, events, kallsyms, printk;
	bool cmd_lines, options, flyrecord, clock, all, validate;
};

static const char *option_name(u16 id)
{
	static const char *const names[] = {
		"DONE",	    "DATE",    "CPUSTAT",    "BUFFER",	 "TRACECLOCK",
		"UNAME",    "HOOK",    "OFFSET",     "CPUCOUNT", "VERSION",
		"PROCMAPS", "TRACEID", "TIME_SHIFT", "GUEST",	 "TSC2NSEC",
	};
	return id < ARRAY_SIZE(names) ? names[id] : "?";
}

static u64 buffer_bytes(const struct tracedat_buffer *b)
{
	u64 n = 0;
	for (u32 i = 0; i < b->nr_cpus; i++)
		n += (u64)b->cpus[i].nr_pages * b->page_size;
	return n;
}

static u32 nr_systems(const struct tracedat *t)
{
	u32 nr = 0;
	for (size_t i = t->nr_own_formats; i < t->formats.nr; i++)
		nr += i == t->nr_own_formats ||
		      strcmp(t->formats.at[i].system, t->formats.at[i - 1].system);
	return nr;
}

static void say_summary(struct strbuf *o, struct tracedat *t, const char *path)
{
	strbuf_printf(o, "\n Tracing meta data in file %s:\n\t[Initial format]\n\t\t%u\t[Version]\n",
		      path, t->version);
	strbuf_printf(
		o, "\t\t%d\t[%s endian]\n\t\t%u\t[Bytes in a long]\n\t\t%u\t[Page size, bytes]\n",
		t->big_endian, t->big_endian ? "Big" : "Little", t->long_size, t->page_size);
	if (t->version == 7)
		strbuf_printf(o, "\t\t%s\t[Compression algorithm]\n", compress_name(t->compression));
	strbuf_printf(o, "\t[Header page, %zu bytes]\n\t[Header event, %zu bytes]\n",
		      t->header_page.len, t->header_event.len);
	strbuf_printf(o, "\t[Ftrace format, %zu events]\n\t[Events format, %u systems]\n",
		      t->nr_own_formats, nr_systems(t));
	strbuf_printf(o, "\t[Kallsyms, %zu bytes]\n\t[Trace printk, %zu bytes]\n",
		      tracedat_text(t, TRACEDAT_KALLSYMS).len,
		      tracedat_text(t, TRACEDAT_PRINTK).len);
	strbuf_printf(o, "\t[Saved command lines, %zu bytes]\n\t%u [CPUs with tracing data]\n",
		      tracedat_text(t, TRACEDAT_CMDLINES).len, t->nr_cpus);
	strbuf_printf(o, "\t[%zu options]\n", t->options.nr);
	vec_for_each (&t->buffers, b)
		if (t->version == 6)
			strbuf_printf(o, "\t[Flyrecord tracing data]\n\t[Tracing clock]\n\t\t[%s]\n",
				      t->clock ? t->clock : "local");
		else
			strbuf_printf(
				o, "\t[buffer \"%s\", \"%s\" clock, %u page size, %u cpus, %llu bytes of pages]\n",
				b->name, b->clock ? b->clock : "", b->page_size, b->nr_cpus,
				(unsigned long long)buffer_bytes(b));
	if (t->latency)
		strbuf_str(o, "\t[Latency tracing data]\n");
}

static void say_text(struct strbuf *o, const char *title, struct tracedat_text text)
{
	strbuf_printf(o, "\t[%s, %zu bytes]\n", title, text.len);
	if (text.len)
		strbuf_add(o, text.data, text.len);
	if (text.len)
		strbuf_char(o, '\n');
}

static void say_formats(struct strbuf *o, const struct tracedat *t, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		strbuf_add(o, t->formats.at[i].text.data, t->formats.at[i].text.len);
		strbuf_char(o, '\n');
	}
}

static void say_systems(struct strbuf *o, const struct tracedat *t)
{
	strbuf_printf(o, "\t[Events format, %u systems]\n", nr_systems(t));
	for (size_t i = t->nr_own_formats; i < t->formats.nr;) {
		size_t k = i;
		while (k < t->formats.nr && !strcmp(t->formats.at[k].system, t->formats.at[i].system))
			k++;
		strbuf_printf(o, "\t\t%s %zu [system, events]\n", t->formats.at[i].system, k - i);
		i = k;
	}
}

static u64 number(const void *data, bool big_endian)
{
	u64 v;
	memcpy(&v, data, sizeof(v));
	return big_endian ? be64toh(v) : le64toh(v);
}

static void say_options(struct strbuf *o, const struct tracedat *t)
{
	vec_for_each (&t->options, opt) {
		strbuf_printf(o, "\t\t[Option %s, %zu bytes]\n", option_name(opt->id),
			      opt->body.len);
		bool text = opt->body.len > 0;
		for (size_t i = 0; i + 1 < opt->body.len; i++)
			text &= opt->body.data[i] == '\n' || opt->body.data[i] == '\t' ||
				(opt->body.data[i] >= ' ' && opt->body.data[i] < 127);
		if (opt->id == OPTION_TRACEID && opt->body.len == sizeof(u64))
			strbuf_printf(o, "0x%llX\n",
				      (unsigned long long)number(opt->body.data, t->big_endian));
		else if (text)
			strbuf_printf(o, "%.*s\n", (int)strnlen(opt->body.data, opt->body.len),
				      opt->body.data);
	}
	strbuf_printf(o, "\t[%zu options]\n", t->options.nr);
}

/* Version 6: a table of places and sizes. */
static void say_places(struct strbuf *o, const struct tracedat *t, const struct tracedat_buffer *b)
{
	strbuf_str(o, "\t[Flyrecord tracing data]\n");
	for (u32 i = 0; i < b->nr_cpus; i++)
		strbuf_printf(o, "\t%11llu%11llu\t[offset, size of cpu %u]\n",
			      b->cpus[i].pages ? (unsigned long long)(b->cpus[i].pages - t->map) : 0,
			      (unsigned long long)b->cpus[i].nr_pages * b->page_size,
			      b->cpus[i].cpu);
}

static void say_clock(struct strbuf *o, const struct tracedat *t)
{
	vec_for_each (&t->options, opt)
		if (opt->id == OPTION_TRACECLOCK)
			strbuf_printf(o, "%.*s\n", (int)strnlen(opt->body.data, opt->body.len),
				      opt->body.data);
	for (size_t i = 0; t->version == 6 && i < t->buffers.nr; i++)
		strbuf_printf(o, "\t[Tracing clock]\n\t\t[%s]\n", t->clock ? t->clock : "local");
}

static void say_flyrecord(struct strbuf *o, const struct tracedat *t)
{
	for (size_t i = 0; t->version == 6 && i < t->buffers.nr; i++)
		say_places(o, t, &t->buffers.at[i]);
	if (t->version == 6)
		return;
	vec_for_each (&t->buffers, b) {
		strbuf_printf(o,
			      "\"%s\" [name]\n\"%s\" [clock]\n%u [Page size, bytes]\n%u [CPUs]:\n",
			      b->name, b->clock ? b->clock : "", b->page_size, b->nr_cpus);
		for (u32 i = 0; i < b->nr_cpus; i++)
			strbuf_printf(
				o, "   %u %llu\t%llu\t[id, data offset and size]\n", b->cpus[i].cpu,
				b->cpus[i].pages ? (unsigned long long)(b->cpus[i].pages - t->map)
						 : 0,
				(unsigned long long)b->cpus[i].nr_pages * b->page_size);
	}
}

static int as_json(struct app *app, struct tracedat *t)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "version", t->version);
	json_put_str(&j, "compression", compress_name(t->compression));
	json_put_bool(&j, "big_endian", t->big_endian);
	json_put_u64(&j, "cpus", t->nr_cpus);
	json_put_str(&j, "uname", t->uname);
	json_put_str(&j, "recorder", t->tracer_version);
	json_put_u64(&j, "formats", t->formats.nr);
	json_put_bool(&j, "cut", t->cut);
	json_key(&j, "buffers");
	json_array(&j);
	vec_for_each (&t->buffers, b) {
		json_object(&j);
		json_put_str(&j, "name", b->name);
		json_put_str(&j, "clock", b->clock);
		json_put_u64(&j, "page_bytes", buffer_bytes(b));
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

static void dump(struct app *app, const struct dump_opts *o, struct tracedat *t, const char *path)
{
	struct strbuf *out = &app->out;
	bool any = o->head_page || o->head_event || o->ftrace_events || o->systems || o->events ||
		   o->kallsyms || o->printk || o->cmd_lines || o->options || o->flyrecord ||
		   o->clock || o->validate;
	if (o->validate)
		strbuf_printf(out, "File %s is a valid trace-cmd file\n", path);
	if (o->summary || !any)
		say_summary(out, t, path);
	if (o->head_page || o->all)
		say_text(out, "Header page", t->header_page);
	if (o->head_event || o->all)
		say_text(out, "Header event", t->header_event);
	if (o->ftrace_events || o->all) {
		strbuf_printf(out, "\t[Ftrace format, %zu events]\n", t->nr_own_formats);
		say_formats(out, t, 0, t->nr_own_formats);
	}
	if (o->systems)
		say_systems(out, t);
	if (o->events || o->all) {
		strbuf_printf(out, "\t[Events format, %u systems]\n", nr_systems(t));
		say_formats(out, t, t->nr_own_formats, t->formats.nr);
	}
	if (o->kallsyms || o->all)
		say_text(out, "Kallsyms", tracedat_text(t, TRACEDAT_KALLSYMS));
	if (o->printk || o->all)
		say_text(out, "Trace printk", tracedat_text(t, TRACEDAT_PRINTK));
	if (o->cmd_lines || o->all)
		say_text(out, "Saved command lines", tracedat_text(t, TRACEDAT_CMDLINES));
	if (o->options || o->all)
		say_options(out, t);
	if (o->flyrecord || o->all)
		say_flyrecord(out, t);
	if (o->clock)
		say_clock(out, t);
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct dump_opts *o = opts;
	struct tracedat t;
	if (argc > 1 || (argc && o->input))
		return app_usage(app, "one file at a time");
	const char *path = o->input ? o->input : argc ? argv[0] : "trace.dat";
	int err = tracedat_open(&t, path, &app->diag);
	if (err)
		return app_fail(app, err);
	bool cut = t.cut;
	if (app->json)
		err = as_json(app, &t);
	else if (!(o->validate && cut))
		dump(app, o, &t, path);
	tracedat_close(&t);
	return err ? app_fail(app, err) : o->validate && cut ? APP_FAILED : APP_DONE;
}

/* clang-format off */
static const struct opt rows[] = {
	OPT_STR('i', "input", struct dump_opts, input, "FILE", "read FILE instead of trace.dat"),
	OPT_FLAG('v', "validate", struct dump_opts, validate, "whether it is whole"),
	OPT_FLAG(0, "summary", struct dump_opts, summary, "what is in it (also when nothing is asked for)"),
	OPT_FLAG(0, "all", struct dump_opts, all, "everything"),
	OPT_FLAG(0, "head-page", struct dump_opts, head_page, "layout of a page"),
	OPT_FLAG(0, "head-event", struct dump_opts, head_event, "layout of an event's head"),
	OPT_FLAG(0, "ftrace-events", struct dump_opts, ftrace_events, "formats of the tracers"),
	OPT_FLAG(0, "systems", struct dump_opts, systems, "systems whose formats it has"),
	OPT_FLAG(0, "events", struct dump_opts, events, "formats of events"),
	OPT_FLAG(0, "kallsyms", struct dump_opts, kallsyms, "kernel symbols"),
	OPT_FLAG(0, "printk", struct dump_opts, printk, "format strings of trace_printk()"),
	OPT_FLAG(0, "cmd-lines", struct dump_opts, cmd_lines, "names of tasks"),
	OPT_FLAG(0, "options", struct dump_opts, options, "options"),
	OPT_FLAG(0, "flyrecord", struct dump_opts, flyrecord, "where each CPU's data is"),
	OPT_FLAG(0, "clock", struct dump_opts, clock, "the clock"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace dump", "what is in trace.dat" },
	{ "ftrace dump -v -i old.dat", "whether it is whole" },
	{ "ftrace dump --cmd-lines old.dat", "one part of it" },
	{ 0 },
};

const struct command command_ftrace_dump = {
	.name = "dump",
	.summary = "what a trace.dat holds beside its events",
	.usage = "[OPTIONS] [FILE]",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct dump_opts),
	.mixed_words = true,
	.run = run,
};
