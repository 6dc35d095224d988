/* The workload with statically defined probes: provider "sonde", arguments of several types. */
#include "workload/workload.h"

#include <sys/sdt.h>

WORKLOAD_FN int workload_usdt(const struct workload_args *a)
{
	static const char *const texts[] = { "even", "odd" };
	u64 sum = 0;
	DTRACE_PROBE1(sonde, begin, a->n);
	for (u32 i = 0; i < a->n; i++) {
		u64 square = (u64)i * i;
		DTRACE_PROBE3(sonde, step, i, square, texts[i & 1]);
		sum += square;
	}
	DTRACE_PROBE1(sonde, end, sum);
	return 0;
}
