/* Values and texts in the kernel's memory, over a range of addresses. */
#pragma once

#include "memory/kspace.h"

enum { SEARCH_TEXT_MAX = 256 };

struct memory_search {
	u64 start, end; /* end: after the last byte */
	unsigned bytes; /* of a value: 2, 4 or 8, at multiples of it */
	const u64 *values;
	size_t nr_values;
	u64 ignored; /* bits that may differ */
	const char *text; /* instead of values: this, anywhere; up to SEARCH_TEXT_MAX characters */
};

struct search_hit {
	u64 addr;
	u64 value; /* as it is there, with the ignored bits */
	const char *after; /* of a text: what follows it, nr_after bytes */
	size_t nr_after;
};

/* What was looked at: pages that cannot be read are passed over. */
struct search_end {
	u64 hits;
	u64 pages, unreadable;
};

/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*search_fn)(void *ctx, const struct search_hit *hit);
/* -EINVAL with a diag. */
int search_run(struct kspace *k, const struct memory_search *s, search_fn fn, void *ctx,
	       struct search_end *ret) must_check;

/* Ranges of the linear mapping that are memory, from /proc/iomem. -ENOTSUP with a diag: of a dump, or where the mapping begins is not known. */
typedef int (*search_range_fn)(void *ctx, u64 start, u64 end);
int search_memory(struct kspace *k, search_range_fn fn, void *ctx) must_check;
