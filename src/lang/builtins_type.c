/* What is known about types, and checks of the script itself. */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

/* The answer is in number: 1 or 0. */
static const struct program_type *answer(struct node *n, bool yes)
{
	n->number = yes;
	return &type_bool;
}

static struct value lower_answer(struct lower *l, struct node *n)
{
	(void)l;
	return value_imm(n->number);
}

static const struct program_type *check_is(struct checker *c, struct node *n)
{
	const struct node *a = n->list;
	const struct program_type *t = a->type;
	if (!t)
		return NULL;
	if (!strcmp(n->text, "is_str"))
		return answer(n, t->kind == PROGRAM_STRING);
	if (!strcmp(n->text, "is_ptr") && !c->in->btf) {
		check_fail(c, n, -ENOTSUP, "is_ptr() needs the types of the kernel");
		return NULL;
	}
	if (!strcmp(n->text, "is_ptr"))
		return answer(n, t->kind == PROGRAM_POINTER);
	if (!strcmp(n->text, "is_array"))
		return answer(n, t->kind == PROGRAM_ARRAY);
	if (!strcmp(n->text, "is_integer"))
		return answer(n, t->kind == PROGRAM_INT);
	if (!strcmp(n->text, "is_unsigned_integer"))
		return answer(n, t->kind == PROGRAM_INT && !t->is_signed);
	return answer(n, a->kind == NODE_INT || a->kind == NODE_STRING || a->kind == NODE_BOOL);
}

bool check_known(const struct checker *c, const struct node *n, s64 *ret)
{
	s64 a, b;
	if (n->kind == NODE_CALL && n->builtin && n->builtin->lower == lower_answer) {
		*ret = n->number;
		return true;
	}
	if (n->kind == NODE_UNARY && n->op == TOKEN_NOT && check_known(c, n->a, &a)) {
		*ret = !a;
		return true;
	}
	if (n->kind == NODE_BINARY && (n->op == TOKEN_LAND || n->op == TOKEN_LOR) &&
	    check_known(c, n->a, &a) && check_known(c, n->b, &b)) {
		*ret = n->op == TOKEN_LAND ? a && b : a || b;
		return true;
	}
	return check_constant(c, n, ret);
}

static const struct program_type *check_static_assert(struct checker *c, struct node *n)
{
	struct node *a = n->list;
	s64 v;
	if (!a->type)
		return NULL;
	if (!check_known(c, a, &v)) {
		check_fail(c, a, -EINVAL, "this is not known before the script runs");
		return NULL;
	}
	if (v)
		return &type_void;
	const struct node *text = a->next;
	check_fail(c, n, -EINVAL, "%s",
		   text && text->kind == NODE_STRING ? text->text : "the condition is false");
	return NULL;
}

static const struct program_type *check_fail_call(struct checker *c, struct node *n)
{
	check_fail(c, n, -EINVAL, "%s",
		   n->list->kind == NODE_STRING ? n->list->text
						: "the script says that it is wrong");
	return NULL;
}

static struct value lower_nothing(struct lower *l, struct node *n)
{
	(void)l;
	(void)n;
	return value_imm(0);
}

static struct node *make_call(struct checker *c, const struct node *at, const char *name,
			      struct node *list, u32 nr)
{
	struct node *n = arena_zalloc(c->arena, sizeof(*n));
	if (!n) {
		c->err = -ENOMEM;
		return NULL;
	}
	*n = (struct node){ .kind = NODE_CALL, .text = name, .list = list, .nr = nr };
	n->start = at->start;
	n->len = at->len;
	return n;
}

static struct node *make_plain(struct checker *c, const struct node *at, enum node_kind kind,
			       const char *text, s64 number)
{
	struct node *n = arena_zalloc(c->arena, sizeof(*n));
	if (!n) {
		c->err = -ENOMEM;
		return NULL;
	}
	*n = (struct node){ .kind = kind, .text = text, .number = number };
	n->start = at->start;
	n->len = at->len;
	return n;
}

/* assert(condition, text): errorf(text) and exit(1) where it is false. */
static const struct program_type *check_assert(struct checker *c, struct node *n)
{
	struct node *a = n->list, *text = a->next;
	if (!a->type || !check_number(c, a))
		return NULL;
	if (text && text->kind != NODE_STRING) {
		check_fail(c, text, -EINVAL, "the text of assert() has to be a string");
		return NULL;
	}
	if (!n->b) {
		const char *said = text ? text->text : "assertion failed";
		struct node *value = make_plain(c, n, NODE_STRING, said, (s64)strlen(said));
		struct node *format = make_plain(c, n, NODE_STRING, "%s\n", 3);
		struct node *status = make_plain(c, n, NODE_INT, NULL, 1);
		if (!value || !format || !status)
			return NULL;
		format->next = value;
		n->b = make_call(c, n, "errorf", format, 2);
		n->c = make_call(c, n, "exit", status, 1);
	}
	if (c->err || !check_expr(c, n->b) || !check_expr(c, n->c))
		return NULL;
	return &type_void;
}

