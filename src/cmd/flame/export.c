/* sonde export: a recording in another tool's format. */
#include "export/chrome.h"
#include "cmd/app/opt_rows.h"
#include "cmd/app/commands.h"
#include "session/outfile.h"
#include "session/recording.h"
#include "session/stacks.h"
#include "base/json.h"
#include "export/folded.h"
#include "export/gzip.h"
#include "export/profile.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct export_job {
	struct app *app;
	const struct export_cmd_opts *o;
	const struct export_format *format;
	u64 nr; /* samples or events */
};

struct export_format {
	const char *name;
	const char *output; /* where it goes unless -o says */
	bool by_comm;
	bool binary;
	int (*make)(struct export_job *j, struct strbuf *to);
};

struct export_cmd_opts {
	const char *to;
	const char *input;
	const char *output;
	struct folded_opts fold;
	u64 workers;
	struct symbol_opts symbols;
};

static int load(struct export_job *j, struct flame *f)
{
	const char *paths[] = { j->o->input };
	int err = stacks_load(app_symbols(j->app),
			      &(struct stacks_opts){ .paths = paths,
						     .nr_paths = 1,
						     .by_comm = j->format->by_comm,
						     .workers = (unsigned)j->o->workers,
						     .symbols = &j->o->symbols },
			      f);
	if (!err && !f->points.nr)
		err = diag_error(&j->app->diag, -ENODATA, "%s: no samples", j->o->input);
	j->nr = f->sides[0].nr_samples;
	return err;
}

static int make_folded(struct export_job *j, struct strbuf *to)
{
	struct flame f;
	flame_init(&f);
	int err = load(j, &f);
	if (!err)
		err = export_folded(&f, &j->o->fold, to);
	flame_done(&f);
	return err;
}

static int make_profile(struct export_job *j, struct strbuf *to,
			int (*make)(const struct flame *, const struct export_opts *,
				    struct strbuf *))
{
	struct flame f;
	flame_init(&f);
	int err = load(j, &f);
	if (!err) {
		flame_sort_points(&f);
		const char *name =
			f.sides[0].command ? flame_str(&f, f.sides[0].command) : j->o->input;
		err = make(&f,
			   &(struct export_opts){ .name = name, .version = "sonde " SONDE_VERSION },
			   to);
	}
	flame_done(&f);
	return err;
}

static int make_pprof(struct export_job *j, struct strbuf *to)
{
	return make_profile(j, to, export_pprof);
}

static int make_speedscope(struct export_job *j, struct strbuf *to)
{
	return make_profile(j, to, export_speedscope);
}

static int make_firefox(struct export_job *j, struct strbuf *to)
{
	return make_profile(j, to, export_firefox);
}

static const char *function_name(void *ctx, u32 buffer, u64 addr)
{
	u64 offset;
	struct ftrace_env *env = replay_ftrace_env(ctx, replay_ftrace_file_of(ctx, buffer, NULL));
	return ftrace_env_symbol(env, addr, &offset);
}

static int make_chrome(struct export_job *j, struct strbuf *to)
{
	struct app *app = j->app;
	struct source *src;
	int err = recording_open(app_symbols(app), j->o->input, RECORDING_EVENTS, &j->o->symbols,
				 &src);
	if (err)
		return err;
	struct run_tables run = { 0 };
	struct chrome_opts opts = { .catalog = &src->catalog };
	if (replay_ftrace_is(src)) {
		opts.symbol = function_name;
		opts.ctx = src;
	}
	struct chrome_trace *t = chrome_trace_new(&opts, to);
	err = t ? stream_run(src, chrome_trace_sink(t), 1, &run, &app->diag) : -ENOMEM;
	if (!err)
		err = chrome_trace_finish(t, &j->nr);
	if (!err && !j->nr) {
		err = diag_error(&app->diag, -ENODATA, "%s: no tracepoints", j->o->input);
		diag_hint(&app->diag, "export profiles --to firefox, speedscope or pprof; record "
				      "events with sonde record -e sched:sched_switch");
	}
	chrome_trace_free(t);
	run_tables_done(&run);
	src->ops->close(src);
	return err;
}

