/*
 * Running a print program: one pass over its ops, each of which appends to the buffer. Every load is checked against the
 * payload (one comparison); what lies outside reads as zero and is told by -EBADMSG. Nothing here allocates or calls printf.
 */
#include "wire/print_fmt_impl.h"

#include <errno.h>
#include <string.h>

static inline u64 extend(u64 v, u32 size, bool sign)
{
	if (size >= 8)
		return v;
	unsigned shift = 64 - 8 * size;
	return sign ? (u64)((s64)(v << shift) >> shift) : v << shift >> shift;
}

static inline u64 load(struct print_ctx *c, u32 offset, u32 size, bool sign)
{
	if (unlikely((u64)offset + size > c->size)) {
		c->bad = true;
		return 0;
	}
	const u8 *p = c->raw + offset;
	u64 v;
	switch (size) {
	case 1: v = *p; break;
	case 2: {
		u16 w;
		memcpy(&w, p, 2);
		v = unlikely(c->swap) ? __builtin_bswap16(w) : w;
		break;
	}
	case 4: {
		u32 w;
		memcpy(&w, p, 4);
		v = unlikely(c->swap) ? __builtin_bswap32(w) : w;
		break;
	}
	case 8: memcpy(&v, p, 8); return unlikely(c->swap) ? __builtin_bswap64(v) : v;
	default: return 0;
	}
	return sign ? extend(v, size, true) : v;
}

u64 print_load(struct print_ctx *c, u32 offset, u32 size, bool sign)
{
	return load(c, offset, size, sign);
}

/* ---- bytes ---- */

static const u8 *outside(struct print_ctx *c, u32 *len)
{
	c->bad = true;
	*len = 0;
	return NULL;
}

/* A data_loc word followed: where it points to, clipped to the payload. */
static const u8 *follow(struct print_ctx *c, u32 offset, u32 loc, u32 *len)
{
	if ((u64)offset + 4 > c->size)
		return outside(c, len);
	u32 word = (u32)load(c, offset, 4, false);
	u32 at = (word & 0xffff) + (loc == FIELD_REL_LOC ? offset + 4 : 0);
	u32 n = word >> 16;
	if (at > c->size)
		return outside(c, len);
	if (n > c->size - at) {
		c->bad = true;
		n = c->size - at;
	}
	*len = n;
	return c->raw + at;
}

static const u8 *bytes_offset(struct print_ctx *c, const struct print_fmt_node *n, u32 *len)
{
	const u8 *p = print_bytes(c, n->a, len);
	u64 by = print_eval(c, n->b) * n->a->size;
	if (!p || by > *len)
		return outside(c, len);
	*len -= (u32)by;
	return p + by;
}

const u8 *print_bytes(struct print_ctx *c, const struct print_fmt_node *n, u32 *len)
{
	if (n->kind == NODE_OFFSET)
		return bytes_offset(c, n, len);
	if (n->kind != NODE_BYTES)
		return outside(c, len);
	if (n->loc)
		return follow(c, n->offset, n->loc, len);
	if (n->offset > c->size)
		return outside(c, len);
	u32 left = c->size - n->offset;
	if (n->len > left)
		c->bad = true;
	*len = n->len ? min(n->len, left) : left; /* no size: the rest of the record */
	return c->raw + n->offset;
}

/* ---- numbers ---- */

static u64 eval_index(struct print_ctx *c, const struct print_fmt_node *n)
{
	u32 len;
	const u8 *p = print_bytes(c, n->a, &len);
	u64 at = print_eval(c, n->b);
	if (!p || at >= UINT32_MAX / 8 || (at + 1) * n->size > len) {
		c->bad = true;
		return 0;
	}
	return load(c, (u32)(p - c->raw) + (u32)at * n->size, n->size, n->sign);
}

static u64 divide(const struct print_fmt_node *n, u64 a, u64 b)
{
	if (!b)
		return 0;
	bool mod = n->kind == NODE_MOD;
	if (!n->sign)
		return mod ? a % b : a / b;
	if (b == UINT64_MAX) /* a / -1, and INT64_MIN has no opposite */
		return mod ? 0 : 0 - a;
	return (u64)(mod ? (s64)a % (s64)b : (s64)a / (s64)b);
}

