/*
 * Called by another tool's name (a link to the binary), we are that tool's command line. One row a tool: either its whole
 * command line is one of our commands (.verb), or it has verbs, options and settings of its own (.run).
 */
#pragma once

#include "cmd/app/app.h"

struct dialect {
	const char *called; /* last component of argv[0] */
	const char *verb; /* our command that its whole command line belongs to; NULL: .run */
	int (*run)(struct app *app, int argc, char **argv); /* returns the exit status */
	const char *version; /* what --version answers: scripts look at it */
	bool quiet_notes; /* notes, which the tool does not have, only with -v */
	const char *pager; /* its own variable for $PAGER, or NULL */
};

/* NULL: our own name, or one that means nothing. */
const struct dialect *dialect_find(const char *argv0);
