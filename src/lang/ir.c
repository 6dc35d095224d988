#include "lang/ir.h"

#include <errno.h>
#include <string.h>

void ir_init(struct ir *ir, struct arena *a)
{
	*ir = (struct ir){ .arena = a, .span = UINT32_MAX };
}

void ir_done(struct ir *ir)
{
	vec_free(&ir->insns);
}

int ir_reg(struct ir *ir)
{
	return ++ir->nr_regs;
}

int ir_label(struct ir *ir)
{
	return ir->nr_labels++;
}

static void add(struct ir *ir, struct ir_insn in)
{
	struct ir_insn *to = vec_push(&ir->insns);
	if (!to) {
		ir->err = -ENOMEM;
		return;
	}
	in.span = ir->span;
	*to = in;
}

void ir_mov(struct ir *ir, int dst, int src)
{
	if (dst != src)
		add(ir, (struct ir_insn){ .op = IR_MOV, .dst = dst, .src = src });
}

void ir_imm(struct ir *ir, int dst, s64 imm)
{
	add(ir, (struct ir_insn){ .op = IR_IMM, .dst = dst, .src = IR_NONE, .imm = imm });
}

void ir_alu(struct ir *ir, u8 alu, int dst, int src)
{
	add(ir, (struct ir_insn){ .op = IR_ALU, .alu = alu, .dst = dst, .src = src });
}

static bool fits(s64 imm)
{
	return imm == (s32)imm;
}

void ir_alu_imm(struct ir *ir, u8 alu, int dst, s64 imm)
{
	if (!fits(imm)) {
		int r = ir_reg(ir);
		ir_imm(ir, r, imm);
		ir_alu(ir, alu, dst, r);
		return;
	}
	add(ir, (struct ir_insn){ .op = IR_ALU,
				  .alu = alu,
				  .dst = dst,
				  .src = IR_NONE,
				  .is_imm = true,
				  .imm = imm });
}

void ir_neg(struct ir *ir, int dst)
{
	add(ir, (struct ir_insn){ .op = IR_NEG, .dst = dst, .src = IR_NONE });
}

void ir_swap(struct ir *ir, int dst, u8 size)
{
	add(ir, (struct ir_insn){ .op = IR_SWAP, .dst = dst, .src = IR_NONE, .size = size });
}

void ir_lea(struct ir *ir, int dst, int src, s64 off)
{
	add(ir, (struct ir_insn){ .op = IR_LEA, .dst = dst, .src = src, .imm = off });
}

void ir_load(struct ir *ir, int dst, int src, s32 off, u8 size)
{
	add(ir, (struct ir_insn){ .op = IR_LOAD, .dst = dst, .src = src, .off = off, .size = size });
}

void ir_store(struct ir *ir, int dst, s32 off, int src, u8 size)
{
	add(ir,
	    (struct ir_insn){ .op = IR_STORE, .dst = dst, .src = src, .off = off, .size = size });
}

void ir_store_imm(struct ir *ir, int dst, s32 off, s32 imm, u8 size)
{
	add(ir, (struct ir_insn){ .op = IR_STORE,
				  .dst = dst,
				  .src = IR_NONE,
				  .is_imm = true,
				  .off = off,
				  .imm = imm,
				  .size = size });
}

void ir_atomic_add(struct ir *ir, int dst, s32 off, int src, bool fetch)
{
	add(ir, (struct ir_insn){ .op = IR_ATOMIC_ADD,
				  .dst = dst,
				  .src = src,
				  .off = off,
				  .size = 8,
				  .fetch = fetch });
}

void ir_atomic_xchg(struct ir *ir, int dst, s32 off, int src)
{
	add(ir, (struct ir_insn){ .op = IR_ATOMIC_XCHG,
				  .dst = dst,
				  .src = src,
				  .off = off,
				  .size = 8,
				  .fetch = true });
}

void ir_place_label(struct ir *ir, int label)
{
	add(ir, (struct ir_insn){ .op = IR_LABEL, .dst = IR_NONE, .src = IR_NONE, .label = label });
}

void ir_jump(struct ir *ir, int label)
{
	add(ir, (struct ir_insn){ .op = IR_JUMP, .dst = IR_NONE, .src = IR_NONE, .label = label });
}

void ir_if(struct ir *ir, u8 jump, int dst, int src, int label)
{
	add(ir,
	    (struct ir_insn){ .op = IR_IF, .alu = jump, .dst = dst, .src = src, .label = label });
}

