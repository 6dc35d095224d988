#include "base/printable.h"

#include "base/str.h"

/* All that are written to a stream that is filtered. */
static const char *const colours[] = { "\033[0m",  "\033[1m",  "\033[m",   "\033[31m", "\033[32m",
				       "\033[33m", "\033[35m", "\033[36m", "\033[7m" };
enum { UTF8_MAX = 4 };

/* Bytes of a colour code at s; 0: none. *cut: s is the beginning of one. */
static size_t colour_len(const char *s, size_t left, bool *cut)
{
	*cut = false;
	for (size_t i = 0; i < ARRAY_SIZE(colours); i++) {
		size_t n = strlen(colours[i]);
		if (left >= n && !memcmp(s, colours[i], n))
			return n;
		*cut |= left < n && !memcmp(s, colours[i], left);
	}
	return 0;
}

bool printable_obeyed(u32 c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff ||
	       (c >= 0xe0000 && c < 0xe0080);
}

static void add_escaped(struct strbuf *to, u32 c)
{
	static const char letters[] = "tn\0\0r"; /* from 0x09 on */
	if (c >= '\t' && c <= '\r' && letters[c - '\t'])
		strbuf_printf(to, "\\%c", letters[c - '\t']);
	else if (c < 0x100)
		strbuf_printf(to, "\\x%02x", c);
	else
		strbuf_printf(to, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

static void add_bytes(struct strbuf *to, const u8 *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_printf(to, "\\x%02x", s[i]);
}

/* One character, of n bytes. */
static void add_one(struct strbuf *to, const u8 *s, size_t n, bool bad, unsigned flags)
{
	u32 c = bad ? 0 : str_utf8_code(s, n);
	if (bad || (flags & PRINTABLE_ASCII && n > 1))
		add_bytes(to, s, n);
	else if (printable_obeyed(c) && !(flags & PRINTABLE_LINES && (c == '\n' || c == '\t')))
		add_escaped(to, c);
	else
		strbuf_add(to, s, n);
}

/* Bytes at s that are plain ASCII: most of what there is. */
static size_t plain_len(const u8 *s, const u8 *end, unsigned flags)
{
	const u8 *at = s;
	while (at < end && ((*at >= ' ' && *at < 0x7f) ||
			    (flags & PRINTABLE_LINES && (*at == '\n' || *at == '\t'))))
		at++;
	return (size_t)(at - s);
}

size_t printable_add(struct strbuf *to, const char *text, size_t len, unsigned flags)
{
	const u8 *s = (const u8 *)text, *end = s + len;
	while (s < end) {
		size_t left = (size_t)(end - s), n = plain_len(s, end, flags);
		bool bad = false, cut = false;
		if (!n && *s == '\033' && flags & PRINTABLE_COLOURS)
			n = colour_len((const char *)s, left, &cut);
		if (n) {
			strbuf_add(to, s, n);
		} else {
			n = str_utf8_len(s, left, &bad);
			cut |= bad && n == left && left < UTF8_MAX;
			if (cut && flags & PRINTABLE_MORE)
				break;
			add_one(to, s, n, bad, flags);
		}
		s += n;
	}
	return (size_t)(s - (const u8 *)text);
}

static void add_aligned(struct strbuf *to, const char *name, size_t width,
			void (*align)(struct strbuf *, const char *, size_t))
{
	struct strbuf text;
	if (likely(!to->screen)) {
		align(to, name, width);
		return;
	}
	strbuf_init(&text);
	(void)printable_add(&text, name, strlen(name), 0);
	align(to, strbuf_cstr(&text), width);
	if (text.err)
		to->err = text.err;
	strbuf_done(&text);
}

void printable_left(struct strbuf *to, const char *name, size_t width)
{
	add_aligned(to, name, width, strbuf_left);
}

void printable_right(struct strbuf *to, const char *name, size_t width)
{
	add_aligned(to, name, width, strbuf_right);
}

/* ---- streams ---- */

static int write_text(struct printable_stream *p, int fd)
{
	int err = p->text.err ? p->text.err : p->held.err;
	if (!err)
		err = strbuf_drain_fd(&fd, p->text.data, p->text.len);
	strbuf_reset(&p->text);
	return err;
}

int printable_write(struct printable_stream *p, int fd, const char *data, size_t len, unsigned flags)
{
	size_t used = 0;
	flags |= PRINTABLE_MORE;
	/* A character of which the beginning came before: byte by byte, until it is whole or none. */
	while (p->held.len && used < len && !p->held.err) {
		strbuf_char(&p->held, data[used++]);
		size_t n = printable_add(&p->text, p->held.data, p->held.len, flags);
		memmove(p->held.data, p->held.data + n, p->held.len - n);
		p->held.len -= n;
	}
	if (used < len) {
		used += printable_add(&p->text, data + used, len - used, flags);
		strbuf_add(&p->held, data + used, len - used);
	}
	return write_text(p, fd);
}

int printable_end(struct printable_stream *p, int fd, unsigned flags)
{
	(void)printable_add(&p->text, p->held.data, p->held.len, flags);
	int err = write_text(p, fd);
	strbuf_done(&p->held);
	strbuf_done(&p->text);
	return err;
}
