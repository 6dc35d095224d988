#include "memory/ktype.h"

#include "image/type_decl.h"

#include <stdio.h>

enum btf_kind ktype_kind(const struct ktype *t, struct btf_desc *d)
{
	*d = (struct btf_desc){ .name = "" };
	if (t->is_array)
		return BTF_OF_ARRAY;
	if (t->pointers)
		return BTF_OF_POINTER;
	if (t->is_number)
		return BTF_OF_INT;
	if (!t->b)
		return BTF_OF_VOID;
	struct btf_desc found;
	u32 id = t->id;
	for (unsigned i = 0; i < 4 && btf_resolve(t->b, id, &found); i++) {
		if (found.kind != BTF_OF_VARIABLE) {
			*d = found;
			return found.kind;
		}
		id = found.ref;
	}
	return BTF_OF_VOID;
}

bool ktype_target(const struct ktype *t, struct ktype *ret)
{
	struct btf_desc d;
	struct ktype r = *t;
	if (t->is_array) {
		r.is_array = false;
		r.elements = 0;
	} else if (t->pointers) {
		r.pointers--;
	} else {
		enum btf_kind kind = ktype_kind(t, &d);
		if (t->is_number || (kind != BTF_OF_POINTER && kind != BTF_OF_ARRAY))
			return false;
		r.id = d.ref;
	}
	*ret = r;
	return true;
}

u64 ktype_elements(const struct ktype *t)
{
	struct btf_desc d;
	if (t->is_array)
		return t->elements;
	return ktype_kind(t, &d) == BTF_OF_ARRAY ? d.nr : 0;
}

u64 ktype_size(const struct ktype *t)
{
	struct ktype element;
	if (t->is_array) {
		if (!ktype_target(t, &element))
			return 0;
		u64 one = ktype_size(&element);
		return one && t->elements > UINT64_MAX / one ? 0 : one * t->elements;
	}
	if (t->pointers || t->is_number)
		return sizeof(u64);
	return t->b ? btf_size(t->b, t->id) : 0;
}

bool ktype_is_signed(const struct ktype *t)
{
	struct btf_desc d;
	if (t->is_number && !t->pointers)
		return !t->is_unsigned;
	enum btf_kind kind = ktype_kind(t, &d);
	return (kind == BTF_OF_INT || kind == BTF_OF_ENUM || kind == BTF_OF_ENUM64) && d.is_signed;
}

void ktype_declare(const struct ktype *t, const char *name, struct strbuf *to)
{
	char stars[16], inner[256];
	unsigned i = 0;
	for (; i < t->pointers && i < sizeof(stars) - 1; i++)
		stars[i] = '*';
	stars[i] = '\0';
	if (t->is_array)
		(void)snprintf(inner, sizeof(inner), "%s%s[%llu]", stars, name,
			       (unsigned long long)t->elements);
	else
		(void)snprintf(inner, sizeof(inner), "%s%s", stars, name);
	if (t->is_number)
		strbuf_printf(to, "%s%s%s", t->is_unsigned ? "unsigned long" : "long",
			      *inner ? " " : "", inner);
	else if (t->b)
		type_decl(t->b, t->id, inner, (struct type_decl_opts){ 0 }, to);
	else
		strbuf_printf(to, "void%s%s", *inner ? " " : "", inner);
}

void ktype_name(const struct ktype *t, struct strbuf *to)
{
	ktype_declare(t, "", to);
}
