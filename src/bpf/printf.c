#include "bpf/printf.h"

#include <stdio.h>

struct conversion {
	bool left, zero, plus, space, alternate;
	int width, precision; /* -1: none written */
	char letter;
	enum value_buffer buffer;
};

static const char *parse_number(const char *p, int *ret)
{
	enum { LARGEST = 4096 };
	int v = 0;
	for (; *p >= '0' && *p <= '9'; p++)
		v = v < LARGEST ? v * 10 + (*p - '0') : LARGEST;
	*ret = v;
	return p;
}

static const char *parse_flags(const char *p, struct conversion *c)
{
	for (;; p++) {
		switch (*p) {
		case '-': c->left = true; break;
		case '0': c->zero = true; break;
		case '+': c->plus = true; break;
		case ' ': c->space = true; break;
		case '#': c->alternate = true; break;
		default: return p;
		}
	}
}

/* After the '%'. NULL: not a conversion. */
static const char *parse(const char *p, struct conversion *c)
{
	*c = (struct conversion){ .width = -1, .precision = -1 };
	p = parse_flags(p, c);
	if (*p >= '1' && *p <= '9')
		p = parse_number(p, &c->width);
	if (*p == '.')
		p = parse_number(p + 1, &c->precision);
	while (*p && strchr("hlqjzt", *p))
		p++;
	if (!*p || !strchr("diuxXocspr", *p))
		return NULL;
	c->letter = *p++;
	if (c->letter == 'r' && *p == 'x') {
		c->buffer = VALUE_BUFFER_ESCAPED;
		p++;
	} else if (c->letter == 'r' && *p == 'h') {
		c->buffer = VALUE_BUFFER_HEX;
		p++;
	}
	return p;
}

static void add_padded(const struct conversion *c, const char *text, size_t len, struct strbuf *to)
{
	size_t width = c->width > 0 ? (size_t)c->width : 0;
	size_t blanks = width > len ? width - len : 0;
	if (!c->left)
		strbuf_fill(to, ' ', blanks);
	strbuf_add(to, text, len);
	if (c->left)
		strbuf_fill(to, ' ', blanks);
}

static void add_text(const struct value_style *s, const struct conversion *c,
		     const struct program_type *t, const void *data, struct strbuf *to)
{
	struct strbuf text;
	strbuf_init(&text);
	if (c->letter == 'r' && t->kind == PROGRAM_BUFFER)
		value_buffer_text(t, data, c->buffer, &text);
	else
		value_text(s, t, data, &text);
	size_t len = text.len;
	if (c->precision >= 0)
		len = min(len, (size_t)c->precision);
	add_padded(c, text.data ? text.data : "", len, to);
	strbuf_done(&text);
}

/* 64 bits hold every value, so the modifiers of the script's format are replaced by one. */
static void add_int(const struct conversion *c, s64 v, struct strbuf *to)
{
	char format[64];
	int n = snprintf(format, sizeof(format), "%%%s%s%s%s%s", c->left ? "-" : "",
			 c->zero ? "0" : "", c->plus ? "+" : "", c->space ? " " : "",
			 c->alternate ? "#" : "");
	if (c->width >= 0)
		n += snprintf(format + n, sizeof(format) - (size_t)n, "%d", c->width);
	if (c->precision >= 0)
		n += snprintf(format + n, sizeof(format) - (size_t)n, ".%d", c->precision);
	snprintf(format + n, sizeof(format) - (size_t)n, "ll%c", c->letter);
	char text[8192];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int len = snprintf(text, sizeof(text), format, (long long)v);
#pragma GCC diagnostic pop
	if (len > 0)
		strbuf_add(to, text, min((size_t)len, sizeof(text) - 1));
}

static bool is_plain(const struct conversion *c)
{
	return c->width < 0 && c->precision < 0 && !c->plus && !c->space && !c->alternate;
}

static void add_number(const struct conversion *c, s64 v, bool is_signed, struct strbuf *to)
{
	if (is_plain(c) && (c->letter == 'd' || c->letter == 'i') && (is_signed || v >= 0))
		strbuf_s64(to, v);
	else if (is_plain(c) && (c->letter == 'u' || c->letter == 'd' || c->letter == 'i'))
		strbuf_u64(to, (u64)v);
	else
		add_int(c, v, to);
}

static s64 number_of(const struct program_type *t, const void *data)
{
	switch (t->kind) {
	case PROGRAM_INT:
	case PROGRAM_BOOL:
	case PROGRAM_ENUM:
	case PROGRAM_POINTER: return value_int(t, data);
	case PROGRAM_USERNAME:
	case PROGRAM_INET: {
		u32 v;
		memcpy(&v, data, sizeof(v));
		return v;
	}
	default: {
		s64 v = 0;
		memcpy(&v, data, min(t->size, (u32)sizeof(v)));
		return v;
	}
	}
}

static void add_argument(const struct value_style *s, const struct conversion *c,
			 const struct program_field *f, const void *record, struct strbuf *to)
{
	const void *data = (const u8 *)record + f->offset;
	const struct program_type *t = f->type;
	if (c->letter == 's' || c->letter == 'r') {
		add_text(s, c, t, data, to);
		return;
	}
	s64 v = f->bit_size ? value_bits(f, data) : number_of(t, data);
	if (c->letter == 'c') {
		char one = (char)v;
		add_padded(c, &one, 1, to);
	} else if (c->letter == 'p') {
		char text[24];
		int len = snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
		add_padded(c, text, (size_t)len, to);
	} else {
		/* A narrow negative number is as wide as it was: -1 of 32 bits is ffffffff, not sixteen of them. */
		if (strchr("xXou", c->letter) && t->kind == PROGRAM_INT && t->size < 8)
			v &= (s64)((1ull << (t->size * 8)) - 1);
		add_number(c, v, t->is_signed, to);
	}
}

void printf_text(const struct value_style *s, const char *format, const struct program_type *fields,
		 const void *data, struct strbuf *to)
{
	u32 at = 0;
	for (const char *p = format; *p;) {
		const char *percent = strchr(p, '%');
		if (!percent) {
			strbuf_str(to, p);
			return;
		}
		strbuf_add(to, p, (size_t)(percent - p));
		p = percent + 1;
		if (*p == '%') {
			strbuf_char(to, *p++);
			continue;
		}
		struct conversion c;
		const char *end = parse(p, &c);
		if (!end) {
			strbuf_char(to, '%');
			continue;
		}
		if (at < fields->nr)
			add_argument(s, &c, &fields->fields[at++], data, to);
		p = end;
	}
}
