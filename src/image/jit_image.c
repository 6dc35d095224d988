#include "image/jit_image.h"
#include "base/dict.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	SECTIONS_MAX = 12,
	ID_BYTES = 20,
	CODE_MAX = 1 << 30,
	LINE_BASE = -5,
	LINE_RANGE = 14,
	OPCODE_BASE = 10, /* those of DWARF 2 */
};

/* What is needed of DWARF 4. */
enum {
	DW_TAG_COMPILE_UNIT = 0x11,
	DW_TAG_SUBPROGRAM = 0x2e,
	DW_AT_NAME = 0x03,
	DW_AT_STMT_LIST = 0x10,
	DW_AT_LOW_PC = 0x11,
	DW_AT_HIGH_PC = 0x12,
	DW_FORM_ADDR = 0x01,
	DW_FORM_DATA8 = 0x07,
	DW_FORM_STRING = 0x08,
	DW_FORM_SEC_OFFSET = 0x17,
	DW_LNS_COPY = 1,
	DW_LNS_ADVANCE_PC = 2,
	DW_LNS_ADVANCE_LINE = 3,
	DW_LNS_SET_FILE = 4,
	DW_LNE_END_SEQUENCE = 1,
	DW_LNE_SET_ADDRESS = 2,
};

struct jit_image_section {
	u32 name, type, link, info;
	u64 flags, addr, offset, size, align, entsize;
};

struct jit_image_writer {
	const struct jit_image *j;
	struct strbuf *to;
	bool is64;
	struct jit_image_section sections[SECTIONS_MAX];
	u32 nr;
	struct strbuf names;
	u32 symbols;
};

static void put(const struct jit_image_writer *w, struct strbuf *to, u64 v, unsigned n)
{
	u8 bytes[8];
	for (unsigned i = 0; i < n; i++)
		bytes[i] = (u8)(v >> 8 * (w->j->big ? n - 1 - i : i));
	strbuf_add(to, bytes, n);
}

static void put_addr(const struct jit_image_writer *w, struct strbuf *to, u64 v)
{
	put(w, to, v, w->is64 ? 8 : 4);
}

static void put_uleb(struct strbuf *to, u64 v)
{
	do {
		strbuf_char(to, (char)((v & 127) | (v > 127 ? 128 : 0)));
		v >>= 7;
	} while (v);
}

static void put_sleb(struct strbuf *to, s64 v)
{
	for (;;) {
		u8 low = v & 127;
		v >>= 7;
		bool over = (!v && !(low & 64)) || (v == -1 && low & 64);
		strbuf_char(to, (char)(low | (over ? 0 : 128)));
		if (over)
			return;
	}
}

static void put_text(struct strbuf *to, const char *s)
{
	strbuf_add(to, s, strlen(s) + 1);
}

/* ---- sections ---- */

static struct jit_image_section *add_section(struct jit_image_writer *w, const char *name, u32 type,
					     u64 align, const void *data, size_t size)
{
	struct jit_image_section *s = &w->sections[w->nr++];
	strbuf_fill(w->to, 0, -w->to->len & (align - 1));
	*s = (struct jit_image_section){ .name = (u32)w->names.len,
					 .type = type,
					 .offset = w->to->len,
					 .size = size,
					 .align = align };
	strbuf_add(w->to, data, size);
	put_text(&w->names, name);
	return s;
}

static void load_section(struct jit_image_section *s, u64 flags)
{
	s->flags = SHF_ALLOC | flags;
	s->addr = s->offset;
}

static void add_made(struct jit_image_writer *w, const char *name, struct strbuf *data)
{
	(void)add_section(w, name, SHT_PROGBITS, 1, data->data, data->len);
	if (data->err && !w->to->err)
		w->to->err = data->err;
	strbuf_done(data);
}

static void put_symbol(const struct jit_image_writer *w, struct strbuf *to, u32 name, u64 value,
		       u64 size)
{
	u8 info = name ? ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) : 0;
	u16 section = name ? 1 : SHN_UNDEF;
	put(w, to, name, 4);
	if (w->is64) {
		strbuf_char(to, (char)info);
		strbuf_char(to, 0);
		put(w, to, section, 2);
		put(w, to, value, 8);
		put(w, to, size, 8);
		return;
	}
	put(w, to, value, 4);
	put(w, to, size, 4);
	strbuf_char(to, (char)info);
	strbuf_char(to, 0);
	put(w, to, section, 2);
}

