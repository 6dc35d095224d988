/* Globals, functions, probes and statements of SystemTap's language. */
#include "lang/stap_parse.h"

#include "base/str.h"
#include "lang/stap_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	SORTED_ROUNDS = 64, /* of a foreach without a limit */
	LIMIT_MAX = 500,
	EVENTS_MAX = 1024, /* of one pattern */
};

/* ---- nodes ---- */

void stap_fail_at(struct stap *s, const struct node *n, int err, const char *fmt, ...)
{
	if (s->p.err)
		return;
	struct strbuf text;
	va_list ap;
	strbuf_init(&text);
	va_start(ap, fmt);
	strbuf_vprintf(&text, fmt, ap);
	va_end(ap);
	s->p.err = lang_error(s->p.diag, s->p.in->text, n->start, n->len, err, "%s",
			      strbuf_cstr(&text));
	strbuf_done(&text);
}

const char *stap_keep(struct stap *s, struct strbuf *text)
{
	const char *ret = text->err ? NULL : arena_strdup(s->p.arena, strbuf_cstr(text));
	strbuf_done(text);
	if (!ret)
		s->p.err = -ENOMEM;
	return ret;
}

struct node *stap_node(struct stap *s, enum node_kind kind, const struct node *at)
{
	struct node *n = parse_node(&s->p, kind);
	if (n && at) {
		n->start = at->start;
		n->len = at->len;
	}
	return n;
}

struct node *stap_int(struct stap *s, s64 number, const struct node *at)
{
	struct node *n = stap_node(s, NODE_INT, at);
	if (n)
		n->number = number;
	return n;
}

struct node *stap_string(struct stap *s, const char *text, const struct node *at)
{
	struct node *n = stap_node(s, NODE_STRING, at);
	if (!n)
		return NULL;
	n->text = arena_strdup(s->p.arena, text);
	n->number = (s64)strlen(text);
	if (!n->text)
		s->p.err = -ENOMEM;
	return n->text ? n : NULL;
}

/* Which body a variable belongs to is kept in its number, which the tree does not use. */
struct node *stap_var(struct stap *s, const char *name, const struct node *at)
{
	struct node *n = stap_node(s, NODE_VAR, at);
	if (n) {
		n->text = name;
		n->number = s->scope;
	}
	return n;
}

struct node *stap_name(struct stap *s, const char *name, const struct node *at)
{
	struct node *n = stap_node(s, NODE_IDENT, at);
	if (n)
		n->text = name;
	return n;
}

struct node *stap_call_of(struct stap *s, const char *name, struct node *args, const struct node *at)
{
	struct node *n = stap_node(s, NODE_CALL, at);
	if (!n)
		return NULL;
	n->text = name;
	n->list = args;
	for (struct node *a = args; a; a = a->next)
		n->nr++;
	return n;
}

struct node *stap_assign(struct stap *s, struct node *to, struct node *value)
{
	struct node *n = to ? stap_node(s, NODE_ASSIGN, to) : NULL;
	if (!n || !value)
		return NULL;
	n->op = TOKEN_ASSIGN;
	n->a = to;
	n->b = value;
	return n;
}

struct node *stap_cast(struct stap *s, const char *type, u32 stars, struct node *a)
{
	struct node *n = a ? stap_node(s, NODE_CAST, a) : NULL;
	struct type_spec *spec = n ? arena_zalloc(s->p.arena, sizeof(*spec)) : NULL;
	if (!spec) {
		if (n)
			s->p.err = -ENOMEM;
		return NULL;
	}
	*spec = (struct type_spec){ .name = type, .stars = stars, .start = a->start, .len = a->len };
	n->spec = spec;
	n->a = a;
	return n;
}

struct node *stap_binary(struct stap *s, enum token_kind op, struct node *a, struct node *b)
{
	struct node *n = a && b ? stap_node(s, NODE_BINARY, a) : NULL;
	if (!n)
		return NULL;
	n->op = (u8)op;
	n->a = a;
	n->b = b;
	u32 end = b->start + b->len;
	if (end > n->start + n->len)
		n->len = end - n->start;
	return n;
}

struct node *stap_statement_of(struct stap *s, struct node *expr)
{
	struct node *n = expr ? stap_node(s, NODE_EXPR, expr) : NULL;
	if (n) {
		n->a = expr;
		expr->unused = true;
	}
	return n;
}

static struct node *copy_list(struct stap *s, const struct node *n)
{
	struct node *first = NULL, **at = &first;
	for (; n && !s->p.err; n = n->next) {
		*at = stap_copy(s, n);
		if (*at)
			at = &(*at)->next;
	}
	return first;
}

struct node *stap_copy(struct stap *s, const struct node *n)
{
	struct node *to = n ? stap_node(s, n->kind, n) : NULL;
	if (!to)
		return NULL;
	*to = *n;
	to->next = NULL;
	to->a = stap_copy(s, n->a);
	to->b = stap_copy(s, n->b);
	to->c = stap_copy(s, n->c);
	to->list = copy_list(s, n->list);
	return to;
}

void stap_append(struct node *block, struct node *statement)
{
	if (!block || !statement)
		return;
	struct node **at = &block->list;
	while (*at)
		at = &(*at)->next;
	*at = statement;
	block->nr++;
}

bool stap_joined(const struct stap *s, enum token_kind first, enum token_kind second)
{
	const char *next = token_text(second);
	return !s->p.err && s->p.t.kind == first &&
	       !strncmp(s->text + s->p.t.start + s->p.t.len, next, strlen(next));
}

static const char *made_name(struct stap *s, const char *what)
{
	char text[32];
	snprintf(text, sizeof(text), "#%s%u", what, s->nr_made++);
	char *name = arena_strdup(s->p.arena, text);
	if (!name)
		s->p.err = -ENOMEM;
	return name;
}

/* ---- symbols ---- */

struct stap_symbol *stap_find(struct stap *s, const char *name, u32 scope)
{
	for (struct stap_symbol *y = s->symbols; y; y = y->next)
		if (y->scope == scope && !y->is_function && !strcmp(y->name, name))
			return y;
	return NULL;
}

struct stap_symbol *stap_add_symbol(struct stap *s, const char *name, u32 scope)
{
	struct stap_symbol *y = arena_zalloc(s->p.arena, sizeof(*y));
	if (!y) {
		s->p.err = -ENOMEM;
		return NULL;
	}
	y->name = name;
	y->scope = scope;
	y->start = s->p.t.start;
	y->len = s->p.t.len;
	y->next = s->symbols;
	s->symbols = y;
	return y;
}

void stap_note(struct stap *s, struct stap_symbol *to, s32 key, struct node *value)
{
	struct stap_fact *f = to && value ? vec_push(&s->facts) : NULL;
	if (f)
		*f = (struct stap_fact){ to, key, value };
	else if (to && value)
		s->p.err = -ENOMEM;
}

static const struct {
	const char *suffix, *function;
} stats[STAP_NR_STATS] = {
	[STAP_COUNT] = { ".count", "count" },	  [STAP_SUM] = { ".sum", "sum" },
	[STAP_AVG] = { ".avg", "avg" },		  [STAP_MIN] = { ".min", "min" },
	[STAP_MAX] = { ".max", "max" },		  [STAP_HIST_LOG] = { "", "hist" },
	[STAP_HIST_LINEAR] = { ".lin", "lhist" }, [STAP_STATS] = { "", "stats" },
};

