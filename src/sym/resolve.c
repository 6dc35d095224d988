#include "sym/resolve.h"
#include "sym/answers.h"
#include "sym/dso.h"
#include "sym/kernel.h"
#include "sym/perfmap.h"
#include "sym/srcline.h"
#include "base/arena.h"
#include "base/dict.h"
#include "base/par.h"
#include "base/strbuf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct sym_names {
	struct names names;
	struct sym_config cfg;
	struct debugfile_where where;
	char *buildid_dir;
	struct arena *arenas; /* one a worker, for names */
	unsigned nr_arenas;
	u32 *func_of;
	struct name_func *funcs;
	u32 nr_funcs;
	u32 nr_ids;
	struct name_line *lines;
	struct name_stack *stacks, *callers;
	u32 *frame_of;
	VEC(struct answers) kept; /* of the groups */
};

/* One frame on its way: its place in the symbols' address space, and which distinct place that is. */
struct place {
	u64 at;
	u32 frame;
	u32 question;
};

struct answer {
	const char *name; /* NULL: none */
	u64 start, end;
	bool data;
};

/* Frames that one source of symbols answers: an image, or the kernel and all its modules. */
struct group {
	const struct image_info *info; /* the first image; of the kernel if it is there */
	struct place *places;
	u32 nr;
	u64 *questions;
	struct answer *answers;
	struct srcline_spot *spots; /* two a question (sym/srcline.h); NULL: nothing is known */
	u32 nr_questions;
	struct buildid id; /* of the file: as recorded, or as it says itself */
	struct answers kept; /* what the answers are borrowed from, if they were known already */
	int err; /* of reading the image; what to say about it */
	char *note, *hint;
};

struct job {
	struct sym_names *n;
	const struct catalog *catalog;
	const struct frame_table *frames;
	unsigned want;
	struct group *groups;
	u32 nr_groups;
	u64 *shift; /* [image]: symbols' address = frame's offset + shift */
	bool *silent; /* [image]: a module that is not where it was, and nobody knows where it went */
	struct place *places, *spare;
	atomic_uint next;
};

enum { LONGEST_NAME = 16 << 10, ALL_NAMES = 256 << 20 };

/* Radix sort by place, eight bits a pass; passes in which all agree are left out. */
static void sort_places(struct place *a, struct place *spare, u32 nr)
{
	u64 same_ones = ~0ull, same_zeroes = ~0ull;
	for (u32 i = 0; i < nr; i++) {
		same_ones &= a[i].at;
		same_zeroes &= ~a[i].at;
	}
	u64 differs = ~(same_ones | same_zeroes);
	struct place *from = a, *to = spare;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if (!(differs >> shift & 0xff))
			continue;
		u32 count[257] = { 0 };
		for (u32 i = 0; i < nr; i++)
			count[(from[i].at >> shift & 0xff) + 1]++;
		for (unsigned d = 1; d < 257; d++)
			count[d] += count[d - 1];
		for (u32 i = 0; i < nr; i++)
			to[count[from[i].at >> shift & 0xff]++] = from[i];
		struct place *swap = from;
		from = to;
		to = swap;
	}
	if (from != a)
		memcpy(a, from, nr * sizeof(*a));
}

/* Numbers the distinct places. */
static int ask(struct group *g, struct arena *arena)
{
	g->questions = arena_alloc(arena, g->nr * sizeof(*g->questions));
	if (!g->questions)
		return -ENOMEM;
	for (u32 i = 0; i < g->nr; i++) {
		if (!i || g->places[i].at != g->places[i - 1].at)
			g->questions[g->nr_questions++] = g->places[i].at;
		g->places[i].question = g->nr_questions - 1;
	}
	g->answers = arena_array(arena, g->nr_questions, sizeof(*g->answers));
	return g->answers ? 0 : -ENOMEM;
}

/*
 * The text of a name, copied, because the file it stands in will be closed. A name longer than anyone can read is cut: the
 * string table of a crafted file may be one name, shared by all.
 */
