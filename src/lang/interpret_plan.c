#include "lang/interpret_plan.h"

#include "lang/builtin.h"
#include "lang/interpret_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

struct plan {
	struct lower *lower;
	bool make; /* actions, on the second walk */
};

static bool can_list(struct plan *p, struct node *list);
static bool can_run(struct plan *p, struct node *n);

/* Structs and arrays may be addresses of memory that is not here. */
static bool can_hold(const struct program_type *t)
{
	if (!t || type_is_raw(t))
		return false;
	for (u32 i = 0; t->kind == PROGRAM_TUPLE && i < t->nr; i++)
		if (!can_hold(t->fields[i].type))
			return false;
	return true;
}

/* The uses of a map that is the argument of a function: of its value nothing is read here. */
static bool can_use_map(struct plan *p, struct node *n)
{
	bool percpu = n->map->value && type_is_aggregate(n->map->value);
	return can_list(p, n->list) && (percpu || can_hold(n->map->value));
}

static bool make_action(struct plan *p, struct node *n)
{
	if (!n->builtin->action || !p->make)
		return true;
	s64 action = n->builtin->action(p->lower, n);
	n->action = (u32)action;
	return action >= 0;
}

static bool can_call(struct plan *p, struct node *n)
{
	bool takes_map;
	if (!interpret_knows(n, &takes_map))
		return false;
	struct node *a = n->list;
	const char *name = n->text;
	bool map = takes_map && a && a->kind == NODE_MAP;
	if (map && !can_use_map(p, a))
		return false;
	/* Nothing but a map has keys here, and one CPU's part of it cannot be deleted. */
	if (!strcmp(name, "len") && (!map || a->nr))
		return false;
	if (!strcmp(name, "delete") && !a->nr && type_is_aggregate(a->map->value))
		return false;
	if (!strcmp(name, "str") &&
	    (n->nr > 1 || (a->kind != NODE_PARAM && a->type->kind != PROGRAM_STRING)))
		return false;
	if (!strcmp(name, "str") || !strcmp(name, "nsecs"))
		return a == NULL || a->kind == NODE_PARAM || !strcmp(name, "nsecs") ||
		       can_list(p, a);
	if (!strcmp(name, "print") && map)
		return make_action(p, n);
	return can_list(p, map ? a->next : a) && make_action(p, n);
}

static bool can_eval(struct plan *p, struct node *n)
{
	s64 v;
	if (!n->type || !can_hold(n->type))
		return false;
	if (type_is_scalar(n->type) && check_constant(p->lower->check, n, &v))
		return true;
	switch (n->kind) {
	case NODE_STRING: return true;
	case NODE_VAR: return can_hold(n->var->type);
	case NODE_MAP: return can_use_map(p, n);
	case NODE_IDENT:
	case NODE_CALL: return can_call(p, n);
	case NODE_UNARY: return n->op != TOKEN_MUL && n->op != TOKEN_AND && can_eval(p, n->a);
	case NODE_BINARY:
		return can_eval(p, n->a) && can_eval(p, n->b) &&
		       (type_is_scalar(n->a->type) || n->op == TOKEN_EQ || n->op == TOKEN_NE);
	case NODE_TERNARY:
		return can_eval(p, n->a) && (!n->b || can_eval(p, n->b)) && can_eval(p, n->c);
	case NODE_TUPLE: return can_list(p, n->list);
	case NODE_INDEX:
		return (n->a->type->kind == PROGRAM_STRING || n->a->type->kind == PROGRAM_TUPLE) &&
		       can_eval(p, n->a) && can_eval(p, n->b);
	case NODE_CAST: return can_eval(p, n->a);
	case NODE_MEMBER: return n->a->type->kind == PROGRAM_TUPLE && can_eval(p, n->a);
	case NODE_INLINE:
		for (struct node *let = n->list; let; let = let->next)
			if (!can_run(p, let))
				return false;
		return can_run(p, n->b) && (!n->a || can_eval(p, n->a));
	case NODE_BLOCK: return can_run(p, n);
	case NODE_READ: return n->a->kind == NODE_MAP && can_use_map(p, n->a);
	case NODE_STEP:
		return n->a->kind == NODE_VAR || (n->a->kind == NODE_MAP && can_use_map(p, n->a));
	default: return false;
	}
}

static bool can_list(struct plan *p, struct node *list)
{
	for (struct node *n = list; n; n = n->next)
		if (!can_eval(p, n))
			return false;
	return true;
}

static bool can_assign(struct plan *p, struct node *n)
{
	if (n->a->kind == NODE_VAR)
		return can_hold(n->a->var->type) && can_eval(p, n->b);
	if (n->a->kind != NODE_MAP || !can_use_map(p, n->a))
		return false;
	const struct program_type *t = n->a->map->value;
	if (type_is_aggregate(t))
		return t->kind != PROGRAM_TSERIES && n->b->kind == NODE_CALL &&
		       can_list(p, n->b->list);
	return can_eval(p, n->b);
}

/* What a function without a value does, like printf(). */
static bool can_do(struct plan *p, struct node *n)
{
	if ((n->kind == NODE_CALL || n->kind == NODE_IDENT) && n->type &&
	    n->type->kind == PROGRAM_VOID)
		return can_call(p, n);
	if (n->kind == NODE_BLOCK)
		return can_run(p, n);
	if (n->kind == NODE_INLINE) {
		for (struct node *let = n->list; let; let = let->next)
			if (!can_run(p, let))
				return false;
		return can_run(p, n->b) && (!n->a || can_eval(p, n->a));
	}
	return can_eval(p, n);
}

static bool can_run(struct plan *p, struct node *n)
{
	if (!n)
		return true;
	switch (n->kind) {
	case NODE_BLOCK:
		for (struct node *s = n->list; s; s = s->next)
			if (!can_run(p, s))
				return false;
		return true;
	case NODE_ASSIGN: return can_assign(p, n);
	case NODE_LET: return can_hold(n->a->var->type) && (!n->b || can_eval(p, n->b));
	case NODE_EXPR: return can_do(p, n->a);
	case NODE_IF: return can_eval(p, n->a) && can_run(p, n->b) && can_run(p, n->c);
	case NODE_WHILE:
	case NODE_UNROLL: return can_eval(p, n->a) && can_run(p, n->b);
	case NODE_RANGE: return can_eval(p, n->a) && can_eval(p, n->b) && can_run(p, n->c);
	case NODE_FOR_MAP: return can_hold(n->var->type) && can_run(p, n->c);
	case NODE_RETURN: return !n->a || can_eval(p, n->a);
	case NODE_BREAK:
	case NODE_CONTINUE: return true;
	default: return false;
	}
}

int interpret_plan(struct lower *l, struct probe_block *b)
{
	struct plan p = { .lower = l };
	for (int i = 0; i < 2; i++, p.make = true)
		if ((b->predicate && !can_eval(&p, b->predicate)) || !can_run(&p, b->body))
			return l->err ? l->err : 0;
	return l->err ? l->err : 1;
}
