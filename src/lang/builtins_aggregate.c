/* @x = count(), and so on: each CPU has its own value. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>

static struct value no_value(struct lower *l, struct node *n)
{
	lower_fail(l, n, -EINVAL, "the result of %s() belongs into a map: @x = %s()", n->text,
		   n->text);
	return value_imm(0);
}

static const struct program_type *plain(struct checker *c, struct node *n,
					enum program_type_kind kind, u32 size)
{
	if (n->nr && !check_number(c, n->list))
		return NULL;
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	if (t)
		*t = (struct program_type){ .kind = kind, .size = size };
	if (t && n->nr)
		t->is_signed = type_is_signed(n->list->type) && !check_is_literal(n->list);
	return t;
}

static const struct program_type *check_count(struct checker *c, struct node *n)
{
	return plain(c, n, PROGRAM_COUNT, 8);
}
static const struct program_type *check_sum(struct checker *c, struct node *n)
{
	return plain(c, n, PROGRAM_SUM, 8);
}
static const struct program_type *check_min(struct checker *c, struct node *n)
{
	return plain(c, n, PROGRAM_MIN, 16);
}
static const struct program_type *check_max(struct checker *c, struct node *n)
{
	return plain(c, n, PROGRAM_MAX, 16);
}
static const struct program_type *check_avg(struct checker *c, struct node *n)
{
	return plain(c, n, PROGRAM_AVG, 16);
}
static const struct program_type *check_stats(struct checker *c, struct node *n)
{
	return plain(c, n, PROGRAM_STATS, 16);
}

static void add_at(struct lower *l, int at, s32 off, struct value v)
{
	int r = ir_reg(l->ir);
	ir_load(l->ir, r, at, off, 8);
	if (v.kind == VALUE_IMM)
		ir_alu_imm(l->ir, BPF_ADD, r, v.imm);
	else
		ir_alu(l->ir, BPF_ADD, r, value_reg(l, v));
	ir_store(l->ir, at, off, r, 8);
}

static void add_count(struct lower *l, struct node *n, int at)
{
	(void)n;
	add_at(l, at, 0, value_imm(1));
}

static void add_sum(struct lower *l, struct node *n, int at)
{
	add_at(l, at, 0, lower_expr(l, n->list));
}

static void add_avg(struct lower *l, struct node *n, int at)
{
	add_at(l, at, 0, lower_expr(l, n->list));
	add_at(l, at, 8, value_imm(1));
}

static void add_extreme(struct lower *l, struct node *n, int at)
{
	bool least = n->type->kind == PROGRAM_MIN, is_signed = n->type->is_signed;
	int v = lower_reg(l, n->list), old = ir_reg(l->ir), set = ir_label(l->ir),
	    end = ir_label(l->ir);
	ir_load(l->ir, old, at, 8, 8);
	ir_if_imm(l->ir, BPF_JEQ, old, 0, set);
	ir_load(l->ir, old, at, 0, 8);
	u8 jump = least ? (is_signed ? BPF_JSGE : BPF_JGE) : (is_signed ? BPF_JSLE : BPF_JLE);
	ir_if(l->ir, jump, v, old, end);
	ir_place_label(l->ir, set);
	ir_store(l->ir, at, 0, v, 8);
	ir_store_imm(l->ir, at, 8, 1, 8);
	ir_place_label(l->ir, end);
}

u32 aggregate_hist_buckets(u32 bits)
{
	return ((64 - bits) << bits) + (1 << bits) + 1;
}

static const struct program_type *check_hist(struct checker *c, struct node *n)
{
	s64 bits = 0;
	if (!check_number(c, n->list))
		return NULL;
	if (n->nr == 2 && (!check_constant(c, n->list->next, &bits) || bits < 0 || bits > 5)) {
		check_fail(c, n->list->next, -EINVAL, "expected a constant from 0 to 5");
		return NULL;
	}
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct program_type){ .kind = PROGRAM_HIST, .hist = { .bits = (u32)bits } };
	t->nr = aggregate_hist_buckets((u32)bits);
	t->size = t->nr * 8;
	return t;
}

/* [at + 8 * index] += 1, where index is below nr. */
static void add_bucket(struct lower *l, int at, int index, u32 nr)
{
	int end = ir_label(l->ir), p = ir_reg(l->ir);
	ir_if_imm(l->ir, BPF_JGE, index, nr, end);
	ir_alu_imm(l->ir, BPF_LSH, index, 3);
	ir_mov(l->ir, p, at);
	ir_alu(l->ir, BPF_ADD, p, index);
	add_at(l, p, 0, value_imm(1));
	ir_place_label(l->ir, end);
}

static void add_hist(struct lower *l, struct node *n, int at)
{
	aggregate_add_hist(l, n->list, at, n->type->hist.bits);
}

