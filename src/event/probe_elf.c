/*
 * Symbols and SystemTap notes of one file through libelf. Offsets come from the loadable segments: offset = vaddr - p_vaddr +
 * p_offset. Note layout (SystemTap's sys/sdt.h v3): pc, base, semaphore as words, then provider, name, arguments; addresses
 * shift by the distance between the recorded and the real address of .stapsdt.base (prelink).
 */
#include "event/probe_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_STAPSDT = 3 };

struct file {
	int fd;
	Elf *elf;
};

static int file_open(struct file *f, const char *path)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EOPNOTSUPP;
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (f->elf && elf_kind(f->elf) == ELF_K_ELF)
		return 0;
	if (f->elf)
		(void)elf_end(f->elf);
	(void)close(f->fd);
	return -ENOEXEC;
}

static void file_close(struct file *f)
{
	(void)elf_end(f->elf);
	(void)close(f->fd);
}

static bool to_offset(Elf *elf, u64 vaddr, u64 *offset)
{
	size_t nr = 0;
	if (elf_getphdrnum(elf, &nr) < 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr ph;
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && vaddr >= ph.p_vaddr &&
		    vaddr - ph.p_vaddr < ph.p_memsz) {
			*offset = vaddr - ph.p_vaddr + ph.p_offset;
			return true;
		}
	}
	return false;
}

static bool symbol_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const char *symbol, u64 *vaddr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	if (!data || !sh->sh_entsize)
		return false;
	size_t nr = data->d_size / sh->sh_entsize;
	for (size_t i = 0; i < nr; i++) {
		GElf_Sym sym;
		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || !sym.st_value)
			continue;
		int type = GELF_ST_TYPE(sym.st_info);
		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (name && !strcmp(name, symbol)) {
			*vaddr = sym.st_value;
			return true;
		}
	}
	return false;
}

int probe_elf_symbol(const char *path, const char *symbol, u64 *offset)
{
	struct file f;
	int err = file_open(&f, path);
	if (err < 0)
		return err;
	static const u32 types[] = { SHT_SYMTAB, SHT_DYNSYM };
	u64 vaddr = 0;
	bool found = false;
	for (size_t t = 0; t < ARRAY_SIZE(types) && !found; t++)
		for (Elf_Scn *scn = NULL; !found && (scn = elf_nextscn(f.elf, scn));) {
			GElf_Shdr sh;
			if (gelf_getshdr(scn, &sh) && sh.sh_type == types[t])
				found = symbol_in(f.elf, scn, &sh, symbol, &vaddr);
		}
	err = found && to_offset(f.elf, vaddr, offset) ? 0 : -ENOENT;
	file_close(&f);
	return err;
}

static bool section_by_name(Elf *elf, const char *want, GElf_Shdr *sh, Elf_Scn **ret)
{
	size_t strings;
	if (elf_getshdrstrndx(elf, &strings) < 0)
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		const char *name = gelf_getshdr(scn, sh) ? elf_strptr(elf, strings, sh->sh_name) : NULL;
		if (name && !strcmp(name, want)) {
			*ret = scn;
			return true;
		}
	}
	return false;
}

static u64 word_at(const char *p, size_t word)
{
	u64 v = 0;
	memcpy(&v, p, word); /* both machines are little-endian */
	return v;
}

int probe_elf_each_usdt(const char *path, int (*fn)(void *, const char *, const char *, u64, u64), void *ctx)
{
	struct file f;
	int err = file_open(&f, path);
	if (err < 0)
		return err;
	GElf_Shdr sh, base_sh;
	Elf_Scn *scn, *base_scn;
	bool have_base = section_by_name(f.elf, ".stapsdt.base", &base_sh, &base_scn);
	Elf_Data *data = section_by_name(f.elf, ".note.stapsdt", &sh, &scn) ? elf_getdata(scn, NULL) : NULL;
	size_t word = gelf_getclass(f.elf) == ELFCLASS32 ? 4 : 8;
	GElf_Nhdr nh;
	size_t name_at, desc_at;
	for (size_t at = 0; data && err >= 0 && (at = gelf_getnote(data, at, &nh, &name_at, &desc_at)) > 0;) {
		const char *desc = (const char *)data->d_buf + desc_at;
		if (nh.n_type != NOTE_STAPSDT || nh.n_descsz < 3 * word + 3 || desc[nh.n_descsz - 1])
			continue;
		u64 pc = word_at(desc, word), base = word_at(desc + word, word), sem = word_at(desc + 2 * word, word);
		if (have_base) {
			pc += base_sh.sh_addr - base;
			if (sem)
				sem += base_sh.sh_addr - base;
		}
		const char *provider = desc + 3 * word, *end = desc + nh.n_descsz;
		const char *name = provider + strlen(provider) + 1;
		u64 offset, sem_offset = 0;
		if (name >= end || !to_offset(f.elf, pc, &offset) || (sem && !to_offset(f.elf, sem, &sem_offset)))
			continue;
		err = fn(ctx, provider, name, offset, sem_offset);
	}
	file_close(&f);
	return min(err, 0);
}

struct usdt_wanted {
	const char *provider, *name;
	u64 offset, semaphore;
	bool found;
};

static int usdt_match(void *ctx, const char *provider, const char *name, u64 offset, u64 semaphore)
{
	struct usdt_wanted *w = ctx;
	if (w->found || strcmp(name, w->name) || (w->provider && strcmp(provider, w->provider)))
		return 0;
	w->offset = offset;
	w->semaphore = semaphore;
	w->found = true;
	return 0;
}

int probe_elf_usdt(const char *path, const char *provider, const char *name, u64 *offset, u64 *semaphore)
{
	struct usdt_wanted w = { .provider = provider, .name = name };
	int err = probe_elf_each_usdt(path, usdt_match, &w);
	if (err < 0)
		return err;
	if (!w.found)
		return -ENOENT;
	*offset = w.offset;
	*semaphore = w.semaphore;
	return 0;
}

int probe_elf_build_id(const char *path, char *hex)
{
	struct file f;
	int err = file_open(&f, path);
	if (err < 0)
		return err;
	err = -ENOENT;
	for (Elf_Scn *scn = NULL; err < 0 && (scn = elf_nextscn(f.elf, scn));) {
		GElf_Shdr sh;
		Elf_Data *data = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE ? elf_getdata(scn, NULL) : NULL;
		GElf_Nhdr nh;
		size_t name_at, desc_at;
		for (size_t at = 0; data && (at = gelf_getnote(data, at, &nh, &name_at, &desc_at)) > 0;) {
			const u8 *id = (const u8 *)data->d_buf + desc_at;
			if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 || !nh.n_descsz || nh.n_descsz > 20 ||
			    memcmp((const char *)data->d_buf + name_at, "GNU", 4))
				continue;
			for (u32 i = 0; i < nh.n_descsz; i++) {
				hex[2 * i] = "0123456789abcdef"[id[i] >> 4];
				hex[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
			}
			hex[2 * nh.n_descsz] = '\0';
			err = 0;
			break;
		}
	}
	file_close(&f);
	return err;
}
