/*
 * Stacks from registers and a copy of the stack, by tables of call frame information.
 *
 * The first address is looked up as it is, those of callers one byte before (a call may be the last instruction of its function),
 * unless a signal interrupted there. Code without a table is followed to its return where it is short and straight (a run time's
 * trampolines), or passed by its frame pointer, when that leads to a place that follows a call. Where neither works the stack ends and is marked: no frame is ever made up.
 */
#pragma once

#include "image/cfi_expr.h"
#include "sym/unwind_tables.h"

/* What lies at an address of the thread's process: the caller's answer. */
struct unwind_place {
	u32 image;
	const struct image_info *info;
	u64 offset; /* in the image, as frames have it */
	u64 from, until; /* the answer holds for times of this range */
};

struct unwind_thread {
	const struct cfi_regs *regs;
	const u8 *stack; /* memory from stack_at on */
	u64 stack_at;
	size_t stack_size;
	u64 space; /* whose addresses these are, and when: the key of the cache */
	u64 time;
	/* false: nothing that can be executed is mapped there. */
	bool (*find)(void *ctx, u64 addr, struct unwind_place *ret);
	/*
	 * Code that no file holds, which was made at run time: how many bytes from addr on are known. again: not those that were
	 * read before. NULL: nobody can look.
	 */
	size_t (*code)(void *ctx, u64 addr, u8 *to, size_t nr, bool again);
	void *ctx;
};

enum unwind_end {
	UNWIND_WHOLE, /* up to where the thread began */
	UNWIND_SHORT_COPY, /* the stack goes on after the copy */
	UNWIND_NO_TABLE, /* code without a table, and no frame pointer either */
	UNWIND_BAD_FP, /* code without a table, whose frame pointer does not lead to a call */
	UNWIND_LOST, /* an address where no code is, or a stack that does not grow: damaged */
	UNWIND_TOO_DEEP, /* more frames than asked for */
	UNWIND_NO_MAPS, /* nothing is known of what the process has mapped: for those who do not even begin */
	UNWIND_NR_ENDS,
};
const char *unwind_end_text(enum unwind_end e);

/* One a thread of ours: what it looked up lately. */
struct unwinder;
struct unwinder *unwinder_new(struct unwind_tables *t);
void unwinder_free(struct unwinder *u);

/*
 * Addresses of the thread's frames, innermost first, at most max; their number. callers_less: those of callers lie one byte before
 * the return address, as perf shows them: a function that ends in a call (of what never returns) is then still the one that is named.
 * Else they are return addresses, as the kernel records them.
 */
u32 unwind(struct unwinder *u, const struct unwind_thread *th, bool callers_less, u64 *pcs, u32 max,
	   enum unwind_end *end);

/* From perf's registers (values by ascending bit of mask, maybe unaligned) to ours. false: pc or sp is missing. */
bool unwind_regs(const struct arch *a, u64 mask, const void *values, struct cfi_regs *ret);
