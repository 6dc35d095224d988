#include "view/markup.h"
#include "base/printable.h"
#include "base/str.h"

void markup_text(const char *text, size_t len, struct strbuf *to)
{
	const u8 *s = (const u8 *)text, *end = s + len;
	while (s < end) {
		bool bad;
		size_t n = str_utf8_len(s, (size_t)(end - s), &bad);
		u32 c = bad ? 0 : str_utf8_code(s, n);
		if (bad || c == 0xfffe || c == 0xffff) /* XML has no such characters */
			strbuf_str(to, "\xef\xbf\xbd");
		else if (*s == '<')
			strbuf_str(to, "&lt;");
		else if (*s == '>')
			strbuf_str(to, "&gt;");
		else if (*s == '&')
			strbuf_str(to, "&amp;");
		else if (*s == '"')
			strbuf_str(to, "&quot;");
		else if (printable_obeyed(c))
			strbuf_char(to, ' ');
		else
			strbuf_add(to, s, n);
		s += n;
	}
}