static const char *final_name(const struct symtab_sym *s, enum demangle_style style,
			      struct arena *arena)
{
	size_t len = s->name_len ? s->name_len : strnlen(s->name, LONGEST_NAME);
	const char *suffix = s->flags & SYMTAB_PLT ? "@plt" : "";
	_cleanup_free_ char *pretty = s->name_len ? NULL : demangle(s->name, style);
	const char *from = pretty ? pretty : s->name;
	if (pretty)
		len = strlen(pretty);
	len = min(len, (size_t)LONGEST_NAME);
	size_t tail = strlen(suffix);
	char *to = arena_alloc(arena, len + tail + 1);
	if (!to)
		return NULL;
	memcpy(to, from, len);
	memcpy(to + len, suffix, tail + 1);
	return to;
}

printf_like(2, 3) static void group_note(struct group *g, const char *fmt, ...)
{
	struct strbuf s;
	strbuf_init(&s);
	va_list ap;
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	free(g->note);
	g->note = strbuf_steal(&s);
}

static int answer(struct group *g, const struct symtab_sym *syms, enum demangle_style style,
		  struct arena *arena)
{
	size_t before = arena->total_bytes;
	for (u32 i = 0; i < g->nr_questions; i++) {
		struct answer *a = &g->answers[i];
		if (!syms[i].name || !syms[i].name[0])
			continue;
		*a = (struct answer){ .start = syms[i].start,
				      .end = syms[i].end,
				      .data = syms[i].data };
		if (arena->total_bytes - before > ALL_NAMES) {
			group_note(g,
				   "%s: the names of its functions are too long: some are left out",
				   g->info->path);
			return 0;
		}
		bool again = i && g->answers[i - 1].name && g->answers[i - 1].start == a->start;
		a->name = again ? g->answers[i - 1].name : final_name(&syms[i], style, arena);
		if (!a->name)
			return -ENOMEM;
	}
	return 0;
}

/* Pseudo files have no symbols, and that is no news to anyone. */
static bool is_no_file(const char *path)
{
	static const char *const starts[] = { "//anon",	 "[",	  "/dev/",
					      "/memfd:", "/SYSV", "/anon_hugepage" };
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(path, starts[i], strlen(starts[i])))
			return true;
	return path[0] != '/';
}

/* Lines and inlined functions of the group's questions. runtime NULL: they are addresses. */
static int resolve_lines(struct job *j, struct group *g, const struct elfimg *debug,
			 const struct elfimg *runtime, struct arena *arena)
{
	if (!debug || !(j->want & (WANT_LINE | WANT_INLINE)))
		return 0;
	struct srcline_opts o = { .debug = debug,
				  .runtime = runtime,
				  .where = &j->n->where,
				  .path = g->info->path,
				  .demangle = j->n->cfg.demangle,
				  .want = j->want,
				  .arena = arena };
	struct srcline_told told;
	g->spots = arena_array(arena, 2 * (size_t)g->nr_questions, sizeof(*g->spots));
	int err = g->spots ? srcline_find(&o, g->questions, g->nr_questions, g->spots, &told)
			   : -ENOMEM;
	if (!err && told.broken && !g->note)
		group_note(g,
			   "%s: its debugging information is damaged: lines and inlined functions "
			   "may be missing",
			   g->info->path);
	else if (!err && told.nr_split && j->want & WANT_INLINE && !g->note)
		group_note(
			g,
			"%s keeps its debugging information in other files (split DWARF): %s was "
			"not found, nor %s.dwp: inlined functions are missing",
			g->info->path, told.missing ? told.missing : "one of them", g->info->path);
	return err;
}

static struct answers_key key_of(const struct job *j, const struct group *g)
{
	return (struct answers_key){
		/* What is kept does not say what is data. */
		.folder = j->want & WANT_DATA ? NULL : j->n->cfg.cache,
		.id = g->id,
		.style = j->n->cfg.demangle,
		.want = j->want,
	};
}

/* A recording without build ids means the files that are there: their own will do. */
static void find_id(const struct job *j, struct group *g)
{
	struct elfimg e;
	g->id = buildid_make(g->info->build_id, g->info->build_id_size);
	if (g->id.size || dso_open_image(&e, &j->n->where, g->info))
		return;
	if (buildid_of_image(&e, &g->id))
		g->id.size = 0;
	elfimg_close(&e);
}

/* Whether every question was answered before. */
static bool all_kept(const struct group *g)
{
	for (u32 i = 0; i < g->nr_questions; i++)
		if (!answers_find(&g->kept, g->questions[i]))
			return false;
	return g->nr_questions;
}