static u64 shift(const struct print_fmt_node *n, u64 a, u64 b)
{
	if (b >= 8u * n->size)
		return n->kind == NODE_SHR && n->sign && (s64)a < 0 ? UINT64_MAX : 0;
	if (n->kind == NODE_SHL)
		return a << b;
	return n->sign ? (u64)((s64)a >> b) : a >> b;
}

/* Operands have the same type: n's is that of the result, so ask the operand. */
static bool compare(const struct print_fmt_node *n, u64 a, u64 b)
{
	if (n->kind == NODE_EQ)
		return a == b;
	if (n->kind == NODE_NE)
		return a != b;
	bool less, more;
	if (n->a->sign) {
		less = (s64)a < (s64)b;
		more = (s64)a > (s64)b;
	} else {
		less = a < b;
		more = a > b;
	}
	switch (n->kind) {
	case NODE_LT: return less;
	case NODE_GT: return more;
	case NODE_LE: return !more;
	default: return !less;
	}
}

static u64 eval_binary(struct print_ctx *c, const struct print_fmt_node *n)
{
	u64 a = print_eval(c, n->a);
	if (n->kind == NODE_LOGAND)
		return a && print_eval(c, n->b);
	if (n->kind == NODE_LOGOR)
		return a || print_eval(c, n->b);
	u64 b = print_eval(c, n->b), v;
	switch (n->kind) {
	case NODE_ADD: v = a + b; break;
	case NODE_SUB: v = a - b; break;
	case NODE_MUL: v = a * b; break;
	case NODE_DIV:
	case NODE_MOD: v = divide(n, a, b); break;
	case NODE_SHL:
	case NODE_SHR: v = shift(n, a, b); break;
	case NODE_AND: return a & b;
	case NODE_OR: return a | b;
	case NODE_XOR: return a ^ b;
	default: return compare(n, a, b);
	}
	return extend(v, n->size, n->sign);
}

static u64 swap_bytes(u64 v, u8 size)
{
	return size == 2   ? __builtin_bswap16((u16)v)
	       : size == 4 ? __builtin_bswap32((u32)v)
			   : __builtin_bswap64(v);
}

u64 print_eval(struct print_ctx *c, const struct print_fmt_node *n)
{
	u32 len;
	switch (n->kind) {
	case NODE_NUM: return n->num;
	case NODE_LOAD: return load(c, n->offset, n->size, n->sign);
	case NODE_NEG: return extend(0 - print_eval(c, n->a), n->size, n->sign);
	case NODE_INV: return extend(~print_eval(c, n->a), n->size, n->sign);
	case NODE_NOT: return !print_eval(c, n->a);
	case NODE_CAST: return extend(print_eval(c, n->a), n->size, n->sign);
	case NODE_COND: return print_eval(c, print_eval(c, n->a) ? n->b : n->c);
	case NODE_SWAP: return swap_bytes(print_eval(c, n->a), n->size);
	case NODE_INDEX: return eval_index(c, n);
	case NODE_DYN_LEN: return load(c, n->a->offset, 4, false) >> 16;
	case NODE_BYTES_SET: return print_bytes(c, n->a, &len) != NULL;
	default: break;
	}
	return n->kind < NODE_COND ? eval_binary(c, n) : 0;
}

/* ---- number to text ---- */

static unsigned digits_of(char *to, char conv, u64 v)
{
	if (conv == 'd' || conv == 'u')
		return num_u64(to, v);
	if (conv == 'o') {
		unsigned len = v ? (64 - (unsigned)__builtin_clzll(v) + 2) / 3 : 1;
		for (unsigned i = len; i-- > 0; v >>= 3)
			to[i] = (char)('0' + (v & 7));
		return len;
	}
	unsigned len = num_hex(to, v);
	if (conv == 'X')
		for (unsigned i = 0; i < len; i++)
			to[i] = (char)(to[i] >= 'a' ? to[i] - 32 : to[i]);
	return len;
}

