/*
 * The parser: precedence climbing over a lexer with one token in hand. Nesting is limited while parsing, and so is the depth of the tree
 * (a long chain of + is deep on its left side), so that neither the parser nor the evaluator can exhaust the stack.
 */
#include "base/expr.h"
#include "base/expr_impl.h"
#include "base/num.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

enum expr_token { T_END, T_NUMBER, T_STRING, T_NAME, T_OP };

struct expr_parser {
	struct expr *e;
	const char *const *funcs;
	struct diag *d;
	enum expr_token token;
	size_t start, end; /* of the token in hand */
	char op[3]; /* T_OP */
	struct expr_value value; /* T_NUMBER */
	const char *word; /* T_NAME, T_STRING: in the arena */
	unsigned nesting;
};

struct binary {
	const char *word;
	enum expr_op op;
	u8 level; /* higher binds tighter */
};

static const struct binary binaries[] = {
	{ "||", EXPR_OR, 1 },	  { "&&", EXPR_AND, 2 },       { "|", EXPR_BIT_OR, 3 },
	{ "^", EXPR_BIT_XOR, 4 }, { "&", EXPR_BIT_AND, 5 },    { "==", EXPR_EQ, 6 },
	{ "!=", EXPR_NE, 6 },	  { "<", EXPR_LT, 6 },	       { "<=", EXPR_LE, 6 },
	{ ">", EXPR_GT, 6 },	  { ">=", EXPR_GE, 6 },	       { "~", EXPR_GLOB, 7 },
	{ "=~", EXPR_REGEX, 7 },  { "!~", EXPR_NOT_REGEX, 7 }, { "<<", EXPR_SHL, 8 },
	{ ">>", EXPR_SHR, 8 },	  { "+", EXPR_ADD, 9 },	       { "-", EXPR_SUB, 9 },
	{ "*", EXPR_MUL, 10 },	  { "/", EXPR_DIV, 10 },       { "%", EXPR_MOD, 10 },
};

static const struct {
	const char *name;
	u8 least, most; /* arguments */
} builtins[] = {
	[BUILTIN_MIN] = { "min", 1, EXPR_ARGS_MAX },
	[BUILTIN_MAX] = { "max", 1, EXPR_ARGS_MAX },
	[BUILTIN_ABS] = { "abs", 1, 1 },
	[BUILTIN_D_RATIO] = { "d_ratio", 2, 2 },
};

int expr_fail(struct diag *d, const char *text, size_t start, size_t end, int err, const char *why)
{
	diag_error(d, err, "%s", why);
	diag_span(d, text, start, end > start ? end - start : 1);
	return err;
}

static int fail_here(struct expr_parser *p, const char *why)
{
	return expr_fail(p->d, p->e->text, p->start, p->end, -EINVAL, why);
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.:@#$", c));
}

/* In a string only \n \t \\ and quotes are escapes, so that patterns keep their own; in a name any character is. */
static char unescape(char c, bool string)
{
	if (!string)
		return c;
	return c == 'n' ? '\n' : c == 't' ? '\t' : strchr("\\\"'", c) ? c : '\0';
}

/* Copies a name or a string, escapes resolved, into the arena. */
static int lex_copy(struct expr_parser *p, size_t from, size_t to, bool string)
{
	char *copy = arena_alloc(&p->e->arena, to - from + 1), *at = copy;
	if (!copy)
		return -ENOMEM;
	for (const char *s = p->e->text; from < to; from++) {
		char c = s[from] == '\\' && from + 1 < to ? unescape(s[from + 1], string) : '\0';
		if (c)
			from++;
		*at++ = c ? c : s[from];
	}
	*at = '\0';
	p->word = copy;
	return 0;
}

static int lex_name(struct expr_parser *p, const char *s)
{
	size_t at = p->start;
	while (name_char(s[at]) || (s[at] == '\\' && s[at + 1]))
		at += s[at] == '\\' ? 2 : 1;
	while (s[at - 1] == ':') /* "a ? b: c" */
		at--;
	p->token = T_NAME;
	p->end = at;
	return lex_copy(p, p->start, at, false);
}