static int take_kept(struct job *j, struct group *g, struct arena *arena)
{
	int err = 0;
	bool spots = j->want & (WANT_LINE | WANT_INLINE);
	if (spots && !(g->spots = arena_array(arena, 2 * (size_t)g->nr_questions, sizeof(*g->spots))))
		return -ENOMEM;
	for (u32 i = 0; i < g->nr_questions && !err; i++) {
		const struct answers_entry *e = answers_find(&g->kept, g->questions[i]);
		g->answers[i] =
			(struct answer){ answers_string(&g->kept, e->name), e->start, e->end };
		for (u32 k = 0; k < 2 && spots && !err; k++)
			err = answers_spot(&g->kept, &e->spots[k], arena, &g->spots[2 * i + k]);
	}
	return err;
}

/* Whether there is a full table of symbols, not only what the linker needs at run time. */
static bool has_all_symbols(const struct dso *d)
{
	struct elfimg_symtab t;
	return elfimg_symtab(&d->image, SHT_SYMTAB, &t) ||
	       (d->debug.data && elfimg_symtab(&d->debug, SHT_SYMTAB, &t));
}

/* Rows of bare addresses want an explanation; a few of them among names (libc's static functions) do not. */
static void note_stripped(struct group *g, u32 min_unnamed)
{
	u32 unnamed = 0;
	for (u32 i = 0; i < g->nr_questions; i++)
		unnamed += g->answers[i].name == NULL;
	if (!g->note && unnamed >= min_unnamed && unnamed > g->nr_questions / 2)
		group_note(g,
			   "%s is stripped: %u of the %u addresses in it have no name (a package "
			   "with its debugging information helps)",
			   g->info->path, unnamed, g->nr_questions);
}

/*
 * Only what cannot become better is kept: with the full table of symbols, and debugging information if that was asked for. Others may
 * find more once a debug file is installed.
 */
static void keep(struct job *j, struct group *g, const struct dso *d)
{
	bool lines = j->want & (WANT_LINE | WANT_INLINE);
	struct answers_key key = key_of(j, g);
	if (!key.folder || !key.id.size || !has_all_symbols(d) || (lines && !g->spots) || g->note)
		return;
	_cleanup_free_ struct answers_new *list = calloc(g->nr_questions, sizeof(*list));
	for (u32 i = 0; list && i < g->nr_questions; i++)
		list[i] =
			(struct answers_new){ .at = g->questions[i],
					      .start = g->answers[i].start,
					      .end = g->answers[i].end,
					      .name = g->answers[i].name,
					      .spots = g->spots ? &g->spots[2 * (size_t)i] : NULL };
	/* A cache that cannot be written costs time, no more. */
	if (list)
		(void)!answers_save(&key, &g->kept, list, g->nr_questions);
}

static int resolve_file(struct job *j, struct group *g, struct arena *arena)
{
	struct sym_names *n = j->n;
	const struct image_info *info = g->info;
	if (info->kind == IMAGE_KIND_FILE && is_no_file(info->path))
		return 0;
	if (n->cfg.cache)
		find_id(j, g);
	struct answers_key key = key_of(j, g);
	if (key.folder && key.id.size && !answers_open(&g->kept, &key) && all_kept(g))
		return take_kept(j, g, arena);
	struct dso d;
	int err = dso_open(&d, &n->where, info);
	if (err == -ENOMEM)
		return err;
	if (err == -ESTALE)
		group_note(g,
			   "%s: the file changed since the recording (its build id differs): its "
			   "functions stay without names",
			   info->path);
	else if (err == -ENOEXEC)
		group_note(g,
			   "%s is not a program that can be read: its functions stay without names",
			   info->path);
	else if (err)
		group_note(g, "%s: %s: its functions stay without names", info->path,
			   strerror(-err));
	if (err)
		return 0;
	_cleanup_free_ struct symtab_sym *syms = calloc(g->nr_questions, sizeof(*syms));
	d.objects = j->want & WANT_DATA;
	err = syms ? dso_find(&d, g->questions, g->nr_questions, syms) : -ENOMEM;
	if (!err)
		err = answer(g, syms, n->cfg.demangle, arena);
	if (!err && j->want & (WANT_LINE | WANT_INLINE))
		err = resolve_lines(j, g, dso_debug(&d, &n->where, info), &d.image, arena);
	if (!err)
		keep(j, g, &d);
	if (!err && n->cfg.min_unnamed && info->kind == IMAGE_KIND_FILE && !has_all_symbols(&d))
		note_stripped(g, n->cfg.min_unnamed);
	dso_close(&d);
	return err;
}

