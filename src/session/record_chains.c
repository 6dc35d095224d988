/*
 * After a recording by frame pointers: whether there were any to follow. Code that keeps none ends a chain after a frame or two, and a
 * report of such chains looks whole. Only where most chains are that short, and the code they begin in is known to keep none, it is said.
 */
#include "session/record.h"

#include "sym/unwind_tables.h"
#include "stream/replay_perf.h"
#include "stream/run.h"

#include <elf.h>
#include <errno.h>

enum {
	LOOK_AT = 20000, /* samples: the first ones will do */
	LEAST = 20, /* samples that say anything */
	SHORT = 2, /* frames of user space */
	FILES_MAX = 4,
	FILE_MAX = 64 << 20, /* bytes: a larger one is not read again for this */
};

struct chains_look {
	struct sink sink;
	const struct shard *sh; /* the only one */
	u64 nr_seen, nr_user, nr_short;
	VEC(u64) short_in; /* [image]: short chains that begin there */
};

static int look_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct chains_look *l = container_of(k, struct chains_look, sink);
	*state = l;
	l->sh = sh;
	return index ? -EINVAL : 0;
}

static int count_short(struct chains_look *l, u32 image)
{
	while (l->short_in.nr <= image)
		if (!vec_push(&l->short_in))
			return -ENOMEM;
	l->short_in.at[image]++;
	l->nr_short++;
	return 0;
}

static int look_at_chain(struct chains_look *l, u32 chain)
{
	u32 nr, nr_user = 0, image = IMAGE_NONE;
	const u32 *ids = chain_frames(&l->sh->chains, chain, &nr);
	for (u32 i = nr; i-- > 0;) { /* innermost last */
		const struct frame *f = &l->sh->frames.frames[ids[i]];
		if (f->mode != FRAME_USER)
			continue;
		if (!nr_user++)
			image = f->image;
	}
	l->nr_user += nr_user > 0;
	return nr_user && nr_user <= SHORT ? count_short(l, image) : 0;
}

static int look_feed(struct sink *k, void *state, const struct batch *b)
{
	struct chains_look *l = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		if (b->samples[i].chain)
			err = look_at_chain(l, b->samples[i].chain);
		if (!err && ++l->nr_seen == LOOK_AT)
			err = -ECANCELED;
	}
	return err;
}

static const struct sink_ops look_ops = {
	.needs = NEED_CHAIN,
	.shard_new = look_shard_new,
	.feed = look_feed,
};

int record_keeps_frames(const char *path, struct opener *opener, bool *dynamic)
{
	struct elfimg e;
	struct cfi_table t;
	struct elfimg_segment seg;
	const struct arch *arch = arch_host();
	int err = arch ? elfimg_open(&e, path, opener) : -ENOTSUP;
	if (err)
		return err;
	*dynamic = false;
	for (u32 i = 0; elfimg_segment(&e, i, &seg); i++)
		*dynamic |= seg.type == PT_INTERP;
	int keeps = cfi_build(&t, arch, &e, &e);
	if (!keeps) {
		keeps = unwind_keeps_frame_pointers(&t);
		cfi_done(&t);
	}
	elfimg_close(&e);
	return keeps;
}

/* A file of which it is not known counts as one that keeps them: nobody is alarmed by a guess. */
static bool keeps_none(const struct image_info *i, struct opener *opener)
{
	bool dynamic;
	return i->kind == IMAGE_KIND_FILE && record_keeps_frames(i->path, opener, &dynamic) == 0;
}

/* How many of the short chains begin in files without frame pointers; *worst: the one with most of them. */
static u64 short_without(struct chains_look *l, const struct catalog *c, struct opener *opener,
			 const char **worst)
{
	u64 sum = 0;
	for (u32 nr = 0; nr < FILES_MAX; nr++) {
		size_t most = 0;
		for (size_t i = 1; i < l->short_in.nr; i++)
			if (l->short_in.at[i] > (most ? l->short_in.at[most] : 0))
				most = i;
		if (!most)
			break;
		if (keeps_none(&c->images.at[most], opener)) {
			sum += l->short_in.at[most];
			*worst = *worst ? *worst : c->images.at[most].name;
		}
		l->short_in.at[most] = 0;
	}
	return sum;
}

void record_look_at_chains(struct record_session *s, u64 file_bytes)
{
	struct chains_look l = { .sink = { .ops = &look_ops, .needs = look_ops.needs } };
	struct run_tables run = { 0 };
	struct source *src;
	const char *worst = NULL;
	if (file_bytes > FILE_MAX || replay_perf_open(s->output, &src, NULL))
		return;
	int err = stream_run(src, &l.sink, 1, &run, NULL);
	bool many = (!err || err == -ECANCELED) && l.nr_user >= LEAST && l.nr_short * 2 > l.nr_user;
	if (many && short_without(&l, &src->catalog, s->opener, &worst) * 2 > l.nr_user) {
		diag_note(
			s->tell.diag,
			"%.0f %% of the stacks end after a frame or two: %s has no frame pointers",
			100 * (double)l.nr_short / (double)l.nr_user, worst);
		diag_hint(s->tell.diag, "%s finds their callers", s->labels->unwind);
	}
	vec_free(&l.short_in);
	run_tables_done(&run);
	src->ops->close(src);
}
