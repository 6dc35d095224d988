/* What is kept of a script in its program, for lang_interpret(). */
#pragma once

#include "lang/ast.h"
#include "lang/check.h"

struct lang_tree {
	struct lang_input in; /* its text and parameters are copies */
	struct script script;
	struct checker check;
};

/* NULL: no memory. */
struct lang_tree *tree_keep(struct program *p, const struct checker *c);
