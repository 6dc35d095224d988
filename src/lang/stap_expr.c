/* Expressions of SystemTap's language. */
#include "lang/stap_impl.h"

#include <errno.h>
#include <string.h>

static struct node *read_unary(struct stap *s);

/* Operators that the lexer knows, loosest first; '.' for texts and 'in' are between. */
static u8 level_of(enum token_kind k)
{
	switch (k) {
	case TOKEN_LOR: return 1;
	case TOKEN_LAND: return 2;
	case TOKEN_OR: return 3;
	case TOKEN_XOR: return 4;
	case TOKEN_AND: return 5;
	case TOKEN_EQ:
	case TOKEN_NE:
	case TOKEN_LT:
	case TOKEN_LE:
	case TOKEN_GT:
	case TOKEN_GE: return 7;
	case TOKEN_SHL:
	case TOKEN_SHR: return 8;
	case TOKEN_DOT: return 9;
	case TOKEN_ADD:
	case TOKEN_SUB: return 10;
	case TOKEN_MUL:
	case TOKEN_DIV:
	case TOKEN_MOD: return 11;
	default: return 0;
	}
}

enum { LEVEL_IN = 6 };

static bool is_truth(const struct node *n)
{
	return (n->kind == NODE_BINARY && (n->op == TOKEN_LAND || n->op == TOKEN_LOR ||
					   (n->op >= TOKEN_EQ && n->op <= TOKEN_GE))) ||
	       (n->kind == NODE_UNARY && n->op == TOKEN_NOT) ||
	       (n->kind == NODE_CALL && n->text &&
		(!strcmp(n->text, "has_key") || !strcmp(n->text, "strcontains")));
}

struct node *stap_number(struct stap *s, struct node *n)
{
	return n && is_truth(n) ? stap_cast(s, "int64", 0, n) : n;
}

static void append_key(struct stap *s, struct node *map, struct stap_symbol *y, struct node *key)
{
	struct node **at = &map->list;
	while (*at)
		at = &(*at)->next;
	*at = key;
	if (y)
		stap_note(s, y, (s32)map->nr, key);
	map->nr++;
}

/* The keys of a global, whose bracket is next. */
static void read_keys(struct stap *s, struct node *map, struct stap_symbol *y)
{
	if (!parse_take(&s->p, TOKEN_LBRACKET))
		return;
	y->is_array = true;
	do {
		if (map->nr == STAP_KEYS_MAX) {
			parse_fail(&s->p, -E2BIG, "more than %d keys", STAP_KEYS_MAX);
			return;
		}
		struct node *key = stap_number(s, stap_expr(s));
		if (!key)
			return;
		append_key(s, map, y, key);
	} while (parse_take(&s->p, TOKEN_COMMA));
	parse_expect(&s->p, TOKEN_RBRACKET, "']'");
}

static struct node *read_global(struct stap *s, struct stap_symbol *y, struct node *at)
{
	struct node *n = stap_map(s, y, -1, at);
	if (!n)
		return NULL;
	n->is_unsigned = true; /* settle_maps() */
	y->reads++;
	read_keys(s, n, y);
	return parse_end(&s->p, n);
}

/* A word that is no keyword. */
static struct node *read_name(struct stap *s)
{
	struct node *at = parse_node(&s->p, NODE_IDENT);
	const char *name = s->p.t.text;
	if (!at)
		return NULL;
	parse_next(&s->p);
	if (s->p.t.kind == TOKEN_LPAREN)
		return stap_call(s, name, at);
	struct stap_symbol *y = stap_find(s, name, s->scope);
	if (y)
		return stap_var(s, name, at);
	y = stap_find(s, name, STAP_GLOBAL);
	if (y)
		return read_global(s, y, at);
	if (s->p.t.kind != TOKEN_ASSIGN) {
		struct node *n = stap_context_name(s, name, at);
		if (n || s->p.err)
			return n;
	}
	if (s->p.t.kind == TOKEN_LBRACKET) {
		stap_fail_at(s, at, -EINVAL, "array '%s' is not declared: global %s", name, name);
		return NULL;
	}
	return stap_add_symbol(s, name, s->scope) ? stap_var(s, name, at) : NULL;
}

