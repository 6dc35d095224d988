/* Sections, units, abbreviations, attributes and ranges (DWARF 5, chapters 2 and 7; the GNU forms of dwz and early split DWARF). */
#include "base/budget.h"
#include "image/dwarf_impl.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { UNITS_MAX = 1 << 20, EXPANDED_MAX = 0x7fffffff, SPECS_MAX = 1 << 22, STRING_MAX = 1 << 16 };

/* ---- sections ---- */

static const char *const section_names[DWSEC_NR] = {
	[DWSEC_INFO] = "info",
	[DWSEC_ABBREV] = "abbrev",
	[DWSEC_STR] = "str",
	[DWSEC_LINE] = "line",
	[DWSEC_LINE_STR] = "line_str",
	[DWSEC_RANGES] = "ranges",
	[DWSEC_RNGLISTS] = "rnglists",
	[DWSEC_ADDR] = "addr",
	[DWSEC_STR_OFFSETS] = "str_offsets",
	[DWSEC_LOC] = "loc",
	[DWSEC_LOCLISTS] = "loclists",
	[DWSEC_CU_INDEX] = "cu_index",
};

/* suffix: what follows the name, of split units. Returns its number, 0 when there is none. */
static u32 find_section(const struct elfimg *e, const char *name, const char *suffix,
			struct elfimg_section *ret)
{
	struct elfimg_section s;
	size_t len = strlen(name);
	for (u32 i = 1; elfimg_section(e, i, &s); i++) {
		const char *n = !strncmp(s.name, ".debug_", 7)	  ? s.name + 7
				: !strncmp(s.name, ".zdebug_", 8) ? s.name + 8
								  : NULL;
		if (n && s.size && !strncmp(n, name, len) && !strcmp(n + len, suffix)) {
			*ret = s;
			return i;
		}
	}
	return 0;
}

bool dwinfo_has(const struct elfimg *image)
{
	struct elfimg_section s;
	return find_section(image, "info", "", &s) && elfimg_section_data(image, &s);
}

/* Bytes that all sections together may expand to: several may be one and the same stream. */
static u64 expanded_room(const struct elfimg *e)
{
	struct budget room;
	budget_init(&room, e->real);
	return room.bytes;
}

const struct dw_bytes *dw_section(struct dw_file *f, enum dw_section which)
{
	struct dw_bytes *d = &f->sections[which];
	if (d->looked)
		return d;
	d->looked = true;
	struct elfimg_section s;
	const char *suffix = f->main && which != DWSEC_CU_INDEX ? ".dwo" : "";
	u32 index = find_section(f->e, section_names[which], suffix, &s);
	if (!f->expanded_left)
		f->expanded_left = expanded_room(f->e);
	int err = index ? elfimg_section_expand(f->e, &s, min(f->expanded_left, (u64)EXPANDED_MAX),
						&d->data, &d->size, &d->heap)
			: 0;
	*f->broken |= err != 0;
	if (err == -E2BIG)
		*f->spent = "decompressing its debug information";
	if (d->heap)
		f->expanded_left -= min(d->size, f->expanded_left - 1);
	if (d->data && f->e->type == ET_REL && !f->main && dw_relocate(f, index, d)) {
		*f->broken = true;
		d->data = NULL;
		d->size = 0;
	}
	return d;
}

struct bytes dw_cursor(struct dw_file *f, enum dw_section which, u64 offset)
{
	const struct dw_bytes *d = dw_section(f, which);
	static const u8 nothing[1];
	if (!d->data || offset >= d->size)
		return (struct bytes){ .at = nothing, .end = nothing, .bad = true };
	return bytes_of(d->data + offset, d->size - offset, f->e->swap);
}

static void free_abbrevs(struct dw_file *f)
{
	vec_for_each (&f->abbrevs, t) {
		vec_free(&(*t)->list);
		vec_free(&(*t)->specs);
		free(*t);
	}
	f->abbrevs.nr = 0;
}

void dw_abbrevs_drop(struct dw_file *f)
{
	free_abbrevs(f);
	dict_done(&f->abbrevs_at);
	dict_init(&f->abbrevs_at);
	vec_for_each (&f->units, u)
		u->abbrevs = 0;
}

