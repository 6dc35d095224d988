/* Hits that probes of a run had to let pass: the kernel counts them per probe, from its definition on. */
#pragma once

#include "kern/tracefs.h"
#include "probe/kernel.h"

struct probe_misses {
	u64 hits; /* inside of another probe */
	u64 returns; /* of calls that were too many at once, or as above */
};

/* Sums over kernel probes for which is_meant says so. Zeros where nothing can be read. */
struct probe_misses
probe_misses_read(const struct tracing *t,
		  bool (*is_meant)(void *ctx, const char *group, const char *event), void *ctx);
/* Warns of what was missed between the two. */
void probe_misses_report(const struct probe_misses *before, const struct probe_misses *now,
			 struct diag *d);
