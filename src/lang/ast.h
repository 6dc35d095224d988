/*
 * The tree of a script. One kind of node serves expressions and statements; which of its fields mean something depends on the kind. Nodes
 * and their texts live in the arena of the program.
 */
#pragma once

#include "model/program.h"

enum node_kind {
	/* expressions */
	NODE_INT, /* number; is_unsigned: above INT64_MAX */
	NODE_BOOL, /* number */
	NODE_STRING, /* text, number: length */
	NODE_IDENT, /* text: a built-in value or a constant */
	NODE_VAR, /* $text, var */
	NODE_MAP, /* @text, list: keys, map */
	NODE_PARAM, /* $1: number */
	NODE_PARAM_COUNT, /* $# */
	NODE_CALL, /* text, list: arguments */
	NODE_UNARY, /* op, a */
	NODE_BINARY, /* op, a, b */
	NODE_TERNARY, /* a ? b : c; b NULL: a ?: c */
	NODE_MEMBER, /* a.text; arrow was written: number 1 */
	NODE_INDEX, /* a[b]; of a tuple also a.1 */
	NODE_CAST, /* (spec)a */
	NODE_TUPLE, /* list; of a record each has its name in label */
	NODE_SIZEOF, /* spec, or a */
	NODE_OFFSETOF, /* spec or a, text: member path */
	NODE_TYPE, /* typeof(...): spec. Not a value */
	NODE_INLINE, /* a call of a function of the script: list: its parameters, b: its body, a: its result or NULL, spec: of that */
	NODE_READ, /* the number that an aggregate is now: a, of all CPUs; made by check */
	NODE_STEP, /* ++ or --: op TOKEN_INC, TOKEN_DEC; a; number: 1 before the operand */
	/* statements */
	NODE_ASSIGN, /* a op b; op: TOKEN_ASSIGN or a compound one */
	NODE_EXPR, /* a, its value dropped; number 1: on purpose (_ = a) */
	NODE_IF, /* a, b, c: else or NULL; number 1: a is known, and what is not taken may be wrong (if comptime) */
	NODE_WHILE, /* a, b */
	NODE_UNROLL, /* a times b */
	NODE_RANGE, /* for $text : a..b { c } */
	NODE_FOR_MAP, /* for $text : a { c } */
	NODE_BLOCK, /* list */
	NODE_RETURN, /* a or NULL; number 1: from a function of the script, b: its result or NULL */
	NODE_BREAK,
	NODE_CONTINUE,
	NODE_LET, /* a: variable; spec or NULL; b: value or NULL */
};

/* A type as it was written. */
struct type_spec {
	const char *name; /* "uint64", "struct task_struct", "string" */
	u32 stars;
	u32 count; /* [N] behind it; 0: none */
	struct node *of; /* typeof(expression) in place of the name */
	u32 start, len;
};

struct node {
	enum node_kind kind;
	u8 op; /* enum token_kind */
	bool is_unsigned;
	bool unused; /* of an expression: nobody takes the value */
	bool warned; /* about it, once */
	u32 start, len; /* in the script */
	struct node *next; /* in a list */
	struct node *a, *b, *c, *list;
	u32 nr; /* in list */
	s64 number;
	const char *text;
	const char *label; /* of a member of a record: (label=...) */
	struct type_spec *spec;
	const struct program_type *type; /* by check */
	union {
		struct var *var;
		struct map *map;
		const struct builtin *builtin;
		const struct program_field *field; /* MEMBER */
	};
	u32 action; /* CALL that is run here: number of its action */
};

/* A variable of one probe. */
struct var {
	const char *name;
	const struct program_type *type;
	struct var *next;
	u32 start, len; /* where it was first written */
	u32 scope, scope_end; /* order numbers of the block it belongs to */
	bool declared; /* with a type */
	bool is_literal; /* only numbers were assigned: takes the sign of what comes */
	bool needs_zero; /* may be read before it is assigned */
	bool is_copy; /* of a struct or array: of its bytes, not of where it is */
	int reg; /* lower: of a scalar */
	s32 place; /* lower: of others */
	bool placed, in_scratch;
	u64 value; /* interpret */
	void *bytes;
};

struct map {
	const char *name; /* with the @ */
	const struct program_type *key, *value; /* NULL: not known yet */
	bool is_scalar, used_keyed, used_scalar, is_literal, assigned;
	u32 max_entries; /* 0: the configured */
	u32 type; /* declared BPF_MAP_TYPE_*; 0: by use */
	u32 start, len;
	u32 number; /* in program.maps */
	struct map *next;
};

struct probe_block {
	struct node *predicate; /* or NULL */
	struct node *body;
	struct var *vars;
	u32 first_point, nr_points; /* in program.probes */
	struct probe_block *next;
};

struct script {
	struct probe_block *blocks;
	u32 nr_blocks;
	struct map *maps;
	struct macro *macros;
	struct function *functions;
	struct cdef *cdefs;
	struct cdef_constant *constants;
	struct cdef_enum *enums;
	struct cdef_alias *aliases;
	bool uses_ksym; /* then func is a symbol, too, so that both fit into one map */
};
