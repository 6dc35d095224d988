#include "sym/dso.h"
#include "image/cfi.h"
#include "image/dwarf_info.h"
#include "image/gopclntab.h"
#include "image/plt.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* The kernel maps the vDSO whole into every process; its own headers tell how long it is. */
static int open_own_vdso(struct elfimg *e)
{
	uintptr_t at = getauxval(AT_SYSINFO_EHDR);
	if (!at)
		return -ENOENT;
	const ElfW(Ehdr) *h = (const void *)at;
	size_t size = h->e_shoff + (size_t)h->e_shentsize * h->e_shnum;
	size = max(size, (size_t)(h->e_phoff + (size_t)h->e_phentsize * h->e_phnum));
	return elfimg_open_memory(e, h, size);
}

/* Is this the file that ran? Without a recorded id nobody can say no. */
static bool is_recorded(const struct elfimg *e, const struct buildid *want)
{
	struct buildid got;
	return !want->size || (!buildid_of_image(e, &got) && buildid_equal(&got, want));
}

/*
 * The kernel writes "NAME (deleted)" for a mapped file that has no name any more, and whoever likes can put another file there. What
 * has such a name is opened only if the recording tells which build it has to be.
 */
static bool may_open(const struct image_info *info, const struct buildid *want)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(info->path), tail = sizeof(deleted) - 1;
	return info->path[0] == '/' &&
	       (want->size || len < tail || strcmp(info->path + len - tail, deleted) != 0);
}

/*
 * In another mount namespace the path is another file. Its build id tells which one; without, it has to be the process that was
 * recorded, and to have it mapped still.
 */
static int open_elsewhere(struct elfimg *e, const struct debugfile_where *w,
			  const struct image_info *info, const struct buildid *want)
{
	const struct debugfile_places *p = w->places;
	if (!p || info->kind != IMAGE_KIND_FILE || !may_open(info, want))
		return -ENOENT;
	for (unsigned n = 0;; n++) {
		_cleanup_close_ int fd =
			p->open(p->ctx, (s32)info->pid, info->path, n, !want->size, w->opener);
		if (fd == -ERANGE)
			return -ENOENT;
		if (fd < 0 || elfimg_open_fd(e, fd))
			continue;
		if (is_recorded(e, want))
			return 0;
		elfimg_close(e);
	}
}

static int open_image(struct elfimg *e, const struct debugfile_where *w,
		      const struct image_info *info, const struct buildid *want)
{
	char path[PATH_MAX];
	int err = -ENOENT;
	if (!want->size && !open_elsewhere(e, w, info, want))
		return 0;
	if (info->kind == IMAGE_KIND_VDSO)
		err = open_own_vdso(e);
	else if (may_open(info, want) && debugfile_path(w, info->path, path, sizeof(path)))
		err = debugfile_open_elf(w, path, e);
	if (!err && is_recorded(e, want))
		return 0;
	if (!err) {
		elfimg_close(e);
		err = -ESTALE;
	}
	const char *what = info->kind == IMAGE_KIND_VDSO ? "vdso" : "elf";
	if (!debugfile_cached(w, info->path, want, what, path, sizeof(path)) &&
	    !debugfile_open_elf(w, path, e)) {
		if (is_recorded(e, want)) {
			/* A copy is ours whosever program it is of: what it says must not name others that are gone. */
			e->identity.owner = UINT64_MAX;
			return 0;
		}
		elfimg_close(e);
	}
	return want->size && !open_elsewhere(e, w, info, want) ? 0 : err;
}

int dso_open_image(struct elfimg *e, const struct debugfile_where *w, const struct image_info *info)
{
	struct buildid id = buildid_make(info->build_id, info->build_id_size);
	return open_image(e, w, info, &id);
}