/* The statistic that an operator is about. */
static struct node *read_stat_of(struct stap *s, u32 stat, struct node *at)
{
	struct stap_symbol *y =
		s->p.t.kind == TOKEN_IDENT ? stap_find(s, s->p.t.text, STAP_GLOBAL) : NULL;
	if (!y) {
		parse_fail(&s->p, -EINVAL, "expected a variable that is declared with 'global'");
		return NULL;
	}
	parse_next(&s->p);
	struct node *n = stap_map(s, y, (s32)stat, at);
	if (!n)
		return NULL;
	y->is_stat = true;
	y->stats |= 1u << stat;
	read_keys(s, n, y);
	if (stat == STAP_HIST_LINEAR) {
		struct node *args = NULL, **to = &args;
		for (u32 i = 0; i < 3 && !s->p.err; i++) {
			if (!parse_expect(&s->p, TOKEN_COMMA,
					  "',': the form is @hist_linear(s, LOW, HIGH, STEP)"))
				return NULL;
			*to = stap_expr(s);
			if (!*to)
				return NULL;
			to = &(*to)->next;
		}
		y->linear = y->linear ? y->linear : args;
	}
	return n;
}

/* @cast(address, "type" [, "module"]) */
static struct node *read_cast(struct stap *s)
{
	struct node *a = stap_expr(s);
	if (!a || !parse_expect(&s->p, TOKEN_COMMA, "','"))
		return NULL;
	const char *type = s->p.t.text;
	if (!parse_expect(&s->p, TOKEN_STRING, "the name of a type as a string"))
		return NULL;
	if (parse_take(&s->p, TOKEN_COMMA))
		parse_expect(&s->p, TOKEN_STRING, "the name of a module as a string");
	struct strbuf name;
	strbuf_init(&name);
	size_t len = strcspn(type, "*");
	while (len && type[len - 1] == ' ')
		len--;
	if (strncmp(type, "struct ", 7) && strncmp(type, "union ", 6))
		strbuf_str(&name, "struct ");
	strbuf_add(&name, type, len);
	const char *full = stap_keep(s, &name);
	return full ? stap_cast(s, full, 1, a) : NULL;
}

/* @count(x), @cast(...), @1 */
static struct node *read_operator(struct stap *s)
{
	static const char *const names[STAP_NR_STATS] = {
		[STAP_COUNT] = "count",
		[STAP_SUM] = "sum",
		[STAP_AVG] = "avg",
		[STAP_MIN] = "min",
		[STAP_MAX] = "max",
		[STAP_HIST_LOG] = "hist_log",
		[STAP_HIST_LINEAR] = "hist_linear",
	};
	struct node *at = parse_node(&s->p, NODE_PARAM), *n = NULL;
	const char *name = s->p.t.text;
	if (!at)
		return NULL;
	if (*name >= '1' && *name <= '9' && strlen(name) < 4) {
		at->number = 0;
		for (const char *c = name; *c >= '0' && *c <= '9'; c++)
			at->number = at->number * 10 + (*c - '0');
		parse_next(&s->p);
		return stap_call_of(s, "str", at, at);
	}
	bool cast = !strcmp(name, "cast");
	u32 stat = 0;
	while (stat < STAP_NR_STATS && (!names[stat] || strcmp(names[stat], name)))
		stat++;
	if (!cast && stat == STAP_NR_STATS) {
		parse_fail(&s->p, -ENOTSUP, "@%s is not supported", name);
		return NULL;
	}
	parse_next(&s->p);
	if (!parse_expect(&s->p, TOKEN_LPAREN, "'('"))
		return NULL;
	n = cast ? read_cast(s) : read_stat_of(s, stat, at);
	if (!n || !parse_expect(&s->p, TOKEN_RPAREN, "')'"))
		return NULL;
	return parse_end(&s->p, n);
}

/* [a, b] in array */
static struct node *read_tuple_in(struct stap *s)
{
	struct node *n = parse_node(&s->p, NODE_MAP), *first = NULL, **at = &first;
	u32 nr = 0;
	parse_next(&s->p);
	do {
		*at = stap_number(s, stap_expr(s));
		if (!*at)
			return NULL;
		at = &(*at)->next;
	} while (++nr < STAP_KEYS_MAX && parse_take(&s->p, TOKEN_COMMA));
	if (!n || !parse_expect(&s->p, TOKEN_RBRACKET, "']'"))
		return NULL;
	if (!parse_word(&s->p, "in")) {
		parse_fail(&s->p, -EINVAL, "expected 'in'");
		return NULL;
	}
	n->kind = NODE_TUPLE;
	n->list = first;
	n->nr = nr;
	return parse_end(&s->p, n);
}

