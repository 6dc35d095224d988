#include "model/fan.h"

#include <errno.h>
#include <stdlib.h>

struct fan_state {
	void *of[FAN_MAX];
};

static struct sink_fan *fan_of(struct sink *k)
{
	return container_of(k, struct sink_fan, sink);
}

static void fan_free(struct sink *k, void *state)
{
	const struct sink_fan *f = fan_of(k);
	struct fan_state *st = state;
	for (unsigned i = 0; i < f->nr; i++)
		if (st->of[i] && f->parts[i]->ops->shard_free)
			f->parts[i]->ops->shard_free(f->parts[i], st->of[i]);
	free(st);
}

static int fan_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	const struct sink_fan *f = fan_of(k);
	struct fan_state *st = calloc(1, sizeof(*st));
	int err = st ? 0 : -ENOMEM;
	for (unsigned i = 0; i < f->nr && !err; i++)
		err = f->parts[i]->ops->shard_new(f->parts[i], index, sh, &st->of[i]);
	if (err && st)
		fan_free(k, st);
	*state = err ? NULL : st;
	return err;
}

static int fan_feed(struct sink *k, void *state, const struct batch *b)
{
	const struct sink_fan *f = fan_of(k);
	struct fan_state *st = state;
	int err = 0;
	for (unsigned i = 0; i < f->nr && !err; i++)
		err = f->parts[i]->ops->feed(f->parts[i], st->of[i], b);
	return err;
}

static int fan_block_done(struct sink *k, void *state, u64 seq)
{
	const struct sink_fan *f = fan_of(k);
	struct fan_state *st = state;
	int err = 0;
	for (unsigned i = 0; i < f->nr && !err; i++)
		if (f->parts[i]->ops->block_done)
			err = f->parts[i]->ops->block_done(f->parts[i], st->of[i], seq);
	return err;
}

static int fan_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	const struct sink_fan *f = fan_of(k);
	_cleanup_free_ struct sink_part *own = calloc(nr, sizeof(*own));
	int err = own ? 0 : -ENOMEM;
	for (unsigned i = 0; i < f->nr && !err; i++) {
		if (!f->parts[i]->ops->merge)
			continue;
		for (u32 n = 0; n < nr; n++) {
			own[n] = parts[n];
			own[n].state = ((struct fan_state *)parts[n].state)->of[i];
		}
		err = f->parts[i]->ops->merge(f->parts[i], own, nr, workers);
	}
	return err;
}

static int fan_round_done(struct sink *k, const struct run_tables *t, const struct round *r)
{
	const struct sink_fan *f = fan_of(k);
	int enough = 0;
	k->full = false;
	for (unsigned i = 0; i < f->nr && enough >= 0; i++) {
		const struct sink_ops *ops = f->parts[i]->ops;
		int got = ops->round_done ? ops->round_done(f->parts[i], t, r) : 0;
		enough = got < 0 ? got : max(enough, got);
		k->full |= f->parts[i]->full;
	}
	return enough;
}

static int fan_carry(struct sink *k, struct carry *c)
{
	const struct sink_fan *f = fan_of(k);
	int err = 0;
	for (unsigned i = 0; i < f->nr && !err; i++)
		if (f->parts[i]->ops->carry)
			err = f->parts[i]->ops->carry(f->parts[i], c);
	return err;
}

static void fan_cancel(struct sink *k)
{
	const struct sink_fan *f = fan_of(k);
	for (unsigned i = 0; i < f->nr; i++)
		if (f->parts[i]->ops->cancel)
			f->parts[i]->ops->cancel(f->parts[i]);
}

/* Without carry(): a part keeps ids and cannot let go of any. */
static const struct sink_ops fan_keeps_ops = {
	.shard_new = fan_new,
	.feed = fan_feed,
	.block_done = fan_block_done,
	.merge = fan_merge,
	.shard_free = fan_free,
	.round_done = fan_round_done,
	.cancel = fan_cancel,
};

static const struct sink_ops fan_ops = {
	.shard_new = fan_new,
	.feed = fan_feed,
	.block_done = fan_block_done,
	.merge = fan_merge,
	.shard_free = fan_free,
	.round_done = fan_round_done,
	.carry = fan_carry,
	.cancel = fan_cancel,
};

void sink_fan_init(struct sink_fan *f, struct sink *const *parts, unsigned nr)
{
	bool keeps = false;
	unsigned early = MAY_START_EARLY;
	*f = (struct sink_fan){ 0 };
	for (unsigned i = 0; i < nr && f->nr < FAN_MAX; i++) {
		if (!parts[i])
			continue;
		f->parts[f->nr++] = parts[i];
		f->sink.needs |= parts[i]->needs;
		early &= parts[i]->needs;
		keeps |= parts[i]->needs & KEEP_IDS && !parts[i]->ops->carry;
	}
	f->sink.needs = (f->sink.needs & ~(unsigned)MAY_START_EARLY) | early;
	f->sink.ops = keeps ? &fan_keeps_ops : &fan_ops;
}
