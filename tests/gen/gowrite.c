#include "gen/gowrite.h"

#include <elf.h>
#include <string.h>

enum { TEXT_AT = 0x4000, TABLE_AT = 0x9000, TEXT_SIZE = 0x200 };

static void put_varint(struct strbuf *to, u64 v)
{
	do {
		u8 byte = v & 0x7f;
		v >>= 7;
		byte |= v ? 0x80 : 0;
		strbuf_add(to, &byte, 1);
	} while (v);
}

static void put_run(struct strbuf *to, s64 change, u64 bytes)
{
	put_varint(to, change < 0 ? ((u64)~change << 1 | 1) : (u64)change << 1);
	put_varint(to, bytes);
}

struct parts {
	const struct gowrite *g;
	const struct elfwrite *w;
	struct strbuf names, units, files, pcs, funcs;
	unsigned ptr;
	u32 name_at[16], file_at[16], pcfile_at[16], pcline_at[16];
};

static u64 end_of(const struct gowrite *g, u32 i)
{
	return i + 1 < g->nr ? g->funcs[i + 1].start : g->end;
}

/* Offset 0 of every part means nothing, as in real tables. `base` is added to what points into a shared part. */
static void put_strings(struct parts *p)
{
	const struct gowrite *g = p->g;
	strbuf_fill(&p->names, 0, 1);
	strbuf_fill(&p->files, 0, 1);
	strbuf_fill(&p->pcs, 0, 1);
	for (u32 i = 0; i < g->nr; i++) {
		const struct gowrite_func *f = &g->funcs[i];
		p->name_at[i] = (u32)p->names.len;
		strbuf_add(&p->names, f->name, strlen(f->name) + 1);
		p->file_at[i] = (u32)p->files.len;
		strbuf_add(&p->files, f->file, strlen(f->file) + 1);
		u64 size = end_of(g, i) - f->start, done = 0;
		p->pcfile_at[i] = (u32)p->pcs.len;
		put_run(&p->pcs, (s64)i + 1 + (g->layout == GOWRITE_1_2), size); /* from -1 on */
		put_varint(&p->pcs, 0);
		p->pcline_at[i] = (u32)p->pcs.len;
		for (s64 change = (s64)f->line + 1; done < size;
		     done += f->run, change = done ? 1 : change)
			put_run(&p->pcs, change, min((u64)f->run, size - done));
		put_varint(&p->pcs, 0);
	}
}

static void put_func(struct parts *p, struct strbuf *to, u32 i, u32 names, u32 pcs)
{
	const struct gowrite *g = p->g;
	const struct elfwrite *w = p->w;
	bool wide = g->layout < GOWRITE_1_18;
	elfwrite_put(w, to, g->funcs[i].start - (wide ? 0 : TEXT_AT), wide ? p->ptr : 4);
	elfwrite_put(w, to, names + p->name_at[i], 4);
	elfwrite_put(w, to, 0, 4); /* arguments */
	elfwrite_put(w, to, 0, 4); /* deferreturn */
	elfwrite_put(w, to, 0, 4); /* stack */
	elfwrite_put(w, to, pcs + p->pcfile_at[i], 4);
	elfwrite_put(w, to, pcs + p->pcline_at[i], 4);
	elfwrite_put(w, to, 0, 4);
	elfwrite_put(w, to, 0, 4); /* unit */
	elfwrite_put(w, to, 0, g->layout == GOWRITE_1_20 ? 8 : 4);
}

/* Entries and functions: `base` is what their offsets count from, in front of where they are put. */
static void put_funcs(struct parts *p, struct strbuf *to, u32 base, u32 names, u32 pcs)
{
	const struct gowrite *g = p->g;
	bool wide = g->layout < GOWRITE_1_18;
	unsigned size = wide ? p->ptr : 4;
	u32 head = (g->nr * 2 + 1) * size + (g->layout == GOWRITE_1_2 ? 4 : 0);
	u32 each = (wide ? p->ptr : 4) + 36 + (g->layout == GOWRITE_1_20 ? 4 : 0);
	for (u32 i = 0; i < g->nr; i++) {
		elfwrite_put(p->w, to, g->funcs[i].start - (wide ? 0 : TEXT_AT), size);
		elfwrite_put(p->w, to, base + head + i * each, size);
	}
	elfwrite_put(p->w, to, g->end - (wide ? 0 : TEXT_AT), size);
	if (g->layout == GOWRITE_1_2) /* the files follow the functions */
		elfwrite_put(p->w, to, base + head + g->nr * each, 4);
	for (u32 i = 0; i < g->nr; i++)
		put_func(p, to, i, names, pcs);
}

