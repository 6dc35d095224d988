/* Which clock a source's times are on. Unlike clocks are never merged silently. */
#pragma once

#include "base/types.h"

enum {
	TIMEBASE_CLOCK_UNKNOWN = -1
}; /* perf's own clock (sched_clock), or a file that does not say */

struct timebase {
	s32 clock_id; /* CLOCK_MONOTONIC ..., or TIMEBASE_CLOCK_UNKNOWN */
	const char *name; /* as the source calls it: "local", "mono", "perf"; borrowed from the source */
	s64 offset_ns; /* added to a time to get the common time line */
	u64 mult; /* ns = (t * mult) >> shift; 0: times are ns already */
	u32 shift;
	u64 wall_ref_ns; /* CLOCK_REALTIME at the moment that the clock showed ref_ns; 0: unknown */
	u64 ref_ns;
};
