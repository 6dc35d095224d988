#include "event/closest.h"

#include "base/str.h"

#include <string.h>

void closest_init(struct closest *c, const char *word, size_t len)
{
	*c = (struct closest){ .distance = STR_FAR };
	if (len < sizeof(c->word))
		memcpy(c->word, word, len); /* else nothing is close */
}

bool closest_offer(struct closest *c, const char *candidate)
{
	if (!c->word[0])
		return false;
	unsigned d = str_distance(c->word, candidate);
	if (d >= c->distance || !str_is_close(c->word, d))
		return false;
	c->best = candidate;
	c->distance = d;
	return true;
}
