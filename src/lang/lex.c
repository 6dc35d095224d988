#include "lang/token.h"

#include "base/num.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>

/* The operators, longest first where one begins another. */
static const struct {
	const char *text;
	enum token_kind kind;
} operators[] = {
	{ "<<=", TOKEN_SHL_ASSIGN }, { ">>=", TOKEN_SHR_ASSIGN }, { "->", TOKEN_ARROW },
	{ "++", TOKEN_INC },	     { "--", TOKEN_DEC },	  { "+=", TOKEN_ADD_ASSIGN },
	{ "-=", TOKEN_SUB_ASSIGN },  { "*=", TOKEN_MUL_ASSIGN },  { "/=", TOKEN_DIV_ASSIGN },
	{ "%=", TOKEN_MOD_ASSIGN },  { "&=", TOKEN_AND_ASSIGN },  { "|=", TOKEN_OR_ASSIGN },
	{ "^=", TOKEN_XOR_ASSIGN },  { "||", TOKEN_LOR },	  { "&&", TOKEN_LAND },
	{ "==", TOKEN_EQ },	     { "!=", TOKEN_NE },	  { "<=", TOKEN_LE },
	{ ">=", TOKEN_GE },	     { "<<", TOKEN_SHL },	  { ">>", TOKEN_SHR },
	{ "..", TOKEN_DOTDOT },	     { "(", TOKEN_LPAREN },	  { ")", TOKEN_RPAREN },
	{ "{", TOKEN_LBRACE },	     { "}", TOKEN_RBRACE },	  { "[", TOKEN_LBRACKET },
	{ "]", TOKEN_RBRACKET },     { ",", TOKEN_COMMA },	  { ";", TOKEN_SEMI },
	{ ":", TOKEN_COLON },	     { "?", TOKEN_QUESTION },	  { ".", TOKEN_DOT },
	{ "=", TOKEN_ASSIGN },	     { "|", TOKEN_OR },		  { "^", TOKEN_XOR },
	{ "&", TOKEN_AND },	     { "<", TOKEN_LT },		  { ">", TOKEN_GT },
	{ "+", TOKEN_ADD },	     { "-", TOKEN_SUB },	  { "*", TOKEN_MUL },
	{ "/", TOKEN_DIV },	     { "%", TOKEN_MOD },	  { "!", TOKEN_NOT },
	{ "~", TOKEN_TILDE },
};

const char *token_text(enum token_kind k)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (operators[i].kind == k)
			return operators[i].text;
	return "";
}

/* Adds the line that a place is on to the item added last. */
static void point_to(struct diag *d, const char *script, u32 start, u32 len)
{
	u32 from = start;
	while (from && script[from - 1] != '\n')
		from--;
	u32 end = start;
	while (script[end] && script[end] != '\n')
		end++;
	struct strbuf line;
	strbuf_init(&line);
	for (u32 i = from; i < end; i++)
		strbuf_char(&line, script[i] == '\t' ? ' ' : script[i]);
	if (!line.err)
		diag_span(d, strbuf_cstr(&line), start - from, max(1u, min(len, end - start)));
	strbuf_done(&line);
}

/* "line 3", or "lib.bt: line 3" of a text that was imported. */
static void name_line(const char *script, u32 start, struct strbuf *to)
{
	u32 nr = 0;
	const char *file = NULL;
	for (u32 i = 0; i <= start; i++) {
		if (i && script[i - 1] != '\n')
			continue;
		nr++;
		if (!strncmp(script + i, LEX_FILE_MARK, 2) && i < start) {
			file = script + i + 2;
			nr = 0;
		}
	}
	if (file && *file != '\n')
		strbuf_printf(to, "%.*s: ", (int)strcspn(file, "\n"), file);
	strbuf_printf(to, "line %u", nr);
}

int lang_error(struct diag *d, const char *script, u32 start, u32 len, int err, const char *fmt, ...)
{
	struct strbuf s;
	va_list ap;
	strbuf_init(&s);
	name_line(script, start, &s);
	strbuf_str(&s, ": ");
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	diag_error(d, err, "%s", strbuf_cstr(&s));
	strbuf_done(&s);
	if (d)
		point_to(d, script, start, len);
	return err;
}

