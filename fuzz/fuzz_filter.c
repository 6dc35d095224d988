/* The filter of an event, checked against a format: a fault lies inside of the text. */
#include "event/filter.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct tracing t;
	struct filter_fault f;
	char *text = malloc(size + 1);
	if (!text || tracing_open(&t, FUZZ_DATA "/sysroot/vm-no-pmu"))
		abort();
	memcpy(text, data, size);
	text[size] = 0;
	int err = filter_check(&t, "sched", "sched_switch", text, &f);
	if (err < 0 && err != -ENOMEM && (size_t)f.at.start + f.at.len > strlen(text) + 1)
		abort();
	tracing_close(&t);
	free(text);
	return 0;
}
