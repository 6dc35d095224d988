/* The code of one function and what is known about it: bytes, lines, the names of places it goes to. */
#pragma once

#include "base/arena.h"
#include "sym/dso.h"
#include "sym/resolve.h"
#include "sym/srcline.h"

struct code {
	const u8 *bytes;
	size_t size;
	u64 addr; /* of the first byte, as the file counts */
	u64 offset; /* of the first byte, as frames of the image count */
	u16 machine; /* EM_* */
	bool is64;
	const char *section; /* borrowed; NULL: not known */

	/* Of code.c. */
	const struct sym_config *cfg;
	struct debugfile_where where;
	struct dso dso;
	const struct elfimg *debug;
	u64 to_lines; /* from addr to where the file of lines has the code */
	const struct image_info *info;
	u8 *heap;
};

/*
 * Code of a function in a file: of a program, or of the kernel's image that the configuration names. -ENOENT: there is no such file, or it
 * is not the one that was recorded (-ESTALE); -ENODATA: the function has no code in it; -ENOMEM.
 */
int code_open(struct code *c, const struct sym_config *cfg, const struct image_info *info,
	      const struct name_func *f) must_check;
/* The same, of bytes that somebody read from memory; they are taken over (freed). addr is where they lie. */
void code_open_memory(struct code *c, const struct sym_config *cfg, const struct image_info *info,
		      const struct name_func *f, u8 *bytes, size_t size, u64 addr, u16 machine);
void code_close(struct code *c);
/* Lines and inlined functions of addresses (ascending); two spots each, as srcline_find(). Strings are the arena's. */
int code_lines(struct code *c, const u64 *addrs, u32 nr, struct arena *arena,
	       struct srcline_spot *ret) must_check;
/* What lies at addresses (ascending); names are demangled and the arena's, NULL: nothing known; start: of what is named. */
struct code_name {
	const char *name;
	u64 start;
};
int code_names(struct code *c, const u64 *addrs, u32 nr, struct arena *arena,
	       struct code_name *ret) must_check;
/* The same for data, .bss included: objects, and functions whose address is taken. */
int code_data_names(struct code *c, const u64 *addrs, u32 nr, struct arena *arena,
		    struct code_name *ret) must_check;
