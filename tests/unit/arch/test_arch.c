/* What machines' code and frames look like: calls, returns, ends of functions, signal frames. */
#include "arch/arch.h"
#include "tap.h"

#include <stddef.h>

static void test_x86_leave(void)
{
	static const u8 trampoline[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
					 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	static const u8 rest[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	static const u8 pops[] = { 0x41, 0x5c, 0x5b, 0xc3 }; /* pop %r12; pop %rbx; ret */
	static const u8 jump[] = { 0xeb, 0x00, 0xc3 };
	struct arch_leave l;
	ok(arch_x86_64.leave(trampoline, sizeof(trampoline), &l) && l.base == arch_x86_64.sp &&
		   l.ra_at == 0 && !l.nr_saved,
	   "what is taken off the stack pointer comes back");
	ok(arch_x86_64.leave(rest, sizeof(rest), &l) && l.ra_at == 8, "behind the call");
	ok(arch_x86_64.leave(pops, sizeof(pops), &l) && l.nr_saved == 2 && l.ra_at == 16,
	   "registers of the caller");
	ok(l.saved[0].reg == 12 && l.saved[0].at == 0 && l.saved[1].reg == 3 && l.saved[1].at == 8,
	   "r12 and rbx, in this order");
	ok(!arch_x86_64.leave(jump, sizeof(jump), &l), "code that jumps is not followed");
}

static bool after(u32 insn)
{
	u8 code[4] = { (u8)insn, (u8)(insn >> 8), (u8)(insn >> 16), (u8)(insn >> 24) };
	return arch_arm64.after_call(code + 4, 4);
}

static void test_arm64(void)
{
	ok(after(0x94000010) && after(0xd63f0020), "bl, blr x1");
	ok(after(0xd63f081f) && after(0xd73f0822), "blraaz x0, blraa x1, x2");
	ok(!after(0xd65f03c0) && !after(0x14000010), "ret and b are no calls");
	is_u64(0xb7ff800012345678 & arch_arm64.addr_mask, 0x800012345678,
	       "an address without its signature");
	/* As the kernel lays it out: asm/sigcontext.h, asm/ucontext.h. */
	struct frame {
		u8 siginfo[128];
		struct {
			u64 flags, link, stack[3];
			u8 mask[128];
			struct {
				u64 fault_address, regs[31], sp, pc;
			} mcontext __attribute__((aligned(16)));
		} ucontext;
	};
	is_u64((u64)arch_arm64.signal_slots[0], offsetof(struct frame, ucontext.mcontext.regs),
	       "x0 of a signal frame");
	is_u64((u64)arch_arm64.signal_slots[arch_arm64.pc],
	       offsetof(struct frame, ucontext.mcontext.pc), "pc");
}

int main(void)
{
	test_x86_leave();
	test_arm64();
	return done_testing();
}
