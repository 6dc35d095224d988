/* What the parts of `ftrace record` share: one run, from the options to the file. */
#pragma once

#include "base/loop.h"
#include "cmd/app/child.h"
#include "cmd/ftrace/parts.h"
#include "cmd/ftrace/record.h"
#include "cmd/ftrace/samples.h"
#include "cmd/ftrace/top_watch.h"
#include "cmd/record/switch.h"
#include "stream/ftrace_meta.h"
#include "stream/live_ftrace.h"

#include <limits.h>
#include <pthread.h>

struct record_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	const char *output, *compression, *version, *temp, *user_name;
	const char *ignored, *switch_output;
	u64 max_kb, sleep_us, priority, max_size, switch_max_files, sample_freq;
	bool keep, date, proc_map, poll, samples, all_formats, has_ts_offset, to_err;
	s64 ts_offset;
	bool profile, only_given, unused;
	struct opt_list hooks;
};

/* Pages of one CPU on their way to a file. */
struct lane {
	pthread_mutex_t lock; /* the reader's; ours when it is to go on in another file */
	int fd;
	u32 half;
	u64 bytes; /* in this half */
};

struct record_buffer {
	struct ftrace_run *session;
	u32 index;
	struct live_ftrace *live;
	struct lane *lanes; /* by CPU */
};

struct ftrace_run {
	struct app *app;
	struct record_opts *o;
	struct ftrace_setup *s;
	struct loop *loop;
	struct child child;
	struct child_user user; /* --user */
	struct cpuset cpus;
	u32 nr_cpus;
	struct parts parts;
	struct ftrace_meta meta;
	bool has_meta, has_parts, latency, buffers_read;
	struct record_buffer *buffers;
	VEC(struct tracedat_option) more; /* options known at the end */
	struct ftrace_sampler sampler;
	struct record_switching sw;
	u32 file_nr; /* of --switch-output, from 1 */
	u64 file_from; /* what was recorded before this file */
	char output[PATH_MAX]; /* the file that is being made */
	int switch_err;
	struct ftrace_top_watch top;
	struct term_progress progress;
	u64 started_ns;
	int wait_status;
	bool child_done;
	int signal;
	bool full;
	bool exec_failed;
	bool whole; /* the file is there */
};

/* ---- ftrace_record_head: what the file says beside its pages ---- */

int ftrace_run_write_head(struct ftrace_run *s) must_check;
/* What becomes of the parts, and the head that they all have. */
int ftrace_run_write_plan(struct ftrace_run *s) must_check;

/* ---- ftrace_record_pages: pages on their way into one file after the other ---- */

int ftrace_run_start_reading(struct ftrace_run *s) must_check;
/* Tracing is switched off, and what is left is read. */
int ftrace_run_stop_reading(struct ftrace_run *s) must_check;
void ftrace_run_close_buffers(struct ftrace_run *s);
u64 ftrace_run_bytes(const struct ftrace_run *s); /* of pages, so far */
/* A folder for what comes, which the watchdog knows of. */
int ftrace_run_begin_file(struct ftrace_run *s) must_check;
/* --switch-output: goes on in a new file while the one before is joined. 1: the run is to end (switch_err). */
int ftrace_run_next_file(struct ftrace_run *s) must_check;
/* Names of tasks as they are now. */
int ftrace_run_keep_names(struct ftrace_run *s, const struct parts *p) must_check;
/* A file of several is done: it is said. */
int ftrace_run_keep_file(struct ftrace_run *s, const char *name, u64 bytes) must_check;

/* ---- ftrace_record_end: the file is made, and what came of it is said ---- */

void ftrace_run_stats(const struct ftrace_run *s, struct live_ftrace_stats *sum);
int ftrace_run_finish(struct ftrace_run *s) must_check;
