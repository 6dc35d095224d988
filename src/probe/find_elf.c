/*
 * Functions of a file: its own symbols, those of its debug file, the compressed table inside it, the dynamic ones with their versions
 * (.gnu.version holds a number for each, .gnu.version_d the names: "memcpy@GLIBC_2.2.5" is an old one, "memcpy@@GLIBC_2.14" what programs
 * get that are linked today).
 */
#include "base/bytes.h"
#include "base/glob.h"
#include "base/str.h"
#include "event/closest.h"
#include "image/buildid.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "probe/find_symbol_impl.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSIONS_MAX = 4096, HIDDEN = 0x8000, IMAGES = 3 };

struct versions {
	const u8 *numbers; /* NULL: none */
	size_t nr;
	const char *names[256];
	bool swap;
};

struct file_search {
	struct symbol_search *s;
	const struct elfimg *images[IMAGES];
	size_t nr_images;
	struct versions versions;
	char name[256]; /* without its version */
	const char *version; /* "GLIBC_2.2.5"; NULL: none written */
	struct closest closest;
};

/* ---- versions -------------------------------------------------------------------------------------------------------------- */

static const char *string_at(const struct elfimg *e, const struct elfimg_section *strings, u32 at)
{
	const u8 *data = elfimg_section_data(e, strings);
	return data && at < strings->size && memchr(data + at, 0, strings->size - at)
		       ? (const char *)data + at
		       : NULL;
}

static void read_version_names(const struct elfimg *e, const struct elfimg_section *s,
			       struct versions *v)
{
	struct elfimg_section strings;
	const u8 *data = elfimg_section_data(e, s);
	if (!data || !elfimg_section(e, s->link, &strings))
		return;
	u64 at = 0;
	for (unsigned i = 0; i < VERSIONS_MAX && at < s->size; i++) {
		struct bytes b = bytes_of(data + at, s->size - at, e->swap);
		bytes_skip(&b, 4); /* vd_version, vd_flags */
		u16 number = bytes_u16(&b);
		bytes_skip(&b, 6); /* vd_cnt, vd_hash */
		u32 aux = bytes_u32(&b), next = bytes_u32(&b);
		if (b.bad || aux > s->size - at)
			return;
		struct bytes name = bytes_of(data + at + aux, s->size - at - aux, e->swap);
		u32 string = bytes_u32(&name);
		if (!name.bad && number < ARRAY_SIZE(v->names))
			v->names[number] = string_at(e, &strings, string);
		if (!next)
			return;
		at += next;
	}
}

static void read_versions(const struct elfimg *e, struct versions *v)
{
	struct elfimg_section s;
	*v = (struct versions){ .swap = e->swap };
	for (u32 i = 0; i < e->nr_sections; i++) {
		if (!elfimg_section(e, i, &s))
			continue;
		if (s.type == SHT_GNU_versym) {
			v->numbers = elfimg_section_data(e, &s);
			v->nr = v->numbers ? s.size / 2 : 0;
		} else if (s.type == SHT_GNU_verdef) {
			read_version_names(e, &s, v);
		}
	}
}

/* Whether the dynamic symbol is the one that is meant: by its version, or, where none was written, what is linked today. */
static bool version_fits(const struct file_search *f, size_t index)
{
	const struct versions *v = &f->versions;
	if (index >= v->nr)
		return !f->version;
	u16 number;
	memcpy(&number, v->numbers + index * 2, sizeof(number));
	if (v->swap)
		number = __builtin_bswap16(number);
	if (!f->version)
		return !(number & HIDDEN);
	const char *name = v->names[min((size_t)(number & ~HIDDEN), ARRAY_SIZE(v->names) - 1)];
	return name && !strcmp(name, f->version);
}

/* "memcpy@GLIBC_2.2.5", as a symbol table of a linked file spells it. */
static bool table_version_fits(const struct file_search *f, const char *at)
{
	bool is_default = at[1] == '@';
	if (!f->version)
		return is_default;
	return !strcmp(at + 1 + is_default, f->version);
}

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

enum pass { PASS_EXACT, PASS_CLONES, PASS_DEMANGLED, NR_PASSES };

/* The name without parameters, or with them; globs, where that is what was written. */
static bool demangled_fits(const struct file_search *f, const char *mangled)
{
	static const enum demangle_style styles[] = { DEMANGLE_SHORT, DEMANGLE_FULL };
	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R'))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		_cleanup_free_ char *name = demangle(mangled, styles[i]);
		if (name && (!strcmp(name, f->name) ||
			     (f->s->request->is_glob && glob_match(f->name, name))))
			return true;
	}
	return false;
}

