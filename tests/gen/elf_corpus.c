/* Writes the seeds of fuzz/corpus/elf: elf_corpus FOLDER. Small files that reach every part of the reader. */
#include "gen/elfwrite.h"

#include <elf.h>
#include <stdio.h>

static void save(struct elfwrite *w, const char *folder, const char *name)
{
	char path[512];
	elfwrite_end(w);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	if (f) {
		fwrite(w->out.data, 1, w->out.len, f);
		fclose(f);
	}
	elfwrite_done(w);
}

/* Both tables, aliases, nested and unsized symbols. */
static void plain(const char *folder, bool is64, bool big, const char *name)
{
	struct elfwrite w;
	elfwrite_begin(&w, is64, big, ET_DYN, is64 ? EM_X86_64 : EM_ARM);
	u16 text = (u16)elfwrite_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					 0x1000, NULL, 0x100);
	elfwrite_load(&w, text);
	elfwrite_buildid(&w, "0123456789abcdefghij", 20);
	elfwrite_section(&w, ".gnu_debuglink", SHT_PROGBITS, 0, 0, "a.debug\0\1\2\3\4", 12);
	elfwrite_sym(&w, "_Z3foov", 0x1000, 0x40, STT_FUNC, STB_GLOBAL, text);
	elfwrite_sym(&w, "__foo", 0x1000, 0x40, STT_FUNC, STB_WEAK, text);
	elfwrite_sym(&w, "inner", 0x1010, 0x10, STT_FUNC, STB_LOCAL, text);
	elfwrite_sym(&w, "$x", 0x1010, 0, STT_NOTYPE, STB_LOCAL, text);
	elfwrite_sym(&w, "label", 0x1080, 0, STT_NOTYPE, STB_LOCAL, text);
	elfwrite_symtab(&w, SHT_SYMTAB);
	elfwrite_sym(&w, "dyn", 0x1000, 0x20, STT_GNU_IFUNC, STB_GLOBAL, text);
	elfwrite_symtab(&w, SHT_DYNSYM);
	save(&w, folder, name);
}

static void put_rela(const struct elfwrite *w, struct strbuf *to, u64 where, u32 sym, u32 type,
		     u64 addend)
{
	elfwrite_put(w, to, where, 8);
	elfwrite_put(w, to, (u64)sym << 32 | type, 8);
	elfwrite_put(w, to, addend, 8);
}

/* Stubs of both architectures with relocations, one of them of an indirect function. */
static void stubs(const char *folder, u16 machine, const char *name)
{
	static const u8 x86[] = "\xff\x35\0\0\0\0\xff\x25\0\0\0\0\x0f\x1f\x40\0" /* header */
				"\xff\x25\xea\x0f\0\0\x68\0\0\0\0\xe9\xe0\xff\xff\xff"
				"\xf3\x0f\x1e\xfa\x68\1\0\0\0\xf2\xe9\xe1\xff\xff\xff\x90";
	static const u8 arm[] = "\xf0\x7b\xbf\xa9\x10\0\0\xb0\x11\x02\x40\xf9\x10\x02\0\x91\x20\x02"
				"\x1f\xd6\x1f\x20\x03\xd5\x1f\x20\x03\xd5\x1f\x20\x03\xd5"
				"\x10\0\0\xb0\x11\x02\x40\xf9\x10\x02\0\x91\x20\x02\x1f\xd6"
				"\x5f\x24\x03\xd5\x10\0\0\xb0\x11\x06\x40\xf9\x10\x22\0\x91\x20\x02"
				"\x1f\xd6\x1f\x20\x03\xd5";
	struct elfwrite w;
	struct strbuf rela;
	strbuf_init(&rela);
	elfwrite_begin(&w, true, false, ET_DYN, machine);
	bool is_arm = machine == EM_AARCH64;
	u32 plt = elfwrite_section(&w, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000,
				   is_arm ? arm : x86, is_arm ? sizeof(arm) - 1 : sizeof(x86) - 1);
	elfwrite_load(&w, plt);
	put_rela(&w, &rela, 0x2000, 1, 7, 0);
	put_rela(&w, &rela, 0x2008, 0, 37, 0x1000);
	u32 r = elfwrite_section(&w, ".rela.plt", SHT_RELA, 0, 0, rela.data, rela.len);
	w.sections[r].entsize = 24;
	elfwrite_sym(&w, "puts", 0, 0, STT_FUNC, STB_GLOBAL, 0);
	elfwrite_sym(&w, "strlen", 0x1000, 8, STT_GNU_IFUNC, STB_GLOBAL, (u16)plt);
	elfwrite_symtab(&w, SHT_DYNSYM);
	save(&w, folder, name);
	strbuf_done(&rela);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 129;
	plain(argv[1], true, false, "le64");
	plain(argv[1], true, true, "be64");
	plain(argv[1], false, false, "le32");
	plain(argv[1], false, true, "be32");
	stubs(argv[1], EM_X86_64, "plt-x86_64");
	stubs(argv[1], EM_AARCH64, "plt-aarch64");
	return 0;
}
