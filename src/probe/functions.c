/* The functions that can be probed by name, for -F: symbols of a file, or what the kernel lists. */
#include "base/par.h"
#include "image/demangle.h"
#include "kern/sysroot.h"
#include "probe/debuginfo.h"
#include "probe/name_filter.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char default_filter[] = "!_*";

struct list {
	VEC(const char *) raw; /* mangled; borrowed from the image or the text */
	VEC(char *) demangled; /* NULL: as it is */
};

static int add_raw(struct list *l, const char *name)
{
	const char **to = vec_push(&l->raw);
	if (!to)
		return -ENOMEM;
	*to = name;
	return 0;
}

/* ---- where names come from ---- */

static int add_table(struct list *l, const struct elfimg *e, u32 type)
{
	struct elfimg_symtab tab;
	if (!e->data || !elfimg_symtab(e, type, &tab))
		return 0;
	for (size_t i = 1; i < tab.nr; i++) {
		struct elfimg_sym s;
		elfimg_sym(e, &tab, i, &s);
		if ((s.type == STT_FUNC || s.type == STT_GNU_IFUNC) && s.shndx && *s.name) {
			int err = add_raw(l, s.name);
			if (err)
				return err;
		}
	}
	return 0;
}

/* A line of /proc/kallsyms: address, letter, name, and the module in brackets. Cuts the text into names. */
static int add_kallsyms(struct list *l, char *text, const char *module)
{
	int err = 0;
	for (char *line = text, *next; *line && !err; line = next) {
		char *end = strchr(line, '\n');
		next = end ? end + 1 : line + strlen(line);
		if (end)
			*end = '\0';
		char *letter = strchr(line, ' '), *name = letter ? strchr(letter + 1, ' ') : NULL;
		if (!name || !strchr("tTwW", letter[1]))
			continue;
		char *owner = strchr(++name, '\t');
		if (owner)
			*owner++ = '\0';
		size_t n = module ? strlen(module) : 0;
		bool ours = module ? owner && owner[0] == '[' && !strncmp(owner + 1, module, n) &&
					     owner[1 + n] == ']'
				   : !owner;
		if (ours)
			err = add_raw(l, name);
	}
	return err;
}

static int read_kallsyms(const struct probe_target *t, struct strbuf *text, struct diag *d)
{
	struct sysroot r;
	int err = sysroot_open(&r, t->root && *t->root ? t->root : NULL);
	if (err)
		return err;
	err = sysroot_read(&r, "proc/kallsyms", text);
	sysroot_close(&r);
	return err ? diag_error(d, err, "cannot read /proc/kallsyms: %s", strerror(-err)) : 0;
}

/* ---- sorting and demangling ---- */

static int by_name(const void *l, const void *r)
{
	return strcmp(*(const char *const *)l, *(const char *const *)r);
}

static void sort_once(struct list *l)
{
	size_t kept = 0;
	if (!l->raw.nr)
		return;
	qsort(l->raw.at, l->raw.nr, sizeof(*l->raw.at), by_name);
	for (size_t i = 0; i < l->raw.nr; i++)
		if (!kept || strcmp(l->raw.at[kept - 1], l->raw.at[i]))
			l->raw.at[kept++] = l->raw.at[i];
	l->raw.nr = kept;
}

enum { DEMANGLE_BATCH = 512 };

static int demangle_batch(void *ctx, unsigned worker, u32 index)
{
	struct list *l = ctx;
	size_t end = min((size_t)(index + 1) * DEMANGLE_BATCH, l->raw.nr);
	(void)worker;
	for (size_t i = (size_t)index * DEMANGLE_BATCH; i < end; i++)
		l->demangled.at[i] = demangle(l->raw.at[i], DEMANGLE_SHORT);
	return 0;
}

static int demangle_all(struct list *l)
{
	if (!l->raw.nr || !vec_reserve(&l->demangled, l->raw.nr))
		return l->raw.nr ? -ENOMEM : 0;
	l->demangled.nr = l->raw.nr;
	u32 batches = (u32)((l->raw.nr + DEMANGLE_BATCH - 1) / DEMANGLE_BATCH);
	return par_each(par_workers(0, batches, 4), batches, demangle_batch, l);
}

