/*
 * Tracepoints as Chrome's trace events (JSON), which Perfetto and chrome://tracing show: every event is an instant with its fields;
 * sched_switch also says who ran on a CPU, and sys_enter with sys_exit how long a system call took.
 */
#pragma once

#include "base/strbuf.h"
#include "model/source.h"

struct chrome_trace;

/* catalog: the source's, whole once it is prepared. to may have a drain. NULL: no memory. */
struct chrome_trace *chrome_trace_new(const struct catalog *c, struct strbuf *to);
/* To be run with one worker: it needs all events in order. */
struct sink *chrome_trace_sink(struct chrome_trace *t);
/* The end of the file. nr: events written. */
int chrome_trace_finish(struct chrome_trace *t, u64 *nr) must_check;
void chrome_trace_free(struct chrome_trace *t);