void lang_warn(struct diag *d, const char *script, u32 start, u32 len, const char *fmt, ...)
{
	struct strbuf s;
	va_list ap;
	strbuf_init(&s);
	name_line(script, start, &s);
	strbuf_str(&s, ": ");
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	diag_warn(d, "%s", strbuf_cstr(&s));
	strbuf_done(&s);
	if (d)
		point_to(d, script, start, len);
}

void lex_init(struct lexer *l, struct arena *a, const char *text, u32 len, struct diag *d)
{
	*l = (struct lexer){ .arena = a, .text = text, .end = len, .diag = d };
	if (len > 2 && text[0] == '#' && text[1] == '!')
		while (l->at < len && text[l->at] != '\n')
			l->at++;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static u32 line_end(const struct lexer *l, u32 at)
{
	while (at < l->end && l->text[at] != '\n')
		at += l->text[at] == '\\' && at + 1 < l->end ? 2 : 1;
	return min(at, l->end);
}

static u32 skip_blank(const struct lexer *l, u32 at, u32 end)
{
	while (at < end && (l->text[at] == ' ' || l->text[at] == '\t'))
		at++;
	return at;
}

/* The word at a place of a # line. */
static u32 word_end(const struct lexer *l, u32 at, u32 end)
{
	while (at < end && is_name(l->text[at]))
		at++;
	return at;
}

static bool word_is(const struct lexer *l, u32 at, u32 end, const char *word)
{
	return end - at == strlen(word) && !memcmp(l->text + at, word, end - at);
}

static struct lex_define *find_define(struct lexer *l, const char *name, size_t len)
{
	for (struct lex_define *d = l->defines; d; d = d->next)
		if (strlen(d->name) == len && !memcmp(d->name, name, len))
			return d;
	return NULL;
}

static int add_define(struct lexer *l, u32 at, u32 end)
{
	u32 name_end = word_end(l, at, end);
	if (name_end == at)
		return lang_error(l->diag, l->text, at, 1, -EINVAL, "expected a name after #define");
	if (name_end < end && l->text[name_end] == '(')
		return lang_error(l->diag, l->text, at, name_end - at, -ENOTSUP,
				  "#define with arguments is not supported");
	struct lex_define *d = arena_zalloc(l->arena, sizeof(*d));
	if (!d || !(d->name = arena_strndup(l->arena, l->text + at, name_end - at)))
		return -ENOMEM;
	d->from = skip_blank(l, name_end, end);
	d->end = end;
	d->next = l->defines;
	l->defines = d;
	return 0;
}

static int evaluate(struct lexer *l, u32 start, u32 at, u32 end, s64 *ret);

/* Steps over lines up to the #else or #endif of the level. */
static int skip_lines(struct lexer *l, u32 start, bool stop_at_else)
{
	for (u32 depth = 0; l->at < l->end;) {
		u32 end = line_end(l, l->at);
		u32 at = skip_blank(l, l->at, end);
		if (at < end && l->text[at] == '#') {
			at = skip_blank(l, at + 1, end);
			u32 word = word_end(l, at, end);
			if (word - at >= 2 && !memcmp(l->text + at, "if", 2))
				depth++;
			else if (word_is(l, at, word, "endif") && !depth--) {
				l->at = end;
				return 0;
			} else if (word_is(l, at, word, "else") && !depth && stop_at_else) {
				l->at = end;
				l->depth_if++;
				return 0;
			} else if (word_is(l, at, word, "elif") && !depth && stop_at_else) {
				s64 v;
				int err = evaluate(l, at, skip_blank(l, word, end), end, &v);
				if (err || v) {
					l->at = end;
					l->depth_if += !err;
					return err;
				}
			}
		}
		l->at = end + (end < l->end);
	}
	return lang_error(l->diag, l->text, start, 1, -EINVAL, "#if without #endif");
}

static int conditional(struct lexer *l, u32 start, u32 at, u32 end, bool wanted)
{
	u32 name_end = word_end(l, at, end);
	bool have = word_is(l, at, name_end, "BPFTRACE_HAVE_BTF") ||
		    find_define(l, l->text + at, name_end - at);
	if (have == wanted) {
		l->depth_if++;
		return 0;
	}
	l->at = end + (end < l->end);
	return skip_lines(l, start, true);
}

static void remove_define(struct lexer *l, u32 at, u32 end)
{
	for (struct lex_define **d = &l->defines; *d; d = &(*d)->next)
		if (word_is(l, at, end, (*d)->name)) {
			*d = (*d)->next;
			return;
		}
}

/* The value of a word of an #if: a number, defined(NAME), or a name that stands for a number. */
static int condition_word(struct lexer *l, u32 *at, u32 end, s64 *ret)
{
	bool not = false;
	*at = skip_blank(l, *at, end);
	while (*at < end && l->text[*at] == '!') {
		not = !not ;
		*at = skip_blank(l, *at + 1, end);
	}
	u32 word = word_end(l, *at, end);
	s64 v = 0;
	if (word == *at)
		return -EINVAL;
	if (word_is(l, *at, word, "defined")) {
		u32 name = skip_blank(l, word, end);
		bool paren = name < end && l->text[name] == '(';
		name = skip_blank(l, name + paren, end);
		word = word_end(l, name, end);
		v = word_is(l, name, word, "BPFTRACE_HAVE_BTF") ||
		    find_define(l, l->text + name, word - name);
		word = skip_blank(l, word, end);
		if (paren && (word >= end || l->text[word++] != ')'))
			return -EINVAL;
	} else {
		struct lex_define *d = find_define(l, l->text + *at, word - *at);
		u32 from = d ? d->from : *at, till = d ? word_end(l, d->from, d->end) : word;
		char number[24] = "";
		if (till - from < sizeof(number))
			memcpy(number, l->text + from, till - from);
		if (word_is(l, *at, word, "BPFTRACE_HAVE_BTF"))
			v = 1;
		else if (num_parse_s64(number, 0, &v) && isdigit((unsigned char)number[0]))
			return -EINVAL;
	}
	*ret = not ? !v : v;
	*at = skip_blank(l, word, end);
	return 0;
}

/* #if of words with &&, || (from left to right) and comparisons: what headers and old scripts need. */
static int evaluate(struct lexer *l, u32 start, u32 at, u32 end, s64 *ret)
{
	static const char *const ops[] = { "&&", "||", "==", "!=", ">=", "<=", ">", "<" };
	s64 v = 0, w = 0;
	int err = condition_word(l, &at, end, &v);
	while (!err && at < end) {
		u32 k = 0;
		while (k < ARRAY_SIZE(ops) &&
		       (end - at < strlen(ops[k]) || memcmp(l->text + at, ops[k], strlen(ops[k]))))
			k++;
		if (k == ARRAY_SIZE(ops)) {
			err = -EINVAL;
			break;
		}
		at += (u32)strlen(ops[k]);
		err = condition_word(l, &at, end, &w);
		s64 results[] = { v && w, v || w, v == w, v != w, v >= w, v <= w, v > w, v < w };
		v = err ? 0 : results[k];
	}
	if (err)
		return lang_error(
			l->diag, l->text, start, end - start,
			err, "this #if is not understood: it takes defined(NAME), numbers, comparisons, && and ||");
	*ret = v;
	return 0;
}

static int condition(struct lexer *l, u32 start, u32 at, u32 end)
{
	s64 v;
	int err = evaluate(l, start, at, end, &v);
	if (err)
		return err;
	if (v) {
		l->depth_if++;
		return 0;
	}
	l->at = end + (end < l->end);
	return skip_lines(l, start, true);
}

static int hash_line(struct lexer *l)
{
	u32 start = l->at, end = line_end(l, l->at);
	u32 at = skip_blank(l, l->at + 1, end);
	u32 word = word_end(l, at, end);
	u32 rest = skip_blank(l, word, end);
	l->at = end;
	bool mark = l->at - start >= 2 && !memcmp(l->text + start, LEX_FILE_MARK, 2);
	if (mark || (l->at - start >= 2 && l->text[start + 1] == '!'))
		return 0;
	if (word_is(l, at, word, "if"))
		return condition(l, start, rest, end);
	if (word_is(l, at, word, "undef")) {
		remove_define(l, rest, word_end(l, rest, end));
		return 0;
	}
	if (word_is(l, at, word, "error") || word_is(l, at, word, "warning")) {
		if (l->text[at] == 'w') {
			lang_warn(l->diag, l->text, rest, end - rest, "%.*s", (int)(end - rest),
				  l->text + rest);
			return 0;
		}
		return lang_error(l->diag, l->text, rest, end - rest, -EINVAL, "%.*s",
				  (int)(end - rest), l->text + rest);
	}
	if (word_is(l, at, word, "include") || word_is(l, at, word, "pragma"))
		return 0;
	if (word_is(l, at, word, "define"))
		return add_define(l, rest, end);
	if (word_is(l, at, word, "ifdef"))
		return conditional(l, start, rest, end, true);
	if (word_is(l, at, word, "ifndef"))
		return conditional(l, start, rest, end, false);
	if (word_is(l, at, word, "endif") && l->depth_if) {
		l->depth_if--;
		return 0;
	}
	if ((word_is(l, at, word, "else") || word_is(l, at, word, "elif")) && l->depth_if) {
		l->depth_if--;
		l->at = end + (end < l->end);
		return skip_lines(l, start, false);
	}
	return lang_error(l->diag, l->text, start, end - start, -EINVAL, "unexpected '#%.*s'",
			  (int)(word - at), l->text + at);
}

static int skip_comment(struct lexer *l)
{
	u32 start = l->at;
	for (l->at += 2; l->at + 1 < l->end; l->at++)
		if (l->text[l->at] == '*' && l->text[l->at + 1] == '/') {
			l->at += 2;
			return 0;
		}
	return lang_error(l->diag, l->text, start, 2, -EINVAL, "comment without an end");
}

static bool at_line_start(const struct lexer *l)
{
	u32 at = l->at;
	while (at && (l->text[at - 1] == ' ' || l->text[at - 1] == '\t'))
		at--;
	return !at || l->text[at - 1] == '\n';
}

int lex_skip(struct lexer *l)
{
	while (l->at < l->end) {
		char c = l->text[l->at];
		char next = l->at + 1 < l->end ? l->text[l->at + 1] : 0;
		int err = 0;
		if (isspace((unsigned char)c))
			l->at++;
		else if (c == '/' && next == '/')
			l->at = line_end(l, l->at);
		else if (c == '/' && next == '*')
			err = skip_comment(l);
		else if (c == '#' && !l->nr_stack && at_line_start(l))
			err = hash_line(l);
		else
			return 0;
		if (err)
			return err;
	}
	return 0;
}

/* Ends #defines whose text is used up; then the next token is behind the use. */
static int settle(struct lexer *l)
{
	for (;;) {
		int err = lex_skip(l);
		if (err || l->at < l->end || !l->nr_stack)
			return err;
		l->nr_stack--;
		l->stack[l->nr_stack].define->busy = false;
		l->at = l->stack[l->nr_stack].at;
		l->end = l->stack[l->nr_stack].end;
	}
}

/* Units behind a number: durations, in nanoseconds. */
static bool unit_of(const char *s, u32 len, u64 *ret)
{
	static const struct {
		const char *name;
		u64 ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000 * 1000 },
		{ "s", 1000ull * 1000 * 1000 },
		{ "m", 60ull * 1000 * 1000 * 1000 },
		{ "h", 3600ull * 1000 * 1000 * 1000 },
		{ "d", 86400ull * 1000 * 1000 * 1000 },
		{ "u", 1 },
		{ "ul", 1 },
		{ "ull", 1 },
		{ "l", 1 },
		{ "ll", 1 },
		{ "U", 1 },
		{ "UL", 1 },
		{ "ULL", 1 },
		{ "L", 1 },
		{ "LL", 1 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strlen(units[i].name) == len && !memcmp(units[i].name, s, len)) {
			*ret = units[i].ns;
			return true;
		}
	return false;
}

static int digit_of(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static int bad_number(struct lexer *l, u32 start, u32 end, int err)
{
	return lang_error(l->diag, l->text, start, end - start, err,
			  err == -ERANGE ? "number '%.*s' does not fit into 64 bits"
					 : "invalid number '%.*s'",
			  (int)(end - start), l->text + start);
}

static int lex_number(struct lexer *l, struct token *t)
{
	u32 start = l->at, end = start, base = 10;
	while (end < l->end && is_name(l->text[end]))
		end++;
	if (end - start > 2 && l->text[start] == '0' && tolower(l->text[start + 1]) == 'x') {
		base = 16;
		l->at += 2;
	} else if (end - start > 1 && l->text[start] == '0' && isdigit(l->text[start + 1])) {
		base = 8;
	}
	u64 v = 0, scale = 1;
	for (; l->at < end; l->at++) {
		char c = l->text[l->at];
		if (c == '_')
			continue;
		if (digit_of(c) >= (int)base)
			break;
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (u64)digit_of(c), &v))
			return bad_number(l, start, end, -ERANGE);
	}
	if (l->at < end && base == 10 && tolower(l->text[l->at]) == 'e' && l->at + 1 < end) {
		u32 power = 0;
		for (l->at++; l->at < end && isdigit(l->text[l->at]) && power < 100; l->at++)
			power = power * 10 + (u32)(l->text[l->at] - '0');
		for (; power; power--)
			if (__builtin_mul_overflow(v, 10ull, &v))
				return bad_number(l, start, end, -ERANGE);
	}
	if (l->at < end && !unit_of(l->text + l->at, end - l->at, &scale))
		return bad_number(l, start, end, -EINVAL);
	if (__builtin_mul_overflow(v, scale, &v))
		return bad_number(l, start, end, -ERANGE);
	l->at = end;
	t->kind = TOKEN_INT;
	t->number = v;
	return 0;
}

