/* Any bytes as a jit-PID.dump: each function becomes an ELF file that we read back, with its name and its lines. */
#include "file/jitdump.h"
#include "image/dwarf_info.h"
#include "image/elf.h"
#include "image/jit_image.h"

#include <elf.h>

enum { LINES_MAX = 64, FUNCTIONS_MAX = 64 };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void look(const struct jit_image *j, const struct strbuf *file)
{
	struct elfimg e;
	struct elfimg_funcs it;
	struct elfimg_func f;
	struct dwinfo *lines;
	if (elfimg_open_memory(&e, file->data, file->len))
		abort();
	if (!elfimg_funcs_init(&it, &e, &e, SHT_SYMTAB))
		abort();
	if (elfimg_funcs_next(&it, &f) && (f.start != JIT_IMAGE_CODE_AT || strcmp(f.name, j->name)))
		abort();
	if (j->nr_lines && !dwinfo_open(&e, NULL, "", &lines)) {
		struct dwinfo_answer a = { 0 };
		u64 at = JIT_IMAGE_CODE_AT + j->lines[j->nr_lines - 1].offset;
		if (dwinfo_find(lines, &at, 1, DWINFO_LINE, &a) || dwinfo_broken(lines))
			abort();
		dwinfo_close(lines);
	}
	elfimg_close(&e);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct jitdump d;
	struct jitdump_record r;
	struct jit_image_line lines[LINES_MAX];
	struct jitdump_line l;
	size_t nr = 0;
	if (size > 1 << 16 || jitdump_open(&d, data, size))
		return 0;
	for (u32 n = 0; n < FUNCTIONS_MAX && jitdump_next(&d, &r) > 0;) {
		if (r.id == JITDUMP_DEBUG_INFO)
			for (nr = 0; nr < LINES_MAX && jitdump_line(&r, &l); nr++)
				lines[nr] = (struct jit_image_line){ nr, l.line, l.file };
		if (r.id != JITDUMP_LOAD)
			continue;
		struct jit_image j = { .machine = d.machine & 0xffff,
				       .big = d.left.swap,
				       .name = r.name,
				       .code = r.code,
				       .size = r.size,
				       .lines = lines,
				       .nr_lines = nr < r.size ? nr : (size_t)r.size };
		struct strbuf file;
		strbuf_init(&file);
		if (jit_image_write(&j, &file))
			abort();
		look(&j, &file);
		strbuf_done(&file);
		nr = 0;
		n++;
	}
	return 0;
}
