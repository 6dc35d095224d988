#include "view/page.h"
#include "view/markup.h"

#include <string.h>

static void put_part(const struct page_part *p, struct strbuf *to)
{
	strbuf_add(to, p->text, p->len);
}

static void base64(const struct strbuf *from, struct strbuf *to)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	enum { PIECE = 3 * 4096 };
	for (size_t at = 0; at < from->len; at += PIECE) {
		size_t nr = min(from->len - at, (size_t)PIECE);
		const u8 *in = (const u8 *)from->data + at;
		char *out = strbuf_room(to, (nr + 2) / 3 * 4);
		if (!out)
			return;
		size_t n = 0;
		for (size_t i = 0; i < nr; i += 3, n += 4) {
			u32 v = (u32)in[i] << 16 | (i + 1 < nr ? (u32)in[i + 1] << 8 : 0) |
				(i + 2 < nr ? in[i + 2] : 0);
			out[n] = digits[v >> 18];
			out[n + 1] = digits[v >> 12 & 63];
			out[n + 2] = i + 1 < nr ? digits[v >> 6 & 63] : '=';
			out[n + 3] = i + 2 < nr ? digits[v & 63] : '=';
		}
		strbuf_commit(to, n);
	}
}

void page_put(const struct page_part page[3], const char *title, const struct strbuf *data,
	      struct strbuf *to)
{
	put_part(&page[0], to);
	markup_text(title, strlen(title), to);
	put_part(&page[1], to);
	base64(data, to);
	put_part(&page[2], to);
}
