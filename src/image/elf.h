/*
 * An ELF file seen through bounds-checked eyes: header, sections, segments, function symbols.
 *
 * The tables are walked where they lie in the mapping; nothing is copied and nothing is sorted here. 32 and 64 bit, both
 * byte orders. Every offset comes from a file that anyone may have written: what points outside reads as absent.
 *
 * (The prefix is elfimg_ because libelf owns elf_.)
 */
#pragma once

#include "base/opener.h"
#include "base/types.h"

enum { ELFIMG_LOADS_MAX = 64 };

/* One PT_LOAD: addresses [vaddr, vaddr + size) lie at file offsets [offset, offset + size). */
struct elfimg_load {
	u64 vaddr;
	u64 offset;
	u64 size;
};

/*
 * Which file it is, and in which state: what is kept about a file is kept for this. The user who owns a file can set its modification time,
 * but not the time of its last change, its inode or its device. All zero: it cannot be told.
 */
struct elfimg_identity {
	u64 dev, ino, size;
	u64 modified_ns, changed_ns;
	u64 owner; /* uid */
};

struct elfimg {
	const u8 *data;
	size_t size;
	size_t mapped; /* bytes to unmap; 0: borrowed */
	u64 real; /* bytes that hold something: a sparse file claims more */
	u8 *heap; /* to free, when the bytes were expanded into memory */
	struct elfimg_identity identity; /* of what was opened by a path of ours */
	bool is64;
	bool swap;
	u16 type; /* ET_* */
	u16 machine; /* EM_* */
	u64 shoff, phoff;
	u32 nr_sections, nr_segments;
	u32 shentsize, phentsize;
	const char *section_names; /* NULL: none */
	size_t section_names_size;
	u32 nr_loads;
	struct elfimg_load loads[ELFIMG_LOADS_MAX];
};

struct elfimg_section {
	const char *name; /* borrowed from the image; "" when there is none */
	u32 type; /* SHT_* */
	u32 link, info;
	u64 flags;
	u64 addr, offset, size;
	u64 align, entsize;
};

struct elfimg_segment {
	u32 type, flags;
	u64 offset, vaddr, filesz, memsz, align;
};

/*
 * Maps a regular file. opener: who opens it (base/opener.h); NULL: we do, without a time limit. -ENOEXEC: not an ELF file (or one we
 * cannot make sense of); or the errno of opening it. On failure nothing is held.
 */
int elfimg_open(struct elfimg *e, const char *path, struct opener *opener) must_check;
/* The same over a file that is open; the descriptor stays the caller's. */
int elfimg_open_fd(struct elfimg *e, int fd) must_check;
/* The same over bytes that the caller keeps. */
int elfimg_open_memory(struct elfimg *e, const void *data, size_t size) must_check;
/* The same over malloc'ed bytes, which the image frees (also when this fails). */
int elfimg_open_heap(struct elfimg *e, u8 *data, size_t size) must_check;
/*
 * Fills in the identity by the descriptor that the image was opened from. Nothing, where the filesystem says what its server or a program
 * wants it to say, and for what has no name (a copy in memory).
 */
void elfimg_identify(struct elfimg *e, int fd);
/* Whether the file was truncated while it was mapped: what is missing reads as zeros (base/guard.h). */
bool elfimg_is_cut(const struct elfimg *e);
/* Whether the file ends before its section headers, which a linker writes last; *want: how long it must have been. */
bool elfimg_lacks_end(const struct elfimg *e, u64 *want);
void elfimg_close(struct elfimg *e);

/* false: no such section. */
bool elfimg_section(const struct elfimg *e, u32 index, struct elfimg_section *ret);
bool elfimg_section_by_name(const struct elfimg *e, const char *name, struct elfimg_section *ret);
/* The bytes of a section, or NULL when it has none in the file, they do not lie wholly inside it, or it is longer than all that the file holds. */
const u8 *elfimg_section_data(const struct elfimg *e, const struct elfimg_section *s);
/*
 * The same of a section that may be compressed (SHF_COMPRESSED with zlib or zstd, or the older .zdebug_*): up to max bytes. *heap is
 * to be freed; NULL when the bytes are the image's own. -ENOENT: it has none; -EBADMSG: damaged or too long; -ENOMEM.
 */
int elfimg_section_expand(const struct elfimg *e, const struct elfimg_section *s, size_t max,
			  const u8 **data, size_t *size, u8 **heap) must_check;
bool elfimg_segment(const struct elfimg *e, u32 index, struct elfimg_segment *ret);

/* Between addresses and file offsets by the program headers. false: no segment of the file holds it. */
bool elfimg_offset_of(const struct elfimg *e, u64 vaddr, u64 *offset);
bool elfimg_vaddr_of(const struct elfimg *e, u64 offset, u64 *vaddr);

/* A symbol table and its names. Any name offset below strs_size is a terminated string. */
struct elfimg_symtab {
	const u8 *syms;
	size_t nr;
	u32 entsize;
	const char *strs;
	size_t strs_size;
};

struct elfimg_sym {
	u64 value, size;
	const char *name; /* borrowed; "" when there is none */
	u16 shndx;
	u8 type; /* STT_* */
	u8 bind; /* STB_* */
	u8 visibility; /* STV_* */
};

/* type: SHT_SYMTAB or SHT_DYNSYM. false: the file has no such table, or an empty one. */
bool elfimg_symtab(const struct elfimg *e, u32 type, struct elfimg_symtab *ret);
void elfimg_sym(const struct elfimg *e, const struct elfimg_symtab *t, size_t index,
		struct elfimg_sym *ret);

/*
 * Walks the symbols that name code: FUNC and IFUNC, and visible NOTYPE labels in executable sections. Addresses become file
 * offsets by the segments of `runtime`, the file that was executed: the headers of a separate debug file do not tell.
 * With `addresses` set they stay addresses (the kernel's own image).
 */
struct elfimg_funcs {
	const struct elfimg *e;
	const struct elfimg *runtime;
	struct elfimg_symtab tab;
	size_t at;
	bool addresses;
	bool objects; /* named data, too */
};

struct elfimg_func {
	u64 start;
	u64 size; /* 0: not told by the file */
	u64 limit; /* where a function without a size ends at the latest: its section's end */
	const char *name; /* borrowed from e; a broken file may give "" */
	u8 bind; /* STB_* */
	u8 type; /* STT_FUNC, STT_GNU_IFUNC or STT_NOTYPE; STT_OBJECT where those are asked for */
};

bool elfimg_funcs_init(struct elfimg_funcs *it, const struct elfimg *e,
		       const struct elfimg *runtime, u32 type);
/* false: that was all. */
bool elfimg_funcs_next(struct elfimg_funcs *it, struct elfimg_func *ret);
