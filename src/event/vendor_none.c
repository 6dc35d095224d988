/* Built without libpfm4: no vendor names. */
#include "event/vendor.h"

#include <errno.h>

int vendor_encode(const char *name, struct perf_event_attr *attr, const char **why)
{
	return -EOPNOTSUPP;
}

int vendor_each(bool all, int (*fn)(void *ctx, const struct vendor_event *e), void *ctx)
{
	return -EOPNOTSUPP;
}