void aggregate_add_hist(struct lower *l, struct node *value, int at, u32 bits)
{
	struct ir *ir = l->ir;
	int v = ir_reg(ir), power = ir_reg(ir), index = ir_reg(ir);
	int small = ir_label(ir), done = ir_label(ir);
	ir_mov(ir, v, lower_reg(l, value));
	ir_imm(ir, index, 0);
	ir_if_imm(ir, BPF_JSLT, v, 0, done);
	ir_if_imm(ir, BPF_JLT, v, 1 << bits, small);
	/* The place of the highest bit, without branches: these would double the verifier's work each. */
	ir_imm(ir, power, 0);
	int rest = ir_reg(ir);
	ir_mov(ir, rest, v);
	for (int k = 5; k >= 0; k--) {
		/* shift = (rest >= 2^2^k) << k: the sign of 2^2^k - 1 - rest says whether */
		int s = ir_reg(ir);
		if (k == 5) {
			ir_mov(ir, s, rest);
			ir_alu_imm(ir, BPF_RSH, s, 32);
			ir_neg(ir, s);
		} else {
			ir_imm(ir, s, (1ll << (1 << k)) - 1);
			ir_alu(ir, BPF_SUB, s, rest);
		}
		ir_alu_imm(ir, BPF_RSH, s, 63);
		ir_alu_imm(ir, BPF_LSH, s, k);
		ir_alu(ir, BPF_RSH, rest, s);
		ir_alu(ir, BPF_ADD, power, s);
	}
	ir_alu_imm(ir, BPF_SUB, power, bits);
	ir_alu_imm(ir, BPF_AND, power, 63);
	ir_mov(ir, index, power);
	ir_alu_imm(ir, BPF_ADD, index, 1);
	ir_alu_imm(ir, BPF_LSH, index, bits);
	if (bits) {
		ir_alu(ir, BPF_RSH, v, power);
		ir_alu_imm(ir, BPF_AND, v, (1 << bits) - 1);
		ir_alu(ir, BPF_ADD, index, v);
	}
	ir_alu_imm(ir, BPF_ADD, index, 1);
	ir_jump(ir, done);
	ir_place_label(ir, small);
	ir_mov(ir, index, v);
	ir_alu_imm(ir, BPF_ADD, index, 1);
	ir_place_label(ir, done);
	add_bucket(l, at, index, aggregate_hist_buckets(bits));
}

static const struct program_type *check_lhist(struct checker *c, struct node *n)
{
	s64 v[3];
	struct node *a = n->list;
	if (!check_number(c, a))
		return NULL;
	for (u32 i = 0; i < 3; i++) {
		a = a->next;
		if (!check_constant(c, a, &v[i])) {
			check_fail(c, a, -EINVAL, "expected a constant number");
			return NULL;
		}
	}
	if (v[2] <= 0 || v[0] < 0 || v[1] <= v[0] || (v[1] - v[0]) / v[2] > 1000) {
		check_fail(c, n, -EINVAL,
			   "lhist() needs 0 <= min < max, a step above 0 and at most 1000 buckets");
		return NULL;
	}
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct program_type){ .kind = PROGRAM_LHIST,
				    .hist = { .min = v[0], .max = v[1], .step = v[2] } };
	t->nr = (u32)((v[1] - v[0] + v[2] - 1) / v[2]) + 2;
	t->size = t->nr * 8;
	return t;
}

static void add_lhist(struct lower *l, struct node *n, int at)
{
	struct ir *ir = l->ir;
	const struct program_type *t = n->type;
	int v = ir_reg(ir), index = ir_reg(ir), done = ir_label(ir);
	ir_mov(ir, v, lower_reg(l, n->list));
	ir_imm(ir, index, 0);
	ir_if_imm(ir, BPF_JSLT, v, t->hist.min, done);
	ir_imm(ir, index, t->nr - 1);
	ir_if_imm(ir, BPF_JSGE, v, t->hist.max, done);
	ir_mov(ir, index, v);
	ir_alu_imm(ir, BPF_SUB, index, t->hist.min);
	ir_alu_imm(ir, BPF_DIV, index, t->hist.step);
	ir_alu_imm(ir, BPF_ADD, index, 1);
	ir_place_label(ir, done);
	add_bucket(l, at, index, t->nr);
}

static const struct builtin rows[] = {
	{ "count", 0, 0, BUILTIN_AGGREGATE, check_count, no_value, add_count, "number of calls",
	  .form = "()" },
	{ "sum", 1, 1, BUILTIN_AGGREGATE, check_sum, no_value, add_sum, "sum", .form = "(NUMBER)" },
	{ "avg", 1, 1, BUILTIN_AGGREGATE, check_avg, no_value, add_avg, "average",
	  .form = "(NUMBER)" },
	{ "min", 1, 1, BUILTIN_AGGREGATE, check_min, no_value, add_extreme, "minimum",
	  .form = "(NUMBER)" },
	{ "max", 1, 1, BUILTIN_AGGREGATE, check_max, no_value, add_extreme, "maximum",
	  .form = "(NUMBER)" },
	{ "stats", 1, 1, BUILTIN_AGGREGATE, check_stats, no_value, add_avg,
	  "count, average and total", .form = "(NUMBER)" },
	{ "hist", 1, 2, BUILTIN_AGGREGATE, check_hist, no_value, add_hist,
	  "histogram by powers of two", .form = "(NUMBER[, BITS])" },
	{ "lhist", 4, 4, BUILTIN_AGGREGATE, check_lhist, no_value, add_lhist,
	  "histogram by steps of the same size", .form = "(NUMBER, MIN, MAX, STEP)" },
};

const struct builtin_group builtins_aggregate = { rows, ARRAY_SIZE(rows),
						  "Aggregates: what a map counts" };
