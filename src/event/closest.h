/* The name that was probably meant: candidates are offered one by one, the best is kept. */
#pragma once

#include "base/types.h"

struct closest {
	const char *word;
	size_t len;
	const char *best; /* NULL: nothing close was offered; borrowed from the offerer */
	u32 distance;
};

void closest_init(struct closest *c, const char *word, size_t len);
void closest_offer(struct closest *c, const char *candidate);
