/* What strings need beyond <string.h>: paths that fit, closeness for "did you mean", UTF-8. */
#pragma once

#include "base/types.h"

#include <string.h>

/* A path that is made of parts: 0, or -ENAMETOOLONG: it does not fit, and `to` is empty. Never a part of it. */
int str_path(char *to, size_t size, const char *fmt, ...) printf_like(3, 4) must_check;

/*
 * How many letters to insert, remove, replace or swap with their neighbour to turn a into b. Words longer than
 * STR_DISTANCE_MAX letters are not compared: they are STR_FAR apart.
 */
enum { STR_DISTANCE_MAX = 64, STR_FAR = 255 };
unsigned str_distance(const char *a, const char *b);
/* Whether a misspelling of word is likely: a third of its letters may differ. */
bool str_is_close(const char *word, unsigned distance);

/* The candidate closest to word by edit distance, or NULL when none is close. Borrowed from candidates. */
const char *str_closest(const char *word, const char *const *candidates, size_t nr);

/* Bytes of the UTF-8 sequence at s; *bad when it is broken, then the bytes to skip. left: at least 1. */
size_t str_utf8_len(const u8 *s, size_t left, bool *bad);
/* The character of a sequence that is not broken, of n bytes. */
u32 str_utf8_code(const u8 *s, size_t n);

/* The word or words that go with a number: str_plural(nr, "sample was", "samples were"). */
static inline const char *str_plural(u64 nr, const char *one, const char *many)
{
	return nr == 1 ? one : many;
}

static inline bool str_ends(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);
	return len >= n && !memcmp(s + len - n, end, n);
}

static inline bool str_starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}
