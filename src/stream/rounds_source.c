/* Rounds of a stream as a source: each is replayed like a small recording, with the tasks and maps of all rounds before. */
#include "file/perfdata_made.h"
#include "stream/replay_perf_impl.h"
#include "stream/rounds_impl.h"

#include <errno.h>
#include <string.h>

static int describe(void *ctx, const u8 *rec, const struct perf_event_header *h)
{
	return replay_perf_head(ctx, rec, h, 0);
}

/*
 * Counts of wrong samples. A round may be run several times, and not each time for all that can be wrong: the largest count is it.
 */
static void note_most(struct perf_replay *r)
{
	r->most.nr_bad_samples = max(r->most.nr_bad_samples, (u64)r->nr_bad);
	r->most.nr_unknown_id = max(r->most.nr_unknown_id, (u64)r->nr_unknown_id);
	r->most.nr_corrupt_chains = max(r->most.nr_corrupt_chains, (u64)r->nr_corrupt);
	r->most.nr_deferred = max(r->most.nr_deferred, (u64)r->nr_deferred);
}

static void count_from(struct perf_replay *r, const struct replay_perf_stats *from)
{
	r->nr_bad = from->nr_bad_samples;
	r->nr_unknown_id = from->nr_unknown_id;
	r->nr_corrupt = from->nr_corrupt_chains;
	r->nr_deferred = from->nr_deferred;
}

static int load_whole(struct perf_replay *r, const struct round_bytes *b, struct diag *d)
{
	r->file.map_size = 0; /* not a mapping */
	perfdata_close(&r->file);
	r->build_ids.nr = 0;
	memset(&r->stats, 0, sizeof(r->stats));
	r->round_whole = true;
	return perfdata_open_bytes(&r->file, b->data, b->size, "standard input", d);
}

static int load_part(struct perf_replay *r, const struct round_bytes *b, struct diag *d)
{
	r->file.map = b->data;
	r->file.map_size = r->file.data_end = b->size;
	r->file.data_at = 0;
	r->blocks.nr = r->stamps.nr = 0;
	if (!r->round.number)
		tasks_rounds(r->tasks);
	replay_perf_find_times(r);
	int err = replay_perf_first_pass(r, 0);
	if (!err)
		err = tasks_advance(r->tasks, b->facts.until);
	if (!err && b->facts.last)
		err = replay_perf_find_made(r, perfdata_made_start(&r->file));
	return err ? err : replay_perf_learn(r, d);
}

static int load_round(struct perf_replay *r, struct diag *d)
{
	struct round_bytes b;
	int got = rounds_next(r->rounds, &b, d);
	if (got <= 0)
		return got;
	r->round = b.facts;
	r->round_loaded = true;
	note_most(r);
	r->before = r->most;
	int err = b.whole ? load_whole(r, &b, d) : load_part(r, &b, d);
	return err ? err : 1;
}

static int rounds_prepare(struct source *s, unsigned needs, struct diag *d)
{
	struct perf_replay *r = replay_of(s);
	int got = r->round_loaded ? 1 : load_round(r, d);
	if (got < 0)
		return got;
	if (r->round_whole)
		return replay_perf_prepare(s, needs & ~(unsigned)MAY_START_EARLY, d);
	r->needs = needs;
	r->nr_cut = r->blocks.nr;
	note_most(r);
	count_from(r, &r->before);
	atomic_store(&r->next, 0);
	return needs & NEED_ORDER && !r->stamps.nr ? replay_perf_stamp(r) : 0;
}

/* The first round was waited for by prepare(). */
static int rounds_next_round(struct source *s, struct round *ret, struct diag *d)
{
	struct perf_replay *r = replay_of(s);
	int got = r->round_handed ? load_round(r, d) : 1;
	r->round_handed = true;
	if (got > 0)
		*ret = r->round;
	return got;
}

static void rounds_finish(struct source *s, struct diag *d)
{
	struct perf_replay *r = replay_of(s);
	note_most(r);
	count_from(r, &r->most);
	replay_perf_finish(s, d);
}

static void stop(struct source *s)
{
	rounds_stop(replay_of(s)->rounds);
}

/* Not where stacks are unwound here: tables are found by image. */
static int rounds_recycle(struct source *s, struct carry *c)
{
	struct perf_replay *r = replay_of(s);
	if (r->round_whole || r->unwind.tables)
		return -EBUSY;
	if (!c)
		return 0;
	r->nr_told_images = 0;
	return tasks_recycle(r->tasks, c);
}

static const struct source_ops rounds_ops = {
	.prepare = rounds_prepare,
	.next_round = rounds_next_round,
	.stop = stop,
	.recycle = rounds_recycle,
	.shard_open = replay_perf_shard_open,
	.shard_close = replay_perf_shard_close,
	.next_block = replay_perf_next_block,
	.next_batch = replay_perf_next_batch,
	.finish = rounds_finish,
	.close = replay_perf_close,
	.describe = replay_perf_describe,
	.group = replay_perf_group,
	.span = replay_perf_span,
	.command = replay_perf_command,
};

int rounds_open(const struct rounds_opts *o, struct source **ret)
{
	struct perf_replay *r = replay_perf_new(&rounds_ops);
	if (!r)
		return -ENOMEM;
	r->rounds = rounds_new(&(struct rounds_config){
		.opts = *o, .file = &r->file, .describe = describe, .ctx = r });
	if (!r->rounds) {
		replay_perf_close(&r->source);
		return -ENOMEM;
	}
	*ret = &r->source;
	return 0;
}

int rounds_put(struct source *s, const struct iovec *iov, size_t nr)
{
	return rounds_feed(replay_of(s)->rounds, iov, nr);
}

void rounds_end(struct source *s)
{
	rounds_feed_end(replay_of(s)->rounds);
}

void rounds_refuse(struct source *s)
{
	rounds_close_feed(replay_of(s)->rounds);
}

struct tasks_size rounds_size(const struct source *s)
{
	return tasks_size(replay_of(s)->tasks);
}
