/* What a file is, told by its first bytes: the recordings we read, and for what is none of them a word of help. */
#pragma once

#include "base/diag.h"

enum { LOOKS_BYTES = 64 }; /* more are not looked at */

enum looks { LOOKS_OTHER, LOOKS_PERFDATA, LOOKS_TRACEDAT };

enum looks looks_like(const void *data, size_t size);
/* Adds a hint to the message before: what it looks like, and what helps. Nothing where the bytes do not say. */
void looks_hint(struct diag *d, const void *data, size_t size);
