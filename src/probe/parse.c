/*
 * What a person writes about a probe, as perf probe takes it:
 *
 *	probe := [[GROUP:]EVENT=] point { arg }  |  [%]sdt_PROVIDER:NAME { arg }  |  t:TRACEPOINT { arg }  |  a line of the kernel's language
 *	point := FUNC [@SRC] [":" LINE | "+" OFFSET | "%return" | ";" PATTERN]  |  SRC ":" LINE  |  SRC ";" PATTERN  |  0xADDRESS
 *	arg   := [NAME "="] value [":" TYPE] ["@user"]
 *	value := VAR { "->" MEMBER | "." MEMBER | "[" N "]" }  |  $retval { ... }  |  $params  $locals  $vars  $arg*  |  the kernel's words
 *
 * A backslash takes the meaning from a character that has one ("malloc\@GLIBC_2.2.5"); C++ names keep their "::".
 */
#include "probe/probe.h"

#include "base/glob.h"
#include "base/num.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

struct parser {
	const char *text;
	struct arena *arena;
	struct probe_request *r;
	struct diag *d;
};

static struct probe_span span(const struct parser *p, const char *at, size_t len)
{
	return (struct probe_span){ .start = (u32)(at - p->text), .len = (u32)len };
}

static int bad(const struct parser *p, const char *at, size_t len, const char *fmt, ...)
	printf_like(4, 5);
static int bad(const struct parser *p, const char *at, size_t len, const char *fmt, ...)
{
	struct strbuf s;
	va_list ap;
	strbuf_init(&s);
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	(void)diag_error(p->d, -EINVAL, "%s", strbuf_cstr(&s));
	diag_span(p->d, p->text, (size_t)(at - p->text), max(len, (size_t)1));
	strbuf_done(&s);
	return -EINVAL;
}

/* Without backslashes. */
static const char *plain(const struct parser *p, const char *at, size_t len)
{
	char *to = arena_strndup(p->arena, at, len);
	size_t n = 0;
	for (size_t i = 0; to && i < len; i++) {
		if (to[i] == '\\' && i + 1 < len)
			i++;
		to[n++] = to[i];
	}
	if (to)
		to[n] = 0;
	return to;
}

/* The first character of `stops` in [at, at + len) that is itself: not after a backslash, and no part of "::". */
static size_t find_stop(const char *at, size_t len, const char *stops)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] == '\\')
			i++;
		else if (at[i] == ':' && i + 1 < len && at[i + 1] == ':')
			i++;
		else if (strchr(stops, at[i]))
			return i;
	}
	return len;
}

static bool is_word(const char *at, size_t len)
{
	bool good = len && !isdigit((unsigned char)*at);
	for (size_t i = 0; i < len; i++)
		good = good && (isalnum((unsigned char)at[i]) || at[i] == '_');
	return good;
}

/* ---- the point ------------------------------------------------------------------------------------------------------------- */

static int parse_u64(const struct parser *p, const char *at, size_t len, const char *what, u64 *ret)
{
	char digits[24];
	if (!len || len >= sizeof(digits) || !isdigit((unsigned char)*at))
		return bad(p, at, len, "expected %s", what);
	memcpy(digits, at, len);
	digits[len] = 0;
	return num_parse_u64(digits, 0, ret) ? bad(p, at, len, "expected %s", what) : 0;
}

static int set_name(const struct parser *p, const char *at, size_t len)
{
	struct probe_request *r = p->r;
	size_t colon = find_stop(at, len, ":/");
	const char *event = colon < len ? at + colon + 1 : at;
	size_t event_len = colon < len ? len - colon - 1 : len;
	if (!is_word(event, event_len) || (colon < len && !is_word(at, colon)))
		return bad(p, at, len, "invalid name '%.*s': letters, digits and _ only", (int)len,
			   at);
	if (colon < len && !(r->group = plain(p, at, colon)))
		return -ENOMEM;
	r->event = plain(p, event, event_len);
	return r->event ? 0 : -ENOMEM;
}

