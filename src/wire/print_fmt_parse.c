/*
 * The arguments of a print fmt, parsed as the C expressions they are: a recursive-descent parser with C's precedences and
 * C's integer types. Names that the kernel's macros leave in the text (__print_flags, __get_str ...) are rows of a table.
 * Constants fold while the tree is built. What is not understood sets p->err and p->what; nothing is guessed.
 */
#include "wire/print_fmt_impl.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum {
	TOK_END = 0,
	TOK_IDENT = 256,
	TOK_NUM,
	TOK_STR,
	TOK_ARROW,
	TOK_SHL,
	TOK_SHR,
	TOK_LE,
	TOK_GE,
	TOK_EQ,
	TOK_NE,
	TOK_LOGAND,
	TOK_LOGOR,
};

struct local {
	struct local *next;
	const char *name;
	size_t len;
	const struct node *value;
};

struct ctype {
	u8 size; /* 0: not known */
	bool sign;
	bool pointer;
};

static const struct node *parse_expr(struct parser *p);
static const struct node *parse_unary(struct parser *p);

void *parser_fail(struct parser *p, const char *what)
{
	if (!p->err) {
		p->err = -EINVAL;
		p->what = what;
	}
	p->tok = TOK_END;
	return NULL;
}

static void *out_of_memory(struct parser *p)
{
	parser_fail(p, "out of memory");
	p->err = -ENOMEM;
	return NULL;
}

/* ---- tokens ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static char unescape(const char **at, const char *end)
{
	char c = *(*at)++;
	if (c >= '0' && c <= '7') {
		int v = c - '0';
		for (int i = 0; i < 2 && *at < end && **at >= '0' && **at <= '7'; i++)
			v = v * 8 + *(*at)++ - '0';
		return (char)v;
	}
	static const char from[] = "ntrabfve", to[] = "\n\t\r\a\b\f\v\033";
	const char *hit = strchr(from, c);
	return hit && c ? to[hit - from] : c;
}

static void lex_number(struct parser *p)
{
	const char *at = p->at;
	unsigned base = 10;
	if (*at == '0' && p->end - at > 1 && (at[1] | 32) == 'x')
		base = 16, at += 2;
	else if (*at == '0')
		base = 8;
	u64 v = 0;
	for (; at < p->end && isxdigit((unsigned char)*at); at++) {
		unsigned digit = isdigit((unsigned char)*at) ? (unsigned)(*at - '0')
							     : (unsigned)((*at | 32) - 'a' + 10);
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	bool is_unsigned = false;
	unsigned longs = 0;
	for (; at < p->end && is_word(*at); at++) {
		if ((*at | 32) == 'u')
			is_unsigned = true;
		else if ((*at | 32) == 'l')
			longs++;
		else
			parser_fail(p, "a malformed number");
	}
	u8 size = longs > 1 ? 8 : longs ? p->schema->long_size : 4;
	if (size == 4 && v > UINT32_MAX)
		size = 8;
	if (size == 4 && v > INT32_MAX && base == 10 && !is_unsigned)
		size = 8;
	if ((size == 4 && v > INT32_MAX) || v > INT64_MAX)
		is_unsigned = true;
	p->num = v;
	p->num_size = size;
	p->num_sign = !is_unsigned;
	p->tok = TOK_NUM;
	p->tok_len = (size_t)(at - p->at);
	p->at = at;
}

static void lex_quoted(struct parser *p, char quote)
{
	const char *at = p->at + 1;
	while (at < p->end && *at != quote)
		at += *at == '\\' && p->end - at > 1 ? 2 : 1;
	if (at >= p->end) {
		parser_fail(p, "an open quote");
		return;
	}
	p->tok_at = p->at + 1;
	p->tok_len = (size_t)(at - p->tok_at);
	p->at = at + 1;
	p->tok = TOK_STR;
	if (quote == '"')
		return;
	if (!p->tok_len) {
		parser_fail(p, "an empty character");
		return;
	}
	const char *c = p->tok_at;
	p->num = (u64)(*c == '\\' && p->tok_len > 1 ? (c++, unescape(&c, at)) : *c);
	p->num_size = 4;
	p->num_sign = true;
	p->tok = TOK_NUM;
}

static void lex_operator(struct parser *p)
{
	static const struct {
		char text[3];
		u16 tok;
	} pairs[] = {
		{ "->", TOK_ARROW }, { "<<", TOK_SHL },	   { ">>", TOK_SHR },
		{ "<=", TOK_LE },    { ">=", TOK_GE },	   { "==", TOK_EQ },
		{ "!=", TOK_NE },    { "&&", TOK_LOGAND }, { "||", TOK_LOGOR },
	};
	if (p->end - p->at > 1)
		for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
			if (p->at[0] == pairs[i].text[0] && p->at[1] == pairs[i].text[1]) {
				p->tok = pairs[i].tok;
				p->at += 2;
				return;
			}
	p->tok = (unsigned char)*p->at++;
}

static void next(struct parser *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
	p->tok_at = p->at;
	p->tok_len = 0;
	p->tok = TOK_END;
	if (p->at >= p->end || p->err)
		return;
	char c = *p->at;
	if (isdigit((unsigned char)c)) {
		lex_number(p);
	} else if (is_word(c)) {
		while (p->at < p->end && is_word(*p->at))
			p->at++;
		p->tok = TOK_IDENT;
		p->tok_len = (size_t)(p->at - p->tok_at);
	} else if (c == '"' || c == '\'') {
		lex_quoted(p, c);
	} else {
		lex_operator(p);
	}
	if (p->err) /* after a failure there is nothing but the end: every loop of the parser stops there */
		p->tok = TOK_END;
}

static bool accept(struct parser *p, int tok)
{
	if (p->tok != tok)
		return false;
	next(p);
	return true;
}

static void expect(struct parser *p, int tok)
{
	if (!accept(p, tok))
		parser_fail(p, "something stands where it does not belong");
}

static bool at_word(const struct parser *p, const char *word)
{
	return p->tok == TOK_IDENT && p->tok_len == strlen(word) &&
	       !memcmp(p->tok_at, word, p->tok_len);
}

static bool accept_word(struct parser *p, const char *word)
{
	if (!at_word(p, word))
		return false;
	next(p);
	return true;
}

/* Where the lexer stands, to look ahead and come back. */
struct mark {
	const char *at, *tok_at;
	size_t tok_len;
	u64 num;
	int tok;
	u8 num_size;
	bool num_sign;
};

