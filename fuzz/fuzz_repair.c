/* Any bytes as a recording to repair: what comes out is whole, and a second repair finds nothing to do. */
#include "file/perfdata_read.h"
#include "file/perfdata_repair.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (!size || size > 1 << 20)
		return 0;
	int fd = memfd_create("repair", MFD_CLOEXEC);
	struct perfdata_repaired first, second;
	struct perfdata_repair_opts o = { .in_dir = data[size - 1] & 1 };
	struct diag d;
	diag_init(&d);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!perfdata_repair(fd, "input", &o, &first, &d)) {
		if (perfdata_repair(fd, "input", &o, &second, &d) || !second.was_whole ||
		    second.nr_samples != first.nr_samples || second.kept_bytes != first.kept_bytes)
			abort();
	} else if (!d.nr_errors) {
		abort(); /* refused without a word */
	}
	diag_done(&d);
	close(fd);
	return 0;
}
