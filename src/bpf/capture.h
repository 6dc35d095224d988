/*
 * System calls with what their arguments point to, from programs in the kernel: one at the entry of each call, one at its end. What they copy
 * goes into perf's own rings (the event bpf-output of each CPU), so that it is in the order of time with all other events, and is lost and
 * counted like them.
 *
 *	enter │ head │ six arguments │ how long each piece is │ pieces, one after the other
 *	exit  │ head │ result        │ how long each piece is │ pieces
 *
 * What a call's pieces are is a row of a table (model/syscall.h). A piece that could not be read at the entry, because its page was not there, is
 * read again at the end.
 *
 * Threads are followed by number until they are first seen, and from then on by their task_struct, together with the children that they create.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "kern/sysroot.h"
#include "model/syscall.h"

enum {
	CAPTURE_CALLS = 1024, /* numbers of calls */
	CAPTURE_TASKS = 65536,
	CAPTURE_PIECE_MAX = 4096,
	CAPTURE_STRINGS = SYSCALL_STRINGS,
};

struct capture_opts {
	bool everybody; /* but ourselves; else those of capture_add_task() */
	bool children; /* of these */
	s64 execs[2]; /* numbers of execve and execveat, which are seen also before the exec that a task begins with; -1: none */
};

struct capture {
	struct capture_opts o;
	int out, table, tasks, waiting, scratch, count;
	int progs[5], links[5];
};

/*
 * Makes maps and loads programs; nothing is watched so far. Negative errno: the reason is a note in the diag, for callers that continue without. Needs 5.8 (CAP_BPF) and
 * an architecture whose registers are known here.
 */
int capture_open(struct capture *c, const struct sysroot *root, const struct capture_opts *o,
		 struct diag *d) must_check;
void capture_close(struct capture *c);
/* A call that is seen, with its pieces. */
int capture_add_call(struct capture *c, u64 nr, const struct syscall *call) must_check;
/* For struct live_output: a thread, by its number in our namespace; an event bpf-output. */
int capture_add_task(struct capture *c, s32 tid, bool until_exec) must_check;
int capture_add_cpu(struct capture *c, u32 cpu, int fd) must_check;
/* Everything was added: from here on it runs. */
int capture_start(struct capture *c, struct diag *d) must_check;
/* Tasks that were not followed because there were too many. */
u64 capture_missed(const struct capture *c);

enum capture_kind { CAPTURE_ENTER = 1, CAPTURE_EXIT = 2 };

/* What a record says, as it lies in the sample. */
struct captured {
	enum capture_kind kind;
	bool before_exec; /* an exec that may fail: the task is not seen before one succeeds */
	u32 nr;
	u64 args[SYSCALL_ARGS];
	s64 ret;
	s16 len[SYSCALL_PIECES]; /* 0: was not to be read; negative errno: could not be */
	const u8 *data[SYSCALL_PIECES];
};
/* false: this is none of our records. */
bool capture_decode(const u8 *raw, size_t size, struct captured *ret);