/* Others may write to /tmp: only a plain file of ours or root's is believed, unless we are root and believe everyone. */
static int map_text(int fd, const char **data, size_t *len)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return -ENOENT;
	if (st.st_uid && st.st_uid != geteuid() && geteuid())
		return -EPERM;
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*data = p;
	*len = (size_t)st.st_size;
	return 0;
}

static int resolve_anon(struct sym_names *n, struct group *g, struct arena *arena)
{
	char path[PATH_MAX];
	const char *dir = n->cfg.map_dir ? n->cfg.map_dir : "/tmp";
	int len = snprintf(path, sizeof(path), "%s/perf-%u.map", dir, g->info->pid);
	const char *text = NULL;
	size_t size = 0;
	if (!g->info->pid || len < 0 || (size_t)len >= sizeof(path))
		return 0;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	const struct debugfile_places *p = n->cfg.places;
	if (fd < 0 && p)
		fd = p->open_map(p->ctx, (s32)g->info->pid);
	int err = fd < 0 ? -ENOENT : map_text(fd, &text, &size);
	if (err == -EPERM)
		group_note(g, "%s belongs to another user and is not used", path);
	if (err)
		return 0;
	struct sweep s;
	_cleanup_free_ struct symtab_sym *syms = calloc(g->nr_questions, sizeof(*syms));
	err = syms ? sweep_init(&s, g->questions, g->nr_questions, SYMTAB_LAST) : -ENOMEM;
	if (!err) {
		(void)perfmap_sweep(text, size, &s);
		err = sweep_finish(&s, syms);
		if (!err)
			err = answer(g, syms, DEMANGLE_NO, arena);
		sweep_done(&s);
	}
	munmap((void *)(uintptr_t)text, size);
	return err;
}

/* A program the kernel told us about has one function: itself. */
static int resolve_bpf(struct group *g)
{
	for (u32 i = 0; i < g->nr_questions; i++)
		g->answers[i] = (struct answer){ g->info->name, g->info->start, g->info->end };
	return 0;
}

static bool in_kernel(const struct image_info *info)
{
	return info->kind == IMAGE_KIND_KERNEL || info->kind == IMAGE_KIND_MODULE;
}

static struct kernel_want kernel_want(const struct job *j, const struct group *g)
{
	struct kernel_want w = { .first = UINT64_MAX };
	for (u32 i = 0; i < g->nr; i++) {
		u32 image = j->frames->frames[g->places[i].frame].image;
		w.first = min(w.first, g->places[i].at);
		w.last = max(w.last, g->places[i].at);
		w.modules |= j->catalog->images.at[image].kind != IMAGE_KIND_KERNEL;
	}
	return w;
}

/* The source of kernel symbols decides where each image was moved, so it is opened before the places are known. */
static int resolve_kernel(struct job *j, struct group *g, struct arena *arena)
{
	struct sym_names *n = j->n;
	struct kernel_syms k;
	struct kernel_want want = kernel_want(j, g);
	int err = kernel_syms_open(&k, &n->cfg, &n->where, j->catalog, &want);
	if (err == -ENOMEM)
		return err;
	if (k.note) {
		g->note = k.note;
		g->hint = k.hint;
	}
	if (err)
		return 0;
	u32 nr_images = (u32)j->catalog->images.nr;
	for (u32 i = 0; i < nr_images; i++)
		if (in_kernel(&j->catalog->images.at[i]))
			j->silent[i] =
				!kernel_syms_shift(&k, &j->catalog->images.at[i], &j->shift[i]);
	for (u32 i = 0; i < g->nr; i++)
		g->places[i].at += j->shift[j->frames->frames[g->places[i].frame].image];
	sort_places(g->places, j->spare + (g->places - j->places), g->nr);
	err = ask(g, arena);
	_cleanup_free_ struct symtab_sym *syms = err ? NULL : calloc(g->nr_questions, sizeof(*syms));
	if (!err)
		err = syms ? kernel_syms_find(&k, g->questions, g->nr_questions, syms) : -ENOMEM;
	if (!err)
		err = answer(g, syms, DEMANGLE_NO, arena);
	if (!err && k.vmlinux.data)
		err = resolve_lines(j, g, &k.vmlinux, NULL, arena);
	kernel_syms_close(&k);
	return err;
}

