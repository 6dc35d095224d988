/* An event format from anyone: a byte of flags (1 big endian, 2 32-bit longs, 4 a page header), then the text. */
#include "wire/format.h"
#include "wire/print_fmt.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static void touch(const struct schema *s)
{
	static const u8 raw[64] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 0, 4, 0, 255, 255, 255, 255 };
	struct strbuf b;
	strbuf_init(&b);
	(void)print_fields(s, NULL, raw, sizeof(raw), &b);
	for (u32 i = 0; i < s->nr_fields; i++) {
		u32 n;
		(void)schema_u64(s, &s->fields[i], raw, sizeof(raw));
		(void)schema_bytes(s, &s->fields[i], raw, sizeof(raw), &n);
	}
	strbuf_done(&b);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	if (!len)
		return 0;
	u8 flags = *data, long_size = flags & 2 ? 4 : 8;
	const char *text = (const char *)data + 1;
	struct page_layout page;
	if (flags & 4) {
		(void)!format_parse_header_page(text, len - 1, long_size, &page);
		return 0;
	}
	struct arena a;
	struct diag d;
	struct schema *s;
	arena_init(&a);
	diag_init(&d);
	if (!format_parse(&a, "fuzz", text, len - 1, flags & 1, long_size, &s, &d))
		touch(s);
	diag_done(&d);
	arena_done(&a);
	return 0;
}
