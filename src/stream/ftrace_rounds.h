/*
 * Pages of a tracing buffer while it is written to, as a source with rounds (model/source.h). Whoever reads them (stream/live_ftrace) puts
 * them in, and says of each CPU when its reading began and when there was nothing left:
 *
 *	cpu 0   page page ·        page ·          ·: caught up
 *	cpu 1   page ·      page ·                 What is older than the newest event known when a reading began was in the buffer then,
 *	cpu 2   ·           ·      page            so it is complete when that reading, and for safety the next one, has caught up.
 *
 * A CPU that writes as fast as it is read is complete up to what was read of it. The watermark is what all CPUs are complete up to. Pages wait for it; then they are decoded as those of a recording are
 * (stream/replay_ftrace). A page that the watermark cuts stays for the next round. An event that comes late all the same, because an
 * interrupt held up its writer, is in the next round. All functions of replay_ftrace.h work on it, with one file.
 */
#pragma once

#include "file/tracedat_write.h"
#include "stream/replay_ftrace.h"

struct ftrace_rounds_opts {
	/* What a file would say, with its buffers (and their CPUs); borrowed until the source is closed. */
	const struct tracedat_out *head;
	enum print_style style;
	bool samples, calls; /* as in replay_ftrace_opts */
	u64 pause_ns; /* at least this long from one round to the next, unless much is held; 0: a twentieth of a second */
	u64 idle_ns; /* a round comes at least this often, if need be an empty one; 0: not without data */
	size_t held_bytes; /* who puts in more than this, while a round is processed, waits; 0: some megabytes */
	/*
	 * Before a round that has pages: "PID NAME" lines of tasks, from now on instead of those before. Appends nothing: they stay. last: it
	 * is the last time. NULL: those of the head. 0 or negative errno.
	 */
	int (*names)(void *ctx, bool last, struct strbuf *to);
	void *ctx;
};

/* 0 or negative errno. */
int ftrace_rounds_open(const struct ftrace_rounds_opts *o, struct source **ret) must_check;

/*
 * From the thread that reads a CPU, cpu being its number in the machine. -EPIPE: nobody takes them any more.
 */
void ftrace_rounds_begin(struct source *s, u32 buffer, u32 cpu);
int ftrace_rounds_put(struct source *s, u32 buffer, u32 cpu, const void *pages,
		      size_t bytes) must_check;
void ftrace_rounds_caught_up(struct source *s, u32 buffer, u32 cpu);
/* That was all: what is left becomes the last round. */
void ftrace_rounds_end(struct source *s);
/* By who runs the source: nothing more will be taken, whoever puts it in. */
void ftrace_rounds_refuse(struct source *s);

/* Bytes of pages that wait or are processed: what has to stay small. */
size_t ftrace_rounds_held(struct source *s);
