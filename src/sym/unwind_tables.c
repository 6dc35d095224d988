#include "sym/unwind_tables.h"
#include "sym/dso.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	CACHED_MIN_ROWS = 8192, /* smaller tables are made faster than a file is opened and checked */
	FRAMED_PERCENT = 90,
};

enum { EH_TABLE, DEBUG_TABLE, NR_TABLES };

struct unwind_image {
	atomic_bool ready[NR_TABLES];
	bool has[NR_TABLES];
	struct cfi_table tables[NR_TABLES]; /* of the image; of .debug_frame in its separate debug file */
	atomic_bool code_ready;
	struct elfimg code;
};

struct unwind_tables {
	struct unwind_config cfg;
	struct debugfile_where where;
	VEC(char *) refused; /* paths of files whose tables would take too much */
	pthread_mutex_t lock; /* who makes a table */
	struct unwind_image **images; /* [image]; NULL: never asked for */
	u32 nr;
};

struct unwind_tables *unwind_tables_new(const struct unwind_config *cfg)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->cfg = *cfg;
	t->where = (struct debugfile_where){ .places = cfg->places,
					     .opener = cfg->opener,
					     .root = cfg->symfs,
					     .dirs = cfg->debug_dirs,
					     .cache = cfg->buildid_dir };
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	for (u32 i = 0; i < t->nr; i++) {
		struct unwind_image *im = t->images[i];
		for (int k = 0; im && k < NR_TABLES; k++)
			if (im->has[k])
				cfi_done(&im->tables[k]);
		if (im && im->code.data)
			elfimg_close(&im->code);
		free(im);
	}
	free(t->images);
	vec_for_each (&t->refused, path)
		free(*path);
	vec_free(&t->refused);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

const struct arch *unwind_tables_arch(const struct unwind_tables *t)
{
	return t->cfg.arch;
}

int unwind_tables_reserve(struct unwind_tables *t, u32 nr)
{
	if (nr <= t->nr)
		return 0;
	u32 cap = max(nr, t->nr * 2);
	struct unwind_image **images = realloc(t->images, cap * sizeof(*images));
	if (!images)
		return -ENOMEM;
	memset(images + t->nr, 0, (cap - t->nr) * sizeof(*images));
	t->images = images;
	t->nr = cap;
	return 0;
}

static bool has_code(const struct image_info *info)
{
	return info->kind == IMAGE_KIND_FILE || info->kind == IMAGE_KIND_VDSO;
}