struct node *stap_map(struct stap *s, const struct stap_symbol *y, s32 stat, const struct node *at)
{
	struct node *n = stap_node(s, NODE_MAP, at);
	struct strbuf name;
	if (!n)
		return NULL;
	strbuf_init(&name);
	strbuf_str(&name, y->name);
	strbuf_str(&name, stat < 0 ? "" : stats[stat].suffix);
	n->text = stap_keep(s, &name);
	if (!n->text)
		return NULL;
	n->map = parse_map_named(&s->p, n->text);
	return n;
}

/* ---- statements ---- */

static struct node *read_statement(struct stap *s);

static struct node *read_block(struct stap *s)
{
	struct node *n = parse_node(&s->p, NODE_BLOCK);
	if (!n || !parse_expect(&s->p, TOKEN_LBRACE, "'{'"))
		return NULL;
	while (!s->p.err && s->p.t.kind != TOKEN_RBRACE) {
		if (parse_take(&s->p, TOKEN_SEMI))
			continue;
		struct node *one = read_statement(s);
		if (!one)
			return NULL;
		stap_append(n, one);
	}
	parse_expect(&s->p, TOKEN_RBRACE, "'}'");
	return parse_end(&s->p, n);
}

/* The statement of an if or a loop: blocks in the tree, with or without braces. */
static struct node *read_body(struct stap *s)
{
	struct node *n = parse_node(&s->p, NODE_BLOCK);
	if (parse_take(&s->p, TOKEN_SEMI))
		return n;
	struct node *one = n ? read_statement(s) : NULL;
	if (!one || one->kind == NODE_BLOCK)
		return one;
	stap_append(n, one);
	return parse_end(&s->p, n);
}

static struct node *read_condition(struct stap *s)
{
	if (!parse_expect(&s->p, TOKEN_LPAREN, "'('"))
		return NULL;
	struct node *n = stap_expr(s);
	return n && parse_expect(&s->p, TOKEN_RPAREN, "')'") ? n : NULL;
}

static struct node *read_if(struct stap *s)
{
	struct node *n = parse_node(&s->p, NODE_IF);
	parse_next(&s->p);
	if (!n || !(n->a = read_condition(s)) || !(n->b = read_body(s)))
		return NULL;
	/* A ';' may be before the else. */
	if (s->p.t.kind == TOKEN_SEMI) {
		struct parser before = s->p;
		parse_next(&s->p);
		if (!parse_word(&s->p, "else"))
			s->p = before;
	}
	if (parse_word(&s->p, "else")) {
		parse_next(&s->p);
		if (!(n->c = read_body(s)))
			return NULL;
	}
	return parse_end(&s->p, n);
}

/* The body of a loop; what break and continue mean around it is kept. */
static struct node *read_loop_body(struct stap *s, u32 step)
{
	u32 outer_step = s->step_from;
	s->step_from = step;
	s->loops++;
	struct node *n = read_body(s);
	s->loops--;
	s->step_from = outer_step;
	return n;
}

static struct node *read_while(struct stap *s)
{
	struct node *n = parse_node(&s->p, NODE_WHILE);
	parse_next(&s->p);
	if (!n || !(n->a = read_condition(s)) || !(n->b = read_loop_body(s, 0)))
		return NULL;
	return parse_end(&s->p, n);
}

static struct node *read_simple(struct stap *s);

/* What is at a place of the text, read again. */
static struct node *read_again(struct stap *s, u32 from)
{
	struct parser now = s->p;
	s->p.lex.at = from;
	parse_next(&s->p);
	struct node *n = s->p.err ? NULL : read_simple(s);
	int err = s->p.err;
	s->p = now;
	s->p.err = err;
	return n;
}

/* Steps over tokens to the parenthesis that ends the head of a for. */
static void skip_step(struct stap *s)
{
	u32 depth = 0;
	while (!s->p.err && s->p.t.kind != TOKEN_END && (depth || s->p.t.kind != TOKEN_RPAREN)) {
		depth += s->p.t.kind == TOKEN_LPAREN;
		depth -= s->p.t.kind == TOKEN_RPAREN;
		parse_next(&s->p);
	}
}

static struct node *read_for(struct stap *s)
{
	struct node *n = parse_node(&s->p, NODE_BLOCK), *loop = parse_node(&s->p, NODE_WHILE);
	struct parser *p = &s->p;
	parse_next(p);
	if (!n || !loop || !parse_expect(p, TOKEN_LPAREN, "'('"))
		return NULL;
	if (p->t.kind != TOKEN_SEMI)
		stap_append(n, read_simple(s));
	if (p->err || !parse_expect(p, TOKEN_SEMI, "';'"))
		return NULL;
	loop->a = p->t.kind == TOKEN_SEMI ? stap_int(s, 1, loop) : stap_expr(s);
	if (!loop->a || !parse_expect(p, TOKEN_SEMI, "';'"))
		return NULL;
	u32 step = p->t.kind == TOKEN_RPAREN ? 0 : p->t.start;
	skip_step(s);
	if (!parse_expect(p, TOKEN_RPAREN, "')'") || !(loop->b = read_loop_body(s, step)))
		return NULL;
	if (step)
		stap_append(loop->b, read_again(s, step));
	stap_append(n, parse_end(p, loop));
	return parse_end(p, n);
}

/* The parts of a foreach. */
struct stap_each {
	const char *keys[STAP_KEYS_MAX];
	u32 nr;
	const char *value; /* v = [k] in a */
	struct stap_symbol *array;
	struct node *at; /* the array's name */
	s32 sort_by; /* -1: the value; else a key */
	bool sorted, descending;
	struct node *limit; /* NULL: none */
	struct node *outer; /* the block that it all becomes */
};

static void read_order(struct stap *s, struct stap_each *e, s32 by)
{
	enum token_kind k = s->p.t.kind;
	if (k != TOKEN_ADD && k != TOKEN_SUB)
		return;
	if (e->sorted)
		parse_fail(&s->p, -EINVAL, "sorted by two things");
	e->sorted = true;
	e->descending = k == TOKEN_SUB;
	e->sort_by = by;
	parse_next(&s->p);
}

static const char *read_word(struct stap *s, const char *what)
{
	const char *text = s->p.t.text;
	return parse_expect(&s->p, TOKEN_IDENT, what) ? text : NULL;
}

static void read_each_keys(struct stap *s, struct stap_each *e)
{
	bool list = parse_take(&s->p, TOKEN_LBRACKET);
	do {
		if (e->nr == STAP_KEYS_MAX) {
			parse_fail(&s->p, -E2BIG, "more than %d keys", STAP_KEYS_MAX);
			return;
		}
		const char *name = read_word(s, "the variable of a key");
		if (!name)
			return;
		e->keys[e->nr++] = name;
		if (!list && !e->value && parse_take(&s->p, TOKEN_ASSIGN)) {
			e->value = name;
			e->nr = 0;
			read_each_keys(s, e);
			return;
		}
		read_order(s, e, (s32)e->nr - 1);
	} while (list && parse_take(&s->p, TOKEN_COMMA));
	if (list)
		parse_expect(&s->p, TOKEN_RBRACKET, "']'");
}

