/*
 * What a trace.dat says beside its pages, read from the running kernel: page and event headers, formats, kernel symbols, printk
 * formats, names of tasks, clock and machine.
 */
#pragma once

#include "file/tracedat_write.h"
#include "kern/sysroot.h"
#include "kern/tracefs.h"

struct ftrace_meta {
	struct arena arena;
	struct tracedat_out out; /* version, compression, buffers and read() are the caller's */
	VEC(struct tracedat_format) formats;
	VEC(struct tracedat_option) options;
	VEC(char *) texts;
};

struct ftrace_meta_opts {
	const struct sysroot *root;
	const char *folder; /* of the top buffer: "" or "instances/NAME/" */
	const char *const *systems; /* whose formats; NULL: all */
	size_t nr_systems;
	bool no_kallsyms;
};

int ftrace_meta_read(struct ftrace_meta *m, const struct tracing *t,
		     const struct ftrace_meta_opts *o, struct diag *d) must_check;
void ftrace_meta_done(struct ftrace_meta *m);
/* The body is copied. */
int ftrace_meta_option(struct ftrace_meta *m, u16 id, const void *body, size_t len) must_check;

/*
 * Names of tasks: "PID NAME" lines of saved_cmdlines and, for all that live now and are not in it, of /proc. Appends; 0 or
 * negative errno.
 */
int ftrace_meta_names(const struct tracing *t, const struct sysroot *root,
		      struct strbuf *to) must_check;
/* The newer lines, then those of the older for tasks that the newer do not know. */
int ftrace_meta_merge_names(const char *newer, const char *older, struct strbuf *to) must_check;
