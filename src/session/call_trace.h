/*
 * System calls and events as lines, while they happen or of a recording: a sink that joins the beginning of each call with its end
 * (raw_syscalls:sys_enter and sys_exit), thread by thread, and prints what was asked for. Other events are printed as they are.
 *
 * It needs samples in order, so one worker. A line is written when a call ends. Where something else is to be printed first, a line says that it
 * has begun, and another one how it ended; that keeps times in order.
 */
#pragma once

#include "base/strbuf.h"
#include "kern/sysroot.h"
#include "model/names.h"
#include "model/source.h"
#include "model/syscall_stat.h"
#include "session/call_filter.h"
#include "session/syscall_table.h"

struct call_trace_opts {
	const struct syscall_set *calls; /* only these are shown; NULL: all */
	const struct call_filters *filters; /* what else calls must satisfy */
	bool syscalls; /* shown at all */
	bool fd_names; /* what descriptors refer to: all calls of each process that change them are seen */
	bool captured; /* calls come from programs of bpf/capture, not from raw_syscalls */
	bool faults; /* page faults are shown as such; needs names, live_opts.data_addr */
	bool json;
	bool as_perf;
	bool colour;
	bool tasks; /* names and threads on each line */
	bool full_time; /* as the clock has it; else from the first event on */
	bool failures; /* only calls that failed */
	bool zeros; /* arguments of 0, too */
	bool unfinished; /* at the end: calls that are still under way */
	u64 min_ns; /* only calls that took longer */
	u64 max_lines; /* then it has seen enough; 0: never */
	const u64 *max_of; /* [event]: that many of each; NULL or 0: all */
	bool lines; /* false: only the summary */
	bool summary, together;
	/* Of frames; NULL: none are wanted. */
	struct names *names;
	bool stacks; /* frames below each line */
	u64 max_stack;
};

struct call_trace {
	struct sink sink,
		printer; /* the second one where frames are wanted: prints a round that the first one has read */
	struct call_trace_opts o;
	u64 nr_lines, nr_events;
	u64 nr_dropped; /* calls whose strings were not kept because too much was */
	bool enough;
	struct syscall_stat stat; /* of .summary */
	struct call_trace_impl *impl;
};

/* Whether there are events of page faults: then .faults, and names, are of use. */
bool call_trace_has_faults(const struct source *src);
/* A process that is traced from now on: what its descriptors refer to. 0 or -ENOMEM. */
int call_trace_add_process(struct call_trace *c, const struct sysroot *root, s32 pid) must_check;
/* out may have a drain; it is flushed after every round. What the options point to is borrowed. 0 or -ENOMEM. */
int call_trace_init(struct call_trace *c, const struct call_trace_opts *o, struct source *src,
		    struct syscall_table *table, struct strbuf *out) must_check;
void call_trace_done(struct call_trace *c);
