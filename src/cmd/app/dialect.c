#include "cmd/app/dialect.h"

#include "cmd/perf/perf.h"

#include <string.h>

static const struct dialect dialects[] = {
	{ .called = "perf",
	  .run = perf_run,
	  .version = perf_version_line,
	  .quiet_notes = true,
	  .pager = "PERF_PAGER" },
	{ .called = "trace-cmd",
	  .verb = "ftrace",
	  .version = "trace-cmd version " SONDE_VERSION " (sonde)" },
	{ .called = "bpftrace", .verb = "run", .version = "bpftrace v" SONDE_VERSION " (sonde)" },
};

const struct dialect *dialect_find(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	const char *called = slash ? slash + 1 : argv0;
	for (size_t i = 0; i < ARRAY_SIZE(dialects); i++)
		if (!strcmp(dialects[i].called, called))
			return &dialects[i];
	return NULL;
}
