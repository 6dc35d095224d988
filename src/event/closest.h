/* The name that was probably meant: candidates are offered one by one, the best is kept. */
#pragma once

#include "base/types.h"

struct closest {
	char word[65];
	const char *best; /* NULL: nothing close was offered; borrowed from the offerer */
	unsigned distance;
};

void closest_init(struct closest *c, const char *word, size_t len);
/* Whether it is the best so far. */
bool closest_offer(struct closest *c, const char *candidate);
