/* `sonde ftrace dump`: what a trace.dat holds beside its events. */
#include "cmd/ftrace/dump.h"
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"

#include <errno.h>
#include <string.h>

struct dump_opts {
	const char *input;
	bool summary, head_page, head_event, ftrace_events, systems, events, kallsyms, printk;
	bool cmd_lines, options, flyrecord, clock, sections, strings, all, validate;
};

/* trace-cmd writes texts a kilobyte at a time, each up to its first NUL. */
void dump_text(const struct dump *d, u32 any, const char *data, size_t len)
{
	enum { PIECE = 1023 };
	if (!dump_wants(d, any))
		return;
	for (size_t at = 0; at < len; at += PIECE)
		strbuf_add(d->out, data + at, strnlen(data + at, min(len - at, (size_t)PIECE)));
	strbuf_char(d->out, '\n');
}

static void put_part(const struct dump *d, u32 part, const char *title, struct tracedat_text text)
{
	if (dump_wants(d, DUMP_SUMMARY | part))
		strbuf_printf(d->out, "\t[%s, %zu bytes]\n", title, text.len);
	dump_text(d, part, text.data, text.len);
}

static void put_ftrace_events(const struct dump *d)
{
	if (dump_wants(d, DUMP_SUMMARY | DUMP_FTRACE_EVENTS))
		strbuf_printf(d->out, "\t[Ftrace format, %zu events]\n", d->t->nr_own_formats);
	for (size_t i = 0; i < d->t->nr_own_formats; i++) {
		struct tracedat_text text = d->t->formats.at[i].text;
		dump_text(d, DUMP_FTRACE_EVENTS, text.data, text.len);
	}
}

/* Formats of a system stand together; its name is the same string for all. */
static size_t end_of_system(const struct tracedat *t, size_t from)
{
	size_t i = from;
	while (i < t->formats.nr && t->formats.at[i].system == t->formats.at[from].system)
		i++;
	return i;
}

static void put_events(const struct dump *d)
{
	const struct tracedat *t = d->t;
	u32 nr = 0;
	for (size_t i = t->nr_own_formats; i < t->formats.nr; i = end_of_system(t, i))
		nr++;
	if (dump_wants(d, DUMP_SUMMARY | DUMP_EVENTS | DUMP_SYSTEMS))
		strbuf_printf(d->out, "\t[Events format, %u systems]\n", nr);
	for (size_t i = t->nr_own_formats; i < t->formats.nr;) {
		size_t end = end_of_system(t, i);
		if (dump_wants(d, DUMP_SYSTEMS))
			strbuf_printf(d->out, "\t\t%s %zu [system, events]\n",
				      t->formats.at[i].system, end - i);
		for (; i < end; i++)
			dump_text(d, DUMP_EVENTS, t->formats.at[i].text.data,
				  t->formats.at[i].text.len);
	}
}

void dump_section(const struct dump *d, u16 id)
{
	struct tracedat *t = d->t;
	switch (id) {
	case OPTION_HEADER_INFO:
		put_part(d, DUMP_HEAD_PAGE, "Header page", t->header_page);
		put_part(d, DUMP_HEAD_EVENT, "Header event", t->header_event);
		return;
	case OPTION_FTRACE_EVENTS: put_ftrace_events(d); return;
	case OPTION_EVENT_FORMATS: put_events(d); return;
	case OPTION_KALLSYMS:
		put_part(d, DUMP_KALLSYMS, "Kallsyms", tracedat_text(t, TRACEDAT_KALLSYMS));
		return;
	case OPTION_PRINTK:
		put_part(d, DUMP_PRINTK, "Trace printk", tracedat_text(t, TRACEDAT_PRINTK));
		return;
	case OPTION_CMDLINES:
		put_part(d, DUMP_CMDLINES, "Saved command lines",
			 tracedat_text(t, TRACEDAT_CMDLINES));
		return;
	}
}

static void put_head(const struct dump *d, const char *path)
{
	const struct tracedat *t = d->t;
	if (!dump_wants(d, DUMP_SUMMARY))
		return;
	strbuf_printf(d->out,
		      "\n Tracing meta data in file %s:\n\t[Initial format]\n\t\t%u\t[Version]\n",
		      path, t->version);
	strbuf_printf(
		d->out,
		"\t\t%d\t[%s endian]\n\t\t%u\t[Bytes in a long]\n\t\t%u\t[Page size, bytes]\n",
		t->big_endian, t->big_endian ? "Big" : "Little", t->long_size, t->page_size);
	if (t->version == 7)
		strbuf_printf(d->out,
			      "\t\t%s\t[Compression algorithm]\n\t\t%s\t[Compression version]\n",
			      compress_name(t->compression), t->packer_version);
}

static u32 asked_for(const struct dump_opts *o)
{
	const struct {
		bool asked;
		u32 part;
	} all[] = {
		{ o->summary, DUMP_SUMMARY },
		{ o->head_page, DUMP_HEAD_PAGE },
		{ o->head_event, DUMP_HEAD_EVENT },
		{ o->ftrace_events, DUMP_FTRACE_EVENTS },
		{ o->systems, DUMP_SYSTEMS },
		{ o->events, DUMP_EVENTS },
		{ o->kallsyms, DUMP_KALLSYMS },
		{ o->printk, DUMP_PRINTK },
		{ o->cmd_lines, DUMP_CMDLINES },
		{ o->options, DUMP_OPTIONS },
		{ o->flyrecord, DUMP_FLYRECORD },
		{ o->clock, DUMP_CLOCK },
		{ o->sections, DUMP_SECTIONS },
		{ o->strings, DUMP_STRINGS },
		{ o->all, UINT32_MAX },
	};
	u32 what = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		what |= all[i].asked ? all[i].part : 0;
	return what ? what : o->validate ? 0 : DUMP_SUMMARY;
}

/* In the order of the file; version 7 has sections, the options tell where. */
static void dump(struct app *app, const struct dump_opts *o, struct tracedat *t, const char *path)
{
	static const u16 parts[] = { OPTION_HEADER_INFO, OPTION_FTRACE_EVENTS, OPTION_EVENT_FORMATS,
				     OPTION_KALLSYMS,	 OPTION_PRINTK,	       OPTION_CMDLINES };
	struct dump d = { .out = &app->out, .what = asked_for(o), .t = t };
	strbuf_init(&d.strings);
	put_head(&d, path);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && t->version == 6; i++)
		dump_section(&d, parts[i]);
	if (t->version == 6 && dump_wants(&d, DUMP_SUMMARY))
		strbuf_printf(d.out, "\t%u [CPUs with tracing data]\n", t->nr_cpus);
	if (t->version == 6)
		dump_rest_v6(&d);
	else
		dump_rest_v7(&d);
	if (o->validate)
		strbuf_printf(d.out, "File %s is a valid trace-cmd file\n", path);
	strbuf_done(&d.strings);
}

static u64 buffer_bytes(const struct tracedat_buffer *b)
{
	u64 n = 0;
	for (u32 i = 0; i < b->nr_cpus; i++)
		n += (u64)b->cpus[i].nr_pages * b->page_size;
	return n;
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
	OPT_FLAG(0, "sections", struct dump_opts, sections, "version 7: where each section is"),
	OPT_FLAG(0, "strings", struct dump_opts, strings, "version 7: the names of sections"),
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
