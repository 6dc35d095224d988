/*
 * The contract in the middle: where samples come from and where they go.
 *
 *	source: prepare() reads the side-band (tasks, maps over time, clocks, schemas) and fills the catalogue;
 *	        then work is handed out as numbered blocks. Workers (shards) take blocks until none is left and turn each into
 *	        batches of samples. Blocks are independent; with NEED_ORDER a block's samples are in time order and blocks
 *	        follow each other in time.
 *	sink:   says what it needs, keeps one state per shard (no locks), eats batches, is told when a block ends,
 *	        merges the states, and finishes into a table, tree, series or timeline.
 *
 * stream_run() (stream/run.h) joins the two over all cores. Frames and chains in a sample are ids of the shard's own
 * tables; merge() receives the translation to the tables of the whole run.
 */
#pragma once

#include "base/diag.h"
#include "model/catalog.h"
#include "model/sample.h"

struct shard {
	struct frame_table frames;
	struct chain_table chains;
	void *impl; /* of the source */
};

struct source;

struct source_ops {
	int (*prepare)(struct source *s, unsigned needs, struct diag *d);
	/* Several shards are opened before any is used; each is then used by one thread. */
	int (*shard_open)(struct source *s, struct shard *sh);
	void (*shard_close)(struct source *s, struct shard *sh);
	/*
	 * Takes the next block for this shard: 1 and its number in *seq, 0 when none is left, or negative errno. Thread-safe.
	 * -EAGAIN, with MAY_START_EARLY: what was handed out so far is void; prepare() again.
	 */
	int (*next_block)(struct source *s, struct shard *sh, u64 *seq);
	/* 1 and a batch (not empty), 0 at the block's end, or negative errno. */
	int (*next_batch)(struct source *s, struct shard *sh, struct batch *ret);
	/* After the last block, or when a budget ended it (-E2BIG): what was found wrong on the way goes to the diag. */
	void (*finish)(struct source *s, struct diag *d);
	void (*close)(struct source *s);
};

struct source {
	const struct source_ops *ops;
	struct catalog catalog;
};

struct sink;

struct sink_ops {
	unsigned needs;
	int (*shard_new)(struct sink *k, unsigned index, const struct shard *sh, void **state);
	int (*feed)(struct sink *k, void *state, const struct batch *b);
	int (*block_done)(struct sink *k, void *state, u64 seq); /* may be NULL */
	/*
	 * map_frame, map_chain: shard ids to ids of the run; NULL: the same. Called once per shard, one after the other. May be
	 * NULL: the sink has brought everything together in block_done().
	 */
	int (*merge)(struct sink *k, void *state, const u32 *map_frame, const u32 *map_chain);
	void (*shard_free)(struct sink *k, void *state); /* may be NULL: states own nothing */
	/* A worker failed and its block will not be done: wakes who waits for it. From any thread; may be NULL. */
	void (*cancel)(struct sink *k);
};

struct sink {
	const struct sink_ops *ops;
	unsigned needs; /* ops->needs plus what this use of it asks for */
};