static struct node *read_paren(struct stap *s)
{
	parse_next(&s->p);
	struct node *n = stap_expr(s);
	return n && parse_expect(&s->p, TOKEN_RPAREN, "')'") ? n : NULL;
}

static struct node *read_dollar(struct stap *s)
{
	struct node *at = parse_node(&s->p, NODE_PARAM_COUNT);
	const char *name = s->p.t.text;
	bool all = s->p.t.kind == TOKEN_PARAM_COUNT;
	if (!at)
		return NULL;
	parse_next(&s->p);
	if (!all)
		return stap_target(s, name, at);
	/* "$$parms" became "$#parms" */
	if (s->p.t.kind != TOKEN_IDENT || s->p.t.start != at->start + at->len)
		return at;
	name = s->p.t.text;
	at->len += s->p.t.len;
	parse_next(&s->p);
	return stap_all_targets(s, name, at);
}

static struct node *read_value(struct stap *s)
{
	struct node *n = NULL;
	switch (s->p.t.kind) {
	case TOKEN_INT: n = parse_node(&s->p, NODE_INT); break;
	case TOKEN_STRING: n = parse_node(&s->p, NODE_STRING); break;
	case TOKEN_PARAM: n = parse_node(&s->p, NODE_PARAM); break;
	case TOKEN_VAR:
	case TOKEN_PARAM_COUNT: return read_dollar(s);
	case TOKEN_IDENT: return read_name(s);
	case TOKEN_MAP: return read_operator(s);
	case TOKEN_LPAREN: return read_paren(s);
	case TOKEN_LBRACKET: return read_tuple_in(s);
	default: parse_fail(&s->p, -EINVAL, "expected an expression");
	}
	if (!n)
		return NULL;
	n->number = n->kind == NODE_STRING ? s->p.t.text_len : (s64)s->p.t.number;
	n->is_unsigned = n->kind == NODE_INT && n->number < 0;
	n->text = s->p.t.text;
	parse_next(&s->p);
	/* "a" "b" is one text. */
	while (n->kind == NODE_STRING && s->p.t.kind == TOKEN_STRING && !s->p.err) {
		struct strbuf both;
		strbuf_init(&both);
		strbuf_printf(&both, "%s%s", n->text, s->p.t.text);
		n->text = stap_keep(s, &both);
		n->number = n->text ? (s64)strlen(n->text) : 0;
		parse_next(&s->p);
		n = parse_end(&s->p, n);
		if (!n)
			return NULL;
	}
	return n;
}

/* Members of what a probe hands over, and x++. */
static struct node *read_postfix(struct stap *s)
{
	struct node *a = read_value(s);
	while (a && !s->p.err) {
		enum token_kind k = s->p.t.kind;
		struct node *n;
		if (k == TOKEN_ARROW) {
			n = stap_node(s, NODE_MEMBER, a);
			parse_next(&s->p);
			if (!n)
				return NULL;
			n->number = 1;
			n->text = s->p.t.text;
			parse_expect(&s->p, TOKEN_IDENT, "the name of a member");
		} else if (k == TOKEN_LBRACKET && (a->kind == NODE_MEMBER || a->kind == NODE_CAST)) {
			n = stap_node(s, NODE_INDEX, a);
			parse_next(&s->p);
			if (!n || !(n->b = stap_expr(s)))
				return NULL;
			parse_expect(&s->p, TOKEN_RBRACKET, "']'");
		} else if ((k == TOKEN_INC || k == TOKEN_DEC) &&
			   (a->kind == NODE_VAR || a->kind == NODE_MAP)) {
			n = stap_node(s, NODE_STEP, a);
			parse_next(&s->p);
			if (n)
				n->op = (u8)k;
		} else {
			return a;
		}
		if (!n)
			return NULL;
		n->a = a;
		a = parse_end(&s->p, n);
	}
	return s->p.err ? NULL : a;
}

