/*
 * Names that a print format gives to numbers: `{ 3, "NET_RX" }` in __print_symbolic(). Formats come from files and may be a megabyte long, so
 * a list is read once and not for every event.
 */
#pragma once

#include "base/arena.h"
#include "base/dict.h"
#include "base/vec.h"

struct symbolic {
	struct dict of; /* number -> index */
	VEC(const char *) names;
};

void symbolic_init(struct symbolic *s);
void symbolic_done(struct symbolic *s);
/* Adds the pairs from `from` up to `end` (NULL: to the end of the text); of equal numbers the first counts. Names are copied. 0 or -ENOMEM. */
int symbolic_read(struct symbolic *s, const char *from, const char *end, struct arena *a) must_check;
/* NULL: it has none. */
const char *symbolic_name(const struct symbolic *s, u64 number);
