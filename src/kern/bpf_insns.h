/* BPF instructions by hand, for the small programs that are not compiled. */
#pragma once

#include <linux/bpf.h>

enum {
	R0 = BPF_REG_0,
	R1 = BPF_REG_1,
	R2 = BPF_REG_2,
	R3 = BPF_REG_3,
	R4 = BPF_REG_4,
	R5 = BPF_REG_5,
	R6 = BPF_REG_6,
	R7 = BPF_REG_7,
	R8 = BPF_REG_8,
	R9 = BPF_REG_9,
	R10 = BPF_REG_10,
};

#define INSN(op, dst, src, o, i)                                                                   \
	((struct bpf_insn){                                                                        \
		.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (o), .imm = (i) })
#define CALL(helper)	     INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define MOV(dst, src)	     INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOV_IMM(dst, imm)    INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define ADD_IMM(dst, imm)    INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, imm)
#define LOAD(dst, src, off)  INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, src, off, 0)
#define STORE(dst, off, src) INSN(BPF_STX | BPF_MEM | BPF_DW, dst, src, off, 0)
#define EXIT()		     INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
