/* Expressions, by precedence climbing. */
#include "lang/parse.h"

#include "base/str.h"

#include <errno.h>

static const struct {
	enum token_kind kind;
	u8 level;
} levels[] = {
	{ TOKEN_LOR, 1 },  { TOKEN_LAND, 2 }, { TOKEN_OR, 3 },	 { TOKEN_XOR, 4 }, { TOKEN_AND, 5 },
	{ TOKEN_EQ, 6 },   { TOKEN_NE, 6 },   { TOKEN_LT, 7 },	 { TOKEN_LE, 7 },  { TOKEN_GT, 7 },
	{ TOKEN_GE, 7 },   { TOKEN_SHL, 8 },  { TOKEN_SHR, 8 },	 { TOKEN_ADD, 9 }, { TOKEN_SUB, 9 },
	{ TOKEN_MUL, 10 }, { TOKEN_DIV, 10 }, { TOKEN_MOD, 10 },
};

static u8 level_of(enum token_kind k)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (levels[i].kind == k)
			return levels[i].level;
	return 0;
}

static const char *const type_words[] = {
	"int8",	    "int16",  "int32",	"int64",  "uint8",  "uint16", "uint32",	   "uint64", "bool",
	"string",   "buffer", "inet",	"struct", "union",  "enum",   "u8",	   "u16",    "u32",
	"u64",	    "s8",     "s16",	"s32",	  "s64",    "char",   "short",	   "int",    "long",
	"unsigned", "void",   "size_t", "pid_t",  "signed", "const",  "uintptr_t", "typeof",
};

static bool is_type_word(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(type_words); i++)
		if (!strcmp(type_words[i], s))
			return true;
	return false;
}

/* "unsigned long int" and the like are one type. */
static bool is_c_word(const char *s)
{
	static const char *const words[] = { "unsigned", "signed", "long", "short", "int", "char" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], s))
			return true;
	return false;
}

static void type_suffix(struct parser *p, struct type_spec *s)
{
	while (parse_take(p, TOKEN_MUL))
		s->stars++;
	if (!parse_take(p, TOKEN_LBRACKET))
		return;
	if (p->t.kind == TOKEN_INT)
		s->count = (u32)min(p->t.number, (u64)UINT32_MAX);
	if (parse_expect(p, TOKEN_INT, "the number of elements"))
		parse_expect(p, TOKEN_RBRACKET, "']'");
	if (!s->count)
		parse_fail(p, -EINVAL, "an array needs at least one element");
}

/* typeof(type) or typeof(expression): the parenthesis is next. */
static struct type_spec *parse_typeof(struct parser *p, struct type_spec *s)
{
	parse_expect(p, TOKEN_LPAREN, "'(' after typeof");
	if (parse_is_type(p)) {
		struct type_spec *inner = parse_type(p);
		if (inner)
			*s = *inner;
	} else {
		s->name = "typeof";
		s->of = parse_expr(p);
	}
	parse_expect(p, TOKEN_RPAREN, "')'");
	return p->err ? NULL : s;
}

struct type_spec *parse_type(struct parser *p)
{
	struct type_spec *s = arena_zalloc(p->arena, sizeof(*s));
	struct strbuf name;
	if (!s) {
		p->err = -ENOMEM;
		return NULL;
	}
	strbuf_init(&name);
	s->start = p->t.start;
	while (parse_word(p, "const"))
		parse_next(p);
	if (parse_word(p, "typeof")) {
		strbuf_done(&name);
		parse_next(p);
		if (!parse_typeof(p, s))
			return NULL;
		type_suffix(p, s);
		s->len = p->last_end - s->start;
		return p->err ? NULL : s;
	}
	bool tagged = parse_word(p, "struct") || parse_word(p, "union") || parse_word(p, "enum");
	bool c_word = p->t.kind == TOKEN_IDENT && is_c_word(p->t.text);
	while (p->t.kind == TOKEN_IDENT && !p->err) {
		if (name.len)
			strbuf_char(&name, ' ');
		strbuf_str(&name, p->t.text);
		parse_next(p);
		if (tagged)
			tagged = false;
		else if (!c_word || p->t.kind != TOKEN_IDENT || !is_c_word(p->t.text))
			break;
	}
	if (!name.len)
		parse_fail(p, -EINVAL, "expected a type");
	s->name = arena_strdup(p->arena, strbuf_cstr(&name));
	if (!s->name || name.err)
		p->err = -ENOMEM;
	strbuf_done(&name);
	type_suffix(p, s);
	s->len = p->last_end - s->start;
	return p->err ? NULL : s;
}

