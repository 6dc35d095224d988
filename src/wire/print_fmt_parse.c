/*
 * The arguments of a print fmt, parsed as the C expressions they are: a recursive-descent parser with C's precedences and
 * C's integer types. What is not understood sets p->err and p->what; nothing is guessed.
 */
#include "wire/print_fmt_parse.h"

#include <string.h>

struct local {
	struct local *next;
	const char *name;
	size_t len;
	const struct print_fmt_node *value;
};

static const struct print_fmt_node *parse_unary(struct print_fmt_parser *p);

/* ---- names ---- */

static const struct schema_field *field_named(struct print_fmt_parser *p, const char *name,
					      size_t len, bool dynamic)
{
	const struct schema *s = p->schema;
	const struct schema_field *other = NULL;
	for (u32 i = 0; i < s->nr_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		if (strlen(f->name) != len || memcmp(f->name, name, len))
			continue;
		if (!(f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC)) == !dynamic)
			return f;
		other = other ? other : f;
	}
	return other ? other : parser_fail(p, "unknown field");
}

const struct schema_field *parser_field_name(struct print_fmt_parser *p, bool dynamic)
{
	if (p->tok != TOK_IDENT)
		return parser_fail(p, "expected a field name");
	const struct schema_field *f = field_named(p, p->tok_at, p->tok_len, dynamic);
	token_next(p);
	return f;
}

static const struct print_fmt_node *text_node(struct print_fmt_parser *p)
{
	size_t len;
	const char *str = token_strings(p, &len);
	struct print_fmt_node *n = str ? node_new(p, NODE_TEXT, NULL, NULL) : NULL;
	if (!n)
		return NULL;
	n->str = str;
	n->len = (u32)len;
	return n;
}

/* ---- statement expressions: ({ int x = (REC->a); int y = 1; x < y ? x : y; }) ---- */

static bool parse_local(struct print_fmt_parser *p)
{
	struct ctype t = { 0 };
	bool sure = true;
	if (token_accept_word(p, "typeof") || token_accept_word(p, "__typeof__")) {
		token_expect(p, '(');
		token_skip_balanced(p);
		token_expect(p, ')');
	} else if (!token_accept_word(p, "__auto_type") && (!ctype_parse(p, &t, &sure) || !sure)) {
		return false;
	}
	if (p->tok != TOK_IDENT)
		return false;
	struct local *l = arena_zalloc(p->arena, sizeof(*l));
	if (!l)
		return parser_no_memory(p);
	l->name = p->tok_at;
	l->len = p->tok_len;
	token_next(p);
	token_expect(p, '=');
	const struct print_fmt_node *v = parser_expr(p);
	if (v && node_is_number(v) && t.size && !t.pointer)
		v = node_cast(p, v, t.size, t.sign);
	token_expect(p, ';');
	l->value = v;
	l->next = p->locals;
	p->locals = l;
	return !p->err;
}

static const struct print_fmt_node *parse_statements(struct print_fmt_parser *p)
{
	struct local *outer = p->locals;
	const struct print_fmt_node *n = NULL;
	while (!p->err && p->tok != '}') {
		struct mark m = token_mark(p);
		if (parse_local(p))
			continue;
		if (p->err)
			break;
		token_back(p, m);
		n = parser_expr(p);
		token_accept(p, ';');
	}
	token_expect(p, '}');
	token_expect(p, ')');
	p->locals = outer;
	return n ? n : parser_fail(p, "statement without a value");
}

/* ---- expressions ---- */

/*
 * An enum or a variable of the kernel. Softirqs and hrtimer results are known by heart, since formats of all ages leave them
 * in the text. The address of a struct page is written as vmemmap_base + pfn: everybody's scripts know the pfn that
 * libtraceevent prints there.
 */