static unsigned prefix_of(char *to, const struct spec *s, bool negative, bool zero)
{
	if (s->conv == 'd' && (negative || (s->flags & (SPEC_PLUS | SPEC_BLANK)))) {
		to[0] = negative ? '-' : s->flags & SPEC_PLUS ? '+' : ' ';
		return 1;
	}
	if ((s->flags & SPEC_ALT) && (s->conv | 32) == 'x' && !zero) {
		to[0] = '0';
		to[1] = s->conv;
		return 2;
	}
	return 0;
}

/* As C's printf does, for d u x X o. */
void print_number(struct strbuf *to, const struct spec *s, u64 v)
{
	char digits[NUM_DIGITS_MAX], prefix[2];
	v = extend(v, s->size, s->conv == 'd');
	bool negative = s->conv == 'd' && (s64)v < 0;
	unsigned len = digits_of(digits, s->conv, negative ? 0 - v : v);
	unsigned before = prefix_of(prefix, s, negative, !v);
	if (!s->prec && !v)
		len = 0;
	unsigned zeros = s->prec > (s32)len ? (unsigned)s->prec - len : 0;
	if ((s->flags & SPEC_ALT) && s->conv == 'o' && !zeros && (!len || digits[0] != '0'))
		zeros = 1;
	unsigned width = s->width > 0 ? (unsigned)s->width : 0, all = before + zeros + len;
	unsigned blanks = width > all ? width - all : 0;
	if ((s->flags & SPEC_ZERO) && !(s->flags & SPEC_LEFT) && s->prec < 0) {
		zeros += blanks;
		blanks = 0;
	}
	if (!(s->flags & SPEC_LEFT))
		strbuf_fill(to, ' ', blanks);
	strbuf_add(to, prefix, before);
	strbuf_fill(to, '0', zeros);
	strbuf_add(to, digits, len);
	if (s->flags & SPEC_LEFT)
		strbuf_fill(to, ' ', blanks);
}

void print_padded(struct strbuf *to, const struct spec *s, const char *str, size_t len)
{
	if (s->prec >= 0 && len > (size_t)s->prec)
		len = (size_t)s->prec;
	size_t blanks = s->width > 0 && (size_t)s->width > len ? (size_t)s->width - len : 0;
	if (blanks && !(s->flags & SPEC_LEFT))
		strbuf_fill(to, ' ', blanks);
	strbuf_add(to, str, len);
	if (blanks && (s->flags & SPEC_LEFT))
		strbuf_fill(to, ' ', blanks);
}

/* ---- texts ---- */

static void text_hex_value(struct print_ctx *c, u64 v)
{
	strbuf_add(c->to, "0x", 2);
	strbuf_hex(c->to, v);
}

static u64 as_shown(const struct print_fmt_node *a, u64 v)
{
	return extend(v, a->narrow ? a->narrow : a->size, false);
}

static void text_flags(struct print_ctx *c, const struct print_fmt_node *n)
{
	u64 v = as_shown(n->a, print_eval(c, n->a));
	const struct table_row *row = n->table->rows, *end = row + n->table->nr;
	bool any = false;
	for (; row < end && v; row++) {
		if (!row->value || (v & row->value) != row->value)
			continue;
		if (any)
			strbuf_add(c->to, n->str, n->len);
		strbuf_add(c->to, row->str, row->len);
		any = true;
		v &= ~row->value;
	}
	if (!v)
		return;
	if (any)
		strbuf_add(c->to, n->str, n->len);
	text_hex_value(c, v);
}

static const struct table_row *find_row(const struct print_fmt_table *t, u64 v)
{
	if (t->direct && v < 256)
		return t->direct[v] ? &t->rows[t->direct[v] - 1] : NULL;
	for (u32 i = 0; i < t->nr; i++)
		if (t->rows[i].value == v)
			return &t->rows[i];
	return NULL;
}

