/*
 * A bounds-checked cursor over bytes that come from anyone. Reading past the end sets a sticky flag and yields
 * zeroes, so a parser reads a whole structure and asks once. Numbers are turned to the host's byte order.
 */
#pragma once

#include "base/types.h"

#include <string.h>

struct bytes {
	const u8 *at;
	const u8 *end;
	bool swap; /* the other byte order */
	bool bad; /* something was read past the end */
};

static inline struct bytes bytes_of(const void *data, size_t len, bool swap)
{
	return (struct bytes){ .at = data, .end = len ? (const u8 *)data + len : data, .swap = swap };
}

static inline size_t bytes_left(const struct bytes *b)
{
	return (size_t)(b->end - b->at);
}

/* Borrows n bytes and steps over them, or NULL. */
static inline const void *bytes_take(struct bytes *b, size_t n)
{
	if (unlikely(bytes_left(b) < n)) {
		b->bad = true;
		b->at = b->end;
		return NULL;
	}
	const void *p = b->at;
	b->at += n;
	return p;
}

static inline void bytes_skip(struct bytes *b, size_t n)
{
	(void)bytes_take(b, n);
}

static inline u8 bytes_u8(struct bytes *b)
{
	const u8 *p = bytes_take(b, 1);
	return p ? *p : 0;
}

#define BYTES_READER(name, type, swapper)                                                          \
	static inline type name(struct bytes *b)                                                   \
	{                                                                                          \
		type v = 0;                                                                        \
		const void *p = bytes_take(b, sizeof(v));                                          \
		if (likely(p))                                                                     \
			memcpy(&v, p, sizeof(v));                                                  \
		return unlikely(b->swap) ? swapper(v) : v;                                         \
	}
BYTES_READER(bytes_u16, u16, __builtin_bswap16)
BYTES_READER(bytes_u32, u32, __builtin_bswap32)
BYTES_READER(bytes_u64, u64, __builtin_bswap64)
#undef BYTES_READER

/* A sub-cursor over the next n bytes; marks both bad when there are fewer. */
static inline struct bytes bytes_sub(struct bytes *b, size_t n)
{
	const void *p = bytes_take(b, n);
	struct bytes sub = bytes_of(p ? p : b->end, p ? n : 0, b->swap);
	sub.bad = !p;
	return sub;
}

/* A NUL-terminated string; borrowed; NULL (and bad) when no NUL is left. */
static inline const char *bytes_cstr(struct bytes *b)
{
	const u8 *nul = memchr(b->at, 0, bytes_left(b));
	if (!nul) {
		b->bad = true;
		b->at = b->end;
		return NULL;
	}
	const char *s = (const char *)b->at;
	b->at = nul + 1;
	return s;
}

/* DWARF's numbers of variable length. More than 64 bits are bad. */
u64 bytes_uleb(struct bytes *b);
s64 bytes_sleb(struct bytes *b);
