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
void *parser_no_memory(struct parser *p);

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

void token_next(struct parser *p);
/* Whether the token is this one; steps behind it then. */
bool token_accept(struct parser *p, int tok);
/* Fails where another one stands. */
void token_expect(struct parser *p, int tok);
bool token_is_word(const struct parser *p, const char *word);
bool token_accept_word(struct parser *p, const char *word);
struct mark token_mark(const struct parser *p);
void token_back(struct parser *p, struct mark m);
/* To the bracket that closes one which is open already. */
void token_skip_balanced(struct parser *p);
/* String literals behind each other, joined and unescaped; NULL with p->err. */
char *token_strings(struct parser *p, size_t *len);

/* ---- print_fmt_node.c: NULL with p->err; operators and conversions hand on an operand that is NULL ---- */

struct node *node_new(struct parser *p, enum node_kind kind, const struct node *a,
		      const struct node *b);
/* A third child that node_new() has no room for. */
const struct node *node_third(struct parser *p, struct node *n, const struct node *c);
const struct node *node_num(struct parser *p, u64 v, u8 size, bool sign);
/* A number that only the kernel knew. What depends on it prints as "?", since no number would be true. */
const struct node *node_unknown(struct parser *p);
bool node_is_number(const struct node *n);
const struct node *node_cast(struct parser *p, const struct node *a, u8 size, bool sign);
/* Anything as a number: bytes become "are they there". */
const struct node *node_number(struct parser *p, const struct node *a);
const struct node *node_promote(struct parser *p, const struct node *a);
/* With C's usual arithmetic conversions. */
const struct node *node_binary(struct parser *p, enum node_kind kind, const struct node *a,
			       const struct node *b);
const struct node *node_unary(struct parser *p, enum node_kind kind, const struct node *a);
const struct node *node_cond(struct parser *p, const struct node *a, const struct node *b,
			     const struct node *c);
/* Fails for what is not an array. */
const struct node *node_bytes_only(struct parser *p, const struct node *a);

/* ---- print_fmt_type.c ---- */

struct ctype {
	u8 size; /* 0: not known */
	bool sign;
	bool pointer;
};

/* Words and stars. False, and the lexer stands anywhere, when this is no type. *sure: it is nothing else. */
bool ctype_parse(struct parser *p, struct ctype *ret, bool *sure);

/* ---- print_fmt_call.c ---- */

/* The arguments of a call, behind its '(', and the ')'. */
const struct node *parser_call(struct parser *p, const char *name, size_t len);

/* ---- print_fmt_parse.c ---- */

const struct node *parser_expr(struct parser *p);
/*
 * A name that the event has as a field; NULL with p->err. An event may have two fields of one name, a data_loc and a plain one:
 * dynamic says which is meant.
 */
const struct schema_field *parser_field_name(struct parser *p, bool dynamic);
