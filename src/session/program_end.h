/*
 * End blocks run here, over the maps in the kernel: without a verifier and its limits. What they print goes through the actions of the ring, so
 * it looks the same. Loops over maps go by the order in which print() shows the rows.
 */
#pragma once

#include "bpf/actions.h"

struct program_end {
	struct actions *actions;
	const struct loaded *loaded;
	int (*flush)(void *ctx); /* of struct program_run_opts */
	void *flush_ctx;
	int err; /* what flush returned */
	int signal; /* that ended a block; 0: none */
};

/* The probe, which is .here: 0, negative errno with a diag. A signal ends it with a warning. */
int program_end_run(struct program_end *e, u32 probe, struct diag *d) must_check;
