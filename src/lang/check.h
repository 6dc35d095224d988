/*
 * Types of all expressions. Maps and variables get theirs from every place that uses them, so all blocks are walked until nothing
 * changes. What a block's code is made for is one attach point: its nodes hold the types of the point that was walked last.
 */
#pragma once

#include "lang/ast.h"
#include "lang/compile.h"
#include "lang/types.h"

struct checker {
	const struct lang_input *in;
	struct program *program;
	struct script *script;
	struct diag *diag;
	struct arena *arena;
	struct probe_block *block;
	u32 point; /* number of the probe */
	const struct program_probe *probe; /* it */
	const struct program_type **args; /* [probe]: the type of args; NULL: not looked up yet */
	struct btf_memo *memos; /* types and members that were looked up */
	bool changed;
	bool final; /* nothing changes any more: what is not known now is an error */
	u32 nest; /* conditions and loops around */
	u32 loops;
	int err;
};

int check_script(struct checker *c) must_check;
/* The types of a block for one of its attach points. After check_script(). */
int check_point(struct checker *c, struct probe_block *b, u32 point) must_check;

/* For built-ins. NULL: not known yet, or wrong. */
const struct program_type *check_expr(struct checker *c, struct node *n);
/* Adds an error that points at the node. */
int check_fail(struct checker *c, const struct node *n, int err, const char *fmt, ...)
	printf_like(4, 5);
/* The number that an expression always is. */
bool check_constant(const struct checker *c, const struct node *n, s64 *ret);
/* A plain number, which takes the sign of what it meets. */
bool check_is_literal(const struct node *n);
const struct program_type *check_type_spec(struct checker *c, const struct type_spec *s);
/* The argument has to be a number, else there is an error. */
bool check_number(struct checker *c, struct node *n);
/* The type of `args` of the point; NULL: there is none, with an error. */
const struct program_type *check_args(struct checker *c, const struct node *n);
const struct program_field *type_find_field(const struct program_type *t, const char *name);
/* A value with the type of the map's, or of its key. */
void check_map_value(struct checker *c, struct node *n, const struct program_type *t, bool literal);
