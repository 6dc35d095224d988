#include "image/btf.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>

enum {
	BTF_MAGIC = 0xeb9f,
	TYPE_HEAD = 12, /* name, info, size or type */
	TYPES_MAX = 1 << 24,
	CHAIN_MAX = 64, /* typedefs and qualifiers of one another */
	INT_SIGNED = 1,
	INT_BOOL = 4,
};

enum kind {
	KIND_INT = 1,
	KIND_PTR,
	KIND_ARRAY,
	KIND_STRUCT,
	KIND_UNION,
	KIND_ENUM,
	KIND_FWD,
	KIND_TYPEDEF,
	KIND_VOLATILE,
	KIND_CONST,
	KIND_RESTRICT,
	KIND_FUNC,
	KIND_FUNC_PROTO,
	KIND_VAR,
	KIND_DATASEC,
	KIND_FLOAT,
	KIND_DECL_TAG,
	KIND_TYPE_TAG,
	KIND_ENUM64,
	NR_KINDS,
};

/* Bytes behind the head of a type: fixed, and for each of its members. */
static const struct {
	u8 fixed, each;
} tails[NR_KINDS] = {
	[KIND_INT] = { .fixed = 4 },	  [KIND_ARRAY] = { .fixed = 12 },
	[KIND_STRUCT] = { .each = 12 },	  [KIND_UNION] = { .each = 12 },
	[KIND_ENUM] = { .each = 8 },	  [KIND_FUNC_PROTO] = { .each = 8 },
	[KIND_VAR] = { .fixed = 4 },	  [KIND_DATASEC] = { .each = 12 },
	[KIND_DECL_TAG] = { .fixed = 4 }, [KIND_ENUM64] = { .each = 12 },
};

struct type {
	u32 name, info;
	u32 ref; /* a type's number, or a size */
	struct bytes tail; /* all to the end of the types: readers take what the kind has */
};

static enum kind kind_of(const struct type *t)
{
	return (enum kind)((t->info >> 24) & 0x1f);
}

static u32 members_of(const struct type *t)
{
	return t->info & 0xffff;
}

static struct type type_at(const struct btf *b, size_t offset)
{
	struct bytes c = bytes_of(b->data + offset, b->types_end - offset, b->swap);
	struct type t = { .name = bytes_u32(&c), .info = bytes_u32(&c), .ref = bytes_u32(&c) };
	t.tail = c;
	return t;
}

/* false: there is no such type. Number 0 is void, and not stored. */
static bool type_of(const struct btf *b, u32 id, struct type *ret)
{
	while (b && id < b->first)
		b = b->base;
	if (!b || !id || id - b->first >= b->nr)
		return false;
	*ret = type_at(b, b->offsets[id - b->first]);
	return true;
}

static const char *string_of(const struct btf *b, u32 offset)
{
	while (b && offset < b->first_string)
		b = b->base;
	if (!b || offset - b->first_string >= b->strings_len)
		return "";
	return b->strings + (offset - b->first_string);
}

