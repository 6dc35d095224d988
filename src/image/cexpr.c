#include "image/cexpr.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct cexpr_parser {
	const char *text;
	size_t at;
	struct arena *arena;
	cexpr_is_type is_type;
	void *ctx;
	struct diag *diag;
	unsigned depth;
	unsigned brackets; /* a colon is a slice's in here */
	int err;
};

static struct cexpr *parse_binary(struct cexpr_parser *p, unsigned level);
static struct cexpr *parse_unary(struct cexpr_parser *p);

static void skip_blanks(struct cexpr_parser *p)
{
	while (isspace((u8)p->text[p->at]))
		p->at++;
}

static bool is_word_char(char c)
{
	return isalnum((u8)c) || c == '_';
}

/* Characters of the token here that a caret should underline. */
static size_t token_len(const struct cexpr_parser *p)
{
	size_t n = 0;
	while (is_word_char(p->text[p->at + n]))
		n++;
	return n ? n : p->text[p->at] ? 1 : 0;
}

static void *fail_at(struct cexpr_parser *p, size_t start, size_t len, const char *what)
{
	if (p->err)
		return NULL;
	p->err = diag_error(p->diag, -EINVAL, "%s", what);
	diag_span(p->diag, p->text, start, max(len, (size_t)1));
	return NULL;
}

static void *fail(struct cexpr_parser *p, const char *what)
{
	skip_blanks(p);
	return fail_at(p, p->at, token_len(p), what);
}

static void *no_memory(struct cexpr_parser *p)
{
	if (!p->err)
		p->err = -ENOMEM;
	return NULL;
}

static bool accept(struct cexpr_parser *p, const char *token)
{
	skip_blanks(p);
	size_t n = strlen(token);
	if (strncmp(p->text + p->at, token, n))
		return false;
	if (is_word_char(token[0]) && is_word_char(p->text[p->at + n]))
		return false;
	p->at += n;
	return true;
}

/* The word here, without stepping over it; its length, 0: none. */
static size_t word_at(struct cexpr_parser *p)
{
	skip_blanks(p);
	if (!isalpha((u8)p->text[p->at]) && p->text[p->at] != '_')
		return 0;
	return token_len(p);
}

static bool word_is(const struct cexpr_parser *p, size_t len, const char *word)
{
	return strlen(word) == len && !strncmp(p->text + p->at, word, len);
}

static const char *take_word(struct cexpr_parser *p, size_t len)
{
	const char *name = arena_strndup(p->arena, p->text + p->at, len);
	if (!name)
		return no_memory(p);
	p->at += len;
	return name;
}

static struct cexpr *node(struct cexpr_parser *p, enum cexpr_op op, size_t start)
{
	struct cexpr *n = arena_zalloc(p->arena, sizeof(*n));
	if (!n)
		return no_memory(p);
	n->op = op;
	n->start = start;
	n->len = p->at > start ? p->at - start : 0;
	n->cpu = CEXPR_NO_CPU;
	return n;
}

/* Whoever walks the tree recurses: it is bounded, however it came about. */
static struct cexpr *adopt(struct cexpr_parser *p, struct cexpr *n, u32 which, struct cexpr *kid)
{
	if (!n || !kid)
		return NULL;
	n->kids[which] = kid;
	n->depth = max(n->depth, kid->depth + 1);
	return n->depth <= CEXPR_DEPTH_MAX
		       ? n
		       : fail_at(p, kid->start, kid->len, "expression is nested too deeply");
}

static struct cexpr *node_of(struct cexpr_parser *p, enum cexpr_op op, size_t start,
			     struct cexpr *a, struct cexpr *b)
{
	struct cexpr *n = adopt(p, a ? node(p, op, start) : NULL, 0, a);
	return n && b ? adopt(p, n, 1, b) : n;
}

/* ---- types ----------------------------------------------------------------------------------------------------------------- */

static const char *const base_words[] = { "void",   "char",  "short", "int",   "long",	"unsigned",
					  "signed", "_Bool", "bool",  "float", "double" };

static bool is_base_word(const struct cexpr_parser *p, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(base_words); i++)
		if (word_is(p, len, base_words[i]))
			return true;
	return false;
}

static bool skip_qualifiers(struct cexpr_parser *p)
{
	bool any = false;
	while (accept(p, "const") || accept(p, "volatile"))
		any = true;
	return any;
}

