/*
 * The code between tree and eBPF: the machine's instructions over any number of registers, calls of helpers as one instruction. Registers
 * are given out afterwards: see registers.h. Register 0 is the frame pointer.
 */
#pragma once

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <linux/bpf.h>

enum ir_op {
	IR_CTX, /* dst = the context; comes first */
	IR_MOV, /* dst = src */
	IR_IMM, /* dst = imm */
	IR_ALU, /* dst = dst alu src|imm */
	IR_NEG, /* dst = -dst */
	IR_SWAP, /* dst = the size lowest bytes of dst in big-endian order */
	IR_LEA, /* dst = src + imm: an address of own memory */
	IR_LOAD, /* dst = [src + off], size */
	IR_STORE, /* [dst + off] = src|imm, size */
	IR_ATOMIC_ADD, /* [dst + off] += src; fetch: src = what was there */
	IR_ATOMIC_XCHG, /* [dst + off] <-> src */
	IR_LABEL, /* label */
	IR_JUMP, /* label */
	IR_IF, /* if dst alu src|imm: label */
	IR_CALL, /* dst = helper imm of args; dst may be none */
	IR_MAP, /* dst = the map imm */
	IR_MAP_VALUE, /* dst = the address of byte off of the value of map imm */
	IR_PARAM, /* [fp + off] = the parameter imm of a callback: r1 and so on; come first */
	IR_EXIT, /* with src, or 0 where there is none */
};

enum { IR_FP = 0, IR_NONE = -1 };

enum ir_arg_kind { IR_ARG_REG, IR_ARG_IMM, IR_ARG_ADDRESS, IR_ARG_MAP, IR_ARG_FUNC };
struct ir_arg {
	enum ir_arg_kind kind;
	int reg; /* REG, ADDRESS: reg + imm */
	s64 imm;
};

struct ir_insn {
	enum ir_op op;
	u8 alu; /* BPF_ADD ...; of IF: BPF_JEQ ... */
	u8 size; /* bytes */
	bool fetch;
	bool is_imm; /* imm in place of src */
	u8 nr_args;
	int dst, src, label;
	s32 off;
	s64 imm;
	struct ir_arg *args;
	u32 span;
};

struct ir {
	struct arena *arena;
	VEC(struct ir_insn) insns;
	int nr_regs; /* numbered from 1 */
	int nr_labels;
	u32 span; /* given to what is added */
	int err;
};

void ir_init(struct ir *ir, struct arena *a);
void ir_done(struct ir *ir);

int ir_reg(struct ir *ir);
int ir_label(struct ir *ir);
void ir_mov(struct ir *ir, int dst, int src);
void ir_imm(struct ir *ir, int dst, s64 imm);
void ir_alu(struct ir *ir, u8 alu, int dst, int src);
void ir_alu_imm(struct ir *ir, u8 alu, int dst, s64 imm);
void ir_neg(struct ir *ir, int dst);
void ir_swap(struct ir *ir, int dst, u8 size);
void ir_lea(struct ir *ir, int dst, int src, s64 off);
void ir_load(struct ir *ir, int dst, int src, s32 off, u8 size);
void ir_store(struct ir *ir, int dst, s32 off, int src, u8 size);
void ir_store_imm(struct ir *ir, int dst, s32 off, s32 imm, u8 size);
void ir_atomic_add(struct ir *ir, int dst, s32 off, int src, bool fetch);
void ir_atomic_xchg(struct ir *ir, int dst, s32 off, int src);
void ir_place_label(struct ir *ir, int label);
void ir_jump(struct ir *ir, int label);
void ir_if(struct ir *ir, u8 jump, int dst, int src, int label);
void ir_if_imm(struct ir *ir, u8 jump, int dst, s64 imm, int label);
void ir_map_value(struct ir *ir, int dst, u32 map, u32 off);
void ir_exit(struct ir *ir, int src);
void ir_param(struct ir *ir, s32 off, u32 nr);
/* dst may be IR_NONE. */
void ir_call(struct ir *ir, int dst, u32 helper, u32 nr, const struct ir_arg *args);

static inline struct ir_arg ir_arg_reg(int reg)
{
	return (struct ir_arg){ .kind = IR_ARG_REG, .reg = reg };
}
static inline struct ir_arg ir_arg_imm(s64 imm)
{
	return (struct ir_arg){ .kind = IR_ARG_IMM, .imm = imm };
}
static inline struct ir_arg ir_arg_address(int reg, s64 off)
{
	return (struct ir_arg){ .kind = IR_ARG_ADDRESS, .reg = reg, .imm = off };
}
static inline struct ir_arg ir_arg_map(u32 map)
{
	return (struct ir_arg){ .kind = IR_ARG_MAP, .imm = map };
}

/* The callback number nr, counted from 1. */
static inline struct ir_arg ir_arg_func(u32 nr)
{
	return (struct ir_arg){ .kind = IR_ARG_FUNC, .imm = nr };
}

/* "s<" for BPF_JSLT. */
const char *ir_jump_name(u8 jump);
/* One line for each instruction. */
void ir_dump(const struct ir *ir, struct strbuf *to);

/* Registers that an instruction reads (at most 7) and the one it writes (IR_NONE: none). */
u32 ir_reads(const struct ir_insn *in, int *regs);
int ir_writes(const struct ir_insn *in);
/* Without effect but on its register. */
bool ir_is_pure(const struct ir_insn *in);