/* The parenthesis was read. (ident)x and (ident *)x are casts where ident is not a value. */
bool parse_is_type(struct parser *p)
{
	if (p->t.kind != TOKEN_IDENT)
		return false;
	if (is_type_word(p->t.text))
		return true;
	struct parser before = *p;
	struct diag none;
	diag_init(&none);
	p->diag = p->lex.diag = &none;
	parse_next(p);
	bool star = false;
	while (p->t.kind == TOKEN_MUL) {
		star = true;
		parse_next(p);
	}
	bool yes = star && p->t.kind == TOKEN_RPAREN;
	*p = before;
	diag_done(&none);
	return yes;
}

void parse_list(struct parser *p, struct node *n, enum token_kind close)
{
	struct node **at = &n->list;
	while (!p->err && p->t.kind != close) {
		struct node *e = parse_expr(p);
		if (!e)
			return;
		*at = e;
		at = &e->next;
		n->nr++;
		if (!parse_take(p, TOKEN_COMMA))
			break;
	}
	parse_expect(p, close, token_text(close));
}

/* name= of a member of a record; *ret is NULL where there is none. */
static void parse_label(struct parser *p, const char **ret)
{
	struct lexer l = p->lex;
	l.diag = NULL;
	*ret = NULL;
	if (p->t.kind != TOKEN_IDENT || lex_skip(&l) || l.at + 1 >= l.end || l.text[l.at] != '=' ||
	    l.text[l.at + 1] == '=')
		return;
	*ret = p->t.text;
	parse_next(p);
	parse_next(p);
}

static struct node *parse_paren(struct parser *p)
{
	u32 start = p->t.start;
	parse_next(p);
	if (parse_is_type(p)) {
		struct node *n = parse_node(p, NODE_CAST);
		if (!n)
			return NULL;
		n->start = start;
		n->spec = parse_type(p);
		if (!n->spec || !parse_expect(p, TOKEN_RPAREN, "')' after the type"))
			return NULL;
		n->a = parse_unary(p);
		return parse_end(p, n);
	}
	struct node *n = parse_node(p, NODE_TUPLE);
	if (!n)
		return NULL;
	n->start = start;
	u32 commas = 0;
	struct node **at = &n->list;
	while (!p->err && p->t.kind != TOKEN_RPAREN) {
		const char *label;
		parse_label(p, &label);
		if (n->nr && !label != !n->list->label)
			parse_fail(p, -EINVAL, "either all values of a record have a name, or none");
		struct node *e = parse_expr(p);
		if (!e)
			return NULL;
		for (const struct node *o = n->list; label && o; o = o->next)
			if (!strcmp(o->label, label))
				parse_fail(p, -EINVAL, "the record has '%s' twice", label);
		e->label = label;
		*at = e;
		at = &e->next;
		n->nr++;
		if (!parse_take(p, TOKEN_COMMA))
			break;
		commas++;
	}
	if (!parse_expect(p, TOKEN_RPAREN, "')'"))
		return NULL;
	if (n->nr == 1 && !commas && !n->list->label)
		return n->list;
	return parse_end(p, n);
}

/* "a.b.c": the path to a member. */
static const char *parse_member_path(struct parser *p)
{
	struct strbuf path;
	strbuf_init(&path);
	do {
		if (path.len)
			strbuf_char(&path, '.');
		if (p->t.kind == TOKEN_IDENT)
			strbuf_str(&path, p->t.text);
		parse_expect(p, TOKEN_IDENT, "a member");
	} while (parse_take(p, TOKEN_DOT));
	const char *text = arena_strdup(p->arena, strbuf_cstr(&path));
	if (!text || path.err)
		p->err = -ENOMEM;
	strbuf_done(&path);
	return text;
}

static struct node *cast_of(struct parser *p, const struct node *at, const struct type_spec *spec,
			    const char *name, u32 stars, struct node *a)
{
	struct node *n = parse_node(p, NODE_CAST);
	struct type_spec *s = arena_zalloc(p->arena, sizeof(*s));
	if (!n || !s) {
		p->err = -ENOMEM;
		return NULL;
	}
	if (spec)
		*s = *spec;
	else
		*s = (struct type_spec){ .name = name, .start = at->start, .len = at->len };
	s->stars += stars;
	n->start = at->start;
	n->spec = s;
	n->a = a;
	return parse_end(p, n);
}

