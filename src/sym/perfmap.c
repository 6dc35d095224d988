#include "sym/perfmap.h"

#include <string.h>

static const char *hex_word(const char *p, const char *end, u64 *ret)
{
	u64 v = 0;
	const char *from = p;
	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		from = p += 2;
	for (; p < end; p++) {
		char c = *p;
		if (c >= '0' && c <= '9')
			v = v << 4 | (u64)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | (u64)((c | 0x20) - 'a' + 10);
		else
			break;
	}
	*ret = v;
	return p > from && p - from <= 16 && p < end && *p == ' ' ? p + 1 : NULL;
}

size_t perfmap_sweep(const char *text, size_t len, struct sweep *s)
{
	const char *end = text + len;
	size_t nr = 0;
	for (const char *p = text; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		u64 start, size, last;
		const char *q = hex_word(p, stop, &start);
		if (q)
			q = hex_word(q, stop, &size);
		p = nl ? nl + 1 : end;
		if (!q || q == stop || !size || __builtin_add_overflow(start, size, &last))
			continue;
		sweep_add(s, &(struct symtab_sym){
				     .start = start,
				     .end = last,
				     .name = q,
				     .name_len = (u32)min((size_t)(stop - q), (size_t)UINT32_MAX),
			     });
		nr++;
	}
	return nr;
}