static void text_symbolic(struct print_ctx *c, const struct print_fmt_node *n)
{
	u64 v = print_eval(c, n->a);
	const struct table_row *row = find_row(n->table, v);
	/* rows are written as the kernel's unsigned long, fields may be narrower and signed, or the other way round */
	if (!row)
		row = find_row(n->table, as_shown(n->a, v));
	if (row)
		strbuf_add(c->to, row->str, row->len);
	else if (!n->table->silent)
		text_hex_value(c, as_shown(n->a, v));
}

static inline void hex_byte(char *to, u8 v)
{
	static const char digits[] = "0123456789abcdef";
	to[0] = digits[v >> 4];
	to[1] = digits[v & 15];
}

static void text_hex(struct print_ctx *c, const struct print_fmt_node *n)
{
	u32 len;
	const u8 *p = print_bytes(c, n->a, &len);
	/* an int from the payload: negative means none */
	s64 want = (s64)print_eval(c, n->b);
	if (!p || want <= 0)
		return;
	u32 nr = (u32)min(want, (s64)UINT32_MAX);
	if (n->a->kind == NODE_BYTES && !n->a->loc)
		len = c->size -
		      n->a->offset; /* &REC->x with a length that spans the fields after it */
	if (nr > len) {
		c->bad = true;
		nr = len;
	}
	for (u32 i = 0; i < nr; i++) {
		char text[3] = { ' ' };
		hex_byte(text + 1, p[i]);
		if (i && n->kind == NODE_HEX)
			strbuf_add(c->to, text, 3);
		else
			strbuf_add(c->to, text + 1, 2);
	}
}

static void text_array(struct print_ctx *c, const struct print_fmt_node *n)
{
	u32 len;
	const u8 *p = print_bytes(c, n->a, &len);
	s64 nr = (s64)print_eval(c, n->b);
	u64 each = print_eval(c, n->c);
	if (!p || nr <= 0 || (each != 1 && each != 2 && each != 4 && each != 8))
		return;
	u32 at = (u32)(p - c->raw);
	for (s64 i = 0; i < nr; i++, at += (u32)each) {
		if ((u64)at + each > c->size) {
			c->bad = true;
			return;
		}
		if (i)
			strbuf_char(c->to, ' ');
		strbuf_u64(c->to, load(c, at, (u32)each, false));
	}
}

/* The bytes of a mask in order of significance: longs of the recorded machine. */
static u8 mask_byte(const struct print_ctx *c, const u8 *p, u32 len, u32 i)
{
	u32 word = i - i % c->long_size;
	if (!c->prog->schema->big_endian || word + c->long_size > len)
		return p[i];
	return p[word + c->long_size - 1 - i % c->long_size];
}

static void text_bitmask(struct print_ctx *c, const struct print_fmt_node *n)
{
	u32 len;
	const u8 *p = print_bytes(c, n->a, &len);
	for (u32 i = len; p && i-- > 0;) {
		char text[2];
		hex_byte(text, mask_byte(c, p, len, i));
		strbuf_add(c->to, text, 2);
		if (i && i % 4 == 0)
			strbuf_char(c->to, ',');
	}
}

static bool mask_bit(const struct print_ctx *c, const u8 *p, u32 len, u32 bit)
{
	return mask_byte(c, p, len, bit / 8) >> bit % 8 & 1;
}

static void text_cpumask(struct print_ctx *c, const struct print_fmt_node *n)
{
	u32 len;
	const u8 *p = print_bytes(c, n->a, &len);
	bool any = false;
	for (u32 bit = 0; p && bit < len * 8; bit++) {
		if (!mask_bit(c, p, len, bit))
			continue;
		u32 first = bit;
		while (bit + 1 < len * 8 && mask_bit(c, p, len, bit + 1))
			bit++;
		if (any)
			strbuf_char(c->to, ',');
		any = true;
		strbuf_u64(c->to, first);
		if (bit > first) {
			strbuf_char(c->to, '-');
			strbuf_u64(c->to, bit);
		}
	}
}

