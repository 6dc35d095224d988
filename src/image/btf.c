#include "image/btf.h"

#include "base/bytes.h"
#include "base/dict.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

enum {
	BTF_MAGIC = 0xeb9f,
	TYPE_HEAD = 12, /* name, info, size or type */
	TYPES_MAX = 1 << 24,
	CHAIN_MAX = 64, /* typedefs and qualifiers of one another */
	MEMBERS_MAX = 1 << 16, /* looked at for one name */
	NESTING_MAX = 16, /* of anonymous structs */
	NAME_DEPTH = 32, /* of a type's name */
	INT_SIGNED = 1,
	INT_CHAR = 2,
	INT_BOOL = 4,
};

/* Bytes after the head of a type: fixed, and for each of its members. */
static const struct {
	u8 fixed, each;
} tails[BTF_NR_KINDS] = {
	[BTF_OF_INT] = { .fixed = 4 },	    [BTF_OF_ARRAY] = { .fixed = 12 },
	[BTF_OF_STRUCT] = { .each = 12 },   [BTF_OF_UNION] = { .each = 12 },
	[BTF_OF_ENUM] = { .each = 8 },	    [BTF_OF_PROTOTYPE] = { .each = 8 },
	[BTF_OF_VARIABLE] = { .fixed = 4 }, [BTF_OF_SECTION] = { .each = 12 },
	[BTF_OF_DECL_TAG] = { .fixed = 4 }, [BTF_OF_ENUM64] = { .each = 12 },
};

struct type {
	u32 name, info;
	u32 ref; /* a type's number, or a size */
	struct bytes tail; /* all to the end of the types: readers take what the kind has */
};

static enum btf_kind kind_of(const struct type *t)
{
	return (enum btf_kind)((t->info >> 24) & 0x1f);
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
		enum btf_kind kind = kind_of(&t);
		if (t.tail.bad || !kind || kind >= BTF_NR_KINDS || b->nr >= TYPES_MAX)
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

int btf_open_memory(struct btf *b, const void *data, size_t size, struct btf *base)
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
	free(b->index);
	*b = (struct btf){ 0 };
}

/* ---- types ----------------------------------------------------------------------------------------------------------------- */

static void describe_int(struct btf_desc *d, u32 how)
{
	d->is_signed = how >> 24 & INT_SIGNED;
	d->is_char = how >> 24 & INT_CHAR;
	d->is_bool = how >> 24 & INT_BOOL;
	d->bit_offset = (u8)(how >> 16);
	d->bits = (u8)how;
}

/* What of the third word and the words after the head means what. */
static void describe_kind(struct btf_desc *d, const struct type *t)
{
	struct bytes tail = t->tail;
	bool flag = t->info >> 31;
	switch (d->kind) {
	case BTF_OF_INT:
		d->size = t->ref;
		describe_int(d, bytes_u32(&tail));
		break;
	case BTF_OF_ARRAY:
		d->ref = bytes_u32(&tail);
		(void)bytes_u32(&tail); /* the type of an index */
		d->nr = bytes_u32(&tail);
		break;
	case BTF_OF_STRUCT:
	case BTF_OF_UNION: d->bitfields = flag; __attribute__((fallthrough));
	case BTF_OF_ENUM:
	case BTF_OF_ENUM64:
	case BTF_OF_SECTION:
		d->size = t->ref;
		d->nr = members_of(t);
		d->is_signed = flag && (d->kind == BTF_OF_ENUM || d->kind == BTF_OF_ENUM64);
		break;
	case BTF_OF_FLOAT: d->size = t->ref; break;
	case BTF_OF_FORWARD: d->is_union = flag; break;
	case BTF_OF_PROTOTYPE:
		d->ref = t->ref;
		d->nr = members_of(t);
		break;
	case BTF_OF_POINTER:
		d->ref = t->ref;
		d->size = 8;
		break;
	case BTF_OF_VARIABLE:
	case BTF_OF_FUNCTION:
		d->ref = t->ref;
		d->linkage = d->kind == BTF_OF_VARIABLE ? bytes_u32(&tail) : members_of(t);
		break;
	case BTF_OF_DECL_TAG:
		d->ref = t->ref;
		d->component = (s32)bytes_u32(&tail);
		break;
	default: d->ref = t->ref;
	}
}

