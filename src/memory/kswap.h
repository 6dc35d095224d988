/* Swap areas. */
#pragma once

#include "memory/kfiles.h"

struct kswap {
	u64 addr; /* of its struct swap_info_struct; 0: the symbol list has no swap_info */
	bool is_partition;
	s32 priority;
	u64 size, used; /* bytes */
	const char *path; /* lives for the call */
};

/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*kswap_fn)(void *ctx, const struct kswap *swap);
/* From memory; of the running kernel without symbols of variables from /proc/swaps. Negative errno with a diag. */
int kswaps_each(struct kspace *k, kswap_fn fn, void *ctx) must_check;
