/*
 * The language of SystemTap, its core, as a second way to the tree of ast.h: types, code and everything after it are those of the other
 * language. What has no counterpart there is refused with its place.
 *
 *	stap_parse     globals, functions, probes, statements
 *	stap_expr      expressions
 *	stap_point     probe points, the aliases of its library, variables of the context ($x, $$parms)
 *	stap_call      its functions by row; what is printed, with the types of arguments found here
 *
 * A local is a variable, a global a map. A statistic (<<<) is a map for each of the operators (@count, @sum ...) that the script asks it for.
 * The body of a probe is read once for each of its points, since names in it mean something else at each. Functions become macros.
 */
#pragma once

#include "lang/ast.h"
#include "lang/compile.h"

/* As parse_script(). */
int stap_parse(const struct lang_input *in, struct program *p, struct script *ret,
	       struct diag *d) must_check;