void ir_if_imm(struct ir *ir, u8 jump, int dst, s64 imm, int label)
{
	if (!fits(imm)) {
		int r = ir_reg(ir);
		ir_imm(ir, r, imm);
		ir_if(ir, jump, dst, r, label);
		return;
	}
	add(ir, (struct ir_insn){ .op = IR_IF,
				  .alu = jump,
				  .dst = dst,
				  .src = IR_NONE,
				  .is_imm = true,
				  .imm = imm,
				  .label = label });
}

void ir_map_value(struct ir *ir, int dst, u32 map, u32 off)
{
	add(ir,
	    (struct ir_insn){
		    .op = IR_MAP_VALUE, .dst = dst, .src = IR_NONE, .imm = map, .off = (s32)off });
}

void ir_exit(struct ir *ir, int src)
{
	add(ir, (struct ir_insn){ .op = IR_EXIT, .dst = IR_NONE, .src = src });
}

void ir_param(struct ir *ir, s32 off, u32 nr)
{
	add(ir, (struct ir_insn){
			.op = IR_PARAM, .dst = IR_NONE, .src = IR_NONE, .off = off, .imm = nr });
}

void ir_call(struct ir *ir, int dst, u32 helper, u32 nr, const struct ir_arg *args)
{
	struct ir_arg *copy = arena_array(ir->arena, nr + 1, sizeof(*copy));
	if (!copy) {
		ir->err = -ENOMEM;
		return;
	}
	if (nr)
		memcpy(copy, args, nr * sizeof(*args));
	add(ir, (struct ir_insn){ .op = IR_CALL,
				  .dst = dst,
				  .src = IR_NONE,
				  .imm = helper,
				  .nr_args = (u8)nr,
				  .args = copy });
}

u32 ir_reads(const struct ir_insn *in, int *regs)
{
	u32 nr = 0;
	switch (in->op) {
	case IR_ALU:
	case IR_IF:
	case IR_STORE:
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG:
		regs[nr++] = in->dst;
		if (!in->is_imm)
			regs[nr++] = in->src;
		break;
	case IR_NEG:
	case IR_SWAP: regs[nr++] = in->dst; break;
	case IR_EXIT:
	case IR_MOV:
	case IR_LEA:
	case IR_LOAD: regs[nr++] = in->src; break;
	case IR_CALL:
		for (u32 i = 0; i < in->nr_args; i++)
			if (in->args[i].kind == IR_ARG_REG || in->args[i].kind == IR_ARG_ADDRESS)
				regs[nr++] = in->args[i].reg;
		break;
	default: break;
	}
	u32 kept = 0;
	for (u32 i = 0; i < nr; i++)
		if (regs[i] > IR_FP)
			regs[kept++] = regs[i];
	return kept;
}

int ir_writes(const struct ir_insn *in)
{
	switch (in->op) {
	case IR_CTX:
	case IR_MOV:
	case IR_IMM:
	case IR_ALU:
	case IR_NEG:
	case IR_SWAP:
	case IR_LEA:
	case IR_LOAD:
	case IR_CALL:
	case IR_MAP:
	case IR_MAP_VALUE: return in->dst;
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG: return in->fetch ? in->src : IR_NONE;
	default: return IR_NONE;
	}
}

bool ir_is_pure(const struct ir_insn *in)
{
	switch (in->op) {
	case IR_MOV:
	case IR_IMM:
	case IR_ALU:
	case IR_NEG:
	case IR_SWAP:
	case IR_LEA:
	case IR_LOAD:
	case IR_MAP:
	case IR_MAP_VALUE:
	case IR_CTX: return true;
	default: return false;
	}
}

static const char *alu_name(u8 alu)
{
	switch (alu) {
	case BPF_ADD: return "+=";
	case BPF_SUB: return "-=";
	case BPF_MUL: return "*=";
	case BPF_DIV: return "/=";
	case BPF_MOD: return "%=";
	case BPF_OR: return "|=";
	case BPF_AND: return "&=";
	case BPF_XOR: return "^=";
	case BPF_LSH: return "<<=";
	case BPF_RSH: return ">>=";
	case BPF_ARSH: return "s>>=";
	default: return "?";
	}
}

const char *ir_jump_name(u8 jump)
{
	switch (jump) {
	case BPF_JEQ: return "==";
	case BPF_JNE: return "!=";
	case BPF_JGT: return ">";
	case BPF_JGE: return ">=";
	case BPF_JLT: return "<";
	case BPF_JLE: return "<=";
	case BPF_JSGT: return "s>";
	case BPF_JSGE: return "s>=";
	case BPF_JSLT: return "s<";
	case BPF_JSLE: return "s<=";
	case BPF_JSET: return "&";
	default: return "?";
	}
}

static void add_reg(struct strbuf *to, int reg)
{
	if (reg == IR_FP)
		strbuf_str(to, "fp");
	else
		strbuf_printf(to, "v%d", reg);
}

