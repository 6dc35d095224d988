/* Aggregates over buckets: quantiles, and values over time. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

static struct value no_value(struct lower *l, struct node *n)
{
	lower_fail(l, n, -EINVAL, "the result of %s() belongs into a map: @x = %s()", n->text,
		   n->text);
	return value_imm(0);
}

/* 2^5 buckets for each power of two: the middle of one is at most 1.6 % off. */
enum { QUANTILE_BITS = 5, QUANTILES_MAX = 16 };

static const struct program_type *check_quantile(struct checker *c, struct node *n)
{
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	u8 *percent = arena_zalloc(c->arena, QUANTILES_MAX);
	u32 nr = 0;
	if (!t || !percent || !check_number(c, n->list))
		return NULL;
	for (struct node *a = n->list->next; a; a = a->next) {
		s64 v;
		if (!check_constant(c, a, &v) || v < 1 || v > 100) {
			check_fail(c, a, -EINVAL, "a quantile is a constant from 1 to 100 percent");
			return NULL;
		}
		if (nr == QUANTILES_MAX) {
			check_fail(c, a, -E2BIG, "more than %d quantiles", QUANTILES_MAX);
			return NULL;
		}
		percent[nr++] = (u8)v;
	}
	if (!nr) { /* what most people ask for */
		static const u8 usual[] = { 50, 90, 99 };
		memcpy(percent, usual, sizeof(usual));
		nr = sizeof(usual);
	}
	*t = (struct program_type){ .kind = PROGRAM_QUANTILE,
				    .nr = nr,
				    .quantiles = percent,
				    .hist = { .bits = QUANTILE_BITS } };
	t->size = 8 * aggregate_hist_buckets(QUANTILE_BITS);
	return t;
}

static void add_quantile(struct lower *l, struct node *n, int at)
{
	aggregate_add_hist(l, n->list, at, QUANTILE_BITS);
}

static const char *const kinds[] = { "", "avg", "sum", "min", "max" };

static const struct program_type *check_tseries(struct checker *c, struct node *n)
{
	struct node *value = n->list, *interval = value->next, *count = interval->next;
	s64 step, nr;
	const char *kind = "";
	if (!check_number(c, value))
		return NULL;
	if (!check_constant(c, interval, &step) || step < 1) {
		check_fail(c, interval, -EINVAL, "the interval is a constant: 1s, 100ms");
		return NULL;
	}
	if (!check_constant(c, count, &nr) || nr < 1 || nr > 1000) {
		check_fail(c, count, -EINVAL,
			   "the number of intervals is a constant from 1 to 1000");
		return NULL;
	}
	if (count->next) {
		for (size_t i = 1; i < ARRAY_SIZE(kinds) && !*kind; i++)
			if (count->next->kind == NODE_STRING && !strcmp(kinds[i], count->next->text))
				kind = kinds[i];
		if (!*kind) {
			check_fail(c, count->next, -EINVAL,
				   "the values of an interval become one by avg, sum, min or max");
			return NULL;
		}
	}
	struct program_type *t = arena_zalloc(c->arena, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct program_type){ .kind = PROGRAM_TSERIES,
				    .nr = (u32)nr,
				    .format = kind,
				    .is_signed =
					    type_is_signed(value->type) && !check_is_literal(value),
				    .hist = { .step = step },
				    .size = (u32)nr * (u32)sizeof(struct program_interval) };
	return t;
}

enum {
	EPOCH = offsetof(struct program_interval, epoch),
	VALUE = offsetof(struct program_interval, value),
	COUNT = offsetof(struct program_interval, count),
};

/* Joins v with the value of the interval at p. */
static void join_interval(struct lower *l, const struct program_type *t, int p, int v, int now)
{
	struct ir *ir = l->ir;
	int old = ir_reg(ir), end = ir_label(ir);
	char kind = t->format[0] ? t->format[1] : 0; /* v, u, i, a */
	if (!kind) {
		ir_store(ir, p, VALUE, v, 8);
		ir_store(ir, p, COUNT, now, 8);
		return;
	}
	ir_load(ir, old, p, VALUE, 8);
	if (kind == 'v' || kind == 'u') {
		ir_alu(ir, BPF_ADD, old, v);
		ir_store(ir, p, VALUE, old, 8);
		ir_load(ir, old, p, COUNT, 8);
		ir_alu_imm(ir, BPF_ADD, old, 1);
		ir_store(ir, p, COUNT, old, 8);
		return;
	}
	u8 keep = kind == 'i' ? (t->is_signed ? BPF_JSGE : BPF_JGE)
			      : (t->is_signed ? BPF_JSLE : BPF_JLE);
	ir_if(ir, keep, v, old, end);
	ir_store(ir, p, VALUE, v, 8);
	ir_place_label(ir, end);
}

static void add_tseries(struct lower *l, struct node *n, int at)
{
	struct ir *ir = l->ir;
	const struct program_type *t = n->type;
	int v = lower_reg(l, n->list), now = ir_reg(ir), epoch = ir_reg(ir), index = ir_reg(ir);
	int p = ir_reg(ir), old = ir_reg(ir), same = ir_label(ir), end = ir_label(ir);
	ir_call(ir, now, HELPER_KTIME_BOOT, 0, NULL);
	ir_mov(ir, epoch, now);
	ir_alu_imm(ir, BPF_DIV, epoch, t->hist.step);
	ir_alu_imm(ir, BPF_ADD, epoch, 1);
	ir_mov(ir, index, epoch);
	ir_alu_imm(ir, BPF_MOD, index, t->nr);
	ir_if_imm(ir, BPF_JGE, index, t->nr, end); /* for the verifier */
	ir_alu_imm(ir, BPF_MUL, index, sizeof(struct program_interval));
	ir_mov(ir, p, at);
	ir_alu(ir, BPF_ADD, p, index);
	ir_load(ir, old, p, EPOCH, 8);
	ir_if(ir, BPF_JEQ, old, epoch, same);
	ir_store(ir, p, EPOCH, epoch, 8);
	ir_store(ir, p, VALUE, v, 8);
	if (t->format[0])
		ir_store_imm(ir, p, COUNT, 1, 8);
	else
		ir_store(ir, p, COUNT, now, 8);
	ir_jump(ir, end);
	ir_place_label(ir, same);
	join_interval(l, t, p, v, now);
	ir_place_label(ir, end);
}

static const struct builtin rows[] = {
	{ "quantile", 1, BUILTIN_ANY, BUILTIN_AGGREGATE, check_quantile, no_value, add_quantile,
	  "values below which the given percentages lie, at most 2 % off",
	  .form = "(NUMBER, PERCENT...)" },
	{ "tseries", 3, 4, BUILTIN_AGGREGATE, check_tseries, no_value, add_tseries,
	  "values over time, one for each interval", .form = "(NUMBER, INTERVAL, COUNT[, KIND])" },
};

const struct builtin_group builtins_series = { rows, ARRAY_SIZE(rows),
					       "Aggregates with more detail" };
