/* The browser of annotated functions, for who opens it inside another one. */
#pragma once

#include "cmd/app/app.h"
#include "session/symbols.h"
#include "view/text_annotate.h"

/*
 * Begins at f, a function of a run over the same recording, by an event of its catalogue (the first of its group). 0 when it is left;
 * negative errno: nothing was drawn, and `why` says what is missing.
 */
int annotate_browse(struct app *app, const char *input, const struct symbol_opts *symbols,
		    const struct name_func *f, u32 event, struct strbuf *why) must_check;
/*
 * Calls back for the functions of the heaviest event, heaviest first: at most max_funcs that have code, and at least that share of the
 * event's weight. style: the source lines. Ends with the first error that is returned. Says nothing.
 */
int annotate_each(struct app *app, const char *input, const struct symbol_opts *symbols,
		  u32 max_funcs, double min_percent,
		  int (*fn)(void *ctx, const struct annotation *a,
			    const struct text_annotate_opts *style),
		  void *ctx) must_check;
