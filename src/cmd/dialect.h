/* Called by another tool's name (a link to the binary), we are that tool's command line. */
#pragma once

#include "base/types.h"

struct dialect {
	const char *called; /* last component of argv[0] */
	const char *
		verb; /* the command that its whole command line belongs to; NULL: its words are our own verbs */
	const char *version; /* what --version answers: scripts look at it */
};

/* NULL: our own name, or one that means nothing. */
const struct dialect *dialect_find(const char *argv0);