void dw_file_done(struct dw_file *f)
{
	for (int i = 0; i < DWSEC_NR; i++)
		free(f->sections[i].heap);
	vec_free(&f->units);
	free_abbrevs(f);
	vec_free(&f->abbrevs);
	vec_free(&f->scratch.list);
	vec_free(&f->scratch.specs);
	dict_done(&f->abbrevs_at);
}

/* ---- forms ---- */

/* Bytes that a form takes in such a unit, or DW_SIZE_VARIES. */
static u16 form_size(const struct dw_unit *u, u16 form)
{
	switch (form) {
	case DW_FORM_FLAG_PRESENT:
	case DW_FORM_IMPLICIT_CONST: return 0;
	case DW_FORM_DATA1:
	case DW_FORM_FLAG:
	case DW_FORM_REF1:
	case DW_FORM_STRX1:
	case DW_FORM_ADDRX1: return 1;
	case DW_FORM_DATA2:
	case DW_FORM_REF2:
	case DW_FORM_STRX2:
	case DW_FORM_ADDRX2: return 2;
	case DW_FORM_STRX3:
	case DW_FORM_ADDRX3: return 3;
	case DW_FORM_DATA4:
	case DW_FORM_REF4:
	case DW_FORM_REF_SUP4:
	case DW_FORM_STRX4:
	case DW_FORM_ADDRX4: return 4;
	case DW_FORM_DATA8:
	case DW_FORM_REF8:
	case DW_FORM_REF_SIG8:
	case DW_FORM_REF_SUP8: return 8;
	case DW_FORM_DATA16: return 16;
	case DW_FORM_ADDR: return u->addr_size;
	case DW_FORM_REF_ADDR: return u->version < 3 ? u->addr_size : u->off_size;
	case DW_FORM_STRP:
	case DW_FORM_SEC_OFFSET:
	case DW_FORM_LINE_STRP:
	case DW_FORM_STRP_SUP:
	case DW_FORM_GNU_REF_ALT:
	case DW_FORM_GNU_STRP_ALT: return u->off_size;
	default: return DW_SIZE_VARIES;
	}
}

u64 dw_sized(struct bytes *b, u16 size)
{
	switch (size) {
	case 1: return bytes_u8(b);
	case 2: return bytes_u16(b);
	case 4: return bytes_u32(b);
	case 8: return bytes_u64(b);
	case 3: {
		const u8 *p = bytes_take(b, 3);
		if (!p)
			return 0;
		bool big = b->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
		return big ? (u64)p[0] << 16 | p[1] << 8 | p[2] : (u64)p[2] << 16 | p[1] << 8 | p[0];
	}
	default: bytes_skip(b, size); return 0;
	}
}

static enum dw_class class_of(u16 form)
{
	switch (form) {
	case DW_FORM_ADDR: return DWVAL_ADDR;
	case DW_FORM_ADDRX:
	case DW_FORM_ADDRX1:
	case DW_FORM_ADDRX2:
	case DW_FORM_ADDRX3:
	case DW_FORM_ADDRX4:
	case DW_FORM_GNU_ADDR_INDEX: return DWVAL_ADDR_INDEX;
	case DW_FORM_STRP: return DWVAL_STR;
	case DW_FORM_LINE_STRP: return DWVAL_LINE_STR;
	case DW_FORM_STRX:
	case DW_FORM_STRX1:
	case DW_FORM_STRX2:
	case DW_FORM_STRX3:
	case DW_FORM_STRX4:
	case DW_FORM_GNU_STR_INDEX: return DWVAL_STR_INDEX;
	case DW_FORM_STRP_SUP:
	case DW_FORM_GNU_STRP_ALT: return DWVAL_STR_ALT;
	case DW_FORM_REF_SUP4:
	case DW_FORM_REF_SUP8:
	case DW_FORM_GNU_REF_ALT: return DWVAL_REF_ALT;
	case DW_FORM_REF1:
	case DW_FORM_REF2:
	case DW_FORM_REF4:
	case DW_FORM_REF8:
	case DW_FORM_REF_UDATA:
	case DW_FORM_REF_ADDR: return DWVAL_REF;
	case DW_FORM_SEC_OFFSET: return DWVAL_OFFSET;
	case DW_FORM_RNGLISTX: return DWVAL_RANGES_INDEX;
	case DW_FORM_LOCLISTX: return DWVAL_LOC_INDEX;
	case DW_FORM_BLOCK1:
	case DW_FORM_BLOCK2:
	case DW_FORM_BLOCK4:
	case DW_FORM_BLOCK:
	case DW_FORM_EXPRLOC: return DWVAL_BLOCK;
	case DW_FORM_DATA1:
	case DW_FORM_DATA2:
	case DW_FORM_DATA4:
	case DW_FORM_DATA8:
	case DW_FORM_UDATA:
	case DW_FORM_SDATA:
	case DW_FORM_IMPLICIT_CONST:
	case DW_FORM_FLAG:
	case DW_FORM_FLAG_PRESENT: return DWVAL_CONST;
	default: return DWVAL_OTHER;
	}
}

