#include "memory/ksyms.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { ROWS_MAX = 1 << 23 };

/* "ffffffff81000000 T _stext\t[module]\n" from the letter on. */
static struct ksym symbol_at(const struct ksyms *s, const struct ksyms_row *row)
{
	const char *line = s->text.data + row->at;
	const char *end = memchr(line, '\n', s->text.len - row->at);
	if (!end)
		end = s->text.data + s->text.len;
	const char *name = line + 2;
	const char *tab = memchr(name, '\t', (size_t)(end - name));
	const char *name_end = tab ? tab : end;
	struct ksym sym = { .addr = row->addr,
			    .kind = *line,
			    .name = name,
			    .name_len = (u32)(name_end - name),
			    .module = "" };
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		sym.module = tab + 2;
		sym.module_len = (u32)(end - 1 - sym.module);
	}
	return sym;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next line from *at on; false: the text has ended. row->at is 0 for a line that is of another form. */
static bool next_row(const char *text, size_t len, size_t *at, struct ksyms_row *row)
{
	size_t i = *at;
	u64 addr = 0;
	int digit;
	if (i >= len)
		return false;
	for (; i < len && (digit = hex_digit(text[i])) >= 0; i++)
		addr = addr << 4 | (u64)digit;
	bool good = i > *at && i + 4 <= len && text[i] == ' ' && text[i + 2] == ' ';
	*row = (struct ksyms_row){ addr, good ? (u32)i + 1 : 0 };
	const char *end = memchr(text + i, '\n', len - i);
	*at = end ? (size_t)(end - text) + 1 : len;
	return true;
}

