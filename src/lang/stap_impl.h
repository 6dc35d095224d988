/* Between the files of the SystemTap parser. */
#pragma once

#include "base/vec.h"
#include "lang/macro.h"
#include "lang/parse.h"

enum stap_stat {
	STAP_COUNT,
	STAP_SUM,
	STAP_AVG,
	STAP_MIN,
	STAP_MAX,
	STAP_HIST_LOG,
	STAP_HIST_LINEAR,
	STAP_STATS, /* of one that is never read: printed at the end */
	STAP_NR_STATS,
};

enum { STAP_KEYS_MAX = 8, STAP_GLOBAL = 0 };

/* A global, a local of a probe or function, or a function (its value is its result). */
struct stap_symbol {
	const char *name;
	u32 scope; /* STAP_GLOBAL, or the number of a body */
	bool is_array, is_function, is_string, is_written;
	u32 reads;
	bool key_is_string[STAP_KEYS_MAX];
	u32 stats; /* bits of stap_stat that are asked for */
	bool is_stat;
	struct node *linear; /* low, high, step of @hist_linear */
	struct node *init;
	u32 start, len;
	struct stap_symbol *params; /* of a function, by .next_param */
	struct stap_symbol *next_param;
	u32 nr_params;
	struct stap_symbol *next;
};

/* The value, or a key, of the symbol is this expression somewhere: its type is found from all of them. */
struct stap_fact {
	struct stap_symbol *symbol;
	s32 key; /* -1: the value */
	struct node *value;
};

/* x <<< value: filled in when all operators on x are known. */
struct stap_add {
	struct node *block; /* empty so far */
	struct stap_symbol *symbol;
	struct node *keys;
	u32 nr_keys;
	struct node *value;
	u32 scope;
};

/* A call of a function of the script, or of one that prints. */
struct stap_call {
	struct node *node;
	u8 kind; /* enum stap_print; 0: of the script */
};

struct stap_alias;

/* What a body is read for. */
struct stap_context {
	bool is_function;
	enum program_provider provider;
	const char *target, *name;
	bool is_glob;
	const struct stap_alias *alias;
	const char *call; /* of syscall.NAME */
	const struct schema *schema; /* of a tracepoint; NULL: not known */
};

struct stap {
	struct parser p;
	char *text; /* without comments */
	u32 scope; /* of the body that is read */
	u32 nr_scopes;
	u32 nr_made; /* names of our own */
	u32 loops; /* around the statement */
	u32 step_from; /* of a for: where its step is in the text; 0: none */
	bool wants_exit; /* exit() was called in the body */
	bool wants_event; /* the body has something that is another thing for each event of a pattern */
	struct stap_context at;
	struct stap_symbol *symbols;
	struct stap_symbol *function; /* that is read */
	u32 nr_returns;
	struct node *zeros; /* assignments to be made first: locals that are counted up before they have a value */
	VEC(struct stap_fact) facts;
	VEC(struct stap_add) adds;
	VEC(struct stap_call) calls;
};

/* stap_parse.c */
struct stap_symbol *stap_find(struct stap *s, const char *name, u32 scope);
struct stap_symbol *stap_add_symbol(struct stap *s, const char *name, u32 scope);
void stap_note(struct stap *s, struct stap_symbol *to, s32 key, struct node *value);
/* An error at a node that was read before; the first one counts. */
void stap_fail_at(struct stap *s, const struct node *n, int err, const char *fmt, ...)
	printf_like(4, 5);
/* The text of a buffer, which is done with; NULL: no memory. */
const char *stap_keep(struct stap *s, struct strbuf *text);
/* Nodes with the span of another. */
struct node *stap_node(struct stap *s, enum node_kind kind, const struct node *at);
struct node *stap_int(struct stap *s, s64 number, const struct node *at);
struct node *stap_string(struct stap *s, const char *text, const struct node *at);
struct node *stap_var(struct stap *s, const char *name, const struct node *at);
struct node *stap_name(struct stap *s, const char *name, const struct node *at);
struct node *stap_call_of(struct stap *s, const char *name, struct node *args,
			  const struct node *at);
struct node *stap_assign(struct stap *s, struct node *to, struct node *value);
struct node *stap_cast(struct stap *s, const char *type, u32 stars, struct node *a);
struct node *stap_binary(struct stap *s, enum token_kind op, struct node *a, struct node *b);
struct node *stap_statement_of(struct stap *s, struct node *expr);
struct node *stap_copy(struct stap *s, const struct node *n);
void stap_append(struct node *block, struct node *statement);
/* The map of a global, or of one operator on a statistic. */
struct node *stap_map(struct stap *s, const struct stap_symbol *y, s32 stat, const struct node *at);
/* Another token follows the next one without a blank: for operators that the lexer splits. */
bool stap_joined(const struct stap *s, enum token_kind first, enum token_kind second);

/* stap_expr.c */
struct node *stap_expr(struct stap *s);
/* Is the value 0 or 1? Such become numbers when they are kept. */
struct node *stap_number(struct stap *s, struct node *n);

/* stap_point.c: a point in SystemTap's notation becomes one of ours; the context is that of the body to be read. */
int stap_points(struct stap *s, struct probe_block *b, const struct stap_alias **ret_alias);
void stap_enter(struct stap *s, const struct program_probe *p, const struct stap_alias *a);
/* $name; NULL after an error. */
struct node *stap_target(struct stap *s, const char *name, const struct node *at);
/* $$parms and the like. */
struct node *stap_all_targets(struct stap *s, const char *name, const struct node *at);
/* A name that the probe gives a meaning; NULL: none, or an error. */
struct node *stap_context_name(struct stap *s, const char *name, const struct node *at);

/* stap_call.c */
/* name(args) whose parenthesis is next. */
struct node *stap_call(struct stap *s, const char *name, struct node *at);
/* Whether an expression is a text, as far as it is known. */
bool stap_is_string(const struct stap *s, const struct node *n);
/* Types of all symbols, then the formats of all that prints, then the tree without what only this parser knows. */
void stap_finish_calls(struct stap *s);
