/* Values of an expression's tree: whole numbers as long as they are exact, floats otherwise, strings as they are. */
#include "base/expr.h"
#include "base/expr_impl.h"
#include "base/glob.h"

#include <errno.h>
#include <math.h>

bool expr_true(const struct expr_value *v)
{
	switch (v->type) {
	case EXPR_INT: return v->i != 0;
	case EXPR_FLOAT: return v->f != 0 && !isnan(v->f);
	default: return *v->s;
	}
}

double expr_float(const struct expr_value *v)
{
	return v->type == EXPR_INT ? (double)v->i : v->type == EXPR_FLOAT ? v->f : (double)NAN;
}

struct eval {
	const struct expr *e;
	const struct expr_env *env;
	struct diag *d;
};

static int eval_node(const struct eval *v, const struct expr_node *n, struct expr_value *ret);

static int eval_fail(const struct eval *v, const struct expr_node *n, int err, const char *why)
{
	return expr_fail(v->d, v->e->text, n->start, n->start + n->len, err, why);
}

static struct expr_value float_value(double f)
{
	return (struct expr_value){ .type = EXPR_FLOAT, .f = f };
}

static struct expr_value negative(const struct expr_value *v)
{
	return v->type == EXPR_INT ? expr_int((s128)(0 - (unsigned __int128)v->i))
				   : float_value(-v->f);
}

/* Whole numbers wrap around instead of overflowing. */
static s128 wrap_mul(s128 a, s128 b)
{
	return (s128)((unsigned __int128)a * (unsigned __int128)b);
}

static s128 shift(s128 a, s128 by, bool left)
{
	if (by < 0 || by > 127)
		return 0;
	return left ? (s128)((unsigned __int128)a << by) : a >> by;
}

static int compare_values(const struct expr_value *a, const struct expr_value *b)
{
	if (a->type == EXPR_STR)
		return strcmp(a->s, b->s);
	if (a->type == EXPR_INT && b->type == EXPR_INT)
		return (a->i > b->i) - (a->i < b->i);
	double x = expr_float(a), y = expr_float(b);
	return (x > y) - (x < y);
}

static bool compare_op(enum expr_op op, const struct expr_value *a, const struct expr_value *b)
{
	/* NaN is not even equal to itself. */
	if (a->type != EXPR_STR && (isnan(expr_float(a)) || isnan(expr_float(b))))
		return op == EXPR_NE;
	int c = compare_values(a, b);
	switch (op) {
	case EXPR_EQ: return c == 0;
	case EXPR_NE: return c != 0;
	case EXPR_LT: return c < 0;
	case EXPR_LE: return c <= 0;
	case EXPR_GT: return c > 0;
	default: return c >= 0;
	}
}

static int divide(const struct eval *v, const struct expr_node *n, const struct expr_value *a,
		  const struct expr_value *b, struct expr_value *ret)
{
	bool ints = a->type == EXPR_INT && b->type == EXPR_INT;
	if (expr_float(b) == 0)
		return eval_fail(v, n->kids[1], -EDOM, "division by zero");
	if (n->op == EXPR_MOD)
		*ret = ints ? expr_int(b->i == -1 ? 0 : a->i % b->i)
			    : float_value(fmod(expr_float(a), expr_float(b)));
	else if (ints && b->i != -1 && a->i % b->i == 0)
		*ret = expr_int(a->i / b->i);
	else if (ints && b->i == -1)
		*ret = expr_int((s128)(0 - (unsigned __int128)a->i));
	else
		*ret = float_value(expr_float(a) / expr_float(b));
	return 0;
}

/* &, |, ^, <<, >>: whole numbers only. */
static int bit_op(const struct eval *v, const struct expr_node *n, const struct expr_value *a,
		  const struct expr_value *b, struct expr_value *ret)
{
	if (a->type != EXPR_INT || b->type != EXPR_INT)
		return eval_fail(v, a->type != EXPR_INT ? n->kids[0] : n->kids[1], -EINVAL,
				 "expected an integer");
	switch (n->op) {
	case EXPR_BIT_AND: *ret = expr_int(a->i & b->i); break;
	case EXPR_BIT_OR: *ret = expr_int(a->i | b->i); break;
	case EXPR_BIT_XOR: *ret = expr_int(a->i ^ b->i); break;
	default: *ret = expr_int(shift(a->i, b->i, n->op == EXPR_SHL));
	}
	return 0;
}

