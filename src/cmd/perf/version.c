/* perf version, perf check: what this build can do, in the form that scripts look at. */
#include "cmd/perf/perf.h"

#include <string.h>

#ifndef SONDE_HAVE_LZMA
#define SONDE_HAVE_LZMA 0
#endif
#ifndef SONDE_HAVE_PFM
#define SONDE_HAVE_PFM 0
#endif

const char perf_version_line[] = "perf version 6.1.0 (sonde " SONDE_VERSION ")";

/* perf's names. "on" means that what people ask for by this name works here, whatever library does it. */
static const struct version_feature {
	const char *name, *macro;
	bool on;
	const char *tip;
} features[] = {
	{ "aio", "HAVE_AIO_SUPPORT", false, "record uses its own writer threads" },
	{ "bpf", "HAVE_LIBBPF_SUPPORT", false, NULL },
	{ "debuginfod", "HAVE_DEBUGINFOD_SUPPORT", true, NULL },
	{ "dwarf", "HAVE_DWARF_SUPPORT", false, NULL },
	{ "dwarf-unwind", "HAVE_DWARF_UNWIND_SUPPORT", true, NULL },
	{ "glibc", "HAVE_GLIBC_SUPPORT", true, NULL },
	{ "libbfd", "HAVE_LIBBFD_SUPPORT", false,
	  "not needed: symbols are read and demangled without it" },
	{ "libelf", "HAVE_LIBELF_SUPPORT", true, NULL },
	{ "libpfm4", "HAVE_LIBPFM", SONDE_HAVE_PFM, NULL },
	{ "libslang", "HAVE_SLANG_SUPPORT", false, NULL },
	{ "libtraceevent", "HAVE_LIBTRACEEVENT", true, NULL },
	{ "lzma", "HAVE_LZMA_SUPPORT", SONDE_HAVE_LZMA, NULL },
	{ "syscall_table", "HAVE_SYSCALL_TABLE_SUPPORT", false, NULL },
	{ "zlib", "HAVE_ZLIB_SUPPORT", true, NULL },
	{ "zstd", "HAVE_ZSTD_SUPPORT", true, NULL },
};

static void show_feature(struct app *app, const struct version_feature *f, bool tip)
{
	bool colour = app_colours(app);
	const char *on = colour ? "\033[32m" : "", *off = colour ? "\033[31m" : "",
		   *plain = colour ? "\033[0m" : "";
	strbuf_right(&app->out, f->name, 22);
	strbuf_printf(&app->out, ": [ %s%s%s ]  # %s%s%s\n", f->on ? on : off, f->on ? "on " : "OFF",
		      plain, f->macro, tip && f->tip ? " # " : "", tip && f->tip ? f->tip : "");
}

void perf_show_features(struct app *app)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		show_feature(app, &features[i], false);
}

/* ---- version ---------------------------------------------------------------------------------------------------- */

struct version_opts {
	bool build_options;
};

static int version_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct version_opts *o = opts;
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	strbuf_printf(&app->out, "%s\n", perf_version_line);
	if (o->build_options || app->verbose)
		perf_show_features(app);
	return APP_DONE;
}

static const struct opt version_rows[] = {
	OPT_FLAG(0, "build-options", struct version_opts, build_options, "Show build options"),
	OPT_END(),
};

static const struct opt_example version_examples[] = {
	{ "version", "the perf version we emulate, and our own" },
	{ "version --build-options", "build options" },
	{ 0 },
};

const struct command command_perf_version = {
	.name = "version",
	.summary = "show the version",
	.usage = "[OPTIONS]",
	.examples = version_examples,
	.opts = version_rows,
	.opts_size = sizeof(struct version_opts),
	.mixed_words = true,
	.run = version_run,
};

/* ---- check ------------------------------------------------------------------------------------------------------ */

struct perf_check_opts {
	bool quiet;
};

static const struct version_feature *find_feature(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if ((strlen(features[i].name) == len && !strncasecmp(features[i].name, name, len)) ||
		    (strlen(features[i].macro) == len && !strncasecmp(features[i].macro, name, len)))
			return &features[i];
	return NULL;
}

/* check feature NAME[,NAME...]: 0 when all are there, 1 when not. */
static int feature_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct perf_check_opts *o = opts;
	bool all = true;
	if (!argc)
		return app_usage(app, "no feature given");
	for (int i = 0; i < argc; i++) {
		for (const char *at = argv[i]; *at;) {
			size_t len = strcspn(at, ",");
			const struct version_feature *f = find_feature(at, len);
			if (!f && len && !o->quiet)
				strbuf_printf(&app->err,
					      "Unknown feature '%.*s', please use 'perf version "
					      "--build-options' to see which ones are available.\n",
					      (int)len, at);
			if (f && !o->quiet)
				show_feature(app, f, true);
			all = all && (f ? f->on : !len);
			at += len + (at[len] == ',');
		}
	}
	return all ? APP_DONE : APP_FAILED;
}

static const struct opt check_rows[] = {
	OPT_FLAG('q', "quiet", struct perf_check_opts, quiet, "Exit status only"),
	OPT_END(),
};

static const struct opt_example check_examples[] = {
	{ "check feature zstd", "whether it is there, as exit status" },
	{ "check -q feature libtraceevent,lzma", "several, which must all be there" },
	{ 0 },
};

/* -q may stand before the word "feature", so it is no sub-command. */
static int check_run(struct app *app, void *opts, int argc, char **argv)
{
	if (!argc)
		return app_usage(app, "nothing to check: use 'feature NAME'");
	if (strcmp(argv[0], "feature"))
		return app_usage(app, "cannot check '%s', only 'feature NAME'", argv[0]);
	return feature_run(app, opts, argc - 1, argv + 1);
}

const struct command command_perf_check = {
	.name = "check",
	.summary = "check whether a feature is built in",
	.usage = "[-q] feature NAME[,NAME...]",
	.examples = check_examples,
	.opts = check_rows,
	.opts_size = sizeof(struct perf_check_opts),
	.mixed_words = true,
	.run = check_run,
};
