#include "sym/perfmap.h"

#include <errno.h>
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

/* The next line that names code; *at moves past it. false: there are no more. */
static bool next_line(const char **at, const char *end, struct symtab_sym *ret)
{
	while (*at < end) {
		const char *p = *at;
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		u64 start, size, last;
		const char *q = hex_word(p, stop, &start);
		if (q)
			q = hex_word(q, stop, &size);
		*at = nl ? nl + 1 : end;
		if (!q || q == stop || !size || __builtin_add_overflow(start, size, &last))
			continue;
		*ret = (struct symtab_sym){
			.start = start,
			.end = last,
			.name = q,
			.name_len = (u32)min((size_t)(stop - q), (size_t)UINT32_MAX),
		};
		return true;
	}
	return false;
}

size_t perfmap_sweep(const char *text, size_t len, struct sweep *s)
{
	struct symtab_sym sym;
	size_t nr = 0;
	for (const char *p = text; next_line(&p, text + len, &sym); nr++)
		sweep_add(s, &sym);
	return nr;
}

int perfmap_table(const char *text, size_t len, struct symtab *ret)
{
	VEC(struct symtab_sym) all = { 0 };
	struct symtab_sym sym;
	u32 seq = 0;
	for (const char *p = text; next_line(&p, text + len, &sym);) {
		struct symtab_sym *slot = vec_push(&all);
		if (!slot) {
			vec_free(&all);
			return -ENOMEM;
		}
		sym.seq = seq++;
		*slot = sym;
	}
	return symtab_build(ret, all.at, all.nr, SYMTAB_LAST);
}