/* What holds the symbols of an image that is open. */
static void open_symbols(struct dso *d, const struct debugfile_where *w,
			 const struct image_info *info, struct buildid id)
{
	struct elfimg_symtab own, other;
	if (info->kind == IMAGE_KIND_VDSO || elfimg_symtab(&d->image, SHT_SYMTAB, &own))
		return;
	/* Stripped. The ids may be missing from the recording, not from the file. */
	if (buildid_of_image(&d->image, &id))
		id.size = 0;
	if (!debugfile_open(w, info->path, &d->image, &id, &d->debug)) {
		if (elfimg_symtab(&d->debug, SHT_SYMTAB, &other))
			return;
		elfimg_close(&d->debug);
	}
	/* Without it there is still .dynsym. */
	if (debugfile_open_mini(&d->image, &d->mini))
		d->mini = (struct elfimg){ 0 };
}

int dso_open(struct dso *d, const struct debugfile_where *w, const struct image_info *info)
{
	*d = (struct dso){ 0 };
	struct buildid id = buildid_make(info->build_id, info->build_id_size);
	int err = open_image(&d->image, w, info, &id);
	if (!err)
		open_symbols(d, w, info, id);
	return err;
}

int dso_open_fd(struct dso *d, const struct debugfile_where *w, const struct image_info *info,
		int fd)
{
	*d = (struct dso){ 0 };
	int err = elfimg_open_fd(&d->image, fd);
	if (!err)
		open_symbols(d, w, info, buildid_make(info->build_id, info->build_id_size));
	return err;
}

bool dso_is_cut(const struct dso *d)
{
	return elfimg_is_cut(&d->image) || elfimg_is_cut(&d->debug) || elfimg_is_cut(&d->lines);
}

void dso_close(struct dso *d)
{
	elfimg_close(&d->image);
	elfimg_close(&d->debug);
	elfimg_close(&d->mini);
	elfimg_close(&d->lines);
}

const struct elfimg *dso_debug(struct dso *d, const struct debugfile_where *w,
			       const struct image_info *info)
{
	if (dwinfo_has(&d->image))
		return &d->image;
	if (d->debug.data && dwinfo_has(&d->debug))
		return &d->debug;
	struct buildid id;
	if (info->kind == IMAGE_KIND_VDSO || d->lines.data)
		return d->lines.data ? &d->lines : NULL;
	if (buildid_of_image(&d->image, &id))
		id.size = 0;
	if (debugfile_open(w, info->path, &d->image, &id, &d->lines))
		return NULL;
	if (dwinfo_has(&d->lines))
		return &d->lines;
	elfimg_close(&d->lines);
	return NULL;
}

bool dso_has_all_symbols(const struct dso *d)
{
	struct elfimg_symtab t;
	return elfimg_symtab(&d->image, SHT_SYMTAB, &t) ||
	       (d->debug.data && elfimg_symtab(&d->debug, SHT_SYMTAB, &t));
}

struct dso_tables {
	const struct elfimg *files[2];
	u32 types[2];
};

/* The fullest table there is. Minidebuginfo leaves out what .dynsym has, so those two go together. */
static struct dso_tables tables_of(const struct dso *d)
{
	struct elfimg_symtab t;
	if (elfimg_symtab(&d->image, SHT_SYMTAB, &t))
		return (struct dso_tables){ { &d->image }, { SHT_SYMTAB } };
	if (d->debug.data)
		return (struct dso_tables){ { &d->debug }, { SHT_SYMTAB } };
	return (struct dso_tables){ { &d->image, d->mini.data ? &d->mini : NULL },
				    { SHT_DYNSYM, SHT_SYMTAB } };
}

static struct symtab_sym sym_of(const struct elfimg_func *f)
{
	return (struct symtab_sym){
		.start = f->start,
		.end = f->start + f->size,
		.limit = f->limit,
		.name = f->name,
		.flags = f->bind == STB_WEAK	? SYMTAB_WEAK
			 : f->bind == STB_LOCAL ? SYMTAB_LOCAL
						: 0,
		.data = f->type == STT_OBJECT,
	};
}

/* A Go program has its names twice: what strip takes are only the symbols. */
static bool has_go_names(const struct dso *d, struct gopclntab *t)
{
	return !dso_has_all_symbols(d) && !gopclntab_open(t, &d->image);
}

