/*
 * Inside of the parser of print fmt: what its files share. All of them work on struct parser (print_fmt_impl.h), whose err is
 * sticky: after a failure the text is at its end and nobody makes nodes any more, so that only a loop's end has to look.
 *
 *	print_fmt_token   text → tokens
 *	print_fmt_node    nodes, with C's types
 *	print_fmt_type    names of types
 *	print_fmt_call    helpers and functions of the kernel, one row each
 *	print_fmt_parse   expressions
 */
#pragma once

#include "wire/print_fmt_impl.h"

/* Sets -ENOMEM. Returns NULL. */
void *parser_no_memory(struct print_fmt_parser *p);

/* ---- print_fmt_token.c ---- */

/* Of one character: that character. */
enum {
	TOK_END = 0,
	TOK_IDENT = 256,
	TOK_NUM,
	TOK_STR,
	TOK_ARROW,
	TOK_SHL,
	TOK_SHR,
	TOK_LE,
	TOK_GE,
	TOK_EQ,
	TOK_NE,
	TOK_LOGAND,
	TOK_LOGOR,
};

/* Where the lexer stands, to look ahead and come back. */
struct mark {
	const char *at, *tok_at;
	size_t tok_len;
	u64 num;
	int tok;
	u8 num_size;
	bool num_sign;
};

void token_next(struct print_fmt_parser *p);
/* Whether the token is this one; steps past it then. */
bool token_accept(struct print_fmt_parser *p, int tok);
/* Fails where another one stands. */
void token_expect(struct print_fmt_parser *p, int tok);
bool token_is_word(const struct print_fmt_parser *p, const char *word);
bool token_accept_word(struct print_fmt_parser *p, const char *word);
struct mark token_mark(const struct print_fmt_parser *p);
void token_back(struct print_fmt_parser *p, struct mark m);
/* To the bracket that closes one which is open already. */
void token_skip_balanced(struct print_fmt_parser *p);
/* String literals one after the other, joined and unescaped; NULL with p->err. */
char *token_strings(struct print_fmt_parser *p, size_t *len);

/* ---- print_fmt_node.c: NULL with p->err; operators and conversions hand on an operand that is NULL ---- */

struct print_fmt_node *node_new(struct print_fmt_parser *p, enum print_fmt_node_kind kind,
				const struct print_fmt_node *a, const struct print_fmt_node *b);
/* A third child that node_new() has no room for. */
const struct print_fmt_node *node_third(struct print_fmt_parser *p, struct print_fmt_node *n,
					const struct print_fmt_node *c);
const struct print_fmt_node *node_num(struct print_fmt_parser *p, u64 v, u8 size, bool sign);
/* A number that only the kernel knew. What depends on it prints as "?", since no number would be true. */
const struct print_fmt_node *node_unknown(struct print_fmt_parser *p);
bool node_is_number(const struct print_fmt_node *n);
const struct print_fmt_node *node_cast(struct print_fmt_parser *p, const struct print_fmt_node *a,
				       u8 size, bool sign);
/* Anything as a number: bytes become "are they there". */
const struct print_fmt_node *node_number(struct print_fmt_parser *p, const struct print_fmt_node *a);
const struct print_fmt_node *node_promote(struct print_fmt_parser *p,
					  const struct print_fmt_node *a);
/* With C's usual arithmetic conversions. */
const struct print_fmt_node *node_binary(struct print_fmt_parser *p, enum print_fmt_node_kind kind,
					 const struct print_fmt_node *a,
					 const struct print_fmt_node *b);
const struct print_fmt_node *node_unary(struct print_fmt_parser *p, enum print_fmt_node_kind kind,
					const struct print_fmt_node *a);
const struct print_fmt_node *node_cond(struct print_fmt_parser *p, const struct print_fmt_node *a,
				       const struct print_fmt_node *b,
				       const struct print_fmt_node *c);
/* Fails for what is not an array. */
const struct print_fmt_node *node_bytes_only(struct print_fmt_parser *p,
					     const struct print_fmt_node *a);

/* ---- print_fmt_type.c ---- */

struct ctype {
	u8 size; /* 0: not known */
	bool sign;
	bool pointer;
};

/* Words and stars. False, and the lexer stands anywhere, when this is no type. *sure: it is nothing else. */
bool ctype_parse(struct print_fmt_parser *p, struct ctype *ret, bool *sure);

/* ---- print_fmt_call.c ---- */

/* The arguments of a call, after its '(', and the ')'. */
const struct print_fmt_node *parser_call(struct print_fmt_parser *p, const char *name, size_t len);

/* ---- print_fmt_parse.c ---- */

const struct print_fmt_node *parser_expr(struct print_fmt_parser *p);
/*
 * A name that the event has as a field; NULL with p->err. An event may have two fields of one name, a data_loc and a plain one:
 * dynamic says which is meant.
 */
const struct schema_field *parser_field_name(struct print_fmt_parser *p, bool dynamic);
