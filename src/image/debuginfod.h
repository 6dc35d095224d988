/*
 * Debug files by build id from servers (debuginfod), with elfutils' own client library, which is loaded at the first request. It takes the
 * servers and its cache folder from the environment: whoever opens this has made sure that both may be used.
 */
#pragma once

#include "image/debugfile.h"

struct debuginfod_config {
	u64 stall_ns; /* a request that nothing comes for so long is the last one */
	u64 total_ns; /* the same when all of them together took so long */
	/* From whichever thread asks, one at a time: bytes of the file named by hex; total 0: not known yet. done SIZE_MAX: it ended. */
	void (*progress)(void *ctx, const char *hex, size_t done, size_t total);
	void *ctx;
};

/* What debugfile_where wants, for the life of the process: a request may still run when it ends. NULL: no memory. */
struct debugfile_fetch *debuginfod_new(const struct debuginfod_config *cfg);
