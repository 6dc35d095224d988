/* The tokens of a print fmt: words, numbers with the types that C gives them, strings, operators. */
#include "wire/print_fmt_parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

void *parser_fail(struct print_fmt_parser *p, const char *what)
{
	if (!p->err) {
		p->err = -EINVAL;
		p->what = what;
	}
	p->tok = TOK_END;
	return NULL;
}

void *parser_no_memory(struct print_fmt_parser *p)
{
	parser_fail(p, "out of memory");
	p->err = -ENOMEM;
	return NULL;
}

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

static void lex_number(struct print_fmt_parser *p)
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
			parser_fail(p, "malformed number");
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

static void lex_quoted(struct print_fmt_parser *p, char quote)
{
	const char *at = p->at + 1;
	while (at < p->end && *at != quote)
		at += *at == '\\' && p->end - at > 1 ? 2 : 1;
	if (at >= p->end) {
		parser_fail(p, "unterminated quote");
		return;
	}
	p->tok_at = p->at + 1;
	p->tok_len = (size_t)(at - p->tok_at);
	p->at = at + 1;
	p->tok = TOK_STR;
	if (quote == '"')
		return;
	if (!p->tok_len) {
		parser_fail(p, "empty character constant");
		return;
	}
	const char *c = p->tok_at;
	p->num = (u64)(*c == '\\' && p->tok_len > 1 ? (c++, unescape(&c, at)) : *c);
	p->num_size = 4;
	p->num_sign = true;
	p->tok = TOK_NUM;
}

static void lex_operator(struct print_fmt_parser *p)
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

void token_next(struct print_fmt_parser *p)
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

bool token_accept(struct print_fmt_parser *p, int tok)
{
	if (p->tok != tok)
		return false;
	token_next(p);
	return true;
}

void token_expect(struct print_fmt_parser *p, int tok)
{
	if (!token_accept(p, tok))
		parser_fail(p, "unexpected token");
}

bool token_is_word(const struct print_fmt_parser *p, const char *word)
{
	return p->tok == TOK_IDENT && p->tok_len == strlen(word) &&
	       !memcmp(p->tok_at, word, p->tok_len);
}

bool token_accept_word(struct print_fmt_parser *p, const char *word)
{
	if (!token_is_word(p, word))
		return false;
	token_next(p);
	return true;
}

struct mark token_mark(const struct print_fmt_parser *p)
{
	return (struct mark){ p->at, p->tok_at, p->tok_len, p->num, p->tok, p->num_size, p->num_sign };
}

void token_back(struct print_fmt_parser *p, struct mark m)
{
	p->at = m.at;
	p->tok_at = m.tok_at;
	p->tok_len = m.tok_len;
	p->num = m.num;
	p->tok = p->err ? TOK_END : m.tok;
	p->num_size = m.num_size;
	p->num_sign = m.num_sign;
}

void token_skip_balanced(struct print_fmt_parser *p)
{
	unsigned depth = 1;
	while (p->tok != TOK_END && depth) {
		if (p->tok == '(' || p->tok == '{')
			depth++;
		else if (p->tok == ')' || p->tok == '}')
			depth--;
		if (depth)
			token_next(p);
	}
}

char *token_strings(struct print_fmt_parser *p, size_t *len)
{
	size_t room = 0, n = 0;
	struct mark m = token_mark(p);
	if (p->tok != TOK_STR)
		return parser_fail(p, "expected a string");
	for (; p->tok == TOK_STR; token_next(p))
		room += p->tok_len;
	if (p->err)
		return NULL;
	token_back(p, m);
	char *to = arena_alloc(p->arena, room + 1);
	if (!to)
		return parser_no_memory(p);
	for (; p->tok == TOK_STR; token_next(p)) {
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
