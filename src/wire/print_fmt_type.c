/* The types that casts, sizeof and variables of a print fmt name: words of C, typedefs of the kernel, typedefs of the event's own fields. */
#include "wire/print_fmt_parse.h"

#include <string.h>

static bool size_of_word(struct print_fmt_parser *p, const char *word, size_t len, struct ctype *t)
{
	static const struct {
		const char *word;
		u8 size; /* 0: a long */
		bool sign;
	} rows[] = {
		{ "u8", 1, 0 },
		{ "__u8", 1, 0 },
		{ "uint8_t", 1, 0 },
		{ "bool", 1, 0 },
		{ "_Bool", 1, 0 },
		{ "s8", 1, 1 },
		{ "__s8", 1, 1 },
		{ "int8_t", 1, 1 },
		{ "u16", 2, 0 },
		{ "__u16", 2, 0 },
		{ "uint16_t", 2, 0 },
		{ "__be16", 2, 0 },
		{ "__le16", 2, 0 },
		{ "s16", 2, 1 },
		{ "__s16", 2, 1 },
		{ "int16_t", 2, 1 },
		{ "umode_t", 2, 0 },
		{ "u32", 4, 0 },
		{ "__u32", 4, 0 },
		{ "uint32_t", 4, 0 },
		{ "__be32", 4, 0 },
		{ "__le32", 4, 0 },
		{ "uint", 4, 0 },
		{ "gfp_t", 4, 0 },
		{ "dev_t", 4, 0 },
		{ "fmode_t", 4, 0 },
		{ "uid_t", 4, 0 },
		{ "gid_t", 4, 0 },
		{ "isolate_mode_t", 4, 0 },
		{ "slab_flags_t", 4, 0 },
		{ "vm_fault_t", 4, 0 },
		{ "blk_opf_t", 4, 0 },
		{ "blk_mq_req_flags_t", 4, 0 },
		{ "req_flags_t", 4, 0 },
		{ "s32", 4, 1 },
		{ "__s32", 4, 1 },
		{ "int32_t", 4, 1 },
		{ "pid_t", 4, 1 },
		{ "u64", 8, 0 },
		{ "__u64", 8, 0 },
		{ "uint64_t", 8, 0 },
		{ "__be64", 8, 0 },
		{ "__le64", 8, 0 },
		{ "sector_t", 8, 0 },
		{ "phys_addr_t", 8, 0 },
		{ "dma_addr_t", 8, 0 },
		{ "resource_size_t", 8, 0 },
		{ "s64", 8, 1 },
		{ "__s64", 8, 1 },
		{ "int64_t", 8, 1 },
		{ "loff_t", 8, 1 },
		{ "ktime_t", 8, 1 },
		{ "size_t", 0, 0 },
		{ "ssize_t", 0, 1 },
		{ "uintptr_t", 0, 0 },
		{ "pgoff_t", 0, 0 },
		{ "ino_t", 0, 0 },
		{ "vm_flags_t", 0, 0 },
		{ "kernel_ulong_t", 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].word) == len && !memcmp(rows[i].word, word, len)) {
			*t = (struct ctype){ .size = rows[i].size ? rows[i].size
								  : p->schema->long_size,
					     .sign = rows[i].sign };
			return true;
		}
	return false;
}

/* A typedef that a field of this event has tells its own size. */
static bool size_of_field_type(const struct print_fmt_parser *p, const char *word, size_t len,
			       struct ctype *t)
{
	for (u32 i = 0; i < p->schema->nr_fields; i++) {
		const struct schema_field *f = &p->schema->fields[i];
		if (strlen(f->type) == len && !memcmp(f->type, word, len) && f->size <= 8) {
			*t = (struct ctype){ .size = (u8)f->size, .sign = f->flags & FIELD_SIGNED };
			return true;
		}
	}
	return false;
}

struct type_words {
	struct ctype typedefed;
	unsigned longs, words;
	bool is_unsigned, is_signed, is_char, is_short, is_int, known, tagged;
};