static bool go_sym(const struct dso *d, const struct gopclntab *t, u32 index, struct symtab_sym *ret)
{
	struct gopclntab_func f;
	u64 start;
	if (!gopclntab_func(t, index, &f) || !elfimg_offset_of(&d->image, f.start, &start))
		return false;
	*ret = (struct symtab_sym){ .start = start,
				    .end = start + (f.end - f.start),
				    .name = f.name,
				    .flags = SYMTAB_LOCAL };
	return ret->end > start;
}

static void sweep_go(const struct dso *d, struct sweep *s)
{
	struct gopclntab t;
	struct symtab_sym sym;
	if (!has_go_names(d, &t))
		return;
	for (u32 i = 0; i < t.nr; i++)
		if (go_sym(d, &t, i, &sym))
			sweep_add(s, &sym);
}

/* Tells all functions to the sweep, as file offsets of the image. Names are borrowed until dso_close. */
static void dso_sweep(const struct dso *d, struct sweep *s)
{
	struct dso_tables t = tables_of(d);
	for (int i = 0; i < 2; i++) {
		struct elfimg_funcs it;
		struct elfimg_func f;
		if (!t.files[i] || !elfimg_funcs_init(&it, t.files[i], &d->image, t.types[i]))
			continue;
		it.objects = d->objects;
		while (elfimg_funcs_next(&it, &f)) {
			struct symtab_sym sym = sym_of(&f);
			sweep_add(s, &sym);
		}
	}
}

static int find_plain(const struct dso *d, const u64 *at, u32 nr, struct symtab_sym *ret)
{
	struct sweep s;
	int err = sweep_init(&s, at, nr, SYMTAB_BEST);
	if (err)
		return err;
	dso_sweep(d, &s);
	sweep_go(d, &s);
	err = sweep_finish(&s, ret);
	sweep_done(&s);
	return err;
}

struct target {
	u64 at;
	const char *name;
};

