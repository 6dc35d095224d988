/*
 * One pass over the recording for each cursor. A source serves one reader at a time, so every cursor that is open has its own; they are
 * kept and used again. Frames and chains get their numbers from one run over the whole recording, when a statement first asks for names.
 */
#include "base/guard.h"
#include "session/query_impl.h"
#include "session/recording.h"

#include <errno.h>
#include <string.h>

enum { STEPS_BETWEEN_LOOKS = 4096 };

/* ---- sources ---- */

static int open_source(struct query *q, struct source **ret)
{
	struct diag *d = q->sy->diag;
	/* The first one has reported any problems already. */
	if (q->nr_sources)
		q->sy->diag = NULL;
	int err = recording_open(q->sy, q->o.path, RECORDING_EVENTS, q->o.symbols, ret);
	if (!err) {
		(*ret)->workers = 1;
		err = (*ret)->ops->prepare(*ret, 0, q->sy->diag);
		if (err)
			(*ret)->ops->close(*ret);
	}
	q->sy->diag = d;
	return err;
}

/* Frames of one source are looked up in the names of another. */
static bool same_images(const struct catalog *a, const struct catalog *b)
{
	if (a->images.nr != b->images.nr || a->events.nr != b->events.nr)
		return false;
	for (size_t i = 0; i < a->images.nr; i++) {
		const char *pa = a->images.at[i].path, *pb = b->images.at[i].path;
		if (a->images.at[i].kind != b->images.at[i].kind ||
		    strcmp(pa ? pa : "", pb ? pb : ""))
			return false;
	}
	return true;
}

static int add_source(struct query *q, struct query_source **ret)
{
	struct source *src;
	if (q->nr_sources == QUERY_SOURCES_MAX)
		return diag_error(q->sy->diag, -E2BIG,
				  "too many tables are read at the same time (%d)",
				  QUERY_SOURCES_MAX);
	int err = open_source(q, &src);
	if (err)
		return err;
	if (q->nr_sources && !same_images(query_catalog(q), &src->catalog)) {
		src->ops->close(src);
		return diag_error(q->sy->diag, -EIO, "%s was changed while it was read", q->o.path);
	}
	*ret = &q->sources[q->nr_sources++];
	**ret = (struct query_source){ .src = src };
	return 0;
}

static int take_source(struct query *q, struct query_source **ret)
{
	int err = 0;
	*ret = NULL;
	for (u32 i = 0; i < q->nr_sources && !*ret; i++)
		if (!q->sources[i].busy)
			*ret = &q->sources[i];
	if (!*ret)
		err = add_source(q, ret);
	if (!err)
		(*ret)->busy = true;
	return err;
}

int query_feed_open(struct query *q)
{
	struct query_source *s;
	dict_init(&q->chain_of);
	return add_source(q, &s);
}

void query_feed_close(struct query *q)
{
	if (q->named)
		named_run_done(&q->run);
	dict_done(&q->chain_of);
	for (u32 i = 0; i < q->nr_sources; i++)
		q->sources[i].src->ops->close(q->sources[i].src);
}

const struct schema *query_schema(const struct query *q, u32 event)
{
	struct source *src = q->sources[0].src;
	const struct schema *s = src->catalog.events.at[event].schema;
	return s ? s : source_schema(src, event);
}

/* ---- names ---- */

static int null_shard(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = k;
	return 0;
}

static int null_feed(struct sink *k, void *state, const struct batch *b)
{
	const struct query_opts *o = &container_of(k, struct query, names_sink)->o;
	return o->stopped && o->stopped(o->ctx) ? -EINTR : 0;
}

static int null_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	return 0;
}

static const struct sink_ops null_ops = {
	.shard_new = null_shard,
	.feed = null_feed,
	.merge = null_merge,
};

/* One worker, so that numbers of stacks are the same each time. */
static int run_names(struct query *q, struct query_source *s)
{
	bool chains = source_facts(s->src).has_chains;
	q->names_sink =
		(struct sink){ .ops = &null_ops, .needs = NEED_LEAF | (chains ? NEED_CHAIN : 0) };
	unsigned want = symbols_want(q->o.symbols);
	int err = named_run(&q->run, s->src, &q->names_sink,
			    &(struct named_run_opts){ .symbols = q->sy,
						      .names = q->o.symbols,
						      .want = want,
						      .workers = 1,
						      .expand = want & WANT_INLINE });
	q->named = true;
	const struct chain_table *t = &q->run.tables.chains;
	for (u32 i = 1; i < t->nr && !err; i++)
		err = dict_put(&q->chain_of, t->chains[i].key, i);
	return err;
}

int query_names(struct query *q)
{
	struct query_source *s;
	if (q->named)
		return 0;
	int err = take_source(q, &s);
	if (err)
		return err;
	s->src->from_ns = s->src->until_ns = 0;
	err = run_names(q, s);
	q->reported = true; /* by that run */
	s->busy = false;
	return err;
}

