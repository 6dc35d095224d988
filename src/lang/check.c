/* Types of expressions. */
#include "lang/check.h"

#include "base/str.h"
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <stdarg.h>

int check_fail(struct checker *c, const struct node *n, int err, const char *fmt, ...)
{
	if (!c->err && c->arena->failed)
		c->err = -ENOMEM;
	if (c->err)
		return c->err;
	struct strbuf s;
	va_list ap;
	strbuf_init(&s);
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	c->err = lang_error(c->diag, c->in->text, n->start, n->len, err, "%s", strbuf_cstr(&s));
	strbuf_done(&s);
	return c->err;
}

/* The %s of the text is the type. */
const struct program_type *check_wrong(struct checker *c, const struct node *n, const char *text,
				       const struct program_type *t)
{
	struct strbuf s;
	const char *mark = strstr(text, "%s");
	strbuf_init(&s);
	strbuf_add(&s, text, mark ? (size_t)(mark - text) : strlen(text));
	if (mark) {
		type_text(t, &s);
		strbuf_str(&s, mark + 2);
	}
	check_fail(c, n, -EINVAL, "%s", strbuf_cstr(&s));
	strbuf_done(&s);
	return NULL;
}

bool check_is_literal(const struct node *n)
{
	if (n->kind == NODE_BINARY)
		return check_is_literal(n->a) && check_is_literal(n->b) && n->op != TOKEN_SUB;
	return (n->kind == NODE_INT && !n->is_unsigned) || n->kind == NODE_PARAM ||
	       n->kind == NODE_PARAM_COUNT || n->kind == NODE_SIZEOF || n->kind == NODE_OFFSETOF;
}

bool check_number(struct checker *c, struct node *n)
{
	if (!n->type)
		return false;
	if (type_is_scalar(n->type))
		return true;
	check_wrong(c, n, "expected a number, not a value of type %s", n->type);
	return false;
}

/* Those of --name are for getopt(). */
static bool is_option(const char *param)
{
	return param[0] == '-' && param[1] == '-' && param[2];
}

const char *check_param(const struct lang_input *in, s64 nr)
{
	for (u32 i = 0; i < in->nr_params; i++)
		if (!is_option(in->params[i]) && !--nr)
			return in->params[i];
	return NULL;
}

static s64 count_params(const struct lang_input *in)
{
	s64 nr = 0;
	for (u32 i = 0; i < in->nr_params; i++)
		nr += !is_option(in->params[i]);
	return nr;
}

static bool param_number(const struct checker *c, const struct node *n, s64 *ret)
{
	const char *text = check_param(c->in, n->number);
	u64 u;
	if (!text)
		text = "0";
	if (!num_parse_s64(text, 0, ret))
		return true;
	if (num_parse_u64(text, 0, &u))
		return false;
	*ret = (s64)u;
	return true;
}

static bool fold_unary(u8 op, s64 a, s64 *ret)
{
	switch (op) {
	case TOKEN_SUB: *ret = (s64)(0 - (u64)a); return true;
	case TOKEN_TILDE: *ret = ~a; return true;
	case TOKEN_NOT: *ret = !a; return true;
	default: return false;
	}
}

