/* Answers for the frames of one group: the name, and if asked for the line and inlined functions, of each distinct place in it. */
#include "sym/resolve_impl.h"
#include "base/foreign.h"
#include "base/guard.h"
#include "base/strbuf.h"
#include "image/gopclntab.h"
#include "sym/dso.h"
#include "sym/kernel.h"
#include "sym/perfmap.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_NAME = 16 << 10, ALL_NAMES = 256 << 20, PERFMAP_MAX = 256 << 20 };

/* Radix sort by place, eight bits a pass; passes in which all agree are left out. */
static void sort_places(struct resolve_place *a, struct resolve_place *spare, u32 nr)
{
	u64 same_ones = ~0ull, same_zeroes = ~0ull;
	for (u32 i = 0; i < nr; i++) {
		same_ones &= a[i].at;
		same_zeroes &= ~a[i].at;
	}
	u64 differs = ~(same_ones | same_zeroes);
	struct resolve_place *from = a, *to = spare;
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
		struct resolve_place *swap = from;
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
	bool plain = s->name_len || s->flags & SYMTAB_BOUNDS;
	char room[SYMTAB_NAME_ROOM];
	_cleanup_free_ char *pretty = plain ? NULL : demangle(s->name, style);
	const char *from = pretty ? pretty : symtab_name(s, room);
	if (pretty || s->flags & SYMTAB_BOUNDS)
		len = strlen(from);
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
				      .data = syms[i].data,
				      .bounds = syms[i].flags & SYMTAB_BOUNDS };
		if (arena->total_bytes - before > ALL_NAMES) {
			group_note(g, "%s: its function names are too long: some were skipped",
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

/* A budget of the file ended it (base/budget.h). */
static void note_spent(struct group *g, const char *stage, const char *result)
{
	group_note(g, "%s: %s would take too much time or memory for a file of its size: %s",
		   g->info->path, stage, result);
}

/* Lines and inlined functions of the group's questions. runtime NULL: they are addresses. */
static int resolve_lines(struct job *j, struct group *g, const struct elfimg *debug,
			 const struct elfimg *runtime, struct arena *arena)
{
	struct gopclntab unused;
	if (!(j->want & (WANT_LINE | WANT_INLINE)) ||
	    (!debug && (!runtime || gopclntab_open(&unused, runtime))))
		return 0;
	struct srcline_opts o = { .debug = debug,
				  .go = runtime,
				  .runtime = runtime,
				  .where = &j->n->where,
				  .path = g->info->path,
				  .demangle = j->n->cfg.demangle,
				  .want = j->want,
				  .arena = arena };
	struct srcline_told told;
	g->spots = arena_array(arena, 2 * (size_t)g->nr_questions, sizeof(*g->spots));
	g->go_lines = !debug;
	int err = g->spots ? srcline_find(&o, g->questions, g->nr_questions, g->spots, &told)
			   : -ENOMEM;
	if (!err && told.spent && !g->note)
		note_spent(g, told.spent, "lines and inlined functions may be missing");
	else if (!err && told.broken && !g->note)
		group_note(
			g, "%s: its debug information is damaged: lines and inlined functions may be missing",
			g->info->path);
	else if (!err && told.nr_split && j->want & WANT_INLINE && !g->note)
		group_note(g,
			   "%s keeps its debug information in other files (split DWARF): %s was "
			   "not found, nor %s.dwp: inlined functions are missing",
			   g->info->path, told.missing ? told.missing : "one of them",
			   g->info->path);
	return err;
}

/* For what is known of the file: it is open, and what it is called by is its own build id where none was recorded. */
static struct answers_key key_of(const struct job *j, struct group *g, const struct dso *d)
{
	g->id = buildid_make(g->info->build_id, g->info->build_id_size);
	int err = g->id.size ? 0 : d->image.data ? buildid_of_image(&d->image, &g->id) : -ENOENT;
	if (err)
		g->id.size = 0;
	if (err == -E2BIG && !g->note)
		note_spent(g, "reading its notes", "its build ID is unknown");
	return (struct answers_key){
		/* What is kept does not say what is data. */
		.folder = j->want & WANT_DATA || !g->id.size ? NULL : j->n->cfg.cache,
		.id = g->id,
		.files = { d->image.identity, d->debug.identity, d->lines.identity },
		.style = j->n->cfg.demangle,
		.want = j->want,
	};
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

/* Rows of bare addresses want an explanation; a few of them among names (libc's static functions) do not. */
static void note_stripped(struct group *g, u32 min_unnamed)
{
	u32 unnamed = 0;
	for (u32 i = 0; i < g->nr_questions; i++)
		unnamed += !g->answers[i].name || g->answers[i].bounds;
	if (g->note || unnamed < min_unnamed || unnamed <= g->nr_questions / 2)
		return;
	group_note(g, "%s is stripped: %u of the %u addresses in it have no symbol", g->info->path,
		   unnamed, g->nr_questions);
	g->stripped = true;
}

/* Each file that was read, and not expanded from another one, can be told from others. */
static bool all_identified(const struct dso *d)
{
	return d->image.identity.ino && (!d->debug.data || d->debug.identity.ino) &&
	       (!d->lines.data || d->lines.identity.ino);
}

/*
 * Only what cannot become better is kept: with the full table of symbols, and debugging information if that was asked for. Others may
 * find more once a debug file is installed.
 */
static void keep(struct job *j, struct group *g, const struct answers_key *key, const struct dso *d)
{
	bool lines = j->want & (WANT_LINE | WANT_INLINE);
	if (!key->folder || !dso_has_all_symbols(d) || (lines && !g->spots) || g->note ||
	    !all_identified(d))
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
		(void)!answers_save(key, &g->kept, list, g->nr_questions);
}

static void drop_answers(struct group *g)
{
	memset(g->answers, 0, g->nr_questions * sizeof(*g->answers));
	g->spots = NULL;
	group_note(g, "%s was truncated while it was being read: its functions are not named",
		   g->info->path);
}

/* The file is gone: whether everything was answered before, from files that nobody else can have put there. */
static bool take_trusted(const struct job *j, struct group *g)
{
	struct dso none = { 0 };
	struct answers_key key = key_of(j, g, &none);
	for (u32 n = 0; key.folder && !answers_open_trusted(&g->kept, &key, n); n++) {
		if (all_kept(g))
			return true;
		answers_close(&g->kept);
	}
	return false;
}

/* Names of the group's questions, out of the files. */
static int look_up(struct job *j, struct group *g, struct dso *d, const struct elfimg *debug,
		   struct arena *arena)
{
	_cleanup_free_ struct symtab_sym *syms = calloc(g->nr_questions, sizeof(*syms));
	d->objects = j->want & WANT_DATA;
	d->bounds = j->n->cfg.bounds;
	int err = syms ? dso_find(d, g->questions, g->nr_questions, syms) : -ENOMEM;
	if (!err)
		err = answer(g, syms, j->n->cfg.demangle, arena);
	if (!err && d->bounds_refused && !g->note)
		note_spent(g, "listing its functions", "those without a symbol are shown as one");
	return err ? err : resolve_lines(j, g, debug, &d->image, arena);
}

static int resolve_file(struct job *j, struct group *g, struct arena *arena)
{
	struct sym_names *n = j->n;
	const struct image_info *info = g->info;
	if (info->kind == IMAGE_KIND_FILE && is_no_file(info->path))
		return 0;
	struct dso d;
	int err = dso_open(&d, &n->where, info);
	if (err == -ENOMEM)
		return err;
	if (err && take_trusted(j, g))
		return take_kept(j, g, arena);
	if (err == -ESTALE)
		group_note(g,
			   "%s: the file has changed since the recording (its build ID differs): "
			   "its functions are not named",
			   info->path);
	else if (err == -ENOEXEC && !n->cfg.of_data)
		group_note(g, "%s is not a readable program: its functions are not named",
			   info->path);
	else if (err && err != -ENOEXEC)
		group_note(g, "%s: %s: its functions are not named", info->path, strerror(-err));
	if (err)
		return 0;
	bool lines = j->want & (WANT_LINE | WANT_INLINE);
	const struct elfimg *debug = lines ? dso_debug(&d, &n->where, info) : NULL;
	struct answers_key key = key_of(j, g, &d);
	if (key.folder && !answers_open(&g->kept, &key) && all_kept(g)) {
		dso_close(&d);
		return take_kept(j, g, arena);
	}
	err = look_up(j, g, &d, debug, arena);
	if (!err && dso_is_cut(&d))
		drop_answers(g);
	else if (!err)
		keep(j, g, &key, &d);
	if (!err && n->cfg.min_unnamed && info->kind == IMAGE_KIND_FILE && !dso_has_all_symbols(&d))
		note_stripped(g, n->cfg.min_unnamed);
	dso_close(&d);
	return err;
}

/* What lies in /tmp may be anybody's: who wrote it decides. *cut: it is longer than what is looked at. */
static int map_text(int fd, s64 process_uid, const char **data, size_t *len, bool *cut)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (!st.st_size)
		return -ENOENT;
	int err = foreign_check_writer(fd, process_uid);
	const void *p;
	*cut = st.st_size > PERFMAP_MAX;
	*len = (size_t)min((u64)st.st_size, (u64)PERFMAP_MAX);
	if (!err)
		err = guard_map(fd, *len, false, NULL, &p);
	if (!err)
		*data = p;
	return err;
}

/* The file of the process, opened and mapped; 0, or why not. */
static int open_map_file(struct sym_names *n, struct group *g, const char **text, size_t *size)
{
	char path[PATH_MAX];
	const char *dir = n->cfg.map_dir ? n->cfg.map_dir : "/tmp";
	int len = snprintf(path, sizeof(path), "%s/perf-%u.map", dir, g->info->pid);
	if (!g->info->pid || len < 0 || (size_t)len >= sizeof(path))
		return -ENOENT;
	_cleanup_close_ int fd =
		opener_open_path(n->cfg.opener, path, FOREIGN_NOFOLLOW | FOREIGN_OWNED);
	const struct debugfile_places *p = n->cfg.places;
	if (fd < 0 && p)
		fd = p->open_map(p->ctx, (s32)g->info->pid, n->cfg.opener);
	bool cut = false;
	s64 uid = p ? p->uid(p->ctx, (s32)g->info->pid) : -1;
	int err = fd < 0 ? -ENOENT : map_text(fd, uid, text, size, &cut);
	if (err == -EPERM)
		group_note(g, "%s is ignored: it is owned by another user than the process", path);
	if (!err && cut)
		group_note(g, "%s is larger than %u MB: the remaining names are ignored", path,
			   PERFMAP_MAX >> 20);
	return err;
}

static int resolve_by_map(struct group *g, const char *text, size_t size, struct arena *arena)
{
	struct sweep s;
	_cleanup_free_ struct symtab_sym *syms = calloc(g->nr_questions, sizeof(*syms));
	int err = syms ? sweep_init(&s, g->questions, g->nr_questions, SYMTAB_LAST) : -ENOMEM;
	if (err)
		return err;
	(void)perfmap_sweep(text, size, &s);
	err = sweep_finish(&s, syms);
	if (!err)
		err = answer(g, syms, DEMANGLE_NO, arena);
	sweep_done(&s);
	return err;
}

/* What the recording has is of the process that was recorded; a file in /tmp may be of a later one with its number. */
static int resolve_anon_map(struct sym_names *n, struct group *g, struct arena *arena)
{
	const struct image_info *info = g->info;
	const char *text = NULL;
	size_t size = 0;
	if (info->made_map)
		return resolve_by_map(g, info->made_map, info->made_map_size, arena);
	if (open_map_file(n, g, &text, &size))
		return 0;
	int err = resolve_by_map(g, text, size, arena);
	guard_unmap(text, size);
	return err;
}

/* Most of it nameless: whoever made the code did not say what it is. */
static int resolve_anon(struct sym_names *n, struct group *g, struct arena *arena)
{
	int err = resolve_anon_map(n, g, arena);
	u32 unnamed = 0;
	for (u32 i = 0; i < g->nr_questions; i++)
		unnamed += !g->answers[i].name;
	if (unnamed > g->nr_questions / 2)
		g->nr_unnamed_made = unnamed;
	return err;
}

/* A program the kernel told us about has one function: itself. */
static int resolve_bpf(struct group *g)
{
	for (u32 i = 0; i < g->nr_questions; i++)
		g->answers[i] = (struct answer){ g->info->name, g->info->start, g->info->end };
	return 0;
}

bool resolve_in_kernel(const struct image_info *info)
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
	int err = g->info->guest ? kernel_syms_open_guest(&k, &n->cfg, j->catalog, g->info)
				 : kernel_syms_open(&k, &n->cfg, &n->where, j->catalog, &want);
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
		if (resolve_in_kernel(&j->catalog->images.at[i]) &&
		    j->catalog->images.at[i].guest == g->info->guest)
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

int resolve_group(struct job *j, struct group *g, struct arena *arena)
{
	if (resolve_in_kernel(g->info))
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