static struct mark mark_of(const struct parser *p)
{
	return (struct mark){ p->at, p->tok_at, p->tok_len, p->num, p->tok, p->num_size, p->num_sign };
}

static void back_to(struct parser *p, struct mark m)
{
	p->at = m.at;
	p->tok_at = m.tok_at;
	p->tok_len = m.tok_len;
	p->num = m.num;
	p->tok = p->err ? TOK_END : m.tok;
	p->num_size = m.num_size;
	p->num_sign = m.num_sign;
}

/* ---- nodes ---- */

static struct node *new_node(struct parser *p, enum node_kind kind, const struct node *a,
			     const struct node *b)
{
	if (p->err)
		return NULL;
	u32 depth = 1 + max(a ? a->depth : 0u, b ? b->depth : 0u);
	u32 cost = 1 + (a ? a->cost : 0) + (b ? b->cost : 0);
	if (depth > PRINT_DEPTH_MAX)
		return parser_fail(p, "it is nested too deeply");
	if (++p->nr_nodes > PRINT_NODES_MAX || cost > PRINT_COST_MAX)
		return parser_fail(p, "it is too long");
	struct node *n = arena_zalloc(p->arena, sizeof(*n));
	if (!n)
		return out_of_memory(p);
	n->kind = (u8)kind;
	n->a = a;
	n->b = b;
	n->depth = (u16)depth;
	n->cost = cost;
	n->unknown = (a && a->unknown) || (b && b->unknown);
	return n;
}

/* A third child that new_node() has no room for. */
static const struct node *add_third(struct parser *p, struct node *n, const struct node *c)
{
	n->c = c;
	n->depth = max(n->depth, (u16)(c->depth + 1));
	n->cost += c->cost;
	n->unknown |= c->unknown;
	return n->depth > PRINT_DEPTH_MAX || n->cost > PRINT_COST_MAX
		       ? parser_fail(p, "it is nested too deeply")
		       : n;
}

static const struct node *num_node(struct parser *p, u64 v, u8 size, bool sign)
{
	struct node *n = new_node(p, NODE_NUM, NULL, NULL);
	if (!n)
		return NULL;
	n->num = v;
	n->size = size;
	n->sign = sign;
	return n;
}

/* A number that only the kernel knew. What depends on it prints as "?", since no number would be true. */
static const struct node *unknown_number(struct parser *p)
{
	struct node *n = new_node(p, NODE_NUM, NULL, NULL);
	if (n)
		n->size = 8, n->unknown = true;
	return n;
}

bool node_is_text(const struct node *n)
{
	return n->kind >= NODE_TEXT;
}

bool node_is_bytes(const struct node *n)
{
	return n->kind == NODE_BYTES || n->kind == NODE_OFFSET;
}

static bool is_number(const struct node *n)
{
	return n && n->kind < NODE_BYTES;
}

static const struct node *fold(struct parser *p, struct node *n)
{
	if (!n || n->unknown || (n->a && n->a->kind != NODE_NUM) ||
	    (n->b && n->b->kind != NODE_NUM) || !n->a)
		return n;
	struct print_ctx c = { 0 };
	u64 v = print_eval(&c, n);
	return num_node(p, v, n->size, n->sign);
}

static const struct node *cast(struct parser *p, const struct node *a, u8 size, bool sign)
{
	if (!a || (a->size == size && a->sign == sign))
		return a;
	struct node *n = new_node(p, NODE_CAST, a, NULL);
	if (!n)
		return NULL;
	n->size = size;
	n->sign = sign;
	/* "0x%llx" of an unknown value shows what the field holds, not the sign bits that widening added */
	n->narrow = size > a->size && a->sign ? (a->narrow ? a->narrow : a->size) : 0;
	return fold(p, n);
}

/* Anything as a number: bytes become "are they there". */
static const struct node *number(struct parser *p, const struct node *a)
{
	if (!a || is_number(a))
		return a;
	if (!node_is_bytes(a))
		return parser_fail(p, "a text where a number is needed");
	struct node *n = new_node(p, NODE_BYTES_SET, a, NULL);
	if (n)
		n->size = 4, n->sign = true;
	return n;
}

static const struct node *promote(struct parser *p, const struct node *a)
{
	a = number(p, a);
	if (!a || a->size >= 4)
		return a;
	return cast(p, a, 4, true);
}

/* C's usual arithmetic conversions. */
static const struct node *binary(struct parser *p, enum node_kind kind, const struct node *a,
				 const struct node *b)
{
	a = promote(p, a);
	b = promote(p, b);
	if (!a || !b)
		return NULL;
	u8 size = a->size;
	bool sign = a->sign;
	bool logical = kind == NODE_LOGAND || kind == NODE_LOGOR;
	if (kind != NODE_SHL && kind != NODE_SHR && !logical) {
		size = max(a->size, b->size);
		sign = !((!a->sign && a->size == size) || (!b->sign && b->size == size));
		a = cast(p, a, size, sign);
		b = cast(p, b, size, sign);
	}
	struct node *n = new_node(p, kind, a, b);
	if (!n)
		return NULL;
	bool truth = logical || (kind >= NODE_LT && kind <= NODE_NE);
	n->size = truth ? 4 : size;
	n->sign = truth || sign;
	return fold(p, n);
}

static const struct node *unary(struct parser *p, enum node_kind kind, const struct node *a)
{
	a = promote(p, a);
	struct node *n = a ? new_node(p, kind, a, NULL) : NULL;
	if (!n)
		return NULL;
	n->size = kind == NODE_NOT ? 4 : a->size;
	n->sign = kind == NODE_NOT || a->sign;
	return fold(p, n);
}

static const struct node *text_of(struct parser *p, const struct node *a)
{
	if (!a || !is_number(a))
		return a;
	return new_node(p, NODE_STRING_AT, a, NULL);
}

static const struct node *cond(struct parser *p, const struct node *a, const struct node *b,
			       const struct node *c)
{
	a = number(p, a);
	if (!a || !b || !c)
		return NULL;
	bool text = !is_number(b) || !is_number(c);
	/* c ? "text" : 0 and c ? text : NULL */
	if (text) {
		b = text_of(p, b);
		c = text_of(p, c);
	} else {
		b = promote(p, b);
		c = promote(p, c);
	}
	if (!b || !c)
		return NULL;
	if (a->kind == NODE_NUM && !a->unknown)
		return a->num ? b : c;
	u8 size = max(b->size, c->size);
	bool sign = !((!b->sign && b->size == size) || (!c->sign && c->size == size));
	if (!text) {
		b = cast(p, b, size, sign);
		c = cast(p, c, size, sign);
	}
	struct node *n = b && c ? new_node(p, text ? NODE_TEXT_COND : NODE_COND, a, b) : NULL;
	if (!n)
		return NULL;
	n->size = size;
	n->sign = sign;
	return add_third(p, n, c);
}

