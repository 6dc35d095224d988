/* The expressions of call frame information: a small stack machine that reads registers and memory (DWARF 5, section 2.5). */
#pragma once

#include "arch/arch.h"

/* A thread's registers, by arch's numbers. */
struct cfi_regs {
	u64 value[ARCH_REGS_MAX];
	u64 known; /* a bit for each */
};

struct cfi_memory {
	bool (*read)(const void *ctx, u64 addr, unsigned size, u64 *ret);
	const void *ctx;
};

/* What the expression leaves on top; `first` is pushed before it, when `has_first`. -EBADMSG, or -EFAULT: memory that is not there. */
int cfi_eval(const u8 *expr, size_t len, const struct cfi_regs *regs, const struct cfi_memory *mem,
	     bool has_first, u64 first, u64 *ret) must_check;
