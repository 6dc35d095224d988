/*
 * sonde data convert --to-json: every sample as JSON, in the form of perf 6.1.
 *
 * Where ours differs: names are valid JSON whatever bytes they have, the file appears under its name only when it is whole, and
 * "-" writes to standard output.
 */
#include "base/json.h"
#include "cmd/app/opt_rows.h"
#include "base/atomic_file.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/look.h"
#include "session/outfile.h"
#include "session/recording.h"
#include "session/symbols.h"
#include "session/named_run.h"
#include "stream/replay_perf.h"
#include "stream/run.h"
#include "view/json_samples.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct data_convert_opts {
	const char *input;
	const char *to_json;
	const char *to_ctf;
	bool force;
	bool all, tod;
	struct symbol_opts symbols;
};

/* clang-format off */
static const struct opt convert_rows[] = {
	OPT_STR('i', "input", struct data_convert_opts, input, "FILE", "Recording to read (perf.data)"),
	OPT_STR(0, "to-json", struct data_convert_opts, to_json, "FILE", "Write JSON to FILE (-: standard output)"),
	OPT_FLAG('f', "force", struct data_convert_opts, force, "Overwrite FILE"),
	OPT_STR(0, "to-ctf", struct data_convert_opts, to_ctf, "DIR", "CTF is not supported: use --to-json, or sonde export for other viewers", .refused = true),
	OPT_FLAG(0, "all", struct data_convert_opts, all, "For CTF only", .hidden = true),
	OPT_FLAG(0, "tod", struct data_convert_opts, tod, "For CTF only", .hidden = true),
	SYMBOL_OPT_ROWS(struct data_convert_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example convert_examples[] = {
	{ "data convert --to-json out.json", "./perf.data as one JSON file" },
	{ "data convert -i FILE --to-json - | jq '.samples|length'", "for other programs" },
	{ 0 },
};

struct data_json_convert {
	struct app *app;
	const struct data_convert_opts *o;
	struct source *src;
	struct strbuf out;
	u64 bytes, nr;
	int fd;
};

static int drain(void *ctx, const char *data, size_t len)
{
	struct data_json_convert *c = ctx;
	c->bytes += len;
	return strbuf_drain_fd(&c->fd, data, len);
}

/* ---- the head ---- */

static struct bytes feature(const struct perfdata *p, enum perf_feature f)
{
	return bytes_of(p->features[f].at, p->features[f].at ? p->features[f].size : 0, p->swap);
}

static void put_text(struct strbuf *to, const char *key, const char *text)
{
	struct json j;
	strbuf_printf(to, ",\n\t\t\"%s\": ", key);
	json_begin(&j, to, JSON_COMPACT);
	json_str(&j, text ? text : "");
}

static void put_number(struct strbuf *to, const char *key, u64 value)
{
	strbuf_printf(to, ",\n\t\t\"%s\": %llu", key, (unsigned long long)value);
}

static int put_captured(struct strbuf *to, const char *path)
{
	struct stat st;
	struct tm tm;
	char date[32], inner[PATH_MAX];
	int err = strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st);
	if (!err && S_ISDIR(st.st_mode) &&
	    snprintf(inner, sizeof(inner), "%s/data", path) < (int)sizeof(inner))
		err = stat(inner, &st);
	if (err || !gmtime_r(&st.st_mtime, &tm) ||
	    !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return err ? -errno : -EINVAL;
	put_text(to, "captured-on", date);
	return 0;
}

static void put_clock(struct strbuf *to, const struct perfdata *p)
{
	struct perfdata_clock c;
	if (!perfdata_clock(p, &c))
		return;
	put_number(to, "clockid", c.id);
	put_number(to, "clock-time", c.clock_ns);
	put_number(to, "real-time", c.wall_ns);
}

static void put_cmdline(struct strbuf *to, const struct perfdata *p)
{
	struct bytes b = feature(p, FEAT_CMDLINE);
	u32 nr = bytes_u32(&b);
	strbuf_str(to, ",\n\t\t\"cmdline\": [");
	for (u32 i = 0; i < nr && !b.bad; i++) {
		const char *word = perfdata_take_string(&b);
		struct json j;
		if (!word)
			break;
		strbuf_str(to, i ? ",\n\t\t\t" : "\n\t\t\t");
		json_begin(&j, to, JSON_COMPACT);
		json_str(&j, word);
	}
	strbuf_str(to, "\n\t\t]");
}

static int put_head(struct data_json_convert *c)
{
	const struct perfdata *p = replay_perf_file(c->src);
	struct strbuf *to = &c->out;
	u64 at = p->is_pipe ? 0 : p->data_at;
	strbuf_str(to, "{\n\t\"linux-perf-json-version\": 1,\n\t\"headers\": "
		       "{\n\t\t\"header-version\": 1");
	int err = put_captured(to, c->o->input);
	if (err)
		return err;
	put_number(to, "data-offset", at);
	put_number(to, "data-size", p->head_data_size);
	put_number(to, "feat-offset", at + p->head_data_size);
	put_text(to, "hostname", perfdata_string(p, FEAT_HOSTNAME));
	put_text(to, "os-release", perfdata_string(p, FEAT_OSRELEASE));
	put_text(to, "arch", perfdata_string(p, FEAT_ARCH));
	put_text(to, "cpu-desc", perfdata_string(p, FEAT_CPUDESC));
	put_text(to, "cpuid", perfdata_string(p, FEAT_CPUID));
	struct bytes cpus = feature(p, FEAT_NRCPUS);
	u32 available = bytes_u32(&cpus);
	put_number(to, "nrcpus-online", bytes_u32(&cpus));
	put_number(to, "nrcpus-avail", available);
	put_clock(to, p);
	put_text(to, "perf-version", perfdata_string(p, FEAT_VERSION));
	put_cmdline(to, p);
	strbuf_str(to, "\n\t},\n\t\"samples\": [");
	return to->err;
}

/* ---- samples ---- */

static int put_samples(struct data_json_convert *c, const struct run_tables *run,
		       const struct names_result *named)
{
	struct json_samples_opts o = { .catalog = &c->src->catalog,
				       .frames = &run->frames,
				       .names = named };
	struct sink *sink;
	int err = json_samples_new(&o, &c->out, &sink);
	if (err)
		return err;
	err = stream_run_named(c->src, sink, recording_split_reads(c->src, sink, 0), &run->frames,
			       &c->app->diag);
	c->nr = json_samples_nr(sink);
	json_samples_free(sink);
	return err;
}

static int convert(struct data_json_convert *c)
{
	struct sink look = look_sink(NEED_LEAF | NEED_FRAMES);
	struct named_run run;
	int err = named_run(&run, c->src, &look,
			    &(struct named_run_opts){ .symbols = app_symbols(c->app),
						      .names = &c->o->symbols,
						      .want = WANT_SYMBOL });
	if (!err)
		err = put_head(c);
	if (!err)
		err = put_samples(c, &run.tables, &run.named);
	strbuf_str(&c->out, "\n\t]\n}\n");
	if (!err)
		err = strbuf_flush(&c->out);
	named_run_done(&run);
	return err;
}

static int convert_to(struct data_json_convert *c, int fd)
{
	c->fd = fd;
	strbuf_init_drain(&c->out, 1 << 18, drain, c);
	int err = convert(c);
	strbuf_done(&c->out);
	return err;
}

static int convert_to_file(struct data_json_convert *c, const char *path)
{
	struct diag *d = &c->app->diag;
	if (!c->o->force && !access(path, F_OK)) {
		diag_error(d, -EEXIST, "Output file exists. Use --force to overwrite it.");
		return -EEXIST;
	}
	struct atomic_file k;
	int err = atomic_file_begin_output(&k, path, 0666, d);
	if (!err)
		err = atomic_file_end(&k, convert_to(c, k.fd));
	if (err && !d->nr_errors)
		diag_error(d, err, "cannot write %s: %s", path, strerror(-err));
	return err;
}

static int convert_run(struct app *app, void *opts, int argc, char **argv)
{
	struct data_convert_opts *o = opts;
	struct data_json_convert c = { .app = app, .o = o };
	if (argc)
		return app_usage(app, "unexpected argument '%s': use -i FILE to name the recording",
				 argv[0]);
	if (!o->to_json)
		return app_usage(app, "no output format given: --to-json FILE");
	/* The format is perf's, and so are its names. */
	o->symbols.no_func_names = !o->symbols.func_names;
	symbols_recorded(app_symbols(app), o->input);
	int err = outfile_check(o->to_json, &app->diag);
	if (!err)
		err = replay_perf_open(o->input, &c.src, &app->diag);
	if (err)
		return app_fail(app, err);
	app_live(app);
	err = symbols_unwind(app_symbols(app), c.src, &o->symbols);
	if (!err)
		err = strcmp(o->to_json, "-") ? convert_to_file(&c, o->to_json)
					      : convert_to(&c, STDOUT_FILENO);
	c.src->ops->close(c.src);
	if (err)
		return app_fail(app, err);
	strbuf_printf(&app->err, "[ %s data convert: Converted '%s' into JSON data '%s' ]\n",
		      app->prog, o->input, o->to_json);
	strbuf_printf(&app->err, "[ %s data convert: Converted and wrote %.3f MB (%llu samples) ]\n",
		      app->prog, (double)c.bytes / (1 << 20), (unsigned long long)c.nr);
	return APP_DONE;
}

static void convert_defaults(void *opts)
{
	((struct data_convert_opts *)opts)->input = "perf.data";
}

const struct command command_data_convert = {
	.name = "convert",
	.summary = "convert a recording to JSON",
	.usage = "--to-json FILE [OPTIONS]",
	.about = "Writes the header of a perf.data file and every sample in time order, with its "
		 "call chain, in the format of perf 6.1's converter.",
	.examples = convert_examples,
	.opts = convert_rows,
	.opts_size = sizeof(struct data_convert_opts),
	.defaults = convert_defaults,
	.run = convert_run,
};
