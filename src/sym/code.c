#include "sym/code.h"
#include "image/demangle.h"
#include "image/dwarf_info.h"
#include "image/kimage.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* A function without a size is cut here, if nothing follows it before. */
enum { SIZELESS_MAX = 4096, CODE_MAX = 16 << 20 };

static void find_section(struct code *c)
{
	struct elfimg_section s;
	for (u32 i = 1; elfimg_section(&c->dso.image, i, &s); i++)
		if (s.flags & SHF_EXECINSTR && c->addr - s.addr < s.size)
			c->section = s.name;
}

/* Where a label ends: at the next symbol. */
static u64 end_of_label(struct code *c, u64 start)
{
	struct symtab t;
	u64 base, end = start + SIZELESS_MAX;
	if (dso_table(&c->dso, &t))
		return end;
	const struct symtab_sym *s = symtab_find(&t, start, &base);
	if (s && s->end > start && s->end < end)
		end = s->end;
	symtab_done(&t);
	return end;
}

static int take_bytes(struct code *c, u64 start, u64 end)
{
	const struct elfimg *e = &c->dso.image;
	if (start >= e->size || end <= start || !elfimg_vaddr_of(e, start, &c->addr))
		return -ENODATA;
	end = min(end, (u64)e->size);
	c->bytes = e->data + start;
	c->size = min((size_t)(end - start), (size_t)CODE_MAX);
	c->machine = e->machine;
	c->is64 = e->is64;
	find_section(c);
	return 0;
}

static int open_file(struct code *c, const struct name_func *f)
{
	int err = dso_open(&c->dso, &c->where, c->info);
	if (err)
		return err;
	c->dso.bounds = c->cfg->bounds;
	c->offset = f->start;
	c->debug = dso_debug(&c->dso, &c->where, c->info);
	return take_bytes(c, f->start, f->end > f->start ? f->end : end_of_label(c, f->start));
}

/*
 * An image without symbols (out of a bzImage): where the function lies after the kernel's first address, which the recording says of
 * the memory, and the section .text (or the first segment) of the file.
 */
static int take_by_address(struct code *c, const struct name_func *f)
{
	const struct elfimg *e = &c->dso.image;
	struct elfimg_section text;
	u64 at = f->start - c->info->reloc, start;
	if (!c->info->reloc || !e->nr_loads || f->start < c->info->reloc || f->end <= f->start)
		return -ENODATA;
	u64 first = elfimg_section_by_name(e, ".text", &text) ? text.addr : e->loads[0].vaddr;
	if (!elfimg_offset_of(e, first + at, &start))
		return -ENODATA;
	return take_bytes(c, start, start + (f->end - f->start));
}

/* The kernel was moved when it was loaded: the function is found by its name. */
static int open_vmlinux(struct code *c, const struct name_func *f)
{
	if (!c->cfg->vmlinux)
		return -ENOENT;
	int err = 0;
	if (c->cfg->vmlinux_image) {
		c->dso.image = *c->cfg->vmlinux_image;
		c->dso.image.mapped = 0; /* borrowed */
		c->dso.image.heap = NULL;
	} else {
		err = kimage_open(&c->dso.image, c->cfg->vmlinux);
	}
	struct buildid got, id = buildid_make(c->info->build_id, c->info->build_id_size);
	struct elfimg_funcs it;
	struct elfimg_func found;
	if (err)
		return err;
	if (id.size && !buildid_of_image(&c->dso.image, &got) && !buildid_equal(&got, &id))
		return -ESTALE;
	c->offset = f->start;
	if (!elfimg_funcs_init(&it, &c->dso.image, &c->dso.image, SHT_SYMTAB))
		return take_by_address(c, f);
	c->debug = dwinfo_has(&c->dso.image) ? &c->dso.image : NULL;
	while (elfimg_funcs_next(&it, &found))
		if (!strcmp(found.name, f->name))
			return take_bytes(c, found.start,
					  found.start +
						  (found.size ? found.size : f->end - f->start));
	return -ENODATA;
}

/*
 * The lines of a module, which has no addresses before it is loaded: a function is found by its name in the module's file, or in the
 * file that was stripped from it.
 */
static void attach_module(struct code *c, const struct name_func *f)
{
	struct elfimg *e = &c->dso.lines;
	struct buildid id = buildid_make(c->info->build_id, c->info->build_id_size);
	struct elfimg_funcs it;
	struct elfimg_func found;
	if (dso_open_image(e, &c->where, c->info))
		*e = (struct elfimg){ 0 };
	if (e->data && !dwinfo_has(e))
		elfimg_close(e);
	if (!e->data && (!id.size || debugfile_open_id(&c->where, &id, e) || !dwinfo_has(e)))
		return;
	if (!elfimg_funcs_init(&it, e, e, SHT_SYMTAB))
		return;
	while (elfimg_funcs_next(&it, &found))
		if (!strcmp(found.name, f->name)) {
			c->debug = e;
			c->to_lines = found.start - c->addr;
			return;
		}
}

static void code_init(struct code *c, const struct sym_config *cfg, const struct image_info *info)
{
	*c = (struct code){
		.cfg = cfg,
		.info = info,
		.where = { .fetch = cfg->fetch,
			   .opener = cfg->opener,
			   .places = cfg->places,
			   .root = cfg->symfs,
			   .dirs = cfg->debug_dirs,
			   .cache = cfg->buildid_dir },
	};
}

