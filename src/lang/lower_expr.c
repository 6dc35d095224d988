/* Expressions. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/lower.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

int value_reg(struct lower *l, struct value v)
{
	if (v.kind == VALUE_REG)
		return v.reg;
	int r = ir_reg(l->ir);
	if (v.kind == VALUE_MEM)
		ir_load(l->ir, r, v.reg, v.off, 8);
	else if (v.kind == VALUE_ADDR || v.kind == VALUE_CTX)
		ir_lea(l->ir, r, v.reg, v.off);
	else
		ir_imm(l->ir, r, v.kind == VALUE_IMM ? v.imm : 0);
	return r;
}

int lower_reg(struct lower *l, struct node *n)
{
	return value_reg(l, lower_expr(l, n));
}

/* v becomes its absolute value; the result is all ones if it was negative, else 0. Without branches, which multiply in the verifier. */
static int strip_sign(struct lower *l, int v)
{
	int sign = ir_reg(l->ir);
	ir_mov(l->ir, sign, v);
	ir_alu_imm(l->ir, BPF_ARSH, sign, 63);
	ir_alu(l->ir, BPF_XOR, v, sign);
	ir_alu(l->ir, BPF_SUB, v, sign);
	return sign;
}

/* Signed division by unsigned ones: the machine has its own only since Linux 6.6. */
static void divide_signed(struct lower *l, u8 alu, int a, int b)
{
	int d = ir_reg(l->ir);
	ir_mov(l->ir, d, b);
	int sign = strip_sign(l, a), other = strip_sign(l, d);
	if (alu == BPF_DIV)
		ir_alu(l->ir, BPF_XOR, sign, other);
	ir_alu(l->ir, alu, a, d);
	ir_alu(l->ir, BPF_XOR, a, sign);
	ir_alu(l->ir, BPF_SUB, a, sign);
}

static void divide(struct lower *l, u8 alu, int a, struct value b, bool is_signed)
{
	if (b.kind == VALUE_IMM && !b.imm) {
		if (alu == BPF_DIV)
			ir_imm(l->ir, a, 0);
		return;
	}
	if (is_signed) {
		divide_signed(l, alu, a, value_reg(l, b));
		return;
	}
	if (b.kind == VALUE_IMM)
		ir_alu_imm(l->ir, alu, a, b.imm);
	else
		ir_alu(l->ir, alu, a, value_reg(l, b));
}

void lower_arith(struct lower *l, u8 op, int a, struct value b, bool is_signed)
{
	static const struct {
		u8 op, alu;
	} alus[] = {
		{ TOKEN_ADD, BPF_ADD }, { TOKEN_SUB, BPF_SUB }, { TOKEN_MUL, BPF_MUL },
		{ TOKEN_DIV, BPF_DIV }, { TOKEN_MOD, BPF_MOD }, { TOKEN_AND, BPF_AND },
		{ TOKEN_OR, BPF_OR },	{ TOKEN_XOR, BPF_XOR }, { TOKEN_SHL, BPF_LSH },
		{ TOKEN_SHR, BPF_RSH },
	};
	u8 alu = BPF_ADD;
	for (size_t i = 0; i < ARRAY_SIZE(alus); i++)
		if (alus[i].op == op)
			alu = alus[i].alu;
	if (alu == BPF_DIV || alu == BPF_MOD) {
		divide(l, alu, a, b, is_signed);
		return;
	}
	bool shift = alu == BPF_LSH || alu == BPF_RSH;
	if (b.kind == VALUE_IMM) {
		ir_alu_imm(l->ir, alu, a, shift ? b.imm & 63 : b.imm);
		return;
	}
	int r = value_reg(l, b);
	if (shift) { /* all machines are to agree on what is beyond 63 */
		int masked = ir_reg(l->ir);
		ir_mov(l->ir, masked, r);
		ir_alu_imm(l->ir, BPF_AND, masked, 63);
		r = masked;
	}
	ir_alu(l->ir, alu, a, r);
}

