/* How long something takes: durations as a histogram in powers of two, and their percentiles. view/latency.h prints them. */
#pragma once

#include "model/histogram.h"

enum {
	LATENCY_POWERS = 21
}; /* up to a second in microseconds, a millisecond in nanoseconds; the last has the rest */

struct latency_hist {
	struct histogram units; /* LOG2, in microseconds or nanoseconds: opts.unit is "us" or "ns" */
	struct histogram times; /* LOGLINEAR, in nanoseconds */
};

int latency_hist_init(struct latency_hist *l, bool in_ns) must_check;
void latency_hist_done(struct latency_hist *l);
void latency_hist_add(struct latency_hist *l, u64 ns);
