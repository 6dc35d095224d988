/* Names of perf's Perl and Python scripts: what does the same here. */
#pragma once

#include "cmd/app/app.h"

/* What there is for each of them, on standard output. */
int script_names_list(struct app *app);
/*
 * "flamegraph" or "report flamegraph" draws the recording; another script's name is answered with what does the same. False: the words
 * are no script's; else *status is the exit status.
 */
bool script_names_run(struct app *app, const char *input, int argc, char **argv, int *status);
