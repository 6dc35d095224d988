/*
 * Events as Chrome's trace events (JSON), which Perfetto and chrome://tracing show. Every event is an instant of its task with its
 * fields; what they say together becomes slices and counters, on tracks of their own:
 *
 *	CPUs         who ran on each CPU (sched_switch), wake-ups as arrows from the waker to where the task runs next
 *	Running      the same by task: when it ran, and on which CPU
 *	Interrupts   handlers and softirqs of each CPU, inside each other
 *	Functions    calls of the function graph tracer by task (instead of instants)
 *	Markers      what programs write to trace_marker: text as instants; B|pid|name and E|pid as slices, C|pid|name|value as counters
 *	Lost events  when a CPU's buffer lost events: what goes on across is not known, and nothing is drawn across
 *	its task     system calls
 *
 * A slice that had not ended is drawn to the end of the recording if it is a task running or a system call.
 */
#pragma once

#include "base/strbuf.h"
#include "model/source.h"

struct chrome_trace;

struct chrome_opts {
	const struct catalog *catalog; /* the source's, whole once it is prepared */
	/* The name of a kernel function; NULL: not known. May be NULL. */
	const char *(*symbol)(void *ctx, u32 buffer, u64 addr);
	void *ctx;
};

/* to may have a drain. NULL: no memory. */
struct chrome_trace *chrome_trace_new(const struct chrome_opts *o, struct strbuf *to);
/* To be run with one worker: it needs all events in order. */
struct sink *chrome_trace_sink(struct chrome_trace *t);
/* The end of the file. nr: events written. */
int chrome_trace_finish(struct chrome_trace *t, u64 *nr) must_check;
void chrome_trace_free(struct chrome_trace *t);
