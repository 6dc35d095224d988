#include "tracing/sql.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

enum { ITEMS_MAX = 16, KEYS_MAX = 3, DEPTH_MAX = 32 };

struct sql_parser {
	struct ftrace_sql *q;
	const char *text, *at; /* at: the token that comes next */
	size_t len; /* of it */
	unsigned depth; /* of parentheses around an expression */
	struct diag *d;
};

/* ---- tokens ---- */

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':' || c == '$';
}

static void next(struct sql_parser *p)
{
	p->at += p->len;
	while (isspace((unsigned char)*p->at))
		p->at++;
	p->len = 0;
	while (word_char(p->at[p->len]))
		p->len++;
	if (!p->len && *p->at)
		p->len = 1;
}

static bool is(const struct sql_parser *p, const char *word)
{
	return strlen(word) == p->len && !strncasecmp(p->at, word, p->len);
}

static bool skip(struct sql_parser *p, const char *word)
{
	bool found = is(p, word);
	if (found)
		next(p);
	return found;
}

static int wrong(struct sql_parser *p, const char *what)
{
	int err = diag_error(p->d, -EINVAL, "%s", what);
	diag_span(p->d, p->text, (size_t)(p->at - p->text), p->len ? p->len : 1);
	return err;
}

static int need(struct sql_parser *p, const char *word)
{
	char text[64];
	if (skip(p, word))
		return 0;
	strcpy(text, "expected ");
	strncat(text, word, sizeof(text) - strlen(text) - 1);
	return wrong(p, text);
}

static int word(struct sql_parser *p, const char **ret, const char *what)
{
	if (!p->len || !word_char(*p->at))
		return wrong(p, what);
	*ret = arena_strndup(&p->q->arena, p->at, p->len);
	next(p);
	return *ret ? 0 : -ENOMEM;
}

/* ---- names: sides are known only when FROM and JOIN were read, so SELECT is looked at again ---- */

static int side_of(const struct ftrace_sql *q, const char *name, size_t len)
{
	for (int i = 0; i < 1 + q->join; i++) {
		const struct sql_side *s = &q->sides[i];
		if ((strlen(s->alias) == len && !strncmp(s->alias, name, len)) ||
		    (strlen(s->event) == len && !strncmp(s->event, name, len)))
			return i;
	}
	return -1;
}

static int operand(struct sql_parser *p, struct sql_operand *ret)
{
	const char *dot = memchr(p->at, '.', p->len);
	int side = dot ? side_of(p->q, p->at, (size_t)(dot - p->at)) : -1;
	if (side < 0 && p->q->join)
		return wrong(p, dot ? "neither event has this name"
				    : "ambiguous field: use EVENT.FIELD");
	const char *from = side >= 0 ? dot + 1 : p->at;
	size_t len = (size_t)(p->at + p->len - from);
	*ret = (struct sql_operand){ .side = max(side, 0) };
	if (!p->len || !word_char(*p->at) || !len)
		return wrong(p, "expected a field");
	bool time = len == 9 && !strncasecmp(from, "TIMESTAMP", len);
	ret->usecs = len == 15 && !strncasecmp(from, "TIMESTAMP_USECS", len);
	if (!time && !ret->usecs && !(ret->field = arena_strndup(&p->q->arena, from, len)))
		return -ENOMEM;
	next(p);
	return 0;
}

static int expression(struct sql_parser *p, struct sql_item *i)
{
	bool usecs = is(p, "TIMESTAMP_DELTA_USECS");
	if (p->q->join && (usecs || is(p, "TIMESTAMP_DELTA"))) {
		next(p);
		i->op = '-';
		i->a = (struct sql_operand){ .side = 1, .usecs = usecs };
		i->b = (struct sql_operand){ .side = 0, .usecs = usecs };
		return 0;
	}
	if (is(p, "(")) {
		if (++p->depth > DEPTH_MAX)
			return wrong(p, "too many parentheses");
		next(p);
		int err = expression(p, i);
		p->depth--;
		return err ? err : need(p, ")");
	}
	if (skip(p, "CAST")) {
		int err = need(p, "(");
		if (!err)
			err = operand(p, &i->a);
		if (!err)
			err = need(p, "AS");
		if (!err)
			err = need(p, "_COUNTER_");
		i->counter = true;
		return err ? err : need(p, ")");
	}
	int err = operand(p, &i->a);
	if (err || (!is(p, "-") && !is(p, "+")))
		return err;
	i->op = *p->at;
	next(p);
	err = operand(p, &i->b);
	if (!err && (!i->a.field != !i->b.field || i->a.usecs != i->b.usecs))
		return wrong(p, "cannot combine a time with something else");
	if (!err && i->a.side == i->b.side)
		return wrong(p, "a difference must be between the two events");
	return err;
}

