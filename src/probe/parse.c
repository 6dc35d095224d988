/*
 * What a person writes, in perf probe's language (Documentation/perf-probe.txt) and a little more:
 *
 *	[[GROUP:]EVENT=]POINT [ARG ...]
 *	POINT  FUNC[@SRC][+OFF|%return|:LINE|;PATTERN]   SRC:LINE   SRC;PATTERN   0xADDR   t:TRACEPOINT   %sdt_PROVIDER:NAME
 *	ARG    [NAME=]VALUE[:TYPE][@user]
 *	VALUE  VAR[->MEMBER|.MEMBER|[N]]...   $vars $params $locals $arg* $retval   and the kernel's own: %REG $stackN @SYM+8 +8(%di) \5
 *
 * A backslash takes a character for itself, quotes take all of them so ("memcpy\@GLIBC_2.2.5", "'ns::f(int, char)'"). "::" belongs to
 * the name of a function. A text whose first word is a letter of kprobe_events is a line of that file and is passed on.
 */
#include "base/glob.h"
#include "probe/probe.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096, ARGS_MAX = 128, STEPS_MAX = 64 };

/* A word with its quoting taken off: what a backslash or quotes protect is no separator. */
struct word {
	const char *chars; /* NUL-terminated */
	const bool *plain; /* [i]: may separate */
	const u32 *from; /* [i]: where it was in the text; one more for the end */
	u32 len;
};

struct probe_parse {
	const char *text;
	struct arena *arena;
	struct diag *d;
	struct probe_request *r;
};

static int fail_at(struct probe_parse *p, u32 start, u32 end, const char *what)
{
	diag_error(p->d, -EINVAL, "%s", what);
	diag_span(p->d, p->text, start, max(end, start + 1) - start);
	return -EINVAL;
}

static struct probe_span span_of(const struct word *w, u32 from, u32 to)
{
	return (struct probe_span){ w->from[from], w->from[to] - w->from[from] };
}

static int fail_word(struct probe_parse *p, const struct word *w, u32 from, u32 to, const char *what)
{
	return fail_at(p, w->from[from], w->from[to], what);
}

/* ---- words ---- */

static int alloc_word(struct probe_parse *p, size_t room, char **chars, bool **plain, u32 **from)
{
	*chars = arena_alloc(p->arena, room + 1);
	*plain = arena_array(p->arena, room + 1, sizeof(bool));
	*from = arena_array(p->arena, room + 1, sizeof(u32));
	return *chars && *plain && *from ? 0 : -ENOMEM;
}

/* The next word from *at on. 1, 0: there is none. */
static int next_word(struct probe_parse *p, u32 *at, struct word *w)
{
	const char *t = p->text;
	u32 i = *at, n = 0;
	char *chars;
	bool *plain;
	u32 *from;
	while (isspace((u8)t[i]))
		i++;
	if (!t[i])
		return 0;
	if (alloc_word(p, strlen(t + i), &chars, &plain, &from))
		return -ENOMEM;
	bool is_text = false; /* \"abc": the kernel's, with its quotes */
	for (char quote = 0; t[i] && (quote || !isspace((u8)t[i])); i++) {
		is_text |= !quote && t[i] == '"' && n && chars[n - 1] == '\\' && !plain[n - 1];
		if (!is_text && (quote ? t[i] == quote : t[i] == '\'' || t[i] == '"')) {
			quote = quote ? 0 : t[i];
			if (quote && !strchr(t + i + 1, quote))
				return fail_at(p, i, i + 1, "the quote is never closed");
			continue;
		}
		/* A backslash at the start of a value is the kernel's: \5. */
		bool starts = !n || chars[n - 1] == '=', value = t[i] == '\\' && starts;
		bool escape = t[i] == '\\' && t[i + 1] && !starts && !is_text;
		i += escape;
		chars[n] = t[i];
		plain[n] = !escape && !quote && !value && !is_text;
		from[n++] = i - escape;
	}
	chars[n] = '\0';
	from[n] = i;
	*w = (struct word){ chars, plain, from, n };
	*at = i;
	return 1;
}