static void add_symbols(struct jit_image_writer *w)
{
	struct strbuf syms, strs;
	strbuf_init(&syms);
	strbuf_init(&strs);
	strbuf_char(&strs, 0);
	put_text(&strs, w->j->name);
	put_symbol(w, &syms, 0, 0, 0);
	put_symbol(w, &syms, 1, JIT_IMAGE_CODE_AT, w->j->size);
	w->symbols = w->nr;
	struct jit_image_section *s = add_section(w, ".symtab", SHT_SYMTAB, 8, syms.data, syms.len);
	s->link = w->symbols + 1;
	s->info = 1; /* the first that is not local */
	s->entsize = w->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	(void)add_section(w, ".strtab", SHT_STRTAB, 1, strs.data, strs.len);
	if ((syms.err || strs.err) && !w->to->err)
		w->to->err = -ENOMEM;
	strbuf_done(&syms);
	strbuf_done(&strs);
}

static void add_unwinding(struct jit_image_writer *w)
{
	const struct jit_image *j = w->j;
	if (!j->unwind_size)
		return;
	size_t frames = j->unwind_size - j->unwind_head;
	load_section(add_section(w, ".eh_frame", SHT_PROGBITS, 8, j->unwind, frames), 0);
	if (j->unwind_head)
		load_section(add_section(w, ".eh_frame_hdr", SHT_PROGBITS, 1, j->unwind + frames,
					 j->unwind_head),
			     0);
}

/* ---- lines ---- */

static void add_abbrev(struct jit_image_writer *w)
{
	static const u8 unit[] = { 1,
				   DW_TAG_COMPILE_UNIT,
				   1,
				   DW_AT_NAME,
				   DW_FORM_STRING,
				   DW_AT_LOW_PC,
				   DW_FORM_ADDR,
				   DW_AT_HIGH_PC,
				   DW_FORM_DATA8,
				   DW_AT_STMT_LIST,
				   DW_FORM_SEC_OFFSET,
				   0,
				   0,
				   2,
				   DW_TAG_SUBPROGRAM,
				   0,
				   DW_AT_NAME,
				   DW_FORM_STRING,
				   DW_AT_LOW_PC,
				   DW_FORM_ADDR,
				   DW_AT_HIGH_PC,
				   DW_FORM_DATA8,
				   0,
				   0,
				   0 };
	(void)add_section(w, ".debug_abbrev", SHT_PROGBITS, 1, unit, sizeof(unit));
}

static void put_function(struct jit_image_writer *w, struct strbuf *to, u8 abbrev, const char *name)
{
	strbuf_char(to, (char)abbrev);
	put_text(to, name);
	put_addr(w, to, JIT_IMAGE_CODE_AT);
	put(w, to, w->j->size, 8);
}

static void put_length(struct jit_image_writer *w, struct strbuf *body, struct strbuf *to)
{
	strbuf_init(to);
	put(w, to, body->len, 4);
	if (body->len)
		strbuf_add(to, body->data, body->len);
	if (body->err && !to->err)
		to->err = body->err;
	strbuf_done(body);
}

static void add_info(struct jit_image_writer *w)
{
	struct strbuf body, whole;
	strbuf_init(&body);
	put(w, &body, 4, 2);
	put(w, &body, 0, 4); /* abbreviations */
	strbuf_char(&body, w->is64 ? 8 : 4);
	put_function(w, &body, 1, w->j->lines[0].file);
	put(w, &body, 0, 4); /* lines */
	put_function(w, &body, 2, w->j->name);
	strbuf_char(&body, 0);
	put_length(w, &body, &whole);
	add_made(w, ".debug_info", &whole);
}

/* Files in the order they first come; file_of[line] counts from 1. */
static int put_files(const struct jit_image *j, struct strbuf *to, u32 *file_of)
{
	struct dict known;
	int err = 0;
	dict_init(&known);
	for (size_t i = 0; i < j->nr_lines && !err; i++) {
		const char *file = j->lines[i].file;
		u32 fresh = known.nr + 1;
		err = dict_add(&known, hash_bytes(file, strlen(file)), fresh, &file_of[i]);
		if (!err && file_of[i] == fresh) {
			put_text(to, *file ? file : "?");
			strbuf_add(to, "\0\0\0", 3); /* folder, time, size: not told */
		}
	}
	strbuf_char(to, 0);
	dict_done(&known);
	return err;
}