bool btf_describe(const struct btf *b, u32 id, struct btf_desc *ret)
{
	struct type t;
	struct btf_desc d = { .id = id, .name = "" };
	if (id) {
		const struct btf *in = b;
		while (in && id < in->first)
			in = in->base;
		if (!type_of(b, id, &t))
			return false;
		d.kind = kind_of(&t);
		d.name = string_of(b, t.name);
		d.in = in;
		d.at = (size_t)(t.tail.at - in->data);
		describe_kind(&d, &t);
	}
	*ret = d;
	return true;
}

static bool is_alias(enum btf_kind kind)
{
	return kind == BTF_OF_TYPEDEF || kind == BTF_OF_VOLATILE || kind == BTF_OF_CONST ||
	       kind == BTF_OF_RESTRICT || kind == BTF_OF_TYPE_TAG;
}

/* *is_const: one of those on the way was const. */
static bool resolve(const struct btf *b, u32 id, struct btf_desc *ret, bool *is_const)
{
	*is_const = false;
	for (unsigned i = 0; i < CHAIN_MAX && btf_describe(b, id, ret); i++) {
		if (!is_alias(ret->kind))
			return true;
		*is_const |= ret->kind == BTF_OF_CONST;
		id = ret->ref;
	}
	return false;
}

bool btf_resolve(const struct btf *b, u32 id, struct btf_desc *ret)
{
	bool is_const;
	return resolve(b, id, ret, &is_const);
}

bool btf_part(const struct btf *b, const struct btf_desc *of, u32 i, struct btf_part *ret)
{
	u32 each = of->kind < BTF_NR_KINDS ? tails[of->kind].each : 0;
	struct btf_part p = { .name = "" };
	if (!each || i >= of->nr || !of->in)
		return false;
	/* The walk at the start has seen that they all lie inside. */
	struct bytes c = bytes_of(of->in->data + of->at, of->in->types_end - of->at, of->in->swap);
	bytes_skip(&c, (size_t)each * i);
	u32 first = bytes_u32(&c), second = bytes_u32(&c),
	    third = each > 2 * sizeof(u32) ? bytes_u32(&c) : 0;
	switch (of->kind) {
	case BTF_OF_STRUCT:
	case BTF_OF_UNION:
		p.type = second;
		p.bit_offset = of->bitfields ? third & 0xffffff : third;
		p.bits = of->bitfields ? third >> 24 : 0;
		break;
	case BTF_OF_ENUM: p.value = of->is_signed ? (s32)second : (s64)second; break;
	case BTF_OF_ENUM64: p.value = (s64)((u64)third << 32 | second); break;
	case BTF_OF_SECTION:
		p.type = first;
		p.bit_offset = (u64)second * 8;
		p.size = third;
		break;
	default: p.type = second;
	}
	if (of->kind != BTF_OF_SECTION) {
		p.name = string_of(b, first);
	} else {
		struct btf_desc v;
		if (btf_describe(b, p.type, &v))
			p.name = v.name;
	}
	*ret = p;
	return !c.bad;
}

u64 btf_size(const struct btf *b, u32 id)
{
	struct btf_desc d;
	u64 times = 1;
	for (unsigned i = 0; i < CHAIN_MAX && btf_resolve(b, id, &d); i++) {
		if (d.kind == BTF_OF_VARIABLE) {
			id = d.ref;
			continue;
		}
		if (d.kind != BTF_OF_ARRAY)
			return d.size && times > UINT64_MAX / d.size ? 0 : times * d.size;
		if (d.nr && times > UINT64_MAX / d.nr)
			return 0;
		times *= d.nr;
		id = d.ref;
	}
	return 0;
}

/* What comes before the name of a type of this kind. */
static const char *word_before(const struct btf_desc *d)
{
	switch (d->kind) {
	case BTF_OF_STRUCT: return "struct ";
	case BTF_OF_UNION: return "union ";
	case BTF_OF_ENUM:
	case BTF_OF_ENUM64: return "enum ";
	case BTF_OF_FORWARD: return d->is_union ? "union " : "struct ";
	case BTF_OF_CONST: return "const ";
	case BTF_OF_VOLATILE: return "volatile ";
	default: return "";
	}
}

