/* `sonde ftrace hist FILE`: the call chains of a trace.dat, counted, in trace-cmd's layout. */
#pragma once

#include "session/tell.h"

/* all_pids: tasks are not told apart. 0 or negative errno with a diag. */
int call_chains_print(const struct tell *to, const char *path, bool all_pids) must_check;