static int lex_string(struct expr_parser *p, const char *s)
{
	size_t at = p->start + 1;
	for (; s[at] && s[at] != s[p->start]; at++)
		if (s[at] == '\\' && s[at + 1])
			at++;
	p->token = T_STRING;
	p->end = at + (s[at] != '\0');
	if (!s[at])
		return fail_here(p, "unterminated string");
	return lex_copy(p, p->start + 1, at, true);
}

static int lex_number(struct expr_parser *p, const char *s)
{
	char *end;
	const char *from = s + p->start;
	bool hex = from[0] == '0' && (from[1] == 'x' || from[1] == 'X');
	size_t digits =
		hex ? 2 + strspn(from + 2, "0123456789abcdefABCDEF") : strspn(from, "0123456789");
	p->token = T_NUMBER;
	errno = 0;
	if (!hex && (from[digits] == '.' || from[digits] == 'e' || from[digits] == 'E')) {
		p->value = (struct expr_value){ .type = EXPR_FLOAT, .f = strtod(from, &end) };
	} else {
		u64 v = strtoull(from, &end, hex ? 16 : 10);
		p->value = expr_int((s128)v);
	}
	p->end = (size_t)(end - s);
	while (name_char(s[p->end]) && s[p->end] != ':')
		p->end++;
	if (errno == ERANGE && p->value.type == EXPR_INT)
		return fail_here(p, "number too large");
	if (s + p->end != end)
		return fail_here(p, "invalid number");
	return 0;
}

static int lex_op(struct expr_parser *p, const char *s)
{
	static const char *const pairs[] = { "||", "&&", "==", "!=", "<=",
					     ">=", "<<", ">>", "=~", "!~" };
	p->token = T_OP;
	p->end = p->start + 1;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (str_starts(s + p->start, pairs[i]))
			p->end = p->start + 2;
	memcpy(p->op, s + p->start, p->end - p->start);
	p->op[p->end - p->start] = '\0';
	if (p->op[1] || strchr("|^&<>~+-*/%!?:,()", p->op[0]))
		return 0;
	fail_here(p, "unexpected token in expression");
	if (p->op[0] == '=')
		diag_hint(p->d, "use '==' to test for equality");
	return -EINVAL;
}

static int next_token(struct expr_parser *p)
{
	const char *s = p->e->text;
	p->start = p->end + strspn(s + p->end, " \t\n");
	p->end = p->start;
	char c = s[p->start];
	p->op[0] = '\0';
	if (!c) {
		p->token = T_END;
		return 0;
	}
	if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)s[p->start + 1])))
		return lex_number(p, s);
	if (c == '"' || c == '\'')
		return lex_string(p, s);
	if ((name_char(c) && c != ':' && c != '.') || (c == '\\' && s[p->start + 1]))
		return lex_name(p, s);
	return lex_op(p, s);
}

static bool at_op(const struct expr_parser *p, const char *op)
{
	return p->token == T_OP && !strcmp(p->op, op);
}

static bool at_word(const struct expr_parser *p, const char *word)
{
	return p->token == T_NAME && !strcmp(p->word, word);
}

static int expect(struct expr_parser *p, const char *op)
{
	if (at_op(p, op))
		return next_token(p);
	char why[40];
	(void)snprintf(why, sizeof(why), "expected '%s'", op);
	fail_here(p, why);
	if (*op == ':')
		diag_hint(p->d, "put spaces around ':' so that it is not taken as part of a name");
	return -EINVAL;
}