/* The first plain character of a set in [from, to), or to. "::" is part of a name. */
static u32 find(const struct word *w, u32 from, u32 to, const char *set)
{
	for (u32 i = from; i < to; i++) {
		if (!w->plain[i])
			continue;
		if (w->chars[i] == ':' && i + 1 < to && w->chars[i + 1] == ':') {
			i++;
			continue;
		}
		if (strchr(set, w->chars[i]))
			return i;
	}
	return to;
}

static const char *copy(struct probe_parse *p, const struct word *w, u32 from, u32 to)
{
	return arena_strndup(p->arena, w->chars + from, to - from);
}

static bool read_number(const struct word *w, u32 from, u32 to, u64 *ret)
{
	char digits[32], *end;
	if (to <= from || to - from >= sizeof(digits) || !isdigit((u8)w->chars[from]))
		return false;
	memcpy(digits, w->chars + from, to - from);
	digits[to - from] = '\0';
	errno = 0;
	*ret = strtoull(digits, &end, 0);
	return !*end && !errno;
}

/* ---- the kernel's own lines ---- */

static bool is_raw(const char *t)
{
	size_t n = strcspn(t, " \t");
	const char *rest = t + n + strspn(t + n, " \t");
	if (!strncmp(t, "-:", 2))
		return true;
	if (!*rest || !strchr("prfte", t[0]))
		return false;
	size_t digits = 1 + strspn(t + 1, "0123456789");
	if (digits > 1 && t[0] != 'r' && t[0] != 'f')
		return false;
	/* t:NAME alone is a tracepoint; the kernel's has a name of its own before it. f:12 is a line of f. */
	if (digits < n)
		return t[digits] == ':' && (t[0] != 't' || memchr(t, '/', n)) &&
		       !memchr(t, '=', n) && t[digits + 1] != ':' && !isdigit((u8)t[digits + 1]);
	return digits > 1 || t[0] == 'p' || t[0] == 'r';
}

static int parse_raw(struct probe_parse *p)
{
	struct probe_request *r = p->r;
	r->form = PROBE_RAW;
	const char *colon = strpbrk(p->text, ": \t"), *end, *slash;
	if (!colon || *colon != ':')
		return 0;
	end = colon + strcspn(colon, " \t");
	slash = memchr(colon, '/', (size_t)(end - colon));
	const char *event = slash ? slash + 1 : colon + 1;
	if (slash && slash > colon + 1)
		r->group = arena_strndup(p->arena, colon + 1, (size_t)(slash - colon - 1));
	if (end > event)
		r->event = arena_strndup(p->arena, event, (size_t)(end - event));
	return 0;
}

/* ---- the point ---- */

static int parse_event(struct probe_parse *p, const struct word *w, u32 *at)
{
	u32 stop = find(w, 0, w->len, ";=@+%");
	if (stop == w->len || w->chars[stop] != '=')
		return 0;
	u32 colon = find(w, 0, stop, ":");
	if (colon < stop)
		p->r->group = copy(p, w, 0, colon);
	u32 from = colon < stop ? colon + 1 : 0;
	if (from == stop || (colon < stop && !colon))
		return fail_word(p, w, 0, stop, "expected an event name before '='");
	for (u32 i = 0; i < stop; i++)
		if (!isalnum((u8)w->chars[i]) && w->chars[i] != '_' && i != colon)
			return fail_word(p, w, i, i + 1,
					 "event and group names have letters, digits and '_' only");
	p->r->event = copy(p, w, from, stop);
	*at = stop + 1;
	return 0;
}

static int parse_usdt(struct probe_parse *p, const struct word *w, u32 at)
{
	struct probe_request *r = p->r;
	r->form = PROBE_USDT;
	if (w->chars[at] == '%')
		at++;
	if (!strncmp(w->chars + at, "sdt_", 4))
		at += 4;
	u32 colon = at;
	while (colon < w->len && w->chars[colon] != ':')
		colon++;
	if (colon == at || colon + 1 >= w->len)
		return fail_word(p, w, at, w->len, "expected PROVIDER:NAME");
	r->provider = copy(p, w, at, colon);
	r->name = copy(p, w, colon + 1, w->len);
	r->is_glob = glob_is_pattern(r->provider) || glob_is_pattern(r->name);
	r->function_span = span_of(w, at, w->len);
	return 0;
}