/* ---- fields ---- */

const struct node *node_field(struct parser *p, const struct schema_field *f)
{
	u32 loc = f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC);
	bool bytes = loc || (f->flags & FIELD_ARRAY) ||
		     (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8);
	struct node *n = new_node(p, bytes ? NODE_BYTES : NODE_LOAD, NULL, NULL);
	if (!n)
		return NULL;
	n->offset = f->offset;
	n->loc = loc;
	n->len = f->size;
	n->size = (u8)(bytes ? min(f->elem_size, 8u) : f->size);
	n->sign = f->flags & FIELD_SIGNED;
	n->field = f;
	return n;
}

static const struct schema_field *field_named(struct parser *p, const char *name, size_t len)
{
	const struct schema *s = p->schema;
	for (u32 i = 0; i < s->nr_fields; i++)
		if (strlen(s->fields[i].name) == len && !memcmp(s->fields[i].name, name, len))
			return &s->fields[i];
	return parser_fail(p, "it names a field that the event does not have");
}

static const struct schema_field *parse_field_name(struct parser *p)
{
	if (p->tok != TOK_IDENT)
		return parser_fail(p, "a field's name is missing");
	const struct schema_field *f = field_named(p, p->tok_at, p->tok_len);
	next(p);
	return f;
}

/* ---- types ---- */

static bool size_of_word(struct parser *p, const char *word, size_t len, struct ctype *t)
{
	static const struct {
		const char *word;
		u8 size; /* 0: a long */
		bool sign;
	} rows[] = {
		{ "u8", 1, 0 },
		{ "__u8", 1, 0 },
		{ "uint8_t", 1, 0 },
		{ "bool", 1, 0 },
		{ "_Bool", 1, 0 },
		{ "s8", 1, 1 },
		{ "__s8", 1, 1 },
		{ "int8_t", 1, 1 },
		{ "u16", 2, 0 },
		{ "__u16", 2, 0 },
		{ "uint16_t", 2, 0 },
		{ "__be16", 2, 0 },
		{ "__le16", 2, 0 },
		{ "s16", 2, 1 },
		{ "__s16", 2, 1 },
		{ "int16_t", 2, 1 },
		{ "umode_t", 2, 0 },
		{ "u32", 4, 0 },
		{ "__u32", 4, 0 },
		{ "uint32_t", 4, 0 },
		{ "__be32", 4, 0 },
		{ "__le32", 4, 0 },
		{ "uint", 4, 0 },
		{ "gfp_t", 4, 0 },
		{ "dev_t", 4, 0 },
		{ "fmode_t", 4, 0 },
		{ "uid_t", 4, 0 },
		{ "gid_t", 4, 0 },
		{ "isolate_mode_t", 4, 0 },
		{ "slab_flags_t", 4, 0 },
		{ "vm_fault_t", 4, 0 },
		{ "blk_opf_t", 4, 0 },
		{ "blk_mq_req_flags_t", 4, 0 },
		{ "req_flags_t", 4, 0 },
		{ "s32", 4, 1 },
		{ "__s32", 4, 1 },
		{ "int32_t", 4, 1 },
		{ "pid_t", 4, 1 },
		{ "u64", 8, 0 },
		{ "__u64", 8, 0 },
		{ "uint64_t", 8, 0 },
		{ "__be64", 8, 0 },
		{ "__le64", 8, 0 },
		{ "sector_t", 8, 0 },
		{ "phys_addr_t", 8, 0 },
		{ "dma_addr_t", 8, 0 },
		{ "resource_size_t", 8, 0 },
		{ "s64", 8, 1 },
		{ "__s64", 8, 1 },
		{ "int64_t", 8, 1 },
		{ "loff_t", 8, 1 },
		{ "ktime_t", 8, 1 },
		{ "size_t", 0, 0 },
		{ "ssize_t", 0, 1 },
		{ "uintptr_t", 0, 0 },
		{ "pgoff_t", 0, 0 },
		{ "ino_t", 0, 0 },
		{ "vm_flags_t", 0, 0 },
		{ "kernel_ulong_t", 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].word) == len && !memcmp(rows[i].word, word, len)) {
			*t = (struct ctype){ .size = rows[i].size ? rows[i].size
								  : p->schema->long_size,
					     .sign = rows[i].sign };
			return true;
		}
	return false;
}

/* A typedef that a field of this event has tells its own size. */
static bool size_of_field_type(const struct parser *p, const char *word, size_t len, struct ctype *t)
{
	for (u32 i = 0; i < p->schema->nr_fields; i++) {
		const struct schema_field *f = &p->schema->fields[i];
		if (strlen(f->type) == len && !memcmp(f->type, word, len) && f->size <= 8) {
			*t = (struct ctype){ .size = (u8)f->size, .sign = f->flags & FIELD_SIGNED };
			return true;
		}
	}
	return false;
}

struct type_words {
	struct ctype typedefed;
	unsigned longs, words;
	bool is_unsigned, is_signed, is_char, is_short, is_int, known, tagged;
};

