/*
 * The kernel's own table of symbols (kernel/kallsyms.c), as it is in memory: names are rows of bytes, each a token that stands for up to a few
 * letters; addresses are offsets from a base, except that on x86 those of per-CPU variables are what they are (and others negative).
 * Which of both it is shows in _stext, whose address VMCOREINFO has.
 */
#include "memory/dump.h"

#include <errno.h>
#include <string.h>

enum { TOKENS = 256, TABLE_MAX = 65536, SYMS_MAX = 1 << 22, NAMES_A_SYMBOL = 64, NAME_MAX_ = 1024 };

struct symbol_tables {
	u32 nr;
	s32 *offsets;
	u8 *names;
	size_t names_size;
	u64 base;
	u16 index[TOKENS];
	char tokens[TABLE_MAX];
	bool absolute_percpu;
};

static int read_tables(struct crash_dump *dump, struct symbol_tables *t)
{
	struct memory *m = dump_memory(dump);
	u64 nr, names, tokens, index, offsets, base;
	if (!dump_number(dump, "SYMBOL(kallsyms_num_syms)", 16, &nr) ||
	    !dump_number(dump, "SYMBOL(kallsyms_names)", 16, &names) ||
	    !dump_number(dump, "SYMBOL(kallsyms_token_table)", 16, &tokens) ||
	    !dump_number(dump, "SYMBOL(kallsyms_token_index)", 16, &index) ||
	    !dump_number(dump, "SYMBOL(kallsyms_offsets)", 16, &offsets) ||
	    !dump_number(dump, "SYMBOL(kallsyms_relative_base)", 16, &base))
		return -ENOTSUP;
	int err = memory_read(m, nr, &t->nr, sizeof(t->nr));
	if (!err)
		err = memory_read(m, base, &t->base, sizeof(t->base));
	if (!err)
		err = memory_read(m, index, t->index, sizeof(t->index));
	if (err)
		return err;
	if (!t->nr || t->nr > SYMS_MAX ||
	    !budget_bytes(&dump_vmcore(dump)->file.budget,
			  (u64)t->nr * (sizeof(s32) + NAMES_A_SYMBOL * 2), "symbols"))
		return -E2BIG;
	/* The last token, with its end. The table may be followed by anything. */
	size_t size = t->index[TOKENS - 1] + 64;
	size = min(size, sizeof(t->tokens) - 1);
	err = memory_read(m, tokens, t->tokens, size);
	t->offsets = malloc(t->nr * sizeof(s32));
	if (!err && !t->offsets)
		err = -ENOMEM;
	if (!err)
		err = memory_read(m, offsets, t->offsets, t->nr * sizeof(s32));
	if (err)
		return err;
	/* How long the names are nobody says: as far as can be read, and no further than they can be. */
	size_t most = (size_t)t->nr * NAMES_A_SYMBOL, got = 0;
	t->names = malloc(most);
	if (!t->names)
		return -ENOMEM;
	for (size_t step = 1 << 16; got < most; got += step) {
		step = min(step, most - got);
		if (memory_read(m, names + got, t->names + got, step))
			break;
	}
	t->names_size = got;
	return got ? 0 : -EFAULT;
}

static u64 address_of(const struct symbol_tables *t, u32 n, bool absolute_percpu)
{
	if (!absolute_percpu)
		return t->base + (u32)t->offsets[n];
	return t->offsets[n] >= 0 ? (u64)t->offsets[n] : t->base - 1 - (u64)(s64)t->offsets[n];
}

/* One name: a length (of one byte, or two from 6.1 on, where it is large), and so many tokens. name: with the letter before it. */
static bool expand(const struct symbol_tables *t, size_t *at, char name[NAME_MAX_], u32 *size)
{
	if (*at >= t->names_size)
		return false;
	u32 len = t->names[(*at)++], have = 0;
	if (len & 0x80) {
		if (*at >= t->names_size)
			return false;
		len = (len & 0x7f) | (u32)t->names[(*at)++] << 7;
	}
	if (len > t->names_size - *at)
		return false;
	for (u32 n = 0; n < len; n++) {
		const char *token = t->tokens + t->index[t->names[*at + n]];
		for (; *token; token++) {
			if (have == NAME_MAX_ || *token <= ' ' || *token > '~')
				return false;
			name[have++] = *token;
		}
	}
	*at += len;
	*size = have;
	return have > 1;
}

/* Tells which kind of offsets there are: only with the right one _stext is where it is. */
static int find_kind(struct symbol_tables *t, u64 stext)
{
	static const char wanted[] = "_stext";
	char name[NAME_MAX_];
	u32 size;
	size_t at = 0;
	for (u32 n = 0; n < t->nr; n++) {
		if (!expand(t, &at, name, &size))
			return -EBADMSG;
		if (size != sizeof(wanted) || memcmp(name + 1, wanted, sizeof(wanted) - 1))
			continue;
		t->absolute_percpu = address_of(t, n, true) == stext;
		return t->absolute_percpu || address_of(t, n, false) == stext ? 0 : -ENOTSUP;
	}
	return -ENOTSUP;
}

static int print_symbols(const struct symbol_tables *t, struct strbuf *to)
{
	char name[NAME_MAX_];
	u32 size;
	size_t at = 0;
	for (u32 n = 0; n < t->nr; n++) {
		if (!expand(t, &at, name, &size))
			return -EBADMSG;
		strbuf_hex(to, address_of(t, n, t->absolute_percpu));
		strbuf_char(to, ' ');
		strbuf_add(to, name, 1);
		strbuf_char(to, ' ');
		strbuf_add(to, name + 1, size - 1);
		strbuf_char(to, '\n');
	}
	return 0;
}

int dump_symbols(struct crash_dump *dump, struct strbuf *to, struct diag *d)
{
	u64 stext;
	struct symbol_tables *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	int err = read_tables(dump, t);
	if (!err && !dump_number(dump, "SYMBOL(_stext)", 16, &stext))
		err = -ENOTSUP;
	if (!err)
		err = find_kind(t, stext);
	if (!err)
		err = print_symbols(t, to);
	free(t->offsets);
	free(t->names);
	free(t);
	if (err == -ENOTSUP || err == -EBADMSG || err == -EFAULT)
		(void)diag_error(d, err, "cannot read the symbols of kernel %s in the dump: %s",
				 dump_release(dump),
				 err == -ENOTSUP  ? "its VMCOREINFO does not say where they are "
						    "(before 6.0), or it keeps them in another form"
				 : err == -EFAULT ? "the memory that has them is not in the dump"
						  : "they are broken");
	else if (err)
		(void)diag_error(d, err, "cannot read the symbols in the dump: %s", strerror(-err));
	return err;
}
