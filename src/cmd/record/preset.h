/*
 * Recording for an analysis: `lock record` and its like are `record` with their events and settings in place, and take all of its options.
 *
 *	.opts = record_rows, .opts_size = sizeof(struct record_opts), .run = one that calls record_run_preset()
 */
#pragma once

#include "cmd/record/record.h"

struct record_preset {
	const char *const *events; /* recorded before those of -e; NULL-terminated */
	bool system_wide; /* always; else as `record` does */
	bool sampled; /* not every occurrence, but at `record`'s own frequency */
	const char *call_graph; /* unless another one was asked for; NULL: none */
};

int record_run_preset(struct app *app, struct record_opts *o, const struct record_preset *p,
		      int argc, char **argv);
/* Whether the running kernel has all of "SYSTEM:EVENT" up to NULL. */
bool record_kernel_has(const char *const *events);
