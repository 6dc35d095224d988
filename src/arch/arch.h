/*
 * What differs between machines, for code that looks at a stopped or recorded thread: how perf and DWARF number registers, what
 * a call and a signal's return look like. Every machine is compiled in everywhere, because recordings travel.
 *
 * A thread's registers are kept under DWARF's numbers, with one more for the program counter where DWARF has none.
 */
#pragma once

#include "base/types.h"

enum { ARCH_REGS_MAX = 33, ARCH_NO_REG = 0xff };

/*
 * How code that runs straight on to its return leaves its frame: where the return address will be by then, and where registers of
 * the caller are, as offsets from what one register holds now.
 */
enum { ARCH_LEAVE_SAVED = 8 };
struct arch_leave {
	u8 base; /* sp or fp */
	u8 nr_saved;
	s32 ra_at;
	struct {
		u8 reg;
		s32 at;
	} saved[ARCH_LEAVE_SAVED];
};

struct arch {
	const char *name; /* as uname -m says */
	u16 elf_machine; /* EM_* */
	u8 nr_regs; /* registers that are followed; pc is the last */
	u8 pc, sp, fp;
	u8 ra; /* the column of CFI that holds the return address */
	u8 nr_perf;
	const u8 *of_perf; /* [perf's number] -> ours, or ARCH_NO_REG */
	const char *const *perf_names; /* [perf's number]: as perf writes them */
	u8 nr_perf_names;
	u64 perf_mask; /* of sample_regs_user, for unwinding */
	u64 perf_all; /* what every event can sample: of perf_names */
	u64 addr_mask; /* bits of a user address; others may hold a signature (pointer authentication) */
	bool vdso_returns; /* whoever returns into the vDSO returns from a signal handler */
	const s16 *signal_slots; /* [our number] -> offset from sp in the frame of a signal handler, at its return; -1: not there */
	/* Does the code that ends where a function returns to end with a call? nr: how many bytes before it are there. */
	bool (*after_call)(const u8 *end, size_t nr);
	/* Follows code to its return. false: it jumps, or does what is not understood. NULL: frame pointers are always kept here. */
	bool (*leave)(const u8 *code, size_t nr, struct arch_leave *ret);
	/* Is this the code that ends signal handlers? */
	bool (*is_sigreturn)(const u8 *code, size_t nr);
};

extern const struct arch arch_x86_64, arch_arm64;

/* NULL: a machine that we do not know. */
const struct arch *arch_of_name(const char *name);
const struct arch *arch_of_elf(u16 machine);
/* The machine we run on; NULL as above. */
const struct arch *arch_host(void);
