/* How the kernel turns the processor's time stamp counter into nanoseconds, as perf's shared page tells. */
#pragma once

#include "base/types.h"

/* ns since the counter began = tsc * mult >> shift */
struct perf_tsc {
	u32 mult, shift;
};

/* -EOPNOTSUPP where the kernel itself does not go by that counter (another architecture, most virtual machines), or negative errno. */
int perf_tsc_read(struct perf_tsc *ret) must_check;