/* start: of its text, which ends before the token in hand. */
static int make(struct expr_parser *p, enum expr_op op, size_t start, size_t end,
		struct expr_node **ret)
{
	struct expr_node *n = arena_zalloc(&p->e->arena, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->op = op;
	n->start = (u32)start;
	n->len = (u32)(end - start);
	n->depth = 1;
	*ret = n;
	return 0;
}

static int adopt(struct expr_parser *p, struct expr_node *n, unsigned slot, struct expr_node *kid)
{
	n->kids[slot] = kid;
	n->depth = max(n->depth, kid->depth + 1);
	if (n->depth > EXPR_DEPTH_MAX)
		return expr_fail(p->d, p->e->text, n->start, n->start + n->len, -E2BIG,
				 "expression too long or nested too deeply");
	return 0;
}

static int parse_expr(struct expr_parser *p, struct expr_node **ret);
static int parse_unary(struct expr_parser *p, struct expr_node **ret);

static int add_ident(struct expr_parser *p, const char *name, u32 *ret)
{
	for (size_t i = 0; i < p->e->idents.nr; i++) {
		if (!strcmp(p->e->idents.at[i], name)) {
			*ret = (u32)i;
			return 0;
		}
	}
	const char **slot = vec_push(&p->e->idents);
	if (!slot)
		return -ENOMEM;
	*slot = name;
	*ret = (u32)p->e->idents.nr - 1;
	return 0;
}

static int unknown_function(struct expr_parser *p, const struct expr_node *call)
{
	const char *names[32];
	size_t nr = 0;
	for (; nr < ARRAY_SIZE(builtins); nr++)
		names[nr] = builtins[nr].name;
	for (size_t i = 0; p->funcs && p->funcs[i] && nr < ARRAY_SIZE(names); i++)
		names[nr++] = p->funcs[i];
	expr_fail(p->d, p->e->text, call->start, call->start + strlen(call->func), -EINVAL,
		  "unknown function");
	const char *close = str_closest(call->func, names, nr);
	if (close)
		diag_hint(p->d, "did you mean '%s'?", close);
	return -EINVAL;
}

static int check_call(struct expr_parser *p, struct expr_node *call)
{
	size_t end = call->start + call->len;
	call->builtin = BUILTIN_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(builtins); i++) {
		if (strcmp(builtins[i].name, call->func))
			continue;
		if (call->nr_args < builtins[i].least)
			return expr_fail(p->d, p->e->text, call->start, end, -EINVAL,
					 "not enough arguments to this function");
		if (call->nr_args > builtins[i].most)
			return expr_fail(p->d, p->e->text, call->start, end, -EINVAL,
					 "too many arguments");
		call->builtin = (u32)i;
		return 0;
	}
	for (size_t i = 0; p->funcs && p->funcs[i]; i++)
		if (!strcmp(p->funcs[i], call->func))
			return 0;
	return unknown_function(p, call);
}

/* The name is read and '(' is in hand. */
static int parse_call(struct expr_parser *p, const char *name, size_t start, struct expr_node **ret)
{
	struct expr_node *call, *arg = NULL, **link;
	int err = make(p, EXPR_CALL, start, p->end, &call);
	if (err || (err = next_token(p)))
		return err;
	call->func = name;
	link = &call->kids[0];
	while (!at_op(p, ")")) {
		if (call->nr_args && (err = expect(p, ",")))
			return err;
		if ((err = parse_expr(p, &arg)))
			return err;
		call->depth = max(call->depth, arg->depth + 1);
		call->nr_args++;
		*link = arg;
		link = &arg->next;
	}
	call->len = (u32)(p->end - start);
	if (call->depth > EXPR_DEPTH_MAX || call->nr_args > EXPR_ARGS_MAX)
		return expr_fail(p->d, p->e->text, start, p->end, -E2BIG,
				 "expression too long or nested too deeply");
	if ((err = next_token(p)) || (err = check_call(p, call)))
		return err;
	*ret = call;
	return 0;
}

static int parse_name(struct expr_parser *p, struct expr_node **ret)
{
	const char *name = p->word;
	size_t start = p->start, end = p->end;
	struct expr_node *n;
	if (at_word(p, "if") || at_word(p, "else"))
		return fail_here(p, "expected a value");
	int err = next_token(p);
	if (err)
		return err;
	if (at_op(p, "("))
		return parse_call(p, name, start, ret);
	if ((err = make(p, EXPR_IDENT, start, end, &n)) || (err = add_ident(p, name, &n->ident)))
		return err;
	*ret = n;
	return 0;
}

