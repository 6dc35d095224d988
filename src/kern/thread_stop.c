#include "kern/thread_stop.h"

#include "base/clock.h"
#include "kern/procfs.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum { PATIENCE_NS = 200000000, STEP_NS = 50000, SPINS = 200 };

/* [perf's number] -> place in the kernel's struct user_regs_struct; perf's numbers as in <asm/perf_regs.h>. */
static const u8 x86_places[] = {
	10, 5, 11, 12, 13, 14, 4, 19, 16, 18, 17, 20, 23, 24, 25, 26, 9, 8, 7, 6, 3, 2, 1, 0,
};
enum { X86_PERF_SP = 7, X86_PERF_PC = 8, X86_NR_REGS = 27 };
enum { ARM64_NR_REGS = 33, ARM64_SP = 31, ARM64_PC = 32 }; /* perf's order is the kernel's */

bool thread_regs_decode(u16 machine, const void *data, size_t size, struct thread_copy *c)
{
	u64 raw[34] = { 0 };
	if (machine == EM_X86_64 && size >= X86_NR_REGS * sizeof(u64)) {
		memcpy(raw, data, X86_NR_REGS * sizeof(u64));
		for (unsigned i = 0; i < ARRAY_SIZE(x86_places); i++)
			c->regs[i] = raw[x86_places[i]];
		c->regs_mask = (1ull << ARRAY_SIZE(x86_places)) - 1;
		c->sp = c->regs[X86_PERF_SP];
		c->pc = c->regs[X86_PERF_PC];
		return true;
	}
	if (machine == EM_AARCH64 && size >= ARM64_NR_REGS * sizeof(u64)) {
		memcpy(c->regs, data, ARM64_NR_REGS * sizeof(u64));
		c->regs_mask = (1ull << ARM64_NR_REGS) - 1;
		c->sp = c->regs[ARM64_SP];
		c->pc = c->regs[ARM64_PC];
		return true;
	}
	return false;
}

static u16 our_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_NONE;
#endif
}

/* Until it stops: the status of waitpid() in *status. */
static int wait_stopped(s32 tid, int *status)
{
	u64 end = clock_monotonic_ns() + PATIENCE_NS;
	for (unsigned i = 0;; i++) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);
		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (clock_monotonic_ns() > end)
			return -ETIMEDOUT;
		if (i >= SPINS)
			(void)nanosleep(&(struct timespec){ .tv_nsec = STEP_NS }, NULL);
	}
}

static int copy_stopped(s32 tid, size_t max_stack, thread_stack_end end, void *ctx,
			struct thread_copy *c)
{
	u8 raw[512];
	struct iovec to = { .iov_base = raw, .iov_len = sizeof(raw) };
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &to))
		return -errno;
	if (!thread_regs_decode(our_machine(), raw, to.iov_len, c))
		return -ENOTSUP; /* also a 32-bit program */
	u64 until = end(ctx, c->sp);
	if (until <= c->sp)
		return 0; /* no stack, no callers */
	size_t size = (size_t)min(until - c->sp, (u64)min(max_stack, c->stack_room));
	if (!procfs_read_memory(tid, c->sp, c->stack, size))
		c->stack_size = size;
	return 0;
}

int thread_copy(s32 tid, size_t max_stack, thread_stack_end end, void *ctx, struct thread_copy *c)
{
	int status = 0;
	c->stack_size = 0;
	c->stopped_ns = 0;
	if (c->stack_room < max_stack) {
		u8 *room = realloc(c->stack, max_stack);
		if (!room)
			return -ENOMEM;
		/* Page faults of ours would be time that the thread stands still. */
		memset(room, 0, max_stack);
		c->stack = room;
		c->stack_room = max_stack;
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return -errno;
	u64 began = clock_monotonic_ns();
	int err = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ? -errno : wait_stopped(tid, &status);
	if (err)
		return err; /* it is let go when we end */
	err = copy_stopped(tid, max_stack, end, ctx, c);
	/* Anything but our own stop is a signal on its way to the thread. */
	bool ours = status >> 16 == PTRACE_EVENT_STOP;
	(void)ptrace(PTRACE_DETACH, tid, NULL, ours ? 0L : (long)WSTOPSIG(status));
	c->stopped_ns = clock_monotonic_ns() - began;
	return err;
}
