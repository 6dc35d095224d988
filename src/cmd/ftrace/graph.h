/* A file of the function graph tracer as a table of functions, for `perf ftrace profile`. */
#pragma once

#include "cmd/app/app.h"

/* sort: total, avg, max, count, name; NULL: total. 0 or negative errno. */
int ftrace_graph_as_perf(struct app *app, const char *path, const char *sort) must_check;