/* As the code computes it: in 64 bits, x / 0 is 0, x % 0 is x. */
bool check_fold(u8 op, s64 a, s64 b, bool is_signed, s64 *ret)
{
	u64 x = (u64)a, y = (u64)b;
	switch (op) {
	case TOKEN_ADD: *ret = (s64)(x + y); return true;
	case TOKEN_SUB: *ret = (s64)(x - y); return true;
	case TOKEN_MUL: *ret = (s64)(x * y); return true;
	case TOKEN_DIV:
		*ret = !b ? 0 : !is_signed ? (s64)(x / y) : b == -1 ? (s64)(0 - x) : a / b;
		return true;
	case TOKEN_MOD:
		*ret = !b ? a : !is_signed ? (s64)(x % y) : b == -1 ? 0 : a % b;
		return true;
	case TOKEN_AND: *ret = a & b; return true;
	case TOKEN_OR: *ret = a | b; return true;
	case TOKEN_XOR: *ret = a ^ b; return true;
	case TOKEN_SHL: *ret = (s64)(x << (y & 63)); return true;
	case TOKEN_SHR: *ret = (s64)(x >> (y & 63)); return true;
	case TOKEN_EQ: *ret = a == b; return true;
	case TOKEN_NE: *ret = a != b; return true;
	case TOKEN_LT: *ret = is_signed ? a < b : x < y; return true;
	case TOKEN_LE: *ret = is_signed ? a <= b : x <= y; return true;
	case TOKEN_GT: *ret = is_signed ? a > b : x > y; return true;
	case TOKEN_GE: *ret = is_signed ? a >= b : x >= y; return true;
	case TOKEN_LAND: *ret = a && b; return true;
	case TOKEN_LOR: *ret = a || b; return true;
	default: return false;
	}
}

bool check_signed_op(const struct node *a, const struct node *b)
{
	bool as = type_is_signed(a->type) && !check_is_literal(a);
	bool bs = type_is_signed(b->type) && !check_is_literal(b);
	bool literals = check_is_literal(a) && check_is_literal(b);
	return as || bs || literals;
}

bool check_constant(const struct checker *c, const struct node *n, s64 *ret)
{
	s64 a, b;
	switch (n->kind) {
	case NODE_INT:
	case NODE_BOOL: *ret = n->number; return true;
	case NODE_PARAM: return param_number(c, n, ret);
	case NODE_PARAM_COUNT: *ret = count_params(c->in); return true;
	case NODE_SIZEOF:
	case NODE_OFFSETOF: *ret = n->number; return n->type != NULL;
	case NODE_UNARY:
		if (!check_constant(c, n->a, &a) || !fold_unary(n->op, a, ret))
			return false;
		*ret = n->type ? check_fit(*ret, n->type) : *ret;
		return true;
	case NODE_BINARY:
		return n->a->type && n->b->type && type_is_number(n->a->type) &&
		       type_is_number(n->b->type) && check_constant(c, n->a, &a) &&
		       check_constant(c, n->b, &b) &&
		       check_fold(n->op, a, b, check_signed_op(n->a, n->b), ret);
	case NODE_CAST:
		if (!n->type || (n->type->kind != PROGRAM_INT && n->type->kind != PROGRAM_ENUM) ||
		    !check_constant(c, n->a, &a))
			return false;
		*ret = check_fit(a, n->type);
		return true;
	default: return false;
	}
}

s64 check_fit(s64 v, const struct program_type *t)
{
	if (t->kind == PROGRAM_BOOL)
		return v != 0;
	if ((t->kind != PROGRAM_INT && t->kind != PROGRAM_ENUM) || t->size == 8)
		return v;
	u32 shift = 64 - t->size * 8;
	return t->is_signed ? (s64)((u64)v << shift) >> shift : (s64)((u64)v << shift >> shift);
}

/* The stars and the [N] behind a type. */
static const struct program_type *spec_suffix(struct checker *c, const struct type_spec *s,
					      const struct program_type *t)
{
	struct node at = { .start = s->start, .len = s->len };
	for (u32 i = 0; i < s->stars && t; i++)
		t = type_pointer(c->arena, t);
	if (t == &type_void) {
		check_fail(c, &at, -EINVAL, "a value cannot be of type void");
		return NULL;
	}
	if (!s->count || !t)
		return t;
	if (!t->size || s->count > (1u << 16) / t->size) {
		check_fail(c, &at, -E2BIG, "the array is too large");
		return NULL;
	}
	return type_array(c->arena, t, s->count);
}

