/*
 * Samples beside something else that is recorded, and whose command and loop are somebody else's: `ftrace record --with-samples`.
 */
#pragma once

#include "cmd/app/app.h"

struct record_beside_opts {
	const char *output;
	const char *clock; /* as -k has it */
	u64 frequency;
	const char *pids; /* comma separated, with what they start; NULL: the command, or the whole system */
	int command_pid; /* that waits to be let go; 0: none */
	const char *program; /* its name */
};

struct record_beside;

/* Before there are threads: events and file are open, and a watchdog completes it should we be killed. 0 or negative errno with a diag. */
int record_beside_open(struct record_beside **ret, struct app *app,
		       const struct record_beside_opts *o) must_check;
/* Those of a command begin with its exec. */
int record_beside_start(struct record_beside *b) must_check;
/* The file is whole afterwards, or gone (discard: there was nothing to sample); nothing where there is none (NULL). */
int record_beside_stop(struct record_beside *b, bool discard) must_check;
void record_beside_close(struct record_beside *b);