/* What follows the function or the file: each part begins with its own character. */
static int parse_parts(const struct parser *p, const char *at, size_t len)
{
	struct probe_request *r = p->r;
	const char *start = at;
	size_t all = len;
	while (len) {
		char c = *at++;
		len--;
		size_t n = c == ';' ? len : find_stop(at, len, ";:+@%");
		u64 line;
		int err = 0;
		if (c == ':') {
			err = r->has_line ? bad(p, at, n, "there is a line number already")
					  : parse_u64(p, at, n, "a line number", &line);
			if (!err && line > UINT32_MAX)
				err = bad(p, at, n, "expected a line number");
			r->line = err ? 0 : (u32)line;
			r->has_line = true;
		} else if (c == '+') {
			err = parse_u64(p, at, n, "an offset", &r->offset);
			r->has_offset = true;
		} else if (c == '%') {
			if (n != 6 || strncmp(at, "return", 6))
				err = bad(p, at, n, "expected %%return");
			r->is_return = true;
		} else if (c == '@') {
			r->file = r->file ? NULL : plain(p, at, n);
			r->file_span = span(p, at, n);
			err = !r->file || !n ? bad(p, at, n, "expected one source file") : 0;
		} else {
			r->pattern = plain(p, at, n);
			err = !n ? bad(p, at, n, "expected a pattern of a line") : 0;
		}
		if (err)
			return err;
		at += n;
		len -= n;
	}
	r->place_span = span(p, start, all);
	if (r->has_line + r->has_offset + (r->pattern != NULL) > 1)
		return bad(p, start, all, "a line, an offset or a pattern: not more than one");
	if (r->is_return && (r->has_line || r->pattern || (r->has_offset && r->offset)))
		return bad(p, start, all, "%%return is about the whole function");
	return 0;
}

/* A source file has a dot before the first ':' or ';', and neither '+', '@' nor '%' anywhere. */
static bool is_source(const char *at, size_t len)
{
	size_t stop = find_stop(at, len, ";:");
	return stop < len && find_stop(at, stop, "+@%") == stop && memchr(at, '.', stop) &&
	       (at[stop] == ';' || isdigit((unsigned char)at[stop + 1]));
}

static int parse_point(const struct parser *p, const char *at, size_t len)
{
	struct probe_request *r = p->r;
	if (len > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		r->form = PROBE_ADDRESS;
		size_t n = find_stop(at, len, "%");
		int err = parse_u64(p, at, n, "an address", &r->offset);
		return err ? err : parse_parts(p, at + n, len - n);
	}
	bool source = is_source(at, len);
	size_t n = find_stop(at, len, source ? ";:" : ";:+@%");
	const char *name = plain(p, at, n);
	if (!name)
		return -ENOMEM;
	if (!n)
		return bad(p, at, len, "expected a function or a source file");
	if (source) {
		r->form = PROBE_SOURCE;
		r->file = name;
		r->file_span = span(p, at, n);
	} else {
		r->form = PROBE_FUNCTION;
		r->function = name;
		r->function_span = span(p, at, n);
		r->is_glob = glob_is_pattern(name);
	}
	return parse_parts(p, at + n, len - n);
}

/* "%sdt_PROVIDER:NAME", "sdt_PROVIDER:NAME", "%PROVIDER:NAME" */
static int parse_usdt(const struct parser *p, const char *at, size_t len)
{
	struct probe_request *r = p->r;
	if (*at == '%') {
		at++;
		len--;
	}
	size_t colon = find_stop(at, len, ":");
	if (colon == len || !colon || colon + 1 == len)
		return bad(p, at, len, "expected %%sdt_PROVIDER:NAME");
	r->form = PROBE_USDT;
	r->provider = plain(p, at, colon);
	r->name = plain(p, at + colon + 1, len - colon - 1);
	r->is_glob = r->provider && r->name &&
		     (glob_is_pattern(r->provider) || glob_is_pattern(r->name));
	return r->provider && r->name ? 0 : -ENOMEM;
}

/* ---- arguments ------------------------------------------------------------------------------------------------------------- */