static int arithmetic(const struct eval *v, const struct expr_node *n, const struct expr_value *a,
		      const struct expr_value *b, struct expr_value *ret)
{
	bool ints = a->type == EXPR_INT && b->type == EXPR_INT;
	double x = expr_float(a), y = expr_float(b);
	switch (n->op) {
	case EXPR_ADD:
		*ret = ints ? expr_int((s128)((unsigned __int128)a->i + (unsigned __int128)b->i))
			    : float_value(x + y);
		return 0;
	case EXPR_SUB:
		*ret = ints ? expr_int((s128)((unsigned __int128)a->i - (unsigned __int128)b->i))
			    : float_value(x - y);
		return 0;
	case EXPR_MUL: *ret = ints ? expr_int(wrap_mul(a->i, b->i)) : float_value(x * y); return 0;
	case EXPR_DIV:
	case EXPR_MOD: return divide(v, n, a, b, ret);
	default: return bit_op(v, n, a, b, ret);
	}
}

static int match_op(const struct eval *v, const struct expr_node *n, const struct expr_value *a,
		    const struct expr_value *b, struct expr_value *ret)
{
	if (a->type != EXPR_STR || b->type != EXPR_STR)
		return eval_fail(v, a->type != EXPR_STR ? n->kids[0] : n->kids[1], -EINVAL,
				 "expected a string");
	if (n->op == EXPR_GLOB)
		*ret = expr_int(glob_match(b->s, a->s));
	else
		*ret = expr_int((regexec(n->regex, a->s, 0, NULL, 0) == 0) == (n->op == EXPR_REGEX));
	return 0;
}

static int eval_binary(const struct eval *v, const struct expr_node *n, struct expr_value *ret)
{
	struct expr_value a = { 0 }, b = { 0 };
	int err = eval_node(v, n->kids[0], &a);
	if (err || (err = eval_node(v, n->kids[1], &b)))
		return err;
	if (n->op >= EXPR_GLOB && n->op <= EXPR_NOT_REGEX)
		return match_op(v, n, &a, &b, ret);
	bool compares = n->op >= EXPR_EQ && n->op <= EXPR_GE;
	if ((a.type == EXPR_STR) != (b.type == EXPR_STR))
		return eval_fail(v, n, -EINVAL, "cannot mix a string and a number");
	if (a.type == EXPR_STR && !compares)
		return eval_fail(v, n, -EINVAL, "cannot do arithmetic on strings");
	if (!compares)
		return arithmetic(v, n, &a, &b, ret);
	*ret = expr_int(compare_op(n->op, &a, &b));
	return 0;
}

static int eval_logic(const struct eval *v, const struct expr_node *n, struct expr_value *ret)
{
	struct expr_value a = { 0 };
	int err = eval_node(v, n->kids[0], &a);
	if (err)
		return err;
	if (expr_true(&a) == (n->op == EXPR_AND) && (err = eval_node(v, n->kids[1], &a)))
		return err;
	*ret = expr_int(expr_true(&a));
	return 0;
}

static int eval_unary(const struct eval *v, const struct expr_node *n, struct expr_value *ret)
{
	struct expr_value a = { 0 };
	int err = eval_node(v, n->kids[0], &a);
	if (err)
		return err;
	if (n->op == EXPR_NOT) {
		*ret = expr_int(!expr_true(&a));
		return 0;
	}
	if (a.type == EXPR_STR || (a.type == EXPR_FLOAT && n->op == EXPR_BIT_NOT))
		return eval_fail(v, n->kids[0], -EINVAL,
				 n->op == EXPR_NEG ? "expected a number" : "expected an integer");
	if (n->op == EXPR_BIT_NOT)
		*ret = expr_int(~a.i);
	else
		*ret = negative(&a);
	return 0;
}

static struct expr_value extreme(const struct expr_value *args, u32 nr, enum expr_op better)
{
	struct expr_value best = args[0];
	for (u32 i = 1; i < nr; i++)
		if (compare_op(better, &args[i], &best))
			best = args[i];
	return best;
}