static void text_string_at(struct print_ctx *c, const struct print_fmt_node *n)
{
	u64 addr = print_eval(c, n->a);
	const char *str = c->env && c->env->string_at ? c->env->string_at(c->env->ctx, addr) : NULL;
	if (str)
		strbuf_str(c->to, str);
	else
		strbuf_hex(c->to, addr);
}

static void text_bytes(struct print_ctx *c, const struct print_fmt_node *n)
{
	u32 len;
	const u8 *p = print_bytes(c, n, &len);
	if (p)
		strbuf_add(c->to, p, strnlen((const char *)p, len));
}

void print_text(struct print_ctx *c, const struct print_fmt_node *n)
{
	switch (n->kind) {
	case NODE_TEXT: strbuf_add(c->to, n->str, n->len); return;
	case NODE_BYTES:
	case NODE_OFFSET: text_bytes(c, n); return;
	case NODE_TEXT_COND: print_text(c, print_eval(c, n->a) ? n->b : n->c); return;
	case NODE_FLAGS: text_flags(c, n); return;
	case NODE_SYMBOLIC: text_symbolic(c, n); return;
	case NODE_HEX:
	case NODE_HEX_STR: text_hex(c, n); return;
	case NODE_ARRAY: text_array(c, n); return;
	case NODE_BITMASK: text_bitmask(c, n); return;
	case NODE_CPUMASK: text_cpumask(c, n); return;
	case NODE_STRING_AT: text_string_at(c, n); return;
	case NODE_CALL: n->call(c, n); return;
	default: return;
	}
}

/* ---- ops ---- */

void print_spec_args(struct print_ctx *c, const struct op *op, struct spec *s)
{
	*s = op->spec;
	if (op->width) {
		s64 w = (s32)print_eval(c, op->width);
		if (w < 0) {
			s->flags |= SPEC_LEFT;
			w = -w;
		}
		s->width = (s32)min(w, (s64)PRINT_WIDTH_MAX);
	}
	if (op->prec)
		s->prec = (s32)max(
			min((s64)(s32)print_eval(c, op->prec), (s64)PRINT_WIDTH_MAX * 16), (s64)-1);
}

/* Renders the text after what is there and then moves it: texts wider than the room are not cut or padded. */
static void op_text_padded(struct print_ctx *c, const struct op *op)
{
	struct spec s;
	print_spec_args(c, op, &s);
	if (!strbuf_room(c->to, 2 * PRINT_WIDTH_MAX))
		return;
	size_t start = c->to->len;
	print_text(c, op->arg);
	if (c->to->len < start || c->to->err)
		return;
	size_t len = c->to->len - start;
	if (s.prec >= 0 && len > (size_t)s.prec)
		c->to->len = start + (len = (size_t)s.prec);
	if (s.width <= 0 || len >= (size_t)s.width)
		return;
	size_t blanks = (size_t)s.width - len;
	strbuf_fill(c->to, ' ', blanks);
	if (s.flags & SPEC_LEFT || c->to->len < len + blanks)
		return;
	char *p = c->to->data + c->to->len - len - blanks;
	memmove(p + blanks, p, len);
	memset(p, ' ', blanks);
}

static void op_text(struct print_ctx *c, const struct op *op)
{
	if (op->spec.width > 0 || op->spec.prec >= 0 || op->width || op->prec)
		op_text_padded(c, op);
	else
		print_text(c, op->arg);
}

static void op_number(struct print_ctx *c, const struct op *op)
{
	u64 v = print_eval(c, op->arg);
	if (!op->width && !op->prec) {
		print_number(c->to, &op->spec, v);
		return;
	}
	struct spec s;
	print_spec_args(c, op, &s);
	print_number(c->to, &s, v);
}

static void op_char(struct print_ctx *c, const struct op *op)
{
	struct spec s;
	print_spec_args(c, op, &s);
	char ch = (char)print_eval(c, op->arg);
	print_padded(c->to, &s, &ch, ch != 0); /* a NUL would end the line for every reader */
}

