/*
 * Percentiles of durations without keeping them: counted in buckets that are exact below 128 and less than one part in 128 wide above. The
 * maximum is exact.
 */
#pragma once

#include "base/types.h"

enum {
	PERCENTILES_BITS = 7,
	PERCENTILES_BUCKETS = (64 - PERCENTILES_BITS + 1) << PERCENTILES_BITS
};

struct percentiles {
	u64 nr, max;
	u64 buckets[PERCENTILES_BUCKETS];
};

void percentiles_add(struct percentiles *p, u64 v);
/* The value that so many percent are not above: the upper end of its bucket. 0 when there is none. */
u64 percentiles_at(const struct percentiles *p, double percent);