static void read_each_head(struct stap *s, struct stap_each *e)
{
	struct parser *p = &s->p;
	parse_next(p);
	if (!parse_expect(p, TOKEN_LPAREN, "'('"))
		return;
	read_each_keys(s, e);
	if (p->err)
		return;
	if (!parse_word(p, "in")) {
		parse_fail(p, -EINVAL, "expected 'in'");
		return;
	}
	parse_next(p);
	if (p->t.kind == TOKEN_IDENT)
		e->array = stap_find(s, p->t.text, STAP_GLOBAL);
	e->at = parse_node(p, NODE_MAP);
	if (p->t.kind != TOKEN_IDENT || !e->array) {
		parse_fail(p, -EINVAL, "expected an array that is declared with 'global'");
		return;
	}
	e->array->is_array = true;
	e->array->reads++;
	parse_next(p);
	if (p->t.kind == TOKEN_LBRACKET)
		parse_fail(p, -ENOTSUP, "slices of arrays are not supported");
	read_order(s, e, -1);
	if (parse_word(p, "limit")) {
		parse_next(p);
		e->limit = stap_expr(s);
	}
	parse_expect(p, TOKEN_RPAREN, "')'");
}

/* Part i of the key that an expression is. */
static struct node *key_part(struct stap *s, const struct stap_each *e, struct node *key, u32 i)
{
	if (e->nr == 1)
		return key;
	struct node *n = key ? stap_node(s, NODE_INDEX, key) : NULL;
	if (n) {
		n->a = key;
		n->b = stap_int(s, i, key);
	}
	return n;
}

static struct node *pair_part(struct stap *s, const struct stap_each *e, const char *pair, u32 i)
{
	struct node *n = stap_node(s, NODE_INDEX, e->at);
	if (n) {
		n->a = stap_var(s, pair, e->at);
		n->b = stap_int(s, i, e->at);
	}
	return n;
}

static struct stap_symbol *local(struct stap *s, const char *name)
{
	struct stap_symbol *y = stap_find(s, name, s->scope);
	return y ? y : stap_add_symbol(s, name, s->scope);
}

/* The array that is walked: of a statistic that of its counts, all keys have one. */
static struct node *each_map(struct stap *s, const struct stap_each *e)
{
	struct node *n = stap_map(s, e->array, -1, e->at);
	if (n)
		n->is_unsigned = true; /* a statistic's becomes that of its counts: settle_maps() */
	return n;
}

/* The keys of the loop get their values, then comes the script's own text. */
static struct node *each_body(struct stap *s, struct stap_each *e, const char *pair, const char *key)
{
	struct node *n = stap_node(s, NODE_BLOCK, e->at);
	for (u32 i = 0; i < e->nr && n; i++) {
		struct node *from = key ? stap_var(s, key, e->at) : pair_part(s, e, pair, 0);
		struct stap_symbol *y = local(s, e->keys[i]);
		if (!y)
			return NULL;
		/* The key has the type of this key of the array. */
		struct node *of = stap_map(s, e->array, -1, e->at);
		if (of)
			of->number = i + 1;
		stap_note(s, y, -1, of);
		stap_append(
			n, stap_assign(s, stap_var(s, e->keys[i], e->at), key_part(s, e, from, i)));
	}
	if (e->value && n) {
		struct node *v = stap_map(s, e->array, -1, e->at);
		struct stap_symbol *y = local(s, e->value);
		if (!v || !y)
			return NULL;
		v->is_unsigned = true;
		for (u32 i = 0; i < e->nr; i++) {
			struct node **at = &v->list;
			while (*at)
				at = &(*at)->next;
			*at = stap_var(s, e->keys[i], e->at);
			v->nr++;
		}
		stap_note(s, y, -1, v);
		stap_append(n, stap_assign(s, stap_var(s, e->value, e->at), v));
	}
	struct node *body = n ? read_loop_body(s, 0) : NULL;
	if (!body)
		return NULL;
	stap_append(n, body);
	return n;
}

static struct node *jump(struct stap *s, enum node_kind kind, const struct node *at)
{
	struct node *block = stap_node(s, NODE_BLOCK, at);
	stap_append(block, stap_node(s, kind, at));
	return block;
}

static struct node *if_of(struct stap *s, struct node *condition, struct node *then)
{
	struct node *n = condition && then ? stap_node(s, NODE_IF, condition) : NULL;
	if (n) {
		n->a = condition;
		n->b = then;
	}
	return n;
}

static struct node *not_of(struct stap *s, struct node *a)
{
	struct node *n = a ? stap_node(s, NODE_UNARY, a) : NULL;
	if (n) {
		n->op = TOKEN_NOT;
		n->a = a;
	}
	return n;
}

static struct node *loop_over(struct stap *s, struct node *map, const char *pair)
{
	struct node *n = map ? stap_node(s, NODE_FOR_MAP, map) : NULL;
	if (!n)
		return NULL;
	n->text = pair;
	n->a = map;
	n->c = stap_node(s, NODE_BLOCK, map);
	return n->c ? n : NULL;
}

static struct node *with_key(struct stap *s, struct node *map, struct node *key)
{
	(void)s;
	if (!map || !key)
		return NULL;
	map->list = key;
	map->nr = 1;
	return map;
}

/* for ($pair : map) { delete(map[$pair.0]); } */
static struct node *empty_map(struct stap *s, const struct node *map)
{
	const char *pair = made_name(s, "gone");
	struct node *loop = loop_over(s, stap_copy(s, map), pair);
	struct node *key = stap_node(s, NODE_INDEX, map);
	if (!loop || !key)
		return NULL;
	key->a = stap_var(s, pair, map);
	key->b = stap_int(s, 0, map);
	struct node *one = with_key(s, stap_copy(s, map), key);
	stap_append(loop->c, stap_statement_of(s, stap_call_of(s, "delete", one, map)));
	return loop;
}

/*
 * A map of our own. What decides something inside of a loop is in one: before Linux 6.7 the verifier takes what it knows of a variable before
 * such a loop for what it is in all rounds.
 */
static struct node *seen_map(struct stap *s, const char *name, struct node *key,
			     const struct stap_each *e)
{
	struct node *n = stap_node(s, NODE_MAP, e->at);
	if (!n)
		return NULL;
	n->text = name;
	n->map = parse_map_named(&s->p, name);
	if (key)
		with_key(s, n, key);
	return n;
}

/* In the order of the map; limit: counted. */
static void each_plain(struct stap *s, struct stap_each *e)
{
	const char *pair = made_name(s, "each"), *count = made_name(s, "count");
	struct node *loop = loop_over(s, each_map(s, e), pair);
	if (!loop)
		return;
	if (e->limit) {
		stap_append(e->outer,
			    stap_assign(s, seen_map(s, count, NULL, e), stap_int(s, 0, e->at)));
		struct node *step = stap_node(s, NODE_STEP, e->at);
		struct node *over = stap_binary(s, TOKEN_GE, seen_map(s, count, NULL, e),
						stap_copy(s, e->limit));
		if (step) {
			step->op = TOKEN_INC;
			step->a = seen_map(s, count, NULL, e);
		}
		stap_append(loop->c, if_of(s, over, jump(s, NODE_BREAK, e->at)));
		stap_append(loop->c, stap_statement_of(s, step));
	}
	stap_append(loop->c, each_body(s, e, pair, NULL));
	stap_append(e->outer, loop);
}