static int select_items(struct sql_parser *p)
{
	int err = 0;
	do {
		struct sql_item *i = p->q->items.nr < ITEMS_MAX ? vec_push(&p->q->items) : NULL;
		if (!i)
			return p->q->items.nr < ITEMS_MAX ? -ENOMEM : wrong(p, "too many items");
		err = expression(p, i);
		if (!err && skip(p, "AS"))
			err = word(p, &i->label, "expected a name");
		else if (!err && i->op)
			i->label = sql_is_delta(i) ? "delta" : "value";
		else if (!err)
			i->label = i->a.field ? i->a.field : "time";
		if (!err && !i->op && !i->a.field)
			err = wrong(p, "a time alone cannot be a key: use a difference");
	} while (!err && skip(p, ","));
	return err;
}

static int event_name(struct sql_parser *p, struct sql_side *s)
{
	const char *name = NULL;
	int err = word(p, &name, "expected an event");
	if (err)
		return err;
	char *dot = strpbrk((char *)name, ".:");
	s->event = name;
	if (dot) {
		*dot = '\0';
		s->system = name;
		s->event = dot + 1;
	}
	s->alias = s->event;
	return skip(p, "AS") ? word(p, &s->alias, "expected a name") : 0;
}

static int join_keys(struct sql_parser *p)
{
	int err = 0;
	do {
		struct sql_operand a, b;
		err = operand(p, &a);
		if (!err)
			err = need(p, "=");
		(void)skip(p, "=");
		if (!err)
			err = operand(p, &b);
		if (!err && (a.side == b.side || !a.field || !b.field))
			err = wrong(
				p,
				"ON must compare a field of one event with a field of the other");
		if (!err && p->q->keys[0].nr == KEYS_MAX)
			err = wrong(p, "too many fields");
		const char **first = err ? NULL : vec_push(&p->q->keys[0]),
			   **second = err ? NULL : vec_push(&p->q->keys[1]);
		if (!err && (!first || !second))
			err = -ENOMEM;
		if (!err) {
			*first = a.side ? b.field : a.field;
			*second = a.side ? a.field : b.field;
		}
	} while (!err && (skip(p, "AND") || (is(p, "&") && (next(p), skip(p, "&")))));
	return err;
}

/* One condition, up to AND or the end; its names without the event. */
static int condition(struct sql_parser *p, struct strbuf *to, int *ret_side)
{
	int depth = 0, side = -1;
	while (p->len && (depth > 0 || (!is(p, "AND") && !is(p, ";") && strncmp(p->at, "&&", 2)))) {
		if (*p->at == '"' || *p->at == '\'') {
			const char *end = strchr(p->at + 1, *p->at);
			if (!end)
				return wrong(p, "unterminated quote");
			p->len = (size_t)(end - p->at) + 1;
			strbuf_add(to, p->at, p->len);
		} else if (isalpha((unsigned char)*p->at) || *p->at == '_') {
			struct sql_operand o;
			if (skip(p, "OR")) {
				strbuf_str(to, " || ");
				continue;
			}
			int err = operand(p, &o);
			if (!err && !o.field)
				err = wrong(p, "times cannot be compared here");
			if (!err && side >= 0 && side != o.side)
				err = wrong(p, "a condition applies to one event; join conditions "
					       "with AND");
			if (err)
				return err;
			side = o.side;
			strbuf_str(to, o.field);
			continue;
		} else {
			depth += *p->at == '(' ? 1 : *p->at == ')' ? -1 : 0;
			/* "=" is "==", but not after another operator. */
			bool lone = *p->at == '=' && p->at[1] != '=' && p->at[1] != '~' &&
				    !strchr("=<>!", p->at > p->text ? p->at[-1] : ' ');
			strbuf_add(to, p->at, p->len);
			if (lone)
				strbuf_char(to, '=');
		}
		next(p);
	}
	if (side < 0)
		return wrong(p, "expected a condition");
	*ret_side = side;
	return 0;
}

static int where(struct sql_parser *p)
{
	struct strbuf filters[2];
	int err = 0;
	strbuf_init(&filters[0]);
	strbuf_init(&filters[1]);
	do {
		struct strbuf one;
		int side = 0;
		strbuf_init(&one);
		err = condition(p, &one, &side);
		if (!err && filters[side].len)
			strbuf_str(&filters[side], " && ");
		if (!err)
			strbuf_add(&filters[side], strbuf_cstr(&one), one.len);
		strbuf_done(&one);
	} while (!err && (skip(p, "AND") || (is(p, "&") && (next(p), skip(p, "&")))));
	for (int i = 0; i < 2 && !err; i++)
		if (filters[i].len &&
		    !(p->q->sides[i].filter = arena_strdup(&p->q->arena, strbuf_cstr(&filters[i]))))
			err = -ENOMEM;
	strbuf_done(&filters[0]);
	strbuf_done(&filters[1]);
	return err;
}

