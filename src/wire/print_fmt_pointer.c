/*
 * The kernel's %p extensions (Documentation/core-api/printk-formats.rst): addresses as functions, network addresses, UUIDs,
 * bytes in hex, bitmaps. Where the argument is an array of the record, the bytes are at hand; where it is only an address of
 * the recorded machine, the address is all that can be shown.
 */
#include "wire/print_fmt_impl.h"

#include <string.h>

static const char hex_small[] = "0123456789abcdef", hex_large[] = "0123456789ABCDEF";

void print_symbol(struct print_ctx *c, u64 addr, bool with_offset)
{
	u64 offset = 0;
	const char *name =
		c->env && c->env->symbol ? c->env->symbol(c->env->ctx, addr, &offset) : NULL;
	if (!name) {
		strbuf_add(c->to, "0x", 2);
		strbuf_hex(c->to, addr);
		return;
	}
	strbuf_str(c->to, name);
	if (with_offset) {
		strbuf_add(c->to, "+0x", 3);
		strbuf_hex(c->to, offset);
	}
}

static void add_hex(struct strbuf *to, u8 v, const char *digits)
{
	char text[2] = { digits[v >> 4], digits[v & 15] };
	strbuf_add(to, text, 2);
}

/* order: "wire" unless the host's was asked for */
static void add_ip4(struct strbuf *to, const u8 *p, const char *ext)
{
	bool turn = strchr(ext, 'l') || strchr(ext, 'h');
	for (unsigned i = 0; i < 4; i++) {
		u8 v = p[turn ? 3 - i : i];
		if (i)
			strbuf_char(to, '.');
		char text[NUM_DIGITS_MAX];
		strbuf_add(to, text, *ext == 'i' ? num_u64_pad0(text, v, 3) : num_u64(text, v));
	}
}

static u16 ip6_word(const u8 *p, unsigned i)
{
	return (u16)(p[2 * i] << 8 | p[2 * i + 1]);
}

/* The longest run of zero words (two at least); the first of equals. */
static void zero_run(const u8 *p, unsigned words, unsigned *start, unsigned *len)
{
	*start = *len = 0;
	for (unsigned i = 0; i < words;) {
		unsigned n = 0;
		while (i + n < words && !ip6_word(p, i + n))
			n++;
		if (n > 1 && n > *len) {
			*start = i;
			*len = n;
		}
		i += n ? n : 1;
	}
}

static void add_ip6_short(struct strbuf *to, const u8 *p)
{
	static const u8 mapped[12] = { [10] = 0xff, 0xff };
	/* ::ffff:a.b.c.d, and ISATAP identifiers */
	bool four = !memcmp(p, mapped, 12) ||
		    ((p[8] | 2) == 2 && !p[9] && p[10] == 0x5e && p[11] == 0xfe);
	unsigned words = four ? 6 : 8, start, len;
	zero_run(p, words, &start, &len);
	bool colon = false;
	for (unsigned i = 0; i < words; i++) {
		if (len && i == start) {
			strbuf_add(to, "::", 2);
			i += len - 1;
			colon = false;
			continue;
		}
		if (colon)
			strbuf_char(to, ':');
		strbuf_hex(to, ip6_word(p, i));
		colon = true;
	}
	if (!four)
		return;
	if (colon)
		strbuf_char(to, ':');
	add_ip4(to, p + 12, "I4");
}

static void add_ip6(struct strbuf *to, const u8 *p, const char *ext)
{
	if (*ext == 'I' && strchr(ext, 'c')) {
		add_ip6_short(to, p);
		return;
	}
	for (unsigned i = 0; i < 16; i++) {
		if (i && i % 2 == 0 && *ext == 'I')
			strbuf_char(to, ':');
		add_hex(to, p[i], hex_small);
	}
}

static void add_port(struct strbuf *to, const u8 *p)
{
	strbuf_char(to, ':');
	strbuf_u64(to, (u64)(p[0] << 8 | p[1]));
}

/* A sockaddr: u16 family, u16 port, then the address. */
static void add_sockaddr(struct print_ctx *c, const u8 *p, u32 len, const char *ext)
{
	if (len < 2)
		return;
	u16 family = (u16)print_load(c, (u32)(p - c->raw), 2, false);
	bool port = strchr(ext, 'p');
	if (family == 2 && len >= 8) {
		add_ip4(c->to, p + 4, "I4");
		if (port)
			add_port(c->to, p + 2);
	} else if (family == 10 && len >= 24) {
		if (port)
			strbuf_char(c->to, '[');
		add_ip6(c->to, p + 8, strchr(ext, 'c') ? "I6c" : "I6");
		if (port) {
			strbuf_char(c->to, ']');
			add_port(c->to, p + 2);
		}
	}
}

