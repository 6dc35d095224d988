/* `sonde ftrace dump`: what a trace.dat holds beside its events. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "file/tracedat_dump.h"

struct dump_opts {
	const char *input;
	bool summary, head_page, head_event, ftrace_events, systems, events, kallsyms, printk;
	bool cmd_lines, options, flyrecord, clock, sections, strings, all, validate;
};

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
		tracedat_dump(&t, asked_for(o), path, &app->out);
	if (!app->json && o->validate && !cut)
		strbuf_printf(&app->out, "File %s is a valid trace-cmd file\n", path);
	tracedat_close(&t);
	return err ? app_fail(app, err) : o->validate && cut ? APP_FAILED : APP_DONE;
}

/* clang-format off */
static const struct opt rows[] = {
	OPT_STR('i', "input", struct dump_opts, input, "FILE", "read FILE instead of trace.dat"),
	OPT_FLAG('v', "validate", struct dump_opts, validate, "check whether it is intact"),
	OPT_FLAG(0, "summary", struct dump_opts, summary, "what is in it (default)"),
	OPT_FLAG(0, "all", struct dump_opts, all, "everything"),
	OPT_FLAG(0, "head-page", struct dump_opts, head_page, "page layout"),
	OPT_FLAG(0, "head-event", struct dump_opts, head_event, "event header layout"),
	OPT_FLAG(0, "ftrace-events", struct dump_opts, ftrace_events, "formats of the tracers"),
	OPT_FLAG(0, "systems", struct dump_opts, systems, "event systems with formats"),
	OPT_FLAG(0, "events", struct dump_opts, events, "formats of events"),
	OPT_FLAG(0, "kallsyms", struct dump_opts, kallsyms, "kernel symbols"),
	OPT_FLAG(0, "printk", struct dump_opts, printk, "format strings of trace_printk()"),
	OPT_FLAG(0, "cmd-lines", struct dump_opts, cmd_lines, "names of tasks"),
	OPT_FLAG(0, "options", struct dump_opts, options, "options"),
	OPT_FLAG(0, "flyrecord", struct dump_opts, flyrecord, "location of each CPU's data"),
	OPT_FLAG(0, "clock", struct dump_opts, clock, "the clock"),
	OPT_FLAG(0, "sections", struct dump_opts, sections, "version 7: location of each section"),
	OPT_FLAG(0, "strings", struct dump_opts, strings, "version 7: names of sections"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace dump", "what is in trace.dat" },
	{ "ftrace dump -v -i old.dat", "check whether it is intact" },
	{ "ftrace dump --cmd-lines old.dat", "one part of it" },
	{ 0 },
};

const struct command command_ftrace_dump = {
	.name = "dump",
	.summary = "show what a trace.dat holds besides its events",
	.usage = "[OPTIONS] [FILE]",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct dump_opts),
	.mixed_words = true,
	.run = run,
};
