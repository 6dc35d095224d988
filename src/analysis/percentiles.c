#include "analysis/percentiles.h"

enum { STEPS = 1 << PERCENTILES_BITS };

void percentiles_add(struct percentiles *p, u64 v)
{
	unsigned shift = v < STEPS ? 0 : 63 - (unsigned)__builtin_clzll(v) - PERCENTILES_BITS;
	size_t i = v < STEPS ? v : (size_t)(shift + 1) * STEPS + (size_t)((v >> shift) - STEPS);
	p->buckets[i]++;
	p->max = max(p->max, v);
	p->nr++;
}

static u64 upper_end(size_t i)
{
	if (i < STEPS)
		return i;
	unsigned shift = (unsigned)(i / STEPS) - 1;
	u64 first = (u64)(STEPS + i % STEPS) << shift;
	return first + ((1ull << shift) - 1);
}

u64 percentiles_at(const struct percentiles *p, double percent)
{
	double wanted = (double)p->nr * percent / 100;
	u64 seen = 0;
	for (size_t i = 0; i < PERCENTILES_BUCKETS; i++) {
		seen += p->buckets[i];
		if (seen && (double)seen >= wanted)
			return min(upper_end(i), p->max);
	}
	return 0;
}
