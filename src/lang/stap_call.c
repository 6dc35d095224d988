/*
 * Functions of SystemTap's library, a row each, and everything that prints.
 *
 * print() and its kin print a number or a text by its type, which is found here for all variables: a text is what a text was assigned to.
 * Texts that are built (joined with '.', sprintf(), $$parms) become part of the format that prints them; elsewhere they are refused.
 */
#include "lang/stap_impl.h"

#include "base/clock.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

enum stap_print {
	CALL_OF_SCRIPT,
	PRINT,
	PRINTLN,
	PRINTD,
	PRINTDLN,
	PRINTF,
	PRINT_ERROR,
	PRINT_WARNING,
};

enum row_kind {
	ROW_NUMBER, /* a built-in value that is a number */
	ROW_TEXT, /* one that is a text */
	ROW_CALL, /* a function of ours */
	ROW_NUMBER_CALL, /* whose result is unsigned */
	ROW_CLOCK, /* time of day in units of .number ns */
	ROW_PRINT, /* .number: enum stap_print */
	ROW_STACK, /* prints a stack */
	ROW_ARGUMENT, /* .number: 0: signed, 1: as it is; ours: the type */
	ROW_FUNCTION, /* name of the function or event */
	ROW_MADE, /* of its own */
};

struct stap_row {
	const char *name, *ours;
	enum row_kind kind;
	u8 min, max;
	u32 number;
	struct node *(*make)(struct stap *s, struct node *args, struct node *at);
};

static struct node *make_exit(struct stap *s, struct node *args, struct node *at)
{
	(void)args;
	if (s->function)
		return stap_call_of(s, "exit", NULL, at);
	/* The probe goes on to its end: end_body(). */
	s->wants_exit = true;
	return stap_assign(s, stap_var(s, "#exit", at), stap_int(s, 1, at));
}

static struct node *make_error(struct stap *s, struct node *args, struct node *at)
{
	struct node *block = stap_node(s, NODE_BLOCK, at);
	struct node *call = stap_call_of(s, "errorf", args, at);
	struct stap_call *c = call && block ? vec_push(&s->calls) : NULL;
	if (!c) {
		s->p.err = s->p.err ? s->p.err : -ENOMEM;
		return NULL;
	}
	*c = (struct stap_call){ call, PRINT_ERROR };
	stap_append(block, stap_statement_of(s, call));
	stap_append(block, stap_statement_of(s, stap_call_of(s, "exit", stap_int(s, 1, at), at)));
	return block;
}

/* Only of the time that it is now. */
static struct node *make_ctime(struct stap *s, struct node *args, struct node *at)
{
	bool now = !args || (args->kind == NODE_BINARY && args->a->kind == NODE_BINARY &&
			     args->a->b->kind == NODE_INT && args->b->number == NS_PER_SEC);
	if (!now) {
		stap_fail_at(s, args, -ENOTSUP, "ctime() is supported of gettimeofday_s() only");
		return NULL;
	}
	struct node *format = stap_string(s, "%a %b %e %H:%M:%S %Y", at);
	if (format)
		format->next = stap_name(s, "nsecs", at);
	return stap_call_of(s, "strftime", format, at);
}

static struct node *make_random(struct stap *s, struct node *args, struct node *at)
{
	return stap_binary(s, TOKEN_MOD, stap_cast(s, "int64", 0, stap_name(s, "rand", at)), args);
}

static struct node *keyed(struct stap *s, const char *name, const struct node *at)
{
	struct node *n = stap_node(s, NODE_MAP, at);
	if (!n)
		return NULL;
	n->text = name;
	n->map = parse_map_named(&s->p, name);
	n->list = stap_name(s, "tid", at);
	n->nr = 1;
	return n;
}

/* depth > 0 ? " " : "" and so on, up to 16 blanks. */
static struct node *blanks(struct stap *s, const char *depth, const struct node *at)
{
	static const char text[] = "                ";
	struct node *n = stap_string(s, text, at);
	for (u32 i = 15; i < 16 && n; i--) {
		struct node *choice = stap_node(s, NODE_TERNARY, at);
		if (!choice)
			return NULL;
		choice->a = stap_binary(s, TOKEN_LE, stap_var(s, depth, at), stap_int(s, i, at));
		choice->b = stap_string(s, text + 16 - i, at);
		choice->c = n;
		n = choice;
	}
	return n;
}

