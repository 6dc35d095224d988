#include "image/dwarf_type.h"
#include "image/dwarf_impl.h"

#include <errno.h>

enum { CHAIN_MAX = 64, NEST_MAX = 32, TEXT_MAX = 4096 };
enum { ATE_SIGNED_CHAR = 6, ATE_UNSIGNED_CHAR = 8, ATE_SIGNED = 5, ATE_SIGNED_FIXED = 0xd };

static bool is_qualifier(u16 tag)
{
	return tag == DW_TAG_CONST_TYPE || tag == DW_TAG_VOLATILE_TYPE ||
	       tag == DW_TAG_RESTRICT_TYPE || tag == DW_TAG_SHARED_TYPE || tag == DW_TAG_ATOMIC_TYPE;
}

/* The type as written, without qualifiers alone. */
static bool named_type(const struct dw_die *d, struct dw_die *ret)
{
	struct dw_die at = *d, owner;
	for (int i = 0; i < CHAIN_MAX; i++) {
		struct dw_value v;
		struct dw_die next;
		if (!dw_die_deep(&at, DW_AT_TYPE, &v, &owner) || !dw_die_ref(&owner, &v, &next))
			return false;
		at = next;
		if (!is_qualifier(dw_die_tag(&at))) {
			*ret = at;
			return true;
		}
	}
	return false;
}

bool dwtype_of(const struct dw_die *d, struct dw_die *ret)
{
	struct dw_die at = *d;
	for (int i = 0; i < CHAIN_MAX; i++) {
		struct dw_die next;
		if (!named_type(&at, &next))
			return false;
		at = next;
		if (dw_die_tag(&at) != DW_TAG_TYPEDEF) {
			*ret = at;
			return true;
		}
	}
	return false;
}

enum dw_kind dwtype_kind(const struct dw_die *type)
{
	switch (dw_die_tag(type)) {
	case 0x24: return DWTYPE_BASE;
	case DW_TAG_ENUMERATION_TYPE: return DWTYPE_ENUM;
	case DW_TAG_POINTER_TYPE:
	case DW_TAG_REFERENCE_TYPE:
	case DW_TAG_RVALUE_REFERENCE_TYPE: return DWTYPE_POINTER;
	case DW_TAG_ARRAY_TYPE: return DWTYPE_ARRAY;
	case DW_TAG_STRUCTURE_TYPE:
	case DW_TAG_CLASS_TYPE: return DWTYPE_STRUCT;
	case DW_TAG_UNION_TYPE: return DWTYPE_UNION;
	default: return DWTYPE_OTHER;
	}
}

u64 dwtype_own_size(const struct dw_die *type)
{
	u64 size;
	return dw_die_number(type, DW_AT_BYTE_SIZE, &size) ? size : 0;
}

/* Elements of all dimensions; 0: not known. */
static u64 array_count(const struct dw_die *array)
{
	struct dw_die d;
	u64 count = 1, n;
	for (bool more = dw_die_child(array, &d); more; more = dw_die_next(&d, &d)) {
		if (dw_die_tag(&d) != DW_TAG_SUBRANGE_TYPE)
			continue;
		if (!dw_die_number(&d, DW_AT_COUNT, &n)) {
			if (!dw_die_number(&d, DW_AT_UPPER_BOUND, &n) || n == UINT64_MAX)
				return 0;
			n++;
		}
		if (__builtin_mul_overflow(count, n, &count))
			return 0;
	}
	return count;
}

u64 dwtype_size(const struct dw_die *type)
{
	u64 count = 1, size;
	struct dw_die at = *type, of;
	for (int i = 0; i < NEST_MAX && dw_die_tag(&at) == DW_TAG_ARRAY_TYPE; i++) {
		size = dwtype_own_size(&at);
		if (size)
			return __builtin_mul_overflow(size, count, &size) ? 0 : size;
		if (__builtin_mul_overflow(count, array_count(&at), &count) || !dwtype_of(&at, &of))
			return 0;
		at = of;
	}
	size = dwtype_own_size(&at);
	if (!size && dwtype_kind(&at) == DWTYPE_POINTER)
		size = at.u->addr_size;
	return __builtin_mul_overflow(size, count, &size) ? 0 : size;
}

bool dwtype_is_signed(const struct dw_die *type)
{
	u64 encoding;
	struct dw_value v;
	if (!dw_die_attr(type, DW_AT_ENCODING, &v))
		return false;
	encoding = v.u;
	return encoding == ATE_SIGNED_CHAR || encoding == ATE_SIGNED || encoding == ATE_SIGNED_FIXED;
}

bool dwtype_is_float(const struct dw_die *type)
{
	struct dw_value v;
	return dw_die_attr(type, DW_AT_ENCODING, &v) && (v.u == 3 || v.u == 4);
}

bool dwtype_is_reference(const struct dw_die *type)
{
	return dw_die_tag(type) == DW_TAG_REFERENCE_TYPE ||
	       dw_die_tag(type) == DW_TAG_RVALUE_REFERENCE_TYPE;
}

bool dwtype_has_location(const struct dw_die *var)
{
	struct dw_value v;
	return dw_die_attr(var, DW_AT_LOCATION, &v) || dw_die_attr(var, DW_AT_CONST_VALUE, &v);
}

bool dwtype_is_char(const struct dw_die *type)
{
	const char *name = dwtype_kind(type) == DWTYPE_BASE ? dw_die_name(type) : NULL;
	return name && (!strcmp(name, "char") || !strcmp(name, "unsigned char"));
}

