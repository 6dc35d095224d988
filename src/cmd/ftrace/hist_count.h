/* Histograms of one event where the kernel makes none: the event is recorded while a command runs, or until Ctrl-C, and counted here. */
#pragma once

#include "analysis/event_hist.h"
#include "cmd/app/app.h"

/* hist: the event, keys and the rest; who names symbols and tasks is set here. filter: the kernel's, or NULL. Returns the exit status. */
int ftrace_count_recorded(struct app *app, struct event_hist_opts hist, const char *filter,
			  int argc, char **argv);
