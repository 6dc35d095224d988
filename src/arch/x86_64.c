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

/*
 * Trampolines that a run time makes (those of Python's -X perf: sub $8,%rsp; call *%rcx; add $8,%rsp; ret) have no tables and no frame
 * pointer. They are so short that running them step by step is enough: each instruction moves the stack pointer by a known number.
 */
struct leaving {
	struct arch_leave out;
	s32 sp; /* from out.base */
	s32 fp; /* the same, once it was set from sp */
	bool has_fp;
	u8 pushed[ARCH_LEAVE_SAVED]; /* on the way */
	s32 pushed_at[ARCH_LEAVE_SAVED];
	u8 nr_pushed;
};

static s32 imm32(const u8 *at)
{
	s32 v;
	memcpy(&v, at, sizeof(v));
	return v;
}

static bool leave_push(struct leaving *l, u8 reg)
{
	if (l->nr_pushed == ARCH_LEAVE_SAVED)
		return false;
	l->sp -= 8;
	l->pushed_at[l->nr_pushed] = l->sp;
	l->pushed[l->nr_pushed++] = reg;
	return true;
}

/* What was pushed on the way comes back; what was pushed before is the caller's. */
static bool leave_pop(struct leaving *l, u8 reg)
{
	if (reg == RSP)
		return false;
	if (l->nr_pushed) {
		l->nr_pushed--;
		if (l->pushed[l->nr_pushed] != reg || l->pushed_at[l->nr_pushed] != l->sp)
			return false;
	} else {
		if (l->out.nr_saved == ARCH_LEAVE_SAVED)
			return false;
		l->out.saved[l->out.nr_saved].reg = reg;
		l->out.saved[l->out.nr_saved++].at = l->sp;
	}
	l->sp += 8;
	return true;
}

/* mov %rbp,%rsp */
static bool leave_to_fp(struct leaving *l)
{
	if (l->has_fp) {
		l->sp = l->fp;
		return true;
	}
	if (l->out.nr_saved || l->nr_pushed || l->out.base != RSP)
		return false;
	l->out.base = RBP;
	l->sp = 0;
	return true;
}

static bool leave_add(struct leaving *l, s32 by)
{
	if (by < -(1 << 20) || by > 1 << 20)
		return false;
	l->sp += by;
	return !l->nr_pushed || l->sp <= l->pushed_at[l->nr_pushed - 1];
}

/* The length of an instruction that is understood, and done; 0: of another. */
static size_t leave_one(struct leaving *l, const u8 *c, size_t nr)
{
	static const u8 reg_of[16] = { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
				       R8,  R9,	 R10, R11, R12, R13, R14, R15 };
	bool rex_b = nr > 1 && c[0] == 0x41;
	const u8 *op = c + rex_b;
	u8 high = rex_b ? 8 : 0;
	if ((op[0] & 0xf8) == 0x58)
		return leave_pop(l, reg_of[high + (op[0] & 7)]) ? 1 + (size_t)rex_b : 0;
	if ((op[0] & 0xf8) == 0x50)
		return leave_push(l, reg_of[high + (op[0] & 7)]) ? 1 + (size_t)rex_b : 0;
	if (nr >= 2 + (size_t)rex_b && op[0] == 0xff && (op[1] & 0xf8) == 0xd0)
		return 2 + (size_t)rex_b; /* call *reg: comes back with the stack as it was */
	if (c[0] == 0xe8)
		return 5;
	if (c[0] == 0x90)
		return 1;
	if (c[0] == 0xc9)
		return leave_to_fp(l) && leave_pop(l, RBP) ? 1 : 0;
	if (nr >= 4 && !memcmp(c, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
		return 4;
	if (nr < 4 || c[0] != 0x48)
		return 0;
	if (c[1] == 0x89 && c[2] == 0xe5) { /* mov %rsp,%rbp */
		l->has_fp = true;
		l->fp = l->sp;
		return 3;
	}
	if (c[1] == 0x89 && c[2] == 0xec)
		return leave_to_fp(l) ? 3 : 0;
	if (c[1] == 0x83 && (c[2] == 0xc4 || c[2] == 0xec))
		return leave_add(l, c[2] == 0xc4 ? (s8)c[3] : -(s8)c[3]) ? 4 : 0;
	if (nr >= 7 && c[1] == 0x81 && (c[2] == 0xc4 || c[2] == 0xec) && imm32(c + 3) >= 0)
		return leave_add(l, c[2] == 0xc4 ? imm32(c + 3) : -imm32(c + 3)) ? 7 : 0;
	return 0;
}

static bool leave(const u8 *code, size_t nr, struct arch_leave *ret)
{
	struct leaving l = { .out = { .base = RSP } };
	for (size_t at = 0; at < nr;) {
		if (code[at] == 0xc3) {
			l.out.ra_at = l.sp;
			*ret = l.out;
			return !l.nr_pushed;
		}
		size_t len = leave_one(&l, code + at, nr - at);
		if (!len)
			return false;
		at += len;
	}
	return false;
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
	.leave = leave,
	.is_sigreturn = is_sigreturn,
};
