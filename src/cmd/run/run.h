/* What the files of `run` share. */
#pragma once

#include "base/opts.h"
#include "cmd/app/app.h"
#include "kern/sysroot.h"

struct run_opts {
	const char *program; /* -e */
	const char *list; /* -l */
	bool list_given;
	const char *output;
	const char *command; /* -c */
	const char *cgroup; /* -G */
	u64 pid;
	int format; /* 0 text, 1 JSON */
	int buffer; /* 0 line, 1 full, 2 none */
	const char *debug; /* -d */
	const char *listen, *token_file;
	struct opt_list include;
	bool quiet, dry_run, unsafe, info, no_warnings, tools, no_final_maps;
	bool stap; /* the script is in the language of SystemTap; then pid is the last pass, as there */
	u64 target; /* -x */
	bool ignored; /* options of LLVM */
	bool report_errors;
	bool refused;
};

int run_list(struct app *app, const struct run_opts *o, const struct sysroot *root);
int run_info(struct app *app, const struct sysroot *root);