/* container_of(pointer, type, member) is (type *)((uint64)pointer - offsetof(type, member)). */
static struct node *parse_container(struct parser *p)
{
	struct node *off = parse_node(p, NODE_OFFSETOF), *sub = parse_node(p, NODE_BINARY);
	parse_next(p);
	if (!off || !sub || !parse_expect(p, TOKEN_LPAREN, "'('"))
		return NULL;
	struct node *pointer = parse_expr(p);
	if (!pointer || !parse_expect(p, TOKEN_COMMA, "','"))
		return NULL;
	off->spec = parse_type(p);
	if (!off->spec || !parse_expect(p, TOKEN_COMMA, "','"))
		return NULL;
	off->text = parse_member_path(p);
	parse_expect(p, TOKEN_RPAREN, "')'");
	sub->op = TOKEN_SUB;
	sub->a = cast_of(p, off, NULL, "uint64", 0, pointer);
	sub->b = parse_end(p, off);
	return p->err ? NULL : cast_of(p, off, off->spec, NULL, 1, parse_end(p, sub));
}

static struct node *parse_sizeof(struct parser *p, bool offset)
{
	struct node *n = parse_node(p, offset ? NODE_OFFSETOF : NODE_SIZEOF);
	parse_next(p);
	if (!n || !parse_expect(p, TOKEN_LPAREN, "'('"))
		return NULL;
	if (parse_is_type(p))
		n->spec = parse_type(p);
	else
		n->a = parse_expr(p);
	if (offset && parse_expect(p, TOKEN_COMMA, "','"))
		n->text = parse_member_path(p);
	parse_expect(p, TOKEN_RPAREN, "')'");
	return parse_end(p, n);
}

static struct node *copy_expr(struct parser *p, const struct node *n)
{
	struct node *to = n ? arena_zalloc(p->arena, sizeof(*to)) : NULL;
	if (!to) {
		p->err = n ? -ENOMEM : p->err;
		return NULL;
	}
	*to = *n;
	to->next = NULL;
	to->a = copy_expr(p, n->a);
	to->b = copy_expr(p, n->b);
	to->c = copy_expr(p, n->c);
	to->list = NULL;
	struct node **at = &to->list;
	for (const struct node *e = n->list; e && !p->err; e = e->next) {
		*at = copy_expr(p, e);
		at = *at ? &(*at)->next : at;
	}
	return p->err ? NULL : to;
}

static struct node *node_in(struct parser *p, enum node_kind kind, const struct node *of)
{
	struct node *n = arena_zalloc(p->arena, sizeof(*n));
	if (n)
		*n = (struct node){ .kind = kind, .start = of->start, .len = of->len };
	else
		p->err = -ENOMEM;
	return n;
}

/* Whether an expression has the same value when it is evaluated once more right away, and nothing else has happened. */
static bool is_repeatable(const struct node *n)
{
	static const char *const calls[] = { "str",  "ntop",   "pton",	"ksym", "usym",
					     "comm", "strlen", "kaddr", "uaddr" };
	static const char *const changing[] = { "rand", "nsecs", "elapsed" };
	if (!n)
		return true;
	bool fine = n->kind < NODE_INLINE;
	for (size_t i = 0; n->kind == NODE_IDENT && i < ARRAY_SIZE(changing); i++)
		fine &= strcmp(n->text, changing[i]) != 0;
	bool known = n->kind != NODE_CALL;
	for (size_t i = 0; !known && i < ARRAY_SIZE(calls); i++)
		known = !strcmp(n->text, calls[i]);
	for (const struct node *e = n->list; e && fine; e = e->next)
		fine = is_repeatable(e);
	return fine && known && is_repeatable(n->a) && is_repeatable(n->b) && is_repeatable(n->c);
}