/*
 * sprintf("%6d %s(%d):%s", microseconds since the thread's first, name, thread, blanks): the level grows before the line that is
 * printed, and shrinks after it.
 */
static struct node *make_indent(struct stap *s, struct node *args, struct node *at)
{
	struct node *us = stap_node(s, NODE_BLOCK, at), *missing = stap_node(s, NODE_IF, at);
	struct node *call = stap_call_of(s, "sprintf", stap_string(s, "%6d %s(%d):%s", at), at);
	if (!us || !missing || !call)
		return NULL;
	missing->a = stap_node(s, NODE_UNARY, at);
	missing->b = stap_node(s, NODE_BLOCK, at);
	if (!missing->a || !missing->b)
		return NULL;
	missing->a->op = TOKEN_NOT;
	missing->a->a = stap_call_of(s, "has_key", keyed(s, "#indent_ns", at), at);
	stap_append(missing->b,
		    stap_assign(s, keyed(s, "#indent_ns", at), stap_name(s, "nsecs", at)));
	stap_append(us, missing);
	stap_append(us, stap_assign(s, stap_var(s, "#delta", at), args));
	struct node *moves = stap_assign(s, keyed(s, "#indent", at), stap_var(s, "#delta", at));
	if (moves)
		moves->op = TOKEN_ADD_ASSIGN;
	stap_append(us, moves);
	stap_append(us, stap_assign(s, stap_var(s, "#depth", at), keyed(s, "#indent", at)));
	struct node *shrinks = stap_node(s, NODE_IF, at);
	if (!shrinks)
		return NULL;
	shrinks->a = stap_binary(s, TOKEN_LT, stap_var(s, "#delta", at), stap_int(s, 0, at));
	shrinks->b = stap_node(s, NODE_BLOCK, at);
	stap_append(shrinks->b, stap_assign(s, stap_var(s, "#depth", at),
					    stap_binary(s, TOKEN_SUB, stap_var(s, "#depth", at),
							stap_var(s, "#delta", at))));
	stap_append(us, shrinks);
	struct node *value = stap_node(s, NODE_EXPR, at);
	if (!value)
		return NULL;
	value->a = stap_binary(
		s, TOKEN_DIV,
		stap_binary(s, TOKEN_SUB, stap_name(s, "nsecs", at), keyed(s, "#indent_ns", at)),
		stap_int(s, 1000, at));
	stap_append(us, value);
	struct node *list[] = { us, stap_name(s, "comm", at), stap_name(s, "tid", at),
				blanks(s, "#depth", at) };
	struct node *to = call->list;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		if (!list[i])
			return NULL;
		to->next = list[i];
		to = list[i];
		call->nr++;
	}
	return call;
}