static int eval_builtin(const struct eval *v, const struct expr_node *n,
			const struct expr_value *args, struct expr_value *ret)
{
	double divisor;
	for (u32 i = 0; i < n->nr_args; i++)
		if (args[i].type == EXPR_STR)
			return eval_fail(v, n, -EINVAL, "this function takes numbers only");
	switch (n->builtin) {
	case BUILTIN_MIN: *ret = extreme(args, n->nr_args, EXPR_LT); break;
	case BUILTIN_MAX: *ret = extreme(args, n->nr_args, EXPR_GT); break;
	case BUILTIN_ABS: *ret = expr_float(&args[0]) < 0 ? negative(&args[0]) : args[0]; break;
	default:
		divisor = expr_float(&args[1]);
		*ret = float_value(divisor != 0 ? expr_float(&args[0]) / divisor : 0);
	}
	return 0;
}

static int eval_call(const struct eval *v, const struct expr_node *n, struct expr_value *ret)
{
	struct expr_value args[EXPR_ARGS_MAX] = { 0 };
	u32 nr = 0;
	for (const struct expr_node *arg = n->kids[0]; arg; arg = arg->next) {
		int err = eval_node(v, arg, &args[nr++]);
		if (err)
			return err;
	}
	if (n->builtin != BUILTIN_NONE)
		return eval_builtin(v, n, args, ret);
	if (!v->env || !v->env->call)
		return eval_fail(v, n, -ENOENT, "unknown function in this context");
	return v->env->call(v->env->ctx, n->func, args, nr, ret);
}

static int eval_ident(const struct eval *v, const struct expr_node *n, struct expr_value *ret)
{
	const char *name = v->e->idents.at[n->ident];
	size_t said = v->d ? v->d->nr_errors : 0;
	int err = v->env && v->env->get ? v->env->get(v->env->ctx, n->ident, name, ret) : -ENOENT;
	if (err && v->d && v->d->nr_errors == said)
		return eval_fail(v, n, err, err == -ENOENT ? "unknown name" : "this has no value");
	return err;
}

static int eval_node(const struct eval *v, const struct expr_node *n, struct expr_value *ret)
{
	struct expr_value c = { 0 };
	int err;
	switch (n->op) {
	case EXPR_VALUE: *ret = n->value; return 0;
	case EXPR_IDENT: return eval_ident(v, n, ret);
	case EXPR_CALL: return eval_call(v, n, ret);
	case EXPR_OR:
	case EXPR_AND: return eval_logic(v, n, ret);
	case EXPR_COND:
		err = eval_node(v, n->kids[0], &c);
		return err ? err : eval_node(v, n->kids[expr_true(&c) ? 1 : 2], ret);
	case EXPR_NEG:
	case EXPR_NOT:
	case EXPR_BIT_NOT: return eval_unary(v, n, ret);
	default: return eval_binary(v, n, ret);
	}
}

int expr_eval(const struct expr *e, const struct expr_env *env, struct expr_value *ret,
	      struct diag *d)
{
	struct eval v = { e, env, d };
	struct expr_value value;
	int err = eval_node(&v, e->root, &value);
	if (!err)
		*ret = value;
	return err;
}

static bool holds(const struct expr *e, const struct expr_node *n, const struct expr_env *env)
{
	switch (n->op) {
	case EXPR_AND: return holds(e, n->kids[0], env) && holds(e, n->kids[1], env);
	case EXPR_OR: return holds(e, n->kids[0], env) || holds(e, n->kids[1], env);
	case EXPR_NOT: return !holds(e, n->kids[0], env);
	default: break;
	}
	struct expr part = *e;
	struct expr_value v;
	part.root = n;
	return !expr_eval(&part, env, &v, NULL) && expr_true(&v);
}

bool expr_holds(const struct expr *e, const struct expr_env *env)
{
	return holds(e, e->root, env);
}

static void mark_text(const struct expr_node *n, bool *as_text)
{
	if (!n)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(n->kids); i++)
		mark_text(n->kids[i], as_text);
	for (unsigned i = 0; i < 2 && n->kids[0] && n->kids[1]; i++) {
		const struct expr_node *name = n->kids[i], *other = n->kids[1 - i];
		if (name->op == EXPR_IDENT && other->op == EXPR_VALUE &&
		    other->value.type == EXPR_STR)
			as_text[name->ident] = true;
	}
}

void expr_mark_text(const struct expr *e, bool *as_text)
{
	mark_text(e->root, as_text);
}
