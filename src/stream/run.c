#include "stream/run.h"
#include "base/guard.h"
#include "base/par.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/*
 * Tables of a run with rounds that exceed this are too large: a new generation begins. Some ten megabytes, with room for a round
 * before tables double.
 */
enum { CHAINS_MAX = 450000, POOL_MAX = 14 << 20, FRAMES_MAX = 900000, NAMES_MAX = 1 << 18 };

/* With fewer workers than this, taking the others into the first costs less than dealing all of them to piles. */
enum { MERGE_MIN = 4 };

struct run_worker {
	struct shard shard;
	void *state;
	bool opened;
	u64 nr_blocks;
};

struct run_state {
	struct source *src;
	struct sink *sink;
	struct run_worker *workers;
	unsigned nr;
	const struct frame_table *known; /* NULL: every shard starts empty */
	struct run_tables *seed; /* of the rounds before: the first shard goes on with them; NULL: none */
	/* Of a source with rounds: so much makes a new generation. What stays may be much all the same: not before there is twice as much. */
	size_t names_at, chains_at, frames_at;
	u64 pool_at;
	atomic_bool stop; /* somebody failed: do not start another block */
};

static int run_block(struct run_state *r, struct run_worker *w, u64 seq)
{
	const struct sink_ops *ops = r->sink->ops;
	struct batch b;
	int got;
	while ((got = r->src->ops->next_batch(r->src, &w->shard, &b)) > 0) {
		int err = ops->feed(r->sink, w->state, &b);
		if (err)
			return err;
	}
	if (got < 0)
		return got;
	w->nr_blocks++;
	return ops->block_done ? ops->block_done(r->sink, w->state, seq) : 0;
}

static int run_worker(void *ctx, unsigned index)
{
	struct run_state *r = ctx;
	struct run_worker *w = &r->workers[index];
	int got = 0;
	u64 seq;
	while (!atomic_load(&r->stop) &&
	       (got = r->src->ops->next_block(r->src, &w->shard, &seq)) > 0) {
		int err = run_block(r, w, seq);
		if (err) {
			got = err;
			break;
		}
	}
	if (got < 0) {
		atomic_store(&r->stop, true);
		if (r->sink->ops->cancel)
			r->sink->ops->cancel(r->sink);
	}
	return got < 0 ? got : 0;
}

static int open_tables(const struct run_state *r, struct shard *sh)
{
	int err = r->known ? frame_table_copy(&sh->frames, r->known) : frame_table_init(&sh->frames);
	return err ? err : chain_table_init(&sh->chains);
}

static void take_seed(struct run_state *r, struct shard *sh)
{
	sh->frames = r->seed->frames;
	sh->chains = r->seed->chains;
	*r->seed = (struct run_tables){ 0 };
}

static int open_workers(struct run_state *r)
{
	for (unsigned i = 0; i < r->nr; i++) {
		struct run_worker *w = &r->workers[i];
		int err = 0;
		if (!i && r->seed && r->seed->frames.nr)
			take_seed(r, &w->shard);
		else
			err = open_tables(r, &w->shard);
		if (err)
			return err;
		err = r->src->ops->shard_open(r->src, &w->shard);
		if (err)
			return err;
		w->opened = true;
		err = r->sink->ops->shard_new(r->sink, i, &w->shard, &w->state);
		if (err)
			return err;
	}
	return 0;
}

/* Shards that have seen something: their tables and states become one. */
struct shard_merging {
	struct run_state *r;
	struct run_worker **from;
	struct chain_part *chains;
	struct sink_part *parts;
	u32 **map_frame;
	u32 nr;
	bool apart;
};

/* The only shard's tables become the run's. */
static int take_tables(struct run_state *r, struct run_worker *w, struct run_tables *ret)
{
	const struct sink_ops *ops = r->sink->ops;
	ret->frames = w->shard.frames;
	ret->chains = w->shard.chains;
	w->shard.frames = (struct frame_table){ 0 };
	w->shard.chains = (struct chain_table){ 0 };
	struct sink_part part = { .state = w->state };
	return ops->merge ? ops->merge(r->sink, &part, 1, r->nr) : 0;
}

/* The first shard's frames become the run's; the others are translated into them. */
static int merge_frames(struct shard_merging *m, struct frame_table *ret)
{
	int err = 0;
	*ret = m->from[0]->shard.frames;
	m->from[0]->shard.frames = (struct frame_table){ 0 };
	for (u32 i = 1; i < m->nr && !err; i++) {
		err = frame_table_merge(ret, &m->from[i]->shard.frames, &m->map_frame[i]);
		frame_table_done(&m->from[i]->shard.frames);
	}
	return err;
}

