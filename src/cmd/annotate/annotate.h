/* The browser of annotated functions, for who opens it inside another one. */
#pragma once

#include "cmd/app/app.h"
#include "session/symbols.h"

/*
 * Begins at f, a function of a run over the same recording, by an event of its catalogue (the first of its group). 0 when it is left;
 * negative errno: nothing was drawn, and `why` says what is missing.
 */
int annotate_browse(struct app *app, const char *input, const struct symbol_opts *symbols,
		    const struct name_func *f, u32 event, struct strbuf *why) must_check;

struct annotate_given;
struct annotate_opts;
/* The same over what another run has counted, or is still counting. style: how code is written, and .symbols. */
int annotate_browse_given(struct app *app, const struct annotate_given *given,
			  const struct annotate_opts *style, const struct name_func *f, u32 event,
			  struct strbuf *why) must_check;
