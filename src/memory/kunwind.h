/*
 * Kernel stacks unwound by what the kernel's memory has for it: ORC tables of the kernel and of its modules on x86_64, frame pointers on
 * arm64. For dumps, where the kernel cannot be asked (memory/kstacks.h asks it). A task that ran when the dump was taken begins with its
 * CPU's registers.
 */
#pragma once

#include "memory/kstacks.h"

struct kunwind;

struct kframe {
	u64 ip;
	u64 place; /* of the return address on the stack; 0: it was in a register */
};

enum { KUNWIND_X86_REGS = 21 }; /* as struct kregs has them */

/* -ENOENT, -ENOTSUP with a diag: no tables, or of a form that is not known. */
int kunwind_open(struct kspace *k, struct kunwind **ret) must_check;
void kunwind_close(struct kunwind *u); /* NULL is allowed */

/* Registers of a task that runs, from the dump. false: there are none. */
bool kunwind_regs(const struct kunwind *u, const struct ktask *task, const struct vmcore_cpu **ret);
/* Innermost first. *nr 0: it was in its program, or nothing could be read. */
int kunwind_task(struct kunwind *u, const struct ktask *task, struct kframe frames[KSTACK_FRAMES],
		 u32 *nr) must_check;