/* One word of a type; false when it is none. sure: the word can be nothing else. */
static bool type_word(struct parser *p, struct type_words *w, bool *sure)
{
	static const char *const silent[] = { "const",	  "volatile", "static",	   "__user",
					      "__force",  "__iomem",  "__bitwise", "__seg_gs",
					      "__percpu", "__rcu",    "register",  "__restrict" };
	static const char *const tags[] = { "struct", "union", "enum" };
	*sure = true;
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		if (accept_word(p, silent[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (accept_word(p, tags[i])) {
			w->tagged = true;
			w->is_int |= i == 2;
			return accept(p, TOK_IDENT);
		}
	w->words++;
	if (accept_word(p, "unsigned"))
		return w->is_unsigned = true;
	if (accept_word(p, "signed"))
		return w->is_signed = true;
	if (accept_word(p, "long"))
		return ++w->longs;
	if (accept_word(p, "char"))
		return w->is_char = true;
	if (accept_word(p, "short"))
		return w->is_short = true;
	if (accept_word(p, "int"))
		return w->is_int = true;
	if (accept_word(p, "void"))
		return w->tagged = true;
	if (w->words > 1 || p->tok != TOK_IDENT)
		return false;
	*sure = w->known = size_of_word(p, p->tok_at, p->tok_len, &w->typedefed) ||
			   size_of_field_type(p, p->tok_at, p->tok_len, &w->typedefed);
	next(p);
	return true;
}

static struct ctype type_of_words(const struct parser *p, const struct type_words *w)
{
	struct ctype t = { .size = 4, .sign = !w->is_unsigned };
	if (w->known)
		return w->typedefed;
	if (w->is_char)
		t.size = 1; /* the kernel builds with -funsigned-char since 6.2; a field says for itself */
	else if (w->is_short)
		t.size = 2;
	else if (w->longs)
		t.size = w->longs > 1 ? 8 : p->schema->long_size;
	else if (!w->is_int && !w->is_unsigned && !w->is_signed)
		t.size = 0;
	return t;
}

/* Words and stars. False, and the lexer stands anywhere, when this is no type. *sure: it is nothing else. */
static bool parse_type(struct parser *p, struct ctype *ret, bool *sure)
{
	struct type_words w = { 0 };
	*sure = false;
	unsigned nr = 0;
	while (p->tok == TOK_IDENT) {
		struct mark m = mark_of(p);
		bool one_sure = false;
		if (!type_word(p, &w, &one_sure)) {
			back_to(p, m);
			break;
		}
		*sure |= one_sure;
		nr++;
	}
	if (!nr)
		return false;
	*ret = type_of_words(p, &w);
	while (p->tok == '*' || at_word(p, "const") || at_word(p, "__user")) {
		ret->pointer |= p->tok == '*';
		next(p);
	}
	return true;
}

/* ---- calls ---- */

static void skip_balanced(struct parser *p)
{
	unsigned depth = 1;
	while (p->tok != TOK_END && depth) {
		if (p->tok == '(' || p->tok == '{')
			depth++;
		else if (p->tok == ')' || p->tok == '}')
			depth--;
		if (depth)
			next(p);
	}
}

static char *parse_strings(struct parser *p, size_t *len)
{
	size_t room = 0, n = 0;
	struct mark m = mark_of(p);
	if (p->tok != TOK_STR)
		return parser_fail(p, "a string is missing");
	for (; p->tok == TOK_STR; next(p))
		room += p->tok_len;
	if (p->err)
		return NULL;
	back_to(p, m);
	char *to = arena_alloc(p->arena, room + 1);
	if (!to)
		return out_of_memory(p);
	for (; p->tok == TOK_STR; next(p)) {
		const char *at = p->tok_at, *end = at + p->tok_len;
		while (at < end) {
			if (*at == '\\' && end - at > 1) {
				at++;
				to[n++] = unescape(&at, end);
			} else {
				to[n++] = *at++;
			}
		}
	}
	to[n] = '\0';
	*len = n;
	return to;
}

static const struct node *text_node(struct parser *p)
{
	size_t len;
	const char *str = parse_strings(p, &len);
	struct node *n = str ? new_node(p, NODE_TEXT, NULL, NULL) : NULL;
	if (!n)
		return NULL;
	n->str = str;
	n->len = (u32)len;
	return n;
}

struct row_list {
	struct row_list *next;
	struct table_row row;
};

/*
 * { value, "name" }. A value that only the kernel knew matches nothing, a NULL name ends some tables: both are left out.
 */
static bool parse_row(struct parser *p, struct row_list **list, u32 *nr)
{
	expect(p, '{');
	if (accept(p, '}'))
		return !p->err;
	const struct node *value = parse_expr(p);
	expect(p, ',');
	const struct node *name = parse_expr(p);
	accept(p, ',');
	expect(p, '}');
	if (p->err)
		return false;
	if (!value->unknown && value->kind != NODE_NUM)
		return parser_fail(p, "a row of a table is not constant");
	if (value->unknown || name->kind != NODE_TEXT)
		return true;
	struct row_list *r = arena_zalloc(p->arena, sizeof(*r));
	if (!r)
		return out_of_memory(p);
	r->row = (struct table_row){ .value = value->num, .str = name->str, .len = name->len };
	r->next = *list;
	*list = r;
	++*nr;
	return true;
}

static const u8 *direct_index(struct parser *p, const struct table_row *rows, u32 nr)
{
	u8 *direct = arena_zalloc(p->arena, 256);
	for (u32 i = 0; direct && i < nr; i++)
		if (rows[i].value < 256 && !direct[rows[i].value])
			direct[rows[i].value] = (u8)(i + 1);
	return direct;
}

static const struct table *table_of(struct parser *p, struct row_list *list, u32 nr, bool symbolic)
{
	struct table *t = arena_zalloc(p->arena, sizeof(*t));
	struct table_row *rows = arena_array(p->arena, nr, sizeof(*rows));
	if (!t || !rows)
		return out_of_memory(p);
	for (u32 i = nr; i-- > 0; list = list->next)
		rows[i] = list->row;
	t->rows = rows;
	t->nr = nr;
	if (symbolic && nr > 2 && nr < 255)
		t->direct = direct_index(p, rows, nr);
	return t;
}

static const struct table *parse_table(struct parser *p, bool symbolic)
{
	struct row_list *list = NULL;
	u32 nr = 0;
	while (accept(p, ',')) {
		if (p->tok == ')')
			break;
		if (!parse_row(p, &list, &nr))
			return NULL;
	}
	return p->err ? NULL : table_of(p, list, nr, symbolic);
}

static const struct node *call_flags(struct parser *p, u32 arg)
{
	const struct node *a = number(p, parse_expr(p));
	expect(p, ',');
	size_t len = 0;
	const char *delim = parse_strings(p, &len);
	const struct table *t = parse_table(p, false);
	struct node *n = a && delim && t ? new_node(p, NODE_FLAGS, a, NULL) : NULL;
	if (!n)
		return NULL;
	n->str = delim;
	n->len = (u32)len;
	n->table = t;
	return n;
}

static const struct node *call_symbolic(struct parser *p, u32 arg)
{
	const struct node *a = number(p, parse_expr(p));
	const struct table *t = parse_table(p, true);
	struct node *n = a && t ? new_node(p, NODE_SYMBOLIC, a, NULL) : NULL;
	if (n)
		n->table = t;
	return n;
}

static const struct node *bytes_only(struct parser *p, const struct node *a)
{
	if (a && !node_is_bytes(a))
		return parser_fail(p, "an array is needed");
	return a;
}

static const struct node *call_hex(struct parser *p, u32 kind)
{
	const struct node *a = bytes_only(p, parse_expr(p));
	expect(p, ',');
	const struct node *b = number(p, parse_expr(p));
	return a && b ? new_node(p, kind, a, b) : NULL;
}

/* __print_hex_dump(prefix, type, rowsize, groupsize, buf, len, ascii): the bytes only */
static const struct node *call_hex_dump(struct parser *p, u32 arg)
{
	const struct node *v[7] = { 0 };
	for (unsigned i = 0; i < 7; i++) {
		v[i] = parse_expr(p);
		if (i < 6)
			expect(p, ',');
	}
	const struct node *a = p->err ? NULL : bytes_only(p, v[4]);
	const struct node *b = p->err ? NULL : number(p, v[5]);
	return a && b ? new_node(p, NODE_HEX, a, b) : NULL;
}

static const struct node *call_array(struct parser *p, u32 arg)
{
	const struct node *a = bytes_only(p, parse_expr(p));
	expect(p, ',');
	const struct node *b = number(p, parse_expr(p));
	expect(p, ',');
	const struct node *c = number(p, parse_expr(p));
	if (!a || !b || !c)
		return NULL;
	struct node *n = new_node(p, NODE_ARRAY, a, b);
	return n ? add_third(p, n, c) : NULL;
}

static const struct node *dynamic_field(struct parser *p)
{
	const struct schema_field *f = parse_field_name(p);
	if (f && !(f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC)))
		return parser_fail(p, "the field is no data_loc");
	return f ? node_field(p, f) : NULL;
}

static const struct node *call_get(struct parser *p, u32 kind)
{
	const struct node *a = dynamic_field(p);
	if (!a || kind == NODE_BYTES)
		return a;
	struct node *n = new_node(p, kind, a, NULL);
	if (n)
		n->size = 4, n->sign = true;
	return n;
}

/* __print_bitmask(bytes, size) and __print_cpumask(bytes, size) */
static const struct node *call_mask(struct parser *p, u32 kind)
{
	const struct node *a = bytes_only(p, parse_expr(p));
	const struct node *b = accept(p, ',') ? number(p, parse_expr(p)) : NULL;
	return p->err ? NULL : new_node(p, kind, a, b);
}

static const struct node *call_ns(struct parser *p, u32 whole)
{
	const struct node *a = cast(p, number(p, parse_expr(p)), 8, false);
	if (whole)
		return binary(p, NODE_DIV, a, num_node(p, 1000000000, 8, false));
	/* the remainder, in microseconds */
	const struct node *rest = binary(p, NODE_MOD, a, num_node(p, 1000000000, 8, false));
	return cast(p, binary(p, NODE_DIV, rest, num_node(p, 1000, 8, false)), 4, false);
}

static const struct node *call_first(struct parser *p, u32 arg)
{
	const struct node *a = parse_expr(p);
	if (accept(p, ','))
		(void)parse_expr(p);
	return a;
}

static const struct node *call_choose(struct parser *p, u32 arg)
{
	const struct node *a = number(p, parse_expr(p));
	expect(p, ',');
	const struct node *b = parse_expr(p);
	expect(p, ',');
	const struct node *c = parse_expr(p);
	return cond(p, a, b, c);
}

static const struct node *call_constant_p(struct parser *p, u32 arg)
{
	const struct node *a = parse_expr(p);
	return a ? num_node(p, a->kind == NODE_NUM && !a->unknown, 4, true) : NULL;
}

static const struct node *call_zero(struct parser *p, u32 arg)
{
	skip_balanced(p);
	return num_node(p, 0, 4, true);
}

/* arg: bytes, and 16 when the value is little endian, 32 when the turn is unconditional */
static const struct node *swap_number(struct parser *p, const struct node *a, u32 arg)
{
	u8 size = arg & 15;
	bool turn = arg & 32 ? true : arg & 16 ? p->schema->big_endian : !p->schema->big_endian;
	if (!a || !turn)
		return a;
	struct node *n = new_node(p, NODE_SWAP, a, NULL);
	if (n)
		n->size = size;
	return n;
}

static const struct node *call_swap(struct parser *p, u32 arg)
{
	return swap_number(p, cast(p, number(p, parse_expr(p)), arg & 15, false), arg);
}

static const struct node *call_min_max(struct parser *p, u32 kind)
{
	const struct node *a = number(p, parse_expr(p));
	expect(p, ',');
	const struct node *b = number(p, parse_expr(p));
	return a && b ? cond(p, binary(p, kind, a, b), a, b) : NULL;
}

/*
 * Milliseconds need the kernel's HZ, which no event tells. Who knows it answers env->eval("HZ"); the plug-ins of trace-cmd
 * print jiffies, as if HZ were 1000. Otherwise the event prints by field: no number rather than a wrong one.
 */
static const struct node *call_jiffies(struct parser *p, u32 per_second)
{
	const struct node *a = cast(p, number(p, parse_expr(p)), 8, false);
	s64 hz = 0;
	bool known = p->env && p->env->eval && p->env->eval(p->env->ctx, "HZ", 2, &hz) && hz > 0;
	if (!known && p->style == PRINT_STYLE_TRACE_CMD)
		hz = 1000;
	if (hz <= 0)
		return parser_fail(p, "it needs the kernel's HZ");
	if (per_second % hz == 0)
		return cast(p, binary(p, NODE_MUL, a, num_node(p, per_second / (u64)hz, 8, false)),
			    4, false);
	a = binary(p, NODE_MUL, a, num_node(p, per_second, 8, false));
	return cast(p, binary(p, NODE_DIV, a, num_node(p, (u64)hz, 8, false)), 4, false);
}

static const struct node *call_mc_event(struct parser *p, u32 arg)
{
	static const struct table_row rows[] = { { 0, "Corrected", 9 },
						 { 1, "Uncorrected", 11 },
						 { 2, "Deferred", 8 },
						 { 3, "Fatal", 5 },
						 { 4, "Info", 4 } };
	static const struct table table = { .rows = rows, .nr = ARRAY_SIZE(rows) };
	const struct node *a = number(p, parse_expr(p));
	/* everything else is "Info" */
	a = cond(p, binary(p, NODE_LT, cast(p, a, 4, false), num_node(p, 4, 4, false)), a,
		 num_node(p, 4, 4, true));
	struct node *n = a ? new_node(p, NODE_SYMBOLIC, a, NULL) : NULL;
	if (n)
		n->table = &table;
	return n;
}

/* "(mmu_update)", or nothing */
static const struct node *call_xen(struct parser *p, u32 arg)
{
#define ROW(n, name)                                                                               \
	{                                                                                          \
		n, "(" name ")", sizeof("(" name ")") - 1                                          \
	}
	static const struct table_row rows[] = {
		ROW(0, "set_trap_table"),
		ROW(1, "mmu_update"),
		ROW(2, "set_gdt"),
		ROW(3, "stack_switch"),
		ROW(4, "set_callbacks"),
		ROW(5, "fpu_taskswitch"),
		ROW(6, "sched_op_compat"),
		ROW(7, "dom0_op"),
		ROW(8, "set_debugreg"),
		ROW(9, "get_debugreg"),
		ROW(10, "update_descriptor"),
		ROW(12, "memory_op"),
		ROW(13, "multicall"),
		ROW(14, "update_va_mapping"),
		ROW(15, "set_timer_op"),
		ROW(16, "event_channel_op_compat"),
		ROW(17, "xen_version"),
		ROW(18, "console_io"),
		ROW(19, "physdev_op_compat"),
		ROW(20, "grant_table_op"),
		ROW(21, "vm_assist"),
		ROW(22, "update_va_mapping_otherdomain"),
		ROW(23, "iret"),
		ROW(24, "vcpu_op"),
		ROW(25, "set_segment_base"),
		ROW(26, "mmuext_op"),
		ROW(27, "acm_op"),
		ROW(28, "nmi_op"),
		ROW(29, "sched_op"),
		ROW(30, "callback_op"),
		ROW(31, "xenoprof_op"),
		ROW(32, "event_channel_op"),
		ROW(33, "physdev_op"),
		ROW(34, "hvm_op"),
		ROW(48, "arch_0"),
		ROW(49, "arch_1"),
		ROW(50, "arch_2"),
		ROW(51, "arch_3"),
		ROW(52, "arch_4"),
		ROW(53, "arch_5"),
		ROW(54, "arch_6"),
		ROW(55, "arch_7"),
	};
#undef ROW
	static const struct table table = { .rows = rows, .nr = ARRAY_SIZE(rows), .silent = true };
	const struct node *a = number(p, parse_expr(p));
	struct node *n = a ? new_node(p, NODE_SYMBOLIC, a, NULL) : NULL;
	if (n)
		n->table = &table;
	return n;
}

static const struct node *call_text(struct parser *p, const struct node *a, const struct node *b,
				    void (*call)(struct print_ctx *, const struct node *))
{
	struct node *n = a && !p->err ? new_node(p, NODE_CALL, a, b) : NULL;
	if (n)
		n->call = call;
	return n;
}

static const struct node *call_scsi(struct parser *p, u32 arg)
{
	(void)parse_expr(p);
	expect(p, ',');
	const struct node *a = bytes_only(p, parse_expr(p));
	expect(p, ',');
	return call_text(p, a, number(p, parse_expr(p)), print_scsi_cdb);
}

static void text_device(struct print_ctx *c, const struct node *n)
{
	u64 dev = print_eval(c, n->a);
	strbuf_u64(c->to, dev >> 20 & 0xfff);
	strbuf_char(c->to, ':');
	strbuf_u64(c->to, dev & 0xfffff);
}

static const struct node *call_device(struct parser *p, u32 arg)
{
	return call_text(p, number(p, parse_expr(p)), NULL, text_device);
}

/* __le16_to_cpup(pointer) */
static const struct node *call_swap_at(struct parser *p, u32 arg)
{
	const struct node *a = bytes_only(p, parse_expr(p));
	struct node *n = a ? new_node(p, NODE_INDEX, a, num_node(p, 0, 4, true)) : NULL;
	if (!n)
		return NULL;
	n->size = arg & 15;
	return swap_number(p, n, arg);
}

static const struct node *call_sizeof(struct parser *p, u32 arg)
{
	struct mark m = mark_of(p);
	struct ctype t;
	bool sure;
	u64 size = 0;
	if (parse_type(p, &t, &sure) && p->tok == ')') {
		size = t.pointer ? p->schema->long_size : t.size;
	} else {
		back_to(p, m);
		const struct node *n = parse_expr(p);
		size = !n ? 0 : n->kind == NODE_BYTES && !n->loc ? n->len : n->size;
	}
	return size ? num_node(p, size, p->schema->long_size, false) : unknown_number(p);
}

static const struct {
	const char *name;
	const struct node *(*parse)(struct parser *p, u32 arg);
	u32 arg;
} calls[] = {
	{ "__print_flags", call_flags, 0 },
	{ "__print_flags_u64", call_flags, 0 },
	{ "__print_flags64", call_flags, 0 },
	{ "__print_symbolic", call_symbolic, 0 },
	{ "__print_symbolic_u64", call_symbolic, 0 },
	{ "__print_symbolic64", call_symbolic, 0 },
	{ "__get_str", call_get, NODE_BYTES },
	{ "__get_rel_str", call_get, NODE_BYTES },
	{ "__get_dynamic_array", call_get, NODE_BYTES },
	{ "__get_rel_dynamic_array", call_get, NODE_BYTES },
	{ "__get_sockaddr", call_get, NODE_BYTES },
	{ "__get_rel_sockaddr", call_get, NODE_BYTES },
	{ "__get_dynamic_array_len", call_get, NODE_DYN_LEN },
	{ "__get_rel_dynamic_array_len", call_get, NODE_DYN_LEN },
	{ "__get_bitmask", call_get, NODE_BITMASK },
	{ "__get_rel_bitmask", call_get, NODE_BITMASK },
	{ "__get_cpumask", call_get, NODE_CPUMASK },
	{ "__get_rel_cpumask", call_get, NODE_CPUMASK },
	{ "__print_hex", call_hex, NODE_HEX },
	{ "__print_hex_str", call_hex, NODE_HEX_STR },
	{ "__print_hex_dump", call_hex_dump, 0 },
	{ "__print_array", call_array, 0 },
	{ "__print_dynamic_array", call_array, 1 },
	{ "__print_bitmask", call_mask, NODE_BITMASK },
	{ "__print_cpumask", call_mask, NODE_CPUMASK },
	{ "__print_ns_to_secs", call_ns, 1 },
	{ "__print_ns_without_secs", call_ns, 0 },
	{ "sizeof", call_sizeof, 0 },
	{ "__builtin_choose_expr", call_choose, 0 },
	{ "__builtin_expect", call_first, 0 },
	{ "__builtin_expect_with_probability", call_first, 0 },
	{ "__builtin_constant_p", call_constant_p, 0 },
	{ "__builtin_types_compatible_p", call_zero, 0 },
	{ "__builtin_bswap16", call_swap, 32 | 2 },
	{ "__builtin_bswap32", call_swap, 32 | 4 },
	{ "__builtin_bswap64", call_swap, 32 | 8 },
	{ "__fswab16", call_swap, 32 | 2 },
	{ "__fswab32", call_swap, 32 | 4 },
	{ "__fswab64", call_swap, 32 | 8 },
	{ "ntohs", call_swap, 2 },
	{ "htons", call_swap, 2 },
	{ "ntohl", call_swap, 4 },
	{ "htonl", call_swap, 4 },
	{ "be16_to_cpu", call_swap, 2 },
	{ "be32_to_cpu", call_swap, 4 },
	{ "be64_to_cpu", call_swap, 8 },
	{ "__be16_to_cpu", call_swap, 2 },
	{ "__be32_to_cpu", call_swap, 4 },
	{ "__be64_to_cpu", call_swap, 8 },
	{ "le16_to_cpu", call_swap, 16 | 2 },
	{ "le32_to_cpu", call_swap, 16 | 4 },
	{ "le64_to_cpu", call_swap, 16 | 8 },
	{ "__le16_to_cpu", call_swap, 16 | 2 },
	{ "__le32_to_cpu", call_swap, 16 | 4 },
	{ "__le64_to_cpu", call_swap, 16 | 8 },
	{ "min", call_min_max, NODE_LT },
	{ "max", call_min_max, NODE_GT },
	{ "jiffies_to_msecs", call_jiffies, 1000 },
	{ "jiffies_to_usecs", call_jiffies, 1000000 },
	{ "mc_event_error_type", call_mc_event, 0 },
	{ "xen_hypercall_name", call_xen, 0 },
	{ "scsi_trace_parse_cdb", call_scsi, 0 },
	{ "jbd2_dev_to_name", call_device, 0 },
	{ "__le16_to_cpup", call_swap_at, 16 | 2 },
	{ "__le32_to_cpup", call_swap_at, 16 | 4 },
	{ "cpumask_bits", call_first, 0 },
};

static const struct node *parse_call(struct parser *p, const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (strlen(calls[i].name) != len || memcmp(calls[i].name, name, len))
			continue;
		const struct node *n = calls[i].parse(p, calls[i].arg);
		expect(p, ')');
		return p->err ? NULL : n;
	}
	if (len < 3 || memcmp(name, "__", 2))
		return parser_fail(p, "it calls a function of the kernel");
	/* arithmetic that macros left behind: __builtin_clzll, __ilog2_u64 */
	skip_balanced(p);
	expect(p, ')');
	return unknown_number(p);
}

/* ---- statement expressions: ({ int x = (REC->a); int y = 1; x < y ? x : y; }) ---- */

static bool parse_local(struct parser *p)
{
	struct ctype t = { 0 };
	bool sure = true;
	if (accept_word(p, "typeof") || accept_word(p, "__typeof__")) {
		expect(p, '(');
		skip_balanced(p);
		expect(p, ')');
	} else if (!accept_word(p, "__auto_type") && (!parse_type(p, &t, &sure) || !sure)) {
		return false;
	}
	if (p->tok != TOK_IDENT)
		return false;
	struct local *l = arena_zalloc(p->arena, sizeof(*l));
	if (!l)
		return out_of_memory(p);
	l->name = p->tok_at;
	l->len = p->tok_len;
	next(p);
	expect(p, '=');
	const struct node *v = parse_expr(p);
	if (v && is_number(v) && t.size && !t.pointer)
		v = cast(p, v, t.size, t.sign);
	expect(p, ';');
	l->value = v;
	l->next = p->locals;
	p->locals = l;
	return !p->err;
}

static const struct node *parse_statements(struct parser *p)
{
	struct local *outer = p->locals;
	const struct node *n = NULL;
	while (!p->err && p->tok != '}') {
		struct mark m = mark_of(p);
		if (parse_local(p))
			continue;
		if (p->err)
			break;
		back_to(p, m);
		n = parse_expr(p);
		accept(p, ';');
	}
	expect(p, '}');
	expect(p, ')');
	p->locals = outer;
	return n ? n : parser_fail(p, "a statement without a value");
}

/* ---- expressions ---- */

/*
 * An enum or a variable of the kernel. Softirqs and hrtimer results are known by heart, since formats of all ages leave them
 * in the text. The address of a struct page is written as vmemmap_base + pfn: everybody's scripts know the pfn that
 * libtraceevent prints there.
 */
static const struct node *kernel_name(struct parser *p, const char *name, size_t len)
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
		return num_node(p, (u64)v, v == (s32)v ? 4 : 8, true);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].name) == len && !memcmp(rows[i].name, name, len))
			return num_node(p, rows[i].value, 4, true);
	return unknown_number(p);
}

