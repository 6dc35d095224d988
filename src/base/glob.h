/* Shell patterns over names: * ? [a-z] [!a-z] and \ before a character that is meant itself. */
#pragma once

#include "base/types.h"

/* Whether the whole name fits. Time is at most the product of the lengths; a '[' that never closes is an ordinary character. */
bool glob_match(const char *pattern, const char *name);
/* Whether a text has anything that makes it a pattern. */
bool glob_is_pattern(const char *text);