/*
 * typeof(...): of a type, or of an expression. Which one its first word says, so that nothing is read twice. Where it cannot be told, the
 * cast changes nothing.
 */
static bool type_of_something(struct print_fmt_parser *p, struct type_words *w)
{
	if (!token_accept_word(p, "typeof") && !token_accept_word(p, "__typeof__"))
		return false;
	token_expect(p, '(');
	w->tagged = true;
	if (++p->depth > PRINT_DEPTH_MAX) {
		parser_fail(p, "it is nested too deeply");
	} else if (p->tok == TOK_IDENT && !token_is_word(p, "REC") && !token_is_word(p, "__entry")) {
		bool sure;
		w->known = ctype_parse(p, &w->typedefed, &sure) && sure && !w->typedefed.pointer &&
			   p->tok == ')';
		token_skip_balanced(p);
	} else {
		const struct print_fmt_node *n = parser_expr(p);
		w->known = n && node_is_number(n) && !n->unknown;
		if (w->known)
			w->typedefed = (struct ctype){ .size = n->size, .sign = n->sign };
	}
	p->depth--;
	token_expect(p, ')');
	return !p->err;
}

/* One word of a type; false when it is none. sure: the word can be nothing else. */
static bool type_word(struct print_fmt_parser *p, struct type_words *w, bool *sure)
{
	static const char *const silent[] = { "const",	  "volatile", "static",	   "__user",
					      "__force",  "__iomem",  "__bitwise", "__seg_gs",
					      "__percpu", "__rcu",    "register",  "__restrict" };
	static const char *const tags[] = { "struct", "union", "enum" };
	*sure = true;
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		if (token_accept_word(p, silent[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (token_accept_word(p, tags[i])) {
			w->tagged = true;
			w->is_int |= i == 2;
			return token_accept(p, TOK_IDENT);
		}
	if (token_is_word(p, "typeof") || token_is_word(p, "__typeof__"))
		return type_of_something(p, w);
	w->words++;
	if (token_accept_word(p, "unsigned"))
		return w->is_unsigned = true;
	if (token_accept_word(p, "signed"))
		return w->is_signed = true;
	if (token_accept_word(p, "long"))
		return ++w->longs;
	if (token_accept_word(p, "char"))
		return w->is_char = true;
	if (token_accept_word(p, "short"))
		return w->is_short = true;
	if (token_accept_word(p, "int"))
		return w->is_int = true;
	if (token_accept_word(p, "void"))
		return w->tagged = true;
	if (w->words > 1 || p->tok != TOK_IDENT)
		return false;
	*sure = w->known = size_of_word(p, p->tok_at, p->tok_len, &w->typedefed) ||
			   size_of_field_type(p, p->tok_at, p->tok_len, &w->typedefed);
	token_next(p);
	return true;
}

static struct ctype type_of_words(const struct print_fmt_parser *p, const struct type_words *w)
{
	struct ctype t = { .size = 4, .sign = !w->is_unsigned };
	if (w->known)
		return w->typedefed;
	if (w->is_char)
		t.size = 1; /* the kernel builds with -funsigned-char since 6.2; a field says for itself */
	else if (w->is_short)
		t.size = 2;
	else if (w->longs)
		t.size = w->longs > 1 ? 8 : p->schema->long_size;
	else if (!w->is_int && !w->is_unsigned && !w->is_signed)
		t.size = 0;
	return t;
}

bool ctype_parse(struct print_fmt_parser *p, struct ctype *ret, bool *sure)
{
	struct type_words w = { 0 };
	*sure = false;
	unsigned nr = 0;
	while (p->tok == TOK_IDENT) {
		struct mark m = token_mark(p);
		bool one_sure = false;
		if (!type_word(p, &w, &one_sure)) {
			token_back(p, m);
			break;
		}
		*sure |= one_sure;
		nr++;
	}
	if (!nr)
		return false;
	*ret = type_of_words(p, &w);
	while (p->tok == '*' || token_is_word(p, "const") || token_is_word(p, "__user")) {
		ret->pointer |= p->tok == '*';
		token_next(p);
	}
	return true;
}
