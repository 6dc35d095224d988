#include "memory/print.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

enum {
	VALUE_MAX = 4 << 20, /* bytes read for one value */
	REPEATS = 10, /* equal elements that are counted rather than written */
	STRING_MAX = 256, /* of what a pointer to characters points to */
	TEXT_MAX = 64 << 20,
};

struct printer {
	struct kspace *k;
	struct print_opts o;
	struct strbuf *to;
	struct json *j;
	bool top; /* a pointer here has its type before it */
};

/* Some bytes of what was read, and where they came from. */
struct value_piece {
	const u8 *data;
	size_t size;
	u64 addr;
	u8 bit_offset, bits;
};

static void print_piece(struct printer *p, const struct ktype *t, const struct value_piece *at,
			unsigned margin, unsigned depth);

static u64 scalar_of(const struct ktype *t, const struct value_piece *at)
{
	u64 size = ktype_size(t), num = 0;
	u8 raw[2 * sizeof(u64)] = { 0 };
	size_t bytes = at->bits ? (size_t)(at->bit_offset + at->bits + 7) / 8 : (size_t)size;
	memcpy(raw, at->data, min(min(bytes, at->size), sizeof(raw)));
	memcpy(&num, raw, sizeof(num));
	if (at->bit_offset) {
		u64 high;
		memcpy(&high, raw + sizeof(num), sizeof(high));
		num = num >> at->bit_offset | high << (64 - at->bit_offset);
	}
	unsigned bits = at->bits ? at->bits : (unsigned)min(size, (u64)8) * 8;
	if (bits && bits < 64) {
		num &= (1ull << bits) - 1;
		if (ktype_is_signed(t) && num >> (bits - 1) & 1)
			num |= ~0ull << bits;
	}
	return num;
}

/* ---- characters ------------------------------------------------------------------------------------------------------------ */

/* A character inside of quotes, as gdb does: octal for what is not printable. */
static void add_char(struct strbuf *to, u8 c, char quote)
{
	static const char letters[] = "abtnvfr"; /* from 7 on */
	if (c == quote || c == '\\')
		strbuf_printf(to, "\\%c", c);
	else if (c >= 7 && c <= 13)
		strbuf_printf(to, "\\%c", letters[c - 7]);
	else if (c < 0x20 || c >= 0x7f)
		strbuf_printf(to, "\\%03o", c);
	else
		strbuf_char(to, (char)c);
}

static size_t run_len(const u8 *s, size_t len)
{
	size_t n = 1;
	while (n < len && s[n] == s[0])
		n++;
	return n;
}

/* "text\000\000", '\000' <repeats 200 times> */
static void add_chars(struct strbuf *to, const u8 *s, size_t len, bool cut)
{
	bool open = false, first = true;
	for (size_t i = 0; i < len;) {
		size_t run = run_len(s + i, len - i);
		bool counted = run >= REPEATS;
		if (!open && !counted)
			strbuf_str(to, first ? "\"" : ", \"");
		else if (open && counted)
			strbuf_str(to, "\", ");
		else if (counted && !first)
			strbuf_str(to, ", ");
		if (counted) {
			strbuf_char(to, '\'');
			add_char(to, s[i], '\'');
			strbuf_printf(to, "' <repeats %zu times>", run);
		} else {
			for (size_t n = 0; n < run; n++)
				add_char(to, s[i], '"');
		}
		open = !counted;
		first = false;
		i += run;
	}
	if (open)
		strbuf_char(to, '"');
	if (first)
		strbuf_str(to, "\"\"");
	if (cut)
		strbuf_str(to, "...");
}

static bool is_char(const struct ktype *t)
{
	struct btf_desc d;
	return ktype_kind(t, &d) == BTF_OF_INT && !t->is_number && d.size == 1 && !d.is_bool;
}