static bool is_usdt(const struct word *w, u32 at)
{
	if (w->chars[at] == '%')
		return true;
	const char *colon = strchr(w->chars + at, ':');
	return !strncmp(w->chars + at, "sdt_", 4) && colon && !isdigit((u8)colon[1]) &&
	       colon[1] != ':';
}

static int set_line(struct probe_parse *p, const struct word *w, u32 from, u32 to)
{
	u64 line;
	if (!read_number(w, from, to, &line) || line > INT32_MAX)
		return fail_word(p, w, from, to, "expected a line number");
	p->r->line = (u32)line;
	p->r->has_line = true;
	return 0;
}

/* One of :LINE +OFF ;PATTERN %return @SRC, which begins at `at`; *end: where the next one does. */
static int parse_part(struct probe_parse *p, const struct word *w, u32 at, u32 *end)
{
	struct probe_request *r = p->r;
	char mark = w->chars[at];
	u32 to = *end = mark == ';' ? w->len : find(w, at + 1, w->len, ";:+@%");
	struct probe_span *span = mark == '@' ? &r->file_span : &r->place_span;
	if (span->len)
		return fail_word(
			p, w, at, to,
			mark == '@'
				? "a file is named already"
				: "only one of +OFFSET, :LINE, ;PATTERN and %return can be given");
	*span = span_of(w, at, to);
	if (at + 1 == to)
		return fail_word(p, w, at, to,
				 mark == '@' ? "expected a file name" : "nothing follows");
	switch (mark) {
	case ':': return set_line(p, w, at + 1, to);
	case '+':
		r->has_offset = true;
		if (!read_number(w, at + 1, to, &r->offset))
			return fail_word(p, w, at + 1, to, "expected an offset in bytes");
		return 0;
	case ';': r->pattern = copy(p, w, at + 1, to); return 0;
	case '@': r->file = copy(p, w, at + 1, to); return 0;
	default:
		if (strcmp(copy(p, w, at + 1, to), "return"))
			return fail_word(p, w, at, to, "expected '%return'");
		r->is_return = true;
		return 0;
	}
}

static int parse_function(struct probe_parse *p, const struct word *w, u32 at)
{
	struct probe_request *r = p->r;
	u32 end = find(w, at, w->len, ";:+@%");
	r->form = PROBE_FUNCTION;
	r->function_span = span_of(w, at, end);
	r->function = copy(p, w, at, end);
	if (end == at)
		return fail_word(p, w, at, w->len, "expected a function or a file");
	/* What is quoted is meant itself. */
	for (u32 i = at; i < end; i++)
		r->is_glob |= w->plain[i] && strchr("*?[", w->chars[i]);
	int err = 0;
	while (!err && end < w->len)
		err = parse_part(p, w, end, &end);
	return err;
}

static int parse_source(struct probe_parse *p, const struct word *w, u32 at)
{
	struct probe_request *r = p->r;
	u32 end = find(w, at, w->len, ";:");
	r->form = PROBE_SOURCE;
	r->file = copy(p, w, at, end);
	r->file_span = span_of(w, at, end);
	int err = parse_part(p, w, end, &end);
	if (!err && end < w->len)
		return fail_word(p, w, end, w->len, "nothing can follow the line number");
	if (!err && r->has_line && !r->line)
		return fail_word(p, w, at, w->len, "lines of a file count from 1");
	return err;
}