static const struct print_fmt_node *kernel_name(struct print_fmt_parser *p, const char *name,
						size_t len)
{
	static const struct {
		const char *name;
		u8 value;
	} rows[] = {
		{ "HI_SOFTIRQ", 0 },
		{ "TIMER_SOFTIRQ", 1 },
		{ "NET_TX_SOFTIRQ", 2 },
		{ "NET_RX_SOFTIRQ", 3 },
		{ "BLOCK_SOFTIRQ", 4 },
		{ "IRQ_POLL_SOFTIRQ", 5 },
		{ "BLOCK_IOPOLL_SOFTIRQ", 5 },
		{ "TASKLET_SOFTIRQ", 6 },
		{ "SCHED_SOFTIRQ", 7 },
		{ "HRTIMER_SOFTIRQ", 8 },
		{ "RCU_SOFTIRQ", 9 },
		{ "HRTIMER_NORESTART", 0 },
		{ "HRTIMER_RESTART", 1 },
		{ "vmemmap_base", 0 },
		{ "NULL", 0 },
		{ "false", 0 },
		{ "true", 1 },
	};
	s64 v;
	if (p->env && p->env->eval && p->env->eval(p->env->ctx, name, len, &v))
		return node_num(p, (u64)v, v == (s32)v ? 4 : 8, true);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].name) == len && !memcmp(rows[i].name, name, len))
			return node_num(p, rows[i].value, 4, true);
	return node_unknown(p);
}

static const struct print_fmt_node *parse_name(struct print_fmt_parser *p)
{
	const char *name = p->tok_at;
	size_t len = p->tok_len;
	if (token_accept_word(p, "REC") || token_accept_word(p, "__entry")) {
		token_expect(p, TOK_ARROW);
		const struct schema_field *f = parser_field_name(p, false);
		return f ? node_field(p, f) : NULL;
	}
	token_next(p);
	if (token_accept(p, '('))
		return parser_call(p, name, len);
	for (struct local *l = p->locals; l; l = l->next)
		if (l->len == len && !memcmp(l->name, name, len))
			return l->value;
	return kernel_name(p, name, len);
}

/* (REC)->field */
static bool record_in_parens(struct print_fmt_parser *p)
{
	struct mark m = token_mark(p);
	if (token_accept(p, '(') &&
	    (token_accept_word(p, "REC") || token_accept_word(p, "__entry")) &&
	    token_accept(p, ')') && token_accept(p, TOK_ARROW))
		return true;
	token_back(p, m);
	return false;
}

static const struct print_fmt_node *parse_primary(struct print_fmt_parser *p)
{
	if (p->tok == TOK_NUM) {
		const struct print_fmt_node *n = node_num(p, p->num, p->num_size, p->num_sign);
		token_next(p);
		return n;
	}
	if (p->tok == TOK_STR)
		return text_node(p);
	if (p->tok == TOK_IDENT)
		return parse_name(p);
	if (p->tok == '(' && record_in_parens(p)) {
		const struct schema_field *f = parser_field_name(p, false);
		return f ? node_field(p, f) : NULL;
	}
	if (!token_accept(p, '('))
		return parser_fail(p, "expected an expression");
	if (token_accept(p, '{'))
		return parse_statements(p);
	const struct print_fmt_node *n = parser_expr(p);
	token_expect(p, ')');
	return p->err ? NULL : n;
}

static const struct print_fmt_node *index_node(struct print_fmt_parser *p,
					       const struct print_fmt_node *a,
					       const struct print_fmt_node *b)
{
	b = node_number(p, b);
	if (a && a->kind == NODE_NUM && a->unknown) /* an array of the kernel */
		return b ? a : NULL;
	a = node_bytes_only(p, a);
	struct print_fmt_node *n = a && b ? node_new(p, NODE_INDEX, a, b) : NULL;
	if (!n)
		return NULL;
	if (a->size != 1 && a->size != 2 && a->size != 4 && a->size != 8)
		return parser_fail(p, "elements of an odd size");
	n->size = a->size;
	n->sign = a->sign;
	return n;
}