static void add_operand(struct strbuf *to, const struct ir_insn *in)
{
	if (in->is_imm)
		strbuf_s64(to, in->imm);
	else
		add_reg(to, in->src);
}

static void add_memory(struct strbuf *to, const struct ir_insn *in, int base)
{
	strbuf_printf(to, "u%u[", in->size * 8);
	add_reg(to, base);
	strbuf_printf(to, "%+d]", in->off);
}

static void dump_call(const struct ir_insn *in, struct strbuf *to)
{
	if (in->dst != IR_NONE) {
		add_reg(to, in->dst);
		strbuf_str(to, " = ");
	}
	strbuf_printf(to, "call %lld(", (long long)in->imm);
	for (u32 i = 0; i < in->nr_args; i++) {
		const struct ir_arg *a = &in->args[i];
		if (i)
			strbuf_str(to, ", ");
		if (a->kind == IR_ARG_IMM)
			strbuf_s64(to, a->imm);
		else if (a->kind == IR_ARG_MAP)
			strbuf_printf(to, "map %lld", (long long)a->imm);
		else if (a->kind == IR_ARG_FUNC)
			strbuf_printf(to, "function %lld", (long long)a->imm);
		else
			add_reg(to, a->reg);
		if (a->kind == IR_ARG_ADDRESS)
			strbuf_printf(to, "%+lld", (long long)a->imm);
	}
	strbuf_char(to, ')');
}

static void dump_one(const struct ir_insn *in, struct strbuf *to)
{
	switch (in->op) {
	case IR_CTX:
		add_reg(to, in->dst);
		strbuf_str(to, " = ctx");
		break;
	case IR_MOV:
		add_reg(to, in->dst);
		strbuf_str(to, " = ");
		add_reg(to, in->src);
		break;
	case IR_IMM:
		add_reg(to, in->dst);
		strbuf_printf(to, " = %lld", (long long)in->imm);
		break;
	case IR_ALU:
		add_reg(to, in->dst);
		strbuf_printf(to, " %s ", alu_name(in->alu));
		add_operand(to, in);
		break;
	case IR_NEG:
	case IR_SWAP:
		add_reg(to, in->dst);
		strbuf_str(to, in->op == IR_NEG ? " = -" : " = be");
		if (in->op == IR_SWAP)
			strbuf_printf(to, "%u ", in->size * 8);
		add_reg(to, in->dst);
		break;
	case IR_LEA:
		add_reg(to, in->dst);
		strbuf_str(to, " = ");
		add_reg(to, in->src);
		strbuf_printf(to, "%+lld", (long long)in->imm);
		break;
	case IR_LOAD:
		add_reg(to, in->dst);
		strbuf_str(to, " = ");
		add_memory(to, in, in->src);
		break;
	case IR_STORE:
		add_memory(to, in, in->dst);
		strbuf_str(to, " = ");
		add_operand(to, in);
		break;
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG:
		strbuf_str(to, in->op == IR_ATOMIC_ADD ? "atomic " : "exchange ");
		add_memory(to, in, in->dst);
		strbuf_str(to, in->fetch ? " <-> " : " += ");
		add_reg(to, in->src);
		break;
	case IR_JUMP: strbuf_printf(to, "goto L%d", in->label); break;
	case IR_IF:
		strbuf_str(to, "if ");
		add_reg(to, in->dst);
		strbuf_printf(to, " %s ", ir_jump_name(in->alu));
		add_operand(to, in);
		strbuf_printf(to, " goto L%d", in->label);
		break;
	case IR_CALL: dump_call(in, to); break;
	case IR_MAP:
	case IR_MAP_VALUE:
		add_reg(to, in->dst);
		strbuf_printf(to, " = %s %lld", in->op == IR_MAP ? "map" : "value of map",
			      (long long)in->imm);
		if (in->off)
			strbuf_printf(to, "%+d", in->off);
		break;
	case IR_PARAM:
		strbuf_printf(to, "u64[fp%+d] = parameter %lld", in->off, (long long)in->imm);
		break;
	case IR_EXIT:
		strbuf_str(to, "exit");
		if (in->src > IR_FP) {
			strbuf_char(to, ' ');
			add_reg(to, in->src);
		}
		break;
	case IR_LABEL: break;
	}
}

void ir_dump(const struct ir *ir, struct strbuf *to)
{
	vec_for_each (&ir->insns, in) {
		if (in->op == IR_LABEL) {
			strbuf_printf(to, "L%d:\n", in->label);
			continue;
		}
		strbuf_char(to, '\t');
		dump_one(in, to);
		strbuf_char(to, '\n');
	}
}
