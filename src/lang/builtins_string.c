/* Strings that are made of others, and bytes that are compared. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

static const struct program_type *check_strcap(struct checker *c, struct node *n)
{
	struct node *s = n->list;
	s64 len;
	if (!s->type)
		return NULL;
	if (s->type->kind != PROGRAM_STRING)
		return check_wrong(c, s, "strcap() takes a string, not a value of type %s", s->type);
	if (!s->next) { /* how much it can hold */
		n->number = s->kind == NODE_STRING ? s->number + 1 : s->type->size;
		n->kind = NODE_INT;
		n->list = NULL;
		n->nr = 0;
		return &type_s64;
	}
	if (!check_constant(c, s->next, &len) || len < 0 || len >= 1 << 16) {
		check_fail(c, s->next, -EINVAL, "the length is a constant from 0 to 65535");
		return NULL;
	}
	n->number = len;
	return type_string(c->arena, min((u32)len + 1, s->type->size));
}

static struct value lower_strcap(struct lower *l, struct node *n)
{
	struct place to = lower_dest(l, n->type, NULL);
	u32 room = type_room(n->type), len = (u32)n->number;
	lower_into(l, n->list, to, n->type);
	if (len < room) { /* what is behind the last byte has to be zero, too */
		u32 word = len & ~7u;
		int r = ir_reg(l->ir);
		ir_load(l->ir, r, to.base, to.off + (s32)word, 8);
		if (len & 7) {
			ir_alu_imm(l->ir, BPF_LSH, r, 64 - (len & 7) * 8);
			ir_alu_imm(l->ir, BPF_RSH, r, 64 - (len & 7) * 8);
		} else {
			ir_imm(l->ir, r, 0);
		}
		ir_store(l->ir, to.base, to.off + (s32)word, r, 8);
		if (room > word + 8)
			lower_zero(l, place_at(to, (s32)word + 8), room - word - 8);
	}
	return place_value(to);
}

static const struct program_type *check_concat(struct checker *c, struct node *n)
{
	struct node *a = n->list, *b = a->next;
	if (!a->type || !b->type)
		return NULL;
	if (a->type->kind != PROGRAM_STRING || b->type->kind != PROGRAM_STRING) {
		check_fail(c, n, -EINVAL, "str_concat() takes two strings");
		return NULL;
	}
	enum { SHORT = 64 };
	u32 size = a->type->size + b->type->size;
	/* $s = str_concat($s, "x") has to settle: what gets longer than the longest string is cut. */
	if (size > SHORT)
		size = max(c->program->config.max_strlen, max(a->type->size, b->type->size));
	return type_string(c->arena, size);
}

/* The bytes of a string in own memory, at most size of them. */
static int length_of(struct lower *l, struct place at, u32 size)
{
	struct ir *ir = l->ir;
	int i = ir_reg(ir), p = ir_reg(ir), x = ir_reg(ir), again = ir_label(ir), end = ir_label(ir);
	ir_imm(ir, i, 0);
	ir_place_label(ir, again);
	ir_lea(ir, p, at.base, at.off);
	ir_alu(ir, BPF_ADD, p, i);
	ir_load(ir, x, p, 0, 1);
	ir_if_imm(ir, BPF_JEQ, x, 0, end);
	ir_alu_imm(ir, BPF_ADD, i, 1);
	ir_if_imm(ir, BPF_JLT, i, size, again);
	ir_place_label(ir, end);
	return i;
}

static struct value lower_concat(struct lower *l, struct node *n)
{
	struct node *a = n->list, *b = a->next;
	u32 first = type_room(a->type), room = max(type_room(n->type), 48u);
	/* Not on the stack: where the second one goes is only known when it runs. */
	struct place to = lower_temp(l, room + type_room(b->type));
	struct value v;
	int p = ir_reg(l->ir), from = ir_reg(l->ir), fits = ir_label(l->ir);
	lower_zero(l, to, room);
	lower_into(l, a, to, a->type);
	v = lower_expr(l, b);
	if (l->err)
		return value_imm(0);
	ir_lea(l->ir, from, v.reg, v.off);
	int len = length_of(l, to, first);
	lower_forget(l, len);
	ir_if_imm(l->ir, BPF_JLT, len, first, fits);
	ir_imm(l->ir, len, first - 1);
	ir_place_label(l->ir, fits);
	ir_lea(l->ir, p, to.base, to.off);
	ir_alu(l->ir, BPF_ADD, p, len);
	ir_call(l->ir, IR_NONE, HELPER_READ_KERNEL_STR, 3,
		(struct ir_arg[]){ ir_arg_reg(p), ir_arg_imm(type_room(b->type)), ir_arg_reg(from) });
	if (first + type_room(b->type) > type_room(n->type))
		ir_store_imm(l->ir, to.base, to.off + (s32)type_room(n->type) - 1, 0, 1);
	return place_value(to);
}