static const struct print_fmt_node *parse_postfix(struct print_fmt_parser *p)
{
	const struct print_fmt_node *n = parse_primary(p);
	while (n && !p->err) {
		if (token_accept(p, '[')) {
			n = index_node(p, n, parser_expr(p));
			token_expect(p, ']');
		} else if (p->tok == '.' || p->tok == TOK_ARROW) {
			return parser_fail(p, "it looks into a structure");
		} else {
			break;
		}
	}
	return p->err ? NULL : n;
}

static const struct print_fmt_node *apply_cast(struct print_fmt_parser *p, const struct ctype *t,
					       const struct print_fmt_node *a)
{
	if (!a)
		return NULL;
	if (t->pointer && node_is_bytes(a) && t->size) {
		struct print_fmt_node *n = node_new(p, a->kind, a->a, a->b);
		if (!n)
			return NULL;
		*n = *a;
		n->size = t->size;
		n->sign = t->sign;
		return n;
	}
	if (!node_is_number(a))
		return a;
	if (t->pointer)
		return a->size < p->schema->long_size
			       ? node_cast(p, a, p->schema->long_size, a->sign)
			       : a;
	return t->size ? node_cast(p, a, t->size, t->sign) : a;
}

static bool starts_operand(const struct print_fmt_parser *p)
{
	return p->tok == TOK_IDENT || p->tok == TOK_NUM || p->tok == TOK_STR || p->tok == '(';
}

/* "(type)" or, with the lexer back where it was, nothing. */
static bool parse_cast(struct print_fmt_parser *p, struct ctype *t)
{
	struct mark m = token_mark(p);
	bool sure = false;
	if (token_accept(p, '(') && ctype_parse(p, t, &sure) && token_accept(p, ')') &&
	    (sure || t->pointer || starts_operand(p)))
		return true;
	token_back(p, m);
	return false;
}

/* &REC->field and &REC->field[n]: the bytes of it */
static const struct print_fmt_node *address_of(struct print_fmt_parser *p,
					       const struct print_fmt_node *a)
{
	if (!a || node_is_bytes(a))
		return a;
	if (a->kind == NODE_INDEX) {
		struct print_fmt_node *n = node_new(p, NODE_OFFSET, a->a, a->b);
		if (n)
			n->size = a->size, n->sign = a->sign;
		return n;
	}
	if (a->kind != NODE_LOAD)
		return parser_fail(p, "address of something that has none");
	struct print_fmt_node *n = node_new(p, NODE_BYTES, NULL, NULL);
	if (!n)
		return NULL;
	n->offset = a->offset;
	n->len = a->size;
	n->size = a->size;
	n->sign = a->sign;
	return n;
}

static const struct print_fmt_node *parse_unary_op(struct print_fmt_parser *p)
{
	switch (p->tok) {
	case '-': token_next(p); return node_unary(p, NODE_NEG, parse_unary(p));
	case '~': token_next(p); return node_unary(p, NODE_INV, parse_unary(p));
	case '!': token_next(p); return node_unary(p, NODE_NOT, parse_unary(p));
	case '+': token_next(p); return node_promote(p, parse_unary(p));
	case '&': token_next(p); return address_of(p, parse_unary(p));
	case '*': token_next(p); return index_node(p, parse_unary(p), node_num(p, 0, 4, true));
	default: break;
	}
	struct ctype t;
	if (p->tok == '(' && parse_cast(p, &t))
		return apply_cast(p, &t, parse_unary(p));
	if (token_is_word(p, "sizeof")) {
		struct mark m = token_mark(p);
		token_next(p);
		if (p->tok != '(') {
			const struct print_fmt_node *n = parse_unary(p);
			return n ? node_num(p, n->kind == NODE_BYTES ? n->len : n->size,
					    p->schema->long_size, false)
				 : NULL;
		}
		token_back(p, m);
	}
	return parse_postfix(p);
}

static const struct print_fmt_node *parse_unary(struct print_fmt_parser *p)
{
	if (++p->depth > PRINT_DEPTH_MAX)
		return parser_fail(p, "it is nested too deeply");
	const struct print_fmt_node *n = parse_unary_op(p);
	p->depth--;
	return p->err ? NULL : n;
}

