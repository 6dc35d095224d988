/*
 * The raw pages of a tracing buffer while it is being written to: a few threads read per_cpu/cpuN/trace_pipe_raw of all CPUs
 * and hand whole pages on. Reading takes them out of the kernel's buffer.
 *
 * A page is read when the kernel says that a good part of the buffer is full (buffer_percent), or every second what there is, so
 * that nearly all pages are full ones. While events come fast, we come by ourselves when an eighth should be full by the pace of before:
 * whoever waits for half a buffer on a busy machine comes too late. For the same reason readers are hurried (base/par.h).
 */
#pragma once

#include "base/cpuset.h"
#include "kern/tracefs.h"

struct live_ftrace;

struct live_ftrace_opts {
	const char *folder; /* "" or "instances/NAME/" */
	const struct cpuset *cpus; /* to read */
	unsigned threads; /* 0: one for each 8 CPUs, two to 8 */
	u64 interval_ns; /* what there is is read at least this often; 0: a second */
	bool poll; /* never sleep */
	bool snapshot; /* snapshot_raw instead of the buffer itself */
	int rt_priority; /* SCHED_FIFO of the readers; 0: no */
	/*
	 * Whole pages of one CPU, in order; called from the reader's thread, never twice at once for the same CPU. Negative errno
	 * ends the reading.
	 */
	int (*take)(void *ctx, u32 cpu, const void *pages, size_t bytes);
	/* From the same thread: a CPU is about to be read; all that was there then was taken. Both or none; NULL: nobody asks. */
	void (*begin)(void *ctx, u32 cpu);
	void (*caught_up)(void *ctx, u32 cpu);
	void *ctx;
};

/* 0 or negative errno with a diag. */
int live_ftrace_open(struct live_ftrace **ret, const struct tracing *t,
		     const struct live_ftrace_opts *o, struct diag *d) must_check;
u32 live_ftrace_page_size(const struct live_ftrace *l);
int live_ftrace_start(struct live_ftrace *l) must_check;
/* Reads what is left and ends the threads: call it when tracing is off. 0, or what take() or the kernel returned. */
int live_ftrace_stop(struct live_ftrace *l);
u64 live_ftrace_bytes(const struct live_ftrace *l); /* handed on so far */
int live_ftrace_error(const struct live_ftrace *l); /* a reader has given up; 0: none */
void live_ftrace_close(struct live_ftrace *l);

/* From per_cpu/cpuN/stats, added up. */
struct live_ftrace_stats {
	u64 entries; /* still in the buffer */
	u64 overrun; /* written over before they were read */
	u64 dropped; /* not written: no room (overwrite off) */
	u64 read;
};

void live_ftrace_read_stats(const struct tracing *t, const char *folder, const struct cpuset *cpus,
			    struct live_ftrace_stats *ret);
/* Bytes of a page of this buffer: buffer_subbuf_size_kb where the kernel has it. */
u32 live_ftrace_subbuf_bytes(const struct tracing *t, const char *folder);