static const struct export_format formats[] = {
	{ "pprof", "profile.pb.gz", .binary = true, .make = make_pprof },
	{ "speedscope", "profile.speedscope.json", .make = make_speedscope },
	{ "firefox", "profile.firefox.json", .make = make_firefox },
	{ "perfetto", "trace.json", .make = make_chrome },
	{ "chrome", "trace.json", .make = make_chrome },
	{ "folded", "-", .by_comm = true, .make = make_folded },
};

static int find_format(struct export_job *j)
{
	const char *names[ARRAY_SIZE(formats)];
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		names[i] = formats[i].name;
		if (j->o->to && !strcmp(j->o->to, names[i]))
			j->format = &formats[i];
	}
	if (j->format)
		return 0;
	struct diag *d = &j->app->diag;
	const char *near = j->o->to ? str_closest(j->o->to, names, ARRAY_SIZE(names)) : NULL;
	if (j->o->to)
		(void)diag_error(d, -EINVAL, "--to %s: unknown format", j->o->to);
	else
		(void)diag_error(d, -EINVAL, "--to: no format given");
	diag_hint(d, near ? "did you mean '%s'?" : "pprof, speedscope, firefox, perfetto, folded%s",
		  near ? near : "");
	return app_usage_said(j->app);
}

/*
 * What is exported leaves in pieces: a trace of hours is larger than memory. The file begins with the first piece, so that an export which
 * fails before replaces nothing.
 */
struct export_out {
	struct app *app;
	const char *path;
	struct atomic_file file;
	bool begun;
	u64 bytes; /* written */
	struct strbuf packed; /* what gzip makes of the text, on its way into the file */
	struct gzip *gzip; /* NULL: as it is */
};

static int put_piece(void *ctx, const char *data, size_t len)
{
	struct export_out *out = ctx;
	int err = 0;
	out->bytes += len;
	if (!strcmp(out->path, "-")) {
		strbuf_pass(&out->app->out, data, len);
		return out->app->out.err;
	}
	if (!out->begun)
		err = outfile_begin(&out->file, out->path, &out->app->diag);
	if (err)
		return err;
	out->begun = true;
	err = strbuf_drain_fd(&out->file.fd, data, len);
	return err ? diag_error(&out->app->diag, err, "cannot write %s: %s", out->path,
				strerror(-err))
		   : 0;
}

static int pack_piece(void *ctx, const char *data, size_t len)
{
	struct export_out *out = ctx;
	return gzip_put(out->gzip, data, len);
}

static int end_out(struct export_out *out, struct strbuf *text, int err)
{
	if (!err)
		err = strbuf_flush(text);
	if (!err && out->gzip)
		err = gzip_finish(out->gzip);
	if (!err && out->gzip)
		err = strbuf_flush(&out->packed);
	if (!err && !out->begun && strcmp(out->path, "-")) /* an empty file */
		err = put_piece(out, "", 0);
	if (out->begun)
		err = outfile_end(&out->file, out->path, err, false, &out->app->diag);
	return err;
}

/* Everything that the format makes of the recording, into the file. *bytes: how much that was. */
static int write_out(struct export_job *j, const char *path, u64 *bytes)
{
	enum { PIECE = 1 << 20 };
	size_t len = strlen(path);
	struct export_out out = { .app = j->app, .path = path };
	bool gz = !j->format->binary && len > 3 && !strcmp(path + len - 3, ".gz");
	struct strbuf text;
	strbuf_init_drain(&text, PIECE, gz ? pack_piece : put_piece, &out);
	strbuf_init_drain(&out.packed, PIECE, put_piece, &out);
	out.gzip = gz ? gzip_new(&out.packed) : NULL;
	int err = gz && !out.gzip ? -ENOMEM : j->format->make(j, &text);
	err = end_out(&out, &text, err);
	*bytes = out.bytes;
	gzip_free(out.gzip);
	strbuf_done(&text);
	strbuf_done(&out.packed);
	return err;
}