static int copy_reg(struct lower *l, int reg)
{
	int r = ir_reg(l->ir);
	ir_mov(l->ir, r, reg);
	return r;
}

/* A number added to a pointer counts what it points to. */
static struct value scaled(struct lower *l, struct value v, const struct program_type *pointer)
{
	u32 size = pointer->to ? pointer->to->size : 1;
	if (size <= 1)
		return v;
	if (v.kind == VALUE_IMM)
		return value_imm((s64)((u64)v.imm * size));
	int r = copy_reg(l, value_reg(l, v));
	ir_alu_imm(l->ir, BPF_MUL, r, size);
	return value_of(r);
}

static struct value bool_value(struct lower *l, struct node *n)
{
	int r = ir_reg(l->ir), no = ir_label(l->ir);
	ir_imm(l->ir, r, 0);
	lower_branch(l, n, no, false);
	ir_imm(l->ir, r, 1);
	ir_place_label(l->ir, no);
	return value_of(r);
}

static struct value lower_binary(struct lower *l, struct node *n)
{
	if (n->type->kind == PROGRAM_BOOL)
		return bool_value(l, n);
	struct value va = lower_expr(l, n->a);
	int a = copy_reg(l, value_reg(l, va));
	struct value b = lower_expr(l, n->b);
	const struct program_type *ta = n->a->type, *tb = n->b->type;
	if (n->type->kind == PROGRAM_POINTER && ta->kind == PROGRAM_POINTER)
		b = scaled(l, b, ta);
	else if (n->type->kind == PROGRAM_POINTER) {
		int r = copy_reg(l, value_reg(l, scaled(l, value_of(a), tb)));
		ir_alu(l->ir, BPF_ADD, r, value_reg(l, b));
		return value_of(r);
	}
	lower_arith(l, n->op, a, b, check_signed_op(n->a, n->b));
	return value_of(a);
}

static struct value lower_unary(struct lower *l, struct node *n)
{
	if (n->op == TOKEN_NOT)
		return bool_value(l, n);
	if (n->op == TOKEN_AND) {
		struct value v = lower_address(l, lower_expr(l, n->a->a));
		int r = ir_reg(l->ir);
		ir_lea(l->ir, r, v.reg, v.off + n->a->field->offset);
		return value_of(r);
	}
	if (n->op == TOKEN_MUL) {
		int at = lower_reg(l, n->a);
		if (type_is_scalar(n->type))
			return value_of(lower_read(l, at, 0, n->type, false));
		return (struct value){ .kind = VALUE_ADDR, .reg = at };
	}
	int r = copy_reg(l, lower_reg(l, n->a));
	if (n->op == TOKEN_SUB)
		ir_neg(l->ir, r);
	else
		ir_alu_imm(l->ir, BPF_XOR, r, -1);
	lower_fit(l, r, n->type);
	return value_of(r);
}

static struct value lower_ternary(struct lower *l, struct node *n)
{
	int other = ir_label(l->ir), end = ir_label(l->ir);
	if (!n->b) { /* a ?: c */
		int r = copy_reg(l, lower_reg(l, n->a));
		ir_if_imm(l->ir, BPF_JNE, r, 0, end);
		ir_mov(l->ir, r, lower_reg(l, n->c));
		ir_place_label(l->ir, end);
		return value_of(r);
	}
	struct place at = { 0 };
	int r = 0;
	if (type_is_scalar(n->type))
		r = ir_reg(l->ir);
	else
		at = lower_dest(l, n->type, NULL);
	lower_branch(l, n->a, other, false);
	if (r)
		ir_mov(l->ir, r, lower_reg(l, n->b));
	else
		lower_into(l, n->b, at, n->type);
	ir_jump(l->ir, end);
	ir_place_label(l->ir, other);
	if (r)
		ir_mov(l->ir, r, lower_reg(l, n->c));
	else
		lower_into(l, n->c, at, n->type);
	ir_place_label(l->ir, end);
	return r ? value_of(r) : place_value(at);
}

