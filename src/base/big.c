#include "base/big.h"

#include <string.h>
#include <sys/mman.h>

enum { BIG = 1 << 20, HUGE_PAGE = 2 << 20 };

static bool is_big(size_t size)
{
	return size >= BIG;
}

static size_t whole_pages(size_t size)
{
	return (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

/* Address space only, aligned so that huge pages fit. */
static void *reserve(size_t size)
{
	size_t room = size + HUGE_PAGE;
	char *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	char *at = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	if (at > p)
		(void)munmap(p, (size_t)(at - p));
	if (at + size < p + room)
		(void)munmap(at + size, (size_t)(p + room - (at + size)));
	return at;
}

static void *map_new(size_t size)
{
	void *at = reserve(size);
	if (!at)
		return NULL;
	if (mprotect(at, size, PROT_READ | PROT_WRITE)) {
		(void)munmap(at, size);
		return NULL;
	}
	(void)madvise(at, size, MADV_HUGEPAGE);
	return at;
}

static void *map_grow(void *p, size_t old_size, size_t size)
{
	if (size == old_size)
		return p;
	void *to = reserve(size);
	if (!to)
		return NULL;
	void *at = mremap(p, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (at != MAP_FAILED)
		return at;
	/* What was joined is several mappings, which do not move as one. */
	if (mprotect(to, size, PROT_READ | PROT_WRITE)) {
		(void)munmap(to, size);
		return NULL;
	}
	(void)madvise(to, size, MADV_HUGEPAGE);
	memcpy(to, p, min(old_size, size));
	(void)munmap(p, old_size);
	return to;
}

void *big_grow(void *p, size_t old_size, size_t size)
{
	if (size > SIZE_MAX - 2 * (size_t)HUGE_PAGE)
		return NULL;
	if (!is_big(size) && !is_big(old_size))
		return realloc(p, size ? size : 1);
	if (p && is_big(old_size) && is_big(size))
		return map_grow(p, whole_pages(old_size), whole_pages(size));
	void *to = is_big(size) ? map_new(whole_pages(size)) : malloc(size ? size : 1);
	if (to && p) {
		memcpy(to, p, min(old_size, size));
		big_free(p, old_size);
	}
	return to;
}

void *big_zalloc(size_t size)
{
	return is_big(size) ? big_grow(NULL, 0, size) : calloc(1, size ? size : 1);
}

/* Pages that are there already are cleared sooner than new ones come. */
void *big_zgrow(void *p, size_t old_size, size_t size)
{
	bool stays = p && is_big(old_size) && is_big(size);
	void *to = stays ? big_grow(p, old_size, size) : big_zalloc(size);
	if (to && stays)
		memset(to, 0, min(old_size, size));
	else if (to)
		big_free(p, old_size);
	return to;
}

/* Pages that cannot be moved are copied. */
static void move_part(struct big_part *part, char *to)
{
	size_t size = whole_pages(part->size);
	if (is_big(part->size) &&
	    mremap(part->p, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
		return;
	if (part->size)
		memcpy(to, part->p, part->size);
	big_free(part->p, part->size);
}

void *big_join(struct big_part *parts, u32 nr, size_t *size)
{
	size_t sum = HUGE_PAGE; /* a large block in any case, for big_free() */
	for (u32 i = 0; i < nr; i++) {
		parts[i].at = sum - HUGE_PAGE;
		if (parts[i].size > SIZE_MAX / 2 - sum)
			return NULL;
		sum += whole_pages(parts[i].size);
	}
	char *to = map_new(sum);
	for (u32 i = 0; i < nr && to; i++) {
		move_part(&parts[i], to + parts[i].at);
		parts[i].p = NULL;
	}
	*size = sum;
	return to;
}

void big_free(void *p, size_t size)
{
	if (!is_big(size))
		free(p);
	else if (p)
		(void)munmap(p, whole_pages(size));
}

void *big_vec_grow(void *at, size_t *cap, size_t need, size_t elem)
{
	size_t want = max(*cap ? *cap * 2 : 64, need), bytes;
	if (__builtin_mul_overflow(want, elem, &bytes))
		return NULL;
	void *p = big_grow(at, *cap * elem, bytes);
	if (p)
		*cap = want;
	return p;
}
