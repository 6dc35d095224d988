#include "base/strtab.h"
#include "base/dict.h"

#include <errno.h>
#include <string.h>

void strtab_init(struct strtab *t)
{
	*t = (struct strtab){ 0 };
	arena_init(&t->arena);
}

void strtab_done(struct strtab *t)
{
	arena_done(&t->arena);
	free(t->strs);
	free(t->slots);
	*t = (struct strtab){ 0 };
}

static u32 *strtab_slot(const struct strtab *t, const char *s, size_t len)
{
	u32 at = (u32)hash_text(s, len, t->seed) & t->mask;
	while (t->slots[at]) {
		const char *have = t->strs[t->slots[at] - 1];
		if (!strncmp(have, s, len) && !have[len])
			break;
		at = (at + 1) & t->mask;
	}
	return &t->slots[at];
}

static int strtab_grow(struct strtab *t)
{
	u32 cap = t->cap ? t->cap * 2 : 64;
	const char **strs = realloc(t->strs, cap * sizeof(*strs));
	if (!strs)
		return -ENOMEM;
	t->strs = strs;
	u32 *slots = calloc((size_t)cap * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	t->seed = hash_seed();
	free(t->slots);
	t->slots = slots;
	t->mask = cap * 2 - 1;
	t->cap = cap;
	for (u32 i = 0; i < t->nr; i++)
		*strtab_slot(t, strs[i], strlen(strs[i])) = i + 1;
	return 0;
}

static s64 strtab_insert(struct strtab *t, const char *s, size_t len)
{
	if (t->nr == t->cap && strtab_grow(t))
		return -ENOMEM;
	u32 *slot = strtab_slot(t, s, len);
	if (*slot)
		return *slot - 1;
	const char *copy = arena_strndup(&t->arena, s, len);
	if (!copy)
		return -ENOMEM;
	t->strs[t->nr++] = copy;
	*slot = t->nr;
	return t->nr - 1;
}

s64 strtab_add(struct strtab *t, const char *s, size_t len)
{
	if (!t->nr && strtab_insert(t, "", 0) < 0)
		return -ENOMEM;
	return strtab_insert(t, s, len);
}

s64 strtab_find(const struct strtab *t, const char *s, size_t len)
{
	if (!t->slots)
		return -ENOENT;
	u32 *slot = strtab_slot(t, s, len);
	return *slot ? (s64)*slot - 1 : -ENOENT;
}
