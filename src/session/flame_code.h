/* Source and assembly of the functions of a flame graph that have most weight of their own, for its page. */
#pragma once

#include "model/flame.h"
#include "session/annotate_run.h"

struct flame_code_from {
	const char *path; /* a recording, which is read once more, so large ones are left alone; or: */
	const struct annotate_given *given; /* what was counted in a live run; NULL: the recording */
	struct symbols *names;
	const struct symbol_opts *symbols;
	struct opener *opener; /* of source files */
};

/*
 * Adds to flame->codes what is known of the heaviest functions. What cannot be shown is left out without a word: the graph does not need it.
 * -ENOMEM, or 0.
 */
int flame_code_add(const struct flame_code_from *from, struct flame *flame) must_check;