/* The greatest (or least) that was not seen yet: one walk over the map for each round of the sorted loop. */
static struct node *find_next(struct stap *s, const struct stap_each *e, const char *seen,
			      const char *found, const char *best, const char *key)
{
	const char *pair = made_name(s, "each");
	struct node *loop = loop_over(s, each_map(s, e), pair);
	if (!loop)
		return NULL;
	struct node *value = e->sort_by < 0
				     ? pair_part(s, e, pair, 1)
				     : key_part(s, e, pair_part(s, e, pair, 0), (u32)e->sort_by);
	struct node *first =
		stap_binary(s, TOKEN_EQ, seen_map(s, found, NULL, e), stap_int(s, 0, e->at));
	struct node *better = stap_binary(s, e->descending ? TOKEN_GT : TOKEN_LT,
					  stap_copy(s, value), seen_map(s, best, NULL, e));
	struct node *keep = stap_node(s, NODE_BLOCK, e->at),
		    *fresh = stap_node(s, NODE_BLOCK, e->at);
	stap_append(keep, stap_assign(s, seen_map(s, found, NULL, e), stap_int(s, 1, e->at)));
	stap_append(keep, stap_assign(s, seen_map(s, best, NULL, e), value));
	stap_append(keep, stap_assign(s, stap_var(s, key, e->at), pair_part(s, e, pair, 0)));
	stap_append(fresh, if_of(s, stap_binary(s, TOKEN_LOR, first, better), keep));
	struct node *known =
		stap_call_of(s, "has_key", seen_map(s, seen, pair_part(s, e, pair, 0), e), e->at);
	stap_append(loop->c, if_of(s, not_of(s, known), fresh));
	return loop;
}

static void each_sorted(struct stap *s, struct stap_each *e)
{
	const char *seen = made_name(s, "seen"), *found = made_name(s, "found"),
		   *best = made_name(s, "best"), *key = made_name(s, "key");
	struct node *range = stap_node(s, NODE_RANGE, e->at), *empty = seen_map(s, seen, NULL, e);
	struct node *zero = stap_int(s, 0, e->at);
	if (s->p.err || !range || !empty || !zero)
		return;
	if (e->limit && (e->limit->kind != NODE_INT || e->limit->number > LIMIT_MAX)) {
		stap_fail_at(s, e->limit, -ENOTSUP,
			     "the limit of a sorted foreach has to be a number up to %d", LIMIT_MAX);
		return;
	}
	if (!e->limit)
		lang_warn(s->p.diag, s->p.in->text, e->at->start, e->at->len,
			  "a sorted foreach without a limit ends after %d keys", SORTED_ROUNDS);
	stap_append(e->outer, empty_map(s, empty));
	range->text = made_name(s, "round");
	range->a = zero;
	range->b = stap_int(s, e->limit ? e->limit->number : SORTED_ROUNDS, e->at);
	range->c = stap_node(s, NODE_BLOCK, e->at);
	if (!range->c)
		return;
	stap_append(range->c, stap_assign(s, seen_map(s, found, NULL, e), stap_int(s, 0, e->at)));
	/* Signed, as a plain number would not be. */
	stap_append(range->c, stap_assign(s, seen_map(s, best, NULL, e),
					  stap_cast(s, "int64", 0, stap_int(s, 0, e->at))));
	stap_append(range->c, find_next(s, e, seen, found, best, key));
	struct node *none =
		stap_binary(s, TOKEN_EQ, seen_map(s, found, NULL, e), stap_copy(s, zero));
	stap_append(range->c, if_of(s, none, jump(s, NODE_BREAK, e->at)));
	stap_append(range->c, stap_assign(s, seen_map(s, seen, stap_var(s, key, e->at), e),
					  stap_int(s, 1, e->at)));
	stap_append(range->c, each_body(s, e, NULL, key));
	stap_append(e->outer, range);
}

static struct node *read_foreach(struct stap *s)
{
	struct stap_each e = { .outer = parse_node(&s->p, NODE_BLOCK) };
	read_each_head(s, &e);
	if (s->p.err || !e.outer)
		return NULL;
	if (e.sorted)
		each_sorted(s, &e);
	else
		each_plain(s, &e);
	return parse_end(&s->p, e.outer);
}

static struct node *read_delete(struct stap *s)
{
	struct parser *p = &s->p;
	struct node *at = parse_node(p, NODE_BLOCK);
	parse_next(p);
	struct stap_symbol *y =
		p->t.kind == TOKEN_IDENT ? stap_find(s, p->t.text, STAP_GLOBAL) : NULL;
	if (!at || !y) {
		parse_fail(p, -EINVAL, "expected a variable that is declared with 'global'");
		return NULL;
	}
	struct node *n = stap_map(s, y, -1, at);
	y->is_written = true;
	parse_next(p);
	if (n && parse_take(p, TOKEN_LBRACKET)) {
		y->is_array = true;
		do {
			struct node *key = stap_expr(s), **to = &n->list;
			if (!key)
				return NULL;
			while (*to)
				to = &(*to)->next;
			*to = key;
			stap_note(s, y, (s32)n->nr++, key);
		} while (n->nr < STAP_KEYS_MAX && parse_take(p, TOKEN_COMMA));
		parse_expect(p, TOKEN_RBRACKET, "']'");
	}
	if (!parse_end(p, at))
		return NULL;
	/* What it is, an array, a statistic or a plain one, is known at the end: settle_delete(). */
	struct stap_add *add = vec_push(&s->adds);
	if (!add || !n) {
		p->err = -ENOMEM;
		return NULL;
	}
	*add = (struct stap_add){
		.block = at, .symbol = y, .keys = n->list, .nr_keys = n->nr, .scope = s->scope
	};
	return at;
}

static struct node *read_return(struct stap *s)
{
	struct parser *p = &s->p;
	struct node *n = parse_node(p, NODE_RETURN);
	bool next = parse_word(p, "next");
	if (next == (s->function != NULL)) {
		parse_fail(p, next ? -ENOTSUP : -EINVAL,
			   next ? "'next' inside of a function is not supported"
				: "'return' outside of a function: 'next' ends a probe");
		return NULL;
	}
	parse_next(p);
	if (next || !n) {
		if (!n || !s->wants_exit)
			return parse_end(p, n);
		/* exit() was called before: it takes effect where the probe ends. */
		struct node *block = stap_node(s, NODE_BLOCK, n);
		struct node *then = stap_node(s, NODE_BLOCK, n);
		stap_append(then, stap_statement_of(s, stap_call_of(s, "exit", NULL, n)));
		stap_append(block, if_of(s, stap_var(s, "#exit", n), then));
		stap_append(block, n);
		return block;
	}
	if (p->t.kind != TOKEN_SEMI && p->t.kind != TOKEN_RBRACE) {
		n->a = stap_number(s, stap_expr(s));
		stap_note(s, s->function, -1, n->a);
	}
	s->nr_returns++;
	if (s->loops)
		stap_fail_at(s, n, -ENOTSUP, "'return' inside of a loop is not supported");
	return parse_end(p, n);
}