static int keep_names(struct list *l, const struct name_filter *filter, struct probe_functions *ret)
{
	for (size_t i = 0; i < l->raw.nr; i++) {
		const char *name =
			l->demangled.nr && l->demangled.at[i] ? l->demangled.at[i] : l->raw.at[i];
		if (!name_filter_match(filter, name))
			continue;
		const char **to = vec_push(&ret->names);
		if (!to || !(*to = arena_strdup(&ret->arena, name)))
			return -ENOMEM;
	}
	if (ret->names.nr)
		qsort(ret->names.at, ret->names.nr, sizeof(*ret->names.at), by_name);
	size_t kept = 0;
	for (size_t i = 0; i < ret->names.nr; i++)
		if (!kept || strcmp(ret->names.at[kept - 1], ret->names.at[i]))
			ret->names.at[kept++] = ret->names.at[i];
	ret->names.nr = kept;
	return 0;
}

static int finish(struct list *l, const struct name_filter *filter, bool demangled,
		  struct probe_functions *ret)
{
	sort_once(l);
	int err = demangled ? demangle_all(l) : 0;
	if (!err)
		err = keep_names(l, filter, ret);
	vec_for_each (&l->demangled, name)
		free(*name);
	vec_free(&l->demangled);
	vec_free(&l->raw);
	return err;
}

static int from_kernel(const struct probe_target *t, const struct name_filter *filter,
		       struct probe_functions *ret, struct diag *d)
{
	struct list l = { 0 };
	struct strbuf text;
	strbuf_init(&text);
	int err = read_kallsyms(t, &text, d);
	if (!err)
		strbuf_char(&text, '\0');
	if (!err)
		err = text.err ? -ENOMEM
			       : add_kallsyms(&l, text.data,
					      t->where == PROBE_MODULE ? t->module : NULL);
	if (!err)
		err = finish(&l, filter, false, ret);
	else
		vec_free(&l.raw);
	strbuf_done(&text);
	return err;
}

static int from_file(const struct probe_target *t, const struct name_filter *filter, bool demangled,
		     struct probe_functions *ret, struct diag *d)
{
	struct debuginfo info;
	struct list l = { 0 };
	struct elfimg_symtab tab;
	struct buildid id;
	int err = debuginfo_open_image(&info, t, d);
	if (err)
		return err;
	if (!elfimg_symtab(&info.image, SHT_SYMTAB, &tab)) {
		if (buildid_of_image(&info.image, &id))
			id.size = 0;
		if (debugfile_open(&info.where, info.path, &info.image, &id, &info.debug) &&
		    debugfile_open_mini(&info.image, &info.debug))
			info.debug = (struct elfimg){ 0 };
	}
	err = add_table(&l, &info.image, SHT_SYMTAB);
	if (!err)
		err = add_table(&l, &info.debug, SHT_SYMTAB);
	if (!err)
		err = add_table(&l, &info.image, SHT_DYNSYM);
	if (!err)
		err = finish(&l, filter, demangled, ret);
	debuginfo_close(&info);
	if (!err && !ret->names.nr && !l.raw.nr)
		diag_note(d, "no function of '%s' matches", t->path ? t->path : "the kernel");
	return err;
}

int probe_functions(const struct probe_target *target, const char *filter, bool demangled,
		    struct probe_functions *ret, struct diag *d)
{
	const struct name_filter *f;
	*ret = (struct probe_functions){ 0 };
	arena_init(&ret->arena);
	int err = name_filter_parse(filter ? filter : default_filter, &ret->arena, &f, d);
	if (err)
		return err;
	return target->path ? from_file(target, f, demangled, ret, d)
			    : from_kernel(target, f, ret, d);
}

void probe_functions_done(struct probe_functions *f)
{
	arena_done(&f->arena);
	vec_free(&f->names);
}
