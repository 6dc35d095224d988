#include "image/dwarf_die.h"
#include "image/dwarf_impl.h"

enum { HOPS_MAX = 16, DEPTH_MAX = 4096 };

/* Reads the code that an entry begins with. A null entry gives false. */
static bool die_in(struct dw_file *f, struct dw_unit *u, const struct dw_abbrevs *t, u64 offset,
		   struct dw_die *ret)
{
	if (offset < u->root || offset >= u->end || !dw_step(f, 1))
		return false;
	const u8 *start = dw_section(f, DWSEC_INFO)->data;
	struct bytes b = bytes_of(start + offset, u->end - offset, f->e->swap);
	u64 code = dw_uleb(&b);
	const struct dw_abbrev *a = code && !b.bad ? dw_abbrev_find(t, code) : NULL;
	if (!a)
		return false;
	*ret = (struct dw_die){
		.f = f, .u = u, .t = t, .a = a, .at = offset, .attrs = (u64)(b.at - start)
	};
	return true;
}

bool dw_die_at(struct dw_file *f, u64 offset, struct dw_die *ret)
{
	struct dw_unit *u = dw_unit_at(f, offset);
	const struct dw_abbrevs *t = u ? dw_abbrevs_of(f, u) : NULL;
	return t && die_in(f, u, t, offset, ret);
}

bool dw_die_root(struct dw_file *f, struct dw_unit *u, struct dw_die *ret)
{
	const struct dw_abbrevs *t = u->version ? dw_abbrevs_of(f, u) : NULL;
	return t && die_in(f, u, t, u->root, ret);
}

u16 dw_die_tag(const struct dw_die *d)
{
	return d->a->tag;
}

static struct bytes cursor_at(const struct dw_die *d, u64 offset)
{
	return bytes_of(dw_section(d->f, DWSEC_INFO)->data + offset, d->u->end - offset,
			d->f->e->swap);
}

static u64 offset_of(const struct dw_die *d, const struct bytes *b)
{
	return (u64)(b->at - dw_section(d->f, DWSEC_INFO)->data);
}

bool dw_die_child(const struct dw_die *d, struct dw_die *ret)
{
	if (!d->a->children)
		return false;
	struct bytes b = cursor_at(d, d->attrs);
	dw_skip(d->u, d->t, d->a, &b);
	return !b.bad && die_in(d->f, d->u, d->t, offset_of(d, &b), ret);
}

/* Where the entries below this one end, by stepping over each. */
static bool skip_children(const struct dw_die *d, struct bytes *b)
{
	for (u32 depth = 1; depth;) {
		u64 code = dw_uleb(b);
		if (b->bad || !dw_step(d->f, 1))
			return false;
		if (!code) {
			depth--;
			continue;
		}
		const struct dw_abbrev *a = dw_abbrev_find(d->t, code);
		if (!a || depth == DEPTH_MAX)
			return false;
		dw_skip(d->u, d->t, a, b);
		depth += a->children;
	}
	return true;
}

bool dw_die_next(const struct dw_die *d, struct dw_die *ret)
{
	struct dw_value v;
	if (d->a->has_sibling && dw_die_attr(d, DW_AT_SIBLING, &v) && v.class == DWVAL_REF &&
	    v.u > d->attrs)
		return die_in(d->f, d->u, d->t, v.u, ret);
	struct bytes b = cursor_at(d, d->attrs);
	dw_skip(d->u, d->t, d->a, &b);
	if (b.bad || (d->a->children && !skip_children(d, &b)))
		return false;
	return die_in(d->f, d->u, d->t, offset_of(d, &b), ret);
}

bool dw_die_attr(const struct dw_die *d, u16 attr, struct dw_value *ret)
{
	const struct dw_spec *s = d->t->specs.at + d->a->first, *end = s + d->a->nr, *want = s;
	while (want < end && want->attr != attr)
		want++;
	if (want == end)
		return false;
	struct bytes b = cursor_at(d, d->attrs);
	for (; s < want && !b.bad; s++) {
		struct dw_value ignored;
		if (s->size != DW_SIZE_VARIES)
			bytes_skip(&b, s->size);
		else
			dw_read_form(d->u, &b, s->form, s->implicit, &ignored);
	}
	dw_read_form(d->u, &b, s->form, s->implicit, ret);
	return !b.bad;
}

void dw_die_attrs(const struct dw_die *d, const u16 *attrs, u32 nr, struct dw_value *ret)
{
	for (u32 i = 0; i < nr; i++)
		ret[i] = (struct dw_value){ 0 };
	struct bytes b = cursor_at(d, d->attrs);
	const struct dw_spec *s = d->t->specs.at + d->a->first, *end = s + d->a->nr;
	for (; s < end && !b.bad; s++) {
		u32 i = 0;
		while (i < nr && attrs[i] != s->attr)
			i++;
		struct dw_value v = { 0 };
		if (i == nr && s->size != DW_SIZE_VARIES)
			bytes_skip(&b, s->size);
		else
			dw_read_form(d->u, &b, s->form, s->implicit, i < nr ? &ret[i] : &v);
	}
	if (b.bad)
		*d->f->broken = true;
}

bool dw_die_ref(const struct dw_die *owner, const struct dw_value *v, struct dw_die *ret)
{
	if (v->class == DWVAL_REF_ALT)
		return owner->f->alt && dw_die_at(owner->f->alt, v->u, ret);
	if (v->class != DWVAL_REF)
		return false;
	if (v->u >= owner->u->root && v->u < owner->u->end)
		return die_in(owner->f, owner->u, owner->t, v->u, ret);
	return dw_die_at(owner->f, v->u, ret);
}

bool dw_die_deep(const struct dw_die *d, u16 attr, struct dw_value *ret, struct dw_die *owner)
{
	struct dw_die at = *d;
	for (int hops = 0; hops < HOPS_MAX; hops++) {
		if (dw_die_attr(&at, attr, ret)) {
			*owner = at;
			return true;
		}
		struct dw_value origin;
		struct dw_die next;
		if ((!dw_die_attr(&at, DW_AT_ABSTRACT_ORIGIN, &origin) &&
		     !dw_die_attr(&at, DW_AT_SPECIFICATION, &origin)) ||
		    !dw_die_ref(&at, &origin, &next))
			return false;
		at = next;
	}
	return false;
}

const char *dw_die_name(const struct dw_die *d)
{
	struct dw_value v;
	struct dw_die owner;
	return dw_die_deep(d, DW_AT_NAME, &v, &owner) ? dw_string(owner.f, owner.u, &v) : NULL;
}

const char *dw_die_linkage(const struct dw_die *d)
{
	struct dw_value v;
	struct dw_die owner;
	return dw_die_deep(d, DW_AT_LINKAGE_NAME, &v, &owner) ||
			       dw_die_deep(d, DW_AT_MIPS_LINKAGE_NAME, &v, &owner)
		       ? dw_string(owner.f, owner.u, &v)
		       : NULL;
}

bool dw_die_number(const struct dw_die *d, u16 attr, u64 *ret)
{
	struct dw_value v;
	struct dw_die owner;
	if (!dw_die_deep(d, attr, &v, &owner) || v.class != DWVAL_CONST)
		return false;
	*ret = v.u;
	return true;
}