const struct program_type *check_type_spec(struct checker *c, const struct type_spec *s)
{
	struct node at = { .start = s->start, .len = s->len };
	const struct program_type *t = NULL;
	if (s->of) {
		t = check_expr(c, s->of);
		return t && (s->stars || s->count) ? spec_suffix(c, s, t) : t;
	}
	if (!strcmp(s->name, "string"))
		return s->stars ? NULL
				: type_string(c->arena,
					      s->count ? s->count : c->program->config.max_strlen);
	if (!strcmp(s->name, "bool"))
		t = &type_bool;
	else if (!strcmp(s->name, "void"))
		t = &type_void;
	else
		t = type_by_name(s->name);
	if (!t)
		t = check_struct(c, s->name);
	if (!t) {
		check_fail(c, &at, -EINVAL, "unknown type '%s'", s->name);
		return NULL;
	}
	return spec_suffix(c, s, t);
}

/* Where a number is expected, an aggregate that is one is read. */
void check_read(struct checker *c, struct node **at)
{
	struct node *n = *at;
	if (c->err || n->kind != NODE_MAP || !n->type || !type_is_aggregate(n->type))
		return;
	if (n->type->kind != PROGRAM_COUNT && n->type->kind != PROGRAM_SUM &&
	    n->type->kind != PROGRAM_MIN && n->type->kind != PROGRAM_MAX &&
	    n->type->kind != PROGRAM_AVG) {
		check_wrong(c, n, "a value of type %s is not a number", n->type);
		return;
	}
	struct node *r = arena_zalloc(c->arena, sizeof(*r));
	if (!r) {
		c->err = -ENOMEM;
		return;
	}
	*r = (struct node){
		.kind = NODE_READ, .start = n->start, .len = n->len, .a = n, .next = n->next
	};
	r->label = n->label;
	n->next = NULL;
	*at = r;
	(void)check_expr(c, r);
}

const struct program_type *check_value(struct checker *c, struct node **at)
{
	(void)check_expr(c, *at);
	check_read(c, at);
	return c->err ? NULL : (*at)->type;
}

static const struct program_type *check_aggregate(struct checker *c, struct node *n)
{
	const struct program_type *t = check_expr(c, n->a);
	if (!t)
		return NULL;
	return type_int(8, t->is_signed || t->kind == PROGRAM_COUNT);
}

static const struct program_type *check_unary(struct checker *c, struct node *n)
{
	const struct program_type *t = check_value(c, &n->a);
	if (!t)
		return NULL;
	if (n->op == TOKEN_MUL)
		return check_deref(c, n);
	if (n->op == TOKEN_AND && n->a->kind == NODE_MEMBER && n->a->field &&
	    n->a->a->type->kind != PROGRAM_TUPLE && !n->a->field->bit_size && !n->a->field->location)
		return type_pointer(c->arena, t);
	if (n->op == TOKEN_AND) {
		check_fail(c, n, -ENOTSUP, "only members of structs have an address here");
		return NULL;
	}
	if (!check_number(c, n->a))
		return NULL;
	if (n->op == TOKEN_NOT)
		return &type_bool;
	bool is_long = t->is_signed && t->size == 8 && !check_is_literal(n->a);
	/* As bpftrace 0.27: bits of what is shorter, and of numbers that are written, have no sign. SystemTap has signed numbers only. */
	return n->op == TOKEN_SUB || is_long || c->in->stap ? &type_s64
	       : t->kind == PROGRAM_INT			    ? type_int(t->size, false)
							    : &type_u64;
}

