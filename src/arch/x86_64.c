/* DWARF's numbers are those of the System V ABI, x86-64 supplement, figure 3.36; perf's are of asm/perf_regs.h. */
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP, NR };

#define NO ARCH_NO_REG
static const u8 of_perf[] = { RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, RIP, NO,	NO,  NO,
			      NO,  NO,	NO,  NO,  R8,  R9,  R10, R11, R12, R13, R14, R15 };

/* From 32 on, two words each: the vector registers. */
static const char
	*const
		perf_names[] = {
			"AX",	 "BX",	  "CX",	   "DX",	  "SI",	   "DI",    "BP",
			"SP",	 "IP",	  "FLAGS", "CS",	  "SS",	   "DS",    "ES",
			"FS",	 "GS",	  "R8",	   "R9",	  "R10",   "R11",   "R12",
			"R13",	 "R14",	  "R15",   [32] = "XMM0", "XMM0",  "XMM1",  "XMM1",
			"XMM2",	 "XMM2",  "XMM3",  "XMM3",	  "XMM4",  "XMM4",  "XMM5",
			"XMM5",	 "XMM6",  "XMM6",  "XMM7",	  "XMM7",  "XMM8",  "XMM8",
			"XMM9",	 "XMM9",  "XMM10", "XMM10",	  "XMM11", "XMM11", "XMM12",
			"XMM12", "XMM13", "XMM13", "XMM14",	  "XMM14", "XMM15", "XMM15",
		};

/* struct ucontext: flags, link, stack, and then the registers from r8 on. */
enum { GREGS = 40 };
static const s16 signal_slots[NR] = {
	[R8] = GREGS,	     [R9] = GREGS + 8,	  [R10] = GREGS + 16,  [R11] = GREGS + 24,
	[R12] = GREGS + 32,  [R13] = GREGS + 40,  [R14] = GREGS + 48,  [R15] = GREGS + 56,
	[RDI] = GREGS + 64,  [RSI] = GREGS + 72,  [RBP] = GREGS + 80,  [RBX] = GREGS + 88,
	[RDX] = GREGS + 96,  [RAX] = GREGS + 104, [RCX] = GREGS + 112, [RSP] = GREGS + 120,
	[RIP] = GREGS + 128,
};

/* call *mem and call *reg: ff /2, and how long its operand makes it. */
static size_t indirect_len(const u8 *insn, size_t nr)
{
	u8 modrm = insn[1], mod = modrm >> 6, rm = modrm & 7;
	if (insn[0] != 0xff || (modrm >> 3 & 7) != 2)
		return 0;
	if (mod == 3)
		return 2;
	size_t len = 2 + (rm == 4);
	if (mod == 1)
		return len + 1;
	if (mod == 2)
		return len + 4;
	bool disp = rm == 5 || (rm == 4 && nr > 2 && (insn[2] & 7) == 5);
	return len + (disp ? 4 : 0);
}

static bool after_call(const u8 *end, size_t nr)
{
	if (nr >= 5 && end[-5] == 0xe8)
		return true;
	for (size_t len = 2; len <= 7 && len <= nr; len++)
		if (indirect_len(end - len, len) == len)
			return true;
	return false;
}

/* mov $15,%rax; syscall */
static bool is_sigreturn(const u8 *code, size_t nr)
{
	static const u8 insns[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	return nr >= sizeof(insns) && !memcmp(code, insns, sizeof(insns));
}

const struct arch arch_x86_64 = {
	.name = "x86_64",
	.elf_machine = EM_X86_64,
	.nr_regs = NR,
	.pc = RIP,
	.sp = RSP,
	.fp = RBP,
	.ra = RIP,
	.nr_perf = ARRAY_SIZE(of_perf),
	.of_perf = of_perf,
	.perf_names = perf_names,
	.nr_perf_names = ARRAY_SIZE(perf_names),
	.perf_mask = 0xff01ff,
	.perf_all =
		0xff0fff, /* segments of data have no values to tell, vectors need precise events */
	.addr_mask = UINT64_MAX,
	.signal_slots = signal_slots,
	.after_call = after_call,
	.is_sigreturn = is_sigreturn,
};