static const struct node *parse_name(struct parser *p)
{
	const char *name = p->tok_at;
	size_t len = p->tok_len;
	if (accept_word(p, "REC") || accept_word(p, "__entry")) {
		expect(p, TOK_ARROW);
		const struct schema_field *f = parse_field_name(p);
		return f ? node_field(p, f) : NULL;
	}
	next(p);
	if (accept(p, '('))
		return parse_call(p, name, len);
	for (struct local *l = p->locals; l; l = l->next)
		if (l->len == len && !memcmp(l->name, name, len))
			return l->value;
	return kernel_name(p, name, len);
}

/* (REC)->field */
static bool record_in_parens(struct parser *p)
{
	struct mark m = mark_of(p);
	if (accept(p, '(') && (accept_word(p, "REC") || accept_word(p, "__entry")) &&
	    accept(p, ')') && accept(p, TOK_ARROW))
		return true;
	back_to(p, m);
	return false;
}

static const struct node *parse_primary(struct parser *p)
{
	if (p->tok == TOK_NUM) {
		const struct node *n = num_node(p, p->num, p->num_size, p->num_sign);
		next(p);
		return n;
	}
	if (p->tok == TOK_STR)
		return text_node(p);
	if (p->tok == TOK_IDENT)
		return parse_name(p);
	if (p->tok == '(' && record_in_parens(p)) {
		const struct schema_field *f = parse_field_name(p);
		return f ? node_field(p, f) : NULL;
	}
	if (!accept(p, '('))
		return parser_fail(p, "an expression is missing");
	if (accept(p, '{'))
		return parse_statements(p);
	const struct node *n = parse_expr(p);
	expect(p, ')');
	return p->err ? NULL : n;
}

