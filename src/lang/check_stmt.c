/* Statements, and all blocks until nothing changes. */
#include "lang/builtin.h"
#include "lang/check.h"
#include "lang/check_impl.h"
#include "lang/scope.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

static struct var *make_var(struct checker *c, struct node *n)
{
	struct var *v = check_find_var(c, n->text);
	if (v) {
		n->var = v;
		return v;
	}
	v = arena_zalloc(c->arena, sizeof(*v));
	if (!v) {
		c->err = -ENOMEM;
		return NULL;
	}
	v->name = n->text;
	v->start = n->start;
	v->len = n->len;
	v->is_literal = true;
	v->needs_zero = c->nest > 0;
	v->next = c->block->vars;
	c->block->vars = v;
	n->var = v;
	c->changed = true;
	return v;
}

/* The bytes of a struct or array are in own memory, which is used again: a variable needs a copy. */
static bool is_own(const struct node *n)
{
	switch (n->kind) {
	case NODE_CAST:
	case NODE_MAP:
	case NODE_CALL:
	case NODE_BLOCK:
	case NODE_INLINE: return true;
	case NODE_VAR: return n->var && n->var->is_copy;
	case NODE_MEMBER:
	case NODE_INDEX: return (n->a->type && n->a->type->kind == PROGRAM_TUPLE) || is_own(n->a);
	default: return false;
	}
}

static void take_copy(struct checker *c, struct node *var, const struct node *value)
{
	struct var *v = var->var;
	if (c->err || !v || !v->type || !type_is_raw(v->type) || v->is_copy || !is_own(value))
		return;
	v->is_copy = true;
	c->changed = true;
}

void check_var_takes(struct checker *c, struct node *n, const struct program_type *t, bool literal)
{
	struct var *v = make_var(c, n);
	if (!v || !t)
		return;
	if (t == c->args[c->point]) {
		check_fail(c, n, -ENOTSUP, "args cannot be copied to a variable yet");
		return;
	}
	if (t->kind == PROGRAM_VOID || type_is_aggregate(t)) {
		check_wrong(c, n, "a variable cannot hold a value of type %s", t);
		return;
	}
	const struct program_type *join =
		v->declared ? v->type : type_join(c->arena, v->type, t, v->is_literal, literal);
	if (v->declared && !type_join(c->arena, v->type, t, false, literal))
		join = NULL;
	if (!join) {
		struct strbuf s;
		strbuf_init(&s);
		type_text(t, &s);
		strbuf_str(&s, " to a variable of type ");
		type_text(v->type, &s);
		check_fail(c, n, -EINVAL, "cannot assign %s", strbuf_cstr(&s));
		strbuf_done(&s);
		return;
	}
	bool all = literal && v->is_literal;
	c->changed |= !type_equal(join, v->type) || all != v->is_literal;
	v->type = join;
	v->is_literal = all;
	n->type = join;
}

/* A number that is written has to fit into what it is assigned to. t: NULL: whatever it needs. */
static void check_range_of(struct checker *c, const struct node *n, const struct program_type *t)
{
	s64 v;
	if (c->err || !t || t->kind != PROGRAM_INT || t->size == 8 ||
	    !(check_is_literal(n) || n->kind == NODE_UNARY) || !check_constant(c, n, &v))
		return;
	if (check_fit(v, t) != v)
		check_wrong(c, n, "the number does not fit into %s", t);
}

static void check_assign(struct checker *c, struct node *n)
{
	const struct program_type *t = check_value(c, &n->b);
	bool literal = check_is_literal(n->b);
	if (c->err)
		return;
	if (t && type_is_aggregate(t) && (n->a->kind != NODE_MAP || n->op != TOKEN_ASSIGN)) {
		check_wrong(c, n->b, "a value of type %s only goes into a map, with '='", t);
		return;
	}
	if (n->op != TOKEN_ASSIGN) {
		if (n->a->kind == NODE_MAP)
			check_map_value(c, n->a, n->op == TOKEN_SUB_ASSIGN || !t ? &type_s64 : t,
					literal && n->op != TOKEN_SUB_ASSIGN);
		const struct program_type *old = check_expr(c, n->a);
		if (old && t && (!check_number(c, n->a) || !check_number(c, n->b)))
			return;
		bool minus = n->op == TOKEN_SUB_ASSIGN;
		if (n->a->kind == NODE_VAR && t)
			check_var_takes(c, n->a, minus ? &type_s64 : t, literal && !minus);
		return;
	}
	if (n->a->kind == NODE_VAR) {
		struct var *known = check_find_var(c, n->a->text);
		check_range_of(c, n->b, known && known->declared ? known->type : NULL);
		check_var_takes(c, n->a, t, literal);
		take_copy(c, n->a, n->b);
		return;
	}
	if (t && !type_is_aggregate(t) && (!check_is_copyable(t) || t == c->args[c->point])) {
		check_wrong(c, n->b, "a map cannot hold a value of type %s", t);
		return;
	}
	if (t)
		check_map_value(c, n->a, t, literal);
	(void)check_expr(c, n->a);
}