enum { MEMCMP_MAX = 1024 };

static bool is_bytes(const struct program_type *t)
{
	return t->kind == PROGRAM_STRING || t->kind == PROGRAM_POINTER || type_is_raw(t) ||
	       t->kind == PROGRAM_INT;
}

static const struct program_type *check_memcmp(struct checker *c, struct node *n)
{
	struct node *a = n->list, *b = a->next;
	s64 len;
	if (!a->type || !b->type)
		return NULL;
	if (!is_bytes(a->type) || !is_bytes(b->type))
		return check_wrong(c, is_bytes(a->type) ? b : a,
				   "memcmp() compares memory, not a value of type %s",
				   is_bytes(a->type) ? b->type : a->type);
	if (!check_constant(c, b->next, &len) || len < 1 || len > MEMCMP_MAX) {
		check_fail(c, b->next, -EINVAL, "the length is a constant from 1 to %d", MEMCMP_MAX);
		return NULL;
	}
	n->number = len;
	return type_int(4, true);
}

/* The first bytes of a string, or at an address, in own memory; zero behind. */
static struct place bytes_of(struct lower *l, struct node *n, u32 len)
{
	u32 room = (len + 7) & ~7u;
	struct place to = lower_temp(l, room);
	struct value v = lower_expr(l, n);
	lower_zero(l, to, room);
	if (n->type->kind == PROGRAM_STRING && v.kind == VALUE_MEM) {
		u32 have = min(type_room(n->type), room);
		lower_copy(l, to, (struct place){ v.reg, v.off }, have);
		return to;
	}
	struct value at = lower_address(l, v);
	int address = ir_reg(l->ir);
	ir_lea(l->ir, address, at.reg, at.off);
	u32 have = type_is_raw(n->type) && n->type->size ? min(len, n->type->size) : len;
	lower_read_bytes(l, to, have, ir_arg_reg(address), false, at.own);
	return to;
}

static struct value lower_memcmp(struct lower *l, struct node *n)
{
	struct ir *ir = l->ir;
	u32 len = (u32)n->number;
	struct place a = bytes_of(l, n->list, len), b = bytes_of(l, n->list->next, len);
	int i = ir_reg(ir), p = ir_reg(ir), x = ir_reg(ir), y = ir_reg(ir);
	int again = ir_label(ir), end = ir_label(ir);
	ir_imm(ir, i, 0);
	ir_place_label(ir, again);
	ir_lea(ir, p, a.base, a.off);
	ir_alu(ir, BPF_ADD, p, i);
	ir_load(ir, x, p, 0, 1);
	ir_lea(ir, p, b.base, b.off);
	ir_alu(ir, BPF_ADD, p, i);
	ir_load(ir, y, p, 0, 1);
	ir_alu(ir, BPF_SUB, x, y);
	ir_if_imm(ir, BPF_JNE, x, 0, end);
	ir_alu_imm(ir, BPF_ADD, i, 1);
	ir_if_imm(ir, BPF_JLT, i, len, again);
	ir_place_label(ir, end);
	lower_forget(l, x);
	return value_of(x);
}

static const struct program_type *check_default_length(struct checker *c, struct node *n)
{
	(void)c;
	(void)n;
	return &type_u64;
}

static struct value lower_default_length(struct lower *l, struct node *n)
{
	(void)n;
	return value_imm(l->program->config.max_strlen);
}

static const struct builtin rows[] = {
	{ "strcap", 1, 2, 0, check_strcap, lower_strcap, NULL,
	  "string truncated to a length; without one, the capacity of the string",
	  .form = "(STRING[, LENGTH])" },
	{ "str_concat", 2, 2, 0, check_concat, lower_concat, NULL, "two strings joined",
	  .form = "(STRING, STRING)" },
	{ "memcmp", 3, 3, 0, check_memcmp, lower_memcmp, NULL,
	  "0 where bytes are the same, else which is less", .form = "(BYTES, BYTES, LENGTH)" },
	{ "default_str_length", 0, 0, 0, check_default_length, lower_default_length, NULL,
	  "value of the setting max_strlen", .form = "()" },
};

const struct builtin_group builtins_string = { rows, ARRAY_SIZE(rows), "More on strings" };