static void name_type(const struct btf *b, u32 id, struct strbuf *to, unsigned depth)
{
	struct btf_desc d;
	if (!depth || !btf_describe(b, id, &d)) {
		strbuf_str(to, "?");
		return;
	}
	switch (d.kind) {
	case BTF_OF_VOID: strbuf_str(to, "void"); break;
	case BTF_OF_POINTER:
		name_type(b, d.ref, to, depth - 1);
		strbuf_str(to, to->len && to->data[to->len - 1] == '*' ? "*" : " *");
		break;
	case BTF_OF_ARRAY:
		name_type(b, d.ref, to, depth - 1);
		strbuf_printf(to, " [%u]", d.nr);
		break;
	case BTF_OF_PROTOTYPE:
		name_type(b, d.ref, to, depth - 1);
		strbuf_str(to, " ()");
		break;
	case BTF_OF_CONST:
	case BTF_OF_VOLATILE:
		strbuf_str(to, word_before(&d));
		name_type(b, d.ref, to, depth - 1);
		break;
	case BTF_OF_RESTRICT:
	case BTF_OF_TYPE_TAG: name_type(b, d.ref, to, depth - 1); break;
	default: strbuf_printf(to, "%s%s", word_before(&d), *d.name ? d.name : "{...}");
	}
}

void btf_name_type(const struct btf *b, u32 id, struct strbuf *to)
{
	name_type(b, id, to, NAME_DEPTH);
}

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

static u32 slot_of(const struct btf *b, const char *name)
{
	return (u32)hash_text(name, strlen(name), hash_seed()) & b->index_mask;
}

/* NULL: there is one of this name and kind, and the first one counts. So no name can make long chains. */
static u32 *free_slot(const struct btf *b, u32 *index, const char *name, enum btf_kind kind)
{
	u32 at = slot_of(b, name);
	for (; index[at]; at = (at + 1) & b->index_mask) {
		struct type t = type_at(b, b->offsets[index[at] - b->first]);
		if (kind_of(&t) == kind && !strcmp(string_of(b, t.name), name))
			return NULL;
	}
	return &index[at];
}

int btf_index(struct btf *b)
{
	int err = b->base && !b->base->index ? btf_index(b->base) : 0;
	if (err || b->index)
		return err;
	u32 room = 64;
	while (room < b->nr * 2)
		room *= 2;
	u32 *index = calloc(room, sizeof(*index));
	if (!index)
		return -ENOMEM;
	b->index_mask = room - 1;
	for (u32 i = 0; i < b->nr; i++) {
		struct type t = type_at(b, b->offsets[i]);
		const char *name = string_of(b, t.name);
		if (!*name)
			continue;
		u32 *slot = free_slot(b, index, name, kind_of(&t));
		if (slot)
			*slot = b->first + i;
	}
	b->index = index;
	return 0;
}

u32 btf_find(struct btf *b, const char *name, u32 kinds, int *err)
{
	int failed = btf_index(b);
	if (err)
		*err = failed;
	if (failed || !*name)
		return 0;
	for (const struct btf *in = b; in; in = in->base)
		for (u32 at = slot_of(in, name); in->index[at]; at = (at + 1) & in->index_mask) {
			struct btf_desc d;
			if (btf_describe(in, in->index[at], &d) && kinds & BTF_BIT(d.kind) &&
			    !strcmp(d.name, name))
				return d.id;
		}
	return 0;
}

struct member_search {
	const struct btf *b;
	const char *name;
	u32 left; /* members to look at */
	struct closest_name {
		const char *name;
		unsigned distance;
	} close;
	bool for_close;
};