static void read_block(struct bytes *b, u64 len, struct dw_value *v)
{
	v->p = bytes_take(b, len);
	v->u = v->p ? len : 0;
}

static void read_varying(struct bytes *b, u16 form, struct dw_value *v)
{
	switch (form) {
	case DW_FORM_STRING:
		v->p = bytes_cstr(b);
		v->class = DWVAL_TEXT;
		break;
	case DW_FORM_BLOCK1: read_block(b, bytes_u8(b), v); break;
	case DW_FORM_BLOCK2: read_block(b, bytes_u16(b), v); break;
	case DW_FORM_BLOCK4: read_block(b, bytes_u32(b), v); break;
	case DW_FORM_BLOCK:
	case DW_FORM_EXPRLOC: read_block(b, dw_uleb(b), v); break;
	case DW_FORM_SDATA: v->u = (u64)bytes_sleb(b); break;
	case DW_FORM_UDATA:
	case DW_FORM_REF_UDATA:
	case DW_FORM_STRX:
	case DW_FORM_ADDRX:
	case DW_FORM_LOCLISTX:
	case DW_FORM_RNGLISTX:
	case DW_FORM_GNU_ADDR_INDEX:
	case DW_FORM_GNU_STR_INDEX: v->u = dw_uleb(b); break;
	default: b->bad = true; break; /* nobody knows how long it is */
	}
}

void dw_read_form(const struct dw_unit *u, struct bytes *b, u16 form, s64 implicit,
		  struct dw_value *ret)
{
	if (form == DW_FORM_INDIRECT) {
		u64 real = dw_uleb(b);
		/* One that names itself again, or a constant that stands nowhere, is no form. */
		if (real == DW_FORM_INDIRECT || real == DW_FORM_IMPLICIT_CONST || real > 0xffff) {
			b->bad = true;
			return;
		}
		form = (u16)real;
	}
	ret->class = class_of(form);
	ret->form = form;
	ret->u = 0;
	ret->p = NULL;
	u16 size = form_size(u, form);
	if (form == DW_FORM_IMPLICIT_CONST)
		ret->u = (u64)implicit;
	else if (form == DW_FORM_FLAG_PRESENT)
		ret->u = 1;
	else if (size == DW_SIZE_VARIES)
		read_varying(b, form, ret);
	else
		ret->u = dw_sized(b, size);
	if (ret->class == DWVAL_REF)
		ret->u += form == DW_FORM_REF_ADDR ? u->info_start : u->start;
}

void dw_skip_varying(const struct dw_unit *u, const struct dw_abbrevs *t, const struct dw_abbrev *a,
		     struct bytes *b)
{
	const struct dw_spec *s = t->specs.at + a->first, *end = s + a->nr;
	for (; s < end && !b->bad; s++) {
		struct dw_value ignored;
		if (s->size != DW_SIZE_VARIES)
			bytes_skip(b, s->size);
		else if (s->form == DW_FORM_EXPRLOC)
			bytes_skip(b, dw_uleb(b));
		else
			dw_read_form(u, b, s->form, s->implicit, &ignored);
	}
}

void dw_read_entry(const struct dw_unit *u, const struct dw_abbrevs *t, const struct dw_abbrev *a,
		   struct bytes *b, struct dw_entry *e)
{
	for (u32 i = 0; i < DWSLOT_NR; i++)
		e->at[i].class = DWVAL_NONE;
	const struct dw_spec *s = t->specs.at + a->first, *end = s + a->nr;
	for (; s < end && !b->bad; s++) {
		if (!s->slot && s->size != DW_SIZE_VARIES)
			bytes_skip(b, s->size);
		else
			dw_read_form(u, b, s->form, s->implicit, &e->at[s->slot]);
	}
}