static const struct program_type *compare_type(struct checker *c, struct node *n)
{
	const struct program_type *a = n->a->type, *b = n->b->type;
	bool equality = n->op == TOKEN_EQ || n->op == TOKEN_NE;
	if (type_is_scalar(a) && type_is_scalar(b))
		return &type_bool;
	if (equality && a->kind == PROGRAM_STRING && b->kind == PROGRAM_STRING)
		return &type_bool;
	if (equality && a->kind == PROGRAM_ARRAY && type_equal(a, b))
		return &type_bool;
	if (equality && a->kind == PROGRAM_TUPLE && type_join(c->arena, a, b, false, false))
		return &type_bool;
	struct strbuf s;
	strbuf_init(&s);
	type_text(a, &s);
	strbuf_str(&s, " and ");
	type_text(b, &s);
	check_fail(c, n, -EINVAL, "values of type %s cannot be compared with '%s'", strbuf_cstr(&s),
		   token_text((enum token_kind)n->op));
	strbuf_done(&s);
	return NULL;
}

/* 64 bits without a sign, whose upper half is negative for whoever takes it as signed; constants are known to be in the lower one. */
static bool is_wide(const struct checker *c, const struct node *n)
{
	s64 v;
	return n->type->kind == PROGRAM_INT && n->type->size == 8 && !n->type->is_signed &&
	       !(check_constant(c, n, &v) && v >= 0);
}

static bool may_be_negative(const struct checker *c, const struct node *n)
{
	s64 v;
	return n->type->kind == PROGRAM_INT && n->type->is_signed &&
	       !(check_constant(c, n, &v) && v >= 0);
}

/* Where the sign matters to the result, and the two sides do not agree about it. */
static void warn_of_signs(struct checker *c, struct node *n)
{
	bool compares =
		n->op >= TOKEN_EQ && n->op <= TOKEN_GE && n->op != TOKEN_EQ && n->op != TOKEN_NE;
	bool mixed = (is_wide(c, n->a) && may_be_negative(c, n->b)) ||
		     (is_wide(c, n->b) && may_be_negative(c, n->a));
	if (!c->final || n->warned || !mixed ||
	    (!compares && n->op != TOKEN_DIV && n->op != TOKEN_MOD))
		return;
	n->warned = true;
	lang_warn(c->diag, c->in->text, n->start, n->len,
		  "'%s' of a signed and an unsigned number: both are taken as signed",
		  token_text((enum token_kind)n->op));
	diag_hint(c->diag, "cast one of them, to (int64) or (uint64)");
}

static const struct program_type *check_binary(struct checker *c, struct node *n)
{
	const struct program_type *a = check_value(c, &n->a), *b = check_value(c, &n->b);
	if (!a || !b)
		return NULL;
	warn_of_signs(c, n);
	if (n->op >= TOKEN_EQ && n->op <= TOKEN_GE)
		return compare_type(c, n);
	if (!check_number(c, n->a) || !check_number(c, n->b))
		return NULL;
	if (n->op == TOKEN_LAND || n->op == TOKEN_LOR)
		return &type_bool;
	if (a->kind == PROGRAM_POINTER || b->kind == PROGRAM_POINTER) {
		if (a->kind == PROGRAM_POINTER && b->kind != PROGRAM_POINTER &&
		    (n->op == TOKEN_ADD || n->op == TOKEN_SUB))
			return a;
		if (b->kind == PROGRAM_POINTER && a->kind != PROGRAM_POINTER && n->op == TOKEN_ADD)
			return b;
		return &type_u64;
	}
	if (n->op == TOKEN_SUB)
		return &type_s64;
	if (n->op == TOKEN_SHL || n->op == TOKEN_SHR)
		return type_int(8, a->is_signed);
	return type_int(8, check_signed_op(n->a, n->b));
}

static const struct program_type *check_ternary(struct checker *c, struct node *n)
{
	const struct program_type *a = check_value(c, &n->a);
	const struct program_type *b = n->b ? check_value(c, &n->b) : a;
	const struct program_type *e = check_value(c, &n->c);
	if (!a || !b || !e || !check_number(c, n->a))
		return NULL;
	const struct node *first = n->b ? n->b : n->a;
	const struct program_type *t =
		type_join(c->arena, b, e, check_is_literal(first), check_is_literal(n->c));
	if (!t || t->kind == PROGRAM_VOID || type_is_aggregate(t) || type_is_raw(t)) {
		check_fail(c, n, -EINVAL, "the two sides of '?:' have different types");
		return NULL;
	}
	return t;
}