/* Of two bytes and more that are text when they are one: u8 is a number as often. */
static bool is_plain_char(const struct ktype *t)
{
	struct btf_desc d;
	return is_char(t) && ktype_kind(t, &d) == BTF_OF_INT && !strcmp(d.name, "char");
}

static void print_chars(struct printer *p, const struct value_piece *at, size_t len)
{
	size_t shown = min(len, (size_t)p->o.elements);
	if (p->j) {
		const u8 *nul = memchr(at->data, 0, len);
		json_strn(p->j, (const char *)at->data, nul ? (size_t)(nul - at->data) : len);
		return;
	}
	/* The NUL at the end is what the quotes mean. */
	bool ends = shown == len && len && !at->data[len - 1];
	add_chars(p->to, at->data, ends ? shown - 1 : shown, shown < len);
}

/* ---- numbers, enums, pointers ---------------------------------------------------------------------------------------------- */

static void print_int(struct printer *p, const struct ktype *t, const struct btf_desc *d, u64 num)
{
	bool is_signed = ktype_is_signed(t);
	if (p->j) {
		if (d->is_bool && num <= 1)
			json_bool(p->j, num);
		else if (is_signed)
			json_s64(p->j, (s64)num);
		else
			json_u64(p->j, num);
		return;
	}
	if (d->is_bool && num <= 1) {
		strbuf_str(p->to, num ? "true" : "false");
	} else if (p->o.radix == 16) {
		u64 size = ktype_size(t);
		if (size < 8)
			num &= (1ull << size * 8) - 1;
		strbuf_printf(p->to, "0x%llx", (unsigned long long)num);
	} else if (is_signed) {
		strbuf_s64(p->to, (s64)num);
	} else {
		strbuf_u64(p->to, num);
	}
	if (is_plain_char(t)) {
		strbuf_str(p->to, " '");
		add_char(p->to, (u8)num, '\'');
		strbuf_char(p->to, '\'');
	}
}

/* Whether each constant is one bit, so that a value may be several of them. */
static bool is_flags(const struct ktype *t, const struct btf_desc *d)
{
	struct btf_part part;
	u32 nr = 0;
	for (u32 i = 0; btf_part(t->b, d, i, &part); i++) {
		if (part.value & (part.value - 1))
			return false;
		nr += part.value != 0;
	}
	return nr > 1;
}

static bool add_flags(const struct ktype *t, const struct btf_desc *d, u64 num, struct strbuf *to)
{
	struct btf_part part;
	u64 left = num;
	bool any = false;
	if (!num || !is_flags(t, d))
		return false;
	strbuf_char(to, '(');
	for (u32 i = 0; btf_part(t->b, d, i, &part); i++) {
		if (!part.value || !(left & (u64)part.value))
			continue;
		strbuf_printf(to, "%s%s", any ? " | " : "", part.name);
		left &= ~(u64)part.value;
		any = true;
	}
	if (left)
		strbuf_printf(to, "%s0x%llx", any ? " | " : "", (unsigned long long)left);
	strbuf_char(to, ')');
	return true;
}

static void print_enum(struct printer *p, const struct ktype *t, const struct btf_desc *d, u64 num)
{
	struct btf_part part;
	struct strbuf s;
	strbuf_init(&s);
	for (u32 i = 0; !s.len && btf_part(t->b, d, i, &part); i++)
		if ((u64)part.value == num)
			strbuf_str(&s, part.name);
	if (!s.len && !add_flags(t, d, num, &s)) {
		if (p->j)
			json_s64(p->j, (s64)num);
		else
			strbuf_s64(p->to, (s64)num);
	} else if (p->j) {
		json_str(p->j, strbuf_cstr(&s));
	} else {
		strbuf_str(p->to, strbuf_cstr(&s));
	}
	strbuf_done(&s);
}

/* What a pointer to characters points to; false: it cannot be read. */
static bool read_string(struct printer *p, u64 addr, char *to, size_t size, bool *cut)
{
	struct memory *m;
	if (!addr || kspace_memory(p->k, &m))
		return false;
	return !memory_read_text(m, addr, to, size, cut);
}

