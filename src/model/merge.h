/*
 * Brings what several shards found together, on all cores: things that are the same in two shards become one. Things are dealt to piles by a
 * hash, so that those that are the same lie in one pile; each pile is then the work of one worker.
 *
 *	shard 0   a b c        piles   {a d a} {b c b e}        result   a d b c e
 *	shard 1   b d a e
 */
#pragma once

#include "base/types.h"

struct merge {
	unsigned workers;
	u32 nr_shards;
	const u32 *nr; /* [shard] its things; they are numbered from 0 */
	u32 first; /* number of the first thing of the result */
	void *ctx;
	u64 (*key)(void *ctx, u32 shard, u32 item);
	/* Of two with the same key. NULL: the same key is the same thing. */
	bool (*same)(void *ctx, u32 shard, u32 item, u32 other_shard, u32 other);
	/* How much room its content needs; NULL: all have one size. */
	u32 (*size)(void *ctx, u32 shard, u32 item);
	/* Called once: room for so many things, numbered on from `first`, and for so much content. */
	int (*room)(void *ctx, u32 nr, u64 size);
	/* Brings on its way what put() will look at; may be NULL. */
	void (*fetch)(void *ctx, u32 shard, u32 item);
	/*
	 * A thing's number in the result. fresh: it is the first of its kind, and its content goes to `at`. Calls about the same number come
	 * from one thread, in the order of shards.
	 */
	void (*put)(void *ctx, u32 shard, u32 item, u32 to, u64 at, bool fresh);
};

/* 0, -ENOMEM, or what room() returned. */
int merge_shards(const struct merge *m) must_check;
