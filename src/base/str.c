#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int str_path(char *to, size_t size, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(to, size, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < size)
		return 0;
	if (size)
		to[0] = '\0';
	return -ENAMETOOLONG;
}

/* Three rows of the classical table are enough: a swap looks back two rows. */
unsigned str_distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	if (la > STR_DISTANCE_MAX || lb > STR_DISTANCE_MAX)
		return STR_FAR;
	unsigned rows[3][STR_DISTANCE_MAX + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];
	for (size_t j = 0; j <= lb; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned replace = above[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = min(replace, min(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min(row[j], before[j - 2] + 1);
		}
		unsigned *oldest = before;
		before = above;
		above = row;
		row = oldest;
	}
	return above[lb];
}

bool str_is_close(const char *word, unsigned distance)
{
	size_t len = strlen(word);
	return distance <= (len < 3 ? 1 : (len + 2) / 3) && distance < len;
}

/* Who has typed the beginning right has mistaken the rest: "symm" is nearer to "symbol" than to "comm". */
static bool begins_alike(const char *a, const char *b)
{
	enum { BEGINNING = 3 };
	return !strncmp(a, b, BEGINNING) && strlen(a) >= BEGINNING;
}

const char *str_closest(const char *word, const char *const *candidates, size_t nr)
{
	const char *best = NULL;
	unsigned least = STR_FAR;
	for (size_t i = 0; i < nr; i++) {
		unsigned distance = str_distance(word, candidates[i]);
		if (distance != STR_FAR && begins_alike(word, candidates[i]))
			distance -= min(distance, 2u);
		if (distance < least) {
			least = distance;
			best = candidates[i];
		}
	}
	return best && str_is_close(word, least) ? best : NULL;
}

size_t str_utf8_len(const u8 *s, size_t left, bool *bad)
{
	static const struct {
		u8 from, to, len, low,
			high; /* first byte's range, sequence length, second byte's range */
	} forms[] = {
		{ 0x00, 0x7f, 1, 0x00, 0x00 }, { 0xc2, 0xdf, 2, 0x80, 0xbf },
		{ 0xe0, 0xe0, 3, 0xa0, 0xbf }, { 0xe1, 0xec, 3, 0x80, 0xbf },
		{ 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
		{ 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf },
		{ 0xf4, 0xf4, 4, 0x80, 0x8f },
	};
	*bad = true;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (*s < forms[i].from || *s > forms[i].to)
			continue;
		size_t n = 1;
		for (; n < forms[i].len; n++) {
			u8 low = n == 1 ? forms[i].low : 0x80, high = n == 1 ? forms[i].high : 0xbf;
			if (n >= left || s[n] < low || s[n] > high)
				return n;
		}
		*bad = false;
		return n;
	}
	return 1;
}

u32 str_utf8_code(const u8 *s, size_t n)
{
	u32 c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}