static int resolve_group(struct job *j, struct group *g, struct arena *arena)
{
	if (in_kernel(g->info))
		return resolve_kernel(j, g, arena);
	sort_places(g->places, j->spare + (g->places - j->places), g->nr);
	int err = ask(g, arena);
	if (err)
		return err;
	switch (g->info->kind) {
	case IMAGE_KIND_FILE:
	case IMAGE_KIND_VDSO: return resolve_file(j, g, arena);
	case IMAGE_KIND_ANON: return resolve_anon(j->n, g, arena);
	case IMAGE_KIND_BPF: return resolve_bpf(g);
	default: return 0;
	}
}

static int resolve_worker(void *ctx, unsigned index)
{
	struct job *j = ctx;
	for (;;) {
		unsigned i = atomic_fetch_add(&j->next, 1);
		if (i >= j->nr_groups)
			return 0;
		int err = resolve_group(j, &j->groups[i], &j->n->arenas[index]);
		if (err)
			return err;
	}
}

/* Host code only: the symbols of a guest are not those of this machine. */
static bool has_symbols(const struct frame *f)
{
	return f->mode == FRAME_KERNEL || f->mode == FRAME_USER || f->mode == FRAME_UNKNOWN;
}

/* Which group an image's frames go to: all of the kernel shares one. */
static u32 group_key(const struct catalog *c, u32 image, u32 kernel)
{
	return in_kernel(&c->images.at[image]) ? kernel : image;
}

/* Deals the frames to their groups by counting; places of a group end up side by side. */
static int deal(struct job *j)
{
	const struct catalog *c = j->catalog;
	u32 nr_images = (u32)c->images.nr, kernel = nr_images;
	_cleanup_free_ u32 *count = calloc((size_t)nr_images + 2, sizeof(*count));
	j->groups = calloc((size_t)nr_images + 1, sizeof(*j->groups));
	if (!count || !j->groups)
		return -ENOMEM;
	for (u32 f = 1; f < j->frames->nr; f++) {
		const struct frame *fr = &j->frames->frames[f];
		if (fr->image && fr->image < nr_images && has_symbols(fr))
			count[group_key(c, fr->image, kernel)]++;
	}
	u32 at = 0;
	for (u32 i = 0; i <= kernel; i++) {
		u32 nr = count[i];
		count[i] = at;
		if (nr) {
			struct group *g = &j->groups[j->nr_groups++];
			g->places = j->places + at;
			g->nr = nr;
		}
		at += nr;
	}
	for (u32 f = 1; f < j->frames->nr; f++) {
		const struct frame *fr = &j->frames->frames[f];
		if (fr->image && fr->image < nr_images && has_symbols(fr))
			j->places[count[group_key(c, fr->image, kernel)]++] =
				(struct place){ fr->offset, f, 0 };
	}
	for (u32 i = 0; i < j->nr_groups; i++)
		j->groups[i].info =
			&c->images.at[j->frames->frames[j->groups[i].places[0].frame].image];
	return 0;
}

/* The largest first, so that no worker starts a long one when the others are done. */
static int by_size(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int kernel = in_kernel(y->info) - in_kernel(x->info);
	return kernel ? kernel : (x->nr < y->nr) - (x->nr > y->nr);
}

struct func_table {
	struct name_func *funcs;
	u32 nr;
	u32 *slots;
	u32 mask;
};

static bool same_func(const struct name_func *a, const struct name_func *b)
{
	return a->start == b->start && a->image == b->image && a->mode == b->mode &&
	       a->inlined == b->inlined && (!a->inlined || !strcmp(a->name, b->name));
}

static u32 func_add(struct func_table *t, const struct name_func *f)
{
	u64 h = (f->start ^ (u64)f->image << 40 ^ (u64)f->mode << 61) * 0x9e3779b97f4a7c15ull;
	if (f->inlined)
		h += hash_bytes(f->name, strlen(f->name));
	u32 at = (u32)(h >> 32) & t->mask;
	for (; t->slots[at]; at = (at + 1) & t->mask)
		if (same_func(&t->funcs[t->slots[at]], f))
			return t->slots[at];
	t->slots[at] = t->nr;
	t->funcs[t->nr] = *f;
	return t->nr++;
}

