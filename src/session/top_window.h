/*
 * The last minutes of `top --listen`: for each interval what came in it, as a tree of functions with names, so that a page can
 * add up any range of time.
 *
 *	interval   node 0: all   1: event   2: command   3: main   4: parse ...     parent < node; self: what ends there
 *
 * Names are kept once for all intervals. Memory has a bound: the oldest intervals go first, and names that none has any more.
 */
#pragma once

#include "analysis/profile_live.h"
#include "base/dict.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "model/flame.h"
#include "model/names.h"

struct top_node {
	u32 parent; /* a node before it; of node 0: 0 */
	u32 frame; /* of the window; of node 0: 0 */
	u64 self; /* period of samples that end here */
};

struct top_interval {
	u64 ms; /* since 1970; each is later than the one before */
	double samples_per_s, kernel_percent, lost_per_s;
	u64 nr_cut; /* samples whose inner frames are missing, because the tree would have become too large */
	VEC(struct top_node) nodes;
};

struct top_frame {
	u32 name, module; /* of strings */
	u8 kind; /* enum flame_kind; TOP_KIND_EVENT, TOP_KIND_COMMAND */
};
enum { TOP_KIND_COMMAND = FLAME_MARK + 1, TOP_KIND_EVENT };

struct top_window_limits {
	u32 intervals, nodes, all_nodes,
		frames; /* of an interval, of all together; 0: the usual ones */
};

struct top_window {
	VEC(struct top_interval) intervals; /* oldest first */
	VEC(struct top_frame) frames; /* [0] is none */
	struct strtab strings;
	struct dict frame_of;
	u64 generation; /* of the numbers of frames */
	size_t nr_nodes; /* of all intervals */
	struct top_window_limits limits;
	struct dict node_of; /* of the interval that is being filled: parent, frame -> node */
};

/* 0 or -ENOMEM. */
int top_window_init(struct top_window *w, const struct top_window_limits *limits) must_check;
void top_window_done(struct top_window *w);

/* A new interval; add stacks to it before the next one. The oldest ones may go. 0 or -ENOMEM. */
int top_window_begin(struct top_window *w, const struct top_interval *head) must_check;

/* What names the frames of a stack. */
struct top_naming {
	const struct catalog *catalog;
	const struct run_tables *tables;
	const struct names_result *named;
	bool hide_kernel, hide_user; /* stacks that end there */
};
int top_window_add(struct top_window *w, const struct top_naming *n,
		   const struct profile_live_stack *s) must_check;
/* Names that no interval needs are dropped, if there are very many. */
int top_window_tidy(struct top_window *w) must_check;