static u16 slot_of(u64 attr)
{
	static const u8 slots[] = {
		[DW_AT_NAME] = DWSLOT_NAME,
		[DW_AT_LINKAGE_NAME] = DWSLOT_LINKAGE,
		[DW_AT_LOW_PC] = DWSLOT_LOW,
		[DW_AT_HIGH_PC] = DWSLOT_HIGH,
		[DW_AT_RANGES] = DWSLOT_RANGES,
		[DW_AT_ABSTRACT_ORIGIN] = DWSLOT_ORIGIN,
		[DW_AT_SPECIFICATION] = DWSLOT_ORIGIN,
		[DW_AT_CALL_FILE] = DWSLOT_CALL_FILE,
		[DW_AT_CALL_LINE] = DWSLOT_CALL_LINE,
		[DW_AT_SIBLING] = DWSLOT_SIBLING,
	};
	if (attr == DW_AT_MIPS_LINKAGE_NAME)
		return DWSLOT_LINKAGE;
	return attr < ARRAY_SIZE(slots) ? slots[attr] : DWSLOT_NONE;
}

/* ---- abbreviations ---- */

static int by_code(const void *l, const void *r)
{
	const struct dw_abbrev *a = l, *b = r;
	return (a->code > b->code) - (a->code < b->code);
}

/* before: bytes of the attributes before it. */
static void note_attribute(struct dw_abbrev *a, u16 attr, u16 form, u32 before)
{
	if (attr == DW_AT_SIBLING) {
		a->has_sibling = true;
		a->sibling_at = form == DW_FORM_REF4 && before < UINT8_MAX ? (u8)(before + 1) : 0;
	}
	a->has_code |= attr == DW_AT_LOW_PC || attr == DW_AT_RANGES || attr == DW_AT_INLINE ||
		       attr == DW_AT_ENTRY_PC;
}

/* One abbreviation; 1, 0 at the table's end, negative errno. */
static int read_abbrev(struct dw_file *f, struct dw_abbrevs *t, const struct dw_unit *u,
		       struct bytes *b)
{
	u64 code = dw_uleb(b);
	if (b->bad)
		return -EBADMSG;
	if (!code)
		return 0;
	struct dw_abbrev *a = vec_push(&t->list);
	if (!a)
		return -ENOMEM;
	*a = (struct dw_abbrev){ .code = code, .first = (u32)t->specs.nr };
	a->tag = (u16)dw_uleb(b);
	a->children = bytes_u8(b);
	u32 fixed = 0;
	for (;;) {
		u64 attr = dw_uleb(b), form = dw_uleb(b);
		s64 implicit = form == DW_FORM_IMPLICIT_CONST ? bytes_sleb(b) : 0;
		if (b->bad || attr > 0xffff || form > 0xffff || t->specs.nr >= SPECS_MAX)
			return -EBADMSG;
		if (!attr && !form)
			break;
		if (!vec_reserve(&t->specs, t->specs.nr + 1))
			return -ENOMEM;
		u16 size = form < DW_FORMS_USUAL ? f->form_sizes[form] : form_size(u, (u16)form);
		t->specs.at[t->specs.nr++] =
			(struct dw_spec){ (u16)attr, (u16)form, size, slot_of(attr), implicit };
		note_attribute(a, (u16)attr, (u16)form, fixed);
		fixed = size == DW_SIZE_VARIES || fixed >= DW_SIZE_VARIES ? DW_SIZE_VARIES
									  : fixed + size;
	}
	a->nr = (u32)t->specs.nr - a->first;
	a->fixed = (u16)min(fixed, (u32)DW_SIZE_VARIES);
	return 1;
}

static u32 shape_of(const struct dw_unit *u)
{
	return (u32)(u->version << 8 | u->addr_size << 4 | u->off_size);
}

/* Nearly all units of a file have the same sizes. */
static void need_form_sizes(struct dw_file *f, const struct dw_unit *u)
{
	if (f->sizes_shape == shape_of(u))
		return;
	f->sizes_shape = shape_of(u);
	for (u32 form = 0; form < DW_FORMS_USUAL; form++)
		f->form_sizes[form] = form_size(u, (u16)form);
}

