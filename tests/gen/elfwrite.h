/* Writes small ELF files of either class and byte order into memory, as whole or as wrong as a test wants them. */
#pragma once

#include "base/strbuf.h"
#include "base/types.h"

enum { ELFWRITE_SECTIONS = 16, ELFWRITE_LOADS = 4 };

struct elfwrite_section {
	char name[32];
	u32 type, link, info;
	u64 flags, addr, offset, size, entsize, align;
};

struct elfwrite {
	bool is64, big;
	u16 type, machine;
	struct strbuf out; /* the file; headers are filled in at the end */
	struct strbuf strs, syms;
	struct elfwrite_section sections[ELFWRITE_SECTIONS];
	u32 nr_sections;
	struct {
		u64 vaddr, offset, size;
	} loads[ELFWRITE_LOADS];
	u32 nr_loads;
};

void elfwrite_begin(struct elfwrite *w, bool is64, bool big, u16 type, u16 machine);
/* Returns the section's number. data NULL: zeroes. */
u32 elfwrite_section(struct elfwrite *w, const char *name, u32 type, u64 flags, u64 addr,
		     const void *data, size_t size);
/* A PT_LOAD over a section, at its address. */
void elfwrite_load(struct elfwrite *w, u32 section);
void elfwrite_sym(struct elfwrite *w, const char *name, u64 value, u64 size, u8 type, u8 bind,
		  u16 shndx);
/* Puts the symbols told so far into a table of the given type (SHT_SYMTAB, SHT_DYNSYM), and forgets them. */
void elfwrite_symtab(struct elfwrite *w, u32 type);
void elfwrite_buildid(struct elfwrite *w, const void *id, u32 size);
/* Completes the file: w->out.data, w->out.len, until elfwrite_done. */
void elfwrite_end(struct elfwrite *w);
void elfwrite_done(struct elfwrite *w);

/* A number of n bytes in the file's byte order. */
void elfwrite_put(const struct elfwrite *w, struct strbuf *to, u64 v, unsigned n);
