/*
 * What the files of the perf.data source share: replay_perf.c opens, prepares and closes, replay_perf_first.c is the first pass,
 * replay_perf_blocks.c hands out blocks, replay_perf_order.c sorts by time, replay_perf_samples.c decodes.
 */
#pragma once

#include "base/sequencer.h"
#include "stream/perf_formats.h"
#include "stream/replay_perf.h"
#include "stream/replay_unwind.h"
#include "stream/split_reads.h"
#include "stream/tasks.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	BLOCK_BYTES = 1 << 20,
	PIECE_BYTES =
		1 << 18, /* copied at a time: stays in the second cache with what its samples lead to */
	STAMPS_A_BLOCK = 256,
	SPOOL_BLOCKS = 16, /* of them: after these, pages of the spool leave our memory */
	CHAIN_MAX = 8192, /* more than a record of 64 KB can hold */
	RECORD_MAX = 1 << 16,
};

struct replay_perf_block {
	const u8 *at;
	const u8 *end;
};

/* A sample's time and place, for those who want time order. */
struct stamp {
	u64 time;
	u64 place;
};

/* Where the kernel said that records are missing from a CPU's ring. */
struct perf_loss {
	u64 time;
	u32 cpu, nr;
};

/* VEC(struct stamp) */
struct stamps {
	struct stamp *at;
	size_t nr, cap;
};

struct perf_replay {
	struct source source;
	struct perfdata file;
	struct tasks *tasks;
	struct perf_formats formats;
	unsigned needs;
	bool own_map;
	bool has_formats; /* they were opened */
	bool branch_history; /* chains are made of branches */
	bool has_times; /* else the place in the file is the time */
	bool prepared;
	bool whole; /* the first pass went to the end */
	bool surprised; /* it ended too early */
	bool early; /* workers go on where it ended */
	size_t walked; /* how far it went: an offset in the file */
	u64 piece_at; /* the next piece that a worker copies; the lock is for these, and for walked and blocks after the first pass */
	u64 nr_pieces;
	struct sequencer pieces; /* whose heads are walked next */
	size_t nr_cut; /* blocks there were when the run began */
	u64 lost[2]; /* by LOST, by LOST_SAMPLES */
	VEC(struct perf_loss) losses; /* whose next sample was not found yet */
	struct dict missed_at; /* place of a sample -> records lost before it, with time order */
	struct stamps stamps; /* all samples in time order, when that was asked for */
	bool stamps_sorted; /* the file has them in that order */
	size_t stamps_after; /* how many at the end are later than the times that are wanted */
	VEC(u8)
	spool; /* ... of a compressed file: its records, decompressed; places after the file's end lead here */
	size_t spool_mapped; /* they are in an unnamed file, mapped with this size; 0: in memory */
	u64 unpacked; /* bytes that all compressed records are */
	u64 memory_before,
		memory_most; /* what this process had, and what such a file may cost it; before 0: not known */
	VEC(struct replay_perf_block) blocks;
	atomic_size_t next;
	struct replay_perf_stats stats;
	struct unwind_config unwind_config; /* its cache is ours */
	struct replay_unwind unwind;
	atomic_ullong nr_bad, nr_unknown_id, nr_corrupt, nr_deferred;
	VEC(const u8 *) build_ids; /* BUILD_ID records: told by path, so they wait for the maps */
	/* a stream that comes in rounds (rounds_source.c) */
	struct rounds *rounds; /* NULL: a recording */
	struct round round; /* the current one */
	bool round_loaded, round_handed;
	bool round_whole; /* the stream is one round after all */
	size_t nr_told_images, nr_told_ids; /* build ids were looked for among so many */
	struct replay_perf_stats before,
		most; /* of wrong samples: in the rounds before, and with this one */
	/* compressed files */
	pthread_mutex_t lock;
	struct perfdata_inflate *inflate;
	size_t inflate_range;
	const u8 *inflate_at;
	bool inflate_over; /* damage: the first pass met it as well, and said so */
	u64 inflate_time;
	u64 inflate_seq;
};

/* address -> frame, valid for some time */
struct place_slot {
	u64 addr;
	u64 whose; /* space and mode */
	u64 from, for_ns;
	u32 frame;
};

/* A sample between its two steps: decoded, and where its chain is looked up is on its way from memory. */
struct pending {
	struct perf_sample_view view;
	const struct perfdata_attr *attr;
	u64 place;
	u64 hash;
	u32 space;
};

