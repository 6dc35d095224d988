#include "bpf/list_types.h"

#include "base/glob.h"
#include "base/str.h"

#include <string.h>

static const struct {
	const char *word;
	u32 kinds;
} words[] = {
	{ "struct ", BTF_BIT(BTF_OF_STRUCT) },
	{ "union ", BTF_BIT(BTF_OF_UNION) },
	{ "enum ", BTF_BIT(BTF_OF_ENUM) | BTF_BIT(BTF_OF_ENUM64) },
};

bool list_types_read(struct list_types *t, const struct sysroot *root)
{
	if (t->tried)
		return t->there;
	t->tried = true;
	strbuf_init(&t->bytes);
	t->there = !sysroot_read(root, "sys/kernel/btf/vmlinux", &t->bytes) &&
		   !btf_open_memory(&t->btf, t->bytes.data, t->bytes.len, NULL);
	return t->there;
}

void list_types_done(struct list_types *t)
{
	if (t->there)
		btf_close(&t->btf);
	if (t->tried)
		strbuf_done(&t->bytes);
}

static size_t word_of(const char *pattern)
{
	for (size_t i = 0; pattern && i < ARRAY_SIZE(words); i++)
		if (str_starts(pattern, words[i].word))
			return i;
	return ARRAY_SIZE(words);
}

bool list_types_wanted(const char *pattern)
{
	return word_of(pattern) < ARRAY_SIZE(words);
}

static void add_members(const struct btf *b, const struct btf_desc *d, struct strbuf *to)
{
	struct btf_part part;
	for (u32 i = 0; i < d->nr && btf_part(b, d, i, &part); i++) {
		strbuf_str(to, "    ");
		if (d->kind == BTF_OF_ENUM || d->kind == BTF_OF_ENUM64) {
			strbuf_printf(to, "%s = %lld\n", part.name, (long long)part.value);
			continue;
		}
		btf_name_type(b, part.type, to);
		if (*part.name)
			strbuf_printf(to, " %s", part.name);
		if (part.bits)
			strbuf_printf(to, ":%u", part.bits);
		strbuf_char(to, '\n');
	}
}

int list_types_each(struct list_types *t, const char *pattern, bool members,
		    int (*fn)(void *ctx, const char *text, const char *members), void *ctx)
{
	size_t w = word_of(pattern);
	if (w == ARRAY_SIZE(words))
		return 0;
	const char *name = pattern + strlen(words[w].word);
	struct strbuf text, lines;
	strbuf_init(&text);
	strbuf_init(&lines);
	int rc = 0;
	for (u32 i = 0; i < t->btf.nr && !rc; i++) {
		struct btf_desc d;
		if (!btf_describe(&t->btf, t->btf.first + i, &d) ||
		    !(words[w].kinds & BTF_BIT(d.kind)) || !*d.name || !glob_match(name, d.name))
			continue;
		strbuf_reset(&text);
		strbuf_reset(&lines);
		strbuf_printf(&text, "%s%s", words[w].word, d.name);
		if (members)
			add_members(&t->btf, &d, &lines);
		rc = fn(ctx, strbuf_cstr(&text), members ? strbuf_cstr(&lines) : NULL);
	}
	strbuf_done(&text);
	strbuf_done(&lines);
	return rc;
}

void list_types_function(struct list_types *t, const char *name, struct strbuf *to)
{
	struct btf_desc d;
	if (btf_find_prototype(&t->btf, name, &d))
		return;
	add_members(&t->btf, &d, to);
	if (!d.ref)
		return;
	strbuf_str(to, "    ");
	btf_name_type(&t->btf, d.ref, to);
	strbuf_str(to, " retval\n");
}
