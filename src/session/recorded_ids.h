/* The binaries of a recording with their build ids: those its table lists, or only those in which samples lie. */
#pragma once

#include "model/source.h"

enum recorded_which {
	RECORDED_ALL, /* the table; without one, as RECORDED_HIT */
	RECORDED_HIT, /* where a sample's own address lies */
	RECORDED_CHAINS, /* where any address of its call chain lies */
};

struct recorded_id {
	const char *path; /* "[kernel.kallsyms]", "/tmp/perf-1.map" for code without a file */
	const u8 *id;
	u32 size; /* 0: not known */
	bool by_hits; /* not of the table: */
	bool guest; /* it is a virtual machine's */
};

/* Those of the table in its order, then others as they appeared. 0, fn's result, or negative errno. */
int recorded_ids(struct source *src, enum recorded_which which,
		 int (*fn)(void *ctx, const struct recorded_id *id), void *ctx,
		 struct diag *d) must_check;
/* Where perf keeps files by build id: $PERF_BUILDID_DIR or ~/.debug. NULL: not known, or not to be taken from whoever runs us. */
const char *recorded_cache_dir(char *buf, size_t size);
