/*
 * Memory for tables that may grow large. From a megabyte on it comes straight from the kernel, in huge pages where there are
 * any, and growing moves pages instead of copying them: touching a small page for the first time costs more than what most
 * loops do with it afterwards. Below that it is malloc's.
 *
 * Sizes are the caller's to remember. No pointers to other memory belong in here: leak checkers do not look into it.
 */
#pragma once

#include "base/types.h"

/* Like realloc(p, size) where p has old_size bytes (NULL, 0: none yet). NULL: no memory, and p is as it was. */
void *big_grow(void *p, size_t old_size, size_t size);
/* All of it zero. */
void *big_zalloc(size_t size);
void big_free(void *p, size_t size);
