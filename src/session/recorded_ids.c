#include "session/recorded_ids.h"
#include "base/str.h"

#include "session/look.h"
#include "stream/replay_perf.h"
#include "stream/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

struct entries {
	VEC(struct recorded_id) at;
};

static int take_entry(void *ctx, const char *path, const u8 *id, u32 size, u16 misc)
{
	struct entries *e = ctx;
	struct recorded_id *r = vec_push(&e->at);
	if (!r)
		return -ENOMEM;
	*r = (struct recorded_id){ .path = path, .id = id, .size = size };
	return 0;
}

/* What perf calls an image: code in memory without a file goes by the map file that names it. */
static const char *image_name(const struct image_info *i, char *buf, size_t size)
{
	if (image_is_kernel(i))
		return "[kernel.kallsyms]";
	if (i->kind != IMAGE_KIND_ANON || i->path[0] == '[')
		return i->path;
	(void)snprintf(buf, size, "/tmp/perf-%u.map", i->pid);
	return buf;
}

static bool same_path(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

typedef int (*recorded_fn)(void *, const struct recorded_id *);

static int give_table(const struct source *src, const struct entries *table, const bool *hit,
		      recorded_fn fn, void *ctx)
{
	char buf[64];
	int err = 0;
	for (size_t i = 0; i < table->at.nr && !err; i++) {
		bool any = false;
		for (size_t k = 1; k < src->catalog.images.nr && !any; k++)
			any = hit[k] &&
			      same_path(image_name(&src->catalog.images.at[k], buf, sizeof(buf)),
					table->at.at[i].path);
		if (any)
			err = fn(ctx, &table->at.at[i]);
	}
	return err;
}

static int give_rest(const struct source *src, const struct entries *table, const bool *hit,
		     recorded_fn fn, void *ctx)
{
	char buf[64];
	int err = 0;
	for (size_t k = 1; k < src->catalog.images.nr && !err; k++) {
		const struct image_info *image = &src->catalog.images.at[k];
		struct recorded_id r = { .path = image_name(image, buf, sizeof(buf)),
					 .id = image->build_id,
					 .size = image->build_id_size,
					 .by_hits = true,
					 .guest = image->guest };
		bool listed = !hit[k] || image->kind == IMAGE_KIND_BPF;
		for (size_t i = 0; i < table->at.nr && !listed; i++)
			listed = same_path(r.path, table->at.at[i].path);
		if (!listed)
			err = fn(ctx, &r);
	}
	return err;
}

static int give_hits(struct source *src, const struct entries *table, unsigned needs,
		     recorded_fn fn, void *ctx, struct diag *d)
{
	struct sink look = look_sink(needs);
	struct run_tables run = { 0 };
	int err = stream_run(src, &look, 0, &run, d);
	bool *hit = err ? NULL : calloc(src->catalog.images.nr + 1, sizeof(*hit));
	if (!err && !hit)
		err = -ENOMEM;
	for (u32 i = 1; !err && i < run.frames.nr; i++)
		hit[run.frames.frames[i].image] = true;
	if (!err)
		err = give_table(src, table, hit, fn, ctx);
	if (!err)
		err = give_rest(src, table, hit, fn, ctx);
	free(hit);
	run_tables_done(&run);
	return err;
}

int recorded_ids(struct source *src, enum recorded_which which, recorded_fn fn, void *ctx,
		 struct diag *d)
{
	struct entries table = { 0 };
	int err = perfdata_build_ids(replay_perf_file(src), take_entry, &table);
	/* Without a table there is nothing to say about what was not hit. */
	if (!err && (which != RECORDED_ALL || !table.at.nr))
		err = give_hits(src, &table,
				which == RECORDED_CHAINS ? NEED_LEAF | NEED_FRAMES : NEED_LEAF, fn,
				ctx, d);
	else
		for (size_t i = 0; i < table.at.nr && !err; i++)
			err = fn(ctx, &table.at.at[i]);
	vec_free(&table.at);
	return err;
}

const char *recorded_cache_dir(char *buf, size_t size)
{
	if (getauxval(AT_SECURE))
		return NULL;
	const char *dir = getenv("PERF_BUILDID_DIR"), *home = getenv("HOME");
	if (dir && *dir)
		return dir;
	return home && !str_path(buf, size, "%s/.debug", home) ? buf : NULL;
}