bool check_is_copyable(const struct program_type *t)
{
	return t->kind != PROGRAM_VOID && !type_is_aggregate(t) && (!type_is_raw(t) || t->size);
}

static const struct program_type *check_tuple(struct checker *c, struct node *n)
{
	const struct program_type *types[32] = { NULL };
	const char *names[32] = { NULL };
	u32 nr = 0;
	for (struct node **at = &n->list; *at; at = &(*at)->next) {
		const struct program_type *t = check_value(c, at);
		struct node *e = *at;
		if (nr == ARRAY_SIZE(types)) {
			check_fail(c, n, -E2BIG, "a tuple of more than %zu values",
				   ARRAY_SIZE(types));
			return NULL;
		}
		if (t && !check_is_copyable(t))
			return check_wrong(c, e, "a tuple cannot hold a value of type %s", t);
		names[nr] = e->label;
		types[nr++] = t;
	}
	for (u32 i = 0; i < nr; i++)
		if (!types[i])
			return NULL;
	const struct program_type *t = type_tuple(c->arena, types, nr);
	return t && nr && names[0] ? type_named(c->arena, t, names) : t;
}

static const struct program_type *check_builtin(struct checker *c, struct node *n)
{
	const struct builtin *b = builtin_find(n->text);
	if (!b || (n->kind == NODE_IDENT && !(b->flags & BUILTIN_VALUE))) {
		const struct program_type *t = n->kind == NODE_IDENT ? check_name(c, n) : NULL;
		if (t || c->err)
			return t;
		if (builtin_is_planned(n->text)) {
			check_fail(c, n, -ENOTSUP, "%s() is not supported yet", n->text);
			return NULL;
		}
		const char *close = builtin_closest(n->text);
		check_fail(c, n, -EINVAL,
			   n->kind == NODE_CALL ? "unknown function '%s'" : "unknown name '%s'",
			   n->text);
		if (close && strcmp(close, n->text))
			diag_hint(c->diag, "did you mean '%s'?", close);
		return NULL;
	}
	n->builtin = b;
	if (n->nr < b->min_args || (b->max_args != BUILTIN_ANY && n->nr > b->max_args)) {
		check_fail(c, n, -EINVAL, "%s() takes %u to %u arguments, not %u", b->name,
			   b->min_args, b->max_args, n->nr);
		return NULL;
	}
	if (b->flags & BUILTIN_UNSAFE) {
		if (!c->in->allow_unsafe) {
			check_fail(c, n, -EPERM, "%s() changes the system", b->name);
			diag_hint(c->diag, "allow it with %s",
				  diag_option(c->diag, DIAG_OPT_UNSAFE));
			return NULL;
		}
		c->program->unsafe = true;
	}
	for (struct node **at = &n->list; *at; at = &(*at)->next) {
		bool map = at == &n->list && (*at)->kind == NODE_MAP && check_map_as_argument(b);
		bool text = (*at)->kind == NODE_PARAM && !strcmp(b->name, "str");
		if (map && (*at)->nr)
			(void)check_expr(c, *at);
		else if (!map && !text)
			(void)check_value(c, at);
	}
	return c->err ? NULL : b->check(c, n);
}

static const struct program_type *check_cast(struct checker *c, struct node *n)
{
	const struct program_type *to = check_type_spec(c, n->spec);
	const struct program_type *from = check_value(c, &n->a);
	if (!to || !from)
		return NULL;
	if (to->kind == PROGRAM_STRING && from->kind == PROGRAM_STRING)
		return to;
	/* a number as its bytes, and back */
	if (to->kind == PROGRAM_ARRAY && type_is_scalar(from) && to->size <= 8)
		return to;
	if (to->kind == PROGRAM_INT && from->kind == PROGRAM_ARRAY && from->size == to->size)
		return to;
	if (!type_is_scalar(to))
		return check_wrong(c, n, "cannot cast to %s", to);
	return check_number(c, n->a) ? to : NULL;
}