static int parse_point(struct probe_parse *p, const struct word *w)
{
	struct probe_request *r = p->r;
	u32 at = 0, mark;
	int err = parse_event(p, w, &at);
	if (err)
		return err;
	if (at == w->len)
		return fail_word(p, w, at, at,
				 "expected a function, a file and line, or an address");
	/* t:12 is a line of t. */
	if (!strncmp(w->chars + at, "t:", 2) && w->len > at + 2 && w->chars[at + 2] != ':' &&
	    !isdigit((u8)w->chars[at + 2])) {
		r->form = PROBE_TRACEPOINT;
		r->name = copy(p, w, at + 2, w->len);
		r->function_span = span_of(w, at + 2, w->len);
		return 0;
	}
	if (is_usdt(w, at))
		return parse_usdt(p, w, at);
	if (w->chars[at] == '0' && (w->chars[at + 1] | 0x20) == 'x') {
		r->form = PROBE_ADDRESS;
		r->function_span = span_of(w, at, w->len);
		return read_number(w, at, w->len, &r->offset)
			       ? 0
			       : fail_word(p, w, at, w->len, "expected an address in hexadecimal");
	}
	/* A file, if there is a '.' before the first ':' or ';', and nothing that only functions have. */
	mark = find(w, at, w->len, ";:");
	bool is_file = mark < w->len && memchr(w->chars + at, '.', mark - at) &&
		       find(w, at, mark, "+@%") == mark;
	return is_file ? parse_source(p, w, at) : parse_function(p, w, at);
}

/* ---- arguments ---- */

static bool is_name_char(char c)
{
	return isalnum((u8)c) || c == '_';
}

static u32 name_end(const struct word *w, u32 at, u32 to)
{
	while (at < to && (is_name_char(w->chars[at]) ||
			   (w->chars[at] == ':' && at + 2 < to && w->chars[at + 1] == ':')))
		at += w->chars[at] == ':' ? 2 : 1;
	return at;
}

static int parse_index(struct probe_parse *p, const struct word *w, u32 at, u32 to,
		       struct probe_step *s, u32 *end)
{
	u32 close = at + 1;
	while (close < to && w->chars[close] != ']')
		close++;
	if (close == to || !read_number(w, at + 1, close, &s->index))
		return fail_word(p, w, at, close < to ? close + 1 : to,
				 "expected a number in '[]': an index has to be a constant");
	*end = close + 1;
	return 0;
}

static int parse_step(struct probe_parse *p, const struct word *w, u32 at, u32 to,
		      struct probe_step *s, u32 *end)
{
	*s = (struct probe_step){ 0 };
	if (w->chars[at] == '[') {
		int err = parse_index(p, w, at, to, s, end);
		s->span = span_of(w, at, err ? at : *end);
		return err;
	}
	s->arrow = at + 1 < to && w->chars[at] == '-' && w->chars[at + 1] == '>';
	if (!s->arrow && w->chars[at] != '.')
		return fail_word(p, w, at, to, "expected '->', '.' or '['");
	u32 from = at + 1 + s->arrow;
	*end = from;
	while (*end < to && is_name_char(w->chars[*end]))
		++*end;
	if (*end == from)
		return fail_word(p, w, at, to, "expected a member's name");
	s->member = copy(p, w, from, *end);
	s->span = span_of(w, at, *end);
	return 0;
}