static struct node *read_jump(struct stap *s)
{
	bool leaves = parse_word(&s->p, "break");
	struct node *n = parse_node(&s->p, leaves ? NODE_BREAK : NODE_CONTINUE);
	if (!s->loops) {
		parse_fail(&s->p, -EINVAL, "not inside of a loop");
		return NULL;
	}
	parse_next(&s->p);
	if (!n || leaves || !s->step_from)
		return parse_end(&s->p, n);
	struct node *block = stap_node(s, NODE_BLOCK, n);
	stap_append(block, read_again(s, s->step_from));
	stap_append(block, n);
	return s->p.err ? NULL : block;
}

/* x <<< value */
static struct node *read_stat_add(struct stap *s, struct node *to, struct stap_symbol *y)
{
	struct parser *p = &s->p;
	if (to->kind != NODE_MAP || !y) {
		parse_fail(p, -EINVAL, "'<<<' adds to a variable that is declared with 'global'");
		return NULL;
	}
	parse_next(p);
	parse_next(p);
	struct node *value = stap_number(s, stap_expr(s));
	struct node *block = stap_node(s, NODE_BLOCK, to);
	struct stap_add *add = value && block ? vec_push(&s->adds) : NULL;
	if (!add) {
		p->err = p->err ? p->err : -ENOMEM;
		return NULL;
	}
	y->is_stat = true;
	*add = (struct stap_add){ .block = block,
				  .symbol = y,
				  .keys = to->list,
				  .nr_keys = to->nr,
				  .value = value,
				  .scope = s->scope };
	return block;
}

/* A local that is first used as if it had a value begins with nothing. */
static void begin_with_zero(struct stap *s, struct node *to)
{
	struct node *n = stap_assign(s, stap_var(s, to->text, to), stap_int(s, 0, to));
	if (!n)
		return;
	n->next = s->zeros;
	s->zeros = n;
}

static struct node *read_assignment(struct stap *s, struct node *to, struct stap_symbol *y,
				    bool fresh)
{
	struct parser *p = &s->p;
	struct node *n = stap_node(s, NODE_ASSIGN, to);
	if (!n || !y || (to->kind != NODE_VAR && to->kind != NODE_MAP)) {
		parse_fail(p, -EINVAL, "only variables of the script can be assigned to");
		return NULL;
	}
	n->op = (u8)p->t.kind;
	n->a = to;
	if (fresh && n->op != TOKEN_ASSIGN)
		begin_with_zero(s, to);
	parse_next(p);
	n->b = stap_number(s, stap_expr(s));
	if (!n->b)
		return NULL;
	if (p->t.kind >= TOKEN_ASSIGN && p->t.kind <= TOKEN_SHR_ASSIGN) {
		parse_fail(p, -ENOTSUP, "an assignment as a value is not supported");
		return NULL;
	}
	if (n->op == TOKEN_ASSIGN)
		stap_note(s, y, -1, n->b);
	return parse_end(p, n);
}

/* Expressions, assignments and what is added to statistics. */
static struct node *read_simple(struct stap *s)
{
	struct parser *p = &s->p;
	bool fresh = p->t.kind == TOKEN_IDENT && !stap_find(s, p->t.text, s->scope) &&
		     !stap_find(s, p->t.text, STAP_GLOBAL);
	struct node *a = stap_expr(s);
	if (!a)
		return NULL;
	struct node *target = a->kind == NODE_STEP ? a->a : a;
	struct stap_symbol *y = NULL;
	if (target->kind == NODE_VAR)
		y = stap_find(s, target->text, s->scope);
	else if (target->kind == NODE_MAP)
		y = stap_find(s, target->text, STAP_GLOBAL);
	bool assigns = p->t.kind >= TOKEN_ASSIGN && p->t.kind <= TOKEN_SHR_ASSIGN;
	bool adds = stap_joined(s, TOKEN_SHL, TOKEN_LT);
	if (stap_joined(s, TOKEN_DOT, TOKEN_ASSIGN)) {
		parse_fail(p, -ENOTSUP, "texts can be joined only where they are printed");
		return NULL;
	}
	if (y && (assigns || adds || a->kind == NODE_STEP)) {
		y->is_written = true;
		y->reads -= y->reads > 0;
	}
	if (adds)
		return read_stat_add(s, a, y);
	if (assigns)
		return read_assignment(s, a, y, fresh);
	if (a->kind == NODE_STEP && fresh && target->kind == NODE_VAR)
		begin_with_zero(s, target);
	if (a->kind == NODE_BLOCK || a->kind == NODE_ASSIGN)
		return a; /* a call that is a statement, or several */
	return stap_statement_of(s, a);
}

static struct node *any_statement(struct stap *s)
{
	static const struct {
		const char *word;
		struct node *(*read)(struct stap *s);
	} words[] = {
		{ "if", read_if },	     { "while", read_while },	{ "for", read_for },
		{ "foreach", read_foreach }, { "delete", read_delete }, { "return", read_return },
		{ "next", read_return },     { "break", read_jump },	{ "continue", read_jump },
	};
	if (s->p.t.kind == TOKEN_LBRACE)
		return read_block(s);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (parse_word(&s->p, words[i].word))
			return words[i].read(s);
	if (parse_word(&s->p, "try")) {
		parse_fail(&s->p, -ENOTSUP, "'try' is not supported");
		return NULL;
	}
	return read_simple(s);
}

static struct node *read_statement(struct stap *s)
{
	if (s->p.depth >= PARSE_DEPTH_MAX) {
		parse_fail(&s->p, -E2BIG, "statements nested too deeply");
		return NULL;
	}
	s->p.depth++;
	struct node *n = any_statement(s);
	s->p.depth--;
	return s->p.err ? NULL : n;
}

/* ---- bodies ---- */

static void begin_body(struct stap *s)
{
	s->scope = ++s->nr_scopes;
	s->wants_exit = s->wants_event = false;
	s->zeros = NULL;
	s->loops = 0;
	s->step_from = 0;
}

static struct node *end_body(struct stap *s, struct node *body)
{
	if (!body || s->p.err)
		return NULL;
	if (s->wants_exit) {
		struct node *then = stap_node(s, NODE_BLOCK, body);
		stap_append(then, stap_statement_of(s, stap_call_of(s, "exit", NULL, body)));
		struct node *last = body->list;
		while (last && last->next)
			last = last->next;
		bool plain = last && last->kind == NODE_ASSIGN && !strcmp(last->a->text, "#exit");
		if (plain) /* the usual place: at the end */
			*last = *then->list;
		else
			stap_append(body, if_of(s, stap_var(s, "#exit", body), then));
		struct node *zero =
			plain ? NULL
			      : stap_assign(s, stap_var(s, "#exit", body), stap_int(s, 0, body));
		if (zero) {
			zero->next = s->zeros;
			s->zeros = zero;
		}
	}
	for (struct node *z = s->zeros, *next; z; z = next) {
		next = z->next;
		z->next = body->list;
		body->list = z;
		body->nr++;
	}
	s->zeros = NULL;
	return body;
}

/* ---- probes ---- */

static struct probe_block *add_block(struct stap *s)
{
	struct probe_block *b = arena_zalloc(s->p.arena, sizeof(*b)), **at = &s->p.script->blocks;
	if (!b) {
		s->p.err = -ENOMEM;
		return NULL;
	}
	while (*at)
		at = &(*at)->next;
	*at = b;
	s->p.script->nr_blocks++;
	return b;
}

