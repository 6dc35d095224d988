/*
 * What the files of tasks share: tasks.c takes records in time order, tasks_space.c answers what is mapped where, tasks_rounds.c lets
 * both grow from round to round and forgets what is over.
 */
#pragma once

#include "base/dict.h"
#include "stream/tasks.h"

#define NO_PID	  UINT32_MAX
#define ANY_GUEST 0 /* as the process of a guest: perf's --guestkallsyms is of any */
#define GUEST_INO UINT64_MAX /* in the key of an image: dev is the process of a guest */

struct tasks_map {
	u64 start, end;
	u64 from;
	u64 pgoff;
	u32 image;
	u32 seq; /* of equal times the later record wins */
};

/*
 * For maps that lie over each other: a segment tree. The ends of all maps cut the addresses into segments, the leaves of a
 * binary tree; a map is noted at the few nodes that together make up its range. All maps over an address are then noted on the way
 * from its leaf to the root, and each node's notes are in time order: the newest one at a time costs a binary search a level.
 *
 *	node 1 is the root, 2n and 2n + 1 are below n, leaves are nr_segments ... 2 * nr_segments - 1
 */
struct stab {
	u64 *cuts; /* segment i is [cuts[i], cuts[i + 1]) */
	u32 nr_segments;
	u32 *first; /* [node] -> where its notes begin; one more for the end */
	u32 *notes; /* indices of maps */
};

struct space {
	VEC(struct tasks_map) maps; /* sealed: sorted by start, or by time when there is a stab */
	struct stab stab; /* cuts NULL: no two maps overlap */
	VEC(u64) moments; /* times at which something was mapped, ascending, each once */
	u32 first_moment; /* so many before them were forgotten */
	u32 serial; /* no other space ever had it */
	u32 parent;
	u32 nr_children; /* spaces that hang below this one */
	u64 forked;
	size_t tidy_at; /* so many maps: look whether some were replaced */
	bool dirty; /* not sorted yet */
	bool dead; /* its process is gone; children still ask */
};

struct change {
	u64 from;
	u32 value; /* a comm of a task, a space of a process */
	u32 seq;
};

struct task_timeline {
	VEC(struct change) changes;
	u32 pid; /* of a task: its process; NO_PID: nobody told */
	u32 nr_tasks; /* of a process */
	bool gone; /* it has ended */
};

struct ended {
	u32 pid, tid;
};

/* A side-band record, kept until all are there and can be taken in time order. */
struct event {
	u64 time;
	u32 seq;
	u32 type;
	u16 misc;
	u16 ksym_flags;
	u32 pid, tid, ppid, ptid;
	u32 name; /* string id */
	u32 image;
	u64 addr, len, pgoff;
};

/* What tells an image from others; with its kind. */
struct image_key {
	u32 path; /* string id */
	u64 dev, ino;
};

struct tasks {
	struct catalog *catalog;
	VEC(struct event) events;
	VEC(struct space) spaces;
	VEC(struct task_timeline) comms;
	VEC(struct task_timeline) procs;
	struct dict comm_of; /* tid -> comms */
	struct dict proc_of; /* pid -> procs */
	struct dict image_of; /* hash of (path, kind, device, inode) -> image */
	struct dict path_of; /* string id of a path -> its first image */
	struct dict guest_of; /* pid of a virtual machine, 0: any -> space of its kernel */
	struct dict guest_image_of; /* the same -> the first image of its kernel */
	VEC(u32) next_same; /* [image] -> another one of the same path, 0: none */
	VEC(struct image_key) keys; /* [image] */
	VEC(u32) dirty; /* spaces */
	VEC(struct ended) ended;
	VEC(u32) free_comms, free_procs, free_spaces;
	u64 until; /* answers are known to hold before this */
	u32 seq;
	u32 serial;
	bool sealed;
	bool rounds;
};

/* ---- tasks.c ---- */

int tasks_apply(struct tasks *t, const struct event *e) must_check;
void tasks_sort(struct tasks *t); /* events by time */
int tasks_name_idle(struct tasks *t) must_check;
u64 tasks_image_hash(const struct image_key *k, enum image_kind kind);
/* Images of one path, as build ids are told by path. */
int tasks_note_path(struct tasks *t, u32 path, u32 image) must_check;

/* ---- tasks_space.c ---- */

int tasks_add_map(struct tasks *t, u32 space, const struct event *e) must_check;
/* All that were added to. */
int tasks_seal_spaces(struct tasks *t) must_check;
void tasks_space_done(struct space *s);

/* ---- tasks_rounds.c ---- */

int tasks_note_end(struct tasks *t, const struct event *e) must_check;
