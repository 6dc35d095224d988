/*
 * Frames and call chains as small integers.
 *
 * A frame is a place in code: (image, offset, mode). It is interned once and from then on is a u32. A chain is a row of frames,
 * outermost caller first; each distinct chain is kept once, and a sample carries its number:
 *
 *	frames   1 main   2 read_all   3 vfs_read   4 parse
 *	chains   1: [1 2 3]   2: [1 4]          pool: 1 2 3 1 4
 *
 * Memory grows with distinct chains, not with samples. Each worker owns its tables; frame_table_merge() and chain_tables_merge() join them.
 */
#pragma once

#include "base/types.h"

enum frame_mode {
	FRAME_UNKNOWN,
	FRAME_KERNEL,
	FRAME_USER,
	FRAME_HYPERVISOR,
	FRAME_GUEST_KERNEL,
	FRAME_GUEST_USER,
	FRAME_MARK, /* not code: offset is an enum frame_mark */
};

static inline bool mode_is_guest(unsigned mode)
{
	return mode == FRAME_GUEST_KERNEL || mode == FRAME_GUEST_USER;
}

/* "kernel", "user", "hypervisor", "guest-kernel", "guest-user"; NULL: neither is known, or it is a mark. */
const char *frame_mode_word(unsigned mode);

/* Said inside a chain, at its root end. */
enum frame_mark {
	MARK_TRUNCATED = 1,
	MARK_DEFERRED,
	MARK_CORRUPT,
	MARK_JOINED,
	/* Of waits (analysis/off_cpu): what the thread was doing, outermost. */
	MARK_RUNNING,
	MARK_READY,
	MARK_BLOCKED,
	MARK_BLOCKED_LONG, /* the same; long enough to be idle */
	MARK_UNINTERRUPTIBLE,
	MARK_STOPPED,
	MARK_IDLE,
	MARK_STATE_UNKNOWN,
	/* And where frames are missing, or those of another thread follow, innermost first. */
	MARK_NO_STACK,
	MARK_NEW_THREAD,
	MARK_NOT_SAMPLED,
	MARK_WOKEN_BY_IRQ,
	MARK_WOKEN_BY, /* by a thread: its name is in the upper half of the offset */
};
/* Whether it marks frames that should be there but are missing. */
static inline bool mark_is_cut(u64 mark)
{
	return mark == MARK_TRUNCATED || mark == MARK_DEFERRED || mark == MARK_CORRUPT;
}

enum {
	FRAME_NONE = 0, /* id of no frame */
	CHAIN_NONE = 0, /* id of the empty chain */
	IMAGE_NONE = 0, /* code that no known image holds; offset is then the address itself */
};

struct frame {
	u64 offset; /* file offset in a user image, address in kernel images and in IMAGE_NONE */
	u32 image;
	u32 mode; /* enum frame_mode */
};

struct frame_table {
	struct frame *frames; /* [0] is no frame */
	u32 *slots;
	u64 seed;
	u32 nr;
	u32 cap;
	u32 mask;
};

int frame_table_init(struct frame_table *t) must_check;
void frame_table_done(struct frame_table *t);
/* A table with the same frames under the same ids. */
int frame_table_copy(struct frame_table *t, const struct frame_table *from) must_check;
/* The id (never FRAME_NONE), or -ENOMEM. */
s64 frame_table_add(struct frame_table *t, struct frame f) must_check;

struct chain {
	u64 key;
	u32 start; /* into pool */
	u32 nr;
};

struct chain_slot {
	u64 key;
	u32 chain; /* 0: free */
	u32 spare;
};

/*
 * A chain is known by a key of 64 bits, made by whoever finds it (a hash of its addresses and of what they mean), so that a chain
 * seen before is found without looking at its frames. The same key must mean the same chain in every shard.
 */
struct chain_table {
	struct chain *chains; /* [0] is empty */
	u32 *pool;
	struct chain_slot *slots;
	u32 nr, cap;
	u32 mask;
	u64 nr_pool, cap_pool;
};

int chain_table_init(struct chain_table *t) must_check;
void chain_table_done(struct chain_table *t);
/* CHAIN_NONE: not there yet. */
static inline u32 chain_table_find(const struct chain_table *t, u64 key)
{
	u32 at = (u32)key & t->mask;
	while (t->slots[at].chain && t->slots[at].key != key)
		at = (at + 1) & t->mask;
	return t->slots[at].chain;
}
/* Starts fetching what chain_table_find() will look at. */
static inline void chain_table_prefetch(const struct chain_table *t, u64 key)
{
	__builtin_prefetch(&t->slots[(u32)key & t->mask]);
}
/* Adds a chain that is not there, outermost frame first; its id (CHAIN_NONE when nr is 0), or -ENOMEM. */
s64 chain_table_put(struct chain_table *t, u64 key, const u32 *frames, u32 nr) must_check;
/* Room for so many frames more in the pool. */
int chain_pool_reserve(struct chain_table *t, u64 nr) must_check;
static inline const u32 *chain_frames(const struct chain_table *t, u32 id, u32 *nr)
{
	*nr = t->chains[id].nr;
	return t->pool + t->chains[id].start;
}

/*
 * Adds all of `from` to `into`. The map translates ids; the caller's, to be freed; only written on success.
 */
int frame_table_merge(struct frame_table *into, const struct frame_table *from,
		      u32 **map_frame) must_check;
int chain_table_merge(struct chain_table *into, const struct chain_table *from,
		      const u32 *map_frame, u32 **map_chain) must_check;

/* A shard's chains on their way into the table of the run. */
struct chain_part {
	struct chain_table *from;
	const u32 *map_frame; /* NULL: frames keep their ids */
	u32 *map_chain; /* out: translates ids; the caller's, to be freed */
};
/* All of them, on several threads, into a table that is not initialised. It is not for looking up: nothing can be found in it or added. Also after an error, the
 * maps and `into` are the caller's. */
int chain_tables_merge(struct chain_table *into, struct chain_part *parts, u32 nr,
		       unsigned workers) must_check;

/* Whether nearly all chains are in one shard only, as far as a look at some of them can tell. Then finding the same ones is not worth it. */
bool chain_tables_apart(const struct chain_part *parts, u32 nr, unsigned workers);
/* As chain_tables_merge(), but what is in two shards is there twice; the shards' frames are not copied but taken away. */
int chain_tables_join(struct chain_table *into, struct chain_part *parts, u32 nr,
		      unsigned workers) must_check;

/* The tables of a whole run, after the shards were merged. */
struct run_tables {
	struct frame_table frames;
	struct chain_table chains;
};
void run_tables_done(struct run_tables *r);