/* Whatever was noted while reading is forgotten: it is read again. */
static void forget(struct stap *s, size_t facts, size_t adds, size_t calls)
{
	s->facts.nr = facts;
	s->adds.nr = adds;
	s->calls.nr = calls;
}

static bool read_for_point(struct stap *s, u32 probe, const struct stap_alias *a)
{
	struct program_probe at = s->p.program->probes.at[probe];
	size_t facts = s->facts.nr, adds = s->adds.nr, calls = s->calls.nr;
	begin_body(s);
	stap_enter(s, &at, a);
	struct node *body = end_body(s, read_block(s));
	if (!s->p.err && s->wants_event && at.is_glob) {
		forget(s, facts, adds, calls);
		return false;
	}
	struct probe_block *b = body ? add_block(s) : NULL;
	if (!b)
		return true;
	b->body = body;
	b->first_point = probe;
	b->nr_points = 1;
	return true;
}

/* A pattern whose events have to be told apart: each has a probe of its own, in place of it. */
static void read_for_events(struct stap *s, u32 probe, const struct stap_alias *a,
			    const struct parser *body)
{
	struct program_probe of = s->p.program->probes.at[probe];
	const struct lang_ops *ops = s->p.in->ops;
	const char *system, *name;
	int got = ops && ops->tracepoint_list && of.provider == PROGRAM_TRACEPOINT ? 1 : 0;
	u32 nth = 0;
	for (; got > 0 && nth < EVENTS_MAX && !s->p.err; nth++) {
		char text[256];
		got = ops->tracepoint_list(s->p.in->ctx, of.target, of.name, nth, &system, &name);
		if (got <= 0)
			break;
		snprintf(text, sizeof(text), "tracepoint:%s:%s", system, name);
		s->p.program->probes.nr -= !nth; /* the pattern itself is the last one */
		s->p = (struct parser){ .lex = body->lex,
					.t = body->t,
					.arena = s->p.arena,
					.in = s->p.in,
					.program = s->p.program,
					.script = s->p.script,
					.diag = s->p.diag,
					.last_end = body->last_end };
		s->p.err = provider_parse(s->p.in, s->p.program, text, of.span_start, of.span_len,
					  s->p.diag);
		if (!s->p.err)
			(void)read_for_point(s, (u32)s->p.program->probes.nr - 1, a);
	}
	if (got < 0)
		s->p.err = got;
	else if (!nth)
		s->p.err = lang_error(s->p.diag, s->p.in->text, of.span_start, of.span_len, -ENOENT,
				      "the events of %s are not known here", of.text);
}

static void read_probe(struct stap *s)
{
	struct stap_alias const *aliases[32];
	struct probe_block points = { .first_point = (u32)s->p.program->probes.nr };
	parse_next(&s->p);
	if (stap_points(s, &points, aliases))
		return;
	/* Each point takes the probe's text anew; patterns may grow into many, so those behind move: kept aside. */
	struct program_probe list[32];
	memcpy(list, s->p.program->probes.at + points.first_point,
	       points.nr_points * sizeof(list[0]));
	s->p.program->probes.nr = points.first_point;
	struct parser body = s->p;
	for (u32 i = 0; i < points.nr_points && !s->p.err; i++) {
		struct program_probe *to = vec_push(&s->p.program->probes);
		if (!to) {
			s->p.err = -ENOMEM;
			return;
		}
		*to = list[i];
		u32 probe = (u32)s->p.program->probes.nr - 1;
		s->p.lex = body.lex;
		s->p.t = body.t;
		s->p.last_end = body.last_end;
		if (!read_for_point(s, probe, aliases[i]))
			read_for_events(s, probe, aliases[i], &body);
	}
}

/* ---- functions ---- */

/* Those that leave in the middle become breaks out of a loop that runs once. */
static void turn_returns(struct stap *s, struct node *n, const char *result)
{
	if (!n)
		return;
	for (struct node *e = n->list; e; e = e->next)
		turn_returns(s, e, result);
	turn_returns(s, n->a, result);
	turn_returns(s, n->b, result);
	turn_returns(s, n->c, result);
	if (n->kind != NODE_RETURN)
		return;
	struct node *value = n->a, at = *n;
	n->kind = NODE_BLOCK;
	n->a = NULL;
	if (value)
		stap_append(n, stap_assign(s, stap_var(s, result, &at), value));
	stap_append(n, stap_node(s, NODE_BREAK, &at));
}

static struct node *function_body(struct stap *s, struct node *body)
{
	struct node *last = body->list;
	while (last && last->next)
		last = last->next;
	if (!s->nr_returns)
		return body;
	if (s->nr_returns == 1 && last->kind == NODE_RETURN) {
		last->kind = last->a ? NODE_EXPR : NODE_BLOCK;
		return body;
	}
	const char *result = "#result";
	struct node *outer = stap_node(s, NODE_BLOCK, body), *once = stap_node(s, NODE_RANGE, body);
	if (!outer || !once)
		return NULL;
	turn_returns(s, body, result);
	once->text = made_name(s, "once");
	once->a = stap_int(s, 0, body);
	once->b = stap_int(s, 1, body);
	once->c = body;
	stap_append(outer, once);
	struct node *value = stap_node(s, NODE_EXPR, body);
	if (value)
		value->a = stap_var(s, result, body);
	stap_append(outer, value);
	return outer;
}

/* ":long" or ":string" */
static void read_type(struct stap *s, struct stap_symbol *y)
{
	if (!parse_take(&s->p, TOKEN_COLON))
		return;
	if (!parse_word(&s->p, "long") && !parse_word(&s->p, "string"))
		parse_fail(&s->p, -EINVAL, "expected 'long' or 'string'");
	y->is_string = parse_word(&s->p, "string");
	parse_next(&s->p);
}

static void read_params(struct stap *s, struct stap_symbol *f, struct macro *m)
{
	struct stap_symbol **at = &f->params;
	while (!s->p.err && s->p.t.kind != TOKEN_RPAREN) {
		struct stap_symbol *y = stap_add_symbol(s, s->p.t.text, s->scope);
		if (m->nr == ARRAY_SIZE(m->params)) {
			parse_fail(&s->p, -E2BIG, "more than %zu parameters", ARRAY_SIZE(m->params));
			return;
		}
		if (!parse_expect(&s->p, TOKEN_IDENT, "a parameter") || !y)
			return;
		m->params[m->nr++] = (struct macro_param){ NODE_IDENT, y->name };
		f->nr_params++;
		*at = y;
		at = &y->next_param;
		read_type(s, y);
		if (!parse_take(&s->p, TOKEN_COMMA))
			break;
	}
	parse_expect(&s->p, TOKEN_RPAREN, "')'");
}

