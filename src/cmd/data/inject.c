/* sonde inject: a recording with more in it: build ids, or sleeping times merged into the stacks of sleepers. */
#include "session/inject_jit.h"
#include "stream/inject_merge.h"
#include "session/symbols.h"

#include "base/atomic_file.h"
#include "cmd/app/app.h"
#include "cmd/app/files.h"
#include "cmd/app/commands.h"
#include "session/outfile.h"
#include "session/recorded_ids.h"
#include "file/perfdata_copy.h"
#include "image/buildid.h"
#include "kern/kmap.h"
#include "stream/perf_walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct inject_opts {
	const char *input;
	const char *output;
	bool build_ids;
	bool all;
	bool sched_stat;
	bool jit;
	bool ignored;
	const char *ignored_text;
};

/* clang-format off */
static const struct opt inject_rows[] = {
	OPT_STR('i', "input", struct inject_opts, input, "FILE", "Recording to read (-: standard input)"),
	OPT_STR('o', "output", struct inject_opts, output, "FILE", "Write FILE (-: standard output)"),
	OPT_FLAG('b', "build-ids", struct inject_opts, build_ids, "Add the build IDs of binaries with samples"),
	OPT_FLAG(0, "buildid-all", struct inject_opts, all, "Add the build IDs of all binaries"),
	OPT_FLAG('s', "sched-stat", struct inject_opts, sched_stat, "Join sched_stat_* with sched_switch: where tasks slept, and for how long"),
	OPT_FLAG('f', "force", struct inject_opts, ignored, "Accepted; file ownership is never checked", .hidden = true),
	OPT_STR('k', "vmlinux", struct inject_opts, ignored_text, "FILE", "Not needed", .hidden = true),
	OPT_STR(0, "kallsyms", struct inject_opts, ignored_text, "FILE", "Not needed", .hidden = true),
	OPT_FLAG(0, "ignore-vmlinux", struct inject_opts, ignored, "Not needed", .hidden = true),
	OPT_FLAG('j', "jit", struct inject_opts, jit, "Add JIT-compiled code from jit-PID.dump: as files (jitted-PID-N.so) with names, lines and code"),
	OPT_STR(0, "itrace", struct inject_opts, ignored_text, "OPTS", "AUX tracing (Intel PT, SPE) is not decoded", .refused = true),
	OPT_STR(0, "known-build-ids", struct inject_opts, ignored_text, "LIST", "Build IDs are read from the files: use -b", .refused = true),
	OPT_STR(0, "guest-data", struct inject_opts, ignored_text, "FILE", "Guest recordings cannot be merged", .refused = true),
	OPT_STR(0, "guestmount", struct inject_opts, ignored_text, "DIR", "Guest recordings cannot be merged", .refused = true),
	OPT_STR(0, "vm-time-correlation", struct inject_opts, ignored_text, "OPTS", "AUX tracing (Intel PT, SPE) is not decoded", .optional = true, .refused = true),
	OPT_FLAG(0, "strip", struct inject_opts, ignored, "It requires --itrace, and AUX traces (Intel PT, SPE) are not decoded", .refused = true),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example inject_examples[] = {
	{ "inject -b -i perf.data -o with-ids.data", "build IDs for a recording made with -B" },
	{ "inject -s -i sleep.data -o slept.data",
	  "where tasks slept and for how long: then report" },
	{ "inject -j -i perf.data -o jitted.data",
	  "names for JIT-compiled code, recorded with -k mono" },
	{ 0 },
};

struct injection {
	struct app *app;
	const struct inject_opts *o;
	struct source *src;
	struct perfdata_copy *to;
	struct inject_merge merge;
	bool merging;
	struct inject_jit jit;
};

/* ---- build ids ---- */

static bool id_of_file(const char *path, struct buildid *id)
{
	struct elfimg e;
	if (elfimg_open(&e, path, files_opener()))
		return false;
	bool has = !buildid_of_image(&e, id);
	elfimg_close(&e);
	return has;
}

static bool id_of_kernel(struct buildid *id)
{
	struct sysroot root;
	u8 bytes[KMAP_BUILD_ID_MAX];
	if (sysroot_open(&root, NULL))
		return false;
	unsigned size = kmap_kernel_build_id(&root, bytes);
	*id = buildid_make(bytes, size);
	sysroot_close(&root);
	return size;
}

/* As recorded, or as the file is now. */
static int add_id(struct injection *j, const char *path, const u8 *bytes, u32 size)
{
	bool kernel = path[0] == '[' && !strncmp(path, "[kernel.", 8);
	struct buildid id = buildid_make(bytes, size);
	bool has = size || (kernel ? id_of_kernel(&id) : path[0] == '/' && id_of_file(path, &id));
	return has ? perfdata_copy_build_id(j->to, path, kernel, id.bytes, id.size) : 0;
}

static int add_recorded(void *ctx, const struct recorded_id *r)
{
	return add_id(ctx, r->path, r->id, r->size);
}

static int add_ids(struct injection *j)
{
	if (!j->o->all)
		return recorded_ids(j->src, RECORDED_HIT, add_recorded, j, &j->app->diag);
	int err = 0;
	for (size_t i = 1; i < j->src->catalog.images.nr && !err; i++) {
		const struct image_info *image = &j->src->catalog.images.at[i];
		const char *path =
			image->kind == IMAGE_KIND_KERNEL ? "[kernel.kallsyms]" : image->path;
		if (path && image->kind != IMAGE_KIND_ANON && image->kind != IMAGE_KIND_BPF)
			err = add_id(j, path, image->build_id, image->build_id_size);
	}
	return err;
}

/* ---- the way through ---- */

static int pass_all(struct injection *j, const struct strbuf *records)
{
	int err = 0;
	for (size_t at = 0; at < records->len && !err;) {
		struct perf_event_header h = perf_head((const u8 *)records->data + at, false);
		err = perfdata_copy_record(j->to, records->data + at, &h);
		at += h.size;
	}
	return err;
}

static int pass(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct injection *j = ctx;
	bool same = true;
	const struct strbuf *instead = j->o->jit ? inject_jit_find(&j->jit, rec, h, place) : NULL;
	if (instead)
		return pass_all(j, instead);
	const struct perf_event_header *merged = NULL;
	if (j->merging && h->type == PERF_RECORD_SAMPLE)
		merged = inject_merge_find(&j->merge, place, &same);
	if (merged)
		return perfdata_copy_record(j->to, merged, merged);
	return same ? perfdata_copy_record(j->to, rec, h) : 0;
}

static void say_no_sched_stat(struct diag *d)
{
	diag_error(d, -ENOENT, "-s: the recording has no sched:sched_stat_* events");
	diag_hint(d, "sonde record -e sched:sched_stat_sleep -e sched:sched_switch -e "
		     "sched:sched_process_exit -g ...");
}

static int read_jit(struct injection *j)
{
	struct diag *d = &j->app->diag;
	int err = inject_jit_read(&j->jit, j->src, app_symbols(j->app));
	if (err == -EDOM) {
		err = diag_error(d, -EINVAL,
				 "-j: the recording does not use the clock of JIT dumps "
				 "(CLOCK_MONOTONIC), so code cannot be matched to samples");
		diag_hint(d, "sonde record -k mono ...");
	} else if (!err && !j->jit.maps.nr) {
		diag_warn(d, "-j: no process in the recording mapped a jit-PID.dump");
	}
	return err;
}

static int run(struct injection *j, int fd, bool stream)
{
	int err = j->src->ops->prepare(j->src, 0, &j->app->diag);
	if (err)
		return err;
	j->to = perfdata_copy_open(replay_perf_file(j->src), fd, stream, &j->app->diag);
	if (!j->to)
		return -EIO;
	if (j->o->build_ids || j->o->all)
		err = add_ids(j);
	if (!err && j->o->sched_stat) {
		err = inject_merge_read(&j->merge, j->src);
		j->merging = !err;
		if (err == -ENOENT)
			say_no_sched_stat(&j->app->diag);
	}
	if (!err && j->o->jit)
		err = read_jit(j);
	if (!err)
		err = perf_walk(replay_perf_file(j->src), pass, j);
	if (!err)
		err = perfdata_copy_finish(j->to);
	if (j->merging)
		inject_merge_done(&j->merge);
	if (j->o->jit)
		inject_jit_done(&j->jit);
	perfdata_copy_close(j->to);
	return err;
}

/* Written beside and then put in place: the output may be the input. */
static int run_to_file(struct injection *j, const char *path)
{
	struct atomic_file k;
	int err = atomic_file_begin_output(&k, path, 0600, &j->app->diag);
	if (!err)
		err = atomic_file_end(&k, run(j, k.fd, false));
	if (err && !j->app->diag.nr_errors)
		diag_error(&j->app->diag, err, "cannot write %s: %s", path, strerror(-err));
	return err;
}

static int inject_run(struct app *app, void *opts, int argc, char **argv)
{
	struct inject_opts *o = opts;
	struct injection j = { .app = app, .o = o };
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
	if (argc)
		o->input = argv[0];
	bool to_stdout = !strcmp(o->output, "-");
	if (to_stdout && term_is_tty(STDOUT_FILENO))
		return app_usage(app, "standard output is a terminal: use -o FILE");
	symbols_recorded(app_symbols(app), o->input);
	int err = outfile_check(o->output, &app->diag);
	if (!err)
		err = replay_perf_open(o->input, &j.src, &app->diag);
	if (err)
		return app_fail(app, err);
	app_live(app); /* no pager between us and standard output */
	err = to_stdout ? run(&j, STDOUT_FILENO, true) : run_to_file(&j, o->output);
	j.src->ops->close(j.src);
	return err ? app_fail(app, err) : APP_DONE;
}

static void inject_defaults(void *opts)
{
	*(struct inject_opts *)opts = (struct inject_opts){ .input = "-", .output = "-" };
}

const struct command command_inject = {
	.name = "inject",
	.group = "Why",
	.summary = "add build IDs, sleep times or JIT code to a recording",
	.usage = "[OPTIONS] [FILE]",
	.about = "Reads a recording (a file, directory or stream) and writes an augmented copy. "
		 "Compressed recordings are decompressed. Standard output is written as a stream.",
	.examples = inject_examples,
	.opts = inject_rows,
	.opts_size = sizeof(struct inject_opts),
	.defaults = inject_defaults,
	.mixed_words = true,
	.run = inject_run,
};
