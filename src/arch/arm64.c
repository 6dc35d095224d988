/* DWARF's numbers are those of the "DWARF for the Arm 64-bit Architecture" document; perf's are of asm/perf_regs.h. */
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

enum { X29 = 29, X30, SP, PC, NR };

static const u8 of_perf[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,  13,	14, 15, 16,
			      17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, X29, X30, SP, PC };

/*
 * Behind siginfo (128 bytes) struct ucontext: flags, link, stack, 128 bytes of signal mask; then, aligned to 16, the fault's address
 * and the registers.
 */
enum { GREGS = 128 + 176 + 8 };
#define SLOT(n) [n] = GREGS + 8 * (n)
static const s16 signal_slots[NR] = {
	SLOT(0),  SLOT(1),  SLOT(2),  SLOT(3),	SLOT(4),  SLOT(5),  SLOT(6),  SLOT(7),	SLOT(8),
	SLOT(9),  SLOT(10), SLOT(11), SLOT(12), SLOT(13), SLOT(14), SLOT(15), SLOT(16), SLOT(17),
	SLOT(18), SLOT(19), SLOT(20), SLOT(21), SLOT(22), SLOT(23), SLOT(24), SLOT(25), SLOT(26),
	SLOT(27), SLOT(28), SLOT(29), SLOT(30), SLOT(31), SLOT(32),
};

static u32 insn_at(const u8 *code)
{
	return (u32)code[0] | (u32)code[1] << 8 | (u32)code[2] << 16 | (u32)code[3] << 24;
}

/* bl; blr; blraa and its kin, which check a signature first */
static bool after_call(const u8 *end, size_t nr)
{
	if (nr < 4)
		return false;
	u32 insn = insn_at(end - 4);
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

/* mov x8, #139; svc #0 */
static bool is_sigreturn(const u8 *code, size_t nr)
{
	return nr >= 8 && insn_at(code) == 0xd2801168 && insn_at(code + 4) == 0xd4000001;
}

static const char *const perf_names[] = { "x0",	 "x1",	"x2",  "x3",  "x4",  "x5",  "x6",
					  "x7",	 "x8",	"x9",  "x10", "x11", "x12", "x13",
					  "x14", "x15", "x16", "x17", "x18", "x19", "x20",
					  "x21", "x22", "x23", "x24", "x25", "x26", "x27",
					  "x28", "x29", "lr",  "sp",  "pc" };

const struct arch arch_arm64 = {
	.name = "aarch64",
	.elf_machine = EM_AARCH64,
	.nr_regs = NR,
	.pc = PC,
	.sp = SP,
	.fp = X29,
	.ra = X30,
	.nr_perf = ARRAY_SIZE(of_perf),
	.of_perf = of_perf,
	.perf_names = perf_names,
	.nr_perf_names = ARRAY_SIZE(perf_names),
	.perf_mask = 0x1ffffffff,
	.perf_all = 0x1ffffffff,
	.addr_mask = (1ull << 48) - 1,
	.vdso_returns = true,
	.signal_slots = signal_slots,
	.after_call = after_call,
	.is_sigreturn = is_sigreturn,
};