/* find(@m, key, $v) is: has_key(@m, key) ? { $v = @m[key]; true } : false */
static struct node *parse_find(struct parser *p, struct node *call)
{
	struct node *m = call->list, *key = m->next, *to = key->next;
	if (m->kind != NODE_MAP || m->nr || to->kind != NODE_VAR) {
		parse_fail(p, -EINVAL, "the form is find(@map, key, $variable)");
		return NULL;
	}
	if (!is_repeatable(key)) {
		parse_fail(p, -EINVAL,
			   "find() evaluates its key twice: put it into a variable first");
		return NULL;
	}
	m->list = key->kind == NODE_TUPLE ? key->list : key;
	m->nr = key->kind == NODE_TUPLE ? key->nr : 1;
	m->next = key->next = NULL;
	struct node *choice = node_in(p, NODE_TERNARY, call), *has = node_in(p, NODE_CALL, call);
	struct node *block = node_in(p, NODE_BLOCK, call), *set = node_in(p, NODE_ASSIGN, call);
	struct node *yes = node_in(p, NODE_EXPR, call), *truth = node_in(p, NODE_BOOL, call);
	struct node *value = p->err ? NULL : copy_expr(p, m), *no = node_in(p, NODE_BOOL, call);
	if (p->err)
		return NULL;
	has->text = "has_key";
	has->list = m;
	has->nr = 1;
	truth->number = 1;
	yes->a = truth;
	set->op = TOKEN_ASSIGN;
	set->a = to;
	set->b = value;
	set->next = yes;
	block->list = set;
	choice->a = has;
	choice->b = block;
	choice->c = no;
	return choice;
}

static struct node *parse_ident(struct parser *p)
{
	if (parse_word(p, "sizeof") || parse_word(p, "offsetof"))
		return parse_sizeof(p, parse_word(p, "offsetof"));
	if (parse_word(p, "container_of"))
		return parse_container(p);
	if (parse_word(p, "typeof")) {
		struct node *t = parse_node(p, NODE_TYPE);
		if (t)
			t->spec = parse_type(p);
		return t && t->spec ? parse_end(p, t) : NULL;
	}
	bool truth = parse_word(p, "true");
	struct node *n = parse_node(p, truth || parse_word(p, "false") ? NODE_BOOL : NODE_IDENT);
	if (!n)
		return NULL;
	n->number = truth;
	n->text = p->t.text;
	parse_next(p);
	if (n->kind == NODE_IDENT && p->t.kind == TOKEN_LPAREN) {
		n->kind = NODE_CALL;
		p->script->uses_ksym |= !strcmp(n->text, "ksym");
		parse_next(p);
		parse_list(p, n, TOKEN_RPAREN);
	}
	(void)parse_end(p, n);
	return !p->err && n->kind == NODE_CALL && n->nr == 3 && !strcmp(n->text, "find")
		       ? parse_find(p, n)
		       : n;
}

static struct node *parse_map(struct parser *p)
{
	struct node *n = parse_node(p, NODE_MAP);
	if (!n)
		return NULL;
	n->text = p->t.text;
	n->map = parse_map_named(p, n->text);
	parse_next(p);
	if (parse_take(p, TOKEN_LBRACKET)) {
		parse_list(p, n, TOKEN_RBRACKET);
		if (!n->nr)
			parse_fail(p, -EINVAL, "expected a key");
	}
	return parse_end(p, n);
}

/* { statements; expression }: the last one is its value. */
static struct node *parse_block_value(struct parser *p)
{
	struct node *n = parse_block(p);
	for (struct node *s = n ? n->list : NULL; s; s = s->next)
		if (!s->next && s->kind == NODE_EXPR)
			s->a->unused = false;
	return n;
}

static struct node *parse_primary(struct parser *p)
{
	struct node *n = NULL;
	switch (p->t.kind) {
	case TOKEN_INT: n = parse_node(p, NODE_INT); break;
	case TOKEN_STRING: n = parse_node(p, NODE_STRING); break;
	case TOKEN_VAR: n = parse_node(p, NODE_VAR); break;
	case TOKEN_PARAM: n = parse_node(p, NODE_PARAM); break;
	case TOKEN_PARAM_COUNT: n = parse_node(p, NODE_PARAM_COUNT); break;
	case TOKEN_IDENT: return parse_ident(p);
	case TOKEN_MAP: return parse_map(p);
	case TOKEN_LPAREN: return parse_paren(p);
	case TOKEN_LBRACE: return parse_block_value(p);
	default: parse_fail(p, -EINVAL, "expected an expression");
	}
	if (!n)
		return NULL;
	n->number = (s64)p->t.number;
	n->is_unsigned = n->number < 0;
	n->text = p->t.text;
	if (n->kind == NODE_STRING)
		n->number = p->t.text_len;
	parse_next(p);
	return n;
}

