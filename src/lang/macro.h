/*
 * Macros: a call becomes a copy of the macro's block, whose last expression is its value. A parameter $x stands for a variable, @x for a
 * map, x for any expression, which is put in wherever it is used. Other variables of the macro are its own.
 */
#pragma once

#include "lang/ast.h"
#include "lang/compile.h"

struct macro_param {
	enum node_kind kind; /* NODE_VAR, NODE_MAP, NODE_IDENT */
	const char *name;
};

struct macro {
	const char *name;
	struct macro_param params[16];
	u32 nr;
	struct node *body;
	u32 start, len;
	struct macro *next;
};

/* fn name($x: type): type { ... }: its code goes in wherever it is called, with variables of its own. */
struct function {
	const char *name;
	struct macro_param params[16];
	struct type_spec *specs[16];
	u32 nr;
	struct type_spec *result; /* NULL: none */
	struct node *body;
	struct function *next;
};

/* Replaces all calls of macros and functions in the blocks of the script. */
int macro_expand(struct script *s, struct arena *a, const struct lang_input *in,
		 struct diag *d) must_check;
