/*
 * ELF by hand: the gABI's tables, read in place. A walk costs what libelf's costs (about
 * 0.5 ms for libLLVM's 36,000 functions); by hand, every bound is checked in one place and threads share nothing.
 */
#include "image/elf.h"
#include "base/foreign.h"
#include "base/arena.h"
#include "base/budget.h"
#include "base/bytes.h"
#include "base/guard.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static struct bytes elfimg_at(const struct elfimg *e, u64 offset, u64 len)
{
	if (offset > e->size || len > e->size - offset)
		return (struct bytes){ .at = e->data, .end = e->data, .swap = e->swap, .bad = true };
	return bytes_of(e->data + offset, len, e->swap);
}

static u64 elfimg_word(const struct elfimg *e, struct bytes *b)
{
	return e->is64 ? bytes_u64(b) : bytes_u32(b);
}

/* A string table ends with a NUL; one that does not is cut at its last NUL, so that every name in it is terminated. */
static size_t terminated_size(const char *strs, size_t size)
{
	const char *nul = size ? memrchr(strs, 0, size) : NULL;
	return nul ? (size_t)(nul - strs) + 1 : 0;
}

static void read_loads(struct elfimg *e)
{
	struct elfimg_segment s;
	for (u32 i = 0; e->nr_loads < ELFIMG_LOADS_MAX && elfimg_segment(e, i, &s); i++) {
		if (s.type != PT_LOAD || !s.filesz)
			continue;
		u64 end;
		if (__builtin_add_overflow(s.vaddr, s.filesz, &end) ||
		    __builtin_add_overflow(s.offset, s.filesz, &end))
			continue;
		e->loads[e->nr_loads++] = (struct elfimg_load){ s.vaddr, s.offset, s.filesz };
	}
}

static void read_section_names(struct elfimg *e, u32 index)
{
	struct elfimg_section s;
	if (!elfimg_section(e, index, &s))
		return;
	const u8 *data = elfimg_section_data(e, &s);
	if (!data)
		return;
	e->section_names = (const char *)data;
	e->section_names_size = terminated_size(e->section_names, s.size);
}