static struct node *parse_postfix(struct parser *p)
{
	struct node *a = parse_primary(p);
	while (a && !p->err) {
		struct node *n;
		if (p->t.kind == TOKEN_DOT || p->t.kind == TOKEN_ARROW) {
			n = parse_node(p, NODE_MEMBER);
			if (!n)
				return NULL;
			n->number = p->t.kind == TOKEN_ARROW;
			parse_next(p);
			if (p->t.kind == TOKEN_INT && !n->number) {
				n->kind = NODE_INDEX;
				n->b = parse_primary(p);
			} else {
				n->text = p->t.text;
				parse_expect(p, TOKEN_IDENT, "the name of a member");
			}
		} else if (p->t.kind == TOKEN_LBRACKET) {
			n = parse_node(p, NODE_INDEX);
			parse_next(p);
			if (!n || !(n->b = parse_expr(p)))
				return NULL;
			parse_expect(p, TOKEN_RBRACKET, "']'");
		} else if (p->t.kind == TOKEN_INC || p->t.kind == TOKEN_DEC) {
			n = parse_node(p, NODE_STEP);
			if (n)
				n->op = (u8)p->t.kind;
			parse_next(p);
		} else {
			return a;
		}
		if (!n)
			return NULL;
		n->start = a->start;
		n->a = a;
		a = parse_end(p, n);
	}
	return p->err ? NULL : a;
}

struct node *parse_unary(struct parser *p)
{
	static const enum token_kind ops[] = { TOKEN_NOT, TOKEN_TILDE, TOKEN_SUB, TOKEN_MUL,
					       TOKEN_AND, TOKEN_INC,   TOKEN_DEC };
	if (p->depth >= PARSE_DEPTH_MAX) {
		parse_fail(p, -E2BIG, "expression nested too deeply");
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		if (p->t.kind != ops[i])
			continue;
		bool step = ops[i] == TOKEN_INC || ops[i] == TOKEN_DEC;
		struct node *n = parse_node(p, step ? NODE_STEP : NODE_UNARY);
		if (!n)
			return NULL;
		n->op = (u8)ops[i];
		n->number = step;
		parse_next(p);
		p->depth++;
		n->a = parse_unary(p);
		p->depth--;
		return parse_end(p, n);
	}
	p->depth++;
	struct node *n = parse_postfix(p);
	p->depth--;
	return n;
}

/* The / that ends a predicate: a brace follows it. */
static bool ends_predicate(const struct parser *p)
{
	struct lexer l = p->lex;
	l.diag = NULL;
	return p->in_predicate && p->t.kind == TOKEN_DIV && !lex_skip(&l) && l.at < l.end &&
	       l.text[l.at] == '{';
}

static struct node *parse_binary(struct parser *p, u8 from)
{
	struct node *a = parse_unary(p);
	while (a && !p->err) {
		u8 level = level_of(p->t.kind);
		if (!level || level < from || ends_predicate(p))
			return a;
		struct node *n = parse_node(p, NODE_BINARY);
		if (!n)
			return NULL;
		n->op = (u8)p->t.kind;
		n->start = a->start;
		n->a = a;
		parse_next(p);
		n->b = parse_binary(p, (u8)(level + 1));
		if (!n->b)
			return NULL;
		a = parse_end(p, n);
	}
	return p->err ? NULL : a;
}

struct node *parse_expr(struct parser *p)
{
	struct node *a = parse_binary(p, 1);
	if (!a || p->t.kind != TOKEN_QUESTION)
		return a;
	struct node *n = parse_node(p, NODE_TERNARY);
	parse_next(p);
	if (!n)
		return NULL;
	n->start = a->start;
	n->a = a;
	if (p->depth >= PARSE_DEPTH_MAX) {
		parse_fail(p, -E2BIG, "expression nested too deeply");
		return NULL;
	}
	p->depth++;
	if (p->t.kind != TOKEN_COLON)
		n->b = parse_expr(p);
	if (parse_expect(p, TOKEN_COLON, "':'"))
		n->c = parse_expr(p);
	p->depth--;
	return n->c ? parse_end(p, n) : NULL;
}