static int parse_steps(const struct parser *p, const char *at, size_t len, struct probe_arg *a)
{
	VEC(struct probe_step) steps = { 0 };
	int err = 0;
	while (len && !err) {
		struct probe_step *s = vec_push(&steps);
		size_t n;
		if (!s) {
			err = -ENOMEM;
			break;
		}
		if (*at == '[') {
			const char *close = memchr(at, ']', len);
			n = close ? (size_t)(close - at) + 1 : len;
			err = close ? parse_u64(p, at + 1, n - 2, "a number as index", &s->index)
				    : bad(p, at, len, "the bracket is not closed");
		} else {
			s->arrow = *at == '-';
			size_t head = s->arrow ? 2 : 1;
			n = head;
			while (n < len && (isalnum((unsigned char)at[n]) || at[n] == '_'))
				n++;
			if (len < head || (s->arrow && at[1] != '>') ||
			    !is_word(at + head, n - head))
				err = bad(p, at, len, "expected ->MEMBER, .MEMBER or [NUMBER]");
			else if (!(s->member = plain(p, at + head, n - head)))
				err = -ENOMEM;
		}
		s->span = span(p, at, n);
		at += n;
		len -= n;
	}
	struct probe_step *copy = arena_array(p->arena, steps.nr + 1, sizeof(*copy));
	if (!err && !copy)
		err = -ENOMEM;
	if (!err) {
		memcpy(copy, steps.at ? steps.at : copy, steps.nr * sizeof(*copy));
		a->steps = copy;
		a->nr_steps = (u32)steps.nr;
	}
	vec_free(&steps);
	return err;
}

/* Where the type begins: at the last colon outside of quotes. */
static size_t type_at(const char *at, size_t len)
{
	bool quoted = false;
	size_t found = len;
	for (size_t i = 0; i < len; i++) {
		quoted ^= at[i] == '"';
		if (at[i] == ':' && !quoted)
			found = i;
	}
	return found;
}

static int parse_value(const struct parser *p, const char *at, size_t len, struct probe_arg *a)
{
	static const struct {
		const char *word;
		enum probe_value value;
	} words[] = { { "$params", PROBE_VALUE_PARAMS },
		      { "$arg*", PROBE_VALUE_PARAMS },
		      { "$locals", PROBE_VALUE_LOCALS },
		      { "$vars", PROBE_VALUE_VARS } };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == len && !strncmp(words[i].word, at, len)) {
			a->value = words[i].value;
			a->text = words[i].word;
			return 0;
		}
	size_t n = *at == '$' ? 1 : 0;
	while (n < len && (isalnum((unsigned char)at[n]) || at[n] == '_'))
		n++;
	bool retval = n == 7 && !strncmp(at, "$retval", 7);
	bool name = is_word(at, n);
	a->value = retval ? PROBE_VALUE_RETVAL : name ? PROBE_VALUE_NAME : PROBE_VALUE_FETCH;
	a->text = arena_strndup(p->arena, at, a->value == PROBE_VALUE_FETCH ? len : n);
	if (!a->text)
		return -ENOMEM;
	return a->value == PROBE_VALUE_FETCH ? 0 : parse_steps(p, at + n, len - n, a);
}

static int parse_arg(const struct parser *p, const char *at, size_t len, struct probe_arg *a)
{
	static const char user[] = "@user";
	*a = (struct probe_arg){ .span = span(p, at, len) };
	size_t equals = 0;
	while (equals < len && (isalnum((unsigned char)at[equals]) || at[equals] == '_'))
		equals++;
	if (equals && equals < len && at[equals] == '=') {
		if (!is_word(at, equals))
			return bad(p, at, equals, "invalid argument name '%.*s'", (int)equals, at);
		a->name = plain(p, at, equals);
		if (!a->name)
			return -ENOMEM;
		at += equals + 1;
		len -= equals + 1;
	}
	if (len > strlen(user) && !strncmp(at + len - strlen(user), user, strlen(user))) {
		a->user = true;
		len -= strlen(user);
	}
	size_t type = type_at(at, len);
	if (type < len) {
		a->type = plain(p, at + type + 1, len - type - 1);
		if (!a->type)
			return -ENOMEM;
		if (!*a->type)
			return bad(p, at + type, 1, "a colon without a type after it");
		len = type;
	}
	return len ? parse_value(p, at, len, a)
		   : bad(p, at, 1, "expected a variable, a register or a value");
}