static struct value lower_text(struct lower *l, const struct node *n)
{
	int r = ir_reg(l->ir);
	u32 size = (u32)n->number + 1, at = lower_data(l, n->text, size);
	ir_map_value(l->ir, r, l->shared->data, at);
	return (struct value){ .kind = VALUE_MEM, .reg = r };
}

static struct value lower_tuple(struct lower *l, struct node *n)
{
	struct place at = lower_dest(l, n->type, NULL);
	u32 i = 0;
	for (struct node *e = n->list; e; e = e->next, i++)
		lower_into(l, e, place_at(at, (s32)n->type->fields[i].offset),
			   n->type->fields[i].type);
	return place_value(at);
}

/* The context is an array of words: one for each argument. */
static bool is_word_ctx(const struct lower *l)
{
	enum program_provider p = l->probe->provider;
	return p == PROGRAM_FENTRY || p == PROGRAM_FEXIT || p == PROGRAM_RAW_TRACEPOINT;
}

static struct value read_field(struct lower *l, struct value base, const struct program_field *f);

/* A variable of the code that is probed. */
static struct value lower_local(struct lower *l, const struct program_field *f)
{
	const struct program_local *v = &l->probe->locals[f->offset];
	bool kernel = l->probe->provider == PROGRAM_KPROBE;
	int r = ir_reg(l->ir);
	bool in_memory = v->place == PROGRAM_LOCAL_MEMORY;
	if (!v->reg)
		ir_imm(l->ir, r, in_memory ? 0 : v->add); /* read_field() adds it */
	else if (!lower_probe_register(l, v->reg, r))
		return value_imm(0);
	for (u32 i = 0; i < v->nr_derefs; i++)
		r = lower_read(l, r, (s32)v->derefs[i], &type_u64, kernel);
	if (in_memory)
		return read_field(l, (struct value){ .kind = VALUE_ADDR, .reg = r },
				  &(struct program_field){ .type = f->type, .offset = v->add });
	if (v->reg && v->add)
		ir_alu_imm(l->ir, BPF_ADD, r, v->add);
	lower_fit(l, r, f->type);
	return value_of(r);
}

/* A field of the probe's context. */
static struct value lower_ctx_field(struct lower *l, struct value base,
				    const struct program_field *f)
{
	s32 off = base.off + (s32)f->offset;
	const struct program_type *t = f->type;
	if (l->probe->locals)
		return lower_local(l, f);
	int r = ir_reg(l->ir);
	if (f->location) {
		ir_load(l->ir, r, base.reg, off, 4);
		ir_alu_imm(l->ir, BPF_AND, r, 0xffff);
		int at = ir_reg(l->ir);
		ir_mov(l->ir, at, base.reg);
		ir_alu(l->ir, BPF_ADD, at, r);
		if (f->location == 2)
			ir_alu_imm(l->ir, BPF_ADD, at, off + 4);
		return value_of(at);
	}
	if (type_is_scalar(t) && is_word_ctx(l)) {
		ir_load(l->ir, r, base.reg, off, 8);
		lower_fit(l, r, t);
		return value_of(r);
	}
	if (type_is_scalar(t)) {
		/* The verifier knows what an iterator's pointers are, and then does not take them as numbers. */
		bool hidden =
			l->probe->provider == PROGRAM_ITER ? t->kind == PROGRAM_POINTER : off < 8;
		if (hidden || off % (s32)t->size)
			return value_of(lower_read(l, base.reg, off, t, true));
		ir_load(l->ir, r, base.reg, off, (u8)t->size);
		if (type_is_signed(t))
			lower_fit(l, r, t);
		return value_of(r);
	}
	if (t->kind == PROGRAM_STRING) {
		bool output;
		struct place to = lower_dest(l, t, &output);
		if (!output)
			lower_zero(l, to, type_room(t));
		lower_read_bytes(l, to, t->size, ir_arg_address(base.reg, off), true, true);
		return place_value(to);
	}
	return (struct value){ .kind = VALUE_CTX, .reg = base.reg, .off = off };
}

