#include "view/markup.h"
#include "base/str.h"

void markup_text(const char *text, size_t len, struct strbuf *to)
{
	const u8 *s = (const u8 *)text, *end = s + len;
	while (s < end) {
		bool bad;
		size_t n = str_utf8_len(s, (size_t)(end - s), &bad);
		if (bad)
			strbuf_str(to, "\xef\xbf\xbd");
		else if (*s == '<')
			strbuf_str(to, "&lt;");
		else if (*s == '>')
			strbuf_str(to, "&gt;");
		else if (*s == '&')
			strbuf_str(to, "&amp;");
		else if (*s == '"')
			strbuf_str(to, "&quot;");
		else if (*s < 0x20 || *s == 0x7f)
			strbuf_char(to, ' ');
		else
			strbuf_add(to, s, n);
		s += n;
	}
}
