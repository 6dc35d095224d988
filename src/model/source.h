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
 *
 * Live data comes in rounds. A round holds all samples up to a point in time, the watermark; the catalogue is constant while it is
 * processed, and grows between rounds. A recording is one round.
 *
 *	prepare ─► next_round ─► prepare ─► blocks ─► merge ─► round_done ─► next_round ...
 *
 * A run ends when the source has no more rounds, when round_done() says that it has seen enough, or after source->ops->stop().
 *
 * Tables do not grow for ever. Ids are valid until round_done() returns; then tables start over. A sink that keeps ids from round to
 * round asks for KEEP_IDS, and has carry(): when the tables have become too large, a new generation begins with what the sink
 * still refers to. The catalogue's names and images start over with it, where the source knows how.
 */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"
#include "model/catalog.h"
#include "model/sample.h"

struct shard {
	struct frame_table frames;
	struct chain_table chains;
	void *impl; /* of the source */
};

struct source;
struct carry;

/* Its samples are of after < time <= until. */
struct round {
	u64 number; /* from 0 */
	u64 after, until; /* watermarks; until of the last round: UINT64_MAX */
	bool last;
};

/* What a recording says about itself. Strings are the source's, NULL: not known. */
enum source_kind {
	SOURCE_OTHER,
	SOURCE_PERF, /* of perf events: perf.data, or such a stream */
	SOURCE_TRACE, /* of ftrace: trace.dat */
};
struct source_facts {
	enum source_kind kind;
	bool head_grows; /* a stream: what stands at the head of a file is known after prepare() */
	bool has_reads; /* samples carry counts, of their own event or of a group (NEED_READ; one worker only) */
	bool has_aux; /* there is an AUX trace, whose events no source delivers */
	bool has_chains; /* samples have call chains; known after prepare() */
	const char *host, *release, *arch, *cpu;
	bool knows_wall; /* the time of day, and of the samples' clock, at one moment: */
	u64 wall_ns, clock_ns;
	bool was_unwound; /* stacks were unwound here; after the run: */
	u64 nr_cut; /* so many of them lack their outermost callers */
};

/* Events of the catalogue that were opened as one: [leader, leader + nr). */
struct source_group {
	const char *name; /* NULL: none was given */
	u32 leader, nr;
};

struct source_ops {
	/* With rounds: waits for the first one; later, gets the blocks of the current round ready to be taken (again). */
	int (*prepare)(struct source *s, unsigned needs, struct diag *d);
	/*
	 * May be NULL: everything is one round. Waits until the next round is complete: 1, or 0 when the last one is over, or negative
	 * errno. The round before is gone then, with all that samples of it have borrowed.
	 */
	int (*next_round)(struct source *s, struct round *ret, struct diag *d);
	/* NULL where next_round is. From any thread or a signal handler: the round that comes next is the last, with what is there. */
	void (*stop)(struct source *s);
	/*
	 * Between two rounds: c has what the sink still refers to; the source adds what it refers to itself, and uses the new ids from now on.
	 * c NULL: whether it can, 0 or negative errno. May be NULL: the catalogue only grows.
	 */
	int (*recycle)(struct source *s, struct carry *c);
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

	/* What may be asked of any source by the functions below; each may be NULL: nothing is known. */
	void (*describe)(const struct source *s, struct source_facts *ret);
	bool (*group)(const struct source *s, u32 event, struct source_group *ret);
	int (*span)(const struct source *s, u64 *first_ns, u64 *last_ns);
	void (*command)(const struct source *s, struct strbuf *to);
	/* Of a trace: what numbers in its events mean. From any thread while it runs. */
	const char *(*symbol)(struct source *s, u32 buffer, u64 addr, u64 *offset);
	const char *(*task_name)(struct source *s, u32 buffer, s32 pid);
	const struct schema *(*schema)(struct source *s, u32 event);
};

struct source {
	const struct source_ops *ops;
	struct catalog catalog;
	unsigned workers; /* for what prepare() does; 0: one for each CPU */
	/*
	 * Only samples of these times are wanted, both included; until 0: to the end. Set before prepare(). With NEED_ORDER a source that knows
	 * where they are does not decode the others; it may deliver them all the same.
	 */
	u64 from_ns, until_ns;
};

static inline struct source_facts source_facts(const struct source *s)
{
	struct source_facts f = { 0 };
	if (s->ops->describe)
		s->ops->describe(s, &f);
	return f;
}

/* The group of two events and more that an event leads. false: none. */
static inline bool source_group(const struct source *s, u32 event, struct source_group *ret)
{
	return s->ops->group && s->ops->group(s, event, ret);
}

