/* Recording for who wants an answer and no file. */
#pragma once

#include "cmd/app/app.h"
#include "cmd/ftrace/setup_opts.h"

/*
 * Traces by f (which is used up: ftrace_setup_end() was called) while the command runs, or until Ctrl-C, into a file that is gone
 * afterwards; look() sees it before, when there is one. Returns the exit status: that of the command, 1 when something failed.
 */
int ftrace_record_and(struct app *app, struct ftrace_setup *f, int argc, char **argv,
		      int (*look)(void *ctx, const char *path), void *ctx);
