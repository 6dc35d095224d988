#include "image/cfi_expr.h"
#include "base/bytes.h"

#include <errno.h>

enum { STACK_MAX = 64, STEPS_MAX = 4096 };

enum dw_op {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S,
	OP_CONST2U,
	OP_CONST2S,
	OP_CONST4U,
	OP_CONST4S,
	OP_CONST8U,
	OP_CONST8S,
	OP_CONSTU,
	OP_CONSTS,
	OP_DUP,
	OP_DROP,
	OP_OVER,
	OP_PICK,
	OP_SWAP,
	OP_ROT,
	OP_ABS = 0x19,
	OP_AND,
	OP_DIV,
	OP_MINUS,
	OP_MOD,
	OP_MUL,
	OP_NEG,
	OP_NOT,
	OP_OR,
	OP_PLUS,
	OP_PLUS_UCONST,
	OP_SHL,
	OP_SHR,
	OP_SHRA,
	OP_XOR,
	OP_BRA,
	OP_EQ,
	OP_GE,
	OP_GT,
	OP_LE,
	OP_LT,
	OP_NE,
	OP_SKIP,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct cfi_expr_machine {
	const u8 *start;
	struct bytes code;
	const struct cfi_regs *regs;
	const struct cfi_memory *mem;
	u64 stack[STACK_MAX];
	u32 depth;
	int err;
};

static void push(struct cfi_expr_machine *m, u64 v)
{
	if (m->depth < STACK_MAX)
		m->stack[m->depth++] = v;
	else
		m->err = -EBADMSG;
}

static u64 pop(struct cfi_expr_machine *m)
{
	if (m->depth)
		return m->stack[--m->depth];
	m->err = -EBADMSG;
	return 0;
}

/* The n-th from the top. */
static u64 peek(struct cfi_expr_machine *m, u32 n)
{
	if (n < m->depth)
		return m->stack[m->depth - 1 - n];
	m->err = -EBADMSG;
	return 0;
}

static void push_reg(struct cfi_expr_machine *m, u64 reg, s64 offset)
{
	if (reg < ARCH_REGS_MAX && m->regs->known >> reg & 1)
		push(m, m->regs->value[reg] + (u64)offset);
	else
		m->err = -EBADMSG;
}

static void load(struct cfi_expr_machine *m, unsigned size)
{
	u64 v, addr = pop(m);
	if (size != 1 && size != 2 && size != 4 && size != 8)
		m->err = -EBADMSG;
	else if (!m->err && !m->mem->read(m->mem->ctx, addr, size, &v))
		m->err = -EFAULT;
	else
		push(m, m->err ? 0 : v);
}

static void jump(struct cfi_expr_machine *m, s16 by)
{
	s64 to = (m->code.at - m->start) + by;
	if (to < 0 || to > m->code.end - m->start)
		m->err = -EBADMSG;
	else
		m->code.at = m->start + to;
}

static bool run_const(struct cfi_expr_machine *m, u8 op)
{
	struct bytes *c = &m->code;
	switch (op) {
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S: push(m, bytes_u64(c)); return true;
	case OP_CONST1U: push(m, bytes_u8(c)); return true;
	case OP_CONST1S: push(m, (u64)(s8)bytes_u8(c)); return true;
	case OP_CONST2U: push(m, bytes_u16(c)); return true;
	case OP_CONST2S: push(m, (u64)(s16)bytes_u16(c)); return true;
	case OP_CONST4U: push(m, bytes_u32(c)); return true;
	case OP_CONST4S: push(m, (u64)(s32)bytes_u32(c)); return true;
	case OP_CONSTU: push(m, bytes_uleb(c)); return true;
	case OP_CONSTS: push(m, (u64)bytes_sleb(c)); return true;
	}
	return false;
}

static u64 shifted(u8 op, u64 v, u64 by)
{
	if (op == OP_SHRA)
		return (u64)((s64)v >> min(by, (u64)63));
	if (by > 63)
		return 0;
	return op == OP_SHL ? v << by : v >> by;
}

/* Two operands: a below, b on top. */
static bool run_binary(struct cfi_expr_machine *m, u8 op)
{
	if ((op < OP_AND || op > OP_NE) || op == OP_NEG || op == OP_NOT || op == OP_PLUS_UCONST ||
	    op == OP_BRA)
		return false;
	u64 b = pop(m), a = pop(m);
	s64 sa = (s64)a, sb = (s64)b;
	if ((op == OP_DIV || op == OP_MOD) && (!b || (sa == INT64_MIN && sb == -1)))
		m->err = -EBADMSG;
	if (m->err)
		return true;
	switch (op) {
	case OP_AND: push(m, a & b); break;
	case OP_DIV: push(m, (u64)(sa / sb)); break;
	case OP_MINUS: push(m, a - b); break;
	case OP_MOD: push(m, a % b); break;
	case OP_MUL: push(m, a * b); break;
	case OP_OR: push(m, a | b); break;
	case OP_PLUS: push(m, a + b); break;
	case OP_SHL:
	case OP_SHR:
	case OP_SHRA: push(m, shifted(op, a, b)); break;
	case OP_XOR: push(m, a ^ b); break;
	case OP_EQ: push(m, sa == sb); break;
	case OP_GE: push(m, sa >= sb); break;
	case OP_GT: push(m, sa > sb); break;
	case OP_LE: push(m, sa <= sb); break;
	case OP_LT: push(m, sa < sb); break;
	case OP_NE: push(m, sa != sb); break;
	}
	return true;
}

static void run_other(struct cfi_expr_machine *m, u8 op)
{
	struct bytes *c = &m->code;
	u64 a, b, v;
	switch (op) {
	case OP_DEREF: load(m, 8); break;
	case OP_DEREF_SIZE: load(m, bytes_u8(c)); break;
	case OP_DUP: push(m, peek(m, 0)); break;
	case OP_DROP: (void)pop(m); break;
	case OP_OVER: push(m, peek(m, 1)); break;
	case OP_PICK: push(m, peek(m, bytes_u8(c))); break;
	case OP_SWAP:
		b = pop(m);
		a = pop(m);
		push(m, b);
		push(m, a);
		break;
	case OP_ROT: /* the top goes below the next two */
		v = pop(m);
		b = pop(m);
		a = pop(m);
		push(m, v);
		push(m, a);
		push(m, b);
		break;
	case OP_ABS:
		v = pop(m);
		push(m, (s64)v < 0 ? -v : v);
		break;
	case OP_NEG: push(m, -pop(m)); break;
	case OP_NOT: push(m, ~pop(m)); break;
	case OP_PLUS_UCONST: push(m, pop(m) + bytes_uleb(c)); break;
	case OP_SKIP: jump(m, (s16)bytes_u16(c)); break;
	case OP_BRA: {
		s16 by = (s16)bytes_u16(c);
		if (pop(m))
			jump(m, by);
		break;
	}
	case OP_BREGX:
		v = bytes_uleb(c);
		push_reg(m, v, bytes_sleb(c));
		break;
	case OP_NOP: break;
	default: m->err = -EBADMSG;
	}
}

int cfi_eval(const u8 *expr, size_t len, const struct cfi_regs *regs, const struct cfi_memory *mem,
	     bool has_first, u64 first, u64 *ret)
{
	if (!expr)
		return -EBADMSG;
	struct cfi_expr_machine m = {
		.start = expr, .code = bytes_of(expr, len, false), .regs = regs, .mem = mem
	};
	if (has_first)
		push(&m, first);
	for (u32 steps = 0; bytes_left(&m.code) && !m.err; steps++) {
		u8 op = bytes_u8(&m.code);
		if (steps == STEPS_MAX)
			return -EBADMSG;
		if (op >= OP_LIT0 && op <= OP_LIT31)
			push(&m, op - OP_LIT0);
		else if (op >= OP_BREG0 && op <= OP_BREG31)
			push_reg(&m, op - OP_BREG0, bytes_sleb(&m.code));
		else if (!run_const(&m, op) && !run_binary(&m, op))
			run_other(&m, op);
		if (m.code.bad)
			m.err = -EBADMSG;
	}
	if (!m.err && !m.depth)
		m.err = -EBADMSG;
	if (m.err)
		return m.err;
	*ret = m.stack[m.depth - 1];
	return 0;
}