static int index_types(struct btf *b, size_t from)
{
	u32 room = 0;
	for (size_t at = from; at < b->types_end; b->nr++) {
		struct type t = type_at(b, at);
		enum kind kind = kind_of(&t);
		if (t.tail.bad || !kind || kind >= NR_KINDS || b->nr >= TYPES_MAX)
			return -EBADMSG;
		if (b->nr == room) {
			room = max(room * 2, 1024u);
			u32 *more = realloc(b->offsets, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			b->offsets = more;
		}
		b->offsets[b->nr] = (u32)at;
		bytes_skip(&t.tail, tails[kind].fixed + (size_t)tails[kind].each * members_of(&t));
		if (t.tail.bad)
			return -EBADMSG;
		at = (size_t)(t.tail.at - b->data);
	}
	return 0;
}

int btf_open_memory(struct btf *b, const void *data, size_t size, const struct btf *base)
{
	struct bytes c = bytes_of(data, size, false);
	*b = (struct btf){ .data = data, .base = base, .first = 1 };
	u16 magic = bytes_u16(&c);
	b->swap = c.swap = magic == __builtin_bswap16(BTF_MAGIC);
	bytes_skip(&c, 2); /* version, flags */
	u64 head = bytes_u32(&c), types = bytes_u32(&c), types_len = bytes_u32(&c);
	u64 strings = bytes_u32(&c), strings_len = bytes_u32(&c);
	if (c.bad || (magic != BTF_MAGIC && !b->swap) || size > UINT32_MAX ||
	    head + types + types_len > size || head + strings + strings_len > size)
		return -EBADMSG;
	if (base) {
		b->first = base->first + base->nr;
		b->first_string = base->first_string + base->strings_len;
	}
	b->strings = (const char *)data + head + strings;
	b->strings_len = (u32)strings_len;
	if (!strings_len || b->strings[strings_len - 1])
		return -EBADMSG;
	b->types_end = (size_t)(head + types + types_len);
	int err = index_types(b, (size_t)(head + types));
	if (err)
		btf_close(b);
	return err;
}

void btf_close(struct btf *b)
{
	free(b->offsets);
	*b = (struct btf){ 0 };
}

/* Through typedefs and qualifiers to what it is. *is_const: one of them was const. */
static bool bare_type(const struct btf *b, u32 id, struct type *ret, bool *is_const)
{
	*is_const = false;
	for (unsigned i = 0; i < CHAIN_MAX && type_of(b, id, ret); i++) {
		switch (kind_of(ret)) {
		case KIND_CONST: *is_const = true; break;
		case KIND_TYPEDEF:
		case KIND_VOLATILE:
		case KIND_RESTRICT:
		case KIND_TYPE_TAG: break;
		default: return true;
		}
		id = ret->ref;
	}
	return false;
}

static bool is_char(const struct btf *b, const struct type *t)
{
	return kind_of(t) == KIND_INT && t->ref == 1 && !strcmp(string_of(b, t->name), "char");
}

static struct btf_value value_of(const struct btf *b, u32 id)
{
	struct btf_value v = { .name = "", .shape = BTF_OTHER };
	struct type t, to;
	bool is_const;
	if (!id) {
		v.shape = BTF_VOID;
		return v;
	}
	if (!bare_type(b, id, &t, &is_const))
		return v;
	switch (kind_of(&t)) {
	case KIND_INT: {
		u32 how = bytes_u32(&t.tail) >> 24;
		v.bytes = t.ref;
		v.shape = how & INT_BOOL ? BTF_BOOL : how & INT_SIGNED ? BTF_SIGNED : BTF_UNSIGNED;
		break;
	}
	case KIND_ENUM:
	case KIND_ENUM64:
		v.bytes = t.ref;
		v.shape = BTF_ENUM;
		break;
	case KIND_PTR:
		v.bytes = 8;
		v.shape = bare_type(b, t.ref, &to, &is_const) && is_const && is_char(b, &to)
				  ? BTF_STRING
				  : BTF_POINTER;
		break;
	default: v.bytes = t.ref;
	}
	if (v.bytes != 1 && v.bytes != 2 && v.bytes != 4 && v.bytes != 8)
		v.shape = BTF_OTHER;
	return v;
}

static int function_of(const struct btf *b, u32 id, struct btf_function *ret)
{
	struct type proto;
	if (!type_of(b, id, &proto) || kind_of(&proto) != KIND_FUNC_PROTO)
		return -ENOENT;
	struct btf_function f = { .result = value_of(b, proto.ref) };
	u32 nr = members_of(&proto);
	for (u32 i = 0; i < nr; i++) {
		u32 name = bytes_u32(&proto.tail), type = bytes_u32(&proto.tail);
		if (!type && i == nr - 1) { /* the three dots */
			f.variadic = true;
			break;
		}
		if (f.nr_args == BTF_ARGS_MAX)
			break;
		f.args[f.nr_args] = value_of(b, type);
		f.args[f.nr_args++].name = string_of(b, name);
	}
	*ret = f;
	return 0;
}

int btf_find_function(const struct btf *b, const char *name, struct btf_function *ret)
{
	for (u32 i = 0; i < b->nr; i++) {
		struct type t = type_at(b, b->offsets[i]);
		if (kind_of(&t) == KIND_FUNC && !strcmp(string_of(b, t.name), name))
			return function_of(b, t.ref, ret);
	}
	return -ENOENT;
}
