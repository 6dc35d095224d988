/* What the parser of expressions and their evaluation share. */
#pragma once

#include "base/expr.h"

enum expr_builtin { BUILTIN_MIN, BUILTIN_MAX, BUILTIN_ABS, BUILTIN_D_RATIO, BUILTIN_NONE };

/* Says why, pointing at text[start, end). Returns err. */
int expr_fail(struct diag *d, const char *text, size_t start, size_t end, int err, const char *why);