u32 query_stack_id(const struct query_feed *f, u32 chain)
{
	if (chain == CHAIN_NONE || !f->q->named)
		return 0;
	u32 id = dict_get(&f->q->chain_of, f->shard.chains.chains[chain].key);
	return id == DICT_NONE ? 0 : id;
}

static const struct name_func *func_of(const struct query *q, u32 id)
{
	const struct names_result *n = &q->run.named;
	return q->named && id && id < n->nr_ids && n->func_of[id] ? &n->funcs[n->func_of[id]] : NULL;
}

const char *query_symbol(const struct query *q, u32 id)
{
	const struct name_func *f = func_of(q, id);
	return f ? name_label(f) : NULL;
}

const char *query_dso(const struct query *q, u32 id)
{
	const struct names_result *n = &q->run.named;
	const struct frame_table *t = &q->run.tables.frames;
	if (q->named && n->frame_of && id < n->nr_ids)
		id = n->frame_of[id];
	if (!q->named || !id || id >= t->nr || t->frames[id].mode == FRAME_MARK)
		return NULL;
	u32 image = t->frames[id].image;
	return image && image < q->run.src->catalog.images.nr
		       ? q->run.src->catalog.images.at[image].name
		       : NULL;
}

void query_stack_text(const struct query *q, u32 stack, struct strbuf *to)
{
	u32 nr;
	const u32 *ids = chain_frames(&q->run.tables.chains, stack, &nr);
	for (u32 i = 0; i < nr; i++) {
		const char *name = query_symbol(q, ids[i]);
		strbuf_str(to, i ? ";" : "");
		strbuf_str(to, name ? name : "[unknown]");
	}
}

/* ---- a pass ---- */

/* Too many of them are a statement that reads the recording again for every row of another table. */
static void count_pass(struct query *q)
{
	enum { MANY = 100 };
	if (++q->nr_passes != MANY || q->told_rescans)
		return;
	q->told_rescans = true;
	diag_warn(q->sy->diag,
		  "this statement reads the recording again for every row of another table");
	diag_hint(q->sy->diag,
		  "materialize one of them: with t as materialized (select ... from TABLE) select "
		  "... from t join ...");
}

static int open_shard(struct query_feed *f, bool named)
{
	const struct frame_table *known = &f->q->run.tables.frames;
	int err = named && known->nr ? frame_table_copy(&f->shard.frames, known)
				     : frame_table_init(&f->shard.frames);
	if (!err)
		err = chain_table_init(&f->shard.chains);
	if (!err)
		err = f->from->src->ops->shard_open(f->from->src, &f->shard);
	f->opened = !err;
	return err;
}

int query_feed_begin(struct query_feed *f, struct query *q, unsigned needs, u64 from_ns,
		     u64 until_ns)
{
	bool named = needs & QUERY_NEED_NAMES;
	*f = (struct query_feed){ .q = q };
	int err = named ? query_names(q) : 0;
	if (!err)
		err = take_source(q, &f->from);
	if (err)
		return err;
	count_pass(q);
	struct source *src = f->from->src;
	src->workers = 1;
	src->from_ns = from_ns;
	src->until_ns = until_ns;
	err = src->ops->prepare(src, needs & ~(unsigned)QUERY_NEED_NAMES, q->sy->diag);
	return err ? err : open_shard(f, named);
}

static int at_end(struct query_feed *f)
{
	struct query *q = f->q;
	if (guard_inputs_cut())
		return diag_error(q->sy->diag, -EIO, "%s was truncated while it was read",
				  q->o.path);
	if (!q->reported && f->from->src->ops->finish)
		f->from->src->ops->finish(f->from->src, q->sy->diag);
	q->reported = true;
	return 0;
}

/* 1: there is a batch, 0: there are no more. */
static int next_batch(struct query_feed *f)
{
	struct source *src = f->from->src;
	u64 seq;
	f->at = 0;
	f->batch.nr = 0;
	for (;;) {
		int got = f->in_block ? src->ops->next_batch(src, &f->shard, &f->batch) : 0;
		if (got)
			return got;
		got = src->ops->next_block(src, &f->shard, &seq);
		f->in_block = got > 0;
		if (got <= 0)
			return got ? got : at_end(f);
	}
}

int query_feed_next(struct query_feed *f, const struct sample **ret)
{
	const struct query_opts *o = &f->q->o;
	if (++f->steps % STEPS_BETWEEN_LOOKS == 0 && o->stopped && o->stopped(o->ctx))
		return -EINTR;
	if (f->at == f->batch.nr) {
		int got = next_batch(f);
		if (got <= 0) {
			if (got < 0 && f->from->src->ops->finish && got == -E2BIG)
				f->from->src->ops->finish(f->from->src, f->q->sy->diag);
			return got;
		}
	}
	*ret = &f->batch.samples[f->at++];
	return 1;
}

void query_feed_end(struct query_feed *f)
{
	if (f->opened)
		f->from->src->ops->shard_close(f->from->src, &f->shard);
	frame_table_done(&f->shard.frames);
	chain_table_done(&f->shard.chains);
	if (f->from)
		f->from->busy = false;
	*f = (struct query_feed){ 0 };
}
