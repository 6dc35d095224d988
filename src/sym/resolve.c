#include "sym/resolve.h"
#include "base/par.h"
#include "sym/resolve_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_UNNAMED_MIN = 2 };

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

/* Of guests, only what was recorded as the guest's: its kernel and modules. */
static bool has_symbols(const struct frame *f)
{
	return f->mode == FRAME_GUEST_KERNEL || f->mode == FRAME_KERNEL || f->mode == FRAME_USER ||
	       f->mode == FRAME_UNKNOWN;
}

/* Which group an image's frames go to: all of the kernel shares one, that of each guest another. */
static u32 group_key(const struct catalog *c, u32 image, u32 kernel)
{
	const struct image_info *info = &c->images.at[image];
	return info->guest ? info->guest : resolve_in_kernel(info) ? kernel : image;
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
				(struct resolve_place){ fr->offset, f, 0 };
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
	int kernel = resolve_in_kernel(y->info) - resolve_in_kernel(x->info);
	return kernel ? kernel : (x->nr < y->nr) - (x->nr > y->nr);
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

/* One command for all stripped files that were noted. */
static void tell_packages(const struct sym_config *cfg, const char *const *paths, size_t nr)
{
	char *hint = nr && cfg->stripped_hint ? cfg->stripped_hint(paths, nr) : NULL;
	if (hint)
		diag_hint(cfg->diag, "%s", hint);
	free(hint);
}

/* A recording from elsewhere can miss hundreds of files: the heaviest are named. */
static void tell(struct sym_config *cfg, const struct group *groups, u32 nr)
{
	u32 told = 0, more = 0;
	const char *stripped[64];
	size_t nr_stripped = 0;
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
		if (g->stripped && nr_stripped < ARRAY_SIZE(stripped))
			stripped[nr_stripped++] = g->info->path;
	}
	tell_packages(cfg, stripped, nr_stripped);
	if (nr_stripped)
		cfg->min_unnamed = 0; /* once: a stream is resolved round by round */
	if (more)
		diag_note(cfg->diag, "%u more files could not be used; -v lists all of them", more);
}

static void tell_fetch(const struct sym_config *cfg)
{
	if (!cfg->fetch || !cfg->fetch->note[0])
		return;
	diag_note(cfg->diag, "%s", cfg->fetch->note);
	cfg->fetch->note[0] = '\0';
}

/* Programs that can say what code they make, and how they are asked to. */
static const char *made_hint(const struct catalog *c)
{
	static const struct {
		const char *file, *hint;
	} makers[] = {
		{ "node", "run node with --perf-basic-prof while recording" },
		{ "libnode.so", "run node with --perf-basic-prof while recording" },
		{ "libjvm.so",
		  "run java with -XX:+DumpPerfMapAtExit (Java 17 and later) while recording" },
		{ "python3.", "run python with -X perf (3.12 and later) while recording" },
		{ "libpython3.", "run python with -X perf (3.12 and later) while recording" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++)
		vec_for_each (&c->images, image) {
			const char *slash = image->path ? strrchr(image->path, '/') : NULL;
			size_t len = strlen(makers[i].file);
			bool whole = makers[i].file[len - 1] != '.' && len < 5;
			if (slash && !strncmp(slash + 1, makers[i].file, len) &&
			    (!whole || !slash[1 + len]))
				return makers[i].hint;
		}
	return "the program has to write /tmp/perf-PID.map while recording (node: "
	       "--perf-basic-prof, python: -X perf)";
}

static void tell_made(struct sym_config *cfg, const struct catalog *c, const struct group *groups,
		      u32 nr)
{
	u32 unnamed = 0;
	for (u32 i = 0; i < nr; i++)
		unnamed += groups[i].nr_unnamed_made;
	/* Hot loops are few addresses, and all of the time. */
	if (!cfg->diag || !cfg->min_unnamed || unnamed < MADE_UNNAMED_MIN)
		return;
	diag_note(cfg->diag, "%u addresses in JIT-compiled code have no name", unnamed);
	diag_hint(cfg->diag, "%s", made_hint(c));
	cfg->min_unnamed = 0;
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
		any = any && !image_is_kernel(image);
	if (!any || !cfg->diag || cfg->kallsyms_given)
		return;
	diag_note(cfg->diag,
		  "the recording has no kernel load address: kernel functions are not named");
	diag_hint(cfg->diag, "kptr_restrict hides it from the recorder: sudo sysctl "
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
		err = resolve_ids(&j);
	tell_fetch(&n->cfg);
	tell_made(&n->cfg, c, j.groups, j.nr_groups);
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
	n->where = (struct debugfile_where){ .fetch = cfg->fetch,
					     .opener = cfg->opener,
					     .places = cfg->places,
					     .root = cfg->symfs,
					     .dirs = cfg->debug_dirs,
					     .cache = n->buildid_dir };
	return &n->names;
}
