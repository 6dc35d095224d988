#include "event/closest.h"

#include <ctype.h>
#include <string.h>

enum { WORD_MAX = 64 };

void closest_init(struct closest *c, const char *word, size_t len)
{
	/* One letter in three may differ: beyond that a suggestion is noise. */
	*c = (struct closest){ .word = word, .len = len, .distance = len < 6 ? 1 : (u32)(len / 3) };
}

/* Edits (insert, delete, change, swap of neighbours) between the two, case free, `_` like `-`; at most limit. */
static u32 distance(const char *a, size_t na, const char *b, size_t nb, u32 limit)
{
	u32 rows[3][WORD_MAX + 1];
	u32 *before = rows[0], *last = rows[1], *now = rows[2];
	for (size_t j = 0; j <= nb; j++)
		last[j] = (u32)j;
	for (size_t i = 1; i <= na; i++) {
		now[0] = (u32)i;
		u32 lowest = now[0];
		for (size_t j = 1; j <= nb; j++) {
			char x = (char)tolower((unsigned char)a[i - 1]), y = (char)tolower((unsigned char)b[j - 1]);
			bool same = x == y || (x == '_' && y == '-') || (x == '-' && y == '_');
			u32 d = min(last[j - 1] + !same, min(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = min(d, before[j - 2] + 1);
			now[j] = d;
			lowest = min(lowest, d);
		}
		if (lowest > limit)
			return lowest;
		u32 *spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

void closest_offer(struct closest *c, const char *candidate)
{
	size_t n = strlen(candidate);
	size_t apart = n > c->len ? n - c->len : c->len - n;
	if (n > WORD_MAX || c->len > WORD_MAX || !c->len || apart > c->distance)
		return;
	u32 d = distance(c->word, c->len, candidate, n, c->distance);
	if (d < c->distance || (d == c->distance && !c->best && d < c->len)) {
		c->best = candidate;
		c->distance = d;
	}
}
