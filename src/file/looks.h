/* What a file is that is not what was expected, told by its first bytes. */
#pragma once

#include "base/diag.h"

enum { LOOKS_BYTES = 64 }; /* more are not looked at */

/* Adds a hint to the message before: what it looks like, and what helps. Nothing where the bytes do not say. */
void looks_hint(struct diag *d, const void *data, size_t size);
