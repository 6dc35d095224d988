/* /proc/schedstat: two texts, one after the other, and what happened in between. */
#include "analysis/schedstat.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct schedstat before, after, between, mean;
	struct diag d;
	size_t used;
	volatile u64 sum = 0;
	diag_init(&d);
	if (!schedstat_parse(&before, (const char *)data, size, &used, &d)) {
		if (used > size)
			abort();
		if (!schedstat_parse(&after, (const char *)data + used, size - used, &used, &d)) {
			if (!schedstat_between(&between, &before, &after, &d)) {
				vec_for_each (&between.domains, dom)
					sum += strlen(dom->cpus) +
					       (dom->name ? strlen(dom->name) : 0);
				sum += (u64)schedstat_mean(&mean, &between);
				schedstat_done(&mean);
			}
			schedstat_done(&between);
		}
		schedstat_done(&after);
	}
	schedstat_done(&before);
	diag_done(&d);
	(void)sum;
	return 0;
}
