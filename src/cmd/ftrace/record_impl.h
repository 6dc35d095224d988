/* What the parts of `ftrace record` share: one run, from the options to the file. */
#pragma once

#include "cmd/ftrace/setup_opts.h"
#include "session/command_run.h"
#include "session/record_switch.h"
#include "tracing/recording.h"
#include "tracing/top_watch.h"

struct record_beside;

struct ftrace_record_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	struct ftrace_refused refused;
	const char *output, *compression, *version, *temp, *user_name;
	const char *switch_output;
	u64 max_kb, sleep_us, priority, max_size, switch_max_files, sample_freq;
	bool keep, date, proc_map, poll, samples, all_formats, has_ts_offset, to_err, quiet;
	s64 ts_offset;
	bool profile, only_given, unused;
	struct opt_list hooks;
};

struct ftrace_run {
	struct app *app;
	struct ftrace_record_opts *o;
	struct ftrace_setup *s;
	struct command_run run;
	struct child_user user; /* --user */
	struct ftrace_recording rec;
	struct record_beside *samples; /* --with-samples; NULL: none */
	char *samples_path;
	struct record_switching sw;
	struct ftrace_top_watch top;
	struct term_progress progress;
	u64 started_ns;
	bool full;
};

/* ---- record_end: the file is made, and what came of it is said ---- */

/* One of the files of --switch-output is done: ctx is a struct ftrace_run. */
int ftrace_run_file_done(void *ctx, const char *name, u64 bytes) must_check;
int ftrace_run_finish(struct ftrace_run *s) must_check;
