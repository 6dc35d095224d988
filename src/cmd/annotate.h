/* One annotated function as text, for who shows it inside something else. */
#pragma once

#include "cmd/symbols.h"

/*
 * f: a function of a run over the same recording; event: of its catalogue. -ENOENT: nothing to show, and app->diag says why (which is
 * for the caller to show or to forget).
 */
int annotate_function(struct app *app, const char *input, const struct symbol_opts *symbols,
		      const struct name_func *f, u32 event, struct strbuf *to) must_check;