static void read_function(struct stap *s)
{
	struct macro *m = arena_zalloc(s->p.arena, sizeof(*m));
	parse_next(&s->p);
	begin_body(s);
	s->at = (struct stap_context){ .is_function = true };
	struct stap_symbol *f = stap_add_symbol(s, s->p.t.text, s->scope);
	if (!m || !f) {
		s->p.err = -ENOMEM;
		return;
	}
	f->is_function = true;
	m->name = s->p.t.text;
	m->start = s->p.t.start;
	m->len = s->p.t.len;
	if (!parse_expect(&s->p, TOKEN_IDENT, "the name of the function"))
		return;
	read_type(s, f);
	if (!parse_expect(&s->p, TOKEN_LPAREN, "'('"))
		return;
	read_params(s, f, m);
	read_type(s, f);
	s->function = f;
	s->nr_returns = 0;
	struct node *body = end_body(s, read_block(s));
	s->function = NULL;
	if (!body || !(body = function_body(s, body)))
		return;
	/* What the function does to a parameter stays inside. */
	struct node *outer = stap_node(s, NODE_BLOCK, body);
	for (struct stap_symbol *y = f->params; y; y = y->next_param)
		stap_append(outer,
			    stap_assign(s, stap_var(s, y->name, body), stap_name(s, y->name, body)));
	struct node *list = body->list;
	for (struct node *next; list && outer; list = next) {
		next = list->next;
		list->next = NULL;
		stap_append(outer, list);
	}
	m->body = outer;
	m->next = s->p.script->macros;
	s->p.script->macros = m;
}

/* ---- globals ---- */

/* declare: the first look over the script; else they are known already and stepped over. */
static void read_globals(struct stap *s, bool declare)
{
	struct parser *p = &s->p;
	do {
		parse_next(p);
		const char *name = p->t.text;
		struct stap_symbol *y =
			p->t.kind == TOKEN_IDENT ? stap_find(s, name, STAP_GLOBAL) : NULL;
		if (declare && y) {
			parse_fail(p, -EINVAL, "'%s' is declared twice", name);
			return;
		}
		if (p->t.kind == TOKEN_IDENT && !y)
			y = stap_add_symbol(s, name, STAP_GLOBAL);
		if (!parse_expect(p, TOKEN_IDENT, "the name of a variable") || !y)
			return;
		if (p->t.kind == TOKEN_MOD)
			parse_fail(p, -ENOTSUP, "arrays that wrap around are not supported");
		if (parse_take(p, TOKEN_LBRACKET)) {
			struct map *m = parse_map_named(p, name);
			if (p->t.kind == TOKEN_INT && m && p->t.number && p->t.number <= 1 << 28)
				m->max_entries = (u32)p->t.number;
			y->is_array = true;
			if (!parse_expect(p, TOKEN_INT, "the number of keys") ||
			    !parse_expect(p, TOKEN_RBRACKET, "']'"))
				return;
		}
		if (parse_take(p, TOKEN_ASSIGN)) {
			y->init = parse_unary(p);
			if (y->init && y->init->kind != NODE_INT && y->init->kind != NODE_STRING &&
			    y->init->kind != NODE_UNARY)
				stap_fail_at(s, y->init, -EINVAL, "expected a number or a string");
			if (declare)
				stap_note(s, y, -1, y->init);
			y->is_written = true;
		}
	} while (!p->err && p->t.kind == TOKEN_COMMA);
	parse_take(p, TOKEN_SEMI);
}

/* Globals may be used before they are declared: a look over all the text. */
static void declare_globals(struct stap *s)
{
	struct parser begin = s->p;
	u32 depth = 0;
	while (!s->p.err && s->p.t.kind != TOKEN_END) {
		if (!depth && parse_word(&s->p, "global")) {
			read_globals(s, true);
			continue;
		}
		depth += s->p.t.kind == TOKEN_LBRACE;
		depth -= s->p.t.kind == TOKEN_RBRACE && depth;
		parse_next(&s->p);
	}
	begin.err = s->p.err;
	s->p = begin;
}

/* What globals begin with is assigned before all else. */
static int begin_block(struct stap *s)
{
	struct node at = { .start = 0, .len = 1 };
	struct node *body = stap_node(s, NODE_BLOCK, &at);
	for (struct stap_symbol *y = s->symbols; y && body; y = y->next) {
		if (y->scope != STAP_GLOBAL || (y->is_array && !y->init))
			continue;
		struct node here = { .start = y->start, .len = y->len };
		bool never = !y->is_written && y->reads && !y->is_stat;
		if (y->init || never)
			stap_append(body, stap_assign(s, stap_map(s, y, -1, &here),
						      y->init ? y->init : stap_int(s, 0, &here)));
	}
	if (s->p.err || !body || !body->list)
		return s->p.err;
	s->p.err = provider_parse(s->p.in, s->p.program, "begin", 0, 1, s->p.diag);
	struct probe_block *b = s->p.err ? NULL : arena_zalloc(s->p.arena, sizeof(*b));
	if (!b)
		return s->p.err ? s->p.err : -ENOMEM;
	/* Probes are in the order of their blocks. */
	size_t nr = s->p.program->probes.nr;
	struct program_probe *at_first = s->p.program->probes.at, own = at_first[nr - 1];
	memmove(at_first + 1, at_first, (nr - 1) * sizeof(own));
	*at_first = own;
	for (struct probe_block *o = s->p.script->blocks; o; o = o->next)
		o->first_point++;
	b->body = body;
	b->nr_points = 1;
	b->next = s->p.script->blocks;
	s->p.script->blocks = b;
	s->p.script->nr_blocks++;
	return 0;
}

/* Globals that nobody reads are printed when it ends. */
static int end_block(struct stap *s)
{
	struct node at = { .start = 0, .len = 1 };
	struct node *body = stap_node(s, NODE_BLOCK, &at);
	for (struct stap_symbol *y = s->symbols; y && body; y = y->next) {
		if (y->scope != STAP_GLOBAL || y->reads || y->stats & ~(1u << STAP_STATS) ||
		    !y->is_written)
			continue;
		struct node here = { .start = y->start, .len = y->len };
		struct node *map = stap_map(s, y, -1, &here);
		struct node *call = stap_call_of(s, "print", map, &here);
		stap_append(body, stap_statement_of(s, call));
	}
	if (s->p.err || !body || !body->list)
		return s->p.err;
	s->p.err = provider_parse(s->p.in, s->p.program, "end", 0, 1, s->p.diag);
	struct probe_block *b = s->p.err ? NULL : add_block(s);
	if (!b)
		return s->p.err ? s->p.err : -ENOMEM;
	b->body = body;
	b->first_point = (u32)s->p.program->probes.nr - 1;
	b->nr_points = 1;
	return 0;
}

/* ---- what is known only when all is read ---- */

static struct node *stat_call(struct stap *s, const struct stap_symbol *y, u32 kind,
			      struct node *value)
{
	struct node *args = kind == STAP_COUNT ? NULL : value;
	if (kind == STAP_HIST_LINEAR && args)
		args->next = copy_list(s, y->linear);
	return stap_call_of(s, stats[kind].function, args, value);
}

/* One statement for each operator; what is computed for several is computed once. */
static void settle_add(struct stap *s, const struct stap_add *add)
{
	struct stap_symbol *y = add->symbol;
	struct node *keys[STAP_KEYS_MAX], *value = add->value, *k = add->keys;
	u32 nr = 0;
	s->scope = add->scope;
	bool several = (y->stats & (y->stats - 1)) != 0;
	for (struct node *next; k && nr < STAP_KEYS_MAX; k = next) {
		next = k->next;
		k->next = NULL;
		keys[nr++] = k;
	}
	for (u32 i = 0; i <= nr && several; i++) {
		struct node **e = i < nr ? &keys[i] : &value;
		if ((*e)->kind == NODE_INT || (*e)->kind == NODE_VAR)
			continue;
		const char *name = made_name(s, "stat");
		stap_append(add->block, stap_assign(s, stap_var(s, name, *e), *e));
		*e = stap_var(s, name, *e);
	}
	for (u32 kind = 0; kind < STAP_NR_STATS; kind++) {
		if (!(y->stats >> kind & 1))
			continue;
		struct node *map = stap_map(s, y, (s32)kind, add->block);
		for (u32 i = 0; i < nr && map; i++) {
			struct node **at = &map->list;
			while (*at)
				at = &(*at)->next;
			*at = stap_copy(s, keys[i]);
			map->nr++;
		}
		stap_append(add->block,
			    stap_assign(s, map, stat_call(s, y, kind, stap_copy(s, value))));
	}
}

