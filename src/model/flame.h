/*
 * A profile as stacks over time: what flame graphs and exports of profiles are made from. One or two recordings are in it, as sides.
 *
 *	trees    one for each event and task; [0] cycles of make:41
 *	nodes    of all trees, in the order of a walk:   0 root   1 main   2 parse   3 read      main spans [1, 4)
 *	points   samples: where (a node, the stack's end), when, how much. A node's weight is the sum of the points in its span.
 *
 * Frames are functions of a module, whatever their addresses, so that two recordings share them. analysis/flame fills it; views
 * and exports read it. All strings belong to it.
 */
#pragma once

#include "base/strtab.h"
#include "base/vec.h"

enum flame_kind {
	FLAME_USER,
	FLAME_KERNEL,
	FLAME_INLINED,
	FLAME_JIT, /* code made at run time: perf maps, BPF */
	FLAME_UNKNOWN, /* no symbol covers it */
	FLAME_MARK, /* not code: why a stack ends early */
};

enum { FLAME_SIDES = 2 };

/* Not a frame: light branches, joined into the last child of the node they are below. */
#define FLAME_JOINED UINT32_MAX

struct flame_frame {
	u32 name; /* of flame.strings, like module and file */
	u32 module;
	u32 file; /* 0: unknown */
	u32 line;
	enum flame_kind kind;
};

struct flame_task {
	s32 pid, tid; /* 0 where tasks of one name are one task */
	u32 comm;
};

struct flame_tree {
	u32 event; /* of flame.events */
	u32 task;
	u32 root; /* node */
};

struct flame_node {
	u32 parent; /* roots: themselves */
	u32 frame; /* roots: 0; FLAME_JOINED only where it was asked for */
	u32 end; /* after the last node below */
};

struct flame_point {
	u64 time_ns; /* 0: the recording has no times */
	u64 period;
	u32 node;
	u32 count : 31; /* samples */
	u32 side : 1;
};

/* What is known about a recording; strings are ids, 0: unknown. */
struct flame_side {
	u32 path, host, release, arch, cpu, command;
	u64 recorded_s; /* seconds of the epoch; 0: unknown */
	u64 first_ns, last_ns; /* of the points */
	u64 nr_samples;
	u64 nr_lost;
	u64 nr_truncated; /* samples whose stack ends early, as far as it is known */
	bool knows_truncated; /* that is all of them: the stacks were unwound by us, just now */
	u64 nr_without; /* samples without a stack: their own place is all there is */
	u64 cost_ns; /* CPU time the recorder took; 0: unknown */
	bool whole_system; /* all CPUs were asked for, not a command or processes */
};

/* Source and instructions of a function, in the order of addresses. */
struct flame_code_line {
	u64 number; /* of the line; of an instruction, bytes from the function's start */
	u64 weight; /* that fell on an instruction, of the heaviest event */
	u32 text;
	bool source;
};

struct flame_code {
	u32 frame;
	u32 first, nr; /* of flame.code_lines */
};

struct flame {
	struct strtab strings;
	VEC(struct flame_frame) frames; /* [0] is none */
	VEC(struct flame_task) tasks;
	VEC(u32) events; /* names */
	VEC(struct flame_tree) trees;
	VEC(struct flame_node) nodes; /* these two grow by base/big.h */
	VEC(struct flame_point) points; /* in no order */
	VEC(struct flame_code) codes; /* may be empty: only pages show them */
	VEC(struct flame_code_line) code_lines;
	struct flame_side sides[FLAME_SIDES];
	u32 nr_sides;
	u64 resolution_ns; /* times are right to this; 1: exact */
	u64 nr_all_nodes; /* before light branches were joined */
	u64 nr_joined; /* nodes that are not there because of that; 0: all are */
	u64 joined_weight;
};

void flame_init(struct flame *f);
void flame_done(struct flame *f);
static inline const char *flame_str(const struct flame *f, u32 id)
{
	return strtab_str(&f->strings, id);
}

/* The weight that ends at each node on one side (UINT32_MAX: on all of them), in an array of nodes.nr that the caller frees. */
u64 *flame_self(const struct flame *f, u32 side);
/* The same for numbers of samples. */
u64 *flame_counts(const struct flame *f);
/* Adds each node's weight to its parent's: from self to total, in place. */
void flame_sum(const struct flame *f, u64 *weights);
/* The weight of each event on one side (as above), in an array of events.nr that the caller frees. */
u64 *flame_event_weights(const struct flame *f, u32 side);
/* Events by their weight, heaviest first, in place; those of equal weight keep their order. 0 or -ENOMEM. */
int flame_sort_events(struct flame *f) must_check;
/* Points by time, in place; those of equal time stay in the order of nodes. */
void flame_sort_points(struct flame *f);