static void assign_group(const struct job *j, const struct group *g, struct func_table *t,
			 u32 *func_of)
{
	for (u32 i = 0; g->answers && i < g->nr; i++) {
		const struct place *p = &g->places[i];
		const struct answer *a = &g->answers[p->question];
		const struct frame *fr = &j->frames->frames[p->frame];
		if (!a->name || j->silent[fr->image])
			continue;
		u64 shift = j->shift[fr->image];
		func_of[p->frame] = func_add(t, &(struct name_func){
							.name = a->name,
							.start = a->start - shift,
							.end = a->end - shift,
							.image = fr->image,
							.mode = (u16)fr->mode,
							.data = a->data,
						});
	}
}

/* ---- stacks of inlined functions: ids behind those of the frames ---- */

struct stacker {
	struct sym_names *n;
	const struct job *j;
	struct func_table *t;
	struct arena *arena;
	u32 next;
};

static bool same_line(const struct name_line *a, const struct name_line *b)
{
	return a->line == b->line && a->file == b->file;
}

/* lines: those count as well, not only the functions. */
static bool same_spot(const struct srcline_spot *a, const struct srcline_spot *b, bool lines)
{
	if (a->nr != b->nr ||
	    (lines && (!same_line(&a->line, &b->line) || !same_line(&a->outer, &b->outer))))
		return false;
	for (u32 i = 0; i < a->nr; i++)
		if (a->inlines[i].name != b->inlines[i].name ||
		    (lines && !same_line(&a->inlines[i].line, &b->inlines[i].line)))
			return false;
	return true;
}

/* A place to return to is one behind its call; where a function begins there, the call was the last thing of another. */
static bool has_caller(const struct group *g, u32 question)
{
	return g->answers[question].name && g->questions[question] > g->answers[question].start;
}

/* How many ids a place takes: for itself, and as a place that is returned to. */
static void stack_sizes(const struct job *j, const struct group *g, u32 question, u32 nr[2])
{
	bool lines = j->want & WANT_LINE;
	const struct srcline_spot *s = &g->spots[2 * (size_t)question];
	bool named = g->answers[question].name;
	nr[0] = named && s[0].nr ? s[0].nr + 1 : 0;
	nr[1] = named && has_caller(g, question) && !same_spot(&s[0], &s[1], lines) ? s[1].nr + 1
										    : 0;
}

static u64 count_ids(const struct job *j)
{
	u64 ids = j->frames->nr;
	for (u32 i = 0; i < j->nr_groups; i++) {
		const struct group *g = &j->groups[i];
		for (u32 k = 0; g->spots && k < g->nr; k++) {
			u32 nr[2];
			stack_sizes(j, g, g->places[k].question, nr);
			ids += nr[0] + nr[1];
		}
	}
	return ids;
}

static int inline_func(struct stacker *st, u32 base, const char *name, u32 *ret)
{
	struct name_func f = st->t->funcs[base];
	f.name = name;
	f.inlined = true;
	f.label = NULL;
	u32 before = st->t->nr;
	*ret = func_add(st->t, &f);
	if (st->t->nr == before)
		return 0;
	static const char mark[] = " (inlined)";
	size_t len = strlen(name);
	char *label = arena_alloc(st->arena, len + sizeof(mark));
	if (!label)
		return -ENOMEM;
	memcpy(label, name, len);
	memcpy(label + len, mark, sizeof(mark));
	st->t->funcs[*ret].label = label;
	return 0;
}