/* "unsigned long int": all words, with one blank between each. */
static const char *base_type_name(struct cexpr_parser *p)
{
	char name[64] = "";
	size_t used = 0;
	for (size_t len; (len = word_at(p)) && is_base_word(p, len); p->at += len) {
		if (used + len + 2 > sizeof(name))
			return fail(p, "too many words in a type");
		if (used)
			name[used++] = ' ';
		memcpy(name + used, p->text + p->at, len);
		used += len;
	}
	const char *ret = arena_strndup(p->arena, name, used);
	return ret ? ret : no_memory(p);
}

static bool parse_number(struct cexpr_parser *p, u64 *ret, bool *is_unsigned);

static bool parse_stars(struct cexpr_parser *p, struct cexpr_type *t)
{
	for (; accept(p, "*"); t->pointers++) {
		if (t->pointers == CEXPR_POINTERS_MAX) {
			(void)fail(p, "too many levels of pointers");
			return false;
		}
		(void)skip_qualifiers(p);
	}
	if (accept(p, "[")) {
		bool is_unsigned;
		t->is_array = true;
		skip_blanks(p);
		if (!isdigit((u8)p->text[p->at]) || !parse_number(p, &t->elements, &is_unsigned)) {
			(void)fail(p, "expected the number of elements");
			return false;
		}
		if (!accept(p, "]")) {
			(void)fail(p, "expected ']'");
			return false;
		}
	}
	return true;
}

static bool parse_type(struct cexpr_parser *p, struct cexpr_type *t)
{
	static const struct {
		const char *word;
		enum cexpr_tag tag;
	} tags[] = { { "struct", CEXPR_STRUCT }, { "union", CEXPR_UNION }, { "enum", CEXPR_ENUM } };
	skip_blanks(p);
	*t = (struct cexpr_type){ .start = p->at };
	(void)skip_qualifiers(p);
	size_t len = word_at(p);
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (len && word_is(p, len, tags[i].word)) {
			p->at += len;
			t->tag = tags[i].tag;
			len = word_at(p);
			break;
		}
	if (!len) {
		(void)fail(p, "expected the name of a type");
		return false;
	}
	t->name = t->tag == CEXPR_PLAIN && is_base_word(p, len) ? base_type_name(p)
								: take_word(p, len);
	if (!t->name)
		return false;
	(void)skip_qualifiers(p);
	if (!parse_stars(p, t))
		return false;
	t->len = p->at - t->start;
	return true;
}

/* Whether what follows here is a type. */
static bool looks_like_type(struct cexpr_parser *p)
{
	static const char *const words[] = { "struct", "union", "enum", "const", "volatile" };
	size_t len = word_at(p);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (len && word_is(p, len, words[i]))
			return true;
	if (!len || is_base_word(p, len))
		return len;
	char name[128];
	if (len >= sizeof(name) || !p->is_type)
		return false;
	memcpy(name, p->text + p->at, len);
	name[len] = '\0';
	return p->is_type(p->ctx, name);
}

/* ---- operands -------------------------------------------------------------------------------------------------------------- */

static unsigned digit_of(char c)
{
	return isdigit((u8)c)	 ? (unsigned)(c - '0')
	       : isxdigit((u8)c) ? (unsigned)(tolower((u8)c) - 'a' + 10)
				 : 16;
}

static bool parse_number(struct cexpr_parser *p, u64 *ret, bool *is_unsigned)
{
	size_t start = p->at;
	unsigned base = 10;
	u64 v = 0;
	bool any = false;
	if (p->text[p->at] == '0' && (p->text[p->at + 1] | 0x20) == 'x') {
		base = 16;
		p->at += 2;
	} else if (p->text[p->at] == '0' && isdigit((u8)p->text[p->at + 1])) {
		base = 8;
		p->at++;
	}
	for (unsigned digit; (digit = digit_of(p->text[p->at])) < base; p->at++, any = true) {
		if (v > (UINT64_MAX - digit) / base) {
			(void)fail_at(p, start, token_len(p) + p->at - start, "number too large");
			return false;
		}
		v = v * base + digit;
	}
	*is_unsigned = base == 16 || v > INT64_MAX;
	for (char c; (c = (char)(p->text[p->at] | 0x20)) == 'u' || c == 'l'; p->at++)
		*is_unsigned |= c == 'u';
	if (!any || is_word_char(p->text[p->at])) {
		p->at = start;
		(void)fail(p, "invalid number");
		return false;
	}
	*ret = v;
	return true;
}