static const struct node *index_node(struct parser *p, const struct node *a, const struct node *b)
{
	b = number(p, b);
	a = bytes_only(p, a);
	struct node *n = a && b ? new_node(p, NODE_INDEX, a, b) : NULL;
	if (!n)
		return NULL;
	if (a->size != 1 && a->size != 2 && a->size != 4 && a->size != 8)
		return parser_fail(p, "elements of an odd size");
	n->size = a->size;
	n->sign = a->sign;
	return n;
}

static const struct node *parse_postfix(struct parser *p)
{
	const struct node *n = parse_primary(p);
	while (n && !p->err) {
		if (accept(p, '[')) {
			n = index_node(p, n, parse_expr(p));
			expect(p, ']');
		} else if (p->tok == '.' || p->tok == TOK_ARROW) {
			return parser_fail(p, "it looks into a structure");
		} else {
			break;
		}
	}
	return p->err ? NULL : n;
}

static const struct node *apply_cast(struct parser *p, const struct ctype *t, const struct node *a)
{
	if (!a)
		return NULL;
	if (t->pointer && node_is_bytes(a) && t->size) {
		struct node *n = new_node(p, a->kind, a->a, a->b);
		if (!n)
			return NULL;
		*n = *a;
		n->size = t->size;
		n->sign = t->sign;
		return n;
	}
	if (!is_number(a))
		return a;
	if (t->pointer)
		return a->size < p->schema->long_size ? cast(p, a, p->schema->long_size, a->sign)
						      : a;
	return t->size ? cast(p, a, t->size, t->sign) : a;
}

