/*
 * ftrace's own entries that a print fmt cannot describe: trace_printk() in its binary form, where the record holds the
 * address of a format and its arguments as vbin_printf() packed them (kernel/trace/trace_output.c, lib/vsprintf.c):
 * numbers at their own alignment but never more than 4, strings in line with their NUL. Pointers that the kernel has to
 * follow (%pI4, %pM ...) were formatted when they were recorded and lie there as strings.
 */
#include "wire/print_fmt_impl.h"

#include <ctype.h>
#include <string.h>

struct packed {
	struct print_ctx *c;
	u32 at, end;
};

static u64 packed_number(struct packed *p, u32 size, bool sign)
{
	u32 align = min(size, 4u);
	u32 at = (p->at + align - 1) & ~(align - 1);
	p->at = at + size;
	return print_load(p->c, at, size, sign);
}

static const char *packed_string(struct packed *p, size_t *len)
{
	u32 left = p->at < p->end ? p->end - p->at : 0;
	const char *str = (const char *)p->c->raw + p->at;
	if (!left) {
		p->c->bad = true;
		*len = 0;
		return "";
	}
	*len = strnlen(str, left);
	p->at += (u32)*len + 1;
	return str;
}

static bool kept_as_address(const struct spec *s)
{
	return !s->ext[0] || strchr("SsFfxKe", s->ext[0]);
}

static void packed_pointer(struct packed *p, const struct spec *s)
{
	if (!kept_as_address(s)) {
		size_t len;
		const char *str = packed_string(p, &len);
		print_padded(p->c->to, s, str, len);
		return;
	}
	struct print_fmt_node n = { .kind = NODE_NUM,
				    .size = 8,
				    .num = packed_number(p, p->c->long_size, false) };
	struct op op = { .kind = OP_POINTER, .spec = *s, .arg = &n };
	print_pointer(p->c, &op);
}

static void packed_conversion(struct packed *p, struct spec *s)
{
	size_t len;
	if (s->flags & SPEC_WIDTH_ARG) {
		s64 w = (s64)packed_number(p, 4, true);
		s->flags |= w < 0 ? SPEC_LEFT : 0;
		s->width = (s32)min(w < 0 ? -w : w, (s64)PRINT_WIDTH_MAX);
	}
	if (s->flags & SPEC_PREC_ARG)
		s->prec = (s32)max(min((s64)packed_number(p, 4, true), (s64)PRINT_WIDTH_MAX),
				   (s64)-1);
	if (s->conv == 's') {
		const char *str = packed_string(p, &len);
		print_padded(p->c->to, s, str, len);
	} else if (s->conv == 'p') {
		packed_pointer(p, s);
	} else if (s->conv == 'c') {
		char ch = (char)packed_number(p, 1, false);
		print_padded(p->c->to, s, &ch, ch != 0);
	} else {
		print_number(p->c->to, s, packed_number(p, s->size, s->conv == 'd'));
	}
}

/* printk_formats escapes line ends and tabs, as C does. */
static void add_escaped(struct strbuf *to, const char *at, const char *end)
{
	for (; at < end; at++) {
		char c = *at;
		if (c == '\\' && at + 1 < end) {
			at++;
			c = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at == 'r' ? '\r' : *at;
		}
		strbuf_char(to, c);
	}
}

static void packed_format(struct packed *p, const char *at)
{
	const char *end = at + strlen(at);
	while (at < end) {
		const char *pct = memchr(at, '%', (size_t)(end - at));
		add_escaped(p->c->to, at, pct ? pct : end);
		if (!pct)
			return;
		struct spec s;
		at = pct + 1;
		if (!print_scan_spec(&at, end, p->c->long_size, &s)) {
			strbuf_add(p->c->to, pct, (size_t)(end - pct));
			return;
		}
		if (s.conv == '%')
			strbuf_char(p->c->to, '%');
		else
			packed_conversion(p, &s);
	}
}

static void print_bprint(struct print_ctx *c, const struct op *op)
{
	u64 addr = layout_u64(c, 1);
	const char *fmt = c->env && c->env->string_at ? c->env->string_at(c->env->ctx, addr) : NULL;
	print_symbol(c, layout_u64(c, 0), false);
	strbuf_add(c->to, ": ", 2);
	if (!fmt) {
		strbuf_str(c->to, "(NO FORMAT FOUND at ");
		strbuf_hex(c->to, addr);
		strbuf_str(c->to, ")\n");
		return;
	}
	struct packed p = { .c = c, .at = c->prog->fields[2]->offset, .end = c->size };
	packed_format(&p, fmt);
}

static const struct layout layouts[] = {
	{ "ftrace", "bprint", print_bprint, { "ip", "fmt", "buf" } },
};

const struct layout *print_ftrace_layout(const struct schema *s)
{
	return layout_find(layouts, ARRAY_SIZE(layouts), s);
}