static int parse_steps(struct probe_parse *p, const struct word *w, u32 at, u32 to,
		       struct probe_arg *a)
{
	struct probe_step steps[STEPS_MAX];
	u32 nr = 0;
	while (at < to) {
		if (nr == STEPS_MAX)
			return fail_word(p, w, at, to, "too many members");
		int err = parse_step(p, w, at, to, &steps[nr++], &at);
		if (err)
			return err;
	}
	if (!nr)
		return 0;
	struct probe_step *kept = arena_array(p->arena, nr, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	memcpy(kept, steps, nr * sizeof(*kept));
	a->steps = kept;
	a->nr_steps = nr;
	return 0;
}

static const struct {
	const char *word;
	enum probe_value value;
} specials[] = {
	{ "$retval", PROBE_VALUE_RETVAL }, { "$params", PROBE_VALUE_PARAMS },
	{ "$arg*", PROBE_VALUE_PARAMS },   { "$locals", PROBE_VALUE_LOCALS },
	{ "$vars", PROBE_VALUE_VARS },
};

static int parse_special(struct probe_parse *p, const struct word *w, u32 at, u32 to,
			 struct probe_arg *a)
{
	for (u32 i = 0; i < ARRAY_SIZE(specials); i++) {
		u32 n = (u32)strlen(specials[i].word);
		bool same = to - at >= n && !strncmp(w->chars + at, specials[i].word, n);
		if (!same || (to - at > n && specials[i].value != PROBE_VALUE_RETVAL) ||
		    (to - at > n && !strchr("-.[", w->chars[at + n])))
			continue;
		a->value = specials[i].value;
		return parse_steps(p, w, at + n, to, a);
	}
	a->value = PROBE_VALUE_FETCH;
	a->text = copy(p, w, at, to);
	return 0;
}

/* Where the type begins: the last ':' that is not in parentheses or quotes, nor part of "::". */
static u32 find_type(const struct word *w, u32 at)
{
	for (u32 i = w->len; i > at; i--) {
		if (w->chars[i - 1] == ')' || !w->plain[i - 1])
			break;
		if (w->chars[i - 1] == ':')
			return i >= 2 && w->chars[i - 2] == ':' ? w->len : i - 1;
	}
	return w->len;
}

static u32 find_name(const struct word *w)
{
	u32 at = 0;
	while (at < w->len && is_name_char(w->chars[at]))
		at++;
	return at && at < w->len && w->chars[at] == '=' ? at : 0;
}

static int parse_arg(struct probe_parse *p, struct word *w, struct probe_arg *a)
{
	*a = (struct probe_arg){ .span = span_of(w, 0, w->len) };
	u32 name = find_name(w), at = name ? name + 1 : 0;
	if (name)
		a->name = copy(p, w, 0, name);
	if (w->len > at + 5 && !strcmp(w->chars + w->len - 5, "@user")) {
		a->user = true;
		w->len -= 5;
	}
	u32 type = find_type(w, at);
	if (type < w->len) {
		a->type = copy(p, w, type + 1, w->len);
		if (type + 1 == w->len)
			return fail_word(p, w, type, w->len, "expected a type after ':'");
	}
	if (at == type)
		return fail_word(p, w, 0, w->len, "expected a variable");
	char first = w->chars[at];
	if (!isalpha((u8)first) && first != '_')
		return parse_special(p, w, at, type, a);
	u32 end = name_end(w, at, type);
	a->value = PROBE_VALUE_NAME;
	a->text = copy(p, w, at, end);
	return parse_steps(p, w, end, type, a);
}

static int parse_args(struct probe_parse *p, u32 at)
{
	struct probe_arg args[ARGS_MAX];
	struct word w;
	u32 nr = 0;
	int more;
	while ((more = next_word(p, &at, &w)) > 0) {
		if (nr == ARGS_MAX)
			return fail_at(p, at - 1, at, "more than 128 arguments");
		int err = parse_arg(p, &w, &args[nr++]);
		if (err)
			return err;
	}
	if (more < 0 || !nr)
		return more;
	struct probe_arg *kept = arena_array(p->arena, nr, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	memcpy(kept, args, nr * sizeof(*kept));
	p->r->args = kept;
	p->r->nr_args = nr;
	return 0;
}

static int check(struct probe_parse *p)
{
	const struct probe_request *r = p->r;
	for (u32 i = 0; i < r->nr_args; i++)
		if (r->args[i].value == PROBE_VALUE_RETVAL && !r->is_return)
			return fail_at(p, r->args[i].span.start,
				       r->args[i].span.start + r->args[i].span.len,
				       "$retval needs a probe on the return: FUNCTION%return");
	return 0;
}

int probe_parse(const char *text, struct arena *arena, struct probe_request *ret, struct diag *d)
{
	struct probe_request r = { 0 };
	struct probe_parse p = { .text = text, .arena = arena, .d = d, .r = &r };
	struct word w;
	u32 at = 0;
	if (strlen(text) > TEXT_MAX)
		return diag_error(d, -EINVAL, "the probe is longer than %d characters", TEXT_MAX);
	text += strspn(text, " \t\n");
	p.text = r.text = arena_strdup(arena, text);
	if (!r.text)
		return -ENOMEM;
	int err;
	if (is_raw(r.text)) {
		err = parse_raw(&p);
	} else {
		int have = next_word(&p, &at, &w);
		if (!have)
			return diag_error(d, -EINVAL, "the probe is empty");
		err = have < 0 ? have : parse_point(&p, &w);
		if (!err)
			err = parse_args(&p, at);
		if (!err && r.form != PROBE_USDT && r.form != PROBE_TRACEPOINT)
			err = check(&p);
	}
	if (!err)
		*ret = r;
	return err;
}
