/*
 * The one expression language: filters of samples and events, metrics over counts.
 *
 *	next_pid == 17 && comm ~ "ssh*"        instructions / cycles        max(a, b) if #smt_on else 0
 *
 *	c ? a : b    a if c else b             (loosest)
 *	||
 *	&&
 *	|   ^   &
 *	==  !=  <  <=  >  >=
 *	~  glob      =~  !~  extended regular expression; on the right a quoted string
 *	<<  >>
 *	+  -
 *	*  /  %
 *	-  !  ~      before an operand
 *	123  0x7f  1.5e3  "text"  'text'  name  f(a, b)  (a)
 *
 * A name is letters, digits and _ . : @ # $ (not a digit first), and \ before any other character; blanks keep the ':' of
 * "c ? a : b" out of a name. Functions: min, max, abs, d_ratio (a quotient that is 0 when the divisor is), and those of the caller.
 *
 * Whole numbers are exact: every s64 and u64 and their sums. '/' is exact where it divides and else a float. As in C, a
 * comparison is 0 or 1 and && || ?: do not look at what they do not need.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"

#include <regex.h>

typedef __int128 s128;

enum expr_type { EXPR_INT, EXPR_FLOAT, EXPR_STR };

struct expr_value {
	enum expr_type type;
	union {
		s128 i;
		double f;
		const char *s; /* of the expression, or of the environment while it is evaluated */
	};
};

enum expr_op {
	EXPR_VALUE, /* value */
	EXPR_IDENT, /* ident: index into idents */
	EXPR_CALL, /* func; args: kids[0], and each one's .next */
	EXPR_COND, /* kids: condition, then, else */
	EXPR_OR,
	EXPR_AND,
	EXPR_BIT_OR,
	EXPR_BIT_XOR,
	EXPR_BIT_AND,
	EXPR_EQ,
	EXPR_NE,
	EXPR_LT,
	EXPR_LE,
	EXPR_GT,
	EXPR_GE,
	EXPR_GLOB,
	EXPR_REGEX,
	EXPR_NOT_REGEX,
	EXPR_SHL,
	EXPR_SHR,
	EXPR_ADD,
	EXPR_SUB,
	EXPR_MUL,
	EXPR_DIV,
	EXPR_MOD,
	EXPR_NEG,
	EXPR_NOT,
	EXPR_BIT_NOT,
};

struct expr_node {
	enum expr_op op;
	u32 start, len; /* in the text */
	u32 depth; /* of the tree below, at most EXPR_DEPTH_MAX */
	struct expr_node *kids[3];
	struct expr_node *next; /* argument after this one */
	struct expr_value value;
	u32 ident;
	u32 nr_args;
	u32 builtin; /* of expr_impl.h, for EXPR_CALL */
	const char *func;
	regex_t *regex; /* EXPR_REGEX, EXPR_NOT_REGEX */
};

enum { EXPR_DEPTH_MAX = 400, EXPR_ARGS_MAX = 32 };

struct expr {
	struct arena arena; /* of everything here */
	const char *text;
	const struct expr_node *root;
	VEC(const char *) idents; /* each name once, in order of appearance */
	VEC(regex_t *) regexes;
};

/* What names and the caller's functions mean. Both return 0, or negative errno with or without a diag of their own. */
struct expr_env {
	int (*get)(void *ctx, u32 ident, const char *name, struct expr_value *ret);
	int (*call)(void *ctx, const char *func, const struct expr_value *args, u32 nr,
		    struct expr_value *ret);
	void *ctx;
};

/*
 * funcs: names of the functions that env->call knows, NULL-terminated, or NULL. 0, -EINVAL with a diag that points into
 * text, -E2BIG, or -ENOMEM. On failure there is nothing to free.
 */
int expr_parse(struct expr *e, const char *text, const char *const *funcs,
	       struct diag *d) must_check;
void expr_done(struct expr *e);

/* 0; -EDOM division by zero; -EINVAL a string where a number is needed; -ENOENT or what the environment returned. */
int expr_eval(const struct expr *e, const struct expr_env *env, struct expr_value *ret,
	      struct diag *d) must_check;

/*
 * Whether a filter lets something pass. What cannot be told of it (a name that env->get refuses) is false, and only the comparison that it
 * stands in.
 */
bool expr_holds(const struct expr *e, const struct expr_env *env);
/* Marks names that are compared with strings: as_text[ident]. */
void expr_mark_text(const struct expr *e, bool *as_text);

/* Whether a value counts as true: not 0, not "". */
bool expr_true(const struct expr_value *v);
/* As a float; NaN for a string. */
double expr_float(const struct expr_value *v);

static inline struct expr_value expr_int(s128 i)
{
	return (struct expr_value){ .type = EXPR_INT, .i = i };
}
