/* From text to tree. */
#pragma once

#include "lang/ast.h"
#include "lang/compile.h"
#include "lang/token.h"

enum { PARSE_DEPTH_MAX = 100 };

struct parser {
	struct lexer lex;
	struct token t; /* the next one */
	struct arena *arena;
	const struct lang_input *in;
	struct program *program;
	struct script *script;
	struct diag *diag;
	u32 depth;
	bool in_predicate;
	const char *setting; /* of the environment, that is being set; or NULL */
	u32 last_end; /* of the token before */
	int err; /* the first one; from then on nothing is read */
};

/* The script's maps and blocks; program->probes. */
int parse_script(const struct lang_input *in, struct program *p, struct script *ret,
		 struct diag *d) must_check;

/* Kinds of probes, for the manual. false: there are no more. */
struct provider_about {
	const char *name, *brief; /* brief: "" where there is none */
	const char *form, *about;
};
bool provider_describe(u32 i, struct provider_about *ret);

/* One attach point, "kprobe:vfs_read": -EINVAL with a diag. */
int provider_parse(const struct lang_input *in, struct program *p, const char *text, u32 start,
		   u32 len, struct diag *d) must_check;

/*
 * Attach points whose arguments may be in several places (patterns, static probes, lines) become one for each: when the tree is complete. 0, or
 * negative errno.
 */
int parse_expand_points(struct parser *p) must_check;

/* parse.c's pieces for parse_expr.c */
struct node *parse_node(struct parser *p, enum node_kind kind);
void parse_next(struct parser *p);
bool parse_take(struct parser *p, enum token_kind kind);
bool parse_expect(struct parser *p, enum token_kind kind, const char *what);
void parse_fail(struct parser *p, int err, const char *fmt, ...) printf_like(3, 4);
bool parse_word(const struct parser *p, const char *word);
/* Ends the span of a node at what was read last. */
struct node *parse_end(struct parser *p, struct node *n);
struct map *parse_map_named(struct parser *p, const char *name);

struct node *parse_block(struct parser *p);
struct node *parse_expr(struct parser *p);
struct node *parse_unary(struct parser *p);
/* Appends to n->list up to the closing token. */
void parse_list(struct parser *p, struct node *n, enum token_kind close);
/* A type as in casts and declarations; NULL after an error. */
struct type_spec *parse_type(struct parser *p);
/* A type and the end of its parenthesis is next, not an expression. */
bool parse_is_type(struct parser *p);
