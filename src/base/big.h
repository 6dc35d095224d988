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
/* As large as size, and all of it zero: what p (of old_size) held is dropped. NULL: no memory, and p is as it was. */
void *big_zgrow(void *p, size_t old_size, size_t size);
void big_free(void *p, size_t size);

/* One of several blocks that become one. */
struct big_part {
	void *p;
	size_t size;
	size_t at; /* out: where its bytes are in the whole */
};
/*
 * Puts blocks one after the other without copying those that are large; there is some room between them. All belong to the whole
 * then, whose size is *size. NULL: no memory, and all are as they were.
 */
void *big_join(struct big_part *parts, u32 nr, size_t *size);

/*
 * The same for a VEC (base/vec.h) that may grow large: all of reserving, pushing and freeing it goes through these. Elements that
 * are pushed are not zeroed.
 */
void *big_vec_grow(void *at, size_t *cap, size_t need, size_t elem);

#define big_vec_reserve(v, need)                                                                   \
	({                                                                                         \
		bool ok_ = true;                                                                   \
		if ((need) > (v)->cap) {                                                           \
			void *p_ = big_vec_grow((v)->at, &(v)->cap, (need), sizeof(*(v)->at));     \
			if (p_)                                                                    \
				(v)->at = p_;                                                      \
			ok_ = p_ != NULL;                                                          \
		}                                                                                  \
		ok_;                                                                               \
	})

#define big_vec_push(v) (big_vec_reserve(v, (v)->nr + 1) ? &(v)->at[(v)->nr++] : NULL)

#define big_vec_free(v)                                                                            \
	do {                                                                                       \
		big_free((v)->at, (v)->cap * sizeof(*(v)->at));                                    \
		(v)->at = NULL;                                                                    \
		(v)->nr = (v)->cap = 0;                                                            \
	} while (0)
