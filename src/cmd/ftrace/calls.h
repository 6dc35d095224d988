/* `sonde ftrace hist FILE`: the call chains of a trace.dat, counted, in trace-cmd's layout. */
#pragma once

#include "cmd/app/app.h"

/* all_pids: tasks are not told apart. The exit status. */
int ftrace_calls_print(struct app *app, const char *path, bool all_pids);