/* A member of own memory that is not a struct of somebody else's: a number takes a word. */
static struct value own_member(struct lower *l, struct value base, const struct program_field *f)
{
	base.off += (s32)f->offset;
	return type_is_scalar(f->type) ? value_of(value_reg(l, base)) : base;
}

static struct value read_field(struct lower *l, struct value base, const struct program_field *f)
{
	s32 off = base.off + (s32)f->offset;
	const struct program_type *t = f->type;
	if (f->bit_size) {
		u32 bytes = (f->bit_offset + f->bit_size + 7u) / 8;
		u32 size = bytes > 4 ? 8 : bytes > 2 ? 4 : bytes;
		int r = lower_read(l, base.reg, off, type_int(size, false), base.own);
		ir_alu_imm(l->ir, BPF_LSH, r, 64 - f->bit_offset - f->bit_size);
		ir_alu_imm(l->ir, type_is_signed(t) ? BPF_ARSH : BPF_RSH, r, 64 - f->bit_size);
		return value_of(r);
	}
	if (type_is_scalar(t))
		return value_of(lower_read(l, base.reg, off, t, base.own));
	if (t->kind == PROGRAM_STRING) {
		bool output;
		struct place to = lower_dest(l, t, &output);
		int at = ir_reg(l->ir);
		ir_lea(l->ir, at, base.reg, off);
		if (!output)
			lower_zero(l, to, type_room(t));
		lower_read_bytes(l, to, t->size, ir_arg_reg(at), true, base.own);
		return place_value(to);
	}
	return (struct value){ .kind = VALUE_ADDR, .own = base.own, .reg = base.reg, .off = off };
}

/* A struct or array in own memory is read as one of the kernel's. */
struct value lower_address(struct lower *l, struct value v)
{
	if (v.kind == VALUE_ADDR)
		return v;
	if (v.kind == VALUE_MEM || v.kind == VALUE_CTX) {
		int r = ir_reg(l->ir);
		ir_lea(l->ir, r, v.reg, v.off);
		return (struct value){ .kind = VALUE_ADDR, .own = true, .reg = r };
	}
	return (struct value){ .kind = VALUE_ADDR, .reg = value_reg(l, v) };
}

static struct value lower_member(struct lower *l, struct node *n)
{
	u32 want = l->want_size;
	l->want_size = 0;
	struct value base = lower_expr(l, n->a);
	l->want_size = want;
	const struct program_field *f = n->field;
	if (n->a->type->kind == PROGRAM_TUPLE)
		return own_member(l, base, f);
	if (base.kind == VALUE_CTX)
		return lower_ctx_field(l, base, f);
	return read_field(l, lower_address(l, base), f);
}

/* A byte or element of own memory: the verifier has to know where it may be. What is outside is 0. */
static struct value own_element(struct lower *l, struct value base, struct node *n, u32 nr)
{
	struct ir *ir = l->ir;
	u32 size = n->type->size;
	struct value i = lower_expr(l, n->b);
	if (i.kind == VALUE_IMM) {
		base.off += (s32)(i.imm * size);
		return read_field(l, lower_address(l, base),
				  &(struct program_field){ .type = n->type });
	}
	if (!type_is_scalar(n->type)) {
		lower_fail(l, n->b, -ENOTSUP, "the index of these elements has to be a constant");
		return value_imm(0);
	}
	int result = ir_reg(ir), index = copy_reg(l, value_reg(l, i)), at = ir_reg(ir);
	int end = ir_label(ir);
	ir_imm(ir, result, 0);
	ir_if_imm(ir, BPF_JGE, index, nr, end);
	ir_alu_imm(ir, BPF_MUL, index, size);
	ir_lea(ir, at, base.reg, base.off);
	ir_alu(ir, BPF_ADD, at, index);
	ir_mov(ir, result, lower_read(l, at, 0, n->type, true));
	ir_place_label(ir, end);
	return value_of(result);
}

