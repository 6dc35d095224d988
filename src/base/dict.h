/*
 * A hash table from a 64-bit key to a 32-bit value, open addressing, power-of-two sizes.
 * The engines key it with packed ids; strings go through strtab.
 */
#pragma once

#include "base/types.h"

enum { DICT_NONE = 0xffffffffu };

struct dict_slot {
	u64 key;
	u32 value; /* DICT_NONE: free */
	u32 spare;
};

struct dict {
	struct dict_slot *slots;
	u64 seed; /* since the first key */
	u32 mask; /* number of slots - 1; 0 with slots == NULL */
	u32 nr;
};

void dict_init(struct dict *d);
void dict_done(struct dict *d);

/* DICT_NONE when absent. */
u32 dict_get(const struct dict *d, u64 key);
/*
 * The slot's value for key, inserting `fresh` (not DICT_NONE) when it is new: *ret tells which by comparison.
 * 0 or -ENOMEM.
 */
int dict_add(struct dict *d, u64 key, u32 fresh, u32 *ret) must_check;
/* Sets the value, whether the key is new or not. 0 or -ENOMEM. */
int dict_put(struct dict *d, u64 key, u32 value) must_check;
/* Its value, or DICT_NONE when it was not there. */
u32 dict_remove(struct dict *d, u64 key);

/*
 * Keys come from files, which may choose them so that a known hash puts them all into one place. So tables add a number
 * that is another one in every process, and the same in all of its tables. Nothing may come out in the order of a table.
 */
u64 hash_seed(void);
static inline u64 hash_seeded(u64 v, u64 seed)
{
	unsigned __int128 product =
		(unsigned __int128)(v ^ seed) * (seed * 0x9e3779b97f4a7c15ull | 1);
	return (u64)product ^ (u64)(product >> 64);
}

/* A good 64-bit mixer, the same in every process: for keys that nobody chooses, and for what is kept in files. */
static inline u64 hash_u64(u64 v)
{
	v *= 0x9e3779b97f4a7c15ull;
	return v ^ (v >> 32);
}
u64 hash_bytes(const void *data, size_t len);
/* For tables. */
u64 hash_text(const void *data, size_t len, u64 seed);
/* The same job for arrays of words: two at a time, in two lanes, so that the multiplications overlap. */
u64 hash_words(const u64 *words, size_t nr, u64 seed);