/* One escape; l->at is behind the backslash. */
static int lex_escape(struct lexer *l, char *ret)
{
	static const char from[] = "ntr0abfv\\\"'?e", to[] = "\n\t\r\0\a\b\f\v\\\"'?\033";
	char c = l->text[l->at];
	if (c == 'x') {
		u32 v = 0, nr = 0;
		for (l->at++; nr < 2 && l->at < l->end && digit_of(l->text[l->at]) < 16;
		     nr++, l->at++)
			v = v * 16 + (u32)digit_of(l->text[l->at]);
		*ret = (char)v;
		return nr ? 0 : -EINVAL;
	}
	if (c >= '0' && c <= '7') {
		u32 v = 0;
		for (u32 nr = 0; nr < 3 && l->at < l->end && digit_of(l->text[l->at]) < 8;
		     nr++, l->at++)
			v = v * 8 + (u32)digit_of(l->text[l->at]);
		*ret = (char)v;
		return v < 256 ? 0 : -EINVAL;
	}
	const char *hit = c ? strchr(from, c) : NULL;
	if (!hit)
		return -EINVAL;
	*ret = to[hit - from];
	l->at++;
	return 0;
}

static int lex_string(struct lexer *l, struct token *t)
{
	u32 start = l->at++;
	char *to = arena_alloc(l->arena, l->end - start + 1);
	if (!to)
		return -ENOMEM;
	u32 nr = 0;
	while (l->at < l->end && l->text[l->at] != '"' && l->text[l->at] != '\n') {
		char c = l->text[l->at++];
		if (c == '\\' && l->at < l->end) {
			if (l->text[l->at] == '\n') {
				l->at++;
				continue;
			}
			if (lex_escape(l, &c))
				return lang_error(l->diag, l->text, l->at - 1, 2, -EINVAL,
						  "unknown escape in a string");
		}
		to[nr++] = c;
	}
	if (l->at >= l->end || l->text[l->at] != '"')
		return lang_error(l->diag, l->text, start, 1, -EINVAL, "string without an end");
	l->at++;
	to[nr] = 0;
	t->kind = TOKEN_STRING;
	t->text = to;
	t->text_len = nr;
	return 0;
}