static struct value lower_index(struct lower *l, struct node *n)
{
	const struct program_type *t = n->a->type;
	s64 nr;
	u32 want = l->want_size;
	l->want_size = 0;
	struct value base = lower_expr(l, n->a);
	if (t->kind == PROGRAM_TUPLE) {
		(void)!check_constant(l->check, n->b, &nr);
		base.off += (s32)t->fields[nr].offset;
		if (type_is_scalar(n->type))
			return value_of(value_reg(l, base));
		return base;
	}
	if (t->kind == PROGRAM_STRING)
		return own_element(l, base, n, t->size);
	if (t->kind == PROGRAM_ARRAY && (base.kind == VALUE_MEM || base.own))
		return own_element(l, base, n, t->nr);
	int at = copy_reg(l, value_reg(l, base));
	struct value i = lower_expr(l, n->b);
	l->want_size = want;
	if (i.kind == VALUE_IMM) {
		ir_alu_imm(l->ir, BPF_ADD, at, (s64)((u64)i.imm * n->type->size));
	} else {
		int r = copy_reg(l, value_reg(l, i));
		if (n->type->size != 1)
			ir_alu_imm(l->ir, BPF_MUL, r, n->type->size);
		ir_alu(l->ir, BPF_ADD, at, r);
	}
	struct program_field f = { .type = n->type };
	return read_field(l, (struct value){ .kind = VALUE_ADDR, .reg = at }, &f);
}

static struct value lower_var(struct lower *l, struct node *n)
{
	struct var *v = n->var;
	if (type_is_scalar(v->type))
		return value_of(copy_reg(l, v->reg));
	if (type_is_raw(v->type) && !v->is_copy)
		return (struct value){ .kind = VALUE_ADDR, .reg = copy_reg(l, v->reg) };
	return place_value(lower_var_place(l, v));
}

static struct value lower_cast(struct lower *l, struct node *n)
{
	if (n->type->kind == PROGRAM_ARRAY) { /* the bytes of a number */
		struct place bytes = lower_temp(l, 8);
		ir_store(l->ir, bytes.base, bytes.off, lower_reg(l, n->a), 8);
		return place_value(bytes);
	}
	if (n->a->type->kind == PROGRAM_ARRAY) {
		struct value v = lower_address(l, lower_expr(l, n->a));
		return value_of(lower_read(l, v.reg, v.off, n->type, v.own));
	}
	if (!type_is_scalar(n->type)) {
		struct place at = lower_dest(l, n->type, NULL);
		lower_into(l, n->a, at, n->type);
		return place_value(at);
	}
	int r = copy_reg(l, lower_reg(l, n->a));
	lower_fit(l, r, n->type);
	return value_of(r);
}

static struct value step_value(struct lower *l, struct node *n)
{
	int by = n->op == TOKEN_INC ? 1 : -1;
	if (n->a->kind == NODE_MAP)
		return lower_map_step(l, n->a, by, !n->number);
	struct var *v = n->a->var;
	const struct program_type *t = v->type;
	int scale = t->kind == PROGRAM_POINTER && t->to && t->to->size ? (int)t->to->size : 1;
	int old = copy_reg(l, v->reg);
	ir_alu_imm(l->ir, BPF_ADD, v->reg, by * scale);
	lower_fit(l, v->reg, t);
	return n->number ? value_of(copy_reg(l, v->reg)) : value_of(old);
}

/* The statements of a macro, then its value. */
static struct value block_value(struct lower *l, struct node *n)
{
	l->want_size = 0;
	for (struct node *s = n->list; s && !l->err; s = s->next) {
		if (!s->next && s->kind == NODE_EXPR)
			return lower_expr(l, s->a);
		lower_statement(l, s);
	}
	return value_imm(0);
}