static int merge_chains(struct shard_merging *m, struct chain_table *ret)
{
	for (u32 i = 0; i < m->nr; i++)
		m->chains[i].map_frame = m->map_frame[i];
	int err = m->apart ? chain_tables_join(ret, m->chains, m->nr, m->r->nr)
			   : chain_tables_merge(ret, m->chains, m->nr, m->r->nr);
	for (u32 i = 0; i < m->nr; i++)
		chain_table_done(&m->from[i]->shard.chains);
	return err;
}

static int merge_states(struct shard_merging *m)
{
	for (u32 i = 0; i < m->nr; i++)
		m->parts[i] = (struct sink_part){ .state = m->from[i]->state,
						  .map_frame = m->map_frame[i],
						  .map_chain = m->chains[i].map_chain,
						  .apart = m->apart };
	return m->r->sink->ops->merge(m->r->sink, m->parts, m->nr, m->r->nr);
}

static int merge_all(struct shard_merging *m, struct run_tables *ret)
{
	int err = merge_frames(m, &ret->frames);
	if (!m->r->sink->ops->merge)
		return err;
	if (!err)
		err = merge_chains(m, &ret->chains);
	return err ? err : merge_states(m);
}

/*
 * The first shard takes in the others, one by one. Of a source with rounds, ids of the rounds before must stay as they are, and chains be
 * found again in the next: that shard has them.
 */
static int merge_round(struct run_state *r, struct run_tables *ret)
{
	const struct sink_ops *ops = r->sink->ops;
	int err = take_tables(r, &r->workers[0], ret);
	for (unsigned i = 1; i < r->nr && !err; i++) {
		struct run_worker *w = &r->workers[i];
		u32 *map_frame = NULL, *map_chain = NULL;
		if (!w->nr_blocks)
			continue;
		err = frame_table_merge(&ret->frames, &w->shard.frames, &map_frame);
		if (!err && ops->merge)
			err = chain_table_merge(&ret->chains, &w->shard.chains, map_frame,
						&map_chain);
		struct sink_part part = { w->state, map_frame, map_chain };
		if (!err && ops->merge)
			err = ops->merge(r->sink, &part, 1, r->nr);
		free(map_frame);
		free(map_chain);
	}
	return err;
}

/* Who has seen something, and whether their chains are much the same. */
static void find_shards(struct shard_merging *m)
{
	struct run_state *r = m->r;
	for (unsigned i = 0; i < r->nr; i++) {
		if (!r->workers[i].nr_blocks)
			continue;
		m->chains[m->nr].from = &r->workers[i].shard.chains;
		m->from[m->nr++] = &r->workers[i];
	}
	m->apart = r->sink->ops->merge && m->nr > 1 && chain_tables_apart(m->chains, m->nr, r->nr);
}

static int merge_shards_of(struct shard_merging *m, struct run_tables *ret)
{
	struct run_state *r = m->r;
	find_shards(m);
	if (m->nr < 2)
		return take_tables(r, m->nr ? m->from[0] : &r->workers[0], ret);
	return r->nr < MERGE_MIN && !m->apart ? merge_round(r, ret) : merge_all(m, ret);
}

static int merge_workers(struct run_state *r, struct run_tables *ret)
{
	if (r->seed)
		return merge_round(r, ret);
	struct shard_merging m = { .r = r,
				   .from = calloc(r->nr, sizeof(*m.from)),
				   .chains = calloc(r->nr, sizeof(*m.chains)),
				   .parts = calloc(r->nr, sizeof(*m.parts)),
				   .map_frame = calloc(r->nr, sizeof(*m.map_frame)) };
	int err = m.from && m.chains && m.parts && m.map_frame ? 0 : -ENOMEM;
	if (!err)
		err = merge_shards_of(&m, ret);
	for (u32 i = 0; i < m.nr; i++) {
		free(m.map_frame[i]);
		free(m.chains[i].map_chain);
	}
	free(m.from);
	free(m.chains);
	free(m.parts);
	free(m.map_frame);
	return err;
}

static void close_workers(struct run_state *r)
{
	for (unsigned i = 0; r->workers && i < r->nr; i++) {
		struct run_worker *w = &r->workers[i];
		if (w->state && r->sink->ops->shard_free)
			r->sink->ops->shard_free(r->sink, w->state);
		if (w->opened)
			r->src->ops->shard_close(r->src, &w->shard);
		frame_table_done(&w->shard.frames);
		chain_table_done(&w->shard.chains);
	}
	free(r->workers);
}

