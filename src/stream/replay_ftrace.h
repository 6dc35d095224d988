/*
 * A trace.dat as a source. Blocks are windows of time: inside one, the events of all CPUs and buffers are merged; windows
 * follow each other, so workers format them in parallel and a writer puts them in a row.
 *
 *	cpu 0   │page │page │page │page │          T1: time of a page some way ahead on the CPU that gets there first
 *	cpu 1   │page            │page  │          A page that T1 cuts is walked by both windows; each takes its events.
 *	cpu 2   │  (nothing)                       Events at one time: lowest buffer first, then lowest CPU.
 *	        T0               T1
 *
 * Formats are parsed, and print programs compiled, when the first event of that kind comes.
 */
#pragma once

#include "base/cpuset.h"
#include "file/tracedat_read.h"
#include "model/source.h"
#include "stream/ftrace_env.h"

struct replay_ftrace_opts {
	enum print_style style;
	const struct cpuset *cpus; /* only these; NULL: all */
	u32 window_pages; /* pages of a CPU that a window looks ahead; 0: chosen by the number of CPUs */
};

/* The source borrows opts->cpus only during the call. */
int replay_ftrace_open(const char *path, const struct replay_ftrace_opts *opts, struct source **ret,
		       struct diag *d) must_check;
/* The same over memory, borrowed. */
int replay_ftrace_open_memory(const char *name, const void *data, size_t size,
			      const struct replay_ftrace_opts *opts, struct source **ret,
			      struct diag *d) must_check;

const struct tracedat *replay_ftrace_file(const struct source *s);
struct ftrace_env *replay_ftrace_env(struct source *s);
/* The text of a latency tracer's file, which has no events; data is NULL for others. Before or after the run. */
struct tracedat_text replay_ftrace_latency_text(struct source *s);
/* The schema of an event id, parsed on the first call; NULL: the file has none. Thread-safe. */
const struct schema *replay_ftrace_schema(struct source *s, u32 id);