static int lex_name(struct lexer *l, struct token *t, enum token_kind kind)
{
	u32 from = l->at;
	while (l->at < l->end && is_name(l->text[l->at]))
		l->at++;
	t->kind = kind;
	t->text = arena_strndup(l->arena, l->text + from, l->at - from);
	return t->text ? 0 : -ENOMEM;
}

static int lex_dollar(struct lexer *l, struct token *t)
{
	u32 start = l->at++;
	char c = l->at < l->end ? l->text[l->at] : 0;
	if (c == '#') {
		l->at++;
		t->kind = TOKEN_PARAM_COUNT;
		return 0;
	}
	if (isdigit((unsigned char)c)) {
		for (; l->at < l->end && isdigit((unsigned char)l->text[l->at]); l->at++)
			t->number = min(t->number * 10 + (u64)(l->text[l->at] - '0'), 1000000ull);
		t->kind = TOKEN_PARAM;
		return 0;
	}
	if (!is_name(c))
		return lang_error(l->diag, l->text, start, 1, -EINVAL,
				  "expected the name of a variable after '$'");
	return lex_name(l, t, TOKEN_VAR);
}

/* The text of a #define comes in place of its name. */
static bool enter_define(struct lexer *l, u32 start)
{
	struct lex_define *d = find_define(l, l->text + start, l->at - start);
	if (!d || d->busy || l->nr_stack == ARRAY_SIZE(l->stack))
		return false;
	u32 s = start, len = l->at - start;
	if (l->nr_stack) {
		s = l->stack[l->nr_stack - 1].start;
		len = l->stack[l->nr_stack - 1].len;
	}
	l->stack[l->nr_stack].at = l->at;
	l->stack[l->nr_stack].end = l->end;
	l->stack[l->nr_stack].start = s;
	l->stack[l->nr_stack].len = len;
	l->stack[l->nr_stack].define = d;
	l->nr_stack++;
	d->busy = true;
	l->at = d->from;
	l->end = d->end;
	return true;
}