static struct cexpr *parse_literal(struct cexpr_parser *p)
{
	size_t start = p->at;
	u64 v;
	bool is_unsigned;
	if (!parse_number(p, &v, &is_unsigned))
		return NULL;
	struct cexpr *n = node(p, CEXPR_NUMBER, start);
	if (n) {
		n->number = v;
		n->is_unsigned = is_unsigned;
	}
	return n;
}

/* a.b[2].c of offsetof() and container_of(). */
static bool parse_path(struct cexpr_parser *p, struct cexpr *n)
{
	skip_blanks(p);
	n->name_start = p->at;
	do {
		size_t len = word_at(p);
		if (!len) {
			(void)fail(p, "expected a member");
			return false;
		}
		p->at += len;
		while (p->text[p->at] == '[') {
			size_t digits = strspn(p->text + p->at + 1, "0123456789");
			if (!digits || p->text[p->at + 1 + digits] != ']') {
				(void)fail(p, "expected a number in brackets");
				return false;
			}
			p->at += digits + 2;
		}
	} while (p->text[p->at] == '.' && ++p->at);
	n->name_len = p->at - n->name_start;
	n->name = arena_strndup(p->arena, p->text + n->name_start, n->name_len);
	return n->name || no_memory(p);
}

static bool expect(struct cexpr_parser *p, const char *token, const char *what)
{
	if (accept(p, token))
		return true;
	(void)fail(p, what);
	return false;
}

static struct cexpr *finish(struct cexpr_parser *p, struct cexpr *n)
{
	if (n)
		n->len = p->at - n->start;
	return n;
}

static struct cexpr *parse_sizeof(struct cexpr_parser *p, size_t start)
{
	size_t before = p->at;
	struct cexpr *n;
	if (accept(p, "(") && looks_like_type(p)) {
		n = node(p, CEXPR_SIZEOF_TYPE, start);
		if (!n || !parse_type(p, &n->type) || !expect(p, ")", "expected ')'"))
			return NULL;
		return finish(p, n);
	}
	p->at = before;
	n = node_of(p, CEXPR_SIZEOF, start, parse_unary(p), NULL);
	return finish(p, n);
}

static struct cexpr *parse_offsetof(struct cexpr_parser *p, size_t start)
{
	struct cexpr *n = node(p, CEXPR_OFFSETOF, start);
	if (!n || !expect(p, "(", "expected '('") || !parse_type(p, &n->type) ||
	    !expect(p, ",", "expected ',' and a member") || !parse_path(p, n) ||
	    !expect(p, ")", "expected ')'"))
		return NULL;
	return finish(p, n);
}

static struct cexpr *parse_container(struct cexpr_parser *p, size_t start)
{
	struct cexpr *n = node(p, CEXPR_CONTAINER, start);
	if (!n || !expect(p, "(", "expected '('") || !adopt(p, n, 0, parse_binary(p, 0)) ||
	    !expect(p, ",", "expected ',' and a type") || !parse_type(p, &n->type) ||
	    !expect(p, ",", "expected ',' and a member") || !parse_path(p, n) ||
	    !expect(p, ")", "expected ')'"))
		return NULL;
	return finish(p, n);
}

/* "runqueues:0", "runqueues:a" */
static bool parse_cpu(struct cexpr_parser *p, struct cexpr *n)
{
	u64 cpu;
	bool is_unsigned;
	if (p->brackets || p->text[p->at] != ':')
		return true;
	p->at++;
	if (p->text[p->at] == 'a' && !is_word_char(p->text[p->at + 1])) {
		p->at++;
		n->cpu = CEXPR_ALL_CPUS;
		return true;
	}
	if (!isdigit((u8)p->text[p->at]) || !parse_number(p, &cpu, &is_unsigned) || cpu > INT32_MAX) {
		(void)fail(p, "expected the number of a CPU, or 'a' for all");
		return false;
	}
	n->cpu = (s32)cpu;
	return true;
}

static struct cexpr *parse_name(struct cexpr_parser *p, size_t len)
{
	size_t start = p->at;

