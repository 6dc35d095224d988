/* Statements, and the frame of a code. */
#include "lang/lower.h"

#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

u8 lower_plain_op(u8 assign)
{
	static const u8 ops[] = {
		[TOKEN_ADD_ASSIGN] = TOKEN_ADD, [TOKEN_SUB_ASSIGN] = TOKEN_SUB,
		[TOKEN_MUL_ASSIGN] = TOKEN_MUL, [TOKEN_DIV_ASSIGN] = TOKEN_DIV,
		[TOKEN_MOD_ASSIGN] = TOKEN_MOD, [TOKEN_AND_ASSIGN] = TOKEN_AND,
		[TOKEN_OR_ASSIGN] = TOKEN_OR,	[TOKEN_XOR_ASSIGN] = TOKEN_XOR,
		[TOKEN_SHL_ASSIGN] = TOKEN_SHL, [TOKEN_SHR_ASSIGN] = TOKEN_SHR,
	};
	return ops[assign];
}

/* Whether the variable is read in the tree. */
static bool mentions(const struct node *n, const struct var *v)
{
	if (!n)
		return false;
	if (n->kind == NODE_VAR && n->var == v)
		return true;
	for (const struct node *e = n->list; e; e = e->next)
		if (mentions(e, v))
			return true;
	return mentions(n->a, v) || mentions(n->b, v) || mentions(n->c, v);
}

static void assign_var(struct lower *l, struct var *v, struct node *value)
{
	if (type_is_scalar(v->type)) {
		struct value x = lower_expr(l, value);
		if (x.kind == VALUE_IMM)
			ir_imm(l->ir, v->reg, check_fit(x.imm, v->type));
		else {
			ir_mov(l->ir, v->reg, value_reg(l, x));
			if (!type_equal(v->type, value->type))
				lower_fit(l, v->reg, v->type);
		}
		return;
	}
	if (type_is_raw(v->type) && !v->is_copy) {
		struct value x = lower_expr(l, value);
		ir_mov(l->ir, v->reg, value_reg(l, x));
		return;
	}
	struct place at = lower_var_place(l, v);
	if (!mentions(value, v)) {
		lower_into(l, value, at, v->type);
		return;
	}
	struct place tmp = lower_temp(l, type_room(v->type));
	lower_into(l, value, tmp, v->type);
	lower_copy(l, at, tmp, type_room(v->type));
}

static void lower_assign(struct lower *l, struct node *n)
{
	if (n->op == TOKEN_ASSIGN) {
		if (n->a->kind == NODE_VAR)
			assign_var(l, n->a->var, n->b);
		else
			lower_map_assign(l, n->a, n->b);
		return;
	}
	u8 op = lower_plain_op(n->op);
	bool is_signed = check_signed_op(n->a, n->b);
	if (n->a->kind == NODE_MAP) {
		lower_map_compound(l, n->a, op, n->b, is_signed);
		return;
	}
	struct var *v = n->a->var;
	struct value b = lower_expr(l, n->b);
	if (v->type->kind == PROGRAM_POINTER && v->type->to && v->type->to->size > 1) {
		int r = ir_reg(l->ir);
		ir_mov(l->ir, r, value_reg(l, b));
		ir_alu_imm(l->ir, BPF_MUL, r, v->type->to->size);
		b = value_of(r);
	}
	lower_arith(l, op, v->reg, b, is_signed);
	lower_fit(l, v->reg, v->type);
}

static void lower_if(struct lower *l, struct node *n)
{
	int other = ir_label(l->ir), end = n->c ? ir_label(l->ir) : other;
	lower_branch(l, n->a, other, false);
	lower_statement(l, n->b);
	if (n->c) {
		ir_jump(l->ir, end);
		ir_place_label(l->ir, other);
		lower_statement(l, n->c);
	}
	ir_place_label(l->ir, end);
}

static void lower_while(struct lower *l, struct node *n)
{
	struct lower_loop loop = { ir_label(l->ir), ir_label(l->ir), l->loop };
	l->loop = &loop;
	ir_place_label(l->ir, loop.next);
	lower_branch(l, n->a, loop.end, false);
	lower_statement(l, n->b);
	ir_jump(l->ir, loop.next);
	ir_place_label(l->ir, loop.end);
	l->loop = loop.outer;
}

static void lower_unroll(struct lower *l, struct node *n)
{
	s64 times;
	struct lower_loop loop = { 0, ir_label(l->ir), l->loop };
	(void)!check_constant(l->check, n->a, &times);
	l->loop = &loop;
	for (; times > 0 && !l->err; times--) {
		loop.next = ir_label(l->ir);
		lower_statement(l, n->b);
		ir_place_label(l->ir, loop.next);
		if (l->ir->insns.nr > 200000)
			lower_fail(l, n, -E2BIG, "the unrolled loop is too large");
	}
	ir_place_label(l->ir, loop.end);
	l->loop = loop.outer;
}

