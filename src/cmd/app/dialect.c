#include "cmd/app/dialect.h"

#include "cmd/perf/perf.h"

#include <string.h>

static const struct dialect own = {
	.called = "sonde",
	.version = "sonde version " SONDE_VERSION,
	.pager = "SONDE_PAGER",
};

static const struct dialect dialects[] = {
	{ .called = "perf",
	  .run = perf_run,
	  .version = perf_version_line,
	  .pager = "PERF_PAGER",
	  .quiet_notes = true,
	  .plain_names = true,
	  .plain_code = true,
	  .hides_guests = true,
	  .records_as_perf = true,
	  .perf_closing_lines = true,
	  .prints_to_stderr = true,
	  .missing_event_is_usage = true,
	  .ends_with_table = true,
	  .streams_unnamed = true,
	  .no_aux_status = true,
	  .lists_as_perf = true,
	  .archives_as_perf = true,
	  .perf_cache_messages = true },
	{ .called = "trace-cmd",
	  .verb = "ftrace",
	  .version = "trace-cmd version " SONDE_VERSION " (sonde)",
	  .pager = "SONDE_PAGER",
	  .traces_until_ctrl_c = true,
	  .reset_needs_no_force = true,
	  .check_always_succeeds = true,
	  .plain_times = true },
	{ .called = "bpftrace",
	  .verb = "run",
	  .version = "bpftrace v" SONDE_VERSION " (sonde)",
	  .pager = "SONDE_PAGER",
	  .attaches_as_bpftrace = true },
	{ .called = "stap",
	  .verb = "run",
	  .version = "Systemtap translator/driver (version " SONDE_VERSION ", sonde)",
	  .pager = "SONDE_PAGER",
	  .reads_stap = true },
};

const struct dialect *dialect_find(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	const char *called = slash ? slash + 1 : argv0;
	for (size_t i = 0; i < ARRAY_SIZE(dialects); i++)
		if (!strcmp(dialects[i].called, called))
			return &dialects[i];
	return &own;
}
