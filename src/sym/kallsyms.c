#include "sym/kallsyms.h"

#include <endian.h>
#include <string.h>

enum {
	PAGE = 4096,
	LINES_BACK = 256, /* of a symbol, its aliases and what is none: more is not looked at */
};

struct ksym_line {
	u64 addr;
	const char *name;
	const char *module; /* NULL: the kernel itself */
	u32 name_len;
	char type;
};

static const s8 hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Eight lower-case hex digits at once, a byte each: 0-9 are 0x30 and the digit, a-f are 0x60 and the digit less nine. */
static bool parse_hex8(const char *p, u64 *ret)
{
	const u64 ones = 0x0101010101010101;
	u64 text;
	memcpy(&text, p, 8);
	text = be64toh(text);
	u64 low = text & 0x0f * ones, letter = text >> 6 & ones;
	u64 kind = 0x30 * ones + 0x30 * letter, over = low + 0x76 * ones + 0x03 * letter;
	if ((low | kind) != text || over & 0x80 * ones || (letter & ~((low + 0x7f * ones) >> 7)))
		return false;
	u64 v = low + 9 * letter;
	v = (v | v >> 4) & 0x00ff00ff00ff00ff;
	v = (v | v >> 8) & 0x0000ffff0000ffff;
	*ret = *ret << 32 | ((v | v >> 16) & 0xffffffff);
	return true;
}

static const char *parse_hex(const char *p, const char *end, u64 *ret)
{
	const char *from = p;
	*ret = 0;
	if (end - p > 16 && p[16] == ' ' && parse_hex8(p, ret) && parse_hex8(p + 8, ret))
		return p + 16;
	u64 v = 0;
	int d;
	while (p < end && (d = hex_digits[(u8)*p])) {
		v = v << 4 | (u64)(d - 1);
		p++;
	}
	*ret = v;
	return p > from && p - from <= 16 ? p : NULL;
}

/* Reads the line at p and returns where the next begins; line->name is NULL when it is none. */
static const char *next_line(const char *p, const char *end, struct ksym_line *line)
{
	line->name = NULL;
	const char *q = parse_hex(p, end, &line->addr);
	if (!q || end - q < 4 || q[0] != ' ' || q[2] != ' ') {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		return nl ? nl + 1 : end;
	}
	const char *name = q + 3;
	const char *nl = memchr(name, '\n', (size_t)(end - name));
	const char *stop = nl ? nl : end;
	line->type = q[1];
	line->name = name;
	line->module = NULL;
	/* "\t[module]" ends in a bracket, and names do not. */
	if (stop > name && stop[-1] == ']') {
		const char *tab = memchr(name, '\t', (size_t)(stop - name));
		if (tab) {
			line->module = tab + 1;
			stop = tab;
		}
	}
	line->name_len = (u32)min((size_t)(stop - name), (size_t)UINT32_MAX);
	return nl ? nl + 1 : end;
}

static bool type_counts(char type)
{
	switch (type | 0x20) {
	case 't':
	case 'w':
	case 'd':
	case 'b': return true;
	default: return false;
	}
}

static bool line_counts(const struct ksym_line *l)
{
	return l->name && type_counts(l->type) && l->name_len && l->name[0] != '$';
}

static void add_line(struct sweep *s, const struct ksym_line *l)
{
	sweep_add(s, &(struct symtab_sym){
			     .start = l->addr,
			     .end = l->addr,
			     .name = l->name,
			     .name_len = l->name_len,
			     .data = (l->type | 0x20) != 't' && (l->type | 0x20) != 'w',
			     .flags = (l->type | 0x20) == 'w' ? SYMTAB_WEAK
				      : l->type & 0x20	      ? SYMTAB_LOCAL
							      : 0,
		     });
}

static void add_bound(struct sweep *s, u64 at)
{
	sweep_add(s, &(struct symtab_sym){ .start = at, .end = at });
}

static const char *next_word(const char **p, const char *end, size_t *len)
{
	const char *w = *p;
	while (w < end && (*w == ' ' || *w == '\t'))
		w++;
	const char *stop = w;
	while (stop < end && *stop != ' ' && *stop != '\t' && *stop != '\n')
		stop++;
	*len = (size_t)(stop - w);
	*p = stop;
	return w;
}

struct kmod_line {
	const char *name;
	size_t name_len;
	u64 start, size;
};

/* "ext4 1130496 1 - Live 0xffffffffc0400000" */
static const char *next_module(const char *p, const char *end, struct kmod_line *m)
{
	*m = (struct kmod_line){ 0 };
	const char *nl = memchr(p, '\n', (size_t)(end - p));
	const char *stop = nl ? nl : end;
	m->name = next_word(&p, stop, &m->name_len);
	size_t len;
	const char *w = next_word(&p, stop, &len);
	for (size_t i = 0; i < len && w[i] >= '0' && w[i] <= '9' && m->size < 1ull << 40; i++)
		m->size = m->size * 10 + (u64)(w[i] - '0');
	for (int skip = 0; skip < 3; skip++)
		(void)next_word(&p, stop, &len);
	w = next_word(&p, stop, &len);
	if (len < 3 || w[0] != '0' || w[1] != 'x' || !parse_hex(w + 2, w + len, &m->start))
		m->start = 0;
	return nl ? nl + 1 : end;
}