	if (word_is(p, len, "sizeof")) {
		p->at += len;
		return parse_sizeof(p, start);
	}
	size_t after = p->at + len;
	while (isspace((u8)p->text[after]))
		after++;
	bool is_call = p->text[after] == '(';
	if (is_call && word_is(p, len, "offsetof")) {
		p->at += len;
		return parse_offsetof(p, start);
	}
	if (is_call && word_is(p, len, "container_of")) {
		p->at += len;
		return parse_container(p, start);
	}
	const char *name = take_word(p, len);
	struct cexpr *n = name ? node(p, CEXPR_NAME, start) : NULL;
	if (!n)
		return NULL;
	n->name = name;
	n->name_start = start;
	n->name_len = len;
	return parse_cpu(p, n) ? finish(p, n) : NULL;
}

static struct cexpr *parse_variable(struct cexpr_parser *p)
{
	size_t start = p->at++;
	size_t len = token_len(p);
	if (!is_word_char(p->text[p->at]))
		return fail_at(p, start, 1, "expected a name after '$'");
	const char *name = take_word(p, len);
	struct cexpr *n = name ? node(p, CEXPR_VARIABLE, start) : NULL;
	if (n)
		n->name = name;
	return n;
}

static struct cexpr *parse_primary(struct cexpr_parser *p)
{
	skip_blanks(p);
	size_t len;
	if (isdigit((u8)p->text[p->at]))
		return parse_literal(p);
	if (p->text[p->at] == '$')
		return parse_variable(p);
	if ((len = word_at(p)))
		return parse_name(p, len);
	if (accept(p, "(")) {
		unsigned brackets = p->brackets;
		p->brackets = 0;
		struct cexpr *n = parse_binary(p, 0);
		p->brackets = brackets;
		return n && expect(p, ")", "expected ')'") ? n : NULL;
	}
	return fail(p, p->text[p->at] ? "expected a name, a number or '('"
				      : "expression ends where an operand is expected");
}

static struct cexpr *parse_index(struct cexpr_parser *p, struct cexpr *of)
{
	p->brackets++;
	struct cexpr *first = parse_binary(p, 0), *last = NULL;
	bool slice = first && accept(p, ":");
	if (slice)
		last = parse_binary(p, 0);
	p->brackets--;
	if (!first || (slice && !last) || !expect(p, "]", "expected ']'"))
		return NULL;
	struct cexpr *n = node_of(p, slice ? CEXPR_SLICE : CEXPR_INDEX, of->start, of, first);
	return n && last ? adopt(p, n, 2, last) : n;
}

static struct cexpr *parse_member(struct cexpr_parser *p, struct cexpr *of, enum cexpr_op op)
{
	size_t len = word_at(p);
	if (!len)
		return fail(p, "expected a member");
	size_t start = p->at;
	const char *name = take_word(p, len);
	struct cexpr *n = name ? node_of(p, op, of->start, of, NULL) : NULL;
	if (n) {
		n->name = name;
		n->name_start = start;
		n->name_len = len;
	}
	return n;
}

static struct cexpr *parse_postfix(struct cexpr_parser *p)
{
	struct cexpr *n = parse_primary(p);
	for (unsigned i = 0; n; i++) {
		if (i == CEXPR_DEPTH_MAX)
			return fail(p, "expression is nested too deeply");
		if (accept(p, "->"))
			n = parse_member(p, n, CEXPR_ARROW);
		else if (accept(p, "."))
			n = parse_member(p, n, CEXPR_MEMBER);
		else if (accept(p, "["))
			n = parse_index(p, n);
		else
			break;
	}
	return n;
}

static struct cexpr *parse_cast(struct cexpr_parser *p, size_t start)
{
	struct cexpr_type type;
	if (!parse_type(p, &type) || !expect(p, ")", "expected ')' after the type"))
		return NULL;
	struct cexpr *n = node_of(p, CEXPR_CAST, start, parse_unary(p), NULL);
	if (n)
		n->type = type;
	return finish(p, n);
}

