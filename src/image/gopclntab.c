#include "image/gopclntab.h"
#include "base/bytes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { GO_1_2 = 0xfffffffb, GO_1_16 = 0xfffffffa, GO_1_18 = 0xfffffff0, GO_1_20 = 0xfffffff1 };

static struct bytes part_at(const struct gopclntab *t, const struct gopclntab_part *p, u64 offset)
{
	if (offset > p->size)
		return (struct bytes){ .at = p->at, .end = p->at, .bad = true };
	return bytes_of(p->at + offset, p->size - offset, t->image->swap);
}

static u64 read_ptr(const struct gopclntab *t, struct bytes *b)
{
	return t->ptr_size == 8 ? bytes_u64(b) : bytes_u32(b);
}

/* From an offset to the end of the table; every part may reach that far. */
static struct gopclntab_part part_of(const struct gopclntab *t, u64 offset)
{
	offset = min(offset, (u64)t->all.size);
	return (struct gopclntab_part){ t->all.at + offset, t->all.size - offset };
}

/* Strings are read up to their NUL: the part ends with its last one. */
static struct gopclntab_part strings_of(const struct gopclntab *t, u64 offset)
{
	struct gopclntab_part p = part_of(t, offset);
	const u8 *nul = p.size ? memrchr(p.at, 0, p.size) : NULL;
	p.size = nul ? (size_t)(nul - p.at) + 1 : 0;
	return p;
}

static const char *string_at(const struct gopclntab_part *p, u64 offset)
{
	return offset < p->size ? (const char *)p->at + offset : NULL;
}

/* A program that may lie anywhere leaves the address to the loader: what it would add to the base is in a relocation. */
static bool relocated(const struct elfimg *e, u64 addr, u64 *ret)
{
	struct elfimg_section s;
	for (u32 i = 1; elfimg_section(e, i, &s); i++) {
		const u8 *data = s.type == SHT_RELA && e->is64 ? elfimg_section_data(e, &s) : NULL;
		struct bytes b = bytes_of(data, data ? s.size : 0, e->swap);
		while (bytes_left(&b) >= sizeof(Elf64_Rela)) {
			u64 at = bytes_u64(&b), addend;
			bytes_skip(&b, 8);
			addend = bytes_u64(&b);
			if (at != addr || !addend)
				continue;
			*ret = addend;
			return true;
		}
	}
	return false;
}

static bool is_static(const struct elfimg *e)
{
	struct elfimg_segment s;
	for (u32 i = 0; elfimg_segment(e, i, &s); i++)
		if (s.type == PT_INTERP || s.type == PT_DYNAMIC)
			return false;
	return true;
}

/*
 * Where the code begins that offsets count from. Not told (since Go 1.26): it is .text, unless a C linker put its own code before
 * it, which cannot be told apart.
 */
static bool find_text(struct gopclntab *t, u64 field_addr)
{
	struct elfimg_section s;
	if (t->text || relocated(t->image, field_addr, &t->text))
		return true;
	if (!is_static(t->image) || !elfimg_section_by_name(t->image, ".text", &s))
		return false;
	t->text = s.addr;
	return true;
}

static bool read_old_head(struct gopclntab *t, struct bytes *b)
{
	u64 nr = read_ptr(t, b);
	size_t at = (size_t)(b->at - t->all.at), entry = 2 * (size_t)t->ptr_size;
	if (b->bad || nr > bytes_left(b) / entry)
		return false;
	t->is_old = t->wide = true;
	t->nr = (u32)nr;
	t->funcs = t->pcs = t->all;
	t->entries = at;
	t->names = strings_of(t, 0);
	bytes_skip(b, nr * entry + t->ptr_size);
	u64 files = bytes_u32(b);
	t->units = part_of(t, files);
	t->files = t->names;
	return !b->bad;
}

static bool read_new_head(struct gopclntab *t, struct bytes *b, bool has_text, u64 table_addr)
{
	u64 nr = read_ptr(t, b), field = 0;
	(void)read_ptr(t, b); /* files */
	if (has_text) {
		field = table_addr + (u64)(b->at - t->all.at);
		t->text = read_ptr(t, b);
	}
	t->names = strings_of(t, read_ptr(t, b));
	t->units = part_of(t, read_ptr(t, b));
	t->files = strings_of(t, read_ptr(t, b));
	t->pcs = part_of(t, read_ptr(t, b));
	t->funcs = part_of(t, read_ptr(t, b));
	t->wide = !has_text;
	size_t entry = has_text ? 8 : 2 * (size_t)t->ptr_size;
	if (b->bad || nr > t->funcs.size / entry || nr > UINT32_MAX)
		return false;
	t->nr = (u32)nr;
	return !has_text || find_text(t, field);
}

