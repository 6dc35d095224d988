#include "model/schema.h"

#include <string.h>

const struct schema_field *schema_find(const struct schema *s, const char *name)
{
	for (u32 i = 0; i < s->nr_fields; i++)
		if (!strcmp(s->fields[i].name, name))
			return &s->fields[i];
	return NULL;
}

static u64 load_number(const u8 *p, u32 size, bool big_endian)
{
	bool swap = big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	u16 two;
	u32 four;
	u64 eight;
	switch (size) {
	case 1: return *p;
	case 2: memcpy(&two, p, 2); return swap ? __builtin_bswap16(two) : two;
	case 4: memcpy(&four, p, 4); return swap ? __builtin_bswap32(four) : four;
	case 8: memcpy(&eight, p, 8); return swap ? __builtin_bswap64(eight) : eight;
	default: return 0;
	}
}

u64 schema_u64(const struct schema *s, const struct schema_field *f, const void *raw, u32 size)
{
	if (f->size > 8 || !f->size || f->offset > size || f->size > size - f->offset)
		return 0;
	const u8 *p = (const u8 *)raw + f->offset;
	u64 v = load_number(p, f->size, s->big_endian);
	if ((f->flags & FIELD_SIGNED) && f->size < 8) {
		u32 shift = 64 - 8 * f->size;
		v = (u64)((s64)(v << shift) >> shift);
	}
	return v;
}

const void *schema_bytes(const struct schema *s, const struct schema_field *f, const void *raw,
			 u32 size, u32 *len)
{
	u32 off = f->offset, n = f->size;
	if (off > size || n > size - off)
		return NULL;
	if (f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC)) {
		u32 loc = (u32)load_number((const u8 *)raw + off, 4, s->big_endian);
		u32 at = loc & 0xffff;
		n = loc >> 16;
		off = f->flags & FIELD_REL_LOC ? f->offset + 4 + at : at;
		if (off > size || n > size - off)
			return NULL;
	}
	if (!f->size && f->flags & FIELD_STRING)
		n = size - off; /* "char buf[]": all that is left */
	const char *p = (const char *)raw + off;
	if (f->flags & FIELD_STRING)
		n = (u32)strnlen(p, n);
	*len = n;
	return p;
}