static const struct stap_row rows[] = {
	{ "pid", "pid", ROW_NUMBER, 0, 0, 0, NULL },
	{ "tid", "tid", ROW_NUMBER, 0, 0, 0, NULL },
	{ "uid", "uid", ROW_NUMBER, 0, 0, 0, NULL },
	{ "gid", "gid", ROW_NUMBER, 0, 0, 0, NULL },
	{ "ppid", "ppid", ROW_NUMBER, 0, 0, 0, NULL },
	{ "cpu", "cpu", ROW_NUMBER, 0, 0, 0, NULL },
	{ "cpuid", "cpu", ROW_NUMBER, 0, 0, 0, NULL },
	{ "jiffies", "jiffies", ROW_NUMBER, 0, 0, 0, NULL },
	{ "ktime_get_ns", "nsecs", ROW_NUMBER, 0, 0, 0, NULL },
	{ "execname", "comm", ROW_TEXT, 0, 0, 0, NULL },
	{ "pexecname", "pcomm", ROW_TEXT, 0, 0, 0, NULL },
	{ "pp", "probe", ROW_TEXT, 0, 0, 0, NULL },
	{ "backtrace", "kstack", ROW_TEXT, 0, 0, 0, NULL },
	{ "ubacktrace", "ustack", ROW_TEXT, 0, 0, 0, NULL },
	{ "sprint_backtrace", "kstack", ROW_TEXT, 0, 0, 0, NULL },
	{ "sprint_ubacktrace", "ustack", ROW_TEXT, 0, 0, 0, NULL },
	{ "task_current", "curtask", ROW_TEXT, 0, 0, 0, NULL },
	{ "probefunc", "func", ROW_FUNCTION, 0, 0, 0, NULL },
	{ "ppfunc", "func", ROW_FUNCTION, 0, 0, 0, NULL },
	{ "kernel_string", "str", ROW_CALL, 1, 1, 0, NULL },
	{ "kernel_string_n", "str", ROW_CALL, 2, 2, 0, NULL },
	{ "user_string", "str", ROW_CALL, 1, 1, 0, NULL },
	{ "user_string_n", "str", ROW_CALL, 2, 2, 0, NULL },
	{ "symname", "ksym", ROW_CALL, 1, 1, 0, NULL },
	{ "usymname", "usym", ROW_CALL, 1, 1, 0, NULL },
	{ "isinstr", "strcontains", ROW_CALL, 2, 2, 0, NULL },
	{ "strlen", "strlen", ROW_NUMBER_CALL, 1, 1, 0, NULL },
	{ "gettimeofday_ns", "", ROW_CLOCK, 0, 0, 1, NULL },
	{ "gettimeofday_us", "", ROW_CLOCK, 0, 0, 1000, NULL },
	{ "gettimeofday_ms", "", ROW_CLOCK, 0, 0, 1000 * 1000, NULL },
	{ "gettimeofday_s", "", ROW_CLOCK, 0, 0, 1000 * 1000 * 1000, NULL },
	{ "print", "printf", ROW_PRINT, 1, 31, PRINT, NULL },
	{ "println", "printf", ROW_PRINT, 0, 31, PRINTLN, NULL },
	{ "printd", "printf", ROW_PRINT, 2, 31, PRINTD, NULL },
	{ "printdln", "printf", ROW_PRINT, 2, 31, PRINTDLN, NULL },
	{ "printf", "printf", ROW_PRINT, 1, 32, PRINTF, NULL },
	{ "log", "printf", ROW_PRINT, 1, 1, PRINTLN, NULL },
	{ "warn", "warnf", ROW_PRINT, 1, 1, PRINT_WARNING, NULL },
	{ "sprint", "sprint", ROW_CALL, 1, 31, 0, NULL },
	{ "sprintf", "sprintf", ROW_CALL, 1, 31, 0, NULL },
	{ "print_backtrace", "kstack", ROW_STACK, 0, 0, 0, NULL },
	{ "print_ubacktrace", "ustack", ROW_STACK, 0, 0, 0, NULL },
	{ "print_stack", "", ROW_STACK, 1, 1, 0, NULL },
	{ "print_syms", "", ROW_STACK, 1, 1, 0, NULL },
	{ "print_usyms", "", ROW_STACK, 1, 1, 0, NULL },
	{ "int_arg", "int32", ROW_ARGUMENT, 1, 1, 0, NULL },
	{ "uint_arg", "uint32", ROW_ARGUMENT, 1, 1, 0, NULL },
	{ "long_arg", "int64", ROW_ARGUMENT, 1, 1, 0, NULL },
	{ "ulong_arg", "uint64", ROW_ARGUMENT, 1, 1, 0, NULL },
	{ "pointer_arg", "", ROW_ARGUMENT, 1, 1, 0, NULL },
	{ "exit", "", ROW_MADE, 0, 0, 0, make_exit },
	{ "error", "", ROW_MADE, 1, 1, 0, make_error },
	{ "ctime", "", ROW_MADE, 0, 1, 0, make_ctime },
	{ "randint", "", ROW_MADE, 1, 1, 0, make_random },
	{ "thread_indent", "", ROW_MADE, 1, 1, 0, make_indent },
};

