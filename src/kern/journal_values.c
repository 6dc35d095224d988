#include "kern/journal_impl.h"
#include "base/str.h"

#include <string.h>

static void normal_value(const char *file, const char *text, struct strbuf *to)
{
	const char *slash = strrchr(file, '/');
	const char *base = slash ? slash + 1 : file;
	size_t len = strlen(text);
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	const char *open = memchr(text, '[', len);
	const char *close = open ? memchr(open, ']', len - (size_t)(open - text)) : NULL;
	const char *expanded = memmem(text, len, "(expanded: ", 11);
	if (!strcmp(base, "trace_clock") && close)
		strbuf_add(to, open + 1, (size_t)(close - open - 1));
	else if (!strcmp(base, "filter") && (len == 0 || (len >= 4 && !memcmp(text, "none", 4))))
		strbuf_char(to, '0');
	else if (str_starts(base, "buffer_") && expanded)
		strbuf_add(to, expanded + 11, strspn(expanded + 11, "0123456789"));
	else if (!strcmp(base, "enable"))
		strbuf_add(to, text, strspn(text, "01X")); /* "1*": also in use softly */
	else
		strbuf_add(to, text, len);
}

/* Lines of a list file: comments ("#### all functions enabled ####") and commands ("vfs_read:traceoff:unlimited") are none. */
static void normal_list(const char *text, struct strbuf *to)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		bool command = memchr(text, ':', len);
		size_t word = strcspn(text, " \n"); /* "vfs_read [module]" */
		if (len && *text != '#' && !command && !str_starts(text, "no pid")) {
			strbuf_add(to, text, min(len, word));
			strbuf_char(to, '\n');
		}
		text += len + (text[len] == '\n');
	}
}

int journal_value(const struct tracing *t, const char *file, bool list, struct strbuf *to)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = tracing_read(t, file, &text);
	if (!err && list)
		normal_list(strbuf_cstr(&text), to);
	else if (!err)
		normal_value(file, strbuf_cstr(&text), to);
	strbuf_done(&text);
	return err ? err : to->err;
}