static int say_result(struct export_job *j, const char *path, u64 bytes)
{
	struct app *app = j->app;
	if (!strcmp(path, "-"))
		return 0;
	if (app->json) {
		struct json js;
		json_begin(&js, &app->out, JSON_PRETTY);
		json_object(&js);
		json_put_str(&js, "file", path);
		json_put_str(&js, "format", j->format->name);
		json_put_u64(&js, "bytes", bytes);
		json_put_u64(&js, "samples", j->nr);
		json_object_end(&js);
		return json_end(&js);
	}
	app_say(app);
	strbuf_printf(&app->err, "%s: %s: %llu %s, %.1f KB\n", app->title, path,
		      (unsigned long long)j->nr,
		      j->format->make == make_chrome ? str_plural(j->nr, "event", "events")
						     : str_plural(j->nr, "sample", "samples"),
		      (double)bytes / 1024);
	return 0;
}

static int export_run(struct app *app, void *opts, int argc, char **argv)
{
	struct export_cmd_opts *o = opts;
	struct export_job j = { .app = app, .o = o };
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
	if (argc == 1)
		o->input = argv[0];
	int status = find_format(&j);
	if (status)
		return status;
	const char *path = o->output ? o->output : j.format->output;
	if (!strcmp(path, "-") && j.format->binary && term_is_tty(STDOUT_FILENO))
		return app_usage(app, "-o -: standard output is a terminal");
	int err = outfile_check(path, &app->diag);
	if (err)
		return app_fail(app, err);
	u64 bytes;
	err = write_out(&j, path, &bytes);
	if (!err)
		err = say_result(&j, path, bytes);
	return err ? app_fail(app, err) : APP_DONE;
}

static void export_defaults(void *opts)
{
	struct export_cmd_opts *o = opts;
	o->input = "perf.data";
}

/* clang-format off */
static const struct opt export_rows[] = {
	OPT_STR(0, "to", struct export_cmd_opts, to, "FORMAT", "pprof, speedscope, firefox, perfetto (or chrome), folded", .words = "pprof speedscope firefox perfetto chrome folded"),
	OPT_STR('i', "input", struct export_cmd_opts, input, "FILE", "recording to read (perf.data), or a trace.dat; - for standard input"),
	OPT_STR('o', "output", struct export_cmd_opts, output, "FILE", "write FILE, compressed if it ends in .gz; - for standard output"),
	OPT_FLAG(0, "samples", struct export_cmd_opts, fold.samples, "folded: sample counts, not weighted by period"),
	OPT_FLAG(0, "kinds", struct export_cmd_opts, fold.kinds, "folded: append _[k] to kernel functions, _[i] to inlined ones, _[j] to JIT-compiled code"),
	OPT_FLAG(0, "lines", struct export_cmd_opts, fold.lines, "folded: append file and hottest line to names"),
	OPT_UINT(0, "workers", struct export_cmd_opts, workers, "N", "number of threads (default: one per CPU)"),
	SYMBOL_OPT_ROWS(struct export_cmd_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example export_examples[] = {
	{ "export --to pprof", "./perf.data as profile.pb.gz, for go tool pprof" },
	{ "export --to speedscope -i FILE", "for speedscope.app, threads in time order" },
	{ "export --to firefox -o profile.json.gz",
	  "for profiler.firefox.com (speedscope does not read it)" },
	{ "export --to perfetto -i FILE",
	  "tracepoints as slices and instants, for ui.perfetto.dev" },
	{ "export --to perfetto -i trace.dat -o trace.json.gz", "the same from ftrace" },
	{ "export --to folded", "one stack and its weight per line" },
	{ 0 },
};

const struct command command_export = {
	.name = "export",
	.group = "Why",
	.summary = "write a recording in another tool's format",
	.usage = "--to FORMAT [OPTIONS] [FILE]",
	.about = "Profiles can be exported to pprof, speedscope, the Firefox Profiler or folded "
		 "text, with names, lines and inlined functions resolved; tracepoints to Perfetto "
		 "or Chrome as trace events: who ran on which CPU, wake-ups, interrupts, system "
		 "calls, function calls, markers, counters, and gaps where events were lost.",
	.examples = export_examples,
	.opts = export_rows,
	.opts_size = sizeof(struct export_cmd_opts),
	.defaults = export_defaults,
	.mixed_words = true,
	.run = export_run,
};