static int make_stack(struct stacker *st, u32 frame, const struct srcline_spot *s,
		      struct name_stack *ret)
{
	struct sym_names *n = st->n;
	u32 base = n->func_of[frame];
	*ret = (struct name_stack){ st->next, s->nr + 1 };
	for (u32 i = 0; i <= s->nr; i++) {
		u32 id = st->next++;
		n->func_of[id] = base;
		n->frame_of[id] = frame;
		if (n->lines)
			n->lines[id] = i ? s->inlines[i - 1].line : s->outer;
		int err = i ? inline_func(st, base, s->inlines[i - 1].name, &n->func_of[id]) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int stack_group(struct stacker *st, const struct group *g)
{
	struct sym_names *n = st->n;
	int err = 0;
	for (u32 i = 0; g->spots && i < g->nr && !err; i++) {
		const struct place *p = &g->places[i];
		const struct srcline_spot *s = &g->spots[2 * (size_t)p->question];
		bool silent = st->j->silent[st->j->frames->frames[p->frame].image];
		u32 nr[2];
		stack_sizes(st->j, g, p->question, nr);
		if (n->lines && !silent)
			n->lines[p->frame] = s[0].line;
		if (silent || !n->frame_of)
			continue;
		if (nr[0])
			err = make_stack(st, p->frame, &s[0], &n->stacks[p->frame]);
		n->callers[p->frame] = n->stacks[p->frame];
		if (nr[1] && !err)
			err = make_stack(st, p->frame, &s[1], &n->callers[p->frame]);
	}
	return err;
}

static int make_stacks(struct job *j, struct func_table *t)
{
	struct sym_names *n = j->n;
	struct stacker st = { .n = n, .j = j, .t = t, .arena = &n->arenas[0], .next = j->frames->nr };
	if (j->want & WANT_LINE && !(n->lines = calloc((size_t)n->nr_ids + 1, sizeof(*n->lines))))
		return -ENOMEM;
	if (n->nr_ids > j->frames->nr) {
		n->frame_of = calloc((size_t)n->nr_ids + 1, sizeof(*n->frame_of));
		n->stacks = calloc((size_t)j->frames->nr + 1, sizeof(*n->stacks));
		n->callers = calloc((size_t)j->frames->nr + 1, sizeof(*n->callers));
		if (!n->frame_of || !n->stacks || !n->callers)
			return -ENOMEM;
		for (u32 f = 0; f < j->frames->nr; f++)
			n->frame_of[f] = f;
	}
	int err = 0;
	for (u32 i = 0; i < j->nr_groups && !err; i++)
		err = stack_group(&st, &j->groups[i]);
	return err;
}

/* Functions get their ids in the order of frames' groups; a frame without a symbol becomes a function of its own. */
static int assign(struct job *j)
{
	struct sym_names *n = j->n;
	u32 nr = j->frames->nr;
	u64 ids = count_ids(j);
	if (ids >= UINT32_MAX / 2)
		return -ENOMEM;
	n->nr_ids = (u32)ids;
	struct func_table t = { .nr = 1 };
	u32 cap = 16;
	while (cap < 2 * ids && cap < 1u << 31)
		cap *= 2;
	t.mask = cap - 1;
	t.slots = calloc(cap, sizeof(*t.slots));
	n->funcs = t.funcs = calloc((size_t)ids + 1, sizeof(*t.funcs));
	n->func_of = calloc((size_t)ids + 1, sizeof(*n->func_of));
	int err = t.slots && t.funcs && n->func_of ? 0 : -ENOMEM;
	for (u32 i = 0; i < j->nr_groups && !err; i++)
		assign_group(j, &j->groups[i], &t, n->func_of);
	for (u32 f = 1; f < nr && !err; f++) {
		const struct frame *fr = &j->frames->frames[f];
		if (n->func_of[f])
			continue;
		n->func_of[f] = t.nr;
		t.funcs[t.nr++] = (struct name_func){ .start = fr->offset,
						      .end = fr->offset,
						      .image = fr->image,
						      .mode = (u16)fr->mode };
	}
	if (!err)
		err = make_stacks(j, &t);
	free(t.slots);
	n->nr_funcs = t.nr;
	return err;
}

static void forget(struct sym_names *n)
{
	for (unsigned i = 0; i < n->nr_arenas; i++)
		arena_done(&n->arenas[i]);
	free(n->arenas);
	free(n->func_of);
	free(n->funcs);
	free(n->lines);
	free(n->stacks);
	free(n->callers);
	free(n->frame_of);
	vec_for_each (&n->kept, kept)
		answers_close(kept);
	vec_free(&n->kept);
	n->arenas = NULL;
	n->nr_arenas = 0;
	n->func_of = n->frame_of = NULL;
	n->funcs = NULL;
	n->lines = NULL;
	n->stacks = n->callers = NULL;
}

static int run_groups(struct job *j)
{
	struct sym_names *n = j->n;
	unsigned workers = n->cfg.workers ? n->cfg.workers : par_cpus();
	workers = max(min(workers, (unsigned)j->nr_groups), 1u);
	n->arenas = calloc(workers, sizeof(*n->arenas));
	if (!n->arenas)
		return -ENOMEM;
	n->nr_arenas = workers;
	for (unsigned i = 0; i < workers; i++)
		arena_init(&n->arenas[i]);
	qsort(j->groups, j->nr_groups, sizeof(*j->groups), by_size);
	return par_run(workers, resolve_worker, j);
}

/* A recording from elsewhere can miss hundreds of files: the heaviest are named. */
static void tell(const struct sym_config *cfg, const struct group *groups, u32 nr)
{
	u32 told = 0, more = 0;
	for (u32 i = 0; i < nr; i++) {
		const struct group *g = &groups[i];
		if (!g->note)
			continue;
		if (!g->hint && cfg->max_notes && told >= cfg->max_notes) {
			more++;
			continue;
		}
		told += !g->hint;
		diag_note(cfg->diag, "%s", g->note);
		if (g->hint)
			diag_hint(cfg->diag, "%s", g->hint);
	}
	if (more)
		diag_note(cfg->diag, "%u more files could not be used; -v names them all", more);
}

/* Who records without seeing the kernel's addresses cannot say where it lies: its frames are of no image. */
static void tell_hidden(const struct sym_config *cfg, const struct catalog *c,
			const struct frame_table *frames)
{
	bool any = false;
	for (u32 i = 1; i < frames->nr && !any; i++)
		any = frames->frames[i].mode == FRAME_KERNEL &&
		      frames->frames[i].image == IMAGE_NONE;
	vec_for_each (&c->images, image)
		any = any && image->kind != IMAGE_KIND_KERNEL;
	if (!any || !cfg->diag || cfg->kallsyms_given)
		return;
	diag_note(cfg->diag, "the recording does not say where the kernel was: its functions stay "
			     "without names");
	diag_hint(cfg->diag, "kptr_restrict hides that from whoever records: sudo sysctl "
			     "kernel.kptr_restrict=0, and record again");
}

static int sym_resolve(struct names *names, const struct catalog *c,
		       const struct frame_table *frames, unsigned want, struct names_result *ret)
{
	struct sym_names *n = container_of(names, struct sym_names, names);
	forget(n);
	struct job j = { .n = n, .catalog = c, .frames = frames, .want = want };
	j.places = calloc((size_t)frames->nr + 1, sizeof(*j.places));
	j.spare = calloc((size_t)frames->nr + 1, sizeof(*j.spare));
	j.shift = calloc(c->images.nr + 1, sizeof(*j.shift));
	j.silent = calloc(c->images.nr + 1, sizeof(*j.silent));
	int err = j.places && j.spare && j.shift && j.silent ? deal(&j) : -ENOMEM;
	if (!err)
		err = run_groups(&j);
	if (!err)
		err = assign(&j);
	tell(&n->cfg, j.groups, j.nr_groups);
	tell_hidden(&n->cfg, c, frames);
	for (u32 i = 0; i < j.nr_groups; i++) {
		struct answers *kept = j.groups[i].kept.mapped ? vec_push(&n->kept) : NULL;
		if (kept)
			*kept = j.groups[i].kept;
		else if (j.groups[i].kept.mapped) {
			answers_close(&j.groups[i].kept);
			err = -ENOMEM;
		}
		free(j.groups[i].note);
		free(j.groups[i].hint);
	}
	free(j.groups);
	free(j.places);
	free(j.spare);
	free(j.shift);
	free(j.silent);
	if (!err)
		*ret = (struct names_result){ .func_of = n->func_of,
					      .funcs = n->funcs,
					      .nr_funcs = n->nr_funcs,
					      .nr_frames = frames->nr,
					      .nr_ids = n->nr_ids,
					      .lines = n->lines,
					      .frame_of = n->frame_of,
					      .stacks = n->stacks,
					      .callers = n->callers };
	return err;
}

static void sym_free(struct names *names)
{
	struct sym_names *n = container_of(names, struct sym_names, names);
	forget(n);
	free(n->buildid_dir);
	free(n);
}

struct names *sym_names_new(const struct sym_config *cfg)
{
	static const struct names_ops ops = { .resolve = sym_resolve, .free = sym_free };
	struct sym_names *n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->names.ops = &ops;
	n->cfg = *cfg;
	n->buildid_dir = cfg->buildid_dir ? strdup(cfg->buildid_dir) : NULL;
	if (cfg->buildid_dir && !n->buildid_dir) {
		free(n);
		return NULL;
	}
	n->cfg.buildid_dir = n->buildid_dir;
	n->where = (struct debugfile_where){ .places = cfg->places,
					     .root = cfg->symfs,
					     .dirs = cfg->debug_dirs,
					     .cache = n->buildid_dir };
	return &n->names;
}