static struct cexpr *parse_prefix(struct cexpr_parser *p)
{
	static const struct {
		char token;
		enum cexpr_op op;
	} ops[] = { { '*', CEXPR_DEREF },
		    { '&', CEXPR_ADDRESS },
		    { '-', CEXPR_NEGATE },
		    { '!', CEXPR_NOT },
		    { '~', CEXPR_COMPLEMENT } };
	skip_blanks(p);
	size_t start = p->at;
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (p->text[p->at] == ops[i].token) {
			p->at++;
			return finish(p, node_of(p, ops[i].op, start, parse_unary(p), NULL));
		}
	if (p->text[p->at] == '(') {
		p->at++;
		if (looks_like_type(p))
			return parse_cast(p, start);
		p->at = start;
	}
	return parse_postfix(p);
}

static struct cexpr *parse_unary(struct cexpr_parser *p)
{
	if (++p->depth > CEXPR_DEPTH_MAX)
		return fail(p, "expression is nested too deeply");
	struct cexpr *n = parse_prefix(p);
	p->depth--;
	return n;
}

/* ---- operators: loosest first ---------------------------------------------------------------------------------------------- */

static const struct {
	const char *token;
	unsigned level;
	enum cexpr_op op;
} binary[] = {
	{ "||", 0, CEXPR_OR },	   { "&&", 1, CEXPR_AND },    { "|", 2, CEXPR_BIT_OR },
	{ "^", 3, CEXPR_BIT_XOR }, { "&", 4, CEXPR_BIT_AND }, { "==", 5, CEXPR_EQ },
	{ "!=", 5, CEXPR_NE },	   { "<=", 6, CEXPR_LE },     { ">=", 6, CEXPR_GE },
	{ "<<", 7, CEXPR_SHL },	   { ">>", 7, CEXPR_SHR },    { "<", 6, CEXPR_LT },
	{ ">", 6, CEXPR_GT },	   { "+", 8, CEXPR_ADD },     { "-", 8, CEXPR_SUB },
	{ "*", 9, CEXPR_MUL },	   { "/", 9, CEXPR_DIV },     { "%", 9, CEXPR_MOD },
};
enum { LEVELS = 10 };

/* The operator here if it belongs to this level; longer tokens stand before those that begin them. */
static bool accept_operator(struct cexpr_parser *p, unsigned level, enum cexpr_op *ret)
{
	skip_blanks(p);
	for (size_t i = 0; i < ARRAY_SIZE(binary); i++) {
		size_t n = strlen(binary[i].token);
		if (strncmp(p->text + p->at, binary[i].token, n))
			continue;
		/* "a && b" is no "a & &b" */
		if (n == 1 && (binary[i].token[0] == '&' || binary[i].token[0] == '|') &&
		    p->text[p->at + 1] == binary[i].token[0])
			continue;
		if (binary[i].level != level)
			return false;
		p->at += n;
		*ret = binary[i].op;
		return true;
	}
	return false;
}

static struct cexpr *parse_binary(struct cexpr_parser *p, unsigned level)
{
	enum cexpr_op op;
	if (level == LEVELS)
		return parse_unary(p);
	struct cexpr *left = parse_binary(p, level + 1);
	for (unsigned i = 0; left && accept_operator(p, level, &op); i++) {
		if (i == CEXPR_DEPTH_MAX)
			return fail(p, "expression is nested too deeply");
		struct cexpr *right = parse_binary(p, level + 1);
		left = right ? node_of(p, op, left->start, left, right) : NULL;
		finish(p, left);
	}
	return left;
}

static int finish_all(struct cexpr_parser *p)
{
	skip_blanks(p);
	if (!p->err && p->text[p->at])
		(void)fail(p, "unexpected text after the expression");
	return p->err;
}

int cexpr_parse(const char *text, struct arena *arena, cexpr_is_type is_type, void *ctx,
		struct cexpr **ret, struct diag *d)
{
	struct cexpr_parser p = {
		.text = text, .arena = arena, .is_type = is_type, .ctx = ctx, .diag = d
	};
	struct cexpr *n = parse_binary(&p, 0);
	int err = finish_all(&p);
	if (!err)
		*ret = n;
	return err;
}

int cexpr_parse_type(const char *text, struct arena *arena, struct cexpr_type *ret, struct diag *d)
{
	struct cexpr_parser p = { .text = text, .arena = arena, .diag = d };
	struct cexpr_type t;
	(void)parse_type(&p, &t);
	int err = finish_all(&p);
	if (!err)
		*ret = t;
	return err;
}