/* Text inside of data: a string literal has no symbol, and what happens to be before it says nothing. */
static bool is_literal(struct kspace *k, u64 addr)
{
	struct ksym sym;
	u64 offset, size;
	const struct ksyms *s = kspace_try_syms(k);
	return s && ksyms_at(s, addr, &sym, &offset, &size) && offset && !ksym_is_code(&sym);
}

static void print_pointer(struct printer *p, const struct ktype *t, u64 num)
{
	struct ktype target;
	struct strbuf name;
	char text[STRING_MAX];
	bool cut = false;
	strbuf_init(&name);
	bool is_text = ktype_target(t, &target) && is_char(&target) &&
		       read_string(p, num, text, sizeof(text), &cut);
	bool named =
		!(is_text && is_literal(p->k, num)) && kspace_name_address(p->k, num, false, &name);
	if (p->j) {
		char hex[24];
		json_object(p->j);
		unsigned n = num_hex(hex, num);
		struct strbuf s;
		strbuf_init(&s);
		strbuf_str(&s, "0x");
		strbuf_add(&s, hex, n);
		json_put_str(p->j, "address", strbuf_cstr(&s));
		strbuf_done(&s);
		if (named)
			json_put_str(p->j, "symbol", strbuf_cstr(&name));
		if (is_text)
			json_put_str(p->j, "string", text);
		json_object_end(p->j);
	} else {
		strbuf_printf(p->to, "0x%llx", (unsigned long long)num);
		if (named)
			strbuf_printf(p->to, " <%s>", strbuf_cstr(&name));
		if (is_text) {
			strbuf_char(p->to, ' ');
			add_chars(p->to, (const u8 *)text, strlen(text), cut);
		}
	}
	strbuf_done(&name);
}

/* ---- arrays and structs ---------------------------------------------------------------------------------------------------- */

static struct value_piece part_of(const struct value_piece *of, u64 offset, u64 size)
{
	struct value_piece p = { .data = of->data, .addr = of->addr + offset };
	if (offset <= of->size) {
		p.data = of->data + offset;
		p.size = (size_t)min(size, (u64)of->size - offset);
	}
	return p;
}

static void newline(struct printer *p, unsigned margin)
{
	strbuf_char(p->to, '\n');
	strbuf_fill(p->to, ' ', (size_t)2 * margin);
}

static void print_elements(struct printer *p, const struct ktype *element,
			   const struct value_piece *at, u64 nr, unsigned margin, unsigned depth)
{
	u64 size = ktype_size(element);
	u64 shown = min(nr, (u64)p->o.elements);
	if (p->j)
		json_array(p->j);
	else
		strbuf_char(p->to, '{');
	for (u64 i = 0; i < shown && p->to->len < TEXT_MAX;) {
		struct value_piece one = part_of(at, i * size, size);
		u64 run = 1;
		while (!p->j && i + run < nr && one.size == size &&
		       (i + run + 1) * size <= at->size &&
		       !memcmp(one.data, at->data + (i + run) * size, size))
			run++;
		if (!p->j && i)
			strbuf_str(p->to, ", ");
		print_piece(p, element, &one, margin, depth);
		if (run >= REPEATS) {
			strbuf_printf(p->to, " <repeats %llu times>", (unsigned long long)run);
			i += run;
		} else {
			i++;
		}
		if (i >= shown && i < nr && !p->j)
			strbuf_str(p->to, "...");
	}
	if (p->j)
		json_array_end(p->j);
	else
		strbuf_char(p->to, '}');
}

static void print_array(struct printer *p, const struct ktype *t, const struct value_piece *at,
			unsigned margin, unsigned depth)
{
	struct ktype element;
	u64 nr = ktype_elements(t);
	if (!ktype_target(t, &element) || !ktype_size(&element))
		nr = 0;
	if (nr && is_plain_char(&element))
		print_chars(p, at, (size_t)min(nr, (u64)at->size));
	else
		print_elements(p, &element, at, nr, margin, depth);
}