static bool starts_operand(const struct parser *p)
{
	return p->tok == TOK_IDENT || p->tok == TOK_NUM || p->tok == TOK_STR || p->tok == '(';
}

/* "(type)" or, with the lexer back where it was, nothing. */
static bool parse_cast(struct parser *p, struct ctype *t)
{
	struct mark m = mark_of(p);
	bool sure = false;
	if (accept(p, '(') && parse_type(p, t, &sure) && accept(p, ')') &&
	    (sure || t->pointer || starts_operand(p)))
		return true;
	back_to(p, m);
	return false;
}

/* &REC->field and &REC->field[n]: the bytes of it */
static const struct node *address_of(struct parser *p, const struct node *a)
{
	if (!a || node_is_bytes(a))
		return a;
	if (a->kind == NODE_INDEX) {
		struct node *n = new_node(p, NODE_OFFSET, a->a, a->b);
		if (n)
			n->size = a->size, n->sign = a->sign;
		return n;
	}
	if (a->kind != NODE_LOAD)
		return parser_fail(p, "the address of something that has none");
	struct node *n = new_node(p, NODE_BYTES, NULL, NULL);
	if (!n)
		return NULL;
	n->offset = a->offset;
	n->len = a->size;
	n->size = a->size;
	n->sign = a->sign;
	return n;
}

