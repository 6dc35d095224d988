#include "base/vec.h"

#include <string.h>

void *vec_grow(void *at, size_t *cap, size_t need, size_t elem)
{
	size_t want = *cap ? *cap + *cap / 2 : 8;
	if (want < need)
		want = need;
	size_t bytes;
	if (__builtin_mul_overflow(want, elem, &bytes))
		return NULL;
	void *p = realloc(at, bytes);
	if (p)
		*cap = want;
	return p;
}

void *vec_zero(void *p, size_t size)
{
	return memset(p, 0, size);
}