static int read_header(struct elfimg *e)
{
	if (e->size < EI_NIDENT || memcmp(e->data, ELFMAG, SELFMAG))
		return -ENOEXEC;
	u8 class = e->data[EI_CLASS], order = e->data[EI_DATA];
	if ((class != ELFCLASS32 && class != ELFCLASS64) ||
	    (order != ELFDATA2LSB && order != ELFDATA2MSB))
		return -ENOEXEC;
	e->is64 = class == ELFCLASS64;
	e->swap = order != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);

	struct bytes b = elfimg_at(e, EI_NIDENT, e->size - EI_NIDENT);
	e->type = bytes_u16(&b);
	e->machine = bytes_u16(&b);
	bytes_skip(&b, 4);
	(void)elfimg_word(e, &b); /* entry */
	e->phoff = elfimg_word(e, &b);
	e->shoff = elfimg_word(e, &b);
	bytes_skip(&b, 6); /* flags, ehsize */
	e->phentsize = bytes_u16(&b);
	e->nr_segments = bytes_u16(&b);
	e->shentsize = bytes_u16(&b);
	e->nr_sections = bytes_u16(&b);
	u32 names = bytes_u16(&b);
	if (b.bad)
		return -ENOEXEC;
	if (e->phentsize < (e->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		e->nr_segments = 0;
	if (e->shentsize < (e->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) || !e->shoff) {
		e->nr_sections = 0;
	} else if (!e->nr_sections || names == SHN_XINDEX) {
		/* More than 65,279 sections: the counts moved into section 0. */
		u32 told = e->nr_sections;
		struct elfimg_section zero;
		e->nr_sections = 1;
		bool have = elfimg_section(e, 0, &zero);
		e->nr_sections = told ? told : have ? (u32)min(zero.size, (u64)UINT32_MAX) : 0;
		if (names == SHN_XINDEX)
			names = have ? zero.link : 0;
	}
	read_loads(e);
	if (names)
		read_section_names(e, names);
	return 0;
}

int elfimg_open_memory(struct elfimg *e, const void *data, size_t size)
{
	*e = (struct elfimg){ .data = data, .size = size, .real = size };
	int err = read_header(e);
	if (err)
		*e = (struct elfimg){ 0 };
	return err;
}

int elfimg_open_heap(struct elfimg *e, u8 *data, size_t size)
{
	int err = elfimg_open_memory(e, data, size);
	if (err)
		free(data);
	else
		e->heap = data;
	return err;
}

int elfimg_open(struct elfimg *e, const char *path, struct opener *opener)
{
	_cleanup_close_ int fd = opener_open_path(opener, path, 0);
	if (fd < 0)
		return fd == -EINVAL || fd == -EISDIR ? -ENOEXEC : fd;
	int err = elfimg_open_fd(e, fd);
	if (!err)
		elfimg_identify(e, fd);
	return err;
}

static u64 ns_of(struct timespec t)
{
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

void elfimg_identify(struct elfimg *e, int fd)
{
	struct stat st;
	if (fstat(fd, &st) || !st.st_nlink || !foreign_is_kernels(fd))
		return;
	e->identity = (struct elfimg_identity){ .dev = st.st_dev,
						.ino = st.st_ino,
						.size = (u64)st.st_size,
						.modified_ns = ns_of(st.st_mtim),
						.changed_ns = ns_of(st.st_ctim),
						.owner = st.st_uid };
}

/* Tables in a hole of the file are none: nobody should walk through terabytes of zeros. */
static void know_real_size(struct elfimg *e, const struct stat *st)
{
	e->real = min(budget_real_size(st), (u64)e->size);
	if (e->nr_sections)
		e->nr_sections = (u32)min((u64)e->nr_sections, e->real / e->shentsize + 1);
}

int elfimg_open_fd(struct elfimg *e, int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < EI_NIDENT)
		return -ENOEXEC;
	size_t size = (size_t)st.st_size;
	const void *data;
	int err = guard_map(fd, size, false, NULL, &data);
	if (err)
		return err;
	err = elfimg_open_memory(e, data, size);
	if (err)
		guard_unmap(data, size);
	else
		e->mapped = size;
	if (!err)
		know_real_size(e, &st);
	return err;
}

bool elfimg_is_cut(const struct elfimg *e)
{
	return e->mapped && guard_is_cut(e->data, e->mapped);
}

bool elfimg_lacks_end(const struct elfimg *e, u64 *want)
{
	u64 end;
	if (!e->shoff || __builtin_add_overflow(e->shoff, e->shentsize, &end) || end <= e->size)
		return false;
	*want = end;
	return true;
}

void elfimg_close(struct elfimg *e)
{
	if (e->mapped)
		guard_unmap(e->data, e->mapped);
	free(e->heap);
	*e = (struct elfimg){ 0 };
}

bool elfimg_section(const struct elfimg *e, u32 index, struct elfimg_section *ret)
{
	u64 at;
	if (index >= e->nr_sections ||
	    __builtin_add_overflow(e->shoff, (u64)index * e->shentsize, &at))
		return false;
	struct bytes b = elfimg_at(e, at, e->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
	struct elfimg_section s;
	u32 name = bytes_u32(&b);
	s.type = bytes_u32(&b);
	s.flags = elfimg_word(e, &b);
	s.addr = elfimg_word(e, &b);
	s.offset = elfimg_word(e, &b);
	s.size = elfimg_word(e, &b);
	s.link = bytes_u32(&b);
	s.info = bytes_u32(&b);
	s.align = elfimg_word(e, &b);
	s.entsize = elfimg_word(e, &b);
	if (b.bad)
		return false;
	s.name = name < e->section_names_size ? e->section_names + name : "";
	*ret = s;
	return true;
}

bool elfimg_section_by_name(const struct elfimg *e, const char *name, struct elfimg_section *ret)
{
	struct elfimg_section s;
	for (u32 i = 1; elfimg_section(e, i, &s); i++)
		if (!strcmp(s.name, name)) {
			*ret = s;
			return true;
		}
	return false;
}

static bool elfimg_section_by_type(const struct elfimg *e, u32 type, struct elfimg_section *ret)
{
	struct elfimg_section s;
	for (u32 i = 1; elfimg_section(e, i, &s); i++)
		if (s.type == type) {
			*ret = s;
			return true;
		}
	return false;
}

const u8 *elfimg_section_data(const struct elfimg *e, const struct elfimg_section *s)
{
	if (s->type == SHT_NOBITS || s->type == SHT_NULL || s->size > e->real)
		return NULL;
	struct bytes b = elfimg_at(e, s->offset, s->size);
	return b.bad ? NULL : b.at;
}

static bool expand_zlib(u8 *to, size_t size, const u8 *from, size_t from_size)
{
	uLongf got = size;
	return uncompress(to, &got, from, from_size) == Z_OK && got == size;
}

static bool expand_zstd(u8 *to, size_t size, const u8 *from, size_t from_size)
{
	size_t got = ZSTD_decompress(to, size, from, from_size);
	return !ZSTD_isError(got) && got == size;
}

int elfimg_section_expand(const struct elfimg *e, const struct elfimg_section *s, size_t max,
			  const u8 **data, size_t *size, u8 **heap)
{
	enum { CHDR_ZLIB = 1, CHDR_ZSTD = 2 };
	const u8 *raw = elfimg_section_data(e, s);
	if (!raw)
		return -ENOENT;
	struct bytes b = bytes_of(raw, s->size, e->swap);
	u64 full;
	u32 how = CHDR_ZLIB;
	if (s->flags & SHF_COMPRESSED) {
		how = bytes_u32(&b);
		if (e->is64)
			bytes_skip(&b, 4);
		full = elfimg_word(e, &b);
		(void)elfimg_word(e, &b); /* alignment */
	} else if (!strncmp(s->name, ".zdebug_", 8) && s->size >= 12 && !memcmp(raw, "ZLIB", 4)) {
		bytes_skip(&b, 4);
		b.swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__; /* big-endian, always */
		full = bytes_u64(&b);
	} else {
		*data = raw;
		*size = s->size;
		*heap = NULL;
		return 0;
	}
	/* zlib makes at most 1,032 bytes of one; more is no honest size. */
	if (b.bad || !full || full / 1100 > bytes_left(&b) + 1)
		return -EBADMSG;
	if (full > max)
		return -E2BIG;
	u8 *to = big_alloc(full);
	if (!to)
		return -ENOMEM;
	bool good = how == CHDR_ZLIB   ? expand_zlib(to, full, b.at, bytes_left(&b))
		    : how == CHDR_ZSTD ? expand_zstd(to, full, b.at, bytes_left(&b))
				       : false;
	if (!good) {
		free(to);
		return -EBADMSG;
	}
	*data = *heap = to;
	*size = full;
	return 0;
}

bool elfimg_segment(const struct elfimg *e, u32 index, struct elfimg_segment *ret)
{
	u64 at;
	if (index >= e->nr_segments ||
	    __builtin_add_overflow(e->phoff, (u64)index * e->phentsize, &at))
		return false;
	struct bytes b = elfimg_at(e, at, e->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	struct elfimg_segment s;
	s.type = bytes_u32(&b);
	if (e->is64)
		s.flags = bytes_u32(&b);
	s.offset = elfimg_word(e, &b);
	s.vaddr = elfimg_word(e, &b);
	(void)elfimg_word(e, &b); /* paddr */
	s.filesz = elfimg_word(e, &b);
	s.memsz = elfimg_word(e, &b);
	if (!e->is64)
		s.flags = bytes_u32(&b);
	s.align = elfimg_word(e, &b);
	if (b.bad)
		return false;
	*ret = s;
	return true;
}

bool elfimg_offset_of(const struct elfimg *e, u64 vaddr, u64 *offset)
{
	for (u32 i = 0; i < e->nr_loads; i++) {
		const struct elfimg_load *l = &e->loads[i];
		if (vaddr - l->vaddr < l->size) {
			*offset = vaddr - l->vaddr + l->offset;
			return true;
		}
	}
	return false;
}

bool elfimg_vaddr_of(const struct elfimg *e, u64 offset, u64 *vaddr)
{
	for (u32 i = 0; i < e->nr_loads; i++) {
		const struct elfimg_load *l = &e->loads[i];
		if (offset - l->offset < l->size) {
			*vaddr = offset - l->offset + l->vaddr;
			return true;
		}
	}
	return false;
}

bool elfimg_symtab(const struct elfimg *e, u32 type, struct elfimg_symtab *ret)
{
	struct elfimg_section sec, strs;
	if (!elfimg_section_by_type(e, type, &sec) || !elfimg_section(e, sec.link, &strs))
		return false;
	struct elfimg_symtab t = { .entsize = e->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym) };
	t.syms = elfimg_section_data(e, &sec);
	t.strs = (const char *)elfimg_section_data(e, &strs);
	if (!t.syms || !t.strs || (sec.entsize && sec.entsize != t.entsize))
		return false;
	t.nr = sec.size / t.entsize;
	t.strs_size = terminated_size(t.strs, strs.size);
	if (t.nr < 2 || !t.strs_size || t.strs[0])
		return false;
	*ret = t;
	return true;
}

void elfimg_sym(const struct elfimg *e, const struct elfimg_symtab *t, size_t index,
		struct elfimg_sym *ret)
{
	*ret = (struct elfimg_sym){ .name = "" };
	if (index >= t->nr)
		return;
	struct bytes b = bytes_of(t->syms + index * t->entsize, t->entsize, e->swap);
	u32 name = bytes_u32(&b);
	u8 info, other;
	if (e->is64) {
		info = bytes_u8(&b);
		other = bytes_u8(&b);
		ret->shndx = bytes_u16(&b);
		ret->value = bytes_u64(&b);
		ret->size = bytes_u64(&b);
	} else {
		ret->value = bytes_u32(&b);
		ret->size = bytes_u32(&b);
		info = bytes_u8(&b);
		other = bytes_u8(&b);
		ret->shndx = bytes_u16(&b);
	}
	ret->type = info & 0xf;
	ret->bind = info >> 4;
	ret->visibility = other & 3;
	ret->name = t->strs + (name < t->strs_size ? name : 0);
}

bool elfimg_funcs_init(struct elfimg_funcs *it, const struct elfimg *e,
		       const struct elfimg *runtime, u32 type)
{
	*it = (struct elfimg_funcs){ .e = e, .runtime = runtime };
	return elfimg_symtab(e, type, &it->tab);
}

/* Marks that say where code and data change inside a function on ARM: $x, $d, $a, $t, perhaps with a suffix. */
static bool is_mapping_symbol(const struct elfimg *e, const char *name)
{
	return (e->machine == EM_AARCH64 || e->machine == EM_ARM) && name[0] == '$' && name[1] &&
	       strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

/* Is it code, as far as the symbol alone tells? */
static bool sym_names_code(const struct elfimg_funcs *it, const struct elfimg_sym *s)
{
	if (s->shndx == SHN_UNDEF || s->shndx == SHN_ABS || s->shndx == SHN_COMMON)
		return false;
	if (s->type == STT_FUNC || s->type == STT_GNU_IFUNC)
		return true;
	if (s->type == STT_OBJECT)
		return it->objects && s->size;
	return s->type == STT_NOTYPE && s->visibility != STV_HIDDEN && s->visibility != STV_INTERNAL;
}

static bool func_place(const struct elfimg_funcs *it, const struct elfimg_sym *s,
		       const struct elfimg_section *sec, u64 *start)
{
	u64 addr = s->value;
	if (it->e->machine == EM_ARM && s->type == STT_FUNC)
		addr &= ~(u64)1; /* Thumb */
	if (it->e->type == ET_REL) {
		*start = sec->offset + addr;
		return true;
	}
	*start = addr;
	return it->addresses || elfimg_offset_of(it->runtime, addr, start);
}

/* Steps over what is plainly no code without decoding it. */
static void skip_data(struct elfimg_funcs *it)
{
	const struct elfimg_symtab *t = &it->tab;
	size_t info = it->e->is64 ? offsetof(Elf64_Sym, st_info) : offsetof(Elf32_Sym, st_info);
	enum { CODE = 1 << STT_NOTYPE | 1 << STT_FUNC | 1 << STT_GNU_IFUNC };
	u32 wanted = CODE | (u32)it->objects << STT_OBJECT;
	while (it->at < t->nr && !(wanted >> (t->syms[it->at * t->entsize + info] & 0xf) & 1))
		it->at++;
}

bool elfimg_funcs_next(struct elfimg_funcs *it, struct elfimg_func *ret)
{
	const struct elfimg *e = it->e;
	for (skip_data(it); it->at < it->tab.nr; skip_data(it)) {
		struct elfimg_sym s;
		struct elfimg_section sec;
		elfimg_sym(e, &it->tab, it->at++, &s);
		/* Names are not looked at (but on ARM): the string table stays out of the cache. */
		if (!sym_names_code(it, &s) || s.name == it->tab.strs ||
		    is_mapping_symbol(e, s.name))
			continue;
		/* The section is looked at only where the symbol says too little. */
		bool look = !s.size || s.type == STT_NOTYPE || e->type == ET_REL;
		if (look && (!elfimg_section(e, s.shndx, &sec) ||
			     (!(sec.flags & SHF_EXECINSTR) && s.type != STT_OBJECT)))
			continue;
		u64 start;
		if (!func_place(it, &s, &sec, &start))
			continue;
		u64 end, limit = UINT64_MAX;
		if (__builtin_add_overflow(start, s.size, &end))
			continue;
		if (!s.size && e->type != ET_REL && s.value - sec.addr < sec.size)
			limit = start + (sec.size - (s.value - sec.addr));
		*ret = (struct elfimg_func){ .start = start,
					     .size = s.size,
					     .limit = limit,
					     .name = s.name,
					     .bind = s.bind,
					     .type = s.type };
		return true;
	}
	return false;
}