static struct value lower_assert(struct lower *l, struct node *n)
{
	int holds = ir_label(l->ir);
	lower_branch(l, n->list, holds, true);
	(void)lower_expr(l, n->b);
	(void)lower_expr(l, n->c);
	ir_place_label(l->ir, holds);
	return value_imm(0);
}

static const struct program_type *check_is_err(struct checker *c, struct node *n)
{
	return check_number(c, n->list) ? &type_bool : NULL;
}

/* The kernel's errors are the last 4095 addresses. */
static struct value lower_is_err(struct lower *l, struct node *n)
{
	int v = lower_reg(l, n->list), r = ir_reg(l->ir), limit = ir_reg(l->ir),
	    end = ir_label(l->ir);
	ir_imm(l->ir, limit, -4095);
	ir_imm(l->ir, r, 0);
	ir_if(l->ir, BPF_JLT, v, limit, end);
	ir_imm(l->ir, r, 1);
	ir_place_label(l->ir, end);
	return value_of(r);
}

static const struct program_type *check_kfunc(struct checker *c, struct node *n)
{
	if (n->list->kind != NODE_STRING) {
		check_fail(c, n->list, -EINVAL, "expected the name of a function");
		return NULL;
	}
	if (!c->in->btf) {
		check_fail(c, n, -ENOTSUP, "%s() needs the types of the kernel", n->text);
		return NULL;
	}
	int err = 0;
	bool there = btf_find(c->in->btf, n->list->text, BTF_BIT(BTF_OF_FUNCTION), &err) != 0;
	if (err)
		c->err = err;
	return err ? NULL : answer(n, there);
}

static const struct program_type *check_probetype(struct checker *c, struct node *n)
{
	const char *text = c->probe->text;
	(void)n;
	return type_string(c->arena, (u32)strcspn(text, ":@") + 1);
}

static struct value lower_probetype(struct lower *l, struct node *n)
{
	(void)n;
	u32 len = (u32)strcspn(l->probe->text, ":@");
	char *name = arena_strndup(l->arena, l->probe->text, len);
	int r = ir_reg(l->ir);
	if (!name) {
		l->err = -ENOMEM;
		return value_imm(0);
	}
	u32 at = lower_data(l, name, len + 1);
	ir_map_value(l->ir, r, l->shared->data, at);
	return (struct value){ .kind = VALUE_MEM, .reg = r };
}

#define IS(n, what)                                                                                \
	{                                                                                          \
		n, 1, 1, 0, check_is, lower_answer, NULL, what, .form = "(VALUE)"                  \
	}

static const struct builtin rows[] = {
	IS("is_str", "whether it is a string"),
	IS("is_ptr", "whether it is a pointer"),
	IS("is_array", "whether it is an array"),
	IS("is_integer", "whether it is a number"),
	IS("is_unsigned_integer", "whether it is a number without a sign"),
	IS("is_literal", "whether it is written in the script"),
	{ "static_assert", 1, 2, 0, check_static_assert, lower_nothing, NULL,
	  "refuses the script where a constant is false", .form = "(CONDITION[, TEXT])" },
	{ "fail", 1, BUILTIN_ANY, 0, check_fail_call, lower_nothing, NULL, "refuses the script",
	  .form = "(FORMAT, VALUE...)" },
	{ "assert", 1, 2, 0, check_assert, lower_assert, NULL,
	  "ends the script where a condition is false", .form = "(CONDITION[, TEXT])" },
	{ "is_err", 1, 1, 0, check_is_err, lower_is_err, NULL,
	  "whether a pointer is an error of the kernel", .form = "(POINTER)" },
	{ "kfunc_exist", 1, 1, 0, check_kfunc, lower_answer, NULL,
	  "whether the kernel has the function", .form = "(NAME)" },
	{ "probetype", 0, 0, BUILTIN_VALUE, check_probetype, lower_probetype, NULL,
	  "kind of the probe" },
};

const struct builtin_group builtins_type = { rows, ARRAY_SIZE(rows), "Types, and checks" };