/* Words end at blanks; quotes keep them together. */
static size_t word_end(const char *at)
{
	char quote = 0;
	size_t n = 0;
	for (; at[n] && (quote || !isspace((unsigned char)at[n])); n++) {
		if (quote && at[n] == quote)
			quote = 0;
		else if (!quote && (at[n] == '"' || at[n] == '\''))
			quote = at[n];
	}
	return n;
}

static int parse_args(const struct parser *p, const char *at)
{
	VEC(struct probe_arg) args = { 0 };
	int err = 0;
	for (at += strspn(at, " \t\n"); *at && !err; at += strspn(at, " \t\n")) {
		size_t n = word_end(at);
		struct probe_arg *a = vec_push(&args);
		err = a ? parse_arg(p, at, n, a) : -ENOMEM;
		at += n;
	}
	struct probe_arg *copy = arena_array(p->arena, args.nr + 1, sizeof(*copy));
	if (!err && !copy)
		err = -ENOMEM;
	if (!err) {
		memcpy(copy, args.at ? args.at : copy, args.nr * sizeof(*copy));
		p->r->args = copy;
		p->r->nr_args = (u32)args.nr;
	}
	vec_free(&args);
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------- */

/* "p:GROUP/EVENT ...", "r4 ...", "-:EVENT": not "f:12" (a line of f), nor "t:NAME" (a tracepoint). */
static bool is_raw(const char *text, size_t first)
{
	if (text[0] == '-' && text[1] == ':')
		return true;
	if (!text[0] || !strchr("prfte", text[0]))
		return false;
	size_t n = 1 + strspn(text + 1, "0123456789");
	bool more = text[first + strspn(text + first, " \t")];
	if (text[n] == ':')
		return n + 1 < first && !isdigit((unsigned char)text[n + 1]) &&
		       text[n + 1] != ':' && more && (memchr(text, '/', first) || text[0] != 't');
	return n == first && more;
}

int probe_parse(const char *text, struct arena *arena, struct probe_request *ret, struct diag *d)
{
	struct probe_request r = { 0 };
	struct parser p = { .arena = arena, .r = &r, .d = d };
	text += strspn(text, " \t\n");
	if (strlen(text) > TEXT_MAX)
		return diag_error(d, -EINVAL, "the definition is too long");
	r.text = p.text = arena_strdup(arena, text);
	if (!r.text)
		return -ENOMEM;
	const char *at = r.text;
	size_t first = word_end(at);
	int err;
	if (!first)
		return diag_error(d, -EINVAL, "expected a probe: FUNCTION, FILE:LINE, %%sdt_...");
	/* A pattern is the rest of the text: it may hold blanks. */
	size_t semicolon = find_stop(at, strlen(at), ";");
	if (is_raw(at, first)) {
		r.form = PROBE_RAW;
		*ret = r;
		return 0;
	}
	if (semicolon < first)
		first = strlen(at);
	size_t equals = find_stop(at, first, ";=@+%");
	if (equals < first && at[equals] == '=') {
		err = set_name(&p, at, equals);
		if (err)
			return err;
		at += equals + 1;
		first -= equals + 1;
	}
	if (*at == '%' || str_starts(at, "sdt_")) {
		err = parse_usdt(&p, at, first);
	} else if (str_starts(at, "t:") && first > 2) {
		r.form = PROBE_TRACEPOINT;
		r.name = plain(&p, at + 2, first - 2);
		err = r.name ? 0 : -ENOMEM;
	} else {
		err = parse_point(&p, at, first);
	}
	if (!err)
		err = parse_args(&p, at + first);
	if (!err)
		*ret = r;
	return err;
}
