/*
 * Functions by name: the file's own symbols, its debug file's, the compressed table inside it; the linker's spelling first,
 * then the one a person writes. Static probes: SystemTap's notes (sys/sdt.h v3): pc, base and semaphore as words, then
 * provider, name, arguments; addresses shift by the distance between the recorded and the real address of .stapsdt.base.
 */
#include "event/probe_elf.h"

#include "base/bytes.h"
#include "event/closest.h"
#include "image/buildid.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { NOTE_STAPSDT = 3 };

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

int probe_elf_symbol(const char *path, const char *symbol, u64 *offset)
{
	struct elfimg e, debug, mini;
	int err = elfimg_open(&e, path, NULL);
	if (err < 0)
		return err;
	const struct elfimg *images[3] = { &e };
	size_t nr = 1;
	struct buildid id = { 0 };
	(void)!buildid_of_image(&e, &id);
	const struct debugfile_where where = { 0 };
	bool have_debug = debugfile_open(&where, path, &e, &id, &debug) == 0;
	if (have_debug)
		images[nr++] = &debug;
	bool have_mini = debugfile_open_mini(&e, &mini) == 0;
	if (have_mini)
		images[nr++] = &mini;
	err = find_symbol(images, nr, symbol, offset) ? 0 : -ENOENT;
	if (have_mini)
		elfimg_close(&mini);
	if (have_debug)
		elfimg_close(&debug);
	elfimg_close(&e);
	return err;
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

static u64 take_word(struct bytes *b, bool is64)
{
	return is64 ? bytes_u64(b) : bytes_u32(b);
}

static void align4(struct bytes *b, u32 size)
{
	bytes_skip(b, (4 - size % 4) % 4);
}

/* Calls fn for each static probe of the file. */
static int probe_elf_each_usdt(const char *path,
			       int (*fn)(void *, const char *, const char *, u64, u64), void *ctx)
{
	struct elfimg e;
	int err = elfimg_open(&e, path, NULL);
	if (err < 0)
		return err;
	struct elfimg_section notes, base_section;
	bool have_base = elfimg_section_by_name(&e, ".stapsdt.base", &base_section);
	const u8 *data = elfimg_section_by_name(&e, ".note.stapsdt", &notes)
				 ? elfimg_section_data(&e, &notes)
				 : NULL;
	struct bytes b = bytes_of(data ? data : (const u8 *)"", data ? notes.size : 0, e.swap);
	while (err >= 0 && bytes_left(&b) >= 12) {
		u32 name_size = bytes_u32(&b), desc_size = bytes_u32(&b), type = bytes_u32(&b);
		bytes_skip(&b, name_size);
		align4(&b, name_size);
		struct bytes d = bytes_sub(&b, desc_size);
		if (b.bad)
			break;
		if (bytes_left(&b))
			align4(&b, desc_size);
		u64 pc = take_word(&d, e.is64), base = take_word(&d, e.is64),
		    semaphore = take_word(&d, e.is64);
		const char *provider = bytes_cstr(&d), *name = provider ? bytes_cstr(&d) : NULL;
		if (type != NOTE_STAPSDT || !name)
			continue;
		u64 shift = have_base ? base_section.addr - base : 0, offset, semaphore_offset = 0;
		if (!elfimg_offset_of(&e, pc + shift, &offset) ||
		    (semaphore && !elfimg_offset_of(&e, semaphore + shift, &semaphore_offset)))
			continue;
		err = fn(ctx, provider, name, offset, semaphore_offset);
	}
	elfimg_close(&e);
	return min(err, 0);
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
	if (err < 0)
		return err;
	if (!w.found)
		return -ENOENT;
	*offset = w.offset;
	*semaphore = w.semaphore;
	return 0;
}
