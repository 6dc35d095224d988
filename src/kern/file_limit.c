#include "kern/file_limit.h"

#include "base/types.h"

#include <sys/resource.h>

static const rlim_t wanted = 1 << 20;

int file_limit_raise(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= wanted)
		return 0;
	/* Root may also raise the hard one. */
	struct rlimit higher = { .rlim_cur = wanted, .rlim_max = max(l.rlim_max, wanted) };
	if (!setrlimit(RLIMIT_NOFILE, &higher))
		return 1;
	rlim_t before = l.rlim_cur;
	l.rlim_cur = min(l.rlim_max, wanted);
	return l.rlim_cur > before && !setrlimit(RLIMIT_NOFILE, &l);
}