static int read_abbrevs(struct dw_file *f, const struct dw_unit *u, struct dw_abbrevs *t)
{
	struct bytes b = dw_cursor(f, DWSEC_ABBREV, u->abbrev_offset);
	int more = 1;
	need_form_sizes(f, u);
	t->dense = true;
	while (more > 0) {
		const u8 *before = b.at;
		more = read_abbrev(f, t, u, &b);
		if (more > 0 && t->list.at[t->list.nr - 1].code != t->list.nr)
			t->dense = false;
		if (more >= 0 && !dw_step(f, (u64)(b.at - before)))
			return -EBADMSG;
	}
	if (!t->dense)
		qsort(t->list.at, t->list.nr, sizeof(*t->list.at), by_code);
	return more;
}

const struct dw_abbrevs *dw_abbrevs_of(struct dw_file *f, struct dw_unit *u)
{
	if (u->abbrevs)
		return f->abbrevs.at[u->abbrevs - 1];
	u32 fresh = (u32)f->abbrevs.nr, got;
	if (dict_add(&f->abbrevs_at, u->abbrev_offset << 16 ^ shape_of(u), fresh, &got))
		return NULL;
	if (got == fresh) {
		struct dw_abbrevs *t = calloc(1, sizeof(*t)), **slot = vec_push(&f->abbrevs);
		if (!t || !slot) {
			free(t);
			f->abbrevs.nr = fresh;
			*f->broken = true;
			return NULL;
		}
		*slot = t;
		t->offset = u->abbrev_offset;
		t->shape = shape_of(u);
		/* A table of usual size is not moved while it grows. */
		(void)!vec_reserve(&t->list, 128);
		(void)!vec_reserve(&t->specs, 768);
		if (read_abbrevs(f, u, t) < 0) {
			*f->broken = true;
			t->list.nr = 0;
		}
	}
	u->abbrevs = got + 1;
	return f->abbrevs.at[got];
}

const struct dw_abbrev *dw_abbrev_search(const struct dw_abbrevs *t, u64 code)
{
	if (t->dense)
		return NULL;
	struct dw_abbrev key = { .code = code };
	return t->list.nr ? bsearch(&key, t->list.at, t->list.nr, sizeof(key), by_code) : NULL;
}

/* ---- values ---- */

static const char *string_at(struct dw_file *f, enum dw_section which, u64 offset)
{
	struct bytes b = dw_cursor(f, which, offset);
	if (b.bad)
		return NULL;
	if (bytes_left(&b) > STRING_MAX)
		b.end = b.at + STRING_MAX;
	const u8 *before = b.at;
	const char *s = bytes_cstr(&b);
	return dw_step(f, (u64)(b.at - before) / 16) ? s : NULL;
}

const char *dw_string(struct dw_file *f, const struct dw_unit *u, const struct dw_value *v)
{
	switch (v->class) {
	case DWVAL_TEXT: return v->p;
	case DWVAL_STR: return string_at(f, DWSEC_STR, v->u);
	case DWVAL_LINE_STR: return string_at(f, DWSEC_LINE_STR, v->u);
	case DWVAL_STR_ALT: return f->alt ? string_at(f->alt, DWSEC_STR, v->u) : NULL;
	case DWVAL_STR_INDEX: {
		if (v->u > UINT32_MAX)
			return NULL;
		struct bytes b = dw_cursor(f, DWSEC_STR_OFFSETS, u->str_base + v->u * u->off_size);
		u64 offset = dw_offset(&b, u->off_size);
		return b.bad ? NULL : string_at(f, DWSEC_STR, offset);
	}
	default: return NULL;
	}
}

bool dw_indexed_address(struct dw_file *f, const struct dw_unit *u, u64 index, u64 *ret)
{
	if (index > UINT32_MAX)
		return false;
	struct bytes b =
		dw_cursor(f->main ? f->main : f, DWSEC_ADDR, u->addr_base + index * u->addr_size);
	u64 addr = dw_sized(&b, u->addr_size);
	if (b.bad)
		return false;
	*ret = addr;
	return true;
}

