#include "base/arena.h"

#include <string.h>
#include <sys/mman.h>

enum { ARENA_ALIGN = 16, ARENA_FIRST = 4096, ARENA_MAX = 1 << 20 };

struct arena_chunk {
	struct arena_chunk *older;
	size_t size;
	_Alignas(ARENA_ALIGN) char data[];
};

void arena_init(struct arena *a)
{
	*a = (struct arena){ .next_size = ARENA_FIRST };
}

void arena_done(struct arena *a)
{
	struct arena_chunk *c = a->chunk;
	while (c) {
		struct arena_chunk *older = c->older;
		free(c);
		c = older;
	}
	arena_init(a);
}

static bool arena_grow(struct arena *a, size_t need)
{
	size_t size = max(a->next_size, need);
	struct arena_chunk *c = malloc(sizeof(*c) + size);
	if (!c) {
		a->failed = true;
		return false;
	}
	c->older = a->chunk;
	c->size = size;
	a->chunk = c;
	a->at = c->data;
	a->end = c->data + size;
	a->total_bytes += size;
	if (a->next_size < ARENA_MAX)
		a->next_size *= 2;
	return true;
}

void *arena_alloc(struct arena *a, size_t size)
{
	if (size > SIZE_MAX / 2)
		return NULL;
	/* Nothing is something too: NULL means that memory is out. */
	size = (max(size, (size_t)1) + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (size > (size_t)(a->end - a->at) && !arena_grow(a, size))
		return NULL;
	void *p = a->at;
	a->at += size;
	return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
	void *p = arena_alloc(a, size);
	return p ? memset(p, 0, size) : NULL;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return arena_zalloc(a, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);
	if (!p)
		return NULL;
	memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

void *big_alloc(size_t size)
{
	const size_t huge = 2u << 20;
	if (size < huge / 2 || size > SIZE_MAX - huge)
		return malloc(size ? size : 1);
	void *p = aligned_alloc(huge, (size + huge - 1) / huge * huge);
	if (p)
		(void)madvise(p, size, MADV_HUGEPAGE);
	return p;
}
