/* Writes the corpus of fuzz_cfi into a folder: small programs with .eh_frame and .debug_frame of both machines, and a file of the cache. */
#include "gen/cfiwrite.h"
#include "gen/elfwrite.h"
#include "image/cfi.h"

#include <elf.h>
#include <stdio.h>

static void write_file(const char *folder, const char *name, const void *data, size_t size)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size)
		perror(path);
	if (f)
		fclose(f);
}

static void write_program(const char *folder, const char *name, bool arm, bool is_eh)
{
	static const u8 plain[] = { 0x41, 0x0e, 16,   0x86, 2,	  0x43, 0x0d, 6,
				    0x0a, 0x50, 0xc6, 0x0c, 0x07, 8,	0x0b };
	static const u8 rare[] = { 0x0f, 11,   0x77, 8,	 0x80, 0,    0x3f, 0x1a, 0x3b, 0x2a, 0x33,
				   0x24, 0x22, 0x10, 3,	 2,    0x77, 8,	   0x14, 6,    2,    0x09,
				   5,	 3,    0x16, 12, 2,    0x77, 0,	   0x2e, 8,    0x07, 1 };
	struct cfiwrite w;
	struct elfwrite e;
	struct elfimg image;
	struct cfi_table t;
	cfiwrite_begin(&w, is_eh, arm, 0x8000);
	cfiwrite_cie(&w, "zR");
	cfiwrite_fde(&w, 0x4000, 0x100, plain, sizeof(plain));
	cfiwrite_fde(&w, 0x4100, 0x40, rare, sizeof(rare));
	cfiwrite_cie(&w, "zRS");
	cfiwrite_fde(&w, 0x4200, 0x40, rare, sizeof(rare));
	cfiwrite_end(&w);
	elfwrite_begin(&e, true, false, ET_DYN, arm ? EM_AARCH64 : EM_X86_64);
	u32 text = elfwrite_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x4000,
				    NULL, 0x400);
	elfwrite_load(&e, text);
	elfwrite_section(&e, is_eh ? ".eh_frame" : ".debug_frame", SHT_PROGBITS, 0, 0x8000,
			 w.out.data, w.out.len);
	elfwrite_end(&e);
	write_file(folder, name, e.out.data, e.out.len);
	if (!arm && is_eh && !elfimg_open_memory(&image, e.out.data, e.out.len)) {
		if (!cfi_build(&t, &arch_x86_64, &image, &image)) {
			write_file(folder, "cache", t.block, t.block_size);
			cfi_done(&t);
		}
		elfimg_close(&image);
	}
	elfwrite_done(&e);
	cfiwrite_done(&w);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: cfi_corpus FOLDER\n");
		return 2;
	}
	write_program(argv[1], "x86-eh", false, true);
	write_program(argv[1], "x86-debug", false, false);
	write_program(argv[1], "arm-eh", true, true);
	write_program(argv[1], "arm-debug", true, false);
	return 0;
}