size_t kallsyms_sweep(const char *text, size_t len, const char *modules, size_t modules_len,
		      struct sweep *s)
{
	const char *end = text + len;
	u64 core_end = 0;
	bool in_modules = false;
	size_t nr = 0;
	for (const char *p = text; p < end;) {
		struct ksym_line l;
		p = next_line(p, end, &l);
		if (!line_counts(&l))
			continue;
		if (!l.module)
			core_end = max(core_end, l.addr);
		in_modules |= l.module != NULL;
		add_line(s, &l);
		nr++;
	}
	/* The last symbol of the kernel does not reach into the first module, nor one module into the next. */
	if (in_modules)
		add_bound(s, (core_end + 2 * PAGE - 1) & ~(u64)(PAGE - 1));
	for (const char *p = modules; p && p < modules + modules_len;) {
		struct kmod_line m;
		p = next_module(p, modules + modules_len, &m);
		if (m.start)
			add_bound(s, m.start + m.size);
	}
	return nr;
}

const char *kallsyms_above(const char *text, size_t len, u64 at)
{
	const char *low = text, *end = text + len, *high = end;
	u64 least = 0, most = UINT64_MAX; /* what the lines around say */
	while (low < high) {
		const char *middle = low + (high - low) / 2;
		const char *nl = memrchr(low, '\n', (size_t)(middle - low));
		const char *start = nl ? nl + 1 : low;
		struct ksym_line l;
		const char *next = next_line(start, end, &l);
		if (!l.name || (!l.module && (l.addr < least || l.addr > most)))
			return NULL;
		if (l.module || l.addr > at) {
			high = start;
			most = l.module ? most : l.addr;
		} else {
			low = next;
			least = l.addr;
		}
	}
	return low;
}

/* From a line, or the end, to where the lines of the last symbol before it begin. NULL: none, or too far away. */
static const char *symbol_before(const char *text, const char *line, const char *end)
{
	u64 addr = 0;
	bool found = false;
	for (u32 i = 0; i < LINES_BACK && line > text; i++) {
		const char *nl = memrchr(text, '\n', (size_t)(line - 1 - text));
		const char *before = nl ? nl + 1 : text;
		struct ksym_line l;
		(void)next_line(before, end, &l);
		if (line_counts(&l)) {
			if (found && l.addr != addr)
				return line;
			addr = l.addr;
			found = true;
		}
		line = before;
	}
	return found && line == text ? line : NULL;
}

bool kallsyms_sweep_ordered(const char *text, size_t len, struct sweep *s)
{
	const char *end = text + len, *above = text;
	u64 next = 0; /* the first symbol above the question before */
	for (u32 i = 0; i < s->nr; i++) {
		u64 at = s->at[i];
		if (at < next)
			continue;
		above = kallsyms_above(above, (size_t)(end - above), at);
		const char *p = above ? symbol_before(text, above, end) : NULL;
		if (!p)
			return false;
		while (p < end && next <= at) {
			struct ksym_line l;
			p = next_line(p, end, &l);
			if (!line_counts(&l))
				continue;
			if (l.module)
				return false;
			add_line(s, &l);
			next = l.addr;
		}
		if (next <= at)
			return false;
	}
	return true;
}

bool kallsyms_address(const char *text, size_t len, const char *name, u64 *ret)
{
	size_t name_len = strlen(name);
	const char *end = text + len;
	for (const char *p = text; p < end;) {
		const char *hit = memmem(p, (size_t)(end - p), name, name_len);
		if (!hit)
			return false;
		p = hit + name_len;
		if (p < end && *p != '\n' && *p != '\t')
			continue;
		const char *line = memrchr(text, '\n', (size_t)(hit - text));
		struct ksym_line l;
		(void)next_line(line ? line + 1 : text, end, &l);
		if (l.name == hit) {
			*ret = l.addr;
			return true;
		}
	}
	return false;
}

bool kallsyms_hidden(const char *text, size_t len)
{
	const char *end = text + len;
	bool any = false;
	for (const char *p = text; p < end;) {
		struct ksym_line l;
		p = next_line(p, end, &l);
		if (!l.name || !type_counts(l.type))
			continue;
		if (l.addr)
			return false;
		any = true;
	}
	return any;
}

static bool module_name_is(const struct kmod_line *m, const char *name)
{
	size_t i = 0;
	for (; i < m->name_len && name[i]; i++) {
		char a = m->name[i] == '-' ? '_' : m->name[i];
		char b = name[i] == '-' ? '_' : name[i];
		if (a != b)
			return false;
	}
	return i == m->name_len && !name[i];
}

bool kallsyms_module(const char *modules, size_t len, const char *name, u64 *start, u64 *size)
{
	for (const char *p = modules; p && p < modules + len;) {
		struct kmod_line m;
		p = next_module(p, modules + len, &m);
		if (!m.start || !module_name_is(&m, name))
			continue;
		*start = m.start;
		*size = m.size;
		return true;
	}
	return false;
}
