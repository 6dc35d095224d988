#include "gen/elfwrite.h"

#include <elf.h>
#include <stdio.h>

enum { HEADERS = 1024 }; /* room for the file and program headers */

void elfwrite_put(const struct elfwrite *w, struct strbuf *to, u64 v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		strbuf_char(to, (char)(v >> 8 * (w->big ? n - 1 - i : i)));
}

static void put_word(const struct elfwrite *w, struct strbuf *to, u64 v)
{
	elfwrite_put(w, to, v, w->is64 ? 8 : 4);
}

void elfwrite_begin(struct elfwrite *w, bool is64, bool big, u16 type, u16 machine)
{
	*w = (struct elfwrite){
		.is64 = is64, .big = big, .type = type, .machine = machine, .nr_sections = 1
	};
	strbuf_fill(&w->out, 0, HEADERS);
	strbuf_char(&w->strs, 0);
	elfwrite_sym(w, "", 0, 0, 0, 0, 0);
}

u32 elfwrite_section(struct elfwrite *w, const char *name, u32 type, u64 flags, u64 addr,
		     const void *data, size_t size)
{
	struct elfwrite_section *s = &w->sections[w->nr_sections];
	strbuf_fill(&w->out, 0, -w->out.len & 15);
	*s = (struct elfwrite_section){ .type = type,
					.flags = flags,
					.addr = addr,
					.offset = w->out.len,
					.size = size,
					.align = 4 };
	snprintf(s->name, sizeof(s->name), "%s", name);
	if (type != SHT_NOBITS && data)
		strbuf_add(&w->out, data, size);
	else if (type != SHT_NOBITS)
		strbuf_fill(&w->out, 0, size);
	return w->nr_sections++;
}

void elfwrite_load(struct elfwrite *w, u32 section)
{
	const struct elfwrite_section *s = &w->sections[section];
	w->loads[w->nr_loads].vaddr = s->addr;
	w->loads[w->nr_loads].offset = s->offset;
	w->loads[w->nr_loads++].size = s->size;
}

void elfwrite_sym(struct elfwrite *w, const char *name, u64 value, u64 size, u8 type, u8 bind,
		  u16 shndx)
{
	u32 at = name[0] ? (u32)w->strs.len : 0;
	if (at)
		strbuf_add(&w->strs, name, strlen(name) + 1);
	elfwrite_put(w, &w->syms, at, 4);
	if (!w->is64) {
		elfwrite_put(w, &w->syms, value, 4);
		elfwrite_put(w, &w->syms, size, 4);
	}
	elfwrite_put(w, &w->syms, (u8)(bind << 4 | type), 1);
	elfwrite_put(w, &w->syms, 0, 1);
	elfwrite_put(w, &w->syms, shndx, 2);
	if (w->is64) {
		elfwrite_put(w, &w->syms, value, 8);
		elfwrite_put(w, &w->syms, size, 8);
	}
}

void elfwrite_symtab(struct elfwrite *w, u32 type)
{
	bool dyn = type == SHT_DYNSYM;
	u32 strs = elfwrite_section(w, dyn ? ".dynstr" : ".strtab", SHT_STRTAB, 0, 0, w->strs.data,
				    w->strs.len);
	u32 syms = elfwrite_section(w, dyn ? ".dynsym" : ".symtab", type, 0, 0, w->syms.data,
				    w->syms.len);
	w->sections[syms].link = strs;
	w->sections[syms].entsize = w->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	strbuf_reset(&w->strs);
	strbuf_reset(&w->syms);
	strbuf_char(&w->strs, 0);
	elfwrite_sym(w, "", 0, 0, 0, 0, 0);
}

