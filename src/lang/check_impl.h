/* Between the files of the checker. */
#pragma once

#include "lang/check.h"

struct builtin;

const struct program_type *check_wrong(struct checker *c, const struct node *n, const char *text,
				       const struct program_type *t);
/* An aggregate that is a number becomes the read of it: where its value is meant, not the map. */
void check_read(struct checker *c, struct node **at);
/* check_expr() and that. */
const struct program_type *check_value(struct checker *c, struct node **at);
/* $nr; NULL: there are fewer. */
const char *check_param(const struct lang_input *in, s64 nr);
bool check_fold(u8 op, s64 a, s64 b, bool is_signed, s64 *ret);
/* Whether an operation on the two goes by sign. */
bool check_signed_op(const struct node *a, const struct node *b);
/* The number, cut and extended as the type says. */
s64 check_fit(s64 v, const struct program_type *t);
const struct program_type *check_struct(struct checker *c, const char *name);
const struct program_type *check_kernel_member(struct checker *c, struct node *n,
					       const struct program_type *t);
/* The type of `args` of fentry, fexit and rawtracepoint. */
const struct program_type *check_kernel_args(struct checker *c, const struct node *n);
/* The result of the function of an fexit, and where it is in the context. */
const struct program_type *check_kernel_result(struct checker *c, const struct node *n, s64 *offset);
/* Of sizeof and offsetof: spec, or a. */
const struct program_type *check_type_or_value(struct checker *c, struct node *n);
const struct program_type *check_offsetof(struct checker *c, struct node *n);
/* Where "a.b" is in a type of the kernel ("struct dentry"), in bytes. */
bool check_member_offset(struct checker *c, const char *type, const char *path, s64 *ret);
/* A constant: an enumerator of the kernel's types. */
const struct program_type *check_name(struct checker *c, struct node *n);
/* A block that a macro became: the value of its last expression. */
const struct program_type *check_block_value(struct checker *c, struct node *n);
/* The same as check_constant(), and what is known about types: is_str(x). */
bool check_known(const struct checker *c, const struct node *n, s64 *ret);
/* The code of a function of the script. */
const struct program_type *check_inline(struct checker *c, struct node *n);
/* May be in a tuple, a map or a variable. */
bool check_is_copyable(const struct program_type *t);
/* The type with all of its members, for whoever prints it; t itself where it is no struct of the kernel's. */
const struct program_type *check_whole_type(struct checker *c, const struct program_type *t);
struct var *check_find_var(struct checker *c, const char *name);
const struct program_type *check_var(struct checker *c, struct node *n);
/* The variable gets a value of the type; literal: a plain number. */
void check_var_takes(struct checker *c, struct node *n, const struct program_type *t, bool literal);
/* Adds the error for a map that has no value anywhere. */
void check_never_assigned(struct checker *c, const struct node *n);
const struct program_type *check_map(struct checker *c, struct node *n);
const struct program_type *check_member(struct checker *c, struct node *n);
const struct program_type *check_index(struct checker *c, struct node *n);
const struct program_type *check_deref(struct checker *c, struct node *n);
/* clear(@x): the map itself is the argument, not its value. */
bool check_map_as_argument(const struct builtin *b);