static int lex_operator(struct lexer *l, struct token *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t len = strlen(operators[i].text);
		if (l->end - l->at >= len && !memcmp(l->text + l->at, operators[i].text, len)) {
			l->at += (u32)len;
			t->kind = operators[i].kind;
			return 0;
		}
	}
	return lang_error(l->diag, l->text, l->at, 1, -EINVAL,
			  l->text[l->at] == '\'' ? "strings are in double quotes"
						 : "unexpected character");
}

static int lex_one(struct lexer *l, struct token *t)
{
	char c = l->text[l->at];
	if (isdigit((unsigned char)c))
		return lex_number(l, t);
	if (c == '"')
		return lex_string(l, t);
	if (c == '$')
		return lex_dollar(l, t);
	if (c == '@') {
		l->at++;
		return lex_name(l, t, TOKEN_MAP);
	}
	if (is_name(c))
		return lex_name(l, t, TOKEN_IDENT);
	return lex_operator(l, t);
}

void lex_next(struct lexer *l, struct token *ret)
{
	for (;;) {
		*ret = (struct token){ .kind = TOKEN_END };
		u32 before = l->at;
		int err = settle(l);
		u32 start = l->at;
		ret->after_space = start != before;
		if (!err && l->at < l->end)
			err = lex_one(l, ret);
		if (err) {
			l->err = err;
			ret->kind = TOKEN_BAD;
		}
		if (ret->kind == TOKEN_IDENT && enter_define(l, start))
			continue;
		ret->start = l->nr_stack ? l->stack[0].start : start;
		ret->len = l->nr_stack ? l->stack[0].len : max(1u, l->at - start);
		return;
	}
}