static bool find_member(struct member_search *s, u32 id, unsigned depth, u64 shift,
			struct btf_part *ret)
{
	struct btf_desc d;
	struct btf_part p;
	if (!depth || !btf_resolve(s->b, id, &d) ||
	    (d.kind != BTF_OF_STRUCT && d.kind != BTF_OF_UNION))
		return false;
	for (u32 i = 0; s->left && btf_part(s->b, &d, i, &p); i++) {
		s->left--;
		p.bit_offset += shift;
		if (*p.name && s->for_close) {
			unsigned distance = str_distance(s->name, p.name);
			if (distance < s->close.distance)
				s->close = (struct closest_name){ p.name, distance };
		} else if (*p.name && !strcmp(p.name, s->name)) {
			*ret = p;
			return true;
		}
		if (!*p.name && find_member(s, p.type, depth - 1, p.bit_offset, ret))
			return true;
	}
	return false;
}

int btf_find_member(const struct btf *b, u32 id, const char *name, struct btf_part *ret)
{
	struct member_search s = { .b = b, .name = name, .left = MEMBERS_MAX };
	return find_member(&s, id, NESTING_MAX, 0, ret) ? 0 : -ENOENT;
}

bool btf_closest_member(const struct btf *b, u32 id, const char *name, const char **ret)
{
	struct btf_part ignored;
	struct member_search s = { .b = b,
				   .name = name,
				   .left = MEMBERS_MAX,
				   .for_close = true,
				   .close = { NULL, STR_FAR } };
	(void)find_member(&s, id, NESTING_MAX, 0, &ignored);
	*ret = s.close.name;
	return s.close.name && str_is_close(name, s.close.distance);
}

/* ---- functions ------------------------------------------------------------------------------------------------------------- */

static bool is_text(const struct btf *b, u32 id)
{
	struct btf_desc d;
	bool is_const;
	return resolve(b, id, &d, &is_const) && is_const && d.kind == BTF_OF_INT && d.size == 1 &&
	       !strcmp(d.name, "char");
}

struct btf_value btf_value_of(const struct btf *b, u32 id)
{
	struct btf_value v = { .name = "", .shape = BTF_OTHER };
	struct btf_desc d;
	if (!id) {
		v.shape = BTF_VOID;
		return v;
	}
	if (!btf_resolve(b, id, &d))
		return v;
	v.bytes = d.size;
	switch (d.kind) {
	case BTF_OF_INT:
		v.shape = d.is_bool ? BTF_BOOL : d.is_signed ? BTF_SIGNED : BTF_UNSIGNED;
		break;
	case BTF_OF_ENUM:
	case BTF_OF_ENUM64: v.shape = BTF_ENUM; break;
	case BTF_OF_POINTER: v.shape = is_text(b, d.ref) ? BTF_STRING : BTF_POINTER; break;
	default: break;
	}
	if (v.bytes != 1 && v.bytes != 2 && v.bytes != 4 && v.bytes != 8)
		v.shape = BTF_OTHER;
	return v;
}

int btf_find_prototype(struct btf *b, const char *name, struct btf_desc *ret)
{
	int err;
	struct btf_desc f, proto;
	u32 id = btf_find(b, name, BTF_BIT(BTF_OF_FUNCTION), &err);
	if (err)
		return err;
	if (!id || !btf_describe(b, id, &f) || !btf_describe(b, f.ref, &proto) ||
	    proto.kind != BTF_OF_PROTOTYPE)
		return -ENOENT;
	*ret = proto;
	return 0;
}

int btf_find_function(struct btf *b, const char *name, struct btf_function *ret)
{
	struct btf_desc proto;
	struct btf_part p;
	int err = btf_find_prototype(b, name, &proto);
	if (err)
		return err;
	struct btf_function f = { .result = btf_value_of(b, proto.ref) };
	for (u32 i = 0; btf_part(b, &proto, i, &p); i++) {
		if (!p.type && i == proto.nr - 1) { /* the three dots */
			f.variadic = true;
			break;
		}
		if (f.nr_args == BTF_ARGS_MAX)
			break;
		f.args[f.nr_args] = btf_value_of(b, p.type);
		f.args[f.nr_args++].name = p.name;
	}
	*ret = f;
	return 0;
}

int btf_function_id(struct btf *b, const char *name, u32 *ret)
{
	int err;
	*ret = btf_find(b, name, BTF_BIT(BTF_OF_FUNCTION), &err);
	return err ? err : *ret ? 0 : -ENOENT;
}