static void put_program(struct jit_image_writer *w, struct strbuf *to, const u32 *file_of)
{
	const struct jit_image *j = w->j;
	u64 at = j->lines[0].offset;
	s64 line = 1;
	u32 file = 1;
	strbuf_char(to, 0);
	put_uleb(to, 1 + (w->is64 ? 8 : 4));
	strbuf_char(to, DW_LNE_SET_ADDRESS);
	put_addr(w, to, JIT_IMAGE_CODE_AT + at);
	for (size_t i = 0; i < j->nr_lines; i++) {
		const struct jit_image_line *l = &j->lines[i];
		if (file_of[i] != file) {
			strbuf_char(to, DW_LNS_SET_FILE);
			put_uleb(to, file = file_of[i]);
		}
		if (l->offset != at) {
			strbuf_char(to, DW_LNS_ADVANCE_PC);
			put_uleb(to, l->offset - at);
			at = l->offset;
		}
		strbuf_char(to, DW_LNS_ADVANCE_LINE);
		put_sleb(to, (s64)l->line - line);
		line = l->line;
		strbuf_char(to, DW_LNS_COPY);
	}
	strbuf_char(to, DW_LNS_ADVANCE_PC);
	put_uleb(to, j->size - at);
	strbuf_add(to, "\0\1\1", 3); /* DW_LNE_END_SEQUENCE */
}

static int add_lines(struct jit_image_writer *w)
{
	static const u8 lengths[OPCODE_BASE - 1] = { 0, 1, 1, 1, 1, 0, 0, 0, 1 };
	struct strbuf head, body, whole;
	u32 *file_of = calloc(w->j->nr_lines, sizeof(*file_of));
	if (!file_of)
		return -ENOMEM;
	strbuf_init(&head);
	strbuf_add(&head, (u8[]){ 1, 1, 1, (u8)LINE_BASE, LINE_RANGE, OPCODE_BASE }, 6);
	strbuf_add(&head, lengths, sizeof(lengths));
	strbuf_char(&head, 0); /* no folders */
	int err = put_files(w->j, &head, file_of);
	strbuf_init(&body);
	put(w, &body, 4, 2);
	put(w, &body, head.len, 4);
	strbuf_add(&body, head.data ? head.data : "", head.len);
	if (head.err && !body.err)
		body.err = head.err;
	strbuf_done(&head);
	if (!err)
		put_program(w, &body, file_of);
	put_length(w, &body, &whole);
	add_made(w, ".debug_line", &whole);
	free(file_of);
	return err;
}

/* ---- the file ---- */

static void add_id(struct jit_image_writer *w)
{
	const struct jit_image *j = w->j;
	struct strbuf note;
	strbuf_init(&note);
	put(w, &note, 4, 4);
	put(w, &note, ID_BYTES, 4);
	put(w, &note, NT_GNU_BUILD_ID, 4);
	strbuf_add(&note, "GNU", 4);
	/* What is written so far is code and tables; names and lines follow it. */
	u64 hash[3] = { hash_bytes(w->to->data, w->to->len), hash_bytes(j->name, strlen(j->name)) };
	for (size_t i = 0; i < j->nr_lines; i++)
		hash[1] = hash_u64(hash[1] ^ j->lines[i].line ^ j->lines[i].offset << 32) ^
			  hash_bytes(j->lines[i].file, strlen(j->lines[i].file));
	hash[2] = hash_u64(hash[0] + 3 * hash[1] + j->machine);
	strbuf_add(&note, hash, ID_BYTES);
	load_section(add_section(w, ".note.gnu.build-id", SHT_NOTE, 4, note.data ? note.data : "",
				 note.len),
		     0);
	strbuf_done(&note);
}