bool dw_address(struct dw_file *f, const struct dw_unit *u, const struct dw_value *v, u64 *ret)
{
	if (v->class == DWVAL_ADDR_INDEX)
		return dw_indexed_address(f, u, v->u, ret);
	*ret = v->u;
	return v->class == DWVAL_ADDR;
}

/* ---- ranges ---- */

static bool list_init(struct dw_ranges *r, const struct dw_value *v)
{
	const struct dw_unit *u = r->u;
	u64 offset = v->u;
	if (v->class == DWVAL_RANGES_INDEX) {
		if (offset > UINT32_MAX)
			return false;
		struct bytes b =
			dw_cursor(r->f, DWSEC_RNGLISTS, u->ranges_base + offset * u->off_size);
		offset = u->ranges_base + dw_offset(&b, u->off_size);
		if (b.bad)
			return false;
	} else if (v->class == DWVAL_OFFSET || v->class == DWVAL_CONST) {
		offset += u->ranges_start;
	} else {
		return false;
	}
	/* Before DWARF 5 the lists of split units stayed with the program. */
	struct dw_file *f = u->version < 5 && r->f->main ? r->f->main : r->f;
	r->b = dw_cursor(f, u->version < 5 ? DWSEC_RANGES : DWSEC_RNGLISTS, offset);
	r->base = u->low;
	return !r->b.bad;
}

bool dw_ranges_init(struct dw_ranges *r, struct dw_file *f, const struct dw_unit *u,
		    const struct dw_entry *e)
{
	*r = (struct dw_ranges){ .f = f, .u = u };
	const struct dw_value *low = &e->at[DWSLOT_LOW], *high = &e->at[DWSLOT_HIGH];
	if (e->at[DWSLOT_RANGES].class)
		return list_init(r, &e->at[DWSLOT_RANGES]);
	if (!low->class || !high->class || !dw_address(f, u, low, &r->low))
		return false;
	r->one = true;
	if (high->class == DWVAL_CONST)
		return !__builtin_add_overflow(r->low, high->u, &r->high);
	return dw_address(f, u, high, &r->high);
}

/* .debug_ranges: pairs of addresses; a pair that begins with the greatest address sets the base. */
static bool next_pair(struct dw_ranges *r, u64 *low, u64 *high)
{
	u64 greatest = r->u->addr_size == 8 ? UINT64_MAX : UINT32_MAX;
	while (dw_step(r->f, 1)) {
		u64 a = dw_sized(&r->b, r->u->addr_size), z = dw_sized(&r->b, r->u->addr_size);
		if (r->b.bad || (!a && !z))
			return false;
		if (a == greatest) {
			r->base = z;
			continue;
		}
		*low = r->base + a;
		*high = r->base + z;
		return true;
	}
	return false;
}

/* .debug_rnglists: 1, 0 for an entry that only sets the base, negative at the end. */
static int next_item(struct dw_ranges *r, u64 *low, u64 *high)
{
	struct bytes *b = &r->b;
	struct dw_file *f = r->f;
	const struct dw_unit *u = r->u;
	u8 kind = bytes_u8(b);
	bool good = true;
	int have = 1;
	switch (kind) {
	case 1: /* base address by index */
		good = dw_indexed_address(f, u, dw_uleb(b), &r->base);
		have = 0;
		break;
	case 2: /* start and end by index */
		good = dw_indexed_address(f, u, dw_uleb(b), low) &&
		       dw_indexed_address(f, u, dw_uleb(b), high);
		break;
	case 3: /* start by index, length */
		good = dw_indexed_address(f, u, dw_uleb(b), low);
		*high = *low + dw_uleb(b);
		break;
	case 4: /* a pair of offsets from the base */
		*low = r->base + dw_uleb(b);
		*high = r->base + dw_uleb(b);
		break;
	case 5: /* base address */
		r->base = dw_sized(b, u->addr_size);
		have = 0;
		break;
	case 6: /* start and end */
		*low = dw_sized(b, u->addr_size);
		*high = dw_sized(b, u->addr_size);
		break;
	case 7: /* start and length */
		*low = dw_sized(b, u->addr_size);
		*high = *low + dw_uleb(b);
		break;
	default: return -1;
	}
	return !good || b->bad ? -1 : have;
}

