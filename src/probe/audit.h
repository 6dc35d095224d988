/*
 * Everything that instruments the running kernel right now, as far as it tells: each source with what it proves and what it cannot see.
 *
 *	kprobes     /sys/kernel/debug/kprobes/list: every kprobe in the kernel, whoever made it, with its kind
 *	events      dynamic_events: those that were defined through tracefs, where they are on, their hits
 *	functions   enabled_functions: functions whose entry calls ftrace, and for whom; touched_functions: that ever did
 *	BPF         programs and links by bpf(2), with the processes that hold them
 *	perf        descriptors of perf events in /proc
 *	livepatch   /sys/kernel/livepatch
 */
#pragma once

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kern/tracefs.h"

struct audit_row {
	const char *what; /* "vfs_read+0x0", "probe:vfs_read", "program 12 trace_open" */
	const char *kind; /* "kprobe", "kretprobe", "uprobe", "tracing" ... */
	const char *state; /* "[FTRACE][OPTIMIZED]", "on in instance x"; "" for nothing to say */
	const char *owner; /* "sonde 123 (record)"; NULL: not known */
	const char *since; /* NULL: not known */
};

struct audit_section {
	const char *name;
	const char *source; /* the file or system call */
	const char *proves, *blind; /* one sentence each */
	const char *missing; /* why it could not be read; NULL: it was */
	VEC(struct audit_row) rows;
	u64 nr_more; /* rows that were left out */
};

enum { AUDIT_SECTIONS = 7 };

struct audit {
	struct arena arena;
	struct audit_section sections[AUDIT_SECTIONS];
	u32 nr;
	s8 optimization; /* debug.kprobes-optimization; -1: not known */
	s8 enabled; /* all kprobes; -1: not known */
};

/* root: "" or a test's folder. -ENOMEM only. */
int audit_look(struct audit *a, const struct tracing *t, const char *root) must_check;
void audit_done(struct audit *a);
