/*
 * Frames and call chains as small integers.
 *
 * A frame is a place in code: (image, offset, mode). It is interned once and from then on is a u32. A chain is a node
 * of a tree whose edges are frames; the root side of the tree is the outermost caller:
 *
 *	node 0 (root) ── main ── read_all ── vfs_read        chain of one sample = the id of its vfs_read node
 *	                    └── parse                        parent ids are always smaller than child ids
 *
 * Because parents come first, sums over sub-trees are one reverse scan, and trees merge by one forward scan.
 * Each worker owns its tables; chain_tree_merge() joins them.
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

/* Said inside a chain, at its root end. */
enum frame_mark { MARK_TRUNCATED = 1, MARK_DEFERRED, MARK_CORRUPT };

enum {
	FRAME_NONE = 0, /* id of no frame */
	CHAIN_ROOT = 0, /* id of the empty chain */
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
	u32 nr;
	u32 cap;
	u32 mask;
};

int frame_table_init(struct frame_table *t) must_check;
void frame_table_done(struct frame_table *t);
/* The id (never FRAME_NONE), or -ENOMEM. */
s64 frame_table_add(struct frame_table *t, struct frame f) must_check;

struct chain_node {
	u32 parent; /* smaller than the node's own id */
	u32 frame;
};

struct chain_tree {
	struct chain_node *nodes; /* [0] is the root */
	u32 *slots;
	u32 nr;
	u32 cap;
	u32 mask;
};

int chain_tree_init(struct chain_tree *t) must_check;
void chain_tree_done(struct chain_tree *t);
/* The child of parent along frame, made if it is new; or -ENOMEM. */
s64 chain_tree_add(struct chain_tree *t, u32 parent, u32 frame) must_check;

/* Starts fetching the slot that chain_tree_add(parent, frame) will look at. */
void chain_tree_prefetch(const struct chain_tree *t, u32 parent, u32 frame);

/*
 * Adds all of `from` to `into`. map_frame[id] and map_node[id] translate the ids; the caller's, to be freed; only written
 * on success.
 */
int frame_table_merge(struct frame_table *into, const struct frame_table *from, u32 **map_frame) must_check;
int chain_tree_merge(struct chain_tree *into, const struct chain_tree *from, const u32 *map_frame, u32 **map_node) must_check;

/* The tables of a whole run, after the shards were merged. */
struct run_tables {
	struct frame_table frames;
	struct chain_tree chains;
};
void run_tables_done(struct run_tables *r);
