/*
 * What a tracing session (setup.h) traces, as a source with rounds (stream/ftrace_rounds.h): no file.
 *
 *	ftrace_setup_apply(...);
 *	ftrace_live_open(&l, &setup, &opts);      the source is there: l.source
 *	ftrace_live_start(&l);                    pages are read; somebody runs the source
 *	ftrace_setup_switch(&setup, true);
 *	...
 *	ftrace_live_stop(&l);                     tracing is off, the rest is read: the next round is the last
 *	ftrace_live_close(&l);                    when nobody runs the source any more; before ftrace_setup_end()
 */
#pragma once

#include "stream/ftrace_rounds.h"
#include "stream/live_ftrace.h"
#include "tracing/setup.h"

struct ftrace_live_opts {
	enum print_style style;
	u32 nr_buffers; /* only the first ones; 0: all */
	bool no_symbols; /* nobody asks for names of functions */
	bool fresh_names; /* only names of tasks that the kernel has at the round; else also those it had before */
	u64 interval_ns; /* what there is is read at least this often; 0: a tenth of a second */
	u64 idle_ns; /* a round at least this often; 0: not without data */
	size_t held_bytes; /* of pages, in memory, before readers wait; 0: some megabytes */
};

struct ftrace_live {
	struct ftrace_setup *s; /* borrowed; NULL: not open */
	struct source *source;
	struct cpuset cpus;

	/* Of live.c. */
	struct ftrace_live_opts opts;
	struct ftrace_meta meta;
	bool has_meta;
	struct strbuf names; /* of tasks, as of the last round */
	struct tracedat_out_cpu *out_cpus;
	struct tracedat_out_buffer *out;
	struct live_buffer *buffers;
	u32 nr_buffers;
};

/* 0 or negative errno with a diag (the session's). ftrace_live_close() in any case. */
int ftrace_live_open(struct ftrace_live *l, struct ftrace_setup *s,
		     const struct ftrace_live_opts *o) must_check;
int ftrace_live_start(struct ftrace_live *l) must_check;
/* Why reading ended before its time; 0: it did not. Nobody takes pages any more (-EPIPE): that is its end. */
int ftrace_live_error(const struct ftrace_live *l) must_check;
int ftrace_live_stop(struct ftrace_live *l) must_check;
/* Of all buffers. */
void ftrace_live_stats(const struct ftrace_live *l, struct live_ftrace_stats *sum);
void ftrace_live_close(struct ftrace_live *l);
