/*
 * A thread's registers and stack, as they were at one moment: it is stopped by ptrace, looked at, and let go at once, in less than a
 * millisecond on a machine that has a CPU for us. Nothing is done in the thread's name, and a signal that arrives meanwhile is passed on.
 */
#pragma once

#include "base/types.h"

#include <sys/types.h>

enum { THREAD_REGS_MAX = 64 };

struct thread_copy {
	u64 regs[THREAD_REGS_MAX]; /* in perf's order (values by ascending bit of mask) */
	u64 regs_mask;
	u64 pc, sp;
	u8 *stack; /* from sp on; the caller's, reused: free() it in the end */
	size_t stack_size, stack_room;
	u64 stopped_ns; /* how long it stood still */
};

/* Where the memory around sp ends, so that no more is asked for; 0: not known. */
typedef u64 (*thread_stack_end)(void *ctx, u64 sp);

/*
 * 0; -ESRCH: it has ended; -EPERM: not permitted, or somebody else traces it; -ETIMEDOUT: it does not stop, which is what sleeping
 * uninterruptibly means; -ENOTSUP: a machine whose registers we do not know.
 */
int thread_copy(s32 tid, size_t max_stack, thread_stack_end end, void *ctx,
		struct thread_copy *c) must_check;

/* Registers of a core's NT_PRSTATUS, or of PTRACE_GETREGSET, of a machine (EM_*) to perf's order. false: too short, or unknown. */
bool thread_regs_decode(u16 machine, const void *data, size_t size, struct thread_copy *c);