static const struct node *parse_unary_op(struct parser *p)
{
	switch (p->tok) {
	case '-': next(p); return unary(p, NODE_NEG, parse_unary(p));
	case '~': next(p); return unary(p, NODE_INV, parse_unary(p));
	case '!': next(p); return unary(p, NODE_NOT, parse_unary(p));
	case '+': next(p); return promote(p, parse_unary(p));
	case '&': next(p); return address_of(p, parse_unary(p));
	case '*': next(p); return index_node(p, parse_unary(p), num_node(p, 0, 4, true));
	default: break;
	}
	struct ctype t;
	if (p->tok == '(' && parse_cast(p, &t))
		return apply_cast(p, &t, parse_unary(p));
	if (at_word(p, "sizeof")) {
		struct mark m = mark_of(p);
		next(p);
		if (p->tok != '(') {
			const struct node *n = parse_unary(p);
			return n ? num_node(p, n->kind == NODE_BYTES ? n->len : n->size,
					    p->schema->long_size, false)
				 : NULL;
		}
		back_to(p, m);
	}
	return parse_postfix(p);
}

static const struct node *parse_unary(struct parser *p)
{
	if (++p->depth > PRINT_DEPTH_MAX)
		return parser_fail(p, "it is nested too deeply");
	const struct node *n = parse_unary_op(p);
	p->depth--;
	return p->err ? NULL : n;
}

static unsigned precedence(int tok, enum node_kind *kind)
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

static const struct node *join(struct parser *p, enum node_kind kind, const struct node *a,
			       const struct node *b)
{
	if (!a || !b || !node_is_bytes(a) || kind != NODE_ADD)
		return binary(p, kind, a, b);
	b = number(p, b);
	struct node *n = b ? new_node(p, NODE_OFFSET, a, b) : NULL;
	if (n)
		n->size = a->size, n->sign = a->sign;
	return n;
}

static const struct node *parse_binary(struct parser *p, unsigned level)
{
	const struct node *a = parse_unary(p);
	while (a) {
		enum node_kind kind;
		unsigned here = precedence(p->tok, &kind);
		if (!here || here < level)
			break;
		next(p);
		const struct node *b = parse_binary(p, here + 1);
		a = join(p, kind, a, b);
	}
	return a;
}

static const struct node *parse_expr(struct parser *p)
{
	if (++p->depth > PRINT_DEPTH_MAX)
		return parser_fail(p, "it is nested too deeply");
	const struct node *n = parse_binary(p, 1);
	if (n && accept(p, '?')) {
		if (accept(p, ':')) { /* a ?: b */
			n = cond(p, n, n, parse_expr(p));
		} else {
			const struct node *b = parse_expr(p);
			expect(p, ':');
			n = cond(p, n, b, parse_expr(p));
		}
	}
	p->depth--;
	return p->err ? NULL : n;
}

/* ---- the whole ---- */

void parser_init(struct parser *p, struct arena *a, const struct schema *s,
		 const struct print_env *env, enum print_style style)
{
	*p = (struct parser){ .arena = a, .schema = s, .env = env, .style = style };
	p->at = s->print_fmt ? s->print_fmt : "";
	p->end = p->at + strlen(p->at);
	next(p);
}

char *parser_format(struct parser *p, size_t *len)
{
	return parse_strings(p, len);
}

const struct node *parser_argument(struct parser *p)
{
	if (p->tok == TOK_END)
		return NULL;
	if (!accept(p, ','))
		return parser_fail(p, "arguments are not divided by commas");
	const struct node *n = parse_expr(p);
	p->cost += n ? n->cost : 0;
	return p->cost > PRINT_COST_MAX ? parser_fail(p, "it is too long") : n;
}

bool parser_at_argument(const struct parser *p)
{
	return p->tok == TOK_END || p->tok == ',';
}
