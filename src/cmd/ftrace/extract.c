/* `sonde ftrace extract`: what is in the kernel's buffers as a trace.dat; `restore`: a recording that was truncated. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "cmd/ftrace/format.h"
#include "tracing/parts.h"
#include "tracing/setup.h"
#include "cmd/ftrace/which_opts.h"
#include "kern/cpu.h"
#include "stream/ftrace_meta.h"
#include "stream/live_ftrace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct extract_opts {
	struct ftrace_which which;
	const char *output, *compression, *version, *tracer, *ignored;
	bool snapshot, unused;
};

struct extracting {
	struct app *app;
	const struct extract_opts *o;
	struct tracing t;
	struct sysroot root;
	struct parts parts;
	struct cpuset cpus;
	u64 bytes;
};

static int say_done(struct app *app, const char *file, const struct parts_summary *sum)
{
	if (app->json) {
		struct json j;
		json_begin(&j, &app->out, JSON_PRETTY);
		json_object(&j);
		json_put_str(&j, "file", file);
		json_put_u64(&j, "page_bytes", sum->bytes);
		json_put_u64(&j, "bytes", sum->file_bytes);
		json_object_end(&j);
		return json_end(&j);
	}
	strbuf_printf(&app->err, "[ %s: %.1f MB of pages, %.1f MB ]\n", file,
		      (double)sum->bytes / 1e6, (double)sum->file_bytes / 1e6);
	return 0;
}

static int add_buffer(void *ctx, const char *folder, const char *name)
{
	struct extracting *x = ctx;
	struct strbuf s;
	char path[PATH_MAX], clock[64];
	strbuf_init(&s);
	(void)!str_path(path, sizeof(path), "%strace_clock", folder);
	const char *open = strchr(tracing_line(&x->t, path, &s), '[');
	(void)snprintf(clock, sizeof(clock), "%.*s", open ? (int)strcspn(open + 1, "]") : 5,
		       open ? open + 1 : "local");
	strbuf_done(&s);
	return parts_add_buffer(&x->parts, name, folder, clock,
				live_ftrace_subbuf_bytes(&x->t, folder));
}

struct ftrace_lane {
	struct extracting *x;
	u32 buffer;
};

static int take(void *ctx, u32 cpu, const void *pages, size_t bytes)
{
	struct ftrace_lane *l = ctx;
	_cleanup_close_ int fd = parts_open_cpu(&l->x->parts, l->buffer, cpu, 0);
	return fd < 0 ? fd : strbuf_drain_fd(&fd, pages, bytes);
}

static int drain(struct extracting *x, u32 buffer)
{
	struct ftrace_lane lane = { .x = x, .buffer = buffer };
	struct live_ftrace *live;
	struct live_ftrace_opts o = { .folder = x->parts.buffers.at[buffer].folder,
				      .cpus = &x->cpus,
				      .snapshot = x->o->snapshot,
				      .take = take,
				      .ctx = &lane };
	int err = live_ftrace_open(&live, &x->t, &o, &x->app->diag);
	if (err)
		return err;
	err = live_ftrace_start(live);
	int got = live_ftrace_stop(live);
	live_ftrace_close(live);
	return err ? err : got;
}

static int extract(struct extracting *x)
{
	struct ftrace_meta meta;
	struct app *app = x->app;
	struct tracedat_out format = { .version = 7, .compression = COMPRESS_ZSTD };
	struct parts_summary sum;
	if (ftrace_choose_format(x->o->version, x->o->compression, &format, &app->diag))
		return -EINVAL;
	x->parts.version = format.version;
	x->parts.compression = format.compression;
	x->parts.nr_cpus = cpu_nr_present(&x->root);
	int err = cpu_online(&x->root, &x->cpus);
	if (!err)
		err = ftrace_which_each(&x->o->which, &x->t, add_buffer, x, &app->diag);
	if (err)
		return err;
	struct ftrace_meta_opts mo = { .root = &x->root, .folder = x->parts.buffers.at[0].folder };
	if (ftrace_is_latency(x->o->tracer))
		x->parts.latency = mo.folder;
	err = parts_create(&x->parts, x->o->output, NULL, &app->diag);
	if (err)
		return err;
	err = ftrace_meta_read(&meta, &x->t, &mo, &app->diag);
	if (!err) {
		err = parts_write(&x->parts, &meta.out, &app->diag);
		ftrace_meta_done(&meta);
	}
	if (!err && x->parts.latency)
		err = parts_write_latency(&x->parts, &x->t);
	bool taken = false;
	for (u32 i = 0; i < x->parts.buffers.nr && !err && !x->parts.latency; i++) {
		taken = true;
		err = drain(x, i);
	}
	if (!err)
		err = parts_join(&x->parts, NULL, 0, &sum, &app->diag);
	if (err && taken)
		parts_hint(&x->parts, &app->diag); /* the buffers do not have it any more */
	else if (err)
		parts_remove(&x->parts);
	return err ? err : say_done(app, x->o->output, &sum);
}