static int parse_primary(struct expr_parser *p, struct expr_node **ret)
{
	struct expr_node *n;
	int err;
	switch (p->token) {
	case T_NAME: return parse_name(p, ret);
	case T_NUMBER:
	case T_STRING:
		err = make(p, EXPR_VALUE, p->start, p->end, &n);
		if (err)
			return err;
		n->value = p->token == T_NUMBER
				   ? p->value
				   : (struct expr_value){ .type = EXPR_STR, .s = p->word };
		*ret = n;
		return next_token(p);
	case T_OP:
		if (!at_op(p, "("))
			break;
		if ((err = next_token(p)) || (err = parse_expr(p, ret)))
			return err;
		return expect(p, ")");
	default: break;
	}
	return fail_here(p, p->token == T_END ? "unexpected end" : "expected a value");
}

/* Every recursion of the parser comes through here or through parse_expr. */
static int enter(struct expr_parser *p)
{
	if (++p->nesting <= EXPR_DEPTH_MAX)
		return 0;
	return expr_fail(p->d, p->e->text, p->start, p->end, -E2BIG, "nested too deeply");
}

static int parse_unary(struct expr_parser *p, struct expr_node **ret)
{
	size_t start = p->start;
	enum expr_op op = at_op(p, "-") ? EXPR_NEG : at_op(p, "!") ? EXPR_NOT : EXPR_BIT_NOT;
	struct expr_node *n, *kid;
	if (op == EXPR_BIT_NOT && !at_op(p, "~"))
		return parse_primary(p, ret);
	int err = enter(p);
	if (err || (err = next_token(p)) || (err = parse_unary(p, &kid)))
		return err;
	p->nesting--;
	if ((err = make(p, op, start, kid->start + kid->len, &n)) || (err = adopt(p, n, 0, kid)))
		return err;
	*ret = n;
	return 0;
}

/* After a bracket expression "[...]"; p: after the '['. */
static const char *bracket_end(const char *p)
{
	p += *p == '^';
	p += *p == ']';
	while (*p && *p != ']')
		p++;
	return *p ? p + 1 : p;
}

/* How many copies a repetition at p makes of what stands before it, and where it ends; 0: there is none. */
static u64 repetition(const char *p, const char **end)
{
	*end = p + 1;
	if (*p == '*' || *p == '?' || *p == '+')
		return 2;
	if (*p != '{')
		return 0;
	u64 most = 1;
	for (p++; *p && *p != '}'; p++)
		if (isdigit((unsigned char)*p))
			most = max(most, min(strtoull(p, NULL, 10), 100000ull));
	*end = *p ? p + 1 : p;
	return most + 1;
}

/*
 * regcomp() copies what is repeated: (((a+)+)+) doubles with every '+', and takes all memory long before it fails; what may be
 * empty, (((a?)+)+), costs the square in time. This adds up the copies of each level of parentheses; false when they are too many.
 */
static bool regex_is_bearable(const char *p)
{
	enum { LEVELS = 32, COPIES_MAX = 1 << 10 };
	u64 sums[LEVELS] = { 0 }, copies;
	unsigned level = 0;
	while (*p) {
		u64 atom = 1;
		if (*p == '(') {
			if (++level == LEVELS)
				return false;
			sums[level] = 0;
			p++;
			continue;
		}
		if (*p == ')' && level)
			atom = sums[level--];
		p = *p == '[' ? bracket_end(p + 1) : *p == '\\' && p[1] ? p + 2 : p + 1;
		const char *end;
		for (; (copies = repetition(p, &end)) && *p; p = end)
			atom = min(atom * copies, (u64)COPIES_MAX + 1);
		sums[level] += atom;
		if (sums[level] > COPIES_MAX)
			return false;
	}
	return true;
}