static void put_head(const struct parts *p, struct strbuf *to)
{
	static const u32 magics[GOWRITE_NR] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	elfwrite_put(p->w, to, magics[p->g->layout], 4);
	elfwrite_put(p->w, to, 0, 2);
	elfwrite_put(p->w, to, 1, 1);
	elfwrite_put(p->w, to, p->ptr, 1);
	elfwrite_put(p->w, to, p->g->nr, p->ptr);
}

/* Everything counts from the start: functions, then the files' list, then names, files and runs. */
static void put_old(struct parts *p, struct strbuf *to)
{
	const struct gowrite *g = p->g;
	put_head(p, to);
	u32 entries = 8 + p->ptr, head = (g->nr * 2 + 1) * p->ptr + 4, each = p->ptr + 36;
	u32 list = entries + head + g->nr * each, names = list + 4 * (g->nr + 1);
	u32 files = names + (u32)p->names.len, pcs = files + (u32)p->files.len;
	put_funcs(p, to, entries, names, pcs);
	elfwrite_put(p->w, to, g->nr + 1, 4); /* file 0 is the length of the list */
	for (u32 i = 0; i < g->nr; i++)
		elfwrite_put(p->w, to, files + p->file_at[i], 4);
	strbuf_add(to, p->names.data, p->names.len);
	strbuf_add(to, p->files.data, p->files.len);
	strbuf_add(to, p->pcs.data, p->pcs.len);
}

static void put_new(struct parts *p, struct strbuf *to)
{
	const struct gowrite *g = p->g;
	bool has_text = g->layout >= GOWRITE_1_18;
	for (u32 i = 0; i < g->nr; i++)
		elfwrite_put(p->w, &p->units, p->file_at[i], 4);
	put_head(p, to);
	elfwrite_put(p->w, to, g->nr, p->ptr);
	if (has_text)
		elfwrite_put(p->w, to, g->no_text ? 0 : TEXT_AT, p->ptr);
	u32 at = 8 + (has_text ? 8 : 7) * p->ptr;
	const struct strbuf *const parts[] = { &p->names, &p->units, &p->files, &p->pcs };
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		elfwrite_put(p->w, to, at, p->ptr);
		at += (u32)parts[i]->len;
	}
	elfwrite_put(p->w, to, at, p->ptr);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		strbuf_add(to, parts[i]->data, parts[i]->len);
	put_funcs(p, to, 0, 0, 0);
}

void gowrite_program(const struct gowrite *g, struct elfwrite *w)
{
	struct parts p = { .g = g, .w = w, .ptr = g->is32 ? 4 : 8 };
	struct strbuf table, rela;
	strbuf_init(&table);
	strbuf_init(&rela);
	elfwrite_begin(w, !g->is32, g->big, ET_DYN, g->is32 ? EM_386 : EM_X86_64);
	u32 text = elfwrite_section(w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT_AT,
				    NULL, TEXT_SIZE);
	elfwrite_load(w, text);
	put_strings(&p);
	if (g->layout == GOWRITE_1_2)
		put_old(&p, &table);
	else
		put_new(&p, &table);
	elfwrite_section(w, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, TABLE_AT, table.data, table.len);
	if (g->relocation) {
		elfwrite_put(w, &rela, TABLE_AT + 8 + 2 * p.ptr, 8);
		elfwrite_put(w, &rela, 8, 8); /* R_X86_64_RELATIVE */
		elfwrite_put(w, &rela, TEXT_AT, 8);
		elfwrite_section(w, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0xf000, rela.data, rela.len);
	}
	elfwrite_end(w);
	struct strbuf *const all[] = { &p.names, &p.units, &p.files, &p.pcs, &p.funcs, &table, &rela };
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		strbuf_done(all[i]);
}
