#include "model/key_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void key_counts_init(struct key_counts *t)
{
	*t = (struct key_counts){ 0 };
	arena_init(&t->arena);
}

void key_counts_done(struct key_counts *t)
{
	vec_free(&t->keys);
	vec_free(&t->values);
	vec_free(&t->rows);
	vec_free(&t->notes);
	arena_done(&t->arena);
}

int key_counts_key(struct key_counts *t, const char *name)
{
	const char **slot = vec_push(&t->keys);
	return slot && (*slot = arena_strdup(&t->arena, name)) ? 0 : -ENOMEM;
}

int key_counts_sum(struct key_counts *t, const char *name)
{
	const char **slot = vec_push(&t->values);
	return slot && (*slot = arena_strdup(&t->arena, name)) ? 0 : -ENOMEM;
}

int key_counts_add(struct key_counts *t, const struct key_value *keys, u64 hits, const u64 *values)
{
	struct key_counts_row *r = vec_push(&t->rows);
	struct key_value *own = arena_array(&t->arena, t->keys.nr + 1, sizeof(*own));
	u64 *sums = arena_array(&t->arena, t->values.nr + 1, sizeof(*sums));
	if (!r || !own || !sums)
		return -ENOMEM;
	for (size_t i = 0; i < t->keys.nr; i++) {
		own[i] = keys[i];
		if (keys[i].text && !(own[i].text = arena_strdup(&t->arena, keys[i].text)))
			return -ENOMEM;
	}
	for (size_t i = 0; i < t->values.nr; i++)
		sums[i] = values[i];
	*r = (struct key_counts_row){ .keys = own, .hits = hits, .values = sums };
	return 0;
}

unsigned key_value_power(u64 v)
{
	return v > 1 ? 64 - (unsigned)__builtin_clzll(v - 1) : 0;
}

struct key_value key_value_power_range(unsigned power)
{
	u64 to = power < 64 ? 1ull << power : UINT64_MAX;
	return (struct key_value){ .type = KEY_VALUE_RANGE,
				   .number = power ? (1ull << (power - 1)) + 1 : 0,
				   .extra = to };
}
