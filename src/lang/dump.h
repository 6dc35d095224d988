/* The tree as text, for -d. */
#pragma once

#include "base/strbuf.h"
#include "lang/ast.h"

/* types: with the type of each expression and map. */
void dump_script(const struct script *s, const struct program *p, bool types, struct strbuf *to);
