/* Command lines: words separated by NUL; the first byte chooses whether words and options may be mixed. */
#include "base/opts.h"

#include <errno.h>

enum { WORDS_MAX = 32 };

struct fuzz_opts {
	bool flag, no_flag, seen;
	unsigned count;
	s64 number;
	u64 unsigned_number, size;
	const char *text, *optional;
	struct opt_list list;
	int choice;
};

static const char *const choices[] = { "one", "two", "three", NULL };

static int called(void *opts, const char *value, bool negated, struct diag *d)
{
	return value && *value == '!' ? diag_error(d, -EINVAL, "no") : 0;
}

static const struct opt rows[] = {
	OPT_FLAG('f', "flag", struct fuzz_opts, flag, ""),
	OPT_FLAG(0, "no-inherit", struct fuzz_opts, no_flag, ""),
	OPT_HEADING("Heading"),
	OPT_COUNT('c', "count", struct fuzz_opts, count, ""),
	OPT_INT('i', "int", struct fuzz_opts, number, "N", ""),
	OPT_UINT('u', "uint", struct fuzz_opts, unsigned_number, "N", "",
		 OPT_SEEN(struct fuzz_opts, seen)),
	OPT_SIZE('s', "size", struct fuzz_opts, size, "SIZE", ""),
	OPT_STR('t', "text", struct fuzz_opts, text, "TEXT", ""),
	OPT_STR('o', "optional", struct fuzz_opts, optional, "TEXT", "", .optional = true,
		.fallback = "x"),
	OPT_LIST('l', "list", struct fuzz_opts, list, "ITEM", ""),
	OPT_ENUM('e', "enum", struct fuzz_opts, choice, "WORD", "", choices),
	OPT_CALL('x', "call", "WORD", "", called),
	OPT_STR(0, "refused", struct fuzz_opts, text, "TEXT", "use another", .refused = true),
	OPT_END(),
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char prog[] = "p", *argv[WORDS_MAX + 2] = { prog };
	int argc = 1, first = -1;
	if (!size)
		return 0;
	_cleanup_free_ char *text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	for (size_t at = 0; at < size && argc <= WORDS_MAX; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	struct fuzz_opts o = { 0 };
	struct diag d;
	diag_init(&d);
	int ret = opts_parse(rows, data[0] & 1, &o, argc, argv, &first, &d);
	if (ret == 0 && (first < 1 || first > argc || d.nr_errors))
		abort();
	if (ret < 0 && (ret != -EINVAL || d.nr_errors != 1))
		abort();
	/* Rotating words must not lose one. */
	for (int i = 0; i < argc; i++)
		if (!argv[i])
			abort();
	struct strbuf s;
	strbuf_init(&s);
	diag_render(&d, "p", true, &s);
	strbuf_done(&s);
	opts_free(rows, &o);
	diag_done(&d);
	return 0;
}
