/*
 * What a reader of raw tracepoint data needs to know, in the form that perf.data (feature TRACING_DATA) and trace.dat share:
 * page and event headers, the formats of the given events, printk formats and task names. Kernel symbols are left out: readers
 * have better ones.
 */
#pragma once

#include "kern/tracefs.h"

/* Appends it. events: those recorded. 0 or negative errno with a diag. */
int tracing_data_build(const struct tracing *t, const struct tracing_event *events, size_t nr,
		       struct strbuf *to, struct diag *d) must_check;
