/*
 * A function that was made at run time, as an ELF file that any tool can read: its code with a symbol, where it came from
 * (DWARF 4), how to unwind it. File offsets and addresses are the same.
 */
#pragma once

#include "base/strbuf.h"

enum { JIT_IMAGE_CODE_AT = 192 }; /* offset of the code in the file */

struct jit_image_line {
	u64 offset; /* in the code */
	u32 line;
	const char *file;
};

struct jit_image {
	u32 machine; /* EM_* */
	bool big; /* the byte order */
	const char *name;
	const u8 *code;
	size_t size;
	const struct jit_image_line *lines; /* by offset, below size */
	size_t nr_lines;
	const u8 *unwind; /* .eh_frame, then .eh_frame_hdr, as they lie after the code, from the next multiple of eight on */
	size_t unwind_size, unwind_head; /* both; the second */
};

/* 0 or -ENOMEM, -EFBIG. The build id is a hash of all of it. */
int jit_image_write(const struct jit_image *j, struct strbuf *to) must_check;
