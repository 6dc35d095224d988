/* A print fmt and a payload from anyone: a byte of flags, "system NUL", the format's text, NUL, the payload. */
#include "wire/format.h"
#include "wire/print_fmt.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static const char *symbol(void *ctx, u64 addr, u64 *offset)
{
	*offset = addr & 0xff;
	return addr & 1 ? "function" : NULL;
}

static const char *string_at(void *ctx, u64 addr)
{
	return addr & 1 ? "%d %s %5.2s %c %llx %pS %pI4 %*d %%\n" : NULL;
}

static bool eval(void *ctx, const char *name, size_t len, s64 *value)
{
	*value = (s64)len * 50;
	return len == 2;
}

static void run(struct arena *a, const struct schema *s, enum print_style style, const u8 *raw,
		u32 size)
{
	static const struct print_env env = { .symbol = symbol,
					      .string_at = string_at,
					      .eval = eval };
	const struct print_prog *prog;
	bool whole;
	struct strbuf b;
	if (print_prog_compile(a, s, &env, style, &prog, &whole, NULL))
		return;
	strbuf_init(&b);
	(void)print_prog_run(prog, raw, size, &b);
	(void)print_prog_run_fields(prog, raw, size, &b);
	strbuf_done(&b);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	if (len < 2)
		return 0;
	u8 flags = *data++;
	const u8 *end = data + len - 1, *nul = memchr(data, 0, (size_t)(end - data));
	if (!nul || nul - data > 64)
		return 0;
	const char *system = (const char *)data, *text = (const char *)nul + 1;
	nul = memchr(text, 0, (size_t)(end - (const u8 *)text));
	size_t text_len = (size_t)((nul ? nul : end) - (const u8 *)text);
	const u8 *raw = nul ? nul + 1 : end;
	struct arena a;
	struct schema *s;
	arena_init(&a);
	if (!format_parse(&a, system, text, text_len, flags & 1, flags & 2 ? 4 : 8, &s, NULL)) {
		run(&a, s, PRINT_STYLE_KERNEL, raw, (u32)(end - raw));
		run(&a, s, PRINT_STYLE_TRACE_CMD, raw, (u32)(end - raw));
	}
	arena_done(&a);
	return 0;
}
