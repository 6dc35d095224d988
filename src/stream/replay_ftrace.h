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

/* Several files become one: their times are turned into nanoseconds and merged, each keeps its names and formats. */
struct replay_ftrace_input {
	const char *path; /* or a name for messages, with data */
	const void *data; /* NULL: the file is mapped */
	size_t size;
	s64 ts_offset; /* added to the times as recorded */
	u64 ts_hz; /* the clock's ticks a second; 0: what the file says */
};

struct replay_ftrace_opts {
	enum print_style style;
	const struct cpuset *cpus; /* only these; NULL: all */
	u32 window_pages; /* pages of a CPU that a window looks ahead; 0: chosen by the number of CPUs */
	bool no_date; /* times stay the clock's, also where the file says what they are on the wall */
	bool raw_times; /* as recorded: no offset, no scale */
	/*
	 * For sinks of samples: a look over all pages first tells what is in the file, the catalogue lists only events that occur, by
	 * "system:name", and stacks that were recorded with an event become its call chain instead of events of their own.
	 */
	bool samples;
	/* With samples: a call of the function graph tracer becomes one sample where it ends, with its callers as the chain, its own
	 * time as the period and its whole time as the weight; a function's event is a place, with its caller. */
	bool calls;
	/* Events that are printed by the kernel's print fmt alone, whatever the style; NULL: none. */
	bool (*plain)(void *ctx, const char *system, const char *name);
	void *ctx;
};

/* The source borrows opts->cpus only during the call. */
int replay_ftrace_open(const char *path, const struct replay_ftrace_opts *opts, struct source **ret,
		       struct diag *d) must_check;
int replay_ftrace_open_files(const struct replay_ftrace_input *in, u32 nr,
			     const struct replay_ftrace_opts *opts, struct source **ret,
			     struct diag *d) must_check;

/*
 * Files, and what is numbered through over them: buffers (sample.buffer; the top one of a file first) and events (of the catalogue).
 */
u32 replay_ftrace_nr_files(const struct source *s);
const struct tracedat *replay_ftrace_file(const struct source *s, u32 file);
struct ftrace_env *replay_ftrace_env(struct source *s, u32 file);
u32 replay_ftrace_nr_buffers(const struct source *s);
/* The file of a buffer, and its number there. */
u32 replay_ftrace_file_of(const struct source *s, u32 buffer, u32 *ret_buffer);
u32 replay_ftrace_nr_events(const struct source *s);
const struct tracedat_format *replay_ftrace_format(const struct source *s, u32 event);
/* With samples, after prepare(): whether events have call chains. */
bool replay_ftrace_has_chains(const struct source *s);
/* Whether a source is one of these. */
bool replay_ftrace_is(const struct source *s);
/* A text part of a file; data is NULL when it has none. Not while it runs. */
struct tracedat_text replay_ftrace_text(struct source *s, u32 file, enum tracedat_part part);
/* The text of a latency tracer's file, which has no events; data is NULL for others. Before or after the run. */
struct tracedat_text replay_ftrace_latency_text(struct source *s, u32 file);
/* The schema of an event, parsed on the first call; NULL: its format cannot be read. Thread-safe. */
const struct schema *replay_ftrace_schema(struct source *s, u32 event);
/* The event before a sample on its CPU, with the sample's time; false: unknown. While the sample is there. */
bool replay_ftrace_before(struct source *src, const struct sample *s, struct sample *ret);

/* The first and the last event of each CPU that has any, in the order of buffers and CPUs. Not while it runs. */
struct replay_ftrace_ends {
	u32 buffer;
	u32 cpu;
	u64 first_ns, last_ns;
};
int replay_ftrace_ends(struct source *s, int (*fn)(void *ctx, const struct replay_ftrace_ends *e),
		       void *ctx) must_check;
/* From now on times count from here: every later event's time is less by so much. Before the run. */
void replay_ftrace_align(struct source *s, u64 zero_ns);
