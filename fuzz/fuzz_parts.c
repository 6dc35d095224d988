/* The plan of a recording that was cut off, as `ftrace restore` reads it. */
#include "tracing/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char folder[] = "/tmp/sonde-fuzz-XXXXXX", path[64];
	struct parts p;
	struct diag d;
	if (!mkdtemp(folder))
		abort();
	(void)snprintf(path, sizeof(path), "%s/plan", folder);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)close(fd);
	diag_init(&d);
	parts_init(&p);
	if (!parts_load(&p, folder, &d)) {
		/* What was accepted can be worked with. */
		if (p.nr_cpus > TRACEDAT_CPUS_MAX || (p.version != 6 && p.version != 7))
			abort();
		vec_for_each (&p.buffers, b)
			if (!b->name || !b->folder || !b->clock || !b->page_size)
				abort();
	}
	parts_done(&p);
	diag_done(&d);
	(void)unlink(path);
	(void)rmdir(folder);
	return 0;
}
