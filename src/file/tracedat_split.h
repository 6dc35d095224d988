/*
 * A stretch of a trace.dat as a file of its own, or the whole in pieces. Pages that lie in a stretch as a whole are copied; of those
 * that its ends cut, the events inside are put together again.
 */
#pragma once

#include "base/diag.h"
#include "file/tracedat_read.h"

struct tracedat_split {
	const char *input; /* for messages */
	const char *output; /* becomes OUTPUT.1, OUTPUT.2 ... */
	u64 start, end; /* times of the file; end 0: its end; the end itself is not part of it */
	u64 step_ns, events; /* of a piece; 0 and 0: all in one */
	bool repeat; /* all pieces, not the first only */
	bool one_cpu;
	u64 cpu;
};

struct tracedat_split_done {
	u64 files, events;
};

/* 0 or negative errno with a diag. */
int tracedat_split(struct tracedat *from, const struct tracedat_split *o,
		   struct tracedat_split_done *ret, struct diag *d) must_check;
