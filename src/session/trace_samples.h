/* Samples of a perf.data between the events of a trace that was recorded by the same clock (`ftrace record --with-samples`). */
#pragma once

#include "base/strbuf.h"
#include "session/symbols.h"

struct trace_samples;

/*
 * Reads all samples of a perf.data, with their names. clock: the trace's, NULL for local; -EINVAL with a diag when the times of the
 * two cannot be compared.
 */
int trace_samples_open(struct trace_samples **ret, struct symbols *sy, const char *path,
		       const char *trace, const char *clock) must_check;
void trace_samples_close(struct trace_samples *s);
/* Writes those that were not written yet and are not later than until_ns, as lines of a report or as JSON. */
void trace_samples_write(struct trace_samples *s, u64 until_ns, bool nanoseconds, bool json,
			 struct strbuf *to);
