/*
 * A growing array of one type:  struct { VEC(struct thing) } or VEC_TYPE. Zero-initialised means empty.
 *
 *	struct things { struct thing *at; size_t nr, cap; } v = { 0 };
 *	struct thing *t = vec_push(&v);      NULL: no memory; the new element is zeroed
 *	vec_for_each(&v, t) ...
 */
#pragma once

#include "base/types.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t nr, cap;                                                                    \
	}

/* Room for `need` elements; the (possibly moved) array or NULL, in which case nothing changed. */
void *vec_grow(void *at, size_t *cap, size_t need, size_t elem);
void *vec_zero(void *p, size_t size);

#define vec_reserve(v, need)                                                                       \
	({                                                                                         \
		bool ok_ = true;                                                                   \
		if ((need) > (v)->cap) {                                                           \
			void *p_ = vec_grow((v)->at, &(v)->cap, (need), sizeof(*(v)->at));         \
			if (p_)                                                                    \
				(v)->at = p_;                                                      \
			ok_ = p_ != NULL;                                                          \
		}                                                                                  \
		ok_;                                                                               \
	})

#define vec_push(v)                                                                                \
	(vec_reserve(v, (v)->nr + 1)                                                               \
		 ? (__typeof__((v)->at + 0))vec_zero(&(v)->at[(v)->nr++], sizeof(*(v)->at))        \
		 : NULL)

#define vec_for_each(v, p)                                                                         \
	for (__typeof__((v)->at + 0) p = (v)->at; p && p < (v)->at + (v)->nr; p++)

#define vec_free(v)                                                                                \
	do {                                                                                       \
		free((v)->at);                                                                     \
		(v)->at = NULL;                                                                    \
		(v)->nr = (v)->cap = 0;                                                            \
	} while (0)