/* Times of the first and the last sample: as the recorder noted them, else by looking. 0 or negative errno. */
static inline int source_span(const struct source *s, u64 *first_ns, u64 *last_ns)
{
	*first_ns = s->catalog.first_time_ns;
	*last_ns = s->catalog.last_time_ns;
	return s->ops->span ? s->ops->span(s, first_ns, last_ns) : 0;
}

/* Appends the command line of the recorder, as a shell would take it; nothing where it is not known. */
static inline void source_command(const struct source *s, struct strbuf *to)
{
	if (s->ops->command)
		s->ops->command(s, to);
}

/* The kernel function that holds an address, and how far into it; NULL: not known. Borrowed until the source is closed. */
static inline const char *source_symbol(struct source *s, u32 buffer, u64 addr, u64 *offset)
{
	return s->ops->symbol ? s->ops->symbol(s, buffer, addr, offset) : NULL;
}

/* The name of a task as it was saved; NULL: not known. Borrowed until the next round. */
static inline const char *source_task_name(struct source *s, u32 buffer, s32 pid)
{
	return s->ops->task_name ? s->ops->task_name(s, buffer, pid) : NULL;
}

/* How an event of the catalogue is read, also one that has not occurred; NULL: not known. */
static inline const struct schema *source_schema(struct source *s, u32 event)
{
	return s->ops->schema ? s->ops->schema(s, event) : NULL;
}

struct sink;

/* From one generation of tables to the next. */
struct carry {
	const struct run_tables *old;
	struct run_tables *fresh;
	u32 *frames, *chains; /* [old id] -> new id, 0: not carried over so far */
	/* A sink that carries no more chains, and frames in chains, leaves room for new ones; one that needs more gets it. */
	u32 room_chains;
	u64 room_pool;
	struct dict rows; /* what a chain consists of -> new id: those of many short processes are alike */
	/*
	 * The catalogue starts over too, where the source can do that: its strings and images, and [old id] -> new id, 0: not carried over so
	 * far. NULL: ids stay.
	 */
	const struct catalog *catalog;
	struct strtab strings;
	VEC(struct image_info) images;
	u32 *string_ids, *image_ids;
};
/* The new id of a frame or chain that is still wanted, or -ENOMEM. */
s64 carry_frame(struct carry *c, u32 id) must_check;
s64 carry_chain(struct carry *c, u32 id) must_check;
/* The outermost frames of a chain, so many, and one more that says what the others have become: chains that are cut alike are one. */
s64 carry_cut_chain(struct carry *c, u32 id, u32 nr, struct frame end) must_check;
/* The same for names (also one that is COMM_UNNAMED) and images; those of frames follow by themselves. */
s64 carry_string(struct carry *c, u32 id) must_check;
s64 carry_image(struct carry *c, u32 id) must_check;

/* A shard's state when all is read. The maps translate its ids to those of the run; NULL: they are the same. */
struct sink_part {
	void *state;
	const u32 *map_frame, *map_chain;
	bool apart; /* no chain of the run is of two parts: what goes by chains need not be looked for in the others */
};

struct sink_ops {
	unsigned needs;
	int (*shard_new)(struct sink *k, unsigned index, const struct shard *sh, void **state);
	int (*feed)(struct sink *k, void *state, const struct batch *b);
	int (*block_done)(struct sink *k, void *state, u64 seq); /* may be NULL */
	/*
	 * Brings the states of shards that have seen a block together, on so many threads: all of them at once, or, of a source with rounds, one
	 * after the other. May be NULL: the sink has brought everything together in block_done(); then there is no table of chains for the
	 * whole run.
	 */
	int (*merge)(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers);
	void (*shard_free)(struct sink *k, void *state); /* may be NULL: states own nothing */
	/*
	 * A round was merged: print, redraw, decay. Of a recording, too. 0: go on, 1: enough, the run ends well, or negative errno. The
	 * round can be run again meanwhile, with stream_run_named(). May be NULL.
	 */
	int (*round_done)(struct sink *k, const struct run_tables *tables, const struct round *r);
	/* With KEEP_IDS: replaces the ids that are kept by those of carry_frame(), carry_chain() and so on. May be NULL: tables only grow. */
	int (*carry)(struct sink *k, struct carry *c);
	/* A worker failed and its block will not be done: wakes who waits for it. From any thread; may be NULL. */
	void (*cancel)(struct sink *k);
};

struct sink {
	const struct sink_ops *ops;
	unsigned needs; /* ops->needs plus what this use of it asks for */
	bool full; /* set in round_done(): it holds too much itself, and asks for a new generation */
	u32 max_chains; /* so many distinct chains make a new generation, with carry(); 0: half a million */
	u32 max_frames; /* the same of frames; 0: some millions */
	u32 max_names; /* so many strings and images of the catalogue do; 0: some hundred thousand */
};