static void check_list(struct checker *c, struct node *n);

static void check_statement(struct checker *c, struct node *n);

static void check_nested(struct checker *c, struct node *n)
{
	if (!n)
		return;
	c->nest++;
	check_statement(c, n);
	c->nest--;
}

static void check_condition(struct checker *c, struct node **at)
{
	if (check_value(c, at))
		(void)check_number(c, *at);
}

static void check_let(struct checker *c, struct node *n)
{
	const struct program_type *t = n->spec ? check_type_spec(c, n->spec) : NULL;
	if (c->err)
		return;
	struct var *v = make_var(c, n->a);
	if (v && t) {
		if (v->type && !type_equal(v->type, t)) {
			check_fail(c, n, -EINVAL, "variable $%.*s has another type already",
				   (int)scope_plain(v->name), v->name);
			return;
		}
		c->changed |= !v->type;
		v->type = t;
		v->declared = true;
		v->is_literal = false;
	}
	if (v && !n->b)
		v->needs_zero = true;
	if (n->b) {
		t = check_value(c, &n->b);
		check_range_of(c, n->b, v && v->declared ? v->type : NULL);
		check_var_takes(c, n->a, t, check_is_literal(n->b));
		take_copy(c, n->a, n->b);
	}
}

static void check_range(struct checker *c, struct node *n)
{
	struct node var = { .kind = NODE_VAR, .text = n->text, .start = n->start, .len = n->len };
	check_condition(c, &n->a);
	check_condition(c, &n->b);
	if (c->err)
		return;
	c->nest++;
	check_var_takes(c, &var, &type_s64, false);
	n->var = var.var;
	c->loops++;
	check_statement(c, n->c);
	c->loops--;
	c->nest--;
}

/* The variable is (key, value); an aggregate is the number that it is when its turn comes. */
static void check_for_map(struct checker *c, struct node *n)
{
	struct node var = { .kind = NODE_VAR, .text = n->text, .start = n->start, .len = n->len };
	struct map *m = n->a->map;
	if (!c->in->callbacks) {
		check_fail(c, n, -ENOTSUP, "loops over maps are not supported yet");
		return;
	}
	if (c->final && (!m->value || !m->used_keyed)) {
		check_fail(c, n->a, -EINVAL, "map %s has no keys", m->name);
		return;
	}
	if (m->value && m->value->kind >= PROGRAM_STATS) {
		check_wrong(c, n->a, "a loop cannot read values of type %s: print() shows them",
			    m->value);
		return;
	}
	c->nest++;
	if (m->value && m->key) {
		const struct program_type *value = m->value;
		if (type_is_aggregate(value))
			value = type_int(8, value->is_signed || value->kind == PROGRAM_COUNT);
		check_var_takes(
			c, &var,
			type_tuple(c->arena, (const struct program_type *[]){ m->key, value }, 2),
			false);
	} else {
		(void)make_var(c, &var);
	}
	n->var = var.var;
	c->loops++;
	check_statement(c, n->c);
	c->loops--;
	c->nest--;
}

static void check_loop(struct checker *c, struct node *n)
{
	s64 times;
	check_condition(c, &n->a);
	if (n->kind == NODE_UNROLL && !c->err &&
	    (!check_constant(c, n->a, &times) || times < 1 || times > 100)) {
		check_fail(c, n->a, -EINVAL, "unroll() takes a constant number from 1 to 100");
		return;
	}
	c->loops++;
	check_nested(c, n->b);
	c->loops--;
}

/* if comptime: only what is taken is looked at, and kept. */
static void check_known_if(struct checker *c, struct node *n)
{
	s64 v;
	if (c->err || !n->a->type)
		return;
	if (!check_known(c, n->a, &v)) {
		check_fail(c, n->a, -EINVAL, "this is not known before the script runs");
		return;
	}
	struct node *taken = v ? n->b : n->c, *next = n->next;
	if (taken) {
		*n = *taken;
	} else {
		n->kind = NODE_BLOCK;
		n->list = NULL;
		n->nr = 0;
	}
	n->next = next;
	check_statement(c, n);
}

/* A statement that has no effect is a mistake: `@x == 1;`. An intended one is written `_ = ...`. */
static void warn_of_discard(struct checker *c, struct node *n)
{
	static const u32 plain = 1u << NODE_INT | 1u << NODE_STRING | 1u << NODE_BOOL |
				 1u << NODE_VAR | 1u << NODE_MAP | 1u << NODE_MEMBER |
				 1u << NODE_INDEX | 1u << NODE_CAST | 1u << NODE_TUPLE |
				 1u << NODE_BINARY;
	const struct node *a = n->a;
	bool decides = a->kind == NODE_BINARY && (a->op == TOKEN_LAND || a->op == TOKEN_LOR);
	if (!c->final || n->warned || n->number || decides || a->kind >= 32 ||
	    !(plain >> a->kind & 1))
		return;
	n->warned = true;
	lang_warn(c->diag, c->in->text, a->start, a->len, "the value is not used");
	diag_hint(c->diag, "write '_ = ...' if that is intended");
}