struct value lower_expr(struct lower *l, struct node *n)
{
	s64 v;
	if (l->err)
		return value_imm(0);
	l->ir->span = n->start;
	if (type_is_scalar(n->type) && check_constant(l->check, n, &v))
		return value_imm(v);
	switch (n->kind) {
	case NODE_STRING: return lower_text(l, n);
	case NODE_VAR: return lower_var(l, n);
	case NODE_MAP: return lower_map_get(l, n);
	case NODE_IDENT:
	case NODE_CALL: return n->builtin->lower(l, n);
	case NODE_UNARY: return lower_unary(l, n);
	case NODE_BINARY: return lower_binary(l, n);
	case NODE_TERNARY: return lower_ternary(l, n);
	case NODE_MEMBER: return lower_member(l, n);
	case NODE_INDEX: return lower_index(l, n);
	case NODE_CAST: return lower_cast(l, n);
	case NODE_TUPLE: return lower_tuple(l, n);
	case NODE_BLOCK: return block_value(l, n);
	case NODE_READ: return lower_map_read(l, n->a);
	case NODE_STEP: return step_value(l, n);
	case NODE_INLINE:
		l->want_size = 0;
		lower_inline(l, n);
		return n->a ? lower_expr(l, n->a) : value_imm(0);
	case NODE_TYPE: lower_fail(l, n, -EINVAL, "a type is not a value"); return value_imm(0);
	default: lower_fail(l, n, -ENOTSUP, "this is not supported yet"); return value_imm(0);
	}
}

/* All of a struct or array, of somebody else's memory or of own. */
static void store_raw(struct lower *l, struct value v, const struct program_type *t, struct place to)
{
	u32 room = type_room(t);
	if (v.kind == VALUE_MEM && t->size == room) {
		lower_copy(l, to, (struct place){ v.reg, v.off }, room);
		return;
	}
	struct value at = lower_address(l, v);
	int address = at.reg;
	if (at.off) {
		address = ir_reg(l->ir);
		ir_lea(l->ir, address, at.reg, at.off);
	}
	if (room > t->size)
		ir_store_imm(l->ir, to.base, to.off + (s32)room - 8, 0, 8);
	lower_read_bytes(l, to, t->size, ir_arg_reg(address), false, at.own);
}

/* Tuples whose members have other sizes go one by one. */
static void store_tuple(struct lower *l, struct value v, const struct program_type *from,
			struct place to, const struct program_type *t)
{
	for (u32 i = 0; i < t->nr; i++) {
		struct value m = v;
		m.off += (s32)from->fields[i].offset;
		lower_store(l, m, from->fields[i].type, place_at(to, (s32)t->fields[i].offset),
			    t->fields[i].type);
	}
}

void lower_store(struct lower *l, struct value v, const struct program_type *from, struct place to,
		 const struct program_type *t)
{
	if (type_is_scalar(t)) {
		if (v.kind == VALUE_IMM && v.imm == (s32)v.imm)
			ir_store_imm(l->ir, to.base, to.off, (s32)v.imm, 8);
		else
			ir_store(l->ir, to.base, to.off, value_reg(l, v), 8);
		return;
	}
	if (type_is_raw(t)) {
		store_raw(l, v, t, to);
		return;
	}
	if (t->kind == PROGRAM_TUPLE && !type_equal(from, t)) {
		store_tuple(l, v, from, to, t);
		return;
	}
	u32 have = type_room(from), room = type_room(t);
	lower_copy(l, to, (struct place){ v.reg, v.off }, min(have, room));
	if (have > room) /* a string that is cut */
		ir_store_imm(l->ir, to.base, to.off + (s32)room - 1, 0, 1);
	if (room > have)
		lower_zero(l, place_at(to, (s32)have), room - have);
}

/* Text that is known goes out as numbers. */
static void store_text(struct lower *l, const struct node *n, struct place to, u32 room, bool output)
{
	char bytes[64] = "";
	u32 len = min((u32)n->number, room - 1);
	memcpy(bytes, n->text, len);
	u32 used = min(room, (len + 8) & ~7u);
	for (u32 i = 0; i < used; i += 8) {
		s64 word;
		int r;
		memcpy(&word, bytes + i, 8);
		if (word == (s32)word) {
			ir_store_imm(l->ir, to.base, to.off + (s32)i, (s32)word, 8);
			continue;
		}
		r = ir_reg(l->ir);
		ir_imm(l->ir, r, word);
		ir_store(l->ir, to.base, to.off + (s32)i, r, 8);
	}
	if (room > used && !output)
		lower_zero(l, place_at(to, (s32)used), room - used);
}