int gopclntab_open(struct gopclntab *t, const struct elfimg *e)
{
	struct elfimg_section s;
	if (!elfimg_section_by_name(e, ".gopclntab", &s) &&
	    !elfimg_section_by_name(e, ".data.rel.ro.gopclntab", &s))
		return -ENOENT;
	const u8 *data = elfimg_section_data(e, &s);
	if (!data)
		return -ENOENT;
	*t = (struct gopclntab){ .image = e, .all = { data, s.size } };
	struct bytes b = bytes_of(data, s.size, e->swap);
	u32 magic = bytes_u32(&b);
	bytes_skip(&b, 2);
	t->quantum = bytes_u8(&b);
	t->ptr_size = bytes_u8(&b);
	if (b.bad || !t->quantum || t->quantum > 4 || (t->ptr_size != 4 && t->ptr_size != 8))
		return -ENOENT;
	bool good = magic == GO_1_2			   ? read_old_head(t, &b)
		    : magic == GO_1_16			   ? read_new_head(t, &b, false, s.addr)
		    : magic == GO_1_18 || magic == GO_1_20 ? read_new_head(t, &b, true, s.addr)
							   : false;
	return good && t->nr ? 0 : -ENOENT;
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

static u64 read_entry(const struct gopclntab *t, struct bytes *b)
{
	return t->wide ? read_ptr(t, b) : t->text + bytes_u32(b);
}

/* A function's record begins with its address. */
static struct bytes record_at(const struct gopclntab *t, size_t record)
{
	struct bytes b = part_at(t, &t->funcs, record);
	bytes_skip(&b, t->wide ? t->ptr_size : 4);
	return b;
}

bool gopclntab_func(const struct gopclntab *t, u32 index, struct gopclntab_func *ret)
{
	size_t entry = t->wide ? 2 * (size_t)t->ptr_size : 8;
	struct bytes b = part_at(t, &t->funcs, t->entries + index * entry);
	u64 start = read_entry(t, &b);
	u64 record = t->wide ? read_ptr(t, &b) : bytes_u32(&b);
	u64 end = read_entry(t, &b); /* of the next one, or of all */
	if (index >= t->nr || b.bad || end <= start || record > t->funcs.size)
		return false;
	struct bytes r = record_at(t, record);
	const char *name = string_at(&t->names, bytes_u32(&r));
	if (r.bad || !name || !*name)
		return false;
	*ret = (struct gopclntab_func){ .start = start, .end = end, .name = name, .record = record };
	return true;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* A run of one value: [.., end) has `value`. */
struct run {
	struct bytes b;
	u64 end;
	s32 value;
	bool first;
};

static struct run run_start(const struct gopclntab *t, u32 offset, u64 start)
{
	return (struct run){
		.b = part_at(t, &t->pcs, offset), .end = start, .value = -1, .first = true
	};
}

/* On to the run that holds addr. false: there is none, or no steps are left. */
static bool run_to(const struct gopclntab *t, struct run *r, u64 addr, size_t *steps)
{
	while (addr >= r->end) {
		const u8 *before = r->b.at;
		u64 change = bytes_uleb(&r->b), more;
		if ((!change && !r->first) || r->b.bad)
			return false;
		r->first = false;
		u32 by = (u32)(change & 1 ? ~(change >> 1) : change >> 1);
		r->value = (s32)((u32)r->value + by);
		more = bytes_uleb(&r->b);
		size_t used = (size_t)(r->b.at - before);
		if (r->b.bad || used > *steps ||
		    __builtin_mul_overflow(more, (u64)t->quantum, &more) ||
		    __builtin_add_overflow(r->end, more, &r->end))
			return false;
		*steps -= used;
	}
	return true;
}

static const char *file_of(const struct gopclntab *t, u32 unit, s32 value)
{
	if (value < 0)
		return NULL;
	u64 index = (u64)(u32)value + (t->is_old ? 0 : unit);
	struct bytes b = part_at(t, &t->units, index * 4);
	u32 at = bytes_u32(&b);
	return b.bad || at == UINT32_MAX ? NULL : string_at(&t->files, at);
}

/* Questions [0, nr) are all of one function. */
static void find_in(const struct gopclntab *t, const struct gopclntab_func *f, const u64 *at,
		    u32 nr, size_t *steps, struct dwinfo_answer *ret)
{
	struct bytes r = record_at(t, f->record);
	bytes_skip(&r, 4 * 4); /* name, size of arguments, deferreturn, stack */
	u32 pcfile = bytes_u32(&r), pcline = bytes_u32(&r);
	bytes_skip(&r, 4); /* count of other tables */
	u32 unit = bytes_u32(&r);
	if (r.bad)
		return;
	struct run files = run_start(t, pcfile, f->start), lines = run_start(t, pcline, f->start);
	for (u32 i = 0; i < nr; i++) {
		if (!run_to(t, &files, at[i], steps) || !run_to(t, &lines, at[i], steps))
			return;
		const char *file = file_of(t, unit, files.value);
		if (file && *file && lines.value > 0)
			ret[i] = (struct dwinfo_answer){ .func = f->name,
							 .file = file,
							 .line = (u32)lines.value };
	}
}

/* The last function that begins at or before addr; entries ascend. */
static u32 search(const struct gopclntab *t, u64 addr)
{
	size_t entry = t->wide ? 2 * (size_t)t->ptr_size : 8;
	u32 lo = 0, hi = t->nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		struct bytes b = part_at(t, &t->funcs, t->entries + mid * entry);
		if (read_entry(t, &b) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void gopclntab_find(const struct gopclntab *t, const u64 *at, u32 nr, struct dwinfo_answer *ret)
{
	size_t steps = 2 * t->all.size;
	memset(ret, 0, nr * sizeof(*ret));
	for (u32 i = 0; i < nr;) {
		struct gopclntab_func f;
		u32 index = search(t, at[i]), first = i++;
		if (!index || !gopclntab_func(t, index - 1, &f) || at[first] >= f.end)
			continue;
		while (i < nr && at[i] < f.end)
			i++;
		find_in(t, &f, at + first, i - first, &steps, ret + first);
	}
}
