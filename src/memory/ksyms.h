/*
 * The running kernel's symbols, both ways: by name and by address, with the letter of their kind and their module. The text of
 * /proc/kallsyms is kept as it is; the table points into it. Not thread-safe before the first look-up has made the table.
 */
#pragma once

#include "base/types.h"
#include "kern/kallsyms.h"

struct ksym {
	u64 addr;
	char kind; /* as nm: T t D d B b R r W w A a */
	const char *name,
		*module; /* not terminated: into the text; module "" for the kernel itself */
	u32 name_len, module_len;
};

struct ksyms_row {
	u64 addr;
	u32 at; /* of the kind's letter in the text */
};

struct ksyms {
	struct kallsyms_text text;
	struct ksyms_row *rows; /* by address */
	u32 nr;
	u64 text_end; /* _etext; 0: not known */
	u64 end; /* _end; 0: not known */
	bool has_data; /* variables are among them (CONFIG_KALLSYMS_ALL) */
};

/*
 * root and cache: as kallsyms_read(). -EPERM: addresses are hidden from this user (kernel.kptr_restrict); other errno: the list
 * cannot be read.
 */
int ksyms_open(struct ksyms *s, const char *root, const char *cache) must_check;
/* From a text, which is copied. */
int ksyms_open_text(struct ksyms *s, const char *text, size_t len) must_check;
void ksyms_close(struct ksyms *s);

/* The first of this name; module NULL: any. */
bool ksyms_find(const struct ksyms *s, const char *name, struct ksym *ret);
/* All of this name, each told to fn until it returns other than 0, which is returned. */
int ksyms_each(const struct ksyms *s, const char *name,
	       int (*fn)(void *ctx, const struct ksym *sym), void *ctx);
/* Row n of the table, by address; false: there is none. */
bool ksyms_row(const struct ksyms *s, u32 n, struct ksym *ret);
/* What covers an address. *offset from its start, *size up to the next symbol (0: not known). */
bool ksyms_at(const struct ksyms *s, u64 addr, struct ksym *ret, u64 *offset, u64 *size);
/* Whether this is code. */
static inline bool ksym_is_code(const struct ksym *s)
{
	return s->kind == 'T' || s->kind == 't' || s->kind == 'W' || s->kind == 'w';
}
