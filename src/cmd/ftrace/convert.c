/* `sonde ftrace convert`: a trace.dat in another version or packing. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/outfile.h"
#include "cmd/ftrace/format.h"
#include "file/tracedat_out.h"

#include <string.h>
#include <sys/stat.h>

struct convert_opts {
	const char *input, *output, *version, *compression;
};

static int convert(struct app *app, const struct convert_opts *o, struct tracedat *from,
		   struct tracedat_copy *c)
{
	if (!o->version && (!o->compression || strcmp(o->compression, "none")))
		c->out.version = 7;
	if (!o->compression && from->compression == COMPRESS_NONE)
		c->out.compression = COMPRESS_ZSTD;
	if (ftrace_choose_format(o->version, o->compression, &c->out, &app->diag))
		return app_usage_said(app);
	int err = tracedat_write_file(o->output, &c->out, &app->diag);
	if (err)
		return app_fail(app, err);
	struct stat st = { 0 };
	(void)stat(o->output, &st);
	if (app->json) {
		struct json j;
		json_begin(&j, &app->out, JSON_PRETTY);
		json_object(&j);
		json_put_str(&j, "file", o->output);
		json_put_u64(&j, "version", c->out.version);
		json_put_str(&j, "compression", compress_name(c->out.compression));
		json_put_u64(&j, "bytes_before", from->size);
		json_put_u64(&j, "bytes", (u64)st.st_size);
		json_object_end(&j);
		return json_end(&j) ? APP_FAILED : APP_DONE;
	}
	strbuf_printf(&app->err, "[ %s: version %u, compression %s, %llu bytes; was %llu ]\n",
		      o->output, c->out.version, compress_name(c->out.compression),
		      (unsigned long long)st.st_size, (unsigned long long)from->size);
	return APP_DONE;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct convert_opts *o = opts;
	struct tracedat from;
	struct tracedat_copy c;
	/* The last word is the file to write, as for trace-cmd; one before it is the file to read. */
	if (!o->output && argc)
		o->output = argv[--argc];
	if (argc && !o->input)
		o->input = argv[--argc];
	if (argc)
		return app_usage(app, "expected one input and one output file");
	if (!o->input)
		o->input = "trace.dat";
	if (!o->output)
		return app_usage(app, "no output file given: -o FILE");
	int err = outfile_check(o->output, &app->diag);
	if (!err)
		err = tracedat_open(&from, o->input, &app->diag);
	if (err)
		return app_fail(app, err);
	int status = APP_FAILED;
	err = tracedat_copy_init(&c, &from);
	if (err)
		status = app_fail(app, err);
	else
		status = convert(app, o, &from, &c);
	tracedat_copy_done(&c);
	tracedat_close(&from);
	return status;
}

static const struct opt rows[] = {
	OPT_STR('i', NULL, struct convert_opts, input, "FILE", "read FILE instead of trace.dat"),
	OPT_STR('o', "output", struct convert_opts, output, "FILE", "write FILE"),
	OPT_STR(0, "file-version", struct convert_opts, version, "N", "6 or 7 (7)"),
	OPT_STR(0, "compression", struct convert_opts, compression, "HOW", "zstd, zlib, any or none"),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "ftrace convert -i trace.dat -o small.dat", "version 7, packed" },
	{ "ftrace convert --file-version 6 small.dat old.dat", "for old readers" },
	{ 0 },
};

const struct command command_ftrace_convert = {
	.name = "convert",
	.summary = "convert a trace.dat to another version or compression",
	.usage = "[OPTIONS] [FILE] [-o] FILE",
	.about = "Events, buffers, options and texts stay as they are; only the container changes.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct convert_opts),
	.mixed_words = true,
	.run = run,
};