static int compare_rows(const void *a, const void *b)
{
	const struct ksyms_row *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Those that are marks of the linker, not things: they may not name what lies after them. */
static bool is_mark(const struct ksym *s)
{
	static const char *const starts[] = { "__start_", "__stop_", "__end_", "__init_", "__bss_" };
	static const char *const whole[] = { "_etext",	     "_edata",	   "_end",
					     "_stext",	     "_sdata",	   "_text",
					     "_einittext",   "_sinittext", "__per_cpu_start",
					     "__per_cpu_end" };
	if (s->name[0] != '_')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		if (strlen(whole[i]) == s->name_len && !memcmp(whole[i], s->name, s->name_len))
			return true;
	for (size_t i = 0; !ksym_is_code(s) && i < ARRAY_SIZE(starts); i++)
		if (s->name_len >= strlen(starts[i]) &&
		    !memcmp(starts[i], s->name, strlen(starts[i])))
			return true;
	return false;
}

static int index_rows(struct ksyms *s)
{
	struct ksyms_row row;
	bool sorted = true, any_address = false;
	u32 room = (u32)min(s->text.len / 32 + 16, (size_t)ROWS_MAX);
	if (s->text.len > UINT32_MAX)
		return -EFBIG;
	s->rows = malloc(room * sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (size_t at = 0; next_row(s->text.data, s->text.len, &at, &row);) {
		if (!row.at)
			continue;
		if (s->nr == room) {
			room = room * 2;
			struct ksyms_row *grown =
				room <= ROWS_MAX ? realloc(s->rows, room * sizeof(*grown)) : NULL;
			if (!grown)
				return -ENOMEM;
			s->rows = grown;
		}
		sorted &= !s->nr || s->rows[s->nr - 1].addr <= row.addr;
		any_address |= row.addr != 0;
		s->has_data |= strchr("bd", s->text.data[row.at]) != NULL;
		s->rows[s->nr++] = row;
	}
	if (!any_address)
		return -EPERM;
	if (!sorted)
		qsort(s->rows, s->nr, sizeof(*s->rows), compare_rows);
	struct ksym sym;
	if (ksyms_find(s, "_etext", &sym))
		s->text_end = sym.addr;
	if (ksyms_find(s, "_end", &sym))
		s->end = sym.addr;
	return 0;
}

int ksyms_open(struct ksyms *s, const char *root, const char *cache)
{
	*s = (struct ksyms){ 0 };
	int err = kallsyms_read(root, cache, &s->text);
	if (!err)
		err = index_rows(s);
	if (err)
		ksyms_close(s);
	return err;
}

int ksyms_open_text(struct ksyms *s, const char *text, size_t len)
{
	char *copy = malloc(len + 1);
	*s = (struct ksyms){ 0 };
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	s->text = (struct kallsyms_text){ .data = copy, .len = len };
	int err = index_rows(s);
	if (err)
		ksyms_close(s);
	return err;
}

void ksyms_close(struct ksyms *s)
{
	free(s->rows);
	if (s->text.data)
		kallsyms_text_done(&s->text);
	*s = (struct ksyms){ 0 };
}

int ksyms_each(const struct ksyms *s, const char *name,
	       int (*fn)(void *ctx, const struct ksym *sym), void *ctx)
{
	size_t len = strlen(name);
	for (u32 i = 0; i < s->nr; i++) {
		const char *at = s->text.data + s->rows[i].at + 2;
		size_t left = s->text.len - s->rows[i].at - 2;
		if (left < len || at[0] != name[0] || memcmp(at, name, len) ||
		    (left > len && at[len] != '\n' && at[len] != '\t'))
			continue;
		struct ksym sym = symbol_at(s, &s->rows[i]);
		int err = fn(ctx, &sym);
		if (err)
			return err;
	}
	return 0;
}

static int keep_first(void *ctx, const struct ksym *sym)
{
	*(struct ksym *)ctx = *sym;
	return 1;
}

bool ksyms_find(const struct ksyms *s, const char *name, struct ksym *ret)
{
	return *name && ksyms_each(s, name, keep_first, ret) == 1;
}

bool ksyms_row(const struct ksyms *s, u32 n, struct ksym *ret)
{
	if (n >= s->nr)
		return false;
	*ret = symbol_at(s, &s->rows[n]);
	return true;
}

/* The last row at or below the address; s->nr: none. */
static u32 row_below(const struct ksyms *s, u64 addr)
{
	u32 low = 0, high = s->nr;
	while (low < high) {
		u32 mid = low + (high - low) / 2;
		if (s->rows[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : s->nr;
}

/* Of several at one address the one that a person expects: no mark, a global one, the first. */
static u32 best_of(const struct ksyms *s, u32 i)
{
	u32 best = i;
	bool has = false;
	for (u32 k = i;; k--) {
		struct ksym sym = symbol_at(s, &s->rows[k]);
		bool global = sym.kind >= 'A' && sym.kind <= 'Z';
		if (!is_mark(&sym) && (!has || global)) {
			best = k;
			has = true;
		}
		if (!k || s->rows[k - 1].addr != s->rows[i].addr)
			return best;
	}
}

/* The last symbol of a module reaches to the end of its page at most: what comes after is somebody else's. */
static bool same_module(const struct ksyms *s, u32 n, const struct ksym *sym)
{
	struct ksym other;
	return ksyms_row(s, n, &other) && other.module_len == sym->module_len &&
	       !memcmp(other.module, sym->module, sym->module_len);
}

bool ksyms_at(const struct ksyms *s, u64 addr, struct ksym *ret, u64 *offset, u64 *size)
{
	enum { GAP_MAX = 16 << 20, PAGE = 4096 }; /* nothing in the kernel is that large */
	u32 i = row_below(s, addr);
	if (i == s->nr || !s->rows[i].addr)
		return false;
	u32 next = i + 1;
	struct ksym sym = symbol_at(s, &s->rows[best_of(s, i)]);
	u64 from = sym.addr;
	if (is_mark(&sym) && addr != from)
		return false;
	/* Without data in the list, what comes after the text is nobody's. */
	if (!sym.module_len && ksym_is_code(&sym) && s->text_end && from <= s->text_end &&
	    addr >= s->text_end)
		return false;
	if (!sym.module_len && s->end && from < s->end && addr >= s->end)
		return false;
	if (addr - from > GAP_MAX)
		return false;
	if (sym.module_len && !same_module(s, next, &sym) && addr >= (from | (PAGE - 1)) + 1)
		return false;
	*ret = sym;
	*offset = addr - from;
	*size = next < s->nr ? s->rows[next].addr - from : 0;
	return true;
}