bool dw_ranges_next(struct dw_ranges *r, u64 *low, u64 *high)
{
	if (r->done)
		return false;
	if (r->one) {
		r->done = true;
		*low = r->low;
		*high = r->high;
		return true;
	}
	if (r->u->version < 5)
		return next_pair(r, low, high);
	int have = 0;
	*low = *high = 0;
	while (!have && dw_step(r->f, 1))
		have = next_item(r, low, high);
	return have > 0;
}

/* ---- units ---- */

static bool read_head(struct dw_file *f, struct bytes *b, const u8 *data, struct dw_unit *u)
{
	*u = (struct dw_unit){ .start = (u64)(b->at - data), .off_size = 4 };
	u64 length = bytes_u32(b);
	if (length == 0xffffffff) {
		u->off_size = 8;
		length = bytes_u64(b);
	} else if (length >= 0xfffffff0) {
		return false;
	}
	struct bytes unit = bytes_sub(b, length);
	if (unit.bad)
		return false;
	u->end = (u64)(b->at - data);
	u->version = bytes_u16(&unit);
	if (u->version < 2 || u->version > 5)
		return true; /* stepped over */
	u8 type = 1;
	if (u->version >= 5) {
		type = bytes_u8(&unit);
		u->addr_size = bytes_u8(&unit);
		u->abbrev_offset = dw_offset(&unit, u->off_size);
	} else {
		u->abbrev_offset = dw_offset(&unit, u->off_size);
		u->addr_size = bytes_u8(&unit);
	}
	u->has_id = type == 4 || type == 5; /* skeleton, split */
	if (u->has_id)
		u->id = bytes_u64(&unit);
	else if (type == 2 || type == 6) /* types: signature and offset */
		bytes_skip(&unit, 8 + u->off_size);
	u->root = (u64)(unit.at - data);
	if (unit.bad || (u->addr_size != 4 && u->addr_size != 8))
		u->version = 0;
	return true;
}

/* The abbreviation of a unit's first entry, without keeping the others of its table: most units are never looked into. */
static const struct dw_abbrev *first_abbrev(struct dw_file *f, const struct dw_unit *u, u64 code,
					    struct dw_abbrevs *own)
{
	struct bytes b = dw_cursor(f, DWSEC_ABBREV, u->abbrev_offset);
	need_form_sizes(f, u);
	for (int more = 1; more > 0;) {
		const u8 *before = b.at;
		own->list.nr = own->specs.nr = 0;
		more = read_abbrev(f, own, u, &b);
		if (!dw_step(f, (u64)(b.at - before)))
			return NULL;
		if (more > 0 && own->list.at[0].code == code)
			return own->list.at;
	}
	return NULL;
}

static void root_attribute(struct dw_unit *u, u16 attr, struct dw_value v)
{
	switch (attr) {
	case DW_AT_NAME: u->name = v; break;
	case DW_AT_COMP_DIR: u->comp_dir = v; break;
	case DW_AT_LOW_PC: u->low_pc = v; break;
	case DW_AT_HIGH_PC: u->high_pc = v; break;
	case DW_AT_RANGES: u->ranges = v; break;
	case DW_AT_STMT_LIST:
		u->has_line = true;
		u->line_offset = v.u;
		break;
	case DW_AT_STR_OFFSETS_BASE: u->str_base = v.u; break;
	case DW_AT_ADDR_BASE:
	case DW_AT_GNU_ADDR_BASE: u->addr_base = v.u; break;
	case DW_AT_RNGLISTS_BASE:
	case DW_AT_GNU_RANGES_BASE: u->ranges_base = v.u; break;
	case DW_AT_LOCLISTS_BASE: u->locs_base = v.u; break;
	case DW_AT_DWO_NAME:
	case DW_AT_GNU_DWO_NAME:
		u->split = true;
		u->dwo_name = v;
		break;
	case DW_AT_GNU_DWO_ID:
		u->has_id = true;
		u->id = v.u;
		break;
	default: break;
	}
}