static struct node *read_unary(struct stap *s)
{
	enum token_kind k = s->p.t.kind;
	bool step = k == TOKEN_INC || k == TOKEN_DEC;
	if (s->p.depth >= PARSE_DEPTH_MAX) {
		parse_fail(&s->p, -E2BIG, "expression nested too deeply");
		return NULL;
	}
	s->p.depth++;
	struct node *n = NULL;
	if (k == TOKEN_ADD) {
		parse_next(&s->p);
		n = read_unary(s);
	} else if (k == TOKEN_AND) {
		parse_fail(&s->p, -ENOTSUP, "addresses of variables are not supported");
	} else if (step || k == TOKEN_SUB || k == TOKEN_NOT || k == TOKEN_TILDE) {
		n = parse_node(&s->p, step ? NODE_STEP : NODE_UNARY);
		parse_next(&s->p);
		if (n) {
			n->op = (u8)k;
			n->number = step;
			n->a = read_unary(s);
			n = n->a ? parse_end(&s->p, n) : NULL;
		}
	} else {
		n = read_postfix(s);
	}
	s->p.depth--;
	return s->p.err ? NULL : n;
}

/* key in array: has_key(@array[key]) */
static struct node *read_in(struct stap *s, struct node *key)
{
	parse_next(&s->p);
	struct stap_symbol *y =
		s->p.t.kind == TOKEN_IDENT ? stap_find(s, s->p.t.text, STAP_GLOBAL) : NULL;
	if (!y) {
		parse_fail(&s->p, -EINVAL, "expected an array that is declared with 'global'");
		return NULL;
	}
	parse_next(&s->p);
	y->is_array = true;
	y->reads++;
	if (y->is_stat)
		y->stats |= 1u << STAP_COUNT;
	struct node *map = stap_map(s, y, y->is_stat ? (s32)STAP_COUNT : -1, key);
	if (!map)
		return NULL;
	struct node *k = key->kind == NODE_TUPLE ? key->list : key;
	for (struct node *next; k; k = next) {
		next = k->next;
		k->next = NULL;
		append_key(s, map, y, k);
	}
	struct node *n = stap_call_of(s, "has_key", map, key);
	return parse_end(&s->p, n);
}

/* Pairs of tokens that are one operator here, and none of ours. */
static bool refuse_operator(struct stap *s)
{
	bool regex =
		stap_joined(s, TOKEN_ASSIGN, TOKEN_TILDE) || stap_joined(s, TOKEN_NOT, TOKEN_TILDE);
	bool inside =
		stap_joined(s, TOKEN_MOD, TOKEN_LPAREN) || stap_joined(s, TOKEN_MOD, TOKEN_LBRACE);
	if (!regex && !inside)
		return false;
	parse_fail(&s->p, -ENOTSUP,
		   regex ? "regular expressions are not supported"
			 : "embedded C and %%( %%) are not supported");
	return true;
}

static struct node *read_binary(struct stap *s, u8 from)
{
	struct node *a = read_unary(s);
	while (a && !s->p.err && !refuse_operator(s)) {
		if (parse_word(&s->p, "in") && from <= LEVEL_IN) {
			a = read_in(s, a);
			continue;
		}
		enum token_kind op = s->p.t.kind;
		u8 level = level_of(op);
		if (!level || level < from || stap_joined(s, TOKEN_SHL, TOKEN_LT) ||
		    stap_joined(s, TOKEN_DOT, TOKEN_ASSIGN))
			return a;
		parse_next(&s->p);
		struct node *b = read_binary(s, (u8)(level + 1));
		if (!b)
			return NULL;
		struct node *n = stap_binary(s, op, a, b);
		if (n && op == TOKEN_DOT) {
			/* Joined texts: stap_finish_calls() */
			a->next = b;
			n = stap_call_of(s, ".", a, n);
		}
		a = n;
	}
	return s->p.err ? NULL : a;
}

struct node *stap_expr(struct stap *s)
{
	struct node *a = read_binary(s, 1);
	if (!a || s->p.t.kind != TOKEN_QUESTION)
		return a;
	struct node *n = stap_node(s, NODE_TERNARY, a);
	parse_next(&s->p);
	if (!n)
		return NULL;
	if (s->p.depth >= PARSE_DEPTH_MAX) {
		parse_fail(&s->p, -E2BIG, "expression nested too deeply");
		return NULL;
	}
	s->p.depth++;
	n->a = a;
	n->b = stap_number(s, stap_expr(s));
	if (n->b && parse_expect(&s->p, TOKEN_COLON, "':'"))
		n->c = stap_number(s, stap_expr(s));
	s->p.depth--;
	return n->c ? parse_end(&s->p, n) : NULL;
}
