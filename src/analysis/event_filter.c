#include "analysis/event_filter.h"

#include "base/expr.h"
#include "base/str.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

enum { TEXT_MAX = 4096, STRING_MAX = 512, STRINGS = 4 };

/* What a name of the expression is in one event. */
enum bound_kind {
	BOUND_NONE,
	BOUND_NUMBER,
	BOUND_STRING,
	BOUND_SYMBOL,
	BOUND_COMM,
	BOUND_CPU,
	BOUND_TIME
};

struct bound {
	enum bound_kind kind;
	const struct schema_field *field;
};

struct filter {
	bool out;
	bool all; /* no expression */
	struct expr expr;
	bool *as_text; /* [ident]: compared with a string */
	struct bound **bounds; /* [event] -> [ident]; NULL: not one of the chosen events */
	bool *chosen; /* [event] */
};

struct event_filter {
	struct event_filter_env env;
	VEC(struct filter) filters;
	bool any_in; /* at least one says what is wanted */
	u32 drop_flags;
};

struct event_filter *event_filter_new(const struct event_filter_env *env)
{
	struct event_filter *f = calloc(1, sizeof(*f));
	if (f)
		f->env = *env;
	return f;
}

static void filter_done(struct filter *x, u32 nr_events)
{
	for (u32 i = 0; x->bounds && i < nr_events; i++)
		free(x->bounds[i]);
	free(x->bounds);
	free(x->chosen);
	free(x->as_text);
	if (!x->all)
		expr_done(&x->expr);
}

void event_filter_free(struct event_filter *f)
{
	if (!f)
		return;
	vec_for_each (&f->filters, x)
		filter_done(x, f->env.nr_events);
	vec_free(&f->filters);
	free(f);
}

void event_filter_drop_flags(struct event_filter *f, u32 flags)
{
	f->drop_flags |= flags;
}

/* The message and the place in the filter's text that it is about. */
static int fault(struct diag *d, const char *text, const char *at, size_t len, const char *message)
{
	(void)diag_error(d, -EINVAL, "%s", message);
	diag_span(d, text, (size_t)(at - text), len);
	return -EINVAL;
}

/* ---- which events ---- */

/* A pattern for the whole name, case ignored, as trace-cmd has it. */
static int compile_name(const char *name, size_t len, regex_t *re, const char *text, struct diag *d)
{
	char anchored[256];
	if (len + 5 > sizeof(anchored))
		return fault(d, text, name, len, "name too long");
	anchored[0] = '^';
	anchored[1] = '(';
	memcpy(anchored + 2, name, len);
	memcpy(anchored + 2 + len, ")$", 3);
	if (regcomp(re, anchored, REG_EXTENDED | REG_ICASE | REG_NOSUB))
		return fault(d, text, name, len, "expected a name or a regular expression");
	return 0;
}

static void trim(const char **at, size_t *len)
{
	while (*len && strchr(" \t\n", (*at)[0])) {
		(*at)++;
		(*len)--;
	}
	while (*len && strchr(" \t\n", (*at)[*len - 1]))
		(*len)--;
}

/* Events of one word "SYSTEM/EVENT", "SYSTEM" or "EVENT". */
static int choose_word(struct event_filter *f, struct filter *x, const char *word, size_t len,
		       const char *text, struct diag *d)
{
	const char *slash = memchr(word, '/', len), *name = slash ? slash + 1 : word;
	size_t name_len = slash ? (size_t)(word + len - name) : len, system_len = len - name_len;
	regex_t system_re, name_re;
	const char *system_word = word;
	bool found = false;
	if (slash) {
		system_len--;
		trim(&system_word, &system_len);
		int err = compile_name(system_word, system_len, &system_re, text, d);
		if (err)
			return err;
	}
	trim(&name, &name_len);
	int err = compile_name(name, name_len, &name_re, text, d);
	for (u32 i = 0; !err && i < f->env.nr_events; i++) {
		const char *system, *event;
		f->env.name_of(f->env.ctx, i, &system, &event);
		bool is_it = slash ? !regexec(&system_re, system, 0, NULL, 0) &&
					     !regexec(&name_re, event, 0, NULL, 0)
				   : !regexec(&name_re, system, 0, NULL, 0) ||
					     !regexec(&name_re, event, 0, NULL, 0);
		x->chosen[i] |= is_it;
		found |= is_it;
	}
	if (!err)
		regfree(&name_re);
	if (slash)
		regfree(&system_re);
	if (!err && !found) {
		err = fault(d, text, word, len, "no such event in the trace");
		diag_hint(d,
			  "a system (sched), an event (sched_switch) or both (sched/sched_switch); "
			  "sonde ftrace report -E lists what the file knows");
	}
	return err;
}

