/* Strings, each kept once, named by a small number. Id 0 is always the empty string. */
#pragma once

#include "base/arena.h"

struct strtab {
	struct arena arena;
	const char **strs;
	u32 *slots; /* id + 1, 0 free */
	u64 seed; /* since the first string */
	u32 nr;
	u32 cap;
	u32 mask;
};

void strtab_init(struct strtab *t);
void strtab_done(struct strtab *t);
/* The id of the string (len bytes, no NUL inside), or -ENOMEM. */
s64 strtab_add(struct strtab *t, const char *s, size_t len) must_check;
/* The id, or -ENOENT. */
s64 strtab_find(const struct strtab *t, const char *s, size_t len);
/* Borrowed until strtab_done. */
static inline const char *strtab_str(const struct strtab *t, u32 id)
{
	return id < t->nr ? t->strs[id] : "";
}