static int parse(struct sql_parser *p)
{
	struct ftrace_sql *q = p->q;
	next(p);
	int err = need(p, "SELECT");
	struct sql_parser items = *p;
	/* The names follow FROM. */
	while (!err && p->len && !is(p, "FROM"))
		next(p);
	if (!err)
		err = need(p, "FROM");
	if (!err)
		err = event_name(p, &q->sides[0]);
	if (!err && skip(p, "JOIN")) {
		q->join = true;
		err = event_name(p, &q->sides[1]);
		if (!err)
			err = need(p, "ON");
		if (!err)
			err = join_keys(p);
	}
	if (!err && skip(p, "WHERE"))
		err = where(p);
	(void)skip(p, ";");
	if (!err && p->len)
		err = wrong(p, "unexpected text");
	if (!err)
		err = select_items(&items);
	return err ? err : is(&items, "FROM") ? 0 : wrong(&items, "expected , or FROM");
}

int ftrace_sql_parse(struct ftrace_sql *q, const char *text, struct diag *d)
{
	struct sql_parser p = { .q = q, .text = text, .at = text, .d = d };
	*q = (struct ftrace_sql){ 0 };
	arena_init(&q->arena);
	int err = parse(&p);
	if (err)
		ftrace_sql_done(q);
	return err;
}

void ftrace_sql_done(struct ftrace_sql *q)
{
	vec_free(&q->items);
	vec_free(&q->keys[0]);
	vec_free(&q->keys[1]);
	arena_done(&q->arena);
}

/* ---- triggers ---- */

static void add_filter(const struct sql_side *s, struct strbuf *to)
{
	if (s->filter)
		strbuf_printf(to, " if %s", s->filter);
}

static void add_names(struct strbuf *to, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		strbuf_printf(to, "%s%s", i ? "," : "", names[i]);
}

void ftrace_sql_plain(const struct ftrace_sql *q, struct strbuf *to)
{
	const char *between = "hist:keys=";
	vec_for_each (&q->items, i)
		if (!i->counter) {
			strbuf_printf(to, "%s%s", between, i->a.field);
			between = ",";
		}
	between = ":vals=";
	vec_for_each (&q->items, i)
		if (i->counter) {
			strbuf_printf(to, "%s%s", between, i->a.field);
			between = ",";
		}
	add_filter(&q->sides[0], to);
}

static const char *time_of(const struct sql_operand *o)
{
	return o->usecs ? "common_timestamp.usecs" : "common_timestamp";
}

/* What of an item the beginning must remember: its operand there; NULL: none. */
static const struct sql_operand *kept(const struct sql_item *i)
{
	return !i->a.side ? &i->a : i->op && !i->b.side ? &i->b : NULL;
}

void ftrace_sql_start(const struct ftrace_sql *q, struct strbuf *to)
{
	strbuf_str(to, "hist:keys=");
	add_names(to, q->keys[0].at, q->keys[0].nr);
	for (size_t i = 0; i < q->items.nr; i++) {
		const struct sql_operand *o = kept(&q->items.at[i]);
		if (o)
			strbuf_printf(to, ":__s%zu=%s", i, o->field ? o->field : time_of(o));
	}
	add_filter(&q->sides[0], to);
}

static void add_operand(const struct sql_operand *o, size_t i, struct strbuf *to)
{
	if (o->side)
		strbuf_str(to, o->field ? o->field : time_of(o));
	else
		strbuf_printf(to, "$__s%zu", i);
}

void ftrace_sql_end(const struct ftrace_sql *q, const char *synth, struct strbuf *to)
{
	strbuf_str(to, "hist:keys=");
	add_names(to, q->keys[1].at, q->keys[1].nr);
	for (size_t i = 0; i < q->items.nr; i++) {
		const struct sql_item *it = &q->items.at[i];
		if (!it->op)
			continue;
		strbuf_printf(to, ":__e%zu=", i);
		add_operand(&it->a, i, to);
		strbuf_char(to, it->op);
		add_operand(&it->b, i, to);
	}
	strbuf_printf(to, ":onmatch(%s.%s).trace(%s", q->sides[0].system, q->sides[0].event, synth);
	for (size_t i = 0; i < q->items.nr; i++) {
		const struct sql_item *it = &q->items.at[i];
		strbuf_char(to, ',');
		if (it->op)
			strbuf_printf(to, "$__e%zu", i);
		else
			add_operand(&it->a, i, to);
	}
	strbuf_char(to, ')');
	add_filter(&q->sides[1], to);
}

void ftrace_sql_shown(const struct ftrace_sql *q, struct strbuf *to)
{
	strbuf_str(to, "hist:keys=");
	for (size_t i = 0; i < q->items.nr; i++)
		strbuf_printf(to, "%s%s%s", i ? "," : "", q->items.at[i].label,
			      sql_is_delta(&q->items.at[i]) ? ".log2" : "");
	vec_for_each (&q->items, i)
		if (sql_is_delta(i)) {
			strbuf_printf(to, ":sort=%s", i->label);
			break;
		}
}
