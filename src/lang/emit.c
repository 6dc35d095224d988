#include "lang/emit.h"

#include <errno.h>
#include <linux/btf.h>
#include <string.h>

/* Numbers of types in emit_btf(). */
enum { EMIT_BTF_MAIN = 4, EMIT_BTF_CALLBACK = 6 };

struct fixup {
	u32 insn;
	int label;
};

struct emitter {
	struct ir *ir;
	const struct registers *r;
	VEC(struct bpf_insn) insns;
	VEC(u32) spans;
	VEC(struct program_reloc) relocs;
	VEC(struct fixup) fixups;
	VEC(struct fixup) funcs; /* label: number of the function whose address goes there */
	u32 *labels;
	u32 span;
	int err;
};

static void put(struct emitter *e, u8 code, u8 dst, u8 src, s32 off, s32 imm)
{
	struct bpf_insn *in = vec_push(&e->insns);
	u32 *span = vec_push(&e->spans);
	if (!in || !span || off != (s16)off) {
		e->err = in && span ? -E2BIG : -ENOMEM;
		return;
	}
	*in = (struct bpf_insn){
		.code = code, .dst_reg = dst & 15, .src_reg = src & 15, .off = (s16)off, .imm = imm
	};
	*span = e->span;
}

static void mov(struct emitter *e, u8 dst, u8 src)
{
	if (dst != src)
		put(e, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void load_imm(struct emitter *e, u8 dst, s64 imm)
{
	if (imm == (s32)imm) {
		put(e, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, (s32)imm);
		return;
	}
	put(e, BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (s32)(u32)imm);
	put(e, 0, 0, 0, 0, (s32)(u32)((u64)imm >> 32));
}

static void load_map(struct emitter *e, u8 dst, u32 map, bool value, u32 off)
{
	struct program_reloc *r = vec_push(&e->relocs);
	if (!r) {
		e->err = -ENOMEM;
		return;
	}
	*r = (struct program_reloc){
		.insn = (u32)e->insns.nr, .map = map, .value = value, .offset = off
	};
	put(e, BPF_LD | BPF_IMM | BPF_DW, dst, value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD, 0,
	    (s32)map);
	put(e, 0, 0, 0, 0, (s32)off);
}

static void load_func(struct emitter *e, u8 dst, int nr)
{
	struct fixup *f = vec_push(&e->funcs);
	if (!f) {
		e->err = -ENOMEM;
		return;
	}
	*f = (struct fixup){ .insn = (u32)e->insns.nr, .label = nr };
	put(e, BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_FUNC, 0, 0);
	put(e, 0, 0, 0, 0, 0);
}

static u8 size_code(u8 size)
{
	return size == 8 ? BPF_DW : size == 4 ? BPF_W : size == 2 ? BPF_H : BPF_B;
}

static bool is_spilled(const struct emitter *e, int reg)
{
	return reg > IR_FP && e->r->reg[reg] < 0;
}

/* The register with the value; tmp where it has to be loaded. */
static u8 reg_in(struct emitter *e, int reg, u8 tmp)
{
	if (reg == IR_FP)
		return BPF_REG_10;
	if (!is_spilled(e, reg))
		return (u8)e->r->reg[reg];
	put(e, BPF_LDX | BPF_MEM | BPF_DW, tmp, BPF_REG_10, e->r->slot[reg], 0);
	return tmp;
}

static u8 reg_out(const struct emitter *e, int reg, u8 tmp)
{
	return is_spilled(e, reg) ? tmp : (u8)e->r->reg[reg];
}

static void reg_done(struct emitter *e, int reg, u8 with)
{
	if (is_spilled(e, reg))
		put(e, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, with, e->r->slot[reg], 0);
}

static void jump_to(struct emitter *e, int label)
{
	struct fixup *f = vec_push(&e->fixups);
	if (!f) {
		e->err = -ENOMEM;
		return;
	}
	*f = (struct fixup){ .insn = (u32)e->insns.nr - 1, .label = label };
}

/* Registers to registers, all at once: a target is written when nobody reads it any more; r0 breaks circles. */
static void move_all(struct emitter *e, u8 *to, u8 *from, u32 nr)
{
	u32 left = nr;
	while (left) {
		bool moved = false;
		for (u32 i = 0; i < left; i++) {
			bool blocked = false;
			for (u32 k = 0; k < left; k++)
				blocked |= k != i && from[k] == to[i];
			if (blocked)
				continue;
			mov(e, to[i], from[i]);
			left--;
			to[i] = to[left];
			from[i] = from[left];
			moved = true;
			break;
		}
		if (moved)
			continue;
		u8 broken = from[0];
		mov(e, BPF_REG_0, broken);
		for (u32 k = 0; k < left; k++)
			if (from[k] == broken)
				from[k] = BPF_REG_0;
	}
}

static void emit_args(struct emitter *e, const struct ir_insn *in)
{
	u8 to[5], from[5];
	u32 nr = 0;
	for (u32 i = 0; i < in->nr_args; i++) {
		const struct ir_arg *a = &in->args[i];
		if ((a->kind == IR_ARG_REG || a->kind == IR_ARG_ADDRESS) && !is_spilled(e, a->reg)) {
			to[nr] = (u8)(BPF_REG_1 + i);
			from[nr++] = reg_in(e, a->reg, 0);
		}
	}
	move_all(e, to, from, nr);
	for (u32 i = 0; i < in->nr_args; i++) {
		const struct ir_arg *a = &in->args[i];
		u8 r = (u8)(BPF_REG_1 + i);
		if (a->kind == IR_ARG_IMM)
			load_imm(e, r, a->imm);
		else if (a->kind == IR_ARG_MAP)
			load_map(e, r, (u32)a->imm, false, 0);
		else if (a->kind == IR_ARG_FUNC)
			load_func(e, r, (int)a->imm);
		else if (is_spilled(e, a->reg))
			put(e, BPF_LDX | BPF_MEM | BPF_DW, r, BPF_REG_10, e->r->slot[a->reg], 0);
		if (a->kind == IR_ARG_ADDRESS && a->imm)
			put(e, BPF_ALU64 | BPF_ADD | BPF_K, r, 0, 0, (s32)a->imm);
	}
}

static void emit_call(struct emitter *e, const struct ir_insn *in)
{
	emit_args(e, in);
	put(e, BPF_JMP | BPF_CALL, 0, 0, 0, (s32)in->imm);
	if (in->dst == IR_NONE)
		return;
	u8 dst = reg_out(e, in->dst, BPF_REG_0);
	mov(e, dst, BPF_REG_0);
	reg_done(e, in->dst, dst);
}

/* dst = dst op ...: a spilled one goes through r0. */
static void emit_alu(struct emitter *e, const struct ir_insn *in)
{
	u8 dst = reg_in(e, in->dst, BPF_REG_0);
	if (in->op == IR_NEG)
		put(e, BPF_ALU64 | BPF_NEG, dst, 0, 0, 0);
	else if (in->op == IR_SWAP)
		put(e, BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, in->size * 8);
	else if (in->is_imm)
		put(e, (u8)(BPF_ALU64 | in->alu | BPF_K), dst, 0, 0, (s32)in->imm);
	else
		put(e, (u8)(BPF_ALU64 | in->alu | BPF_X), dst, reg_in(e, in->src, BPF_REG_1), 0, 0);
	reg_done(e, in->dst, dst);
}

static void emit_store(struct emitter *e, const struct ir_insn *in)
{
	u8 base = reg_in(e, in->dst, BPF_REG_0);
	if (in->is_imm)
		put(e, (u8)(BPF_ST | BPF_MEM | size_code(in->size)), base, 0, in->off, (s32)in->imm);
	else
		put(e, (u8)(BPF_STX | BPF_MEM | size_code(in->size)), base,
		    reg_in(e, in->src, BPF_REG_1), in->off, 0);
}

static void emit_atomic(struct emitter *e, const struct ir_insn *in)
{
	u8 base = reg_in(e, in->dst, BPF_REG_0), src = reg_in(e, in->src, BPF_REG_1);
	s32 op = in->op == IR_ATOMIC_XCHG ? BPF_XCHG : BPF_ADD | (in->fetch ? BPF_FETCH : 0);
	put(e, BPF_STX | BPF_ATOMIC | BPF_DW, base, src, in->off, op);
	if (in->fetch)
		reg_done(e, in->src, src);
}

static void emit_if(struct emitter *e, const struct ir_insn *in)
{
	u8 dst = reg_in(e, in->dst, BPF_REG_0);
	if (in->is_imm)
		put(e, (u8)(BPF_JMP | in->alu | BPF_K), dst, 0, 0, (s32)in->imm);
	else
		put(e, (u8)(BPF_JMP | in->alu | BPF_X), dst, reg_in(e, in->src, BPF_REG_1), 0, 0);
	jump_to(e, in->label);
}

static void emit_to_register(struct emitter *e, const struct ir_insn *in)
{
	u8 dst = reg_out(e, in->dst, BPF_REG_0);
	switch (in->op) {
	case IR_CTX: mov(e, dst, BPF_REG_1); break;
	case IR_MOV:
	case IR_LEA:
		if (is_spilled(e, in->src))
			put(e, BPF_LDX | BPF_MEM | BPF_DW, dst, BPF_REG_10, e->r->slot[in->src], 0);
		else
			mov(e, dst, reg_in(e, in->src, BPF_REG_1));
		if (in->op == IR_LEA && in->imm)
			put(e, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, (s32)in->imm);
		break;
	case IR_IMM: load_imm(e, dst, in->imm); break;
	case IR_MAP: load_map(e, dst, (u32)in->imm, false, 0); break;
	case IR_MAP_VALUE: load_map(e, dst, (u32)in->imm, true, (u32)in->off); break;
	default: /* IR_LOAD */
		put(e, (u8)(BPF_LDX | BPF_MEM | size_code(in->size)), dst,
		    reg_in(e, in->src, BPF_REG_1), in->off, 0);
	}
	reg_done(e, in->dst, dst);
}

/* A jump to the label that follows is none. */
static bool is_next(const struct emitter *e, u32 at, int label)
{
	for (u32 i = at + 1; i < e->ir->insns.nr && e->ir->insns.at[i].op == IR_LABEL; i++)
		if (e->ir->insns.at[i].label == label)
			return true;
	return false;
}

static void emit_one(struct emitter *e, u32 at)
{
	const struct ir_insn *in = &e->ir->insns.at[at];
	e->span = in->span;
	switch (in->op) {
	case IR_LABEL:
		if (in->label >= 0)
			e->labels[in->label] = (u32)e->insns.nr;
		break;
	case IR_JUMP:
		if (is_next(e, at, in->label))
			break;
		put(e, BPF_JMP | BPF_JA, 0, 0, 0, 0);
		jump_to(e, in->label);
		break;
	case IR_IF: emit_if(e, in); break;
	case IR_ALU:
	case IR_NEG:
	case IR_SWAP: emit_alu(e, in); break;
	case IR_STORE: emit_store(e, in); break;
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG: emit_atomic(e, in); break;
	case IR_CALL: emit_call(e, in); break;
	case IR_PARAM:
		put(e, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, (u8)in->imm, in->off, 0);
		break;
	case IR_EXIT:
		if (in->src > IR_FP)
			mov(e, BPF_REG_0, reg_in(e, in->src, BPF_REG_0));
		else
			put(e, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
		put(e, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		break;
	default: emit_to_register(e, in);
	}
}

static void fix_jumps(struct emitter *e)
{
	vec_for_each (&e->fixups, f) {
		s64 off = (s64)e->labels[f->label] - (s64)f->insn - 1;
		if (off != (s16)off)
			e->err = -E2BIG;
		e->insns.at[f->insn].off = (s16)off;
	}
}

static void *copy_of(struct emitter *e, struct arena *a, const void *from, size_t nr, size_t size)
{
	void *to = arena_array(a, nr + 1, size);
	if (!to)
		e->err = -ENOMEM;
	else if (nr)
		memcpy(to, from, nr * size);
	return to;
}

static int emit_function(struct emitter *e, struct ir *ir, const struct registers *r)
{
	e->ir = ir;
	e->r = r;
	e->fixups.nr = 0;
	e->labels = arena_array(ir->arena, (size_t)ir->nr_labels + 1, sizeof(u32));
	if (!e->labels)
		return -ENOMEM;
	for (u32 i = 0; i < ir->insns.nr && !e->err; i++)
		emit_one(e, i);
	if (!e->err)
		fix_jumps(e);
	return e->err;
}

static bool is_called(const struct emitter *e, int nr)
{
	for (size_t i = 0; i < e->funcs.nr; i++)
		if (e->funcs.at[i].label == nr)
			return true;
	return false;
}

int emit_code(struct ir *const *irs, const struct registers *r, u32 nr, struct arena *a,
	      struct program_code *ret)
{
	struct emitter e = { 0 };
	struct program_func *funcs = arena_array(a, nr + 1, sizeof(*funcs));
	if (!funcs)
		return -ENOMEM;
	u32 *number = arena_array(a, nr + 1, sizeof(u32)), nr_funcs = 0;
	if (!number)
		return -ENOMEM;
	for (u32 i = 0; i < nr && !e.err; i++) {
		if (i && !is_called(&e, (int)i))
			continue; /* only by code that is never reached */
		number[i] = nr_funcs;
		funcs[nr_funcs++] =
			(struct program_func){ .insn = (u32)e.insns.nr,
					       .type_id = i ? EMIT_BTF_CALLBACK : EMIT_BTF_MAIN };
		e.err = emit_function(&e, irs[i], &r[i]);
	}
	vec_for_each (&e.funcs, f)
		if (!e.err)
			e.insns.at[f->insn].imm =
				(s32)funcs[number[f->label]].insn - (s32)f->insn - 1;
	nr = nr_funcs;
	if (!e.err) {
		ret->insns = copy_of(&e, a, e.insns.at, e.insns.nr, sizeof(*e.insns.at));
		ret->nr = (u32)e.insns.nr;
		ret->spans = copy_of(&e, a, e.spans.at, e.spans.nr, sizeof(u32));
		ret->relocs = copy_of(&e, a, e.relocs.at, e.relocs.nr, sizeof(*e.relocs.at));
		ret->nr_relocs = (u32)e.relocs.nr;
		ret->funcs = nr > 1 ? funcs : NULL;
		ret->nr_funcs = nr > 1 ? nr : 0;
	}
	vec_free(&e.insns);
	vec_free(&e.spans);
	vec_free(&e.relocs);
	vec_free(&e.fixups);
	vec_free(&e.funcs);
	return e.err;
}

const void *emit_btf(struct arena *a, u32 *size)
{
	/* offsets into strings */
	enum {
		NAME_LONG = 1,
		NAME_CTX = 6,
		NAME_MAIN = 10,
		NAME_EACH = 15,
		NAME_MAP = 20,
		NAME_KEY = 24,
		NAME_VALUE = 28
	};
	static const char strings[] = "\0long\0ctx\0main\0each\0map\0key\0value";
	static const u32 types[] = {
		/* 1: long */
		NAME_LONG,
		BTF_KIND_INT << 24,
		8,
		BTF_INT_SIGNED << 24 | 64,
		/* 2: void * */
		0,
		BTF_KIND_PTR << 24,
		0,
		/* 3: long (void *ctx) */
		0,
		BTF_KIND_FUNC_PROTO << 24 | 1,
		1,
		NAME_CTX,
		2,
		/* 4: main */
		NAME_MAIN,
		BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC,
		3,
		/* 5: long (void *map, void *key, void *value, void *ctx) */
		0,
		BTF_KIND_FUNC_PROTO << 24 | 4,
		1,
		NAME_MAP,
		2,
		NAME_KEY,
		2,
		NAME_VALUE,
		2,
		NAME_CTX,
		2,
		/* 6: each */
		NAME_EACH,
		BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC,
		5,
	};
	struct btf_header head = { .magic = BTF_MAGIC,
				   .version = BTF_VERSION,
				   .hdr_len = sizeof(head),
				   .type_len = sizeof(types),
				   .str_off = sizeof(types),
				   .str_len = sizeof(strings) };
	*size = sizeof(head) + sizeof(types) + sizeof(strings);
	char *to = arena_alloc(a, *size);
	if (!to)
		return NULL;
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), types, sizeof(types));
	memcpy(to + sizeof(head) + sizeof(types), strings, sizeof(strings));
	return to;
}

static void dump_alu(const struct bpf_insn *in, struct strbuf *to)
{
	static const char *const ops[] = { "+=",  "-=",	 "*=", "/=", "|=", "&=",   "<<=",
					   ">>=", "= -", "%=", "^=", "=",  "s>>=", "be" };
	u8 op = in->code >> 4;
	strbuf_printf(to, "r%u %s", in->dst_reg, op < ARRAY_SIZE(ops) ? ops[op] : "?");
	if ((in->code & 0xf0) == BPF_NEG)
		strbuf_printf(to, "r%u", in->dst_reg);
	else if (in->code & BPF_X && (in->code & 0xf0) != BPF_END)
		strbuf_printf(to, " r%u", in->src_reg);
	else
		strbuf_printf(to, "%s%d", (in->code & 0xf0) == BPF_END ? "" : " ", in->imm);
}

static void dump_jump(const struct bpf_insn *in, u32 at, struct strbuf *to)
{
	u8 op = in->code & 0xf0;
	if (op == BPF_CALL)
		strbuf_printf(to, "call %d", in->imm);
	else if (op == BPF_EXIT)
		strbuf_str(to, "exit");
	else if (op == BPF_JA)
		strbuf_printf(to, "goto %d", (int)at + 1 + in->off);
	else if (in->code & BPF_X)
		strbuf_printf(to, "if r%u %s r%u goto %d", in->dst_reg, ir_jump_name(op),
			      in->src_reg, (int)at + 1 + in->off);
	else
		strbuf_printf(to, "if r%u %s %d goto %d", in->dst_reg, ir_jump_name(op), in->imm,
			      (int)at + 1 + in->off);
}

static void dump_memory(const struct bpf_insn *in, struct strbuf *to)
{
	static const char *const sizes[] = { "u32", "u16", "u8", "u64" };
	const char *size = sizes[in->code >> 3 & 3];
	u8 class = in->code & 7;
	if (class == BPF_LDX)
		strbuf_printf(to, "r%u = %s[r%u%+d]", in->dst_reg, size, in->src_reg, in->off);
	else if (class == BPF_ST)
		strbuf_printf(to, "%s[r%u%+d] = %d", size, in->dst_reg, in->off, in->imm);
	else if ((in->code & 0xe0) == BPF_ATOMIC)
		strbuf_printf(to, "atomic 0x%x %s[r%u%+d], r%u", in->imm, size, in->dst_reg,
			      in->off, in->src_reg);
	else
		strbuf_printf(to, "%s[r%u%+d] = r%u", size, in->dst_reg, in->off, in->src_reg);
}

void emit_dump(const struct program_code *c, struct strbuf *to)
{
	for (u32 i = 0; i < c->nr; i++) {
		const struct bpf_insn *in = &c->insns[i];
		u8 class = in->code & 7;
		strbuf_printf(to, "%5u: ", i);
		if (class == BPF_LD && i + 1 < c->nr) {
			u64 wide = (u64)(u32)in[1].imm << 32 | (u32)in->imm;
			if (in->src_reg == BPF_PSEUDO_FUNC)
				strbuf_printf(to, "r%u = function at %d", in->dst_reg,
					      (int)i + 1 + in->imm);
			else if (in->src_reg)
				strbuf_printf(to, "r%u = %s %d%+d", in->dst_reg,
					      in->src_reg == BPF_PSEUDO_MAP_FD ? "map"
									       : "value of map",
					      in->imm, in[1].imm);
			else
				strbuf_printf(to, "r%u = 0x%llx", in->dst_reg,
					      (unsigned long long)wide);
			i++;
		} else if (class == BPF_ALU || class == BPF_ALU64) {
			dump_alu(in, to);
		} else if (class == BPF_JMP) {
			dump_jump(in, i, to);
		} else {
			dump_memory(in, to);
		}
		strbuf_char(to, '\n');
	}
}