static void point_ip(struct print_ctx *c, const struct op *op, const u8 *p, u32 len)
{
	const char *ext = op->spec.ext;
	if (ext[1] == 'S')
		add_sockaddr(c, p, len, ext + 1);
	else if (ext[1] == '6' && len >= 16)
		add_ip6(c->to, p, ext);
	else if (ext[1] == '4' && len >= 4)
		add_ip4(c->to, p, ext);
	else
		strbuf_str(c->to, ext[1] == '6' ? "INVALIDIPv6" : "INVALIDIPv4");
}

static void point_mac(struct print_ctx *c, const struct op *op, const u8 *p, u32 len)
{
	const char *ext = op->spec.ext;
	char sep = ext[1] == 'F' ? '-' : ':';
	if (len < 6) {
		strbuf_str(c->to, "INVALIDMAC");
		return;
	}
	for (unsigned i = 0; i < 6; i++) {
		if (i && *ext == 'M')
			strbuf_char(c->to, sep);
		add_hex(c->to, p[ext[1] == 'R' ? 5 - i : i], hex_small);
	}
}

static void point_uuid(struct print_ctx *c, const struct op *op, const u8 *p, u32 len)
{
	static const u8 big[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const u8 little[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	char how = op->spec.ext[1];
	const u8 *order = (how | 32) == 'l' ? little : big;
	if (len < 16) {
		strbuf_str(c->to, "INVALIDUUID");
		return;
	}
	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			strbuf_char(c->to, '-');
		add_hex(c->to, p[order[i]], how == 'B' || how == 'L' ? hex_large : hex_small);
	}
}

static void point_hex(struct print_ctx *c, const struct op *op, const u8 *p, u32 len)
{
	struct spec s;
	print_spec_args(c, op, &s);
	u32 nr = s.width > 0 ? min((u32)s.width, 64u) : op->width ? 0 : 1;
	char how = op->spec.ext[1], sep = how == 'C'   ? ':'
					  : how == 'D' ? '-'
					  : how == 'N' ? 0
						       : ' ';
	for (u32 i = 0; i < nr && i < len; i++) {
		if (i && sep)
			strbuf_char(c->to, sep);
		add_hex(c->to, p[i], hex_small);
	}
}

/* %*pb and %*pbl: the mask node prints all of its bytes, as the kernel recorded them */
static void point_bits(struct print_ctx *c, const struct op *op)
{
	struct print_fmt_node n = { .kind = op->spec.ext[1] == 'l' ? NODE_CPUMASK : NODE_BITMASK,
				    .a = op->arg };
	if (op->arg->kind == NODE_CPUMASK || op->arg->kind == NODE_BITMASK)
		n.a = op->arg->a;
	print_text(c, &n);
}

static void point_plain(struct print_ctx *c, const struct op *op)
{
	u64 v = op->arg->kind < NODE_BYTES_SET ? print_eval(c, op->arg) : 0;
	if (op->spec.ext[0] == 'e' && v >= (u64)-4095) {
		strbuf_s64(c->to, (s64)v);
	} else if (!v) {
		strbuf_str(c->to, "(nil)");
	} else {
		strbuf_add(c->to, "0x", 2);
		strbuf_hex(c->to, v);
	}
}

static bool wants_bytes(char ext)
{
	return ext == 'I' || ext == 'i' || ext == 'M' || ext == 'm' || ext == 'U' || ext == 'h';
}

void print_pointer(struct print_ctx *c, const struct op *op)
{
	char how = op->spec.ext[0];
	if (how && strchr("SsFfB", how)) {
		print_symbol(c, print_eval(c, op->arg), how != 's' && how != 'f');
		return;
	}
	if (how == 'b') {
		point_bits(c, op);
		return;
	}
	u32 len = 0;
	const u8 *p =
		wants_bytes(how) && node_is_bytes(op->arg) ? print_bytes(c, op->arg, &len) : NULL;
	if (!p)
		point_plain(c, op);
	else if ((how | 32) == 'i')
		point_ip(c, op, p, len);
	else if ((how | 32) == 'm')
		point_mac(c, op, p, len);
	else if (how == 'U')
		point_uuid(c, op, p, len);
	else
		point_hex(c, op, p, len);
}