static void settle_delete(struct stap *s, const struct stap_add *add)
{
	struct stap_symbol *y = add->symbol;
	s->scope = add->scope;
	for (u32 kind = 0; kind < STAP_NR_STATS && !s->p.err; kind++) {
		if (y->is_stat ? !(y->stats >> kind & 1) : kind)
			continue;
		struct node *map = stap_map(s, y, y->is_stat ? (s32)kind : -1, add->block), *n;
		if (!map)
			return;
		if (add->nr_keys) {
			map->list = copy_list(s, add->keys);
			map->nr = add->nr_keys;
			n = stap_statement_of(s, stap_call_of(s, "delete", map, add->block));
		} else if (y->is_array && kind >= STAP_HIST_LOG) {
			/* Loops do not take histograms: these are emptied by whoever prints them. */
			n = stap_statement_of(s, stap_call_of(s, "clear", map, add->block));
		} else if (y->is_array) {
			n = empty_map(s, map);
		} else if (y->is_stat) {
			n = stap_statement_of(s, stap_call_of(s, "clear", map, add->block));
		} else {
			n = stap_assign(s, map,
					y->is_string ? stap_string(s, "", add->block)
						     : stap_int(s, 0, add->block));
		}
		stap_append(add->block, n);
	}
}

/* Loops over a statistic are over its counts; elsewhere it has no value of its own. */
static void settle_maps(struct stap *s, struct node *n)
{
	if (!n || s->p.err)
		return;
	struct stap_symbol *y =
		n->kind == NODE_MAP && n->is_unsigned ? stap_find(s, n->text, STAP_GLOBAL) : NULL;
	if (y && y->is_stat)
		stap_fail_at(s, n, -EINVAL,
			     "a statistic is read with @count(), @sum(), @avg(), @min() or @max()");
	if (y)
		n->is_unsigned = false;
	if (n->kind == NODE_FOR_MAP && n->a->is_unsigned) {
		n->a->is_unsigned = false;
		y = stap_find(s, n->a->text, STAP_GLOBAL);
		if (y && y->is_stat)
			n->a = stap_map(s, y, STAP_COUNT, n->a);
	}
	for (struct node *e = n->list; e; e = e->next)
		settle_maps(s, e);
	settle_maps(s, n->a);
	settle_maps(s, n->b);
	settle_maps(s, n->c);
}

static void settle(struct stap *s)
{
	for (struct stap_symbol *y = s->symbols; y; y = y->next) {
		if (!y->is_stat)
			continue;
		if (y->reads && !y->stats)
			y->stats = 1u << STAP_COUNT;
		/* A foreach walks over the counts. */
		if (y->is_array && y->reads)
			y->stats |= 1u << STAP_COUNT;
		if (!y->stats)
			y->stats = 1u << STAP_STATS;
	}
	vec_for_each (&s->adds, add) {
		if (s->p.err)
			return;
		if (add->value)
			settle_add(s, add);
		else
			settle_delete(s, add);
	}
	for (struct probe_block *b = s->p.script->blocks; b; b = b->next)
		settle_maps(s, b->body);
	for (struct macro *m = s->p.script->macros; m; m = m->next)
		settle_maps(s, m->body);
}

/* ---- the text ---- */

/* Comments become blanks, so that places stay; "$$x" becomes "$#x", which the lexer knows. */
static char *plain_text(const struct lang_input *in, struct arena *a)
{
	char *t = arena_strndup(a, in->text, in->len);
	if (!t)
		return NULL;
	for (size_t i = 0; i < in->len;) {
		size_t end = i;
		if (t[i] == '"') {
			for (i++; i < in->len && t[i] != '"' && t[i] != '\n'; i++)
				i += t[i] == '\\' && i + 1 < in->len;
			i++;
			continue;
		}
		if (t[i] == '$' && (t[i + 1] == '$' || t[i + 1] == '#')) {
			t[i + 1] = '#';
			i += 2;
			continue;
		}
		if (t[i] == '#' || (t[i] == '/' && t[i + 1] == '/')) {
			while (end < in->len && t[end] != '\n')
				end++;
		} else if (t[i] == '/' && t[i + 1] == '*') {
			const char *close = strstr(t + i + 2, "*/");
			end = close ? (size_t)(close - t) + 2
				    : i; /* without an end: the lexer refuses it */
		}
		if (end == i)
			i++;
		for (; i < end; i++)
			if (t[i] != '\n')
				t[i] = ' ';
	}
	return t;
}

static void read_top(struct stap *s)
{
	if (parse_take(&s->p, TOKEN_SEMI))
		return;
	if (parse_word(&s->p, "global"))
		read_globals(s, false);
	else if (parse_word(&s->p, "probe"))
		read_probe(s);
	else if (parse_word(&s->p, "function"))
		read_function(s);
	else if (parse_word(&s->p, "private"))
		parse_next(&s->p);
	else
		parse_fail(&s->p, -EINVAL, "expected 'probe', 'global' or 'function'");
}

static void read_all(struct stap *s)
{
	declare_globals(s);
	while (!s->p.err && s->p.t.kind != TOKEN_END)
		read_top(s);
	if (!s->p.err && !s->p.script->blocks)
		s->p.err = diag_error(s->p.diag, -EINVAL, "the script has no probe");
	if (!s->p.err)
		settle(s);
	if (!s->p.err)
		s->p.err = begin_block(s);
	if (!s->p.err)
		s->p.err = end_block(s);
	if (!s->p.err)
		stap_finish_calls(s);
	if (!s->p.err)
		s->p.err = macro_expand(s->p.script, s->p.arena, s->p.in, s->p.diag);
	if (!s->p.err)
		s->p.err = parse_expand_points(&s->p);
}

int stap_parse(const struct lang_input *in, struct program *prog, struct script *ret, struct diag *d)
{
	struct stap s = {
		.p = { .arena = &prog->arena, .in = in, .program = prog, .script = ret, .diag = d }
	};
	if (in->len > UINT32_MAX / 2)
		return diag_error(d, -E2BIG, "the script is too large");
	/* Texts are as long as in SystemTap; maps are printed by the script alone. */
	prog->config.max_strlen = 128;
	prog->config.max_map_keys = 4096;
	prog->config.max_probes = 1024;
	prog->config.max_cat_bytes = 10240;
	prog->config.no_final_maps = true;
	prog->license = "GPL";
	s.text = plain_text(in, &prog->arena);
	if (!s.text)
		return -ENOMEM;
	lex_init(&s.p.lex, s.p.arena, s.text, (u32)in->len, d);
	parse_next(&s.p);
	read_all(&s);
	vec_free(&s.facts);
	vec_free(&s.adds);
	vec_free(&s.calls);
	return s.p.err;
}
