/* `sonde ftrace split`: a stretch of a trace.dat as a file of its own, or the whole in pieces. */
#include "base/clock.h"
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/outfile.h"
#include "file/tracedat_out.h"
#include "file/tracedat_split.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct split_opts {
	const char *input, *output;
	u64 sec, msec, usec, events, cpu;
	bool repeat, one_cpu;
	u64 unused;
	bool unused_flag;
};

static int say(struct app *app, const struct tracedat_split_done *s)
{
	struct json j;
	if (!app->json) {
		strbuf_printf(&app->err, "[ %llu %s, %llu %s ]\n", (unsigned long long)s->files,
			      str_plural(s->files, "file", "files"), (unsigned long long)s->events,
			      str_plural(s->events, "event", "events"));
		return 0;
	}
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "files", s->files);
	json_put_u64(&j, "events", s->events);
	json_object_end(&j);
	return json_end(&j);
}

/*
 * A time as `ftrace report` prints it: the event that it was copied from belongs to the stretch, at either end. Times of microseconds
 * are rounded there. The end is one beyond the last moment.
 */
static int parse_edge(const char *text, bool end, u64 *ret)
{
	enum { ROUNDED_NS = 500, MICRO_DIGITS = 6 };
	const char *point = strchr(text, '.');
	u64 t;
	int err = clock_parse(text, &t);
	if (err)
		return err;
	bool rounded = !point || strlen(point + 1) <= MICRO_DIGITS;
	if (end)
		*ret = t + (rounded ? ROUNDED_NS : 1);
	else
		*ret = !rounded || t < ROUNDED_NS ? t : t - ROUNDED_NS;
	return 0;
}

/* The first piece shows whether there is room for pieces, before a large input is read. */
static int check_output(const char *output, struct diag *d)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s.1", output) >= (int)sizeof(path))
		return diag_error(d, -ENAMETOOLONG, "%s.1: %s", output, strerror(ENAMETOOLONG));
	return outfile_check(path, d);
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct split_opts *o = opts;
	struct tracedat from;
	struct tracedat_split_done done;
	u64 times[2] = { 0 };
	if (argc > 2)
		return app_usage(app, "expected a start time and an end time");
	for (int i = 0; i < argc; i++)
		if (parse_edge(argv[i], i == 1, &times[i]))
			return app_usage(app, "invalid time '%s': expected seconds, as 75678.923853",
					 argv[i]);
	if (!o->input)
		o->input = "trace.dat";
	if (!o->output)
		o->output = o->input;
	int err = check_output(o->output, &app->diag);
	if (!err)
		err = tracedat_open(&from, o->input, &app->diag);
	if (err)
		return app_fail(app, err);
	struct tracedat_split how = {
		.input = o->input,
		.output = o->output,
		.start = times[0],
		.end = times[1],
		.step_ns = o->sec * NS_PER_SEC + o->msec * 1000000 + o->usec * 1000,
		.events = o->events,
		.repeat = o->repeat,
		.one_cpu = o->one_cpu,
		.cpu = o->cpu,
	};
	err = tracedat_split(&from, &how, &done, &app->diag);
	if (!err)
		err = say(app, &done);
	tracedat_close(&from);
	return err ? app_fail(app, err) : APP_DONE;
}

/* clang-format off */
static const struct opt rows[] = {
	OPT_STR('i', "input", struct split_opts, input, "FILE", "read FILE instead of trace.dat"),
	OPT_STR('o', "output", struct split_opts, output, "FILE", "write FILE.1, FILE.2 ... (default: the input's name)"),
	OPT_UINT('s', "seconds", struct split_opts, sec, "N", "parts of N seconds"),
	OPT_UINT('m', "milliseconds", struct split_opts, msec, "N", "parts of N milliseconds"),
	OPT_UINT('u', "microseconds", struct split_opts, usec, "N", "parts of N microseconds"),
	OPT_UINT('e', "events", struct split_opts, events, "N", "parts of N events"),
	OPT_UINT('p', NULL, struct split_opts, unused, "N", "Files are not split by pages: use -e N to count events", .refused = true),
	OPT_FLAG('c', NULL, struct split_opts, unused_flag, "Files hold all CPUs, to keep events in order", .refused = true),
	OPT_UINT('C', "cpu", struct split_opts, cpu, "CPU", "only events of one CPU", OPT_SEEN(struct split_opts, one_cpu)),
	OPT_FLAG('r', "repeat", struct split_opts, repeat, "all parts from start to end, not just the first"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace split -o middle 75678.9 75679.1", "a fifth of a second: middle.1" },
	{ "ftrace split -r -s 10 -o part", "parts of ten seconds: part.1, part.2 ..." },
	{ 0 },
};

const struct command command_ftrace_split = {
	.name = "split",
	.summary = "cut a time range out of a trace.dat, or split it into parts",
	.usage = "[OPTIONS] -o FILE [START [END]]",
	.about = "START and END are seconds as printed by 'ftrace report', inclusive; without them "
		 "the whole file is used. The resulting files are as complete as the original.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct split_opts),
	.mixed_words = true,
	.run = run,
};