static void into(struct lower *l, struct node *n, struct place to, const struct program_type *t,
		 bool output)
{
	if (l->err)
		return;
	if (n->kind == NODE_STRING && t->kind == PROGRAM_STRING && n->number < 64) {
		store_text(l, n, to, type_room(t), output);
		return;
	}
	bool direct = !type_is_scalar(t) && (t->kind != PROGRAM_TUPLE || type_equal(n->type, t));
	l->want = to;
	l->want_size = direct ? type_room(t) : 0;
	l->want_output = output;
	struct value v = lower_expr(l, n);
	l->want_size = 0;
	l->want_output = false;
	if (!l->err)
		lower_store(l, v, n->type, to, t);
}

void lower_into(struct lower *l, struct node *n, struct place to, const struct program_type *t)
{
	into(l, n, to, t, false);
}

void lower_output(struct lower *l, struct node *n, struct place to, const struct program_type *t)
{
	into(l, n, to, t, true);
}

static u8 jump_of(u8 op, bool is_signed)
{
	switch (op) {
	case TOKEN_EQ: return BPF_JEQ;
	case TOKEN_NE: return BPF_JNE;
	case TOKEN_LT: return is_signed ? BPF_JSLT : BPF_JLT;
	case TOKEN_LE: return is_signed ? BPF_JSLE : BPF_JLE;
	case TOKEN_GT: return is_signed ? BPF_JSGT : BPF_JGT;
	default: return is_signed ? BPF_JSGE : BPF_JGE;
	}
}

static u8 inverse(u8 op)
{
	switch (op) {
	case TOKEN_EQ: return TOKEN_NE;
	case TOKEN_NE: return TOKEN_EQ;
	case TOKEN_LT: return TOKEN_GE;
	case TOKEN_LE: return TOKEN_GT;
	case TOKEN_GT: return TOKEN_LE;
	default: return TOKEN_LT;
	}
}

/* Jumps to `differ` unless nr words at both places are the same. */
static void compare_words(struct lower *l, struct value a, struct value b, u32 nr, int differ)
{
	enum { UNROLLED = 16 };
	int x = ir_reg(l->ir), y = ir_reg(l->ir);
	if (nr <= UNROLLED) {
		for (u32 i = 0; i < nr; i++) {
			ir_load(l->ir, x, a.reg, a.off + (s32)i * 8, 8);
			ir_load(l->ir, y, b.reg, b.off + (s32)i * 8, 8);
			ir_if(l->ir, BPF_JNE, x, y, differ);
		}
		return;
	}
	int i = ir_reg(l->ir), at = ir_reg(l->ir), again = ir_label(l->ir);
	ir_imm(l->ir, i, 0);
	ir_place_label(l->ir, again);
	ir_lea(l->ir, at, a.reg, a.off);
	ir_alu(l->ir, BPF_ADD, at, i);
	ir_load(l->ir, x, at, 0, 8);
	ir_lea(l->ir, at, b.reg, b.off);
	ir_alu(l->ir, BPF_ADD, at, i);
	ir_load(l->ir, y, at, 0, 8);
	ir_if(l->ir, BPF_JNE, x, y, differ);
	ir_alu_imm(l->ir, BPF_ADD, i, 8);
	ir_if_imm(l->ir, BPF_JLT, i, (s64)nr * 8, again);
}

