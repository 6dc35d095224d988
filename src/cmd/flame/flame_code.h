/* Source and assembly of the functions of a flame graph that have most weight of their own, for its page. */
#pragma once

#include "cmd/annotate/annotate.h"
#include "cmd/app/app.h"
#include "session/symbols.h"
#include "model/flame.h"

/*
 * Adds to flame->codes what is known of the recording's heaviest functions. Reads the recording once more, so large ones are left alone.
 * What cannot be shown is left out without a word: the graph does not need it. -ENOMEM, or 0.
 */
int flame_code_add(struct app *app, const char *path, const struct symbol_opts *symbols,
		   struct flame *flame) must_check;
/* The same of what was counted in a live run. */
int flame_code_add_live(struct app *app, const struct annotate_given *given,
			const struct symbol_opts *symbols, struct flame *flame) must_check;