static void check_statement(struct checker *c, struct node *n)
{
	if (c->err)
		return;
	switch (n->kind) {
	case NODE_BLOCK: check_list(c, n->list); break;
	case NODE_ASSIGN: check_assign(c, n); break;
	case NODE_EXPR:
		(void)check_expr(c, n->a);
		warn_of_discard(c, n);
		if (n->a->type && type_is_aggregate(n->a->type) && n->a->kind == NODE_CALL)
			check_fail(c, n, -EINVAL, "the result of %s() belongs into a map: @x = %s()",
				   n->a->text, n->a->text);
		break;
	case NODE_IF:
		check_condition(c, &n->a);
		if (n->number) {
			check_known_if(c, n);
			break;
		}
		check_nested(c, n->b);
		check_nested(c, n->c);
		break;
	case NODE_WHILE:
	case NODE_UNROLL: check_loop(c, n); break;
	case NODE_RANGE: check_range(c, n); break;
	case NODE_LET: check_let(c, n); break;
	case NODE_BREAK:
	case NODE_CONTINUE:
		if (!c->loops)
			check_fail(c, n, -EINVAL, "not inside of a loop");
		break;
	case NODE_RETURN:
		if (n->b && check_value(c, &n->a))
			check_var_takes(c, n->b, n->a->type, check_is_literal(n->a));
		else if (n->a)
			(void)check_expr(c, n->a);
		break;
	case NODE_FOR_MAP: check_for_map(c, n); break;
	default: check_fail(c, n, -ENOTSUP, "this is not supported yet");
	}
}

static void check_list(struct checker *c, struct node *n)
{
	for (; n && !c->err; n = n->next)
		check_statement(c, n);
}

const struct program_type *check_inline(struct checker *c, struct node *n)
{
	for (struct node *let = n->list; let && !c->err; let = let->next)
		check_statement(c, let);
	if (n->a && !c->err) {
		struct node result = { .kind = NODE_LET, .a = n->a, .spec = n->spec };
		result.start = n->start;
		result.len = n->len;
		check_let(c, &result);
	}
	check_nested(c, n->b);
	return c->err ? NULL : n->a ? check_expr(c, n->a) : &type_void;
}

const struct program_type *check_block_value(struct checker *c, struct node *n)
{
	for (struct node *s = n->list; s && !c->err; s = s->next) {
		if (s->next || s->kind != NODE_EXPR) {
			check_statement(c, s);
			continue;
		}
		return s->a->unused ? (check_expr(c, s->a) ? &type_void : NULL)
				    : check_value(c, &s->a);
	}
	return c->err ? NULL : &type_void;
}

static void check_block(struct checker *c, struct probe_block *b)
{
	c->block = b;
	c->nest = c->loops = 0;
	if (b->predicate)
		check_condition(c, &b->predicate);
	check_statement(c, b->body);
	for (struct var *v = b->vars; v && c->final; v = v->next) {
		struct node at = { .start = v->start, .len = v->len };
		if (!v->type)
			check_fail(c, &at, -EINVAL, "variable $%.*s never gets a value",
				   (int)scope_plain(v->name), v->name);
	}
}

static void select_point(struct checker *c, struct probe_block *b, u32 point)
{
	c->block = b;
	c->point = point;
	c->probe = &c->program->probes.at[point];
}

static void check_all(struct checker *c)
{
	for (struct probe_block *b = c->script->blocks; b && !c->err; b = b->next)
		for (u32 i = 0; i < b->nr_points && !c->err; i++) {
			select_point(c, b, b->first_point + i);
			check_block(c, b);
		}
}

int check_point(struct checker *c, struct probe_block *b, u32 point)
{
	select_point(c, b, point);
	check_block(c, b);
	return c->err;
}

int check_script(struct checker *c)
{
	/* Types only grow, each by a few steps: the limit is for what nobody thought of. */
	enum { ROUNDS = 64 };
	c->args = arena_array(c->arena, c->program->probes.nr + 1, sizeof(*c->args));
	if (!c->args)
		return -ENOMEM;
	u32 round = 0;
	do {
		c->changed = false;
		check_all(c);
	} while (c->changed && !c->err && ++round < ROUNDS);
	if (!c->err && c->changed)
		return diag_error(c->diag, -E2BIG, "the types of the script do not settle");
	c->final = true;
	if (!c->err)
		check_all(c);
	return c->err;
}