/* The pattern is compiled once; it must therefore be written out. */
static int compile_regex(struct expr_parser *p, struct expr_node *n)
{
	const struct expr_node *pattern = n->kids[1];
	size_t start = pattern->start, end = start + pattern->len;
	if (pattern->op != EXPR_VALUE || pattern->value.type != EXPR_STR)
		return expr_fail(p->d, p->e->text, start, end, -EINVAL,
				 "expected a quoted regular expression");
	if (!regex_is_bearable(pattern->value.s))
		return expr_fail(p->d, p->e->text, start, end, -EINVAL,
				 "pattern has too many repetitions");
	regex_t **slot = vec_push(&p->e->regexes), *regex = malloc(sizeof(*regex));
	if (!slot || !regex) {
		if (slot)
			p->e->regexes.nr--;
		free(regex);
		return -ENOMEM;
	}
	int err = regcomp(regex, pattern->value.s, REG_EXTENDED | REG_NOSUB);
	if (err) {
		char why[128];
		(void)regerror(err, regex, why, sizeof(why));
		p->e->regexes.nr--;
		free(regex);
		return err == REG_ESPACE ? -ENOMEM
					 : expr_fail(p->d, p->e->text, start, end, -EINVAL, why);
	}
	n->regex = *slot = regex;
	return 0;
}

static const struct binary *binary_in_hand(const struct expr_parser *p)
{
	for (size_t i = 0; p->token == T_OP && i < ARRAY_SIZE(binaries); i++)
		if (!strcmp(binaries[i].word, p->op))
			return &binaries[i];
	return NULL;
}

static int parse_binary(struct expr_parser *p, unsigned level, struct expr_node **ret)
{
	struct expr_node *left, *right, *n;
	const struct binary *b;
	int err = parse_unary(p, &left);
	while (!err && (b = binary_in_hand(p)) && b->level >= level) {
		if ((err = next_token(p)) || (err = parse_binary(p, b->level + 1u, &right)) ||
		    (err = make(p, b->op, left->start, right->start + right->len, &n)) ||
		    (err = adopt(p, n, 0, left)) || (err = adopt(p, n, 1, right)))
			return err;
		if (b->op == EXPR_REGEX || b->op == EXPR_NOT_REGEX)
			err = compile_regex(p, n);
		left = n;
	}
	if (!err)
		*ret = left;
	return err;
}

/* "c ? a : b", or "a if c else b" as metrics are often written. */
static int parse_condition(struct expr_parser *p, struct expr_node *first, struct expr_node **ret)
{
	struct expr_node *second, *third, *n;
	bool python = at_word(p, "if");
	int err = next_token(p);
	if (err || (err = parse_expr(p, &second)))
		return err;
	if (python)
		err = at_word(p, "else") ? next_token(p) : fail_here(p, "expected 'else'");
	else
		err = expect(p, ":");
	if (err || (err = parse_expr(p, &third)) ||
	    (err = make(p, EXPR_COND, first->start, third->start + third->len, &n)) ||
	    (err = adopt(p, n, 0, python ? second : first)) ||
	    (err = adopt(p, n, 1, python ? first : second)) || (err = adopt(p, n, 2, third)))
		return err;
	*ret = n;
	return 0;
}

static int parse_expr(struct expr_parser *p, struct expr_node **ret)
{
	struct expr_node *n;
	int err = enter(p);
	if (err || (err = parse_binary(p, 1, &n)))
		return err;
	if (at_op(p, "?") || at_word(p, "if"))
		err = parse_condition(p, n, &n);
	p->nesting--;
	if (!err)
		*ret = n;
	return err;
}

int expr_parse(struct expr *e, const char *text, const char *const *funcs, struct diag *d)
{
	struct expr_parser p = { .e = e, .funcs = funcs, .d = d };
	struct expr_node *root = NULL;
	*e = (struct expr){ 0 };
	arena_init(&e->arena);
	e->text = arena_strdup(&e->arena, text);
	int err = !e->text ? -ENOMEM : strlen(text) > UINT32_MAX / 2 ? -E2BIG : next_token(&p);
	if (!err)
		err = parse_expr(&p, &root);
	if (!err && p.token != T_END)
		err = fail_here(&p, "expected an operator");
	e->root = root;
	if (err)
		expr_done(e);
	return err;
}

void expr_done(struct expr *e)
{
	vec_for_each (&e->regexes, r) {
		regfree(*r);
		free(*r);
	}
	vec_free(&e->regexes);
	vec_free(&e->idents);
	arena_done(&e->arena);
	e->root = NULL;
}
