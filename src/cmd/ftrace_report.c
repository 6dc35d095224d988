/* `sonde ftrace report`: the events of a trace.dat as text or JSON. */
#include "base/cpuset.h"
#include "base/json.h"
#include "cmd/app.h"
#include "cmd/commands.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"
#include "view/text_events.h"

#include <errno.h>
#include <string.h>

struct report_opts {
	const char *input;
	const char *cpus;
	bool raw;
	bool nanoseconds;
	bool latency;
	bool plain;
	u64 workers;
};

static const struct opt rows[] = {
	OPT_STR('i', "input", struct report_opts, input, "FILE", "read FILE instead of trace.dat"),
	OPT_STR(0, "cpu", struct report_opts, cpus, "LIST", "only these CPUs: 0,2-5"),
	OPT_FLAG('R', "raw", struct report_opts, raw, "print fields as name=value"),
	OPT_FLAG('t', "nanoseconds", struct report_opts, nanoseconds, "print full nanoseconds"),
	OPT_FLAG('l', "latency", struct report_opts, latency,
		 "print the flags of each event: interrupts, resched, context, depth"),
	OPT_FLAG('N', "plain", struct report_opts, plain,
		 "use the kernel's print format only, no layouts of our own"),
	OPT_UINT(0, "threads", struct report_opts, workers, "N",
		 "worker threads (default: one for each CPU)", .hidden = true),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "ftrace report", "print the events of trace.dat" },
	{ "ftrace report -l boot.dat", "another file, with latency columns" },
	{ "ftrace report --cpu 0,2-5 -t", "some CPUs, times in nanoseconds" },
	{ "ftrace report --json | jq .event", "one JSON object a line" },
	{ 0 },
};

/* Clocks whose numbers are nanoseconds; the others (counter, x86-tsc) are shown as they are. */
static bool counts_ns(const struct tracedat *t)
{
	static const char *const names[] = { "local", "global", "uptime",  "perf",
					     "tai",   "boot",	"tsc2nsec" };
	if (!t->clock || t->has_tsc2nsec || !strncmp(t->clock, "mono", 4))
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(t->clock, names[i]))
			return true;
	return false;
}

static const struct schema *schema_of(void *ctx, u32 id)
{
	return replay_ftrace_schema(ctx, id);
}

static const char *symbol(void *ctx, u64 addr, u64 *offset)
{
	return ftrace_env_symbol(replay_ftrace_env(ctx), addr, offset);
}

static bool has_comm(void *ctx, s32 pid)
{
	return ftrace_env_comm_index(replay_ftrace_env(ctx), pid) != DICT_NONE;
}

/* A latency tracer's file holds finished text. */
static void print_latency(struct app *app, struct source *src)
{
	struct tracedat_text text = replay_ftrace_latency_text(src);
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
			diag_note(&app->diag, "the text could not be written as JSON");
		return;
	}
	strbuf_add(&app->out, text.data, text.len);
	strbuf_char(&app->out, '\n');
}

static int print_events(struct app *app, const struct report_opts *o, struct source *src)
{
	const struct tracedat *file = replay_ftrace_file(src);
	struct text_events_opts view = {
		.form = app->json ? TEXT_EVENTS_JSON : TEXT_EVENTS_LINES,
		.raw_fields = o->raw,
		.nanoseconds = o->nanoseconds,
		.latency = o->latency,
		.plain = o->plain,
		.raw_time = !counts_ns(file),
		.ctx = src,
		.catalog = &src->catalog,
		.schema_of = schema_of,
		.symbol = symbol,
		.has_comm = has_comm,
	};
	const char **names = NULL;
	if (file->buffers.nr > 1) {
		names = calloc(file->buffers.nr, sizeof(*names));
		if (!names)
			return -ENOMEM;
		for (size_t i = 0; i < file->buffers.nr; i++)
			names[i] = file->buffers.at[i].name;
		view.buffers = names;
		view.nr_buffers = (u32)file->buffers.nr;
	}
	struct sink *sink;
	struct run_tables result = { 0 };
	int err = text_events_new(&view, &app->out, &sink);
	if (!err) {
		if (!app->json)
			strbuf_printf(&app->out, "cpus=%u\n", file->nr_cpus);
		print_latency(app, src);
		err = stream_run(src, sink, (unsigned)o->workers, &result, &app->diag);
		text_events_free(sink);
		run_tables_done(&result);
	}
	free(names);
	return err;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct report_opts *o = opts;
	struct cpuset cpus;
	if (argc > 1)
		return app_usage(app, "one file at a time: '%s' is too much", argv[1]);
	if (argc == 1 && o->input)
		return app_usage(app, "two files: '%s' and -i '%s'", argv[0], o->input);
	if (o->cpus && cpuset_parse_list(o->cpus, &cpus, &app->diag))
		return app_usage_said(app);
	const char *path = o->input ? o->input : argc ? argv[0] : "trace.dat";
	struct replay_ftrace_opts replay = {
		.style = o->plain ? PRINT_STYLE_KERNEL : PRINT_STYLE_TRACE_CMD,
		.cpus = o->cpus ? &cpus : NULL,
	};
	struct source *src;
	int err = replay_ftrace_open(path, &replay, &src, &app->diag);
	if (err)
		return app_fail(app, err);
	err = print_events(app, o, src);
	src->ops->close(src);
	return err ? app_fail(app, err) : APP_DONE;
}

const struct command command_ftrace_report = {
	.name = "report",
	.summary = "print the events of a trace.dat",
	.usage = "[OPTIONS] [FILE]",
	.about = "Prints the events of a file that trace-cmd or sonde recorded (versions 6 and 7, "
		 "plain or compressed), in time order over all "
		 "CPUs and buffers, with the text that trace-cmd prints.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct report_opts),
	.mixed_words = true,
	.run = run,
};