void elfwrite_buildid(struct elfwrite *w, const void *id, u32 size)
{
	struct strbuf note;
	strbuf_init(&note);
	elfwrite_put(w, &note, 4, 4);
	elfwrite_put(w, &note, size, 4);
	elfwrite_put(w, &note, NT_GNU_BUILD_ID, 4);
	strbuf_add(&note, "GNU", 4);
	strbuf_add(&note, id, size);
	elfwrite_section(w, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note.data, note.len);
	strbuf_done(&note);
}

static void put_section(const struct elfwrite *w, struct strbuf *to,
			const struct elfwrite_section *s, u32 name)
{
	elfwrite_put(w, to, name, 4);
	elfwrite_put(w, to, s->type, 4);
	put_word(w, to, s->flags);
	put_word(w, to, s->addr);
	put_word(w, to, s->offset);
	put_word(w, to, s->size);
	elfwrite_put(w, to, s->link, 4);
	elfwrite_put(w, to, s->info, 4);
	put_word(w, to, s->align);
	put_word(w, to, s->entsize);
}

static void put_load(const struct elfwrite *w, struct strbuf *to, u32 i)
{
	elfwrite_put(w, to, PT_LOAD, 4);
	if (w->is64)
		elfwrite_put(w, to, PF_R | PF_X, 4);
	put_word(w, to, w->loads[i].offset);
	put_word(w, to, w->loads[i].vaddr);
	put_word(w, to, w->loads[i].vaddr);
	put_word(w, to, w->loads[i].size);
	put_word(w, to, w->loads[i].size);
	if (!w->is64)
		elfwrite_put(w, to, PF_R | PF_X, 4);
	put_word(w, to, 0x1000);
}

void elfwrite_end(struct elfwrite *w)
{
	struct strbuf names, head;
	u32 name_at[ELFWRITE_SECTIONS] = { 0 };
	strbuf_init(&names);
	strbuf_init(&head);
	strbuf_char(&names, 0);
	for (u32 i = 1; i < w->nr_sections; i++) {
		name_at[i] = (u32)names.len;
		strbuf_add(&names, w->sections[i].name, strlen(w->sections[i].name) + 1);
	}
	name_at[w->nr_sections] = (u32)names.len;
	strbuf_add(&names, ".shstrtab", 10);
	u32 shstr = elfwrite_section(w, ".shstrtab", SHT_STRTAB, 0, 0, names.data, names.len);
	strbuf_fill(&w->out, 0, -w->out.len & 15);
	u64 shoff = w->out.len;
	for (u32 i = 0; i < w->nr_sections; i++)
		put_section(w, &w->out, &w->sections[i], name_at[i]);

	strbuf_add(&head, ELFMAG, SELFMAG);
	strbuf_char(&head, w->is64 ? ELFCLASS64 : ELFCLASS32);
	strbuf_char(&head, w->big ? ELFDATA2MSB : ELFDATA2LSB);
	strbuf_char(&head, EV_CURRENT);
	strbuf_fill(&head, 0, EI_NIDENT - head.len);
	elfwrite_put(w, &head, w->type, 2);
	elfwrite_put(w, &head, w->machine, 2);
	elfwrite_put(w, &head, EV_CURRENT, 4);
	put_word(w, &head, 0);
	put_word(w, &head, w->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
	put_word(w, &head, shoff);
	elfwrite_put(w, &head, 0, 4);
	elfwrite_put(w, &head, w->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), 2);
	elfwrite_put(w, &head, w->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), 2);
	elfwrite_put(w, &head, w->nr_loads, 2);
	elfwrite_put(w, &head, w->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2);
	elfwrite_put(w, &head, w->nr_sections, 2);
	elfwrite_put(w, &head, shstr, 2);
	for (u32 i = 0; i < w->nr_loads; i++)
		put_load(w, &head, i);
	memcpy(w->out.data, head.data, head.len);
	strbuf_done(&head);
	strbuf_done(&names);
}

void elfwrite_done(struct elfwrite *w)
{
	strbuf_done(&w->out);
	strbuf_done(&w->strs);
	strbuf_done(&w->syms);
}
