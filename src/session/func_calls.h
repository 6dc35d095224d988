/*
 * How often kernel functions were called, and how long they took: from calls that the function graph tracer recorded, or from the
 * kernel's function profiler.
 */
#pragma once

#include "analysis/func_stat.h"
#include "session/tell.h"
#include "session/trace_answer.h"
#include "tracing/setup.h"

struct func_calls {
	struct tell to;
	struct func_stat *stat; /* of func_calls.c */
};

/* The kernel's table, or JSON. One worker. */
struct trace_answer func_calls_answer(struct func_calls *c);

/* The profiler runs, for the functions of the first buffer; after ftrace_setup_begin(). */
int func_calls_profile(struct ftrace_setup *f) must_check;
/* It ends, and its table is printed. */
int func_calls_profiled(struct func_calls *c, struct ftrace_setup *f) must_check;
void func_calls_done(struct func_calls *c);