/* The entry of an image; NULL: no memory, or none that could have a table. */
static struct unwind_image *image_of(struct unwind_tables *t, u32 image,
				     const struct image_info *info)
{
	if (image >= t->nr || !has_code(info))
		return NULL;
	struct unwind_image *im = __atomic_load_n(&t->images[image], __ATOMIC_ACQUIRE);
	if (likely(im))
		return im;
	pthread_mutex_lock(&t->lock);
	im = t->images[image];
	if (!im) {
		im = calloc(1, sizeof(*im));
		__atomic_store_n(&t->images[image], im, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&t->lock);
	return im;
}

/* Only the program itself; the lock is held. */
static const struct elfimg *open_code(struct unwind_tables *t, struct unwind_image *im,
				      const struct image_info *info)
{
	if (!im->code_ready) {
		bool open = !dso_open_image(&im->code, &t->where, info);
		/* The vDSO of another machine is not to be had here. */
		if (open && im->code.machine != t->cfg.arch->elf_machine)
			elfimg_close(&im->code);
		if (!open)
			im->code = (struct elfimg){ 0 };
		im->code_ready = true;
	}
	return im->code.data ? &im->code : NULL;
}

/* The lock is held. */
static void note_refused(struct unwind_tables *t, const char *path)
{
	char **to = vec_push(&t->refused);
	if (to && !(*to = strdup(path)))
		t->refused.nr--;
}

void unwind_tables_report_refused(struct unwind_tables *t, struct diag *d)
{
	pthread_mutex_lock(&t->lock);
	vec_for_each (&t->refused, path) {
		diag_warn(d,
			  "%s: its unwind tables would take too much time or memory for a file of "
			  "its size: stacks end there",
			  *path);
		free(*path);
	}
	t->refused.nr = 0;
	pthread_mutex_unlock(&t->lock);
}

/* A file that is truncated meanwhile gives a table with holes: none is better. */
static bool build_table(struct unwind_tables *t, struct cfi_table *to, const char *path,
			const struct elfimg *from, const struct elfimg *runtime)
{
	int err = cfi_build(to, t->cfg.arch, from, runtime);
	if (err == -E2BIG)
		note_refused(t, path);
	if (err)
		return false;
	bool good = !elfimg_is_cut(from) && !elfimg_is_cut(runtime);
	if (!good)
		cfi_done(to);
	return good;
}

static void make_image_table(struct unwind_tables *t, struct unwind_image *im,
			     const struct image_info *info)
{
	struct buildid id = buildid_make(info->build_id, info->build_id_size);
	struct cfi_table *to = &im->tables[EH_TABLE];
	const struct elfimg *e = open_code(t, im, info);
	bool cached = e && id.size && t->cfg.cache;
	if (cached && !cfi_load(to, t->cfg.arch, t->cfg.cache, &id, &e->identity)) {
		im->has[EH_TABLE] = true;
		return;
	}
	im->has[EH_TABLE] = e && build_table(t, to, info->path, e, e);
	if (!im->has[EH_TABLE])
		return;
	/* A cache that cannot be written costs time, no more. */
	if (cached && to->nr_rows >= CACHED_MIN_ROWS)
		(void)!cfi_save(to, t->cfg.cache, &id, &e->identity);
}

static void make_debug_table(struct unwind_tables *t, struct unwind_image *im,
			     const struct image_info *info)
{
	const struct elfimg *e = open_code(t, im, info);
	struct buildid id;
	struct elfimg debug;
	if (!e || info->kind != IMAGE_KIND_FILE)
		return;
	if (buildid_of_image(e, &id))
		id.size = 0;
	if (debugfile_open(&t->where, info->path, e, &id, &debug))
		return;
	im->has[DEBUG_TABLE] = build_table(t, &im->tables[DEBUG_TABLE], info->path, &debug, e);
	elfimg_close(&debug);
}

static const struct cfi_table *table_of(struct unwind_tables *t, struct unwind_image *im,
					const struct image_info *info, int which)
{
	if (unlikely(!atomic_load_explicit(&im->ready[which], memory_order_acquire))) {
		pthread_mutex_lock(&t->lock);
		if (!im->ready[which]) {
			if (which == EH_TABLE)
				make_image_table(t, im, info);
			else
				make_debug_table(t, im, info);
			atomic_store_explicit(&im->ready[which], true, memory_order_release);
		}
		pthread_mutex_unlock(&t->lock);
	}
	return im->has[which] ? &im->tables[which] : NULL;
}

struct unwind_found unwind_tables_find(struct unwind_tables *t, u32 image,
				       const struct image_info *info, u64 offset)
{
	struct unwind_image *im = image_of(t, image, info);
	for (int which = 0; im && which < NR_TABLES; which++) {
		const struct cfi_table *table = table_of(t, im, info, which);
		const struct cfi_rule *rule = table ? cfi_find(table, offset) : NULL;
		if (rule)
			return (struct unwind_found){ .rule = rule, .table = table };
	}
	return (struct unwind_found){ 0 };
}

static const struct elfimg *code_of(struct unwind_tables *t, u32 image,
				    const struct image_info *info)
{
	struct unwind_image *im = image_of(t, image, info);
	if (!im)
		return NULL;
	pthread_mutex_lock(&t->lock);
	const struct elfimg *e = open_code(t, im, info);
	pthread_mutex_unlock(&t->lock);
	return e;
}

bool unwind_tables_is_code(struct unwind_tables *t, u32 image, const struct image_info *info,
			   u64 offset)
{
	const struct elfimg *e = code_of(t, image, info);
	struct elfimg_segment s;
	if (!e)
		return true;
	for (u32 i = 0; elfimg_segment(e, i, &s); i++)
		if (s.type == PT_LOAD && s.flags & PF_X && offset - s.offset < s.filesz)
			return true;
	return false;
}

bool unwind_tables_is_plt(struct unwind_tables *t, u32 image, const struct image_info *info,
			  u64 offset)
{
	const struct elfimg *e = code_of(t, image, info);
	struct elfimg_section s;
	for (u32 i = 1; e && elfimg_section(e, i, &s); i++)
		if (s.flags & SHF_EXECINSTR && offset - s.offset < s.size)
			return !strncmp(s.name, ".plt", 4) || !strcmp(s.name, ".iplt");
	return false;
}

size_t unwind_tables_code(struct unwind_tables *t, u32 image, const struct image_info *info,
			  u64 offset, bool before, u8 *to, size_t nr)
{
	const struct elfimg *e = code_of(t, image, info);
	if (!e || offset > e->size)
		return 0;
	nr = (size_t)min((u64)nr, before ? offset : e->size - offset);
	memcpy(to, e->data + offset - (before ? nr : 0), nr);
	return nr;
}

bool unwind_keeps_frame_pointers(const struct cfi_table *t)
{
	return t->nr_functions && (u64)t->nr_framed * 100 >= (u64)t->nr_functions * FRAMED_PERCENT;
}