static void put_section_head(const struct jit_image_writer *w, const struct jit_image_section *s)
{
	put(w, w->to, s->name, 4);
	put(w, w->to, s->type, 4);
	put_addr(w, w->to, s->flags);
	put_addr(w, w->to, s->addr);
	put_addr(w, w->to, s->offset);
	put_addr(w, w->to, s->size);
	put(w, w->to, s->link, 4);
	put(w, w->to, s->info, 4);
	put_addr(w, w->to, s->align);
	put_addr(w, w->to, s->entsize);
}

static void put_segment(const struct jit_image_writer *w, struct strbuf *to, u32 type, u32 flags,
			u64 at, u64 size)
{
	put(w, to, type, 4);
	if (w->is64)
		put(w, to, flags, 4);
	for (unsigned i = 0; i < 3; i++)
		put_addr(w, to, at); /* offset, address, physical address */
	put_addr(w, to, size);
	put_addr(w, to, size);
	if (!w->is64)
		put(w, to, flags, 4);
	put_addr(w, to, type == PT_LOAD ? 0x1000 : 4);
}

static void put_head(const struct jit_image_writer *w, u64 table, u64 loaded)
{
	struct strbuf h;
	const struct jit_image_section *note = &w->sections[2];
	strbuf_init(&h);
	strbuf_add(&h, ELFMAG, SELFMAG);
	strbuf_char(&h, w->is64 ? ELFCLASS64 : ELFCLASS32);
	strbuf_char(&h, w->j->big ? ELFDATA2MSB : ELFDATA2LSB);
	strbuf_char(&h, EV_CURRENT);
	strbuf_fill(&h, 0, EI_NIDENT - h.len);
	put(w, &h, ET_DYN, 2);
	put(w, &h, w->j->machine, 2);
	put(w, &h, EV_CURRENT, 4);
	put_addr(w, &h, JIT_IMAGE_CODE_AT); /* entry */
	put_addr(w, &h, w->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
	put_addr(w, &h, table);
	put(w, &h, 0, 4);
	put(w, &h, w->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), 2);
	put(w, &h, w->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), 2);
	put(w, &h, 2, 2);
	put(w, &h, w->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2);
	put(w, &h, w->nr, 2);
	put(w, &h, w->nr - 1, 2);
	put_segment(w, &h, PT_LOAD, PF_R | PF_X, 0, loaded);
	put_segment(w, &h, PT_NOTE, PF_R, note->offset, note->size);
	if (!w->to->err && !h.err)
		memcpy(w->to->data, h.data, h.len);
	else if (!w->to->err)
		w->to->err = h.err;
	strbuf_done(&h);
}

int jit_image_write(const struct jit_image *j, struct strbuf *to)
{
	struct jit_image_writer w = { .j = j, .to = to, .nr = 1 };
	if (j->size > CODE_MAX || j->unwind_size > CODE_MAX)
		return -EFBIG;
	w.is64 = j->machine != EM_386 && j->machine != EM_ARM && j->machine != EM_PPC &&
		 j->machine != EM_MIPS;
	strbuf_init(&w.names);
	strbuf_char(&w.names, 0);
	strbuf_reset(to);
	strbuf_fill(to, 0, JIT_IMAGE_CODE_AT);
	load_section(add_section(&w, ".text", SHT_PROGBITS, 16, j->code, j->size), SHF_EXECINSTR);
	/* Unwinding tables are told by their distance from the code: the note goes to where the table of sections finds it. */
	u32 note = w.nr++;
	add_unwinding(&w);
	u32 after = w.nr;
	w.nr = note;
	add_id(&w);
	w.nr = after;
	u64 loaded = to->len;
	add_symbols(&w);
	int err = 0;
	if (j->nr_lines) {
		add_abbrev(&w);
		add_info(&w);
		err = add_lines(&w);
	}
	/* Its own name is among the names. */
	u32 own = (u32)w.names.len;
	put_text(&w.names, ".shstrtab");
	struct jit_image_section *names =
		add_section(&w, "", SHT_STRTAB, 1, w.names.data, w.names.len);
	names->name = own;
	strbuf_fill(to, 0, -to->len & 7);
	u64 table = to->len;
	for (u32 i = 0; i < w.nr; i++)
		put_section_head(&w, &w.sections[i]);
	put_head(&w, table, loaded);
	if (w.names.err && !err)
		err = w.names.err;
	strbuf_done(&w.names);
	return err ? err : to->err;
}