struct replay_perf_reader {
	u64 seed; /* of the keys of chains */
	size_t stamp, stamp_end; /* time order: what is left of the block */
	VEC(struct sample_place) sample_places;
	VEC(struct sample_branch) branches; /* of the batch */
	VEC(struct sample_extra) extras; /* [sample of the batch] */
	VEC(u64) regs;
	struct replay_perf_block now;
	u64 time0; /* of now.at, when places are times */
	u8 *copy; /* compressed files: the block's records */
	size_t copy_cap;
	struct perf_scratch scratch;
	struct replay_chains chains; /* of stacks that were unwound for this batch */
	struct place_slot *places;
	struct sample *samples;
	struct pending *pending;
	struct split_reads split; /* NEED_READ */
	struct tasks_epoch user, kernel, guest; /* of the sample before: mostly of this one too */
	struct tasks_span comm, space;
	u32 frames[CHAIN_MAX];
};

static inline struct perf_replay *replay_of(const struct source *s)
{
	return container_of(s, struct perf_replay, source);
}

static inline const u8 *replay_perf_at(const struct perf_replay *r, u64 place)
{
	return place < r->file.map_size ? r->file.map + place
					: r->spool.at + (place - r->file.map_size);
}

/* ---- the source ---- */

/* NULL: no memory. */
struct perf_replay *replay_perf_new(const struct source_ops *ops);
int replay_perf_prepare(struct source *s, unsigned needs, struct diag *d) must_check;
void replay_perf_finish(struct source *s, struct diag *d);
void replay_perf_close(struct source *s);
/* Of a stream: events, build ids and unwinding, as far as they are known by now. */
int replay_perf_learn(struct perf_replay *r, struct diag *d) must_check;

/* Maps of code made at run time, for the images that are known by now. */
int replay_perf_find_made(struct perf_replay *r, struct bytes cursor) must_check;

/* ---- the first pass ---- */

int replay_perf_first_pass(struct perf_replay *r, unsigned needs) must_check;
/* What an early start has left. */
int replay_perf_first_rest(struct perf_replay *r) must_check;
/* Whether all samples have a time. */
void replay_perf_find_times(struct perf_replay *r);
bool replay_perf_may_start_early(const struct perf_replay *r, unsigned needs);
/* Whether samples may mean something else after this record, or a worker could not go on reading after it. */
bool replay_perf_changes(u32 type);
/* Counts a record, and takes what it says of tasks, maps, losses and the file itself. */
int replay_perf_head(struct perf_replay *r, const u8 *rec, const struct perf_event_header *h,
		     u64 place) must_check;
int replay_perf_add_block(struct perf_replay *r, const u8 *at, const u8 *end) must_check;
/* How many of the bytes are whole records. */
size_t replay_perf_whole(const struct perf_replay *r, const u8 *data, size_t size);
/* What is left after the last whole record will never be one. */
bool replay_perf_stuck(const struct perf_replay *r, const u8 *at, size_t left);

/* ---- time order ---- */

int replay_perf_stamp(struct perf_replay *r) must_check;
/* Which samples come after records that were lost on their CPU. */
int replay_perf_find_gaps(struct perf_replay *r) must_check;
void replay_perf_drop_spool(struct perf_replay *r);
/* Its pages are no longer in our memory, until somebody looks at them again. */
void replay_perf_rest_spool(const struct perf_replay *r);
/* A compressed file may cost memory by its own size, not by what it unpacks to. */
void replay_perf_limit_memory(struct perf_replay *r);

/* ---- workers ---- */

/* Room for the blocks that workers will add after an early end of the first pass. */
int replay_perf_expect_pieces(struct perf_replay *r) must_check;
int replay_perf_next_block(struct source *s, struct shard *sh, u64 *seq) must_check;
/* replay_perf_facts.c */
void replay_perf_describe(const struct source *s, struct source_facts *ret);
bool replay_perf_group(const struct source *s, u32 event, struct source_group *ret);
/* How many CPUs the machine had, as far as the file says it. */
void replay_perf_count_cpus(struct perf_replay *r);
int replay_perf_span(const struct source *s, u64 *first_ns, u64 *last_ns) must_check;
void replay_perf_command(const struct source *s, struct strbuf *to);

int replay_perf_shard_open(struct source *s, struct shard *sh) must_check;
void replay_perf_shard_close(struct source *s, struct shard *sh);
int replay_perf_next_batch(struct source *s, struct shard *sh, struct batch *ret) must_check;
