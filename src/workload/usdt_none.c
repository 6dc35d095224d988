/* Stands in for workload_usdt.c where <sys/sdt.h> is missing. */
#include "workload/workload.h"

#include <errno.h>

int workload_usdt(const struct workload_args *a)
{
	diag_error(a->d, -ENOTSUP, "this build has no USDT probes");
	diag_hint(a->d, "it was compiled without <sys/sdt.h> (Debian: systemtap-sdt-dev)");
	return -ENOTSUP;
}