static void print_members(struct printer *p, const struct ktype *t, const struct btf_desc *d,
			  const struct value_piece *at, unsigned margin, unsigned depth, bool *first)
{
	struct btf_part part;
	for (u32 i = 0; btf_part(t->b, d, i, &part) && p->to->len < TEXT_MAX; i++) {
		struct ktype type = ktype_of(t->b, part.type);
		struct btf_desc inner;
		struct value_piece one = part_of(at, part.bit_offset / 8, at->size);
		enum btf_kind kind = ktype_kind(&type, &inner);
		/* Members of an anonymous struct or union are written as C lets one name them. */
		if (p->j && !*part.name && (kind == BTF_OF_STRUCT || kind == BTF_OF_UNION)) {
			if (depth)
				print_members(p, &type, &inner, &one, margin, depth - 1, first);
			continue;
		}
		if (part.bits) {
			one.bits = (u8)part.bits;
			one.bit_offset = (u8)(part.bit_offset % 8);
		} else {
			one.size = (size_t)min((u64)one.size, ktype_size(&type));
		}
		if (p->j) {
			json_key(p->j, *part.name ? part.name : "?");
		} else {
			strbuf_str(p->to, *first ? "" : ",");
			newline(p, margin + 1);
			if (*part.name)
				strbuf_printf(p->to, "%s = ", part.name);
		}
		*first = false;
		print_piece(p, &type, &one, margin + 1, depth);
	}
}

static void print_compound(struct printer *p, const struct ktype *t, const struct btf_desc *d,
			   const struct value_piece *at, unsigned margin, unsigned depth)
{
	bool first = true;
	if (!depth) {
		if (p->j)
			json_null(p->j);
		else
			strbuf_str(p->to, "{...}");
		return;
	}
	if (p->j)
		json_object(p->j);
	else
		strbuf_char(p->to, '{');
	print_members(p, t, d, at, margin, depth - 1, &first);
	if (p->j) {
		json_object_end(p->j);
	} else {
		if (!first)
			newline(p, margin);
		strbuf_char(p->to, '}');
	}
}

static void print_piece(struct printer *p, const struct ktype *t, const struct value_piece *at,
			unsigned margin, unsigned depth)
{
	struct btf_desc d;
	enum btf_kind kind = ktype_kind(t, &d);
	bool top = p->top;
	p->top = false;
	switch (kind) {
	case BTF_OF_STRUCT:
	case BTF_OF_UNION: print_compound(p, t, &d, at, margin, depth); break;
	case BTF_OF_ARRAY: print_array(p, t, at, margin, depth); break;
	case BTF_OF_POINTER:
		if (top && !p->j) {
			strbuf_char(p->to, '(');
			ktype_name(t, p->to);
			strbuf_str(p->to, ") ");
		}
		print_pointer(p, t, scalar_of(t, at));
		break;
	case BTF_OF_ENUM:
	case BTF_OF_ENUM64: print_enum(p, t, &d, scalar_of(t, at)); break;
	case BTF_OF_INT: print_int(p, t, &d, scalar_of(t, at)); break;
	default:
		if (p->j)
			json_null(p->j);
		else
			strbuf_str(p->to, "?");
	}
}

/* ---- the way in ------------------------------------------------------------------------------------------------------------ */

