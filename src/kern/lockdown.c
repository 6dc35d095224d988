#include "kern/lockdown.h"

#include <string.h>

static const char *const words[] = {
	[LOCKDOWN_UNKNOWN] = "unknown",
	[LOCKDOWN_NONE] = "none",
	[LOCKDOWN_INTEGRITY] = "integrity",
	[LOCKDOWN_CONFIDENTIALITY] = "confidentiality",
};

const char *lockdown_word(enum lockdown_level level)
{
	return words[level];
}

enum lockdown_level lockdown_parse(const char *text)
{
	const char *open = strchr(text, '[');
	const char *close = open ? strchr(open, ']') : NULL;
	for (size_t i = LOCKDOWN_NONE; close && i < ARRAY_SIZE(words); i++)
		if ((size_t)(close - open - 1) == strlen(words[i]) &&
		    !strncmp(open + 1, words[i], strlen(words[i])))
			return (enum lockdown_level)i;
	return LOCKDOWN_UNKNOWN;
}

int lockdown_read(const struct sysroot *r, enum lockdown_level *ret)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = sysroot_read(r, "sys/kernel/security/lockdown", &text);
	if (!err)
		*ret = lockdown_parse(strbuf_cstr(&text));
	strbuf_done(&text);
	return err;
}
