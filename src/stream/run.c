#include "stream/run.h"
#include "base/guard.h"
#include "base/par.h"

#include <errno.h>
#include <stdatomic.h>

struct worker {
	struct shard shard;
	void *state;
	bool opened;
	u64 nr_blocks;
};

struct run {
	struct source *src;
	struct sink *sink;
	struct worker *workers;
	unsigned nr;
	const struct frame_table *known; /* NULL: every shard starts empty */
	atomic_bool stop; /* somebody failed: do not start another block */
};

static int run_block(struct run *r, struct worker *w, u64 seq)
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
	struct run *r = ctx;
	struct worker *w = &r->workers[index];
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

static int open_workers(struct run *r)
{
	for (unsigned i = 0; i < r->nr; i++) {
		struct worker *w = &r->workers[i];
		int err = r->known ? frame_table_copy(&w->shard.frames, r->known)
				   : frame_table_init(&w->shard.frames);
		if (err || chain_table_init(&w->shard.chains))
			return -ENOMEM;
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

static int merge_state(struct run *r, struct worker *w, const u32 *map_frame, const u32 *map_chain)
{
	const struct sink_ops *ops = r->sink->ops;
	return ops->merge ? ops->merge(r->sink, w->state, map_frame, map_chain) : 0;
}

/* The first shard's tables become the run's; the others are translated into them. */
static int merge_workers(struct run *r, struct run_tables *ret)
{
	ret->frames = r->workers[0].shard.frames;
	ret->chains = r->workers[0].shard.chains;
	r->workers[0].shard.frames = (struct frame_table){ 0 };
	r->workers[0].shard.chains = (struct chain_table){ 0 };
	int err = merge_state(r, &r->workers[0], NULL, NULL);
	for (unsigned i = 1; i < r->nr && !err; i++) {
		struct worker *w = &r->workers[i];
		u32 *map_frame = NULL, *map_chain = NULL;
		if (!w->nr_blocks)
			continue;
		err = frame_table_merge(&ret->frames, &w->shard.frames, &map_frame);
		if (!err)
			err = chain_table_merge(&ret->chains, &w->shard.chains, map_frame,
						&map_chain);
		if (!err)
			err = merge_state(r, w, map_frame, map_chain);
		free(map_frame);
		free(map_chain);
		frame_table_done(&w->shard.frames);
		chain_table_done(&w->shard.chains);
	}
	return err;
}

static void close_workers(struct run *r)
{
	for (unsigned i = 0; r->workers && i < r->nr; i++) {
		struct worker *w = &r->workers[i];
		if (w->state && r->sink->ops->shard_free)
			r->sink->ops->shard_free(r->sink, w->state);
		if (w->opened)
			r->src->ops->shard_close(r->src, &w->shard);
		frame_table_done(&w->shard.frames);
		chain_table_done(&w->shard.chains);
	}
	free(r->workers);
}

static int run_all(struct run *r, struct diag *d)
{
	int err = r->src->ops->prepare(r->src, r->sink->needs, d);
	if (err)
		return err;
	r->workers = calloc(r->nr, sizeof(*r->workers));
	if (!r->workers)
		return -ENOMEM;
	err = open_workers(r);
	return err ? err : par_run(r->nr, run_worker, r);
}

/* A source that started early may find that it was too early: the second time it will not. */
static int run_again(struct run *r, struct diag *d)
{
	close_workers(r);
	r->workers = NULL;
	atomic_store(&r->stop, false);
	return run_all(r, d);
}

int stream_run(struct source *src, struct sink *sink, unsigned workers, struct run_tables *ret,
	       struct diag *d)
{
	*ret = (struct run_tables){ 0 };
	struct run r = { .src = src, .sink = sink, .nr = workers ? workers : par_cpus() };
	int err = run_all(&r, d);
	if (err == -EAGAIN && sink->needs & MAY_START_EARLY)
		err = run_again(&r, d);
	if (!err && guard_inputs_cut())
		err = -EIO;
	if (!err)
		err = merge_workers(&r, ret);
	if ((!err || err == -E2BIG) && src->ops->finish)
		src->ops->finish(src, d);
	close_workers(&r);
	return err;
}

int stream_run_named(struct source *src, struct sink *sink, unsigned workers,
		     const struct frame_table *frames, struct diag *d)
{
	struct run r = {
		.src = src, .sink = sink, .nr = workers ? workers : par_cpus(), .known = frames
	};
	int err = run_all(&r, d);
	close_workers(&r);
	return err;
}