static unsigned precedence(int tok, enum print_fmt_node_kind *kind)
{
	static const struct {
		u16 tok;
		u8 level;
		u8 kind;
	} rows[] = {
		{ '*', 10, NODE_MUL },
		{ '/', 10, NODE_DIV },
		{ '%', 10, NODE_MOD },
		{ '+', 9, NODE_ADD },
		{ '-', 9, NODE_SUB },
		{ TOK_SHL, 8, NODE_SHL },
		{ TOK_SHR, 8, NODE_SHR },
		{ '<', 7, NODE_LT },
		{ '>', 7, NODE_GT },
		{ TOK_LE, 7, NODE_LE },
		{ TOK_GE, 7, NODE_GE },
		{ TOK_EQ, 6, NODE_EQ },
		{ TOK_NE, 6, NODE_NE },
		{ '&', 5, NODE_AND },
		{ '^', 4, NODE_XOR },
		{ '|', 3, NODE_OR },
		{ TOK_LOGAND, 2, NODE_LOGAND },
		{ TOK_LOGOR, 1, NODE_LOGOR },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].tok == tok) {
			*kind = rows[i].kind;
			return rows[i].level;
		}
	return 0;
}

static const struct print_fmt_node *join(struct print_fmt_parser *p, enum print_fmt_node_kind kind,
					 const struct print_fmt_node *a,
					 const struct print_fmt_node *b)
{
	if (!a || !b || !node_is_bytes(a) || kind != NODE_ADD)
		return node_binary(p, kind, a, b);
	b = node_number(p, b);
	struct print_fmt_node *n = b ? node_new(p, NODE_OFFSET, a, b) : NULL;
	if (n)
		n->size = a->size, n->sign = a->sign;
	return n;
}

static const struct print_fmt_node *parse_binary(struct print_fmt_parser *p, unsigned level)
{
	const struct print_fmt_node *a = parse_unary(p);
	while (a) {
		enum print_fmt_node_kind kind;
		unsigned here = precedence(p->tok, &kind);
		if (!here || here < level)
			break;
		token_next(p);
		const struct print_fmt_node *b = parse_binary(p, here + 1);
		a = join(p, kind, a, b);
	}
	return a;
}

const struct print_fmt_node *parser_expr(struct print_fmt_parser *p)
{
	if (++p->depth > PRINT_DEPTH_MAX)
		return parser_fail(p, "it is nested too deeply");
	const struct print_fmt_node *n = parse_binary(p, 1);
	if (n && token_accept(p, '?')) {
		if (token_accept(p, ':')) { /* a ?: b */
			n = node_cond(p, n, n, parser_expr(p));
		} else {
			const struct print_fmt_node *b = parser_expr(p);
			token_expect(p, ':');
			n = node_cond(p, n, b, parser_expr(p));
		}
	}
	p->depth--;
	return p->err ? NULL : n;
}

/* ---- the whole ---- */

void parser_init(struct print_fmt_parser *p, struct arena *a, const struct schema *s,
		 const struct print_env *env, enum print_style style)
{
	*p = (struct print_fmt_parser){ .arena = a, .schema = s, .env = env, .style = style };
	p->at = s->print_fmt ? s->print_fmt : "";
	p->end = p->at + strlen(p->at);
	token_next(p);
}

char *parser_format(struct print_fmt_parser *p, size_t *len)
{
	return token_strings(p, len);
}

const struct print_fmt_node *parser_argument(struct print_fmt_parser *p)
{
	if (p->tok == TOK_END)
		return NULL;
	if (!token_accept(p, ','))
		return parser_fail(p, "expected a comma between arguments");
	const struct print_fmt_node *n = parser_expr(p);
	p->cost += n ? n->cost : 0;
	return p->cost > PRINT_COST_MAX ? parser_fail(p, "it is too long") : n;
}

bool parser_at_argument(const struct print_fmt_parser *p)
{
	return p->tok == TOK_END || p->tok == ',';
}
