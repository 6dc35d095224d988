#include "event/filter.h"

#include "event/closest.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct filter_checker {
	const char *format; /* the event's format file */
	const char *event;
	const char *text;
	u32 at;
	int depth;
	struct filter_fault *fault;
};

static int fault(struct filter_checker *c, int err, u32 start, u32 len, const char *message)
{
	c->fault->at = (struct event_span){ .start = start, .len = len ? len : 1 };
	(void)snprintf(c->fault->message, sizeof(c->fault->message), "%s", message);
	return err;
}

/* Calls fn with each field's name: the last word before ';' or '['. */
static bool each_field(const char *format, bool (*fn)(void *ctx, const char *name, size_t len),
		       void *ctx)
{
	for (const char *at = format; (at = strstr(at, "field:"));) {
		size_t len = strcspn(at, ";\n"), end = len;
		const char *bracket = memchr(at, '[', len);
		/* "__data_loc char[] name" has its bracket in the type. */
		if (bracket && bracket[1] != ']')
			end = (size_t)(bracket - at);
		size_t start = end;
		while (start && (isalnum((unsigned char)at[start - 1]) || at[start - 1] == '_'))
			start--;
		if (fn(ctx, at + start, end - start))
			return true;
		at += len;
	}
	return false;
}

struct wanted_field {
	const char *name;
	size_t len;
	struct closest closest;
	char best[64];
};

static bool is_wanted(void *ctx, const char *name, size_t len)
{
	struct wanted_field *w = ctx;
	char buf[64];
	if (len == w->len && !strncmp(name, w->name, len))
		return true;
	if (len < sizeof(buf)) {
		memcpy(buf, name, len);
		buf[len] = '\0';
		if (closest_offer(&w->closest, buf)) {
			memcpy(w->best, buf, len + 1);
			w->closest.best = w->best;
		}
	}
	return false;
}

static int check_field(struct filter_checker *c, u32 start, u32 len)
{
	/* The kernel's own, without an entry in any format. */
	static const char *const generic[] = { "cpu",  "CPU",	     "comm",
					       "COMM", "stacktrace", "STACKTRACE" };
	struct wanted_field w = { .name = c->text + start, .len = len };
	for (size_t i = 0; i < ARRAY_SIZE(generic); i++)
		if (strlen(generic[i]) == len && !strncmp(generic[i], w.name, len))
			return 0;
	closest_init(&w.closest, w.name, len);
	if (each_field(c->format, is_wanted, &w))
		return 0;
	char message[160];
	(void)snprintf(message, sizeof(message), "%s has no field '%.*s'", c->event,
		       (int)min(len, 60u), w.name);
	(void)snprintf(c->fault->meant, sizeof(c->fault->meant), "%s", w.closest.best ? w.best : "");
	return fault(c, -ENOENT, start, len, message);
}

static void blanks(struct filter_checker *c)
{
	while (isspace((unsigned char)c->text[c->at]))
		c->at++;
}

static int take_value(struct filter_checker *c)
{
	blanks(c);
	char q = c->text[c->at];
	u32 start = c->at;
	if (q == '"' || q == '\'') {
		for (c->at++; c->text[c->at] && c->text[c->at] != q; c->at++)
			;
		if (!c->text[c->at])
			return fault(c, -EINVAL, start, c->at - start, "missing closing quote");
		c->at++;
		return 0;
	}
	while (c->text[c->at] && !isspace((unsigned char)c->text[c->at]) &&
	       !strchr("()&|", c->text[c->at]))
		c->at++;
	return c->at > start ? 0 : fault(c, -EINVAL, start, 1, "expected a value");
}

/* FIELD[.ustring|.function] OP VALUE */
static int take_comparison(struct filter_checker *c)
{
	static const char *const ops[] = { "==", "!=", "<=", ">=", "<", ">", "&", "~" };
	u32 start = c->at;
	while (isalnum((unsigned char)c->text[c->at]) || c->text[c->at] == '_')
		c->at++;
	if (c->at == start)
		return fault(c, -EINVAL, start, 1,
			     c->text[start] ? "expected a field name" : "expected a comparison");
	int err = check_field(c, start, c->at - start);
	if (err < 0)
		return err;
	if (c->text[c->at] == '.')
		while (isalpha((unsigned char)c->text[++c->at]))
			;
	blanks(c);
	if (!strncmp(c->text + c->at, "CPUS{", 5))
		return take_value(c);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		size_t len = strlen(ops[i]);
		if (strncmp(c->text + c->at, ops[i], len) || (i == 6 && c->text[c->at + 1] == '&'))
			continue;
		c->at += (u32)len;
		return take_value(c);
	}
	bool single = c->text[c->at] == '=';
	return fault(c, -EINVAL, c->at, 1,
		     single ? "use '==' to test for equality"
			    : "expected an operator (== != < <= > >= & ~)");
}

static int take_all(struct filter_checker *c)
{
	for (;;) {
		blanks(c);
		if (c->text[c->at] == '!' || c->text[c->at] == '(') {
			c->depth += c->text[c->at++] == '(';
			continue;
		}
		int err = take_comparison(c);
		if (err < 0)
			return err;
		blanks(c);
		for (; c->text[c->at] == ')'; blanks(c)) {
			if (--c->depth < 0)
				return fault(c, -EINVAL, c->at, 1, "unmatched closing parenthesis");
			c->at++;
		}
		if (!c->text[c->at])
			return c->depth ? fault(c, -EINVAL, c->at ? c->at - 1 : 0, 1,
						"missing closing parenthesis")
					: 0;
		if (strncmp(c->text + c->at, "&&", 2) && strncmp(c->text + c->at, "||", 2))
			return fault(c, -EINVAL, c->at, 1, "expected && or ||");
		c->at += 2;
	}
}

int filter_check(const struct tracing *t, const char *system, const char *event, const char *filter,
		 struct filter_fault *ret)
{
	char path[PATH_MAX], full[256];
	if (snprintf(path, sizeof(path), "events/%s/%s/format", system, event) >= (int)sizeof(path))
		return 0;
	(void)snprintf(full, sizeof(full), "%s:%s", system, event);
	struct strbuf s;
	strbuf_init(&s);
	*ret = (struct filter_fault){ 0 };
	int err = tracing_read(t, path, &s);
	if (err == 0 && s.len) {
		struct filter_checker c = {
			.format = strbuf_cstr(&s), .event = full, .text = filter, .fault = ret
		};
		err = s.err ? s.err : take_all(&c);
	} else if (err != -ENOMEM) {
		err = 0;
	}
	strbuf_done(&s);
	return err;
}
