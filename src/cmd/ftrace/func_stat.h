/* `ftrace profile --functions`: the table of the kernel's function profiler, from it or from the function graph tracer. */
#pragma once

#include "cmd/ftrace/setup_opts.h"

/* Of a trace.dat. 0 or negative errno with a diag. */
int ftrace_func_stat_file(struct app *app, const char *path) must_check;
/* While the command runs, or until Ctrl-C; ends the setup. Returns the exit status. */
int ftrace_func_stat_live(struct app *app, struct ftrace_setup *f, int argc, char **argv);