static int run_blocks(struct run_state *r)
{
	r->workers = calloc(r->nr, sizeof(*r->workers));
	if (!r->workers)
		return -ENOMEM;
	int err = open_workers(r);
	return err ? err : par_run(r->nr, run_worker, r);
}

static int run_all(struct run_state *r, struct diag *d)
{
	r->src->workers = r->nr;
	int err = r->src->ops->prepare(r->src, r->sink->needs, d);
	return err ? err : run_blocks(r);
}

/* A source that started early may find that it was too early: the second time it will not. */
static int run_again(struct run_state *r, struct diag *d)
{
	close_workers(r);
	r->workers = NULL;
	atomic_store(&r->stop, false);
	return run_all(r, d);
}

static void end_workers(struct run_state *r)
{
	close_workers(r);
	r->workers = NULL;
}

static void finish(struct run_state *r, int err, struct diag *d)
{
	if ((!err || err == -E2BIG) && r->src->ops->finish)
		r->src->ops->finish(r->src, d);
}

static int round_done(struct run_state *r, const struct run_tables *tables,
		      const struct round *round)
{
	const struct sink_ops *ops = r->sink->ops;
	return ops->round_done ? ops->round_done(r->sink, tables, round) : 0;
}

/* A source that is one round. */
static int run_once(struct run_state *r, struct run_tables *ret, struct diag *d)
{
	int err = run_all(r, d);
	if (err == -EAGAIN && r->sink->needs & MAY_START_EARLY)
		err = run_again(r, d);
	if (!err && guard_inputs_cut())
		err = -EIO;
	if (!err)
		err = merge_workers(r, ret);
	finish(r, err, d);
	end_workers(r);
	return err ? err : round_done(r, ret, &(struct round){ .until = UINT64_MAX, .last = true });
}

static u32 most_chains(const struct sink *k)
{
	return k->max_chains ? k->max_chains : (u32)CHAINS_MAX;
}

static u32 most_frames(const struct sink *k)
{
	return k->max_frames ? k->max_frames : (u32)FRAMES_MAX;
}

static bool tables_too_large(const struct run_state *r, const struct run_tables *t)
{
	return t->chains.nr > max((size_t)most_chains(r->sink), r->chains_at) ||
	       t->chains.nr_pool > max((u64)POOL_MAX, r->pool_at) ||
	       t->frames.nr > max((size_t)most_frames(r->sink), r->frames_at);
}

static bool can_recycle(struct source *src)
{
	return src->ops->recycle && !src->ops->recycle(src, NULL);
}

/* Ids of strings and images that are wanted are to be found out; the first of each stand for none. */
static int begin_catalog(struct carry *c, const struct catalog *old)
{
	c->catalog = old;
	strtab_init(&c->strings);
	c->string_ids = calloc(old->strings.nr + 1ull, sizeof(*c->string_ids));
	c->image_ids = calloc(old->images.nr + 1ull, sizeof(*c->image_ids));
	struct image_info *none = vec_push(&c->images);
	if (!c->string_ids || !c->image_ids || !none)
		return -ENOMEM;
	*none = old->images.at[0];
	return (int)min(strtab_add(&c->strings, "", 0), (s64)0);
}

static void end_catalog(struct carry *c, struct catalog *to, int err)
{
	if (c->catalog && !err) {
		strtab_done(&to->strings);
		to->strings = c->strings;
		vec_free(&to->images);
		memcpy(&to->images, &c->images, sizeof(to->images));
	} else if (c->catalog) {
		strtab_done(&c->strings);
		vec_free(&c->images);
	}
	free(c->string_ids);
	free(c->image_ids);
}

int run_tables_recycle(struct run_tables *t, struct sink *sink, struct source *src)
{
	struct run_tables fresh = { 0 };
	struct carry c = { .old = t,
			   .fresh = &fresh,
			   .room_chains = most_chains(sink) / 2,
			   .room_pool = POOL_MAX / 2 };
	c.frames = calloc(t->frames.nr + 1ull, sizeof(*c.frames));
	c.chains = calloc(t->chains.nr + 1ull, sizeof(*c.chains));
	int err = c.frames && c.chains ? frame_table_init(&fresh.frames) : -ENOMEM;
	if (!err)
		err = chain_table_init(&fresh.chains);
	if (!err && can_recycle(src))
		err = begin_catalog(&c, &src->catalog);
	if (!err)
		err = sink->ops->carry(sink, &c);
	if (!err && c.catalog)
		err = src->ops->recycle(src, &c);
	end_catalog(&c, &src->catalog, err);
	free(c.frames);
	free(c.chains);
	dict_done(&c.rows);
	run_tables_done(err ? &fresh : t);
	if (!err)
		*t = fresh;
	return err;
}

