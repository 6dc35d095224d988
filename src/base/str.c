#include "base/str.h"

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

const char *str_closest(const char *word, const char *const *candidates, size_t nr)
{
	const char *best = NULL;
	unsigned least = STR_FAR;
	for (size_t i = 0; i < nr; i++) {
		unsigned distance = str_distance(word, candidates[i]);
		if (distance < least) {
			least = distance;
			best = candidates[i];
		}
	}
	return best && str_is_close(word, least) ? best : NULL;
}