/* dynamic: the version is told elsewhere. */
static bool name_fits(const struct file_search *f, const char *name, bool dynamic, enum pass pass)
{
	const char *at = strchr(name, '@');
	size_t len = at ? (size_t)(at - name) : strlen(name);
	if (at && !table_version_fits(f, at))
		return false;
	if (!at && f->version && !dynamic)
		return false;
	if (pass == PASS_CLONES)
		return symbol_is_clone(name, len, f->name);
	if (pass == PASS_DEMANGLED)
		return demangled_fits(f, name);
	if (!f->s->request->is_glob)
		return strlen(f->name) == len && !strncmp(f->name, name, len);
	char plain[512];
	(void)snprintf(plain, sizeof(plain), "%.*s", (int)min(len, sizeof(plain) - 1), name);
	return glob_match(f->name, plain);
}

static int search_table(struct file_search *f, const struct elfimg *e, u32 type, enum pass pass)
{
	struct elfimg_funcs it;
	struct elfimg_func func;
	int err = 0;
	if (!elfimg_funcs_init(&it, e, f->images[0], type))
		return 0;
	while (!err && elfimg_funcs_next(&it, &func)) {
		if (pass == PASS_EXACT && closest_offer(&f->closest, func.name))
			(void)snprintf(f->s->closest, sizeof(f->s->closest), "%s", func.name);
		if (!name_fits(f, func.name, type == SHT_DYNSYM, pass))
			continue;
		/* it.at is the index after the one that it gave. */
		if (type == SHT_DYNSYM && !strchr(func.name, '@') &&
		    (f->version || !f->s->request->is_glob) && it.at && !version_fits(f, it.at - 1))
			continue;
		err = symbol_search_add(
			f->s, &(struct symbol_match){ .name = func.name,
						      .start = func.start,
						      .size = func.size,
						      .is_ifunc = func.type == STT_GNU_IFUNC,
						      .is_clone = pass == PASS_CLONES });
	}
	return err;
}

/* Exact names first; the slow look at mangled ones is for what can be one. */
static int search_images(struct file_search *f)
{
	int err = 0;
	for (int pass = 0; pass < NR_PASSES && !err && !f->s->at.nr; pass++)
		for (size_t i = 0; i < f->nr_images && !err; i++) {
			err = search_table(f, f->images[i], SHT_SYMTAB, pass);
			if (!err)
				err = search_table(f, f->images[i], SHT_DYNSYM, pass);
		}
	return err ? err : f->s->at.nr ? 0 : -ENOENT;
}

/* "name@VERSION" or "name@@VERSION": unversioned tables know nothing of it. */
static void split_version(struct file_search *f, const char *function)
{
	const char *at = strchr(function, '@');
	(void)snprintf(f->name, sizeof(f->name), "%.*s",
		       at ? (int)(at - function) : (int)sizeof(f->name) - 1, function);
	if (at)
		f->version = at + 1 + (at[1] == '@');
}

int symbol_search_file(struct symbol_search *s)
{
	struct elfimg e, debug, mini;
	struct file_search f = { .s = s };
	int err = elfimg_open(&e, s->target->path, NULL);
	if (err < 0)
		return diag_error(s->diag, err, "cannot read %s: %s", s->target->path,
				  err == -ENOEXEC ? "not an ELF file" : strerror(-err));
	s->machine = e.machine;
	s->is64 = e.is64;
	f.images[f.nr_images++] = &e;
	struct buildid id = { 0 };
	(void)!buildid_of_image(&e, &id);
	const struct debugfile_where where = { 0 };
	bool have_debug = debugfile_open(&where, s->target->path, &e, &id, &debug) == 0;
	if (have_debug)
		f.images[f.nr_images++] = &debug;
	bool have_mini = debugfile_open_mini(&e, &mini) == 0;
	if (have_mini)
		f.images[f.nr_images++] = &mini;
	struct elfimg_symtab tab;
	s->is_stripped = !have_debug && !elfimg_symtab(&e, SHT_SYMTAB, &tab);
	s->ends_at = elfimg_lacks_end(&e, &s->should_end_at) ? e.size : 0;
	read_versions(&e, &f.versions);
	split_version(&f, s->request->function);
	closest_init(&f.closest, f.name, strlen(f.name));
	err = search_images(&f);
	if (have_mini)
		elfimg_close(&mini);
	if (have_debug)
		elfimg_close(&debug);
	elfimg_close(&e);
	return err;
}
