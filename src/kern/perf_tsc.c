#include "kern/perf_tsc.h"

#include "kern/perf_event.h"
#include "kern/perf_ring.h"

#include <errno.h>
#include <unistd.h>

int perf_tsc_read(struct perf_tsc *ret)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.disabled = 1,
					.exclude_kernel = 1 };
	struct sysroot root;
	struct perf_opener opener;
	struct perf_ring ring;
	int err = sysroot_open(&root, NULL);
	if (err)
		return err;
	perf_opener_init(&opener, &root);
	_cleanup_close_ int fd = perf_opener_open(&opener, &attr, 0, -1, -1);
	sysroot_close(&root);
	if (fd < 0)
		return fd;
	err = perf_ring_open(&ring, fd, 1, false);
	if (err)
		return err;
	const struct perf_event_mmap_page *p = ring.page;
	*ret = (struct perf_tsc){ .mult = p->time_mult, .shift = p->time_shift };
	bool known = p->cap_user_time && p->time_mult && p->time_shift < 64;
	perf_ring_close(&ring);
	return known ? 0 : -EOPNOTSUPP;
}