static size_t nr_names(const struct source *src)
{
	return (size_t)src->catalog.strings.nr + src->catalog.images.nr + src->catalog.last_comm.nr;
}

static bool names_too_large(const struct run_state *r)
{
	u32 most = r->sink->max_names ? r->sink->max_names : (u32)NAMES_MAX;
	return nr_names(r->src) > max((size_t)most, r->names_at) && can_recycle(r->src);
}

/* What the tables of a round become before the next one. */
static int end_tables(struct run_state *r, struct run_tables *t, const struct round *round)
{
	if (round->last)
		return 0;
	if (!(r->sink->needs & KEEP_IDS)) {
		run_tables_done(t);
		return 0;
	}
	if (!r->sink->ops->carry ||
	    (!r->sink->full && !tables_too_large(r, t) && !names_too_large(r)))
		return 0;
	int err = run_tables_recycle(t, r->sink, r->src);
	r->sink->full = false;
	r->names_at = 2 * nr_names(r->src);
	r->chains_at = 2 * (size_t)t->chains.nr;
	r->pool_at = 2 * t->chains.nr_pool;
	r->frames_at = 2 * (size_t)t->frames.nr;
	return err;
}

static int run_round(struct run_state *r, struct run_tables *ret, const struct round *round,
		     struct diag *d)
{
	r->seed = ret;
	int err = run_all(r, d);
	if (!err)
		err = merge_workers(r, ret);
	end_workers(r);
	int enough = err ? err : round_done(r, ret, round);
	return enough ? enough : end_tables(r, ret, round);
}

/* 1: the next round was run, 0: there is none; 2: it was run, and the sink has seen enough; or negative errno. */
static int step(struct run_state *r, struct run_tables *ret, struct diag *d)
{
	struct round round;
	int got = r->src->ops->next_round(r->src, &round, d);
	int err = got > 0 ? run_round(r, ret, &round, d) : got;
	return err < 0 ? err : got ? 1 + err : 0;
}

static int run_rounds(struct run_state *r, struct run_tables *ret, struct diag *d)
{
	int got = r->src->ops->prepare(r->src, r->sink->needs, d);
	if (!got)
		while ((got = step(r, ret, d)) == 1)
			;
	finish(r, min(got, 0), d);
	return min(got, 0);
}

/* The caller asks them for names, also when no round came. */
static int have_tables(struct run_tables *t)
{
	int err = t->frames.nr ? 0 : frame_table_init(&t->frames);
	return err || t->chains.nr ? err : chain_table_init(&t->chains);
}

int stream_run(struct source *src, struct sink *sink, unsigned workers, struct run_tables *ret,
	       struct diag *d)
{
	*ret = (struct run_tables){ 0 };
	struct run_state r = { .src = src, .sink = sink, .nr = workers ? workers : par_cpus() };
	int err = src->ops->next_round ? run_rounds(&r, ret, d) : run_once(&r, ret, d);
	end_workers(&r);
	err = min(err, 0); /* 1: the sink has seen enough */
	return err ? err : have_tables(ret);
}

struct stream_steps {
	struct run_state run;
	struct run_tables *tables;
	struct diag *diag;
	bool over;
};

struct stream_steps *stream_steps_begin(struct source *src, struct sink *sink,
					struct run_tables *tables, struct diag *d)
{
	struct stream_steps *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	*tables = (struct run_tables){ 0 };
	*s = (struct stream_steps){ .run = { .src = src, .sink = sink, .nr = 1 },
				    .tables = tables,
				    .diag = d };
	int err = src->ops->prepare(src, sink->needs, d);
	if (!err)
		return s;
	free(s);
	errno = -err;
	return NULL;
}

int stream_step(struct stream_steps *s)
{
	int got = s->over ? 0 : step(&s->run, s->tables, s->diag);
	if (got != 1 && !s->over)
		finish(&s->run, min(got, 0), s->diag);
	s->over |= got != 1;
	return min(got, 1);
}

void stream_steps_end(struct stream_steps *s)
{
	if (s)
		end_workers(&s->run);
	free(s);
}

int stream_run_named(struct source *src, struct sink *sink, unsigned workers,
		     const struct frame_table *frames, struct diag *d)
{
	struct run_state r = {
		.src = src, .sink = sink, .nr = workers ? workers : par_cpus(), .known = frames
	};
	int err = run_all(&r, d);
	close_workers(&r);
	return err;
}
