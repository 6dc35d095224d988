/*
 * Memory that is given back all at once. Allocation is a pointer bump; objects are 16-byte aligned and not zeroed.
 * Not thread-safe: each worker owns its arena.
 */
#pragma once

#include "base/types.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunk; /* newest first */
	char *at;
	char *end;
	size_t next_size;
	size_t total_bytes;
	bool failed; /* memory was out at least once */
};

void arena_init(struct arena *a);
void arena_done(struct arena *a);

/* NULL when memory is out. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_zalloc(struct arena *a, size_t size);
/* n objects of the given size, zeroed; NULL also when the product overflows. */
void *arena_array(struct arena *a, size_t n, size_t size);
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_strdup(struct arena *a, const char *s);

/*
 * Memory for one large thing that is filled from end to end: like malloc, but in huge pages where the kernel has them, since
 * the page faults cost more than the filling. free() it.
 */
void *big_alloc(size_t size);