/* ---- text ---- */

bool dwtype_text(const struct dw_die *var, struct strbuf *to)
{
	char after[NEST_MAX];
	u32 nr = 0;
	struct dw_die at = *var, type;
	const char *word = NULL, *name = NULL;
	for (;;) {
		if (!named_type(&at, &type)) {
			/* Only a pointer may lead to nothing. */
			if (!nr || after[nr - 1] != '*')
				return false;
			name = "void";
			break;
		}
		enum dw_kind kind = dwtype_kind(&type);
		bool pointer = dw_die_tag(&type) == DW_TAG_POINTER_TYPE;
		if (pointer || kind == DWTYPE_ARRAY) {
			if (nr == NEST_MAX)
				return false;
			after[nr++] = '*';
			at = type;
			continue;
		}
		name = dw_die_name(&type);
		if (dw_die_tag(&type) == DW_TAG_SUBROUTINE_TYPE)
			name = "(function_type)";
		else if (kind == DWTYPE_UNION)
			word = "union ";
		else if (dw_die_tag(&type) == DW_TAG_STRUCTURE_TYPE)
			word = "struct ";
		else if (kind == DWTYPE_ENUM)
			word = "enum ";
		else if (!name)
			return false;
		break;
	}
	strbuf_printf(to, "%s%.*s", word ? word : "", TEXT_MAX, name ? name : "");
	while (nr)
		strbuf_char(to, after[--nr]); /* arrays, too: as perf writes them */
	return true;
}

/* ---- members ---- */

/* DWARF 2 and 3 said it with an expression: plus_uconst. */
static bool member_offset(const struct dw_die *d, bool in_union, u64 *ret)
{
	struct dw_value v;
	*ret = 0;
	if (!dw_die_attr(d, DW_AT_DATA_MEMBER_LOCATION, &v))
		return true; /* of a union, or a bit field that counts bits alone */
	if (v.class == DWVAL_CONST || v.class == DWVAL_OFFSET) {
		*ret = v.u;
		return true;
	}
	if (v.class != DWVAL_BLOCK)
		return in_union;
	struct bytes b = bytes_of(v.p, v.u, d->f->e->swap);
	bool plus = bytes_u8(&b) == 0x23;
	*ret = dw_uleb(&b);
	return plus && !b.bad && !bytes_left(&b);
}

/* Bits count from the lowest address; a number's lowest bit is what the kernel counts from. */
static int fill_bits(struct dw_member *m, u64 bits)
{
	struct dw_die type;
	u64 size, at;
	struct dw_value v;
	if (!dw_die_number(&m->die, DW_AT_BYTE_SIZE, &size)) {
		if (!dwtype_of(&m->die, &type))
			return -EBADMSG;
		size = dwtype_size(&type);
	}
	if (!size || size > 8 || size & (size - 1) || bits > 8 * size)
		return -EBADMSG;
	if (dw_die_attr(&m->die, DW_AT_DATA_BIT_OFFSET, &v) && v.class == DWVAL_CONST) {
		at = v.u;
		m->offset += at / (8 * size) * size;
		at %= 8 * size;
	} else if (dw_die_attr(&m->die, DW_AT_BIT_OFFSET, &v) && v.class == DWVAL_CONST) {
		if (v.u + bits > 8 * size)
			return -EBADMSG;
		at = 8 * size - v.u - bits; /* it counts from the highest bit */
	} else {
		at = 0;
	}
	if (at + bits > 8 * size)
		return -EBADMSG;
	m->bits = (u32)bits;
	m->bit_at = (u32)at;
	m->bit_bytes = (u32)size;
	return 0;
}

static int fill_member(const struct dw_die *d, bool in_union, u64 before, struct dw_member *ret)
{
	struct dw_member m = { .die = *d };
	u64 bits;
	if (!member_offset(d, in_union, &m.offset))
		return -EBADMSG;
	m.offset += before;
	if (dw_die_number(d, DW_AT_BIT_SIZE, &bits) && bits) {
		int err = fill_bits(&m, bits);
		if (err)
			return err;
	}
	*ret = m;
	return 0;
}

static int find_member(const struct dw_die *type, const char *name, u64 before, u32 depth,
		       struct dw_member *ret)
{
	struct dw_die d, below;
	bool in_union = dw_die_tag(type) == DW_TAG_UNION_TYPE;
	for (bool more = dw_die_child(type, &d); more; more = dw_die_next(&d, &d)) {
		u16 tag = dw_die_tag(&d);
		if (tag != DW_TAG_MEMBER && tag != DW_TAG_INHERITANCE)
			continue;
		const char *own = dw_die_name(&d);
		if (own && !strcmp(own, name))
			return fill_member(&d, in_union, before, ret);
		u64 offset;
		if (own || depth == NEST_MAX || !dwtype_of(&d, &below) ||
		    !member_offset(&d, in_union, &offset))
			continue;
		int err = find_member(&below, name, before + offset, depth + 1, ret);
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

int dwtype_member(const struct dw_die *type, const char *name, struct dw_member *ret)
{
	return find_member(type, name, 0, 0, ret);
}

void dwtype_each_member(const struct dw_die *type, void (*fn)(void *ctx, const char *name),
			void *ctx)
{
	struct dw_die d;
	for (bool more = dw_die_child(type, &d); more; more = dw_die_next(&d, &d)) {
		const char *name = dw_die_tag(&d) == DW_TAG_MEMBER ? dw_die_name(&d) : NULL;
		if (name)
			fn(ctx, name);
	}
}
