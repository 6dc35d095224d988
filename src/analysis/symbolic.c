#include "analysis/symbolic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAIRS_MAX = 4096, /* more than any event has: the numbers of others stay numbers */
	NAME_MAX_BYTES = 64,
};

void symbolic_init(struct symbolic *s)
{
	*s = (struct symbolic){ 0 };
	dict_init(&s->of);
}

void symbolic_done(struct symbolic *s)
{
	dict_done(&s->of);
	vec_free(&s->names);
}

/* "3, "NET_RX"" or "1 + 2, "sum"": the name, with its length; NULL: it is something else. */
static const char *read_pair(const char *at, u64 *number, size_t *len)
{
	char *after;
	*number = strtoull(at, &after, 0);
	if (after == at)
		return NULL;
	after += strspn(after, " ");
	if (*after == '+')
		*number += strtoull(after + 1, &after, 0);
	after += strspn(after, " ,\t");
	if (*after != '"')
		return NULL;
	*len = strcspn(after + 1, "\"");
	return after + 1;
}

static int add(struct symbolic *s, u64 number, const char *name, size_t len, struct arena *a)
{
	u32 fresh = (u32)s->names.nr, got;
	if (dict_add(&s->of, number, fresh, &got))
		return -ENOMEM;
	const char **slot = got == fresh ? vec_push(&s->names) : NULL;
	if (got != fresh)
		return 0;
	if (slot)
		*slot = arena_strndup(a, name, min(len, (size_t)NAME_MAX_BYTES));
	return slot && *slot ? 0 : -ENOMEM;
}

int symbolic_read(struct symbolic *s, const char *from, const char *end, struct arena *a)
{
	int err = 0;
	while (from && !err && s->names.nr < PAIRS_MAX && (from = strchr(from, '{')) &&
	       (!end || from < end)) {
		u64 number;
		size_t len;
		const char *name = read_pair(++from, &number, &len);
		if (!name)
			continue;
		err = add(s, number, name, len, a);
		from = name + len;
	}
	return err;
}

const char *symbolic_name(const struct symbolic *s, u64 number)
{
	u32 at = dict_get(&s->of, number);
	return at == DICT_NONE ? NULL : s->names.at[at];
}
