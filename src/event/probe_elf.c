/*
 * Functions by name: the file's own symbols, its debug file's, the compressed table inside it; the linker's spelling first,
 * then the one a person writes. Static probes: image/usdt_notes.
 */
#include "event/probe_elf.h"

#include "event/closest.h"
#include "image/buildid.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/disasm.h"
#include "image/elf.h"
#include "image/usdt_notes.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CODE_MAX = 1 << 20 };

/* Whether a person's spelling means this symbol: the name without parameters, or with them. */
static bool means(const char *mangled, const char *wanted)
{
	static const enum demangle_style styles[] = { DEMANGLE_SHORT, DEMANGLE_FULL };
	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R'))
		return false;
	bool same = false;
	for (size_t i = 0; i < ARRAY_SIZE(styles) && !same; i++) {
		_cleanup_free_ char *name = demangle(mangled, styles[i]);
		same = name && !strcmp(name, wanted);
	}
	return same;
}

static bool find_in(const struct elfimg *e, const struct elfimg *runtime, u32 type,
		    const char *symbol, bool mangled, u64 *offset)
{
	struct elfimg_funcs it;
	struct elfimg_func f;
	if (!elfimg_funcs_init(&it, e, runtime, type))
		return false;
	while (elfimg_funcs_next(&it, &f)) {
		if (mangled ? !means(f.name, symbol) : strcmp(f.name, symbol))
			continue;
		*offset = f.start;
		return true;
	}
	return false;
}

/* All tables, first by exact name. The slow look at mangled names is for what can be one. */
static bool find_symbol(const struct elfimg *const *images, size_t nr, const char *symbol,
			u64 *offset)
{
	for (int mangled = 0; mangled < 2; mangled++)
		for (size_t i = 0; i < nr; i++)
			if (find_in(images[i], images[0], SHT_SYMTAB, symbol, mangled, offset) ||
			    find_in(images[i], images[0], SHT_DYNSYM, symbol, mangled, offset))
				return true;
	return false;
}

/* A file and what else has symbols of it. */
struct tables {
	struct elfimg own, debug, mini;
	bool has_debug, has_mini;
	const struct elfimg *images[3];
	size_t nr;
};

static int tables_open(struct tables *t, const char *path)
{
	int err = elfimg_open(&t->own, path, NULL);
	if (err < 0)
		return err;
	struct buildid id = { 0 };
	(void)!buildid_of_image(&t->own, &id);
	const struct debugfile_where where = { 0 };
	t->nr = 0;
	t->images[t->nr++] = &t->own;
	t->has_debug = debugfile_open(&where, path, &t->own, &id, &t->debug) == 0;
	if (t->has_debug)
		t->images[t->nr++] = &t->debug;
	t->has_mini = debugfile_open_mini(&t->own, &t->mini) == 0;
	if (t->has_mini)
		t->images[t->nr++] = &t->mini;
	return 0;
}

static void tables_close(struct tables *t)
{
	if (t->has_mini)
		elfimg_close(&t->mini);
	if (t->has_debug)
		elfimg_close(&t->debug);
	elfimg_close(&t->own);
}

int probe_elf_symbol(const char *path, const char *symbol, u64 *offset)
{
	struct tables t;
	int err = tables_open(&t, path);
	if (err < 0)
		return err;
	err = find_symbol(t.images, t.nr, symbol, offset) ? 0 : -ENOENT;
	tables_close(&t);
	return err;
}

/* The function that holds an offset: of several the one that begins last. */
static bool function_around(const struct tables *t, u64 offset, struct elfimg_func *ret)
{
	static const u32 kinds[] = { SHT_SYMTAB, SHT_DYNSYM };
	bool found = false;
	for (size_t i = 0; i < t->nr * ARRAY_SIZE(kinds); i++) {
		struct elfimg_funcs it;
		struct elfimg_func f;
		if (!elfimg_funcs_init(&it, t->images[i / 2], t->images[0], kinds[i % 2]))
			continue;
		while (elfimg_funcs_next(&it, &f)) {
			bool holds = f.start <= offset && offset - f.start < f.size;
			if (!holds || (found && f.start <= ret->start))
				continue;
			*ret = f;
			found = true;
		}
	}
	return found;
}

/* As probe_elf_is_inside(), by decoding the function from its start. Data between instructions ends the check. */
static int decode_around(const struct elfimg *e, const struct elfimg_func *f, u64 offset,
			 struct probe_elf_spot *spot)
{
	struct disasm *dis;
	struct disasm_insn insn;
	u64 at = 0, wanted = offset - f->start;
	u64 size = f->start < e->size ? min(f->size, e->size - f->start) : 0;
	if (!wanted || !size || size > CODE_MAX)
		return 0;
	int err = disasm_open(e->machine, e->is64, DISASM_ATT, &dis);
	if (err)
		return err == -ENOMEM ? err : 0;
	spot->before = spot->after = 0;
	for (; at < wanted; at += insn.size) {
		if (!disasm_next(dis, e->data + f->start + at, size - at, at, &insn) ||
		    !strcmp(insn.mnemonic, "(bad)") || !strcmp(insn.mnemonic, ".inst"))
			break;
		spot->before = at;
	}
	disasm_close(dis);
	if (at < size)
		spot->after = at;
	spot->offset = wanted;
	(void)snprintf(spot->function, sizeof(spot->function), "%s", f->name);
	return at > wanted;
}