static int print_function(struct printer *p, const struct kvalue *v)
{
	struct strbuf name;
	if (!p->j) {
		strbuf_char(p->to, '{');
		if (v->type.b) {
			struct btf_desc d;
			struct ktype proto = v->type;
			if (btf_describe(v->type.b, v->type.id, &d) && d.kind == BTF_OF_FUNCTION)
				proto.id = d.ref;
			ktype_name(&proto, p->to);
		} else {
			strbuf_str(p->to, "text");
		}
		strbuf_printf(p->to, "} 0x%llx", (unsigned long long)v->addr);
	}
	strbuf_init(&name);
	bool named = kspace_name_address(p->k, v->addr, false, &name);
	if (p->j) {
		struct strbuf s;
		strbuf_init(&s);
		strbuf_printf(&s, "0x%llx", (unsigned long long)v->addr);
		json_object(p->j);
		json_put_str(p->j, "address", strbuf_cstr(&s));
		if (named)
			json_put_str(p->j, "symbol", strbuf_cstr(&name));
		json_object_end(p->j);
		strbuf_done(&s);
	} else if (named) {
		strbuf_printf(p->to, " <%s>", strbuf_cstr(&name));
	}
	strbuf_done(&name);
	return 0;
}

static int print_any(struct printer *p, const struct kvalue *v, unsigned margin)
{
	struct value_piece at = { .addr = v->addr, .bit_offset = v->bit_offset, .bits = v->bits };
	u64 size = ktype_size(&v->type);
	_cleanup_free_ u8 *room = NULL;
	if (v->is_function)
		return print_function(p, v);
	if (!v->is_place) {
		at.data = (const u8 *)&v->num;
		at.size = sizeof(v->num);
		at.bits = at.bit_offset = 0;
		print_piece(p, &v->type, &at, margin, p->o.depth);
		return 0;
	}
	if (!v->type.b && !v->type.is_number) {
		u64 ignored;
		return eval_number(p->k, v, &ignored); /* says what to do */
	}
	if (!size && ktype_kind(&v->type, &(struct btf_desc){ 0 }) != BTF_OF_ARRAY &&
	    ktype_kind(&v->type, &(struct btf_desc){ 0 }) != BTF_OF_STRUCT)
		return diag_error(p->k->diag, -EINVAL, "a value without a size cannot be printed");
	if (size > VALUE_MAX)
		return diag_error(p->k->diag, -E2BIG, "%llu bytes are too many to print",
				  (unsigned long long)size);
	if (v->bits)
		size = (u64)(v->bit_offset + v->bits + 7) / 8;
	room = malloc(max((size_t)size, (size_t)1));
	if (!room)
		return -ENOMEM;
	int err = size ? kspace_read(p->k, v->addr, room, (size_t)size,
				     v->symbol ? v->symbol : "a value")
		       : 0;
	if (err)
		return err;
	at.data = room;
	at.size = (size_t)size;
	print_piece(p, &v->type, &at, margin, p->o.depth);
	return 0;
}

static struct printer printer_of(struct kspace *k, const struct print_opts *o, struct strbuf *to,
				 struct json *j)
{
	struct printer p = { .k = k, .o = *o, .to = to, .j = j };
	if (!p.o.depth)
		p.o.depth = PRINT_DEPTH;
	if (!p.o.elements)
		p.o.elements = PRINT_ELEMENTS;
	return p;
}

int print_value(struct kspace *k, const struct kvalue *v, const struct print_opts *o,
		struct strbuf *to)
{
	struct printer p = printer_of(k, o, to, NULL);
	p.top = true;
	return print_any(&p, v, 0);
}

int print_member(struct kspace *k, const char *name, const struct kvalue *v,
		 const struct print_opts *o, unsigned depth, struct strbuf *to)
{
	struct printer p = printer_of(k, o, to, NULL);
	size_t before = to->len;
	strbuf_fill(to, ' ', (size_t)2 * depth);
	strbuf_printf(to, "%s = ", name);
	int err = print_any(&p, v, depth);
	if (err && to->len > before)
		to->len = before;
	return err;
}

int print_json(struct kspace *k, const struct kvalue *v, const struct print_opts *o, struct json *j)
{
	struct printer p = printer_of(k, o, j->to, j);
	return print_any(&p, v, 0);
}