/* A field as its conversion takes it: in one go where the payload goes on for eight bytes, as it mostly does. */
static inline u64 load_arg(struct print_ctx *c, const struct op *op, bool dec)
{
	if (unlikely(!op->direct || c->swap || (u64)op->offset + 8 > c->size))
		return extend(load(c, op->offset, op->size, op->sign), op->cut, dec);
	u64 v;
	memcpy(&v, c->raw + op->offset, 8);
	v <<= op->shift;
	return op->extend ? (u64)((s64)v >> op->shift) : v >> op->shift;
}

static inline unsigned load_dec(struct print_ctx *c, const struct op *op, char *to)
{
	u64 v = load_arg(c, op, op->spec.conv == 'd');
	if (op->spec.conv != 'd' || (s64)v >= 0)
		return num_dec(to, v);
	*to = '-';
	return 1 + num_dec(to + 1, 0 - v);
}

static inline unsigned load_hex(struct print_ctx *c, const struct op *op, char *to)
{
	return num_hex(to, load_arg(c, op, false));
}

static void op_load_str(struct print_ctx *c, const struct op *op)
{
	if ((u64)op->offset + op->len > c->size) {
		print_text(c, op->arg);
		return;
	}
	const char *p = (const char *)c->raw + op->offset;
	strbuf_add(c->to, p, strnlen(p, op->len));
}

void print_op(struct print_ctx *c, const struct op *op)
{
	char text[NUM_DIGITS_MAX];
	switch (op->kind) {
	case OP_LITERAL: return;
	case OP_LOAD_DEC: strbuf_add(c->to, text, load_dec(c, op, text)); return;
	case OP_LOAD_HEX: strbuf_add(c->to, text, load_hex(c, op, text)); return;
	case OP_LOAD_STR: op_load_str(c, op); return;
	case OP_NUMBER: op_number(c, op); return;
	case OP_CHAR: op_char(c, op); return;
	case OP_TEXT: op_text(c, op); return;
	case OP_POINTER: print_pointer(c, op); return;
	case OP_CALL: op->call(c, op); return;
	default: break;
	}
	const struct schema *s = c->prog->schema;
	for (u32 i = s->nr_common; i < s->nr_fields; i++)
		print_one_field(c, i);
}

static inline char *put_literal(char *to, const struct op *op)
{
	const char *from = op->pre;
	for (u32 left = op->pre_len;; left -= OP_PAD, from += OP_PAD) {
		memcpy(to, from, OP_PAD);
		if (left <= OP_PAD)
			return to + left;
		to += OP_PAD;
	}
}

void print_ops(struct print_ctx *c, const struct op *op)
{
	struct strbuf *to = c->to;
	for (; op->kind != OP_END; op++) {
		/* room for the literal, its padding, and a number or a comm: the plain ops ask no more */
		char *at = strbuf_room(to, op->pre_len + OP_PAD + NUM_DIGITS_MAX);
		if (unlikely(!at))
			return;
		at = put_literal(at, op);
		to->len += op->pre_len;
		if (op->kind == OP_LOAD_DEC)
			to->len += load_dec(c, op, at);
		else if (op->kind == OP_LOAD_HEX)
			to->len += load_hex(c, op, at);
		else if (op->kind == OP_LOAD_STR && op->len == PRINT_COMM_SIZE &&
			 (u64)op->offset + PRINT_COMM_SIZE <= c->size)
			to->len += print_put_comm(at, c->raw + op->offset);
		else
			print_op(c, op);
	}
}

int print_prog_run(const struct print_prog *p, const void *raw, u32 size, struct strbuf *to)
{
	if (likely(p->steps && size >= p->steps_need)) {
		int err = print_row_run(p, raw, size, to);
		if (likely(err != -EAGAIN))
			return err;
	}
	const struct schema *s = p->schema;
	struct print_ctx c = {
		.raw = raw,
		.size = size,
		.swap = s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.long_size = s->long_size,
		.prog = p,
		.env = p->env,
		.to = to,
	};
	print_ops(&c, p->ops);
	return to->err ? to->err : c.bad ? -EBADMSG : 0;
}