static int choose(struct event_filter *f, struct filter *x, const char *text, size_t len,
		  struct diag *d)
{
	for (const char *at = text, *end = text + len; at <= end;) {
		size_t word_len = strcspn(at, ",");
		if (word_len > (size_t)(end - at))
			word_len = (size_t)(end - at);
		const char *word = at;
		at += word_len + 1;
		trim(&word, &word_len);
		if (!word_len)
			return fault(d, text, word, 1, "expected an event name");
		int err = choose_word(f, x, word, word_len, text, d);
		if (err)
			return err;
	}
	return 0;
}

/* ---- fields ---- */

static struct bound bind_name(const struct filter *x, u32 ident, const struct schema *s)
{
	static const struct {
		const char *name;
		enum bound_kind kind;
	} own[] = { { "COMM", BOUND_COMM }, { "CPU", BOUND_CPU }, { "TIMESTAMP", BOUND_TIME } };
	const char *name = x->expr.idents.at[ident];
	for (unsigned i = 0; i < ARRAY_SIZE(own); i++)
		if (!strcmp(name, own[i].name))
			return (struct bound){ .kind = own[i].kind };
	const struct schema_field *field = s ? schema_find(s, name) : NULL;
	if (!field)
		return (struct bound){ 0 };
	enum bound_kind kind = field->flags & FIELD_STRING ? BOUND_STRING
			       : x->as_text[ident]	   ? BOUND_SYMBOL
							   : BOUND_NUMBER;
	return (struct bound){ .kind = kind, .field = field };
}

/*
 * A name that none of the events has: where it stands, and what is like it. Where another part of the expression can hold, this one
 * is false, as in filters that are written for kernels of all ages; a filter that nothing can pass is an error.
 */
static int unknown_field(struct event_filter *f, struct filter *x, const char *text, u32 start,
			 u32 ident, bool others, struct diag *d)
{
	const char *name = x->expr.idents.at[ident], *names[256];
	size_t nr = 0;
	if (!name)
		return -EINVAL;
	for (u32 i = 0; i < f->env.nr_events; i++) {
		const struct schema *s = x->chosen[i] ? f->env.schema_of(f->env.ctx, i) : NULL;
		for (u32 k = 0; s && k < s->nr_fields && nr < ARRAY_SIZE(names); k++)
			names[nr++] = s->fields[k].name;
	}
	const char *at = strstr(text + start, name);
	if (others)
		diag_warn(d, "none of these events has a field '%s': the comparison is false", name);
	else
		(void)diag_error(d, -EINVAL, "none of these events has a field '%s'", name);
	if (at)
		diag_span(d, text, (size_t)(at - text), strlen(name));
	const char *near = str_closest(name, names, nr);
	if (near)
		diag_hint(d, "did you mean '%s'?", near);
	else
		diag_hint(d, "'sonde ftrace report %s' shows the fields",
			  diag_option(d, DIAG_OPT_FORMATS));
	return others ? 0 : -EINVAL;
}

static int bind(struct event_filter *f, struct filter *x, const char *text, u32 start,
		struct diag *d)
{
	u32 nr = (u32)x->expr.idents.nr;
	bool *known = calloc(nr + 1, sizeof(*known));
	x->as_text = calloc(nr + 1, sizeof(*x->as_text));
	int err = known && x->as_text ? 0 : -ENOMEM;
	if (!err)
		expr_mark_text(&x->expr, x->as_text); /* of a pointer: the function it points to */
	for (u32 i = 0; !err && i < f->env.nr_events; i++) {
		if (!x->chosen[i])
			continue;
		x->bounds[i] = calloc(nr + 1, sizeof(struct bound));
		if (!x->bounds[i]) {
			err = -ENOMEM;
			break;
		}
		const struct schema *s = f->env.schema_of(f->env.ctx, i);
		for (u32 k = 0; k < nr; k++) {
			x->bounds[i][k] = bind_name(x, k, s);
			known[k] |= x->bounds[i][k].kind != BOUND_NONE;
		}
	}
	bool any = false;
	for (u32 k = 0; k < nr && known; k++)
		any |= known[k];
	for (u32 k = 0; !err && k < nr; k++)
		if (!known[k])
			err = unknown_field(f, x, text, start, k, any, d);
	free(known);
	return err;
}