static const struct stap_row *find_row(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static struct node *read_args(struct stap *s, u32 *nr)
{
	struct node *first = NULL, **at = &first;
	*nr = 0;
	parse_next(&s->p);
	while (!s->p.err && s->p.t.kind != TOKEN_RPAREN) {
		*at = stap_number(s, stap_expr(s));
		if (!*at)
			return NULL;
		at = &(*at)->next;
		++*nr;
		if (!parse_take(&s->p, TOKEN_COMMA))
			break;
	}
	parse_expect(&s->p, TOKEN_RPAREN, "')'");
	return first;
}

/* What runs from boot, and what the time of day was then. */
static struct node *time_of_day(struct stap *s, u32 unit, struct node *at)
{
	struct timespec real, boot;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	s64 offset = (real.tv_sec - boot.tv_sec) * (s64)NS_PER_SEC + real.tv_nsec - boot.tv_nsec;
	if (s->p.in->time_ns)
		offset = (s64)s->p.in->time_ns;
	struct node *now = stap_call_of(s, "nsecs", stap_name(s, "boot", at), at);
	struct node *sum =
		stap_binary(s, TOKEN_ADD, stap_cast(s, "int64", 0, now), stap_int(s, offset, at));
	return unit == 1 ? sum : stap_binary(s, TOKEN_DIV, sum, stap_int(s, unit, at));
}

/* print(@hist_log(x)): the whole of it. */
static bool is_histogram(const struct node *n)
{
	const char *dot = n && n->kind == NODE_MAP && !n->is_unsigned ? strchr(n->text, '.') : NULL;
	return n && n->kind == NODE_MAP && !n->is_unsigned && (!dot || !strcmp(dot, ".lin"));
}

static struct node *print_call(struct stap *s, const struct stap_row *r, struct node *args,
			       struct node *at)
{
	if (args && !args->next && is_histogram(args))
		return stap_call_of(s, "print", args, at);
	struct node *n = stap_call_of(s, r->ours, args, at);
	struct stap_call *c = n ? vec_push(&s->calls) : NULL;
	if (n && !c)
		s->p.err = -ENOMEM;
	if (!c)
		return NULL;
	*c = (struct stap_call){ n, (u8)r->number };
	if (r->number == PRINTF && args->kind != NODE_STRING) {
		stap_fail_at(s, args, -EINVAL, "the format has to be a string");
		return NULL;
	}
	return n;
}

static struct node *argument(struct stap *s, const struct stap_row *r, struct node *args,
			     struct node *at)
{
	static const char *const names[] = { "arg0", "arg1", "arg2", "arg3", "arg4", "arg5" };
	if (args->kind != NODE_INT || args->number < 1 || args->number > (s64)ARRAY_SIZE(names)) {
		stap_fail_at(s, args, -EINVAL, "expected a constant from 1 to %zu",
			     ARRAY_SIZE(names));
		return NULL;
	}
	struct node *n = stap_name(s, names[args->number - 1], at);
	return *r->ours ? stap_cast(s, "int64", 0, stap_cast(s, r->ours, 0, n)) : n;
}

static struct node *row_call(struct stap *s, const struct stap_row *r, struct node *args,
			     struct node *at)
{
	switch (r->kind) {
	case ROW_NUMBER: return stap_cast(s, "int64", 0, stap_name(s, r->ours, at));
	case ROW_TEXT: return stap_name(s, r->ours, at);
	case ROW_CALL: return stap_call_of(s, r->ours, args, at);
	case ROW_NUMBER_CALL: return stap_cast(s, "int64", 0, stap_call_of(s, r->ours, args, at));
	case ROW_CLOCK: return time_of_day(s, r->number, at);
	case ROW_PRINT: return print_call(s, r, args, at);
	case ROW_STACK:
		return stap_call_of(s, "print", args ? args : stap_name(s, r->ours, at), at);
	case ROW_ARGUMENT: return argument(s, r, args, at);
	case ROW_FUNCTION:
		if (s->at.provider == PROGRAM_TRACEPOINT ||
		    s->at.provider == PROGRAM_RAW_TRACEPOINT) {
			s->wants_event |= s->at.is_glob;
			return stap_string(s, s->at.name, at);
		}
		return stap_name(s, r->ours, at);
	case ROW_MADE: return r->make(s, args, at);
	}
	return NULL;
}

struct node *stap_call(struct stap *s, const char *name, struct node *at)
{
	const struct stap_row *r = find_row(name);
	u32 nr;
	struct node *args = read_args(s, &nr);
	if (s->p.err || !parse_end(&s->p, at))
		return NULL;
	if (r && (nr < r->min || nr > r->max)) {
		stap_fail_at(s, at, -EINVAL, "%s() takes %u to %u arguments, not %u", name, r->min,
			     r->max, nr);
		return NULL;
	}
	if (r)
		return row_call(s, r, args, at);
	if (s->function && !strcmp(s->function->name, name)) {
		stap_fail_at(s, at, -ENOTSUP, "%s() calls itself, which is not supported", name);
		return NULL;
	}
	struct node *n = stap_call_of(s, name, args, at);
	struct stap_call *c = n ? vec_push(&s->calls) : NULL;
	if (n && !c)
		s->p.err = -ENOMEM;
	if (c)
		*c = (struct stap_call){ n, CALL_OF_SCRIPT };
	return c ? n : NULL;
}

/* ---- types ---- */

static struct stap_symbol *find_function(const struct stap *s, const char *name)
{
	for (struct stap_symbol *y = s->symbols; y; y = y->next)
		if (y->is_function && !strcmp(y->name, name))
			return y;
	return NULL;
}

static bool one_of(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

static bool is_built(const struct node *n)
{
	static const char *const names[] = { ".", "sprintf", "sprint", NULL };
	return n->kind == NODE_CALL && one_of(names, n->text);
}

bool stap_is_string(const struct stap *s, const struct node *n)
{
	static const char *const calls[] = { "str", "ksym", "usym", "strftime", NULL };
	static const char *const names[] = { "comm",   "pcomm",	 "func", "probe",
					     "kstack", "ustack", NULL };
	const struct stap_symbol *y;
	switch (n->kind) {
	case NODE_STRING: return true;
	case NODE_IDENT: return one_of(names, n->text);
	case NODE_CALL:
		y = find_function(s, n->text);
		return is_built(n) || one_of(calls, n->text) || (y && y->is_string);
	case NODE_TERNARY: return stap_is_string(s, n->b) || stap_is_string(s, n->c);
	case NODE_VAR:
		y = stap_find((struct stap *)s, n->text, (u32)n->number);
		return y && y->is_string;
	case NODE_MAP:
		y = stap_find((struct stap *)s, n->text, STAP_GLOBAL);
		if (y && n->number > 0 && n->number <= STAP_KEYS_MAX)
			return y->key_is_string[n->number - 1];
		return y && y->is_string;
	default: return false;
	}
}

static void check_calls(struct stap *s)
{
	vec_for_each (&s->calls, c) {
		if (c->kind != CALL_OF_SCRIPT || s->p.err)
			continue;
		const struct stap_symbol *f = find_function(s, c->node->text);
		if (!f) {
			const char *names[ARRAY_SIZE(rows)];
			for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
				names[i] = rows[i].name;
			const char *close = str_closest(c->node->text, names, ARRAY_SIZE(names));
			stap_fail_at(s, c->node, -ENOTSUP, "unknown function '%s'", c->node->text);
			if (close)
				diag_hint(s->p.diag, "did you mean '%s'?", close);
			return;
		}
		if (f->nr_params != c->node->nr) {
			stap_fail_at(s, c->node, -EINVAL, "%s() takes %u arguments, not %u",
				     f->name, f->nr_params, c->node->nr);
			return;
		}
		struct stap_symbol *p = f->params;
		for (struct node *a = c->node->list; a && p; a = a->next, p = p->next_param)
			stap_note(s, p, -1, a);
	}
}

static void find_types(struct stap *s)
{
	bool changed = !s->p.err;
	while (changed) {
		changed = false;
		vec_for_each (&s->facts, f) {
			bool *to = f->key < 0		    ? &f->symbol->is_string
				   : f->key < STAP_KEYS_MAX ? &f->symbol->key_is_string[f->key]
							    : NULL;
			if (!to || *to || !stap_is_string(s, f->value))
				continue;
			*to = true;
			changed = true;
		}
	}
}

/* ---- printing ---- */

struct stap_writer {
	struct stap *s;
	struct strbuf format;
	struct node *first, **at;
	u32 nr;
};

static void write_text(struct stap_writer *w, const char *text)
{
	for (; *text; text++) {
		if (*text == '%')
			strbuf_char(&w->format, '%');
		strbuf_char(&w->format, *text);
	}
}

static void write_value(struct stap_writer *w, const char *conversion, struct node *n)
{
	strbuf_str(&w->format, conversion);
	n->next = NULL;
	*w->at = n;
	w->at = &n->next;
	w->nr++;
}

static void write_format(struct stap_writer *w, const struct node *format, struct node *args);

/* One value by its type; texts that are built are taken apart. */
static void write_plain(struct stap_writer *w, struct node *n)
{
	struct node *next;
	if (n->kind == NODE_STRING) {
		write_text(w, n->text);
	} else if (!is_built(n)) {
		write_value(w, stap_is_string(w->s, n) ? "%s" : "%d", n);
	} else if (!strcmp(n->text, "sprintf")) {
		write_format(w, n->list, n->list->next);
	} else {
		for (struct node *e = n->list; e; e = next) {
			next = e->next;
			write_plain(w, e);
		}
	}
}

/* The conversion that begins at '%': its length; 0: it ends early. */
static size_t conversion_length(const char *c)
{
	size_t i = 1;
	while (c[i] && strchr("-+ #0123456789.hlL", c[i]))
		i++;
	return c[i] ? i + 1 : 0;
}

static void write_format(struct stap_writer *w, const struct node *format, struct node *args)
{
	char conversion[32];
	if (format->kind != NODE_STRING) {
		stap_fail_at(w->s, format, -EINVAL, "the format has to be a string");
		return;
	}
	for (const char *c = format->text; *c && !w->s->p.err;) {
		if (*c != '%' || c[1] == '%') {
			size_t len = *c == '%' ? 2 : 1;
			strbuf_add(&w->format, c, len);
			c += len;
			continue;
		}
		size_t len = conversion_length(c);
		if (!len || len >= sizeof(conversion) || !strchr("diuxXocpsn", c[len - 1]) ||
		    c[len - 1] == 'n') {
			stap_fail_at(w->s, format, -ENOTSUP,
				     "the conversion '%.*s' is not supported",
				     (int)(len ? len : strlen(c)), c);
			return;
		}
		if (!args) {
			stap_fail_at(w->s, format, -EINVAL,
				     "the format has more conversions than arguments");
			return;
		}
		memcpy(conversion, c, len);
		conversion[len] = 0;
		struct node *next = args->next;
		if (!is_built(args))
			write_value(w, conversion, args);
		else if (len == 2 && conversion[1] == 's')
			write_plain(w, args);
		else
			stap_fail_at(w->s, args, -ENOTSUP,
				     "a text that is built here can be printed with %%s only");
		args = next;
		c += len;
	}
	if (args)
		stap_fail_at(w->s, args, -EINVAL, "the format has fewer conversions than arguments");
}

static void write_call(struct stap_writer *w, struct stap_call *c)
{
	struct node *args = c->node->list, *delimiter = NULL, *next;
	bool line = c->kind == PRINTLN || c->kind == PRINTDLN;
	if (c->kind == PRINTF) {
		write_format(w, args, args->next);
		return;
	}
	if (c->kind == PRINTD || c->kind == PRINTDLN) {
		delimiter = args;
		args = args->next;
		if (delimiter->kind != NODE_STRING) {
			stap_fail_at(w->s, delimiter, -EINVAL, "the delimiter has to be a string");
			return;
		}
	}
	for (struct node *a = args; a; a = next) {
		next = a->next;
		write_plain(w, a);
		if (next && delimiter)
			write_text(w, delimiter->text);
	}
	if (line || c->kind == PRINT_WARNING || c->kind == PRINT_ERROR)
		strbuf_char(&w->format, '\n');
}

static void finish_print(struct stap *s, struct stap_call *c)
{
	struct stap_writer w = { .s = s, .nr = 1 };
	w.at = &w.first;
	strbuf_init(&w.format);
	write_call(&w, c);
	struct node *format = s->p.err ? NULL : stap_string(s, strbuf_cstr(&w.format), c->node);
	if (w.format.err)
		s->p.err = -ENOMEM;
	strbuf_done(&w.format);
	if (!format)
		return;
	format->next = w.first;
	c->node->list = format;
	c->node->nr = w.nr;
}

/* Texts that are built and not printed where they are. */
static void refuse_built(struct stap *s, const struct node *n)
{
	if (!n || s->p.err)
		return;
	if (is_built(n)) {
		stap_fail_at(s, n, -ENOTSUP, "a text can be built only where it is printed");
		return;
	}
	for (const struct node *e = n->list; e; e = e->next)
		refuse_built(s, e);
	refuse_built(s, n->a);
	refuse_built(s, n->b);
	refuse_built(s, n->c);
}

void stap_finish_calls(struct stap *s)
{
	check_calls(s);
	find_types(s);
	vec_for_each (&s->calls, c)
		if (c->kind != CALL_OF_SCRIPT && !s->p.err)
			finish_print(s, c);
	for (struct probe_block *b = s->p.script->blocks; b; b = b->next)
		refuse_built(s, b->body);
	for (struct macro *m = s->p.script->macros; m; m = m->next)
		refuse_built(s, m->body);
}