/* Bases may come after what needs them, so values are looked up when all attributes are known. */
static void read_root(struct dw_file *f, struct dw_unit *u)
{
	struct dw_abbrevs *own = &f->scratch;
	const struct dw_bytes *info = dw_section(f, DWSEC_INFO);
	struct bytes b = bytes_of(info->data + u->root, u->end - u->root, f->e->swap);
	u64 code = dw_uleb(&b);
	const struct dw_abbrev *a = NULL;
	if (u->abbrevs) {
		own = f->abbrevs.at[u->abbrevs - 1];
		a = dw_abbrev_find(own, code);
	} else if (code) {
		a = first_abbrev(f, u, code, own);
	}
	if (!a || (a->tag != DW_TAG_COMPILE_UNIT && a->tag != DW_TAG_SKELETON_UNIT))
		return;
	for (u32 i = 0; i < a->nr && !b.bad; i++) {
		const struct dw_spec *s = &own->specs.at[a->first + i];
		struct dw_value v = { 0 };
		dw_read_form(u, &b, s->form, s->implicit, &v);
		root_attribute(u, s->attr, v);
	}
	if (b.bad) {
		u->high_pc = u->ranges = (struct dw_value){ 0 };
		return;
	}
	if (u->low_pc.class)
		(void)dw_address(f, u, &u->low_pc, &u->low);
}

/* What was kept has to fit what is there. */
static void read_kept_head(struct dw_file *f, struct dw_unit *u)
{
	const struct dw_bytes *info = dw_section(f, DWSEC_INFO);
	u64 start = u->start, end = u->end;
	struct bytes b = bytes_of(info->data + start, end - start, f->e->swap);
	if (!read_head(f, &b, info->data, u) || u->end != end) {
		*u = (struct dw_unit){ .start = start, .end = end, .root = end };
		*f->broken = true;
	}
}

void dw_unit_need(struct dw_file *f, struct dw_unit *u)
{
	if (likely(u->is_read))
		return;
	if (!u->has_head)
		read_kept_head(f, u);
	u->is_read = true;
	if (u->version)
		read_root(f, u);
}

int dw_units_read(struct dw_file *f)
{
	const struct dw_bytes *info = dw_section(f, DWSEC_INFO);
	if (!info->data)
		return 0;
	struct bytes b = bytes_of(info->data, info->size, f->e->swap);
	int err = 0;
	while (bytes_left(&b) && !err && dw_step(f, 64)) {
		struct dw_unit head;
		if (f->units.nr >= UNITS_MAX || !read_head(f, &b, info->data, &head)) {
			*f->broken = true;
			break;
		}
		struct dw_unit *u = vec_push(&f->units);
		if (!u) {
			err = -ENOMEM;
			break;
		}
		*u = head;
		u->has_head = true;
	}
	return err;
}

int dw_units_adopt(struct dw_file *f, const u64 *starts, u32 nr)
{
	u64 size = dw_section(f, DWSEC_INFO)->size;
	if (!vec_reserve(&f->units, nr))
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		u64 start = min(starts[i], size), end = i + 1 < nr ? min(starts[i + 1], size) : size;
		f->units.at[i] = (struct dw_unit){ .start = start, .end = max(start, end) };
	}
	f->units.nr = nr;
	return 0;
}

bool dw_unit_read(struct dw_file *f, const struct dw_parts *p, u64 at, struct dw_unit *ret)
{
	const struct dw_bytes *info = dw_section(f, DWSEC_INFO);
	struct dw_unit u;
	if (!info->data || at >= info->size || !dw_step(f, 64))
		return false;
	struct bytes b = bytes_of(info->data + at, info->size - at, f->e->swap);
	if (!read_head(f, &b, info->data, &u))
		return false;
	u.has_head = true;
	u.info_start = p->info;
	u.abbrev_offset += p->abbrev;
	u.str_base = p->str_offsets + (u.version < 5 ? 0 : u.off_size == 8 ? 16 : 8);
	u.ranges_start = p->rnglists;
	u.ranges_base = p->rnglists + (u.off_size == 8 ? 20 : 12);
	u.locs_start = p->locs;
	u.locs_base = p->locs + (u.off_size == 8 ? 20 : 12);
	dw_unit_need(f, &u);
	*ret = u;
	return true;
}

struct dw_unit *dw_unit_at(struct dw_file *f, u64 offset)
{
	size_t lo = 0, hi = f->units.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (f->units.at[mid].end <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == f->units.nr)
		return NULL;
	struct dw_unit *u = &f->units.at[lo];
	dw_unit_need(f, u);
	return offset < u->root || !u->version ? NULL : u;
}
