/*
 * Settings of ~/.perfconfig: the first line is a key and a value, the rest the text of a file. What is set by editing the text is what is read
 * from it afterwards, and nothing else changes.
 */
#include "base/ini.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static char *copy(const u8 *data, size_t size)
{
	char *text = malloc(size + 1);
	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void read_text(struct ini *c, const char *text)
{
	struct diag d;
	diag_init(&d);
	ini_init(c);
	if (ini_parse(c, text, "file", &d))
		abort();
	diag_done(&d);
}

/* Everything but `key` reads as before. */
static void same_others(const struct ini *a, const struct ini *b, const char *key)
{
	vec_for_each (&a->list, s) {
		const char *other = ini_get(b, s->key);
		if (strcmp(s->key, key) && (!other || strcmp(s->value, other)))
			abort();
	}
}

static void edit(const struct ini *before, const char *text, const char *key, const char *value)
{
	struct strbuf made;
	struct ini after;
	strbuf_init(&made);
	ini_edit(text, key, value, &made);
	read_text(&after, strbuf_cstr(&made));
	same_others(before, &after, key);
	same_others(&after, before, key);
	if (!ini_get(&after, key) || strcmp(ini_get(&after, key), value))
		abort();
	ini_done(&after);
	strbuf_done(&made);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *all = copy(data, size), *text = all + strcspn(all, "\n");
	struct ini c;
	if (*text)
		*text++ = '\0';
	read_text(&c, text);
	char *value = strchr(all, '=');
	if (value) {
		*value++ = '\0';
		if (ini_key(all))
			edit(&c, text, all, value);
	}
	ini_done(&c);
	free(all);
	return 0;
}
