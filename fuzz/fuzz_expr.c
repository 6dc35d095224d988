/* Expressions, CPU lists and masks, times, patterns: every small text parser of base on the same text. */
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/expr.h"
#include "base/glob.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Each name is a number, a float or a string, whichever its turn. */
static int get(void *ctx, u32 ident, const char *name, struct expr_value *ret)
{
	if (ident % 4 == 3)
		return -ENOENT;
	*ret = expr_int(ident);
	if (ident % 4 == 1)
		*ret = (struct expr_value){ .type = EXPR_FLOAT, .f = ident * 0.5 };
	if (ident % 4 == 2)
		*ret = (struct expr_value){ .type = EXPR_STR, .s = name };
	return 0;
}

static void fuzz_expr(const char *text, struct diag *d)
{
	static const struct expr_env env = { .get = get };
	struct expr e;
	struct expr_value v;
	int err = expr_parse(&e, text, NULL, d);
	if (err && err != -ENOMEM && d->nr_errors != 1)
		abort();
	if (err)
		return;
	err = expr_eval(&e, &env, &v, d);
	if (err && d->nr_errors != 1)
		abort();
	expr_done(&e);
}

static void fuzz_cpuset(const char *text)
{
	struct cpuset a, b;
	struct strbuf s;
	strbuf_init(&s);
	if (!cpuset_parse_list(text, &a, NULL)) {
		cpuset_add_list(&a, &s);
		if (cpuset_parse_list(strbuf_cstr(&s), &b, NULL) || memcmp(&a, &b, sizeof(a)))
			abort();
	}
	strbuf_reset(&s);
	if (!cpuset_parse_mask(text, &a, NULL)) {
		cpuset_add_mask(&a, &s);
		if (cpuset_parse_mask(strbuf_cstr(&s), &b, NULL) || memcmp(&a, &b, sizeof(a)))
			abort();
	}
	strbuf_done(&s);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	if (!text)
		return 0;
	struct diag d;
	struct strbuf s;
	u64 ns;
	diag_init(&d);
	strbuf_init(&s);
	fuzz_expr(text, &d);
	diag_render(&d, "p", false, &s);
	strbuf_done(&s);
	diag_done(&d);
	fuzz_cpuset(text);
	(void)!clock_parse(text, &ns);
	const char *name = strchr(text, '\n');
	(void)glob_match(text, name ? name + 1 : "a name");
	return 0;
}
