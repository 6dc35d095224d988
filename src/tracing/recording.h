/*
 * Pages of a tracing session (setup.h) on their way into a trace.dat. The file's head is written first; pages go to one file a CPU in
 * a folder of parts (parts.h), which are joined at the end. With numbered files the recording goes on in FILE.2 while FILE.1 is joined.
 *
 *	ftrace_recording_init(&r, &setup, &opts);
 *	ftrace_recording_begin_file(&r);          a folder, which the watchdog knows of
 *	ftrace_setup_apply(...);
 *	ftrace_recording_write_head(&r);
 *	ftrace_recording_start(&r);
 *	ftrace_setup_switch(&setup, true);
 *	...                                       ftrace_recording_next_file(&r) as often as wanted
 *	ftrace_recording_finish(&r, ...);
 *	ftrace_recording_done(&r);                what was begun and is not whole goes; before ftrace_setup_end()
 */
#pragma once

#include "base/cpuset.h"
#include "stream/ftrace_meta.h"
#include "stream/live_ftrace.h"
#include "tracing/parts.h"
#include "tracing/setup.h"

#include <limits.h>

struct ftrace_recording_opts {
	const char *output;
	const char *temp; /* where parts are collected; NULL: beside the output */
	u32 version;
	enum compress_kind compression;
	bool numbered; /* OUTPUT.1, OUTPUT.2 ... */
	u64 max_kb; /* the newest of each CPU; 0: everything */
	u64 sleep_us; /* between reads; 0: the default */
	u64 priority; /* of the readers; 0: none */
	bool poll; /* read without pause */
	bool all_formats, date, proc_map, has_ts_offset;
	s64 ts_offset;
	/* One of numbered files is done. */
	int (*file_done)(void *ctx, const char *name, u64 bytes);
	void *ctx;
};

struct ftrace_recording {
	struct ftrace_recording_opts opts;
	struct ftrace_setup *s; /* borrowed */
	struct diag *diag; /* the session's */
	struct cpuset cpus;
	u32 nr_cpus;
	struct parts parts;
	struct ftrace_meta meta;
	struct recording_buffer *buffers;
	VEC(struct tracedat_option) more; /* options known at the end */
	char output[PATH_MAX]; /* the file that is being made */
	u32 file_nr; /* of numbered files, from 1 */
	u64 file_from; /* what was recorded before this file */
	int switch_err; /* why the next file could not be begun, or the one before not be joined */
	bool latency; /* the recording is the text of a latency tracer */
	bool has_meta, has_parts, buffers_read;
	bool whole; /* the file is there */
};

/* Behind ftrace_setup_open(). There is something to free even when it fails. */
int ftrace_recording_init(struct ftrace_recording *r, struct ftrace_setup *s,
			  const struct ftrace_recording_opts *o) must_check;
void ftrace_recording_done(struct ftrace_recording *r);

/* A folder for what comes, which the watchdog knows of. */
int ftrace_recording_begin_file(struct ftrace_recording *r) must_check;
/* What the file says beside its pages, and what becomes of the parts. */
int ftrace_recording_write_head(struct ftrace_recording *r) must_check;
/* Pages are read from now on; nothing to do for a latency tracer. */
int ftrace_recording_start(struct ftrace_recording *r) must_check;
/* Why reading ended before its time; 0: it did not. */
int ftrace_recording_error(const struct ftrace_recording *r) must_check;
u64 ftrace_recording_bytes(const struct ftrace_recording *r); /* of pages, so far */
void ftrace_recording_stats(const struct ftrace_recording *r, struct live_ftrace_stats *sum);
/* Goes on in a new file while the one before is joined. 1: the run is to end (switch_err). */
int ftrace_recording_next_file(struct ftrace_recording *r) must_check;
/* Tracing is switched off, what is left is read, and the file is made. */
int ftrace_recording_finish(struct ftrace_recording *r, struct live_ftrace_stats *st,
			    struct parts_summary *sum) must_check;
/* When it cannot be finished: tracing is switched off, and what is left is read. */
void ftrace_recording_stop(struct ftrace_recording *r);
/* A disk that is full, say: what was recorded until then stays, and how a file is made of it is said. */
void ftrace_recording_keep(struct ftrace_recording *r);