static const struct program_type *check_step(struct checker *c, struct node *n)
{
	if (n->a->kind != NODE_VAR && n->a->kind != NODE_MAP) {
		check_fail(c, n, -EINVAL, "only variables and maps can be counted up and down");
		return NULL;
	}
	if (n->a->kind == NODE_MAP)
		check_map_value(c, n->a, &type_s64, n->op == TOKEN_INC);
	const struct program_type *t = check_expr(c, n->a);
	if (!t || !check_number(c, n->a))
		return NULL;
	if (n->a->kind == NODE_VAR && n->op == TOKEN_DEC && t->kind == PROGRAM_INT)
		check_var_takes(c, n->a, &type_s64, false);
	return n->a->type;
}

/* The name of a typedef looks like that of a value. */
const struct program_type *check_type_or_value(struct checker *c, struct node *n)
{
	if (n->spec)
		return check_type_spec(c, n->spec);
	if (n->a && n->a->kind == NODE_IDENT && !builtin_find(n->a->text)) {
		const struct program_type *t = check_struct(c, n->a->text);
		if (t || c->err)
			return t;
	}
	return n->a ? check_expr(c, n->a) : NULL;
}

static const struct program_type *check_sizeof(struct checker *c, struct node *n)
{
	const struct program_type *t = check_type_or_value(c, n);
	if (!t)
		return NULL;
	n->number = n->a && n->a->kind == NODE_STRING ? n->a->number + 1 : t->size;
	return &type_u64;
}

static const struct program_type *check_by_kind(struct checker *c, struct node *n)
{
	s64 v;
	switch (n->kind) {
	case NODE_INT: return n->is_unsigned ? &type_u64 : &type_s64;
	case NODE_BOOL: return &type_bool;
	case NODE_STRING: return type_string(c->arena, (u32)n->number + 1);
	case NODE_PARAM:
		if (!param_number(c, n, &v)) {
			check_fail(c, n, -EINVAL, "parameter $%lld is not a number",
				   (long long)n->number);
			diag_hint(c->diag, "write str($%lld) for its text", (long long)n->number);
		}
		return &type_s64;
	case NODE_PARAM_COUNT: return &type_s64;
	case NODE_IDENT:
	case NODE_CALL: return check_builtin(c, n);
	case NODE_VAR: return check_var(c, n);
	case NODE_MAP: return check_map(c, n);
	case NODE_UNARY: return check_unary(c, n);
	case NODE_BINARY: return check_binary(c, n);
	case NODE_TERNARY: return check_ternary(c, n);
	case NODE_TUPLE: return check_tuple(c, n);
	case NODE_CAST: return check_cast(c, n);
	case NODE_BLOCK: return check_block_value(c, n);
	case NODE_READ: return check_aggregate(c, n);
	case NODE_STEP: return check_step(c, n);
	case NODE_SIZEOF: return check_sizeof(c, n);
	case NODE_OFFSETOF: return check_offsetof(c, n);
	case NODE_TYPE: return check_type_spec(c, n->spec);
	case NODE_INLINE: return check_inline(c, n);
	case NODE_MEMBER: return check_member(c, n);
	case NODE_INDEX: return check_index(c, n);
	default: check_fail(c, n, -ENOTSUP, "this is not supported yet"); return NULL;
	}
}

const struct program_type *check_expr(struct checker *c, struct node *n)
{
	if (c->err)
		return NULL;
	n->type = check_by_kind(c, n);
	if (!n->type && c->final && !c->err)
		check_fail(c, n, -EINVAL, "the type of this value is not known");
	return c->err ? NULL : n->type;
}
