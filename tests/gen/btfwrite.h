/* Writes BTF for tests: types one after the other, numbered from 1 on (or where a kernel's end, for a module). */
#pragma once

#include "base/types.h"

#include <string.h>

enum {
	INT = 1,
	PTR,
	ARRAY,
	STRUCT,
	UNION,
	ENUM,
	TYPEDEF = 8,
	CONST = 10,
	FUNC = 12,
	PROTO = 13,
	VAR = 14,
	DATASEC = 15,
	DECL_TAG = 17,
	TYPE_TAG = 18,
	ENUM64 = 19,
	FLAG = 1 << 7, /* of the kind's byte */
};

struct writer {
	u8 types[2048], strings[1024], all[4096];
	u32 nr_types, nr_strings, id, first_string;
	bool big;
	size_t size;
};

static inline void put32(struct writer *w, u8 *at, u32 v)
{
	if (w->big)
		v = __builtin_bswap32(v);
	memcpy(at, &v, sizeof(v));
}

static inline void word(struct writer *w, u32 v)
{
	put32(w, w->types + w->nr_types, v);
	w->nr_types += 4;
}

static inline u32 name(struct writer *w, const char *s)
{
	u32 at = w->nr_strings;
	if (!*s && at)
		return 0;
	memcpy(w->strings + at, s, strlen(s) + 1);
	w->nr_strings += (u32)strlen(s) + 1;
	return at + w->first_string;
}

static inline u32 type(struct writer *w, const char *s, u32 kind, u32 members, u32 ref)
{
	word(w, *s ? name(w, s) : 0);
	word(w, kind << 24 | members);
	word(w, ref);
	return w->id++;
}

static inline void finish(struct writer *w)
{
	u16 magic = w->big ? 0x9feb : 0xeb9f;
	memset(w->all, 0, 24);
	memcpy(w->all, &magic, 2);
	w->all[2] = 1;
	put32(w, w->all + 4, 24);
	put32(w, w->all + 8, 0);
	put32(w, w->all + 12, w->nr_types);
	put32(w, w->all + 16, w->nr_types);
	put32(w, w->all + 20, w->nr_strings);
	memcpy(w->all + 24, w->types, w->nr_types);
	memcpy(w->all + 24 + w->nr_types, w->strings, w->nr_strings);
	w->size = 24 + w->nr_types + w->nr_strings;
}

static inline void part(struct writer *w, const char *s, u32 second, u32 third)
{
	word(w, *s ? name(w, s) : 0);
	word(w, second);
	word(w, third);
}