/* The verifier walks through each round of a loop: only short ones are left to it. */
static bool is_short(struct lower *l, const struct node *n)
{
	enum { SHORT = 32 };
	s64 from, end;
	bool deep = l->callback && l->callback->depth + 1 >= LOWER_LOOPS_MAX;
	if (!l->in->callbacks || deep || l->is_tight)
		return true;
	return check_constant(l->check, n->a, &from) && check_constant(l->check, n->b, &end) &&
	       (end <= from || (u64)end - (u64)from <= SHORT);
}

static bool has_callbacks(struct lower *l, const struct node *n)
{
	if (!n)
		return false;
	for (const struct node *e = n->list; e; e = e->next)
		if (has_callbacks(l, e))
			return true;
	return n->kind == NODE_FOR_MAP || (n->kind == NODE_RANGE && !is_short(l, n)) ||
	       has_callbacks(l, n->a) || has_callbacks(l, n->b) || has_callbacks(l, n->c);
}

/* The counter is its own: what the body does to its variable changes nothing. */
static void lower_range(struct lower *l, struct node *n)
{
	if (!is_short(l, n)) {
		lower_each(l, n);
		return;
	}
	struct lower_loop loop = { ir_label(l->ir), ir_label(l->ir), l->loop };
	int i = ir_reg(l->ir), last = ir_reg(l->ir), again = ir_label(l->ir);
	ir_mov(l->ir, i, lower_reg(l, n->a));
	ir_mov(l->ir, last, lower_reg(l, n->b));
	l->loop = &loop;
	ir_place_label(l->ir, again);
	s64 end;
	if (check_constant(l->check, n->b, &end))
		ir_if_imm(l->ir, BPF_JSGE, i, end, loop.end);
	else
		ir_if(l->ir, BPF_JSGE, i, last, loop.end);
	ir_mov(l->ir, n->var->reg, i);
	lower_statement(l, n->c);
	ir_place_label(l->ir, loop.next);
	ir_alu_imm(l->ir, BPF_ADD, i, 1);
	ir_jump(l->ir, again);
	ir_place_label(l->ir, loop.end);
	l->loop = loop.outer;
}

/* Here, not at the start of the code: until here it needs no register. */
static void clear_var(struct lower *l, struct var *v)
{
	if (type_is_scalar(v->type) || (type_is_raw(v->type) && !v->is_copy))
		ir_imm(l->ir, v->reg, 0);
	else
		lower_zero(l, lower_var_place(l, v), type_room(v->type));
}

/* From a function of the script. */
static void lower_return(struct lower *l, struct node *n)
{
	if (l->inline_end < 0) {
		lower_fail(
			l, n,
			-ENOTSUP, "a function cannot return from inside of a loop over a map or a long range");
		return;
	}
	if (n->b)
		assign_var(l, n->b->var, n->a);
	ir_jump(l->ir, l->inline_end);
}

void lower_inline(struct lower *l, struct node *n)
{
	int outer = l->inline_end;
	for (struct node *let = n->list; let; let = let->next)
		lower_statement(l, let);
	if (n->a)
		clear_var(l, n->a->var);
	l->inline_end = ir_label(l->ir);
	lower_statement(l, n->b);
	ir_place_label(l->ir, l->inline_end);
	l->inline_end = outer;
}

static void lower_by_kind(struct lower *l, struct node *n)
{
	switch (n->kind) {
	case NODE_BLOCK:
		for (struct node *s = n->list; s && !l->err; s = s->next)
			lower_statement(l, s);
		break;
	case NODE_ASSIGN: lower_assign(l, n); break;
	case NODE_LET:
		if (n->b)
			assign_var(l, n->a->var, n->b);
		else
			clear_var(l, n->a->var);
		break;
	case NODE_EXPR: (void)lower_expr(l, n->a); break;
	case NODE_IF: lower_if(l, n); break;
	case NODE_WHILE: lower_while(l, n); break;
	case NODE_UNROLL: lower_unroll(l, n); break;
	case NODE_RANGE: lower_range(l, n); break;
	case NODE_FOR_MAP: lower_each(l, n); break;
	case NODE_RETURN:
		if (n->number) {
			lower_return(l, n);
			break;
		}
		if (n->a)
			(void)lower_expr(l, n->a);
		ir_jump(l->ir, l->label_end);
		break;
	case NODE_BREAK: ir_jump(l->ir, l->loop->end); break;
	case NODE_CONTINUE: ir_jump(l->ir, l->loop->next); break;
	default: lower_fail(l, n, -ENOTSUP, "this is not supported yet");
	}
}