static int run_extract(struct app *app, void *opts, int argc, char **argv)
{
	struct extract_opts *o = opts;
	struct extracting x = { .app = app, .o = o, .root = { .dir_fd = -1 } };
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	if (!o->output)
		o->output = "trace.dat";
	int err = ftrace_open(&x.t, &app->diag);
	if (err)
		return app_fail(app, err);
	parts_init(&x.parts);
	err = sysroot_open(&x.root, NULL);
	if (!err)
		err = extract(&x);
	parts_done(&x.parts);
	sysroot_close(&x.root);
	tracing_close(&x.t);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt extract_rows[] = {
	OPT_STR('o', "output", struct extract_opts, output, "FILE", "Write FILE (trace.dat)"),
	OPT_FLAG('s', "snapshot", struct extract_opts, snapshot,
		 "Extract the snapshot instead of the buffer"),
	FTRACE_WHICH_ROWS(struct extract_opts, which),
	OPT_STR('p', "tracer", struct extract_opts, tracer, "TRACER",
		"wakeup, irqsoff and similar: the text of the worst case"),
	OPT_STR('O', NULL, struct extract_opts, ignored, "OPTION",
		"use 'ftrace set -O OPTION' first", .refused = true),
	OPT_FLAG(0, "date", struct extract_opts, unused,
		 "Clocks have to be compared during tracing: use 'ftrace record --date'",
		 .refused = true),
	OPT_STR(0, "compression", struct extract_opts, compression, "HOW",
		"zstd, zlib or none (zstd)"),
	OPT_STR(0, "file-version", struct extract_opts, version, "N", "6 or 7 (7)"),
	OPT_END(),
};

static const struct opt_example extract_examples[] = {
	{ "ftrace extract", "after 'ftrace start' and 'ftrace stop'" },
	{ "ftrace extract -B mine -o mine.dat", "an instance, which is kept" },
	{ 0 },
};

const struct command command_ftrace_extract = {
	.name = "extract",
	.summary = "write the kernel's trace buffer to a trace.dat",
	.usage = "[OPTIONS]",
	.about = "The events are removed from the buffer. Instances are kept, even those that "
		 "others created.",
	.examples = extract_examples,
	.opts = extract_rows,
	.opts_size = sizeof(struct extract_opts),
	.run = run_extract,
};

/* ---- restore ---------------------------------------------------------------------------------------------------------------- */

struct restore_opts {
	const char *output, *ignored;
	bool unused;
};

static int run_restore(struct app *app, void *opts, int argc, char **argv)
{
	struct restore_opts *o = opts;
	struct parts p;
	struct parts_summary sum;
	char path[PATH_MAX], cwd[PATH_MAX] = "";
	const char *cpu = argc ? strstr(argv[0], ".cpu") : NULL;
	if (cpu && cpu[4] && !cpu[4 + strspn(cpu + 4, "0123456789")]) {
		diag_error(&app->diag, -EINVAL, "'%s' is a leftover of trace-cmd itself", argv[0]);
		diag_hint(&app->diag, "use trace-cmd restore for it; ours are called FILE.parts");
		return app_usage_said(app);
	}
	if (argc > 1)
		return app_usage(app, "only one recording at a time");
	const char *name = argc ? argv[0] : "trace.dat";
	size_t len = strlen(name);
	while (len > 1 && name[len - 1] == '/')
		len--;
	bool folder = len > 6 && !strncmp(name + len - 6, ".parts", 6);
	if (*name != '/' && !getcwd(cwd, sizeof(cwd)))
		return app_fail(app, -errno);
	if (snprintf(path, sizeof(path), "%s%s%.*s%s", cwd, *cwd ? "/" : "", (int)len, name,
		     folder ? "" : ".parts") >= (int)sizeof(path))
		return app_fail(app, -ENAMETOOLONG);
	parts_init(&p);
	int err = parts_load(&p, path, &app->diag);
	if (!err)
		err = parts_choose_output(&p, o->output, &app->diag);
	if (!err)
		err = parts_join(&p, NULL, 0, &sum, &app->diag);
	if (!err)
		err = say_done(app, p.output, &sum);
	parts_done(&p);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt restore_rows[] = {
	OPT_STR('o', "output", struct restore_opts, output, "FILE",
		"Write FILE (next to the directory, without .parts)"),
	OPT_FLAG('c', NULL, struct restore_opts, unused,
		 "FILE.parts already holds the file header; nothing to create in advance",
		 .refused = true),
	OPT_STR('i', NULL, struct restore_opts, ignored, "FILE",
		"FILE.parts already holds the file header", .refused = true),
	OPT_STR('t', NULL, struct restore_opts, ignored, "DIR",
		"FILE.parts already holds the formats", .refused = true),
	OPT_STR('k', NULL, struct restore_opts, ignored, "FILE",
		"FILE.parts already holds the kernel symbols", .refused = true),
	OPT_END(),
};

static const struct opt_example restore_examples[] = {
	{ "ftrace restore trace.dat.parts", "what a killed recorder and its watchdog left behind" },
	{ 0 },
};

const struct command command_ftrace_restore = {
	.name = "restore",
	.summary = "turn the parts of an interrupted recording into a file",
	.usage = "[OPTIONS] [FILE.parts]",
	.about = "While 'ftrace record' runs, its data is in FILE.parts. If the recorder is "
		 "killed, its watchdog joins the parts; this command does it when the watchdog was "
		 "killed too.",
	.examples = restore_examples,
	.opts = restore_rows,
	.opts_size = sizeof(struct restore_opts),
	.mixed_words = true,
	.run = run_restore,
};
