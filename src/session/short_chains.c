#include "session/short_chains.h"

#include "image/cfi.h"
#include "sym/unwind_tables.h"

#include <elf.h>
#include <errno.h>

enum {
	LOOK_AT = 20000, /* samples: the first ones will do */
	LEAST = 20, /* samples that say anything */
	SHORT = 2, /* frames of user space */
	FILES_MAX = 4,
};

static int look_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct short_chains *l = container_of(k, struct short_chains, sink);
	*state = l;
	l->sh = sh;
	return index ? -EINVAL : 0;
}

static int count_short(struct short_chains *l, u32 image, u64 nr)
{
	while (l->short_in.nr <= image)
		if (!vec_push(&l->short_in))
			return -ENOMEM;
	l->short_in.at[image] += nr;
	l->nr_short += nr;
	return 0;
}

static int look_at_chain(struct short_chains *l, u32 chain)
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
	return nr_user && nr_user <= SHORT ? count_short(l, image, 1) : 0;
}

static int look_feed(struct sink *k, void *state, const struct batch *b)
{
	struct short_chains *l = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && l->nr_seen < LOOK_AT && !err; i++, l->nr_seen++)
		if (b->samples[i].chain)
			err = look_at_chain(l, b->samples[i].chain);
	return !err && l->ends_run && l->nr_seen == LOOK_AT ? -ECANCELED : err;
}

/* A new generation of tables (model/source.h): images get new numbers. */
static int look_carry(struct sink *k, struct carry *c)
{
	struct short_chains *l = container_of(k, struct short_chains, sink);
	struct short_chains moved = { 0 };
	int err = 0;
	for (u32 i = 0; i < l->short_in.nr && !err; i++) {
		s64 image = l->short_in.at[i] ? carry_image(c, i) : 0;
		err = image < 0 ? (int)image : count_short(&moved, (u32)image, l->short_in.at[i]);
	}
	if (err) {
		vec_free(&moved.short_in);
		return err;
	}
	vec_free(&l->short_in);
	l->short_in = moved.short_in;
	return 0;
}

static const struct sink_ops look_ops = {
	.needs = NEED_CHAIN | KEEP_IDS,
	.shard_new = look_shard_new,
	.feed = look_feed,
	.carry = look_carry,
};

void short_chains_init(struct short_chains *l, bool ends_run)
{
	*l = (struct short_chains){ .sink = { .ops = &look_ops, .needs = look_ops.needs },
				    .ends_run = ends_run };
}

void short_chains_done(struct short_chains *l)
{
	vec_free(&l->short_in);
}

int short_chains_keeps_frames(const char *path, struct opener *opener, bool *dynamic)
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
	return i->kind == IMAGE_KIND_FILE &&
	       short_chains_keeps_frames(i->path, opener, &dynamic) == 0;
}

/* How many of the short chains begin in files without frame pointers; *worst: the one with most of them. */
static u64 short_without(struct short_chains *l, const struct catalog *c, struct opener *opener,
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

void short_chains_note(struct short_chains *l, const struct catalog *c, struct opener *opener,
		       struct diag *d)
{
	const char *worst = NULL;
	bool many = l->nr_user >= LEAST && l->nr_short * 2 > l->nr_user;
	if (!many || short_without(l, c, opener, &worst) * 2 <= l->nr_user)
		return;
	diag_note(d, "%.0f %% of the stacks end after a frame or two: %s has no frame pointers",
		  100 * (double)l->nr_short / (double)l->nr_user, worst);
	diag_hint(d, "%s finds their callers", diag_option(d, DIAG_OPT_UNWIND));
}