void lower_statement(struct lower *l, struct node *n)
{
	u32 stack = l->stack_used, scratch = l->scratch_used;
	if (l->err)
		return;
	l->ir->span = n->start;
	lower_by_kind(l, n);
	l->stack_used = stack;
	l->scratch_used = scratch;
}

static void place_vars(struct lower *l)
{
	for (struct var *v = l->block->vars; v && !l->err; v = v->next) {
		if (!v->type) {
			l->err = -EINVAL; /* check_point() has refused it */
			return;
		}
		if (type_is_scalar(v->type) || (type_is_raw(v->type) && !v->is_copy)) {
			v->reg = ir_reg(l->ir);
			ir_imm(l->ir, v->reg, 0);
			continue;
		}
		u32 size = type_room(v->type);
		struct place p = lower_is_looped(l->block->body, v) ? lower_scratch(l, size)
								    : lower_temp(l, size);
		v->in_scratch = p.base != IR_FP;
		v->place = p.off;
		if (v->needs_zero)
			lower_zero(l, p, size);
	}
}

/*
 * Takes a frame of scratch memory that nobody on this CPU holds: a probe may interrupt another one, and a task may be replaced by another
 * while it is in one. Each frame begins with its lock.
 */
static void take_frame(struct lower *l, int leave)
{
	struct ir *ir = l->ir;
	int got = ir_label(ir);
	u32 map = lower_scratch_map(l);
	struct place key = { IR_FP, -(s32)(l->stack_max + 8) };
	l->stack_max += 8;
	for (int k = 0; k < LOWER_SCRATCH_LEVELS; k++) {
		int taken = ir_reg(ir);
		ir_store_imm(ir, key.base, key.off, k, 8);
		ir_call(ir, l->scratch, HELPER_MAP_LOOKUP, 2,
			(struct ir_arg[]){ ir_arg_map(map), arg_place(key) });
		ir_if_imm(ir, BPF_JEQ, l->scratch, 0, leave);
		ir_imm(ir, taken, 1);
		ir_atomic_xchg(ir, l->scratch, 0, taken);
		ir_if_imm(ir, BPF_JEQ, taken, 0, got);
	}
	lower_count_drop(l);
	ir_jump(ir, leave);
	ir_place_label(ir, got);
}

/* Moves the instructions from `from` on to place `to`. */
static int rotate(struct ir *ir, size_t to, size_t from)
{
	size_t nr = ir->insns.nr - from;
	struct ir_insn *tmp = malloc((nr + 1) * sizeof(*tmp));
	if (!tmp)
		return -ENOMEM;
	memcpy(tmp, ir->insns.at + from, nr * sizeof(*tmp));
	memmove(ir->insns.at + to + nr, ir->insns.at + to, (from - to) * sizeof(*tmp));
	memcpy(ir->insns.at + to, tmp, nr * sizeof(*tmp));
	free(tmp);
	return 0;
}

/* Where a program at a tracepoint returns 0, the kernel hides the event from everybody who records or counts it with perf. */
static void exit_point(struct lower *l)
{
	int status = IR_NONE;
	if (l->probe->provider == PROGRAM_TRACEPOINT) {
		status = ir_reg(l->ir);
		ir_imm(l->ir, status, 1);
	}
	ir_exit(l->ir, status);
}

int lower_point(struct lower *l)
{
	struct ir *ir = l->ir;
	l->ctx = ir_reg(ir);
	l->label_end = ir_label(ir);
	l->inline_end = -1;
	int leave = ir_label(ir);
	struct ir_insn *first = vec_push(&ir->insns);
	if (!first)
		return -ENOMEM;
	*first = (struct ir_insn){ .op = IR_CTX, .dst = l->ctx, .src = IR_NONE, .span = UINT32_MAX };
	l->stack_limit = has_callbacks(l, l->block->body) ? LOWER_STACK_CALLER
			 : l->is_tight			  ? LOWER_STACK_TIGHT
							  : LOWER_STACK_MAX;
	place_vars(l);
	if (l->block->predicate)
		lower_branch(l, l->block->predicate, l->label_end, false);
	lower_statement(l, l->block->body);
	ir->span = UINT32_MAX;
	ir_place_label(ir, l->label_end);
	if (l->scratch)
		ir_store_imm(ir, l->scratch, 0, 0, 8);
	ir_place_label(ir, leave);
	exit_point(l);
	if (l->scratch && !l->err) {
		size_t from = ir->insns.nr;
		take_frame(l, leave);
		if (!ir->err && rotate(ir, 1, from))
			return -ENOMEM;
		l->shared->scratch_size = max(l->shared->scratch_size, 8 + l->scratch_max);
	}
	return l->err ? l->err : ir->err;
}