int event_filter_add(struct event_filter *f, const char *text, bool out, struct diag *d)
{
	if (strlen(text) > TEXT_MAX)
		return diag_error(d, -E2BIG, "a filter of %zu characters: at most %d", strlen(text),
				  TEXT_MAX);
	const char *colon = strchr(text, ':');
	struct filter x = { .out = out, .all = !colon };
	if (colon && strspn(colon + 1, " \t\n") == strlen(colon + 1))
		return fault(d, text, colon, 1, "expected an expression after the colon");
	x.bounds = calloc(f->env.nr_events + 1, sizeof(*x.bounds));
	x.chosen = calloc(f->env.nr_events + 1, sizeof(*x.chosen));
	int err = x.bounds && x.chosen ? 0 : -ENOMEM;
	if (!err)
		err = choose(f, &x, text, colon ? (size_t)(colon - text) : strlen(text), d);
	if (!err && colon) {
		err = expr_parse(&x.expr, colon + 1, NULL, d);
		if (err)
			x.all = true; /* there is nothing to free */
		else
			err = bind(f, &x, text, (u32)(colon + 1 - text), d);
	} else {
		x.all = true;
	}
	struct filter *slot = err ? NULL : vec_push(&f->filters);
	if (!slot) {
		filter_done(&x, f->env.nr_events);
		return err ? err : -ENOMEM;
	}
	*slot = x;
	f->any_in |= !out;
	return 0;
}

/* ---- asking ---- */

struct asked {
	const struct event_filter *f;
	const struct bound *bounds;
	const struct sample *s;
	char strings[STRINGS][STRING_MAX];
	u32 nr_strings;
};

static int as_string(struct asked *a, const char *text, size_t len, struct expr_value *ret)
{
	char *to = a->strings[a->nr_strings++ % STRINGS];
	len = min(len, (size_t)STRING_MAX - 1);
	memcpy(to, text, len);
	to[len] = '\0';
	*ret = (struct expr_value){ .type = EXPR_STR, .s = to };
	return 0;
}

static int get(void *ctx, u32 ident, const char *name, struct expr_value *ret)
{
	struct asked *a = ctx;
	const struct bound *b = &a->bounds[ident];
	const struct sample *s = a->s;
	u64 v, offset;
	u32 len;
	const char *text;
	switch (b->kind) {
	case BOUND_NONE: return -ENOENT;
	case BOUND_CPU: *ret = expr_int(s->cpu); return 0;
	case BOUND_TIME: *ret = expr_int((s128)s->time_ns); return 0;
	case BOUND_COMM:
		text = a->f->env.comm_of(a->f->env.ctx, s);
		*ret = (struct expr_value){ .type = EXPR_STR, .s = text };
		return 0;
	case BOUND_STRING:
		text = schema_bytes(s->schema, b->field, s->raw, s->raw_size, &len);
		return text ? as_string(a, text, len, ret) : -ENOENT;
	case BOUND_SYMBOL:
		v = schema_u64(s->schema, b->field, s->raw, s->raw_size);
		text = a->f->env.symbol ? a->f->env.symbol(a->f->env.ctx, v, &offset) : NULL;
		return text ? as_string(a, text, strlen(text), ret) : -ENOENT;
	case BOUND_NUMBER:
		v = schema_u64(s->schema, b->field, s->raw, s->raw_size);
		*ret = expr_int(b->field->flags & FIELD_SIGNED ? (s128)(s64)v : (s128)v);
		return 0;
	}
	return -ENOENT;
}

static bool matches(const struct event_filter *f, const struct filter *x, const struct sample *s)
{
	if (s->event >= f->env.nr_events || !x->chosen[s->event])
		return false;
	if (x->all)
		return true;
	struct asked a;
	a.f = f;
	a.bounds = x->bounds[s->event];
	a.s = s;
	a.nr_strings = 0;
	return expr_holds(&x->expr, &(struct expr_env){ .get = get, .ctx = &a });
}

bool event_filter_keep(const struct event_filter *f, const struct sample *s)
{
	if (f->drop_flags && s->schema && s->schema->common_flags >= 0) {
		const struct schema_field *flags = &s->schema->fields[s->schema->common_flags];
		if (schema_u64(s->schema, flags, s->raw, s->raw_size) & f->drop_flags)
			return false;
	}
	bool wanted = !f->any_in;
	for (size_t i = 0; i < f->filters.nr && !wanted; i++)
		wanted = !f->filters.at[i].out && matches(f, &f->filters.at[i], s);
	for (size_t i = 0; i < f->filters.nr && wanted; i++)
		wanted = !f->filters.at[i].out || !matches(f, &f->filters.at[i], s);
	return wanted;
}

void event_filter_text(const struct event_filter *f, struct strbuf *to)
{
	vec_for_each (&f->filters, x) {
		for (u32 i = 0; i < f->env.nr_events; i++) {
			const char *system, *name;
			if (!x->chosen[i])
				continue;
			f->env.name_of(f->env.ctx, i, &system, &name);
			strbuf_printf(to, "%s%s/%s: %s", x->out ? "not " : "", system, name,
				      x->all ? "all" : x->expr.text);
			for (u32 k = 0; !x->all && k < x->expr.idents.nr; k++)
				if (x->bounds[i][k].kind == BOUND_NONE)
					strbuf_printf(to, " [it has no %s]", x->expr.idents.at[k]);
			strbuf_char(to, '\n');
		}
	}
}
