/* The browser of annotated functions, for who opens it inside another one. */
#pragma once

#include "analysis/annotate.h"
#include "cmd/app/app.h"
#include "session/symbols.h"
#include "view/text_annotate.h"

/*
 * Begins at f, a function of a run over the same recording, by an event of its catalogue (the first of its group). 0 when it is left;
 * negative errno: nothing was drawn, and `why` says what is missing.
 */
int annotate_browse(struct app *app, const char *input, const struct symbol_opts *symbols,
		    const struct name_func *f, u32 event, struct strbuf *why) must_check;
/* What a run has counted that was not one of ours: its source, hits, and the frames they are on. */
struct annotate_given {
	struct source *src;
	struct annotate *hits;
	const struct frame_table *frames;
};

/*
 * Calls back for the functions of the heaviest event, heaviest first: at most max_funcs that have code, and at least that share of the
 * event's weight. style: the source lines. Ends with the first error that is returned. Says nothing. given: instead of
 * the recording `input`; NULL: that.
 */
int annotate_each(struct app *app, const char *input, const struct annotate_given *given,
		  const struct symbol_opts *symbols, u32 max_funcs, double min_percent,
		  int (*fn)(void *ctx, const struct annotation *a,
			    const struct text_annotate_opts *style),
		  void *ctx) must_check;
