/*
 * Kernel stacks of tasks that sleep, as the kernel's own unwinder finds them: a BPF iterator over all tasks that calls
 * bpf_get_task_stack() for each. Needs neither ORC tables nor frame pointers here, and works alike on all architectures. A task that runs
 * has no stack that could be read: it changes meanwhile. The iterator sees the tasks of our PID namespace only.
 */
#pragma once

#include "memory/ktasks.h"

enum { KSTACK_FRAMES = 127 };

struct kstacks;

/* One pass over all tasks. Negative errno with a diag. */
int kstacks_open(struct kspace *k, struct kstacks **ret) must_check;
void kstacks_close(struct kstacks *s); /* NULL is allowed */
/* Return addresses, innermost first. false: the task was not seen. *nr may be 0: it ran. */
bool kstacks_find(const struct kstacks *s, u64 task, const u64 **ips, u32 *nr);

/* Registers of the program that entered the kernel, in the order of x86's struct pt_regs. */
struct kregs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};
/* From the top of the task's stack. false: there are none (a kernel thread, another architecture). */
bool kstack_user_regs(struct kspace *k, const struct ktask *task, struct kregs *ret);

/*
 * Where each return address is on the task's stack: from its saved stack pointer upwards, one after the other. 0: not found, since the
 * task has run again.
 */
int kstack_places(struct kspace *k, const struct ktask *task, const u64 *ips, u32 nr,
		  u64 *places) must_check;