int code_open(struct code *c, const struct sym_config *cfg, const struct image_info *info,
	      const struct name_func *f)
{
	code_init(c, cfg, info);
	int err = info->kind == IMAGE_KIND_FILE || info->kind == IMAGE_KIND_VDSO ? open_file(c, f)
		  : info->kind == IMAGE_KIND_KERNEL ? open_vmlinux(c, f)
						    : -ENOENT;
	if (err)
		code_close(c);
	return err;
}

void code_open_memory(struct code *c, const struct sym_config *cfg, const struct image_info *info,
		      const struct name_func *f, u8 *bytes, size_t size, u64 addr, u16 machine)
{
	code_init(c, cfg, info);
	c->heap = bytes;
	c->bytes = bytes;
	c->size = size;
	c->addr = addr;
	c->offset = f->start;
	c->machine = machine;
	c->is64 = true;
	if (info->kind == IMAGE_KIND_MODULE)
		attach_module(c, f);
}

void code_close(struct code *c)
{
	dso_close(&c->dso);
	free(c->heap);
	*c = (struct code){ 0 };
}

int code_lines(struct code *c, const u64 *addrs, u32 nr, struct arena *arena,
	       struct srcline_spot *ret)
{
	memset(ret, 0, 2 * (size_t)nr * sizeof(*ret));
	const struct elfimg *go = c->dso.image.data ? &c->dso.image : NULL;
	if (!c->debug && !go)
		return 0;
	struct srcline_opts o = { .debug = c->debug,
				  .go = go,
				  .where = &c->where,
				  .path = c->info->path,
				  .demangle = c->cfg->demangle,
				  .want = WANT_LINE | WANT_INLINE,
				  .arena = arena };
	struct srcline_told told;
	_cleanup_free_ u64 *moved = malloc(((size_t)nr + 1) * sizeof(*moved));
	if (!moved)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++)
		moved[i] = addrs[i] + c->to_lines;
	return srcline_find(&o, moved, nr, ret, &told);
}

int code_names(struct code *c, const u64 *addrs, u32 nr, struct arena *arena, struct code_name *ret)
{
	memset(ret, 0, nr * sizeof(*ret));
	if (!c->dso.image.data || !nr)
		return 0;
	_cleanup_free_ u64 *offsets = calloc(nr, sizeof(*offsets));
	_cleanup_free_ u32 *slots = calloc(nr, sizeof(*slots));
	_cleanup_free_ struct symtab_sym *syms = calloc(nr, sizeof(*syms));
	if (!offsets || !slots || !syms)
		return -ENOMEM;
	u32 asked = 0;
	for (u32 i = 0; i < nr; i++)
		if (elfimg_offset_of(&c->dso.image, addrs[i], &offsets[asked]) &&
		    (!asked || offsets[asked] > offsets[asked - 1]))
			slots[asked++] = i;
	int err = asked ? dso_find(&c->dso, offsets, asked, syms) : 0;
	for (u32 i = 0; i < asked && !err; i++) {
		if (!syms[i].name || !syms[i].name[0])
			continue;
		char room[SYMTAB_NAME_ROOM];
		const char *name = symtab_name(&syms[i], room);
		_cleanup_free_ char *pretty = demangle(name, c->cfg->demangle);
		if (pretty)
			name = pretty;
		size_t len = min(strlen(name), (size_t)1024);
		bool plt = syms[i].flags & SYMTAB_PLT;
		char *kept = arena_alloc(arena, len + 5);
		if (!kept)
			return -ENOMEM;
		memcpy(kept, name, len);
		memcpy(kept + len, plt ? "@plt" : "", plt ? 5 : 1);
		ret[slots[i]] =
			(struct code_name){ kept, addrs[slots[i]] - (offsets[i] - syms[i].start) };
	}
	return err;
}

/* The first of the ascending addresses that is not below. */
static u32 lower_bound(const u64 *addrs, u32 nr, u64 at)
{
	u32 lo = 0, hi = nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (addrs[mid] < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A file has few thousand symbols, and a function refers to few of them: one walk for all. */
static int name_data(struct code *c, const struct elfimg *e, u32 type, const u64 *addrs, u32 nr,
		     struct arena *arena, struct code_name *ret)
{
	struct elfimg_funcs it;
	struct elfimg_func f;
	if (!e->data || !elfimg_funcs_init(&it, e, &c->dso.image, type))
		return 0;
	it.addresses = it.objects = true;
	while (elfimg_funcs_next(&it, &f)) {
		for (u32 i = lower_bound(addrs, nr, f.start);
		     i < nr && addrs[i] - f.start < max(f.size, (u64)1); i++) {
			if (ret[i].name || !f.name[0])
				continue;
			_cleanup_free_ char *pretty = demangle(f.name, c->cfg->demangle);
			const char *name = pretty ? pretty : f.name;
			ret[i].name = arena_strndup(arena, name, min(strlen(name), (size_t)1024));
			ret[i].start = f.start;
			if (!ret[i].name)
				return -ENOMEM;
		}
	}
	return 0;
}

int code_data_names(struct code *c, const u64 *addrs, u32 nr, struct arena *arena,
		    struct code_name *ret)
{
	static const u32 tables[] = { SHT_SYMTAB, SHT_DYNSYM };
	const struct elfimg *files[] = { &c->dso.image, &c->dso.debug };
	int err = 0;
	memset(ret, 0, nr * sizeof(*ret));
	for (size_t f = 0; f < ARRAY_SIZE(files) && nr; f++)
		for (size_t t = 0; t < ARRAY_SIZE(tables) && !err; t++)
			err = name_data(c, files[f], tables[t], addrs, nr, arena, ret);
	return err;
}