int probe_elf_is_inside(const char *path, u64 offset, struct probe_elf_spot *ret)
{
	struct tables t;
	struct elfimg_func f = { 0 };
	if (tables_open(&t, path) < 0)
		return 0;
	int inside = function_around(&t, offset, &f) ? decode_around(&t.own, &f, offset, ret) : 0;
	tables_close(&t);
	return inside;
}

bool probe_elf_is_ifunc(const char *path, u64 offset)
{
	static const u32 kinds[] = { SHT_DYNSYM, SHT_SYMTAB };
	struct elfimg e;
	bool found = false;
	if (elfimg_open(&e, path, NULL))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !found; i++) {
		struct elfimg_funcs it;
		struct elfimg_func f;
		if (!elfimg_funcs_init(&it, &e, &e, kinds[i]))
			continue;
		while (!found && elfimg_funcs_next(&it, &f))
			found = f.type == STT_GNU_IFUNC && f.start == offset;
	}
	elfimg_close(&e);
	return found;
}

bool probe_elf_moves_stacks(const char *path)
{
	static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab",
						".go.buildinfo" };
	struct elfimg e;
	struct elfimg_section s;
	bool found = false;
	if (elfimg_open(&e, path, NULL))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(sections) && !found; i++)
		found = elfimg_section_by_name(&e, sections[i], &s);
	elfimg_close(&e);
	return found;
}

static int each_in(const struct elfimg *e, const struct elfimg *runtime, u32 type,
		   int (*fn)(void *, const char *, u64), void *ctx)
{
	struct elfimg_funcs it;
	struct elfimg_func f;
	int rc = 0;
	if (!elfimg_funcs_init(&it, e, runtime, type))
		return 0;
	while (!rc && elfimg_funcs_next(&it, &f))
		rc = fn(ctx, f.name, f.start);
	return rc;
}

int probe_elf_each_function(const char *path, int (*fn)(void *, const char *, u64), void *ctx)
{
	struct elfimg e, debug = { 0 };
	int rc = elfimg_open(&e, path, NULL);
	if (rc < 0)
		return rc;
	struct elfimg_symtab own;
	struct buildid id = { 0 };
	(void)!buildid_of_image(&e, &id);
	const struct debugfile_where where = { 0 };
	const struct elfimg *full = &e;
	if (!elfimg_symtab(&e, SHT_SYMTAB, &own) && !debugfile_open(&where, path, &e, &id, &debug))
		full = &debug;
	rc = each_in(full, &e, SHT_SYMTAB, fn, ctx);
	if (!rc)
		rc = each_in(&e, &e, SHT_DYNSYM, fn, ctx);
	if (full != &e)
		elfimg_close(&debug);
	elfimg_close(&e);
	return rc;
}

bool probe_elf_close(const char *path, const char *symbol, char *close, size_t size)
{
	static const u32 tables[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct elfimg e;
	struct elfimg_funcs it;
	struct elfimg_func f;
	struct closest c;
	if (elfimg_open(&e, path, NULL) < 0)
		return false;
	closest_init(&c, symbol, strlen(symbol));
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		if (!elfimg_funcs_init(&it, &e, &e, tables[t]))
			continue;
		while (elfimg_funcs_next(&it, &f))
			if (strlen(f.name) < size && closest_offer(&c, f.name))
				memcpy(close, f.name, strlen(f.name) + 1);
	}
	elfimg_close(&e);
	return c.best;
}

int probe_elf_each_usdt(const char *path, int (*fn)(void *, const char *, const char *, u64, u64),
			void *ctx)
{
	struct elfimg e;
	struct usdt_notes notes;
	int err = elfimg_open(&e, path, NULL);
	if (err < 0)
		return err;
	err = usdt_notes_read(&e, &notes);
	elfimg_close(&e);
	if (err)
		return err;
	vec_for_each (&notes.at, n)
		if (err >= 0)
			err = fn(ctx, n->provider, n->name, n->offset, n->semaphore);
	usdt_notes_done(&notes);
	return min(err, 0);
}

int probe_elf_each_note(const char *path, int (*fn)(void *, const struct usdt_note *), void *ctx)
{
	struct elfimg e;
	struct usdt_notes notes;
	int err = elfimg_open(&e, path, NULL);
	if (err < 0)
		return err;
	err = usdt_notes_read(&e, &notes);
	elfimg_close(&e);
	if (err)
		return err;
	for (size_t i = 0; i < notes.at.nr && !err; i++)
		err = fn(ctx, &notes.at.at[i]);
	usdt_notes_done(&notes);
	return err;
}

struct usdt_wanted {
	const char *provider, *name;
	u64 offset, semaphore;
	bool found;
};

static int usdt_match(void *ctx, const char *provider, const char *name, u64 offset, u64 semaphore)
{
	struct usdt_wanted *w = ctx;
	if (w->found || strcmp(name, w->name) || (w->provider && strcmp(provider, w->provider)))
		return 0;
	w->offset = offset;
	w->semaphore = semaphore;
	w->found = true;
	return 0;
}

int probe_elf_usdt(const char *path, const char *provider, const char *name, u64 *offset,
		   u64 *semaphore)
{
	struct usdt_wanted w = { .provider = provider, .name = name };
	int err = probe_elf_each_usdt(path, usdt_match, &w);
	if (err)
		return err;
	*offset = w.offset;
	*semaphore = w.semaphore;
	return w.found ? 0 : -ENOENT;
}