/* Both are zero behind their end, so the words of the shorter one decide. */
static void branch_text(struct lower *l, struct node *n, int label, bool when)
{
	bool equal = (n->op == TOKEN_EQ) == when; /* jump when they are the same */
	int differ = equal ? ir_label(l->ir) : label;
	struct node *known = n->b->kind == NODE_STRING	 ? n->b
			     : n->a->kind == NODE_STRING ? n->a
							 : NULL;
	struct node *other = known == n->b ? n->a : n->b;
	if (known && other->kind != NODE_STRING) {
		struct value v = lower_expr(l, other);
		u32 words = ((u32)strlen(known->text) + 8) / 8;
		if (words > type_room(other->type) / 8) {
			ir_jump(l->ir, differ);
		} else {
			for (u32 i = 0; i < words; i++) {
				char bytes[9] = "";
				s64 word;
				int r = ir_reg(l->ir);
				strncpy(bytes, known->text + (size_t)i * 8, 8);
				memcpy(&word, bytes, 8);
				ir_load(l->ir, r, v.reg, v.off + (s32)i * 8, 8);
				ir_if_imm(l->ir, BPF_JNE, r, word, differ);
			}
		}
	} else {
		struct value a = lower_expr(l, n->a), b = lower_expr(l, n->b);
		compare_words(l, a, b, min(type_room(n->a->type), type_room(n->b->type)) / 8,
			      differ);
	}
	if (equal) {
		ir_jump(l->ir, label);
		ir_place_label(l->ir, differ);
	}
}

/* Tuples and arrays: both as the type that holds either. */
static void branch_bytes(struct lower *l, struct node *n, int label, bool when)
{
	const struct program_type *t = type_join(l->arena, n->a->type, n->b->type, false, false);
	if (!t) {
		l->err = -ENOMEM;
		return;
	}
	u32 room = type_room(t);
	struct place a = lower_temp(l, room), b = lower_temp(l, room);
	bool equal = (n->op == TOKEN_EQ) == when;
	int differ = equal ? ir_label(l->ir) : label;
	lower_into(l, n->a, a, t);
	lower_into(l, n->b, b, t);
	compare_words(l, place_value(a), place_value(b), room / 8, differ);
	if (equal) {
		ir_jump(l->ir, label);
		ir_place_label(l->ir, differ);
	}
}

static void branch_compare(struct lower *l, struct node *n, int label, bool when)
{
	if (n->a->type->kind == PROGRAM_TUPLE || n->a->type->kind == PROGRAM_ARRAY) {
		branch_bytes(l, n, label, when);
		return;
	}
	if (!type_is_scalar(n->a->type)) {
		branch_text(l, n, label, when);
		return;
	}
	u8 op = when ? n->op : inverse(n->op);
	u8 jump = jump_of(op, check_signed_op(n->a, n->b));
	struct value va = lower_expr(l, n->a);
	int a = value_reg(l, va);
	struct value b = lower_expr(l, n->b);
	if (b.kind == VALUE_IMM)
		ir_if_imm(l->ir, jump, a, b.imm, label);
	else
		ir_if(l->ir, jump, a, value_reg(l, b), label);
}

void lower_branch(struct lower *l, struct node *n, int label, bool when)
{
	s64 v;
	if (l->err)
		return;
	l->ir->span = n->start;
	if (check_constant(l->check, n, &v)) {
		if ((v != 0) == when)
			ir_jump(l->ir, label);
		return;
	}
	if (n->kind == NODE_UNARY && n->op == TOKEN_NOT) {
		lower_branch(l, n->a, label, !when);
		return;
	}
	if (n->kind == NODE_BINARY && (n->op == TOKEN_LAND || n->op == TOKEN_LOR)) {
		bool stops = (n->op == TOKEN_LOR) == when; /* one side decides */
		int over = stops ? label : ir_label(l->ir);
		lower_branch(l, n->a, over, stops ? when : !when);
		lower_branch(l, n->b, label, when);
		if (!stops)
			ir_place_label(l->ir, over);
		return;
	}
	if (n->kind == NODE_BINARY && n->op >= TOKEN_EQ && n->op <= TOKEN_GE) {
		branch_compare(l, n, label, when);
		return;
	}
	ir_if_imm(l->ir, when ? BPF_JNE : BPF_JEQ, lower_reg(l, n), 0, label);
}
