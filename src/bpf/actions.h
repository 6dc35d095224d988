/*
 * What user space does for a program: each record that comes through the ring names an action, which prints, reads a map, or ends the run.
 * Output goes into the caller's buffers; nothing here writes to a file or a terminal.
 */
#pragma once

#include "base/diag.h"
#include "bpf/load.h"
#include "bpf/naming.h"
#include "bpf/value.h"

struct actions {
	const struct program *program;
	const struct loaded *loaded;
	struct value_style style;
	struct strbuf *out; /* what the script prints */
	struct strbuf *err; /* errorf(), warnf() and errors of the run */
	bool json; /* one object a line, as bpftrace -f json */
	bool allow_unsafe; /* system() */
	/* Filled in. */
	bool exit; /* exit() was called: the run is over */
	s32 status; /* that it was called with */
	u64 nr_records, nr_bad; /* handled; not understood */
	u64 cleared; /* bits of the first 64 maps that clear() was called for: without keys they are not printed while they are zero */
};

/* A record of the ring, as ring_fn: 0, 1 after exit(). ctx: a struct actions. */
int actions_record(void *ctx, const void *data, u32 len);

/* All maps of the script that have something in them, by name, as at the end of a run. 0 or negative errno. */
int actions_print_maps(struct actions *a) must_check;
/* The same as OpenMetrics (bpf/metrics.h). */
int actions_metrics(struct actions *a, struct strbuf *to) must_check;
