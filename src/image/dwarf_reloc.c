/*
 * Object files (ELF type REL; kernel modules are such): what their sections say of each other, and of code, is left to the linker. Here
 * it is filled in, with the place of code in the file for its address; so it agrees with what elfimg_funcs_next() says of such files.
 */
#include "image/dwarf_impl.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Bytes that a relocation of debugging information writes; 0: none of those that compilers use there. */
static unsigned width_of(u16 machine, u32 type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_64			     ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4
								     : 0;
	if (machine == EM_AARCH64)
		return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	return 0;
}

static u64 address_of(const struct elfimg *e, const struct elfimg_symtab *syms, u32 index)
{
	struct elfimg_sym s;
	struct elfimg_section sec;
	elfimg_sym(e, syms, index, &s);
	bool code = s.shndx && elfimg_section(e, s.shndx, &sec) && sec.flags & SHF_ALLOC;
	return s.value + (code ? sec.offset : 0);
}

static void write_value(const struct elfimg *e, u8 *to, unsigned width, u64 value)
{
	u64 wide = e->swap ? __builtin_bswap64(value) : value;
	u32 narrow = e->swap ? __builtin_bswap32((u32)value) : (u32)value;
	memcpy(to, width == 8 ? (const void *)&wide : &narrow, width);
}

static int apply(struct dw_file *f, const struct elfimg_section *list, struct dw_bytes *d)
{
	const u8 *data = elfimg_section_data(f->e, list);
	struct elfimg_symtab syms;
	if (!data || !elfimg_symtab(f->e, SHT_SYMTAB, &syms))
		return -EBADMSG;
	struct bytes b = bytes_of(data, list->size, f->e->swap);
	while (bytes_left(&b) >= sizeof(Elf64_Rela)) {
		u64 at = bytes_u64(&b), info = bytes_u64(&b), addend = bytes_u64(&b);
		unsigned width = width_of(f->e->machine, (u32)info);
		if (!dw_step(f, 1) || at > d->size || d->size - at < width)
			return -EBADMSG;
		if (width)
			write_value(f->e, d->heap + at, width,
				    address_of(f->e, &syms, (u32)(info >> 32)) + addend);
	}
	return 0;
}

int dw_relocate(struct dw_file *f, u32 section, struct dw_bytes *d)
{
	struct elfimg_section list;
	for (u32 i = 1; f->e->is64 && elfimg_section(f->e, i, &list); i++) {
		if (list.type != SHT_RELA || list.info != section)
			continue;
		if (!d->heap) {
			d->heap = malloc(d->size);
			if (!d->heap)
				return -ENOMEM;
			memcpy(d->heap, d->data, d->size);
			d->data = d->heap;
		}
		int err = apply(f, &list, d);
		if (err)
			return err;
	}
	return 0;
}