static int by_target(const void *a, const void *b)
{
	const struct target *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

/* The plainest of an indirect function's names is the one its callers wrote: strlen, not __strlen or __GI_strlen. */
static bool is_plainer(const char *a, const char *b)
{
	size_t ua = strspn(a, "_"), ub = strspn(b, "_");
	return ua != ub ? ua < ub : strlen(a) < strlen(b);
}

static void name_targets(const struct dso *d, struct target *targets, size_t nr)
{
	struct dso_tables t = tables_of(d);
	for (int i = 0; i < 2; i++) {
		struct elfimg_funcs it;
		struct elfimg_func f;
		if (!t.files[i] || !elfimg_funcs_init(&it, t.files[i], &d->image, t.types[i]))
			continue;
		while (elfimg_funcs_next(&it, &f)) {
			struct target key = { .at = f.start }, *hit;
			if (f.type != STT_GNU_IFUNC ||
			    !(hit = bsearch(&key, targets, nr, sizeof(key), by_target)))
				continue;
			if (!hit->name || is_plainer(f.name, hit->name))
				hit->name = f.name;
		}
	}
}

/* A stub of an indirect function inside the image carries no name: it is called what its resolver is called. */
static int name_by_target(const struct dso *d, struct plt_hit *hits, size_t nr)
{
	_cleanup_free_ struct target *targets = calloc(nr + 1, sizeof(*targets));
	if (!targets)
		return -ENOMEM;
	size_t all = 0, distinct = 0;
	for (size_t i = 0; i < nr; i++)
		if (!hits[i].name && hits[i].target)
			targets[all++].at = hits[i].target;
	if (!all)
		return 0;
	qsort(targets, all, sizeof(*targets), by_target);
	for (size_t i = 0; i < all; i++)
		if (!i || targets[i].at != targets[distinct - 1].at)
			targets[distinct++] = targets[i];
	name_targets(d, targets, distinct);
	for (size_t i = 0; i < nr; i++) {
		struct target key = { .at = hits[i].target };
		struct target *hit =
			hits[i].name ? NULL
				     : bsearch(&key, targets, distinct, sizeof(key), by_target);
		if (hit)
			hits[i].name = hit->name;
	}
	return 0;
}

static int find_stubs(const struct dso *d, const u64 *at, u32 nr, struct symtab_sym *ret)
{
	struct plt_hit *hits;
	size_t nr_hits;
	int err = plt_find(&d->image, at, nr, &hits, &nr_hits);
	if (!err && nr_hits)
		err = name_by_target(d, hits, nr_hits);
	u32 q = 0;
	for (size_t i = 0; i < nr_hits && !err; i++) {
		const struct plt_hit *h = &hits[i];
		while (at[q] < h->offset)
			q++;
		/* Code of stub sections is never the tail of the symbol before it. */
		ret[q] = (struct symtab_sym){ 0 };
		if (!h->name || !h->end)
			continue;
		bool header = !strcmp(h->name, ".plt");
		ret[q] = (struct symtab_sym){ .start = h->start,
					      .end = h->end,
					      .name = h->name,
					      .flags = header ? 0 : SYMTAB_PLT };
	}
	free(hits);
	return err;
}

/* What is left without a symbol, in a file that was stripped of them: its unwind tables tell one function from the next. */
static int find_bounds(struct dso *d, const u64 *at, u32 nr, struct symtab_sym *ret)
{
	struct cfi_range *ranges = NULL;
	size_t nr_ranges = 0, r = 0;
	u32 i = 0;
	while (i < nr && ret[i].name)
		i++;
	if (i == nr || d->bounds_refused || dso_has_all_symbols(d))
		return 0;
	int err = cfi_ranges(&d->image, &ranges, &nr_ranges);
	d->bounds_refused = err == -E2BIG;
	for (; i < nr && !err; i++) {
		while (r < nr_ranges && ranges[r].end <= at[i])
			r++;
		if (r < nr_ranges && ranges[r].start <= at[i] && !ret[i].name)
			ret[i] = (struct symtab_sym){ .start = ranges[r].start,
						      .end = ranges[r].end,
						      .name = "func",
						      .flags = SYMTAB_BOUNDS };
	}
	free(ranges);
	return err == -ENOMEM ? err : 0;
}

int dso_find(struct dso *d, const u64 *at, u32 nr, struct symtab_sym *ret)
{
	int err = find_plain(d, at, nr, ret);
	if (!err && d->bounds)
		err = find_bounds(d, at, nr, ret);
	return err ? err : find_stubs(d, at, nr, ret);
}

struct sym_list {
	VEC(struct symtab_sym) all;
	bool failed;
};

static void list_add(struct sym_list *l, const struct symtab_sym *sym)
{
	struct symtab_sym *to = l->failed ? NULL : vec_push(&l->all);
	l->failed |= !to;
	if (!to)
		return;
	*to = *sym;
	to->seq = (u32)l->all.nr;
}

int dso_table(const struct dso *d, struct symtab *ret)
{
	struct dso_tables t = tables_of(d);
	struct sym_list list = { 0 };
	struct gopclntab go;
	struct symtab_sym sym;
	for (int i = 0; i < 2; i++) {
		struct elfimg_funcs it;
		struct elfimg_func f;
		if (!t.files[i] || !elfimg_funcs_init(&it, t.files[i], &d->image, t.types[i]))
			continue;
		while (!list.failed && elfimg_funcs_next(&it, &f)) {
			sym = sym_of(&f);
			list_add(&list, &sym);
		}
	}
	bool has_go = has_go_names(d, &go);
	for (u32 i = 0; has_go && i < go.nr && !list.failed; i++)
		if (go_sym(d, &go, i, &sym))
			list_add(&list, &sym);
	if (!list.failed)
		return symtab_build(ret, list.all.at, list.all.nr, SYMTAB_BEST);
	vec_free(&list.all);
	return -ENOMEM;
}
