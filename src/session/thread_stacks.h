/*
 * Stacks of all threads of a process, or of a core: where each one is, in the kernel and in its program.
 *
 *	kernel   /proc/PID/task/TID/stack, for threads that sleep, and a sample of those that run, with their program's registers and stack of that
 *	         moment (kern/thread_sample); needs root
 *	user     registers and a copy of the stack, taken while the thread is stopped (kern/thread_stop), unwound afterwards
 *	core     the same from the notes and segments of the file
 */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "session/symbols.h"

struct thread_stacks_opts {
	s32 pid; /* 0: a core */
	const char *core;
	u32 max_frames;
	bool no_lines; /* files and lines are not wanted */
};

struct thread_frame {
	u64 addr; /* as gdb shows it: of callers where they go on */
	const char *name; /* NULL: no symbol */
	const char *module; /* "libc.so.6"; NULL: not known */
	u64 offset; /* from the beginning of the function */
	const char *file; /* NULL: not known */
	u32 line;
	bool kernel, inlined;
	bool unnamed; /* of thread_stacks.c: a kernel address whose name is still to be found */
};

struct thread_stack {
	s32 tid;
	char state; /* '?' of a core */
	char comm[64];
	u32 first, nr; /* of frames, innermost first: kernel, then user */
	const char *why; /* the user part is missing or ends early; NULL: it is whole */
	u64 stopped_ns; /* 0: it was not stopped */
	bool kernel_denied;
};

struct thread_stacks {
	s32 pid;
	VEC(struct thread_stack) threads;
	VEC(struct thread_frame) frames;

	/* Of thread_stacks.c. */
	struct arena arena;
	struct catalog catalog;
	struct frame_table table;
	struct names *names;
	struct symbol_opts symbol_opts;
};

/* -ESRCH, -EPERM, -ENOEXEC ... with a diag. To be closed in any case. */
int thread_stacks_open(struct thread_stacks *s, const struct thread_stacks_opts *o,
		       struct symbols *symbols, struct diag *d) must_check;
void thread_stacks_close(struct thread_stacks *s);

void thread_stacks_text(const struct thread_stacks *s, struct strbuf *to);
int thread_stacks_json(const struct thread_stacks *s, struct strbuf *to) must_check;
