/*
 * Who was running what, when: names of tasks, address spaces of processes and what was mapped where, each with the time from
 * which it holds. Side-band records are added in any order; tasks_seal() sorts them into time and builds the answers. After
 * that it is constant and any number of workers may ask.
 *
 *	process (pid) ── from 0 ──► space 1 ── from 120 (exec) ──► space 2 ...
 *	space ── maps, each [start, end) from some time on; the newest one that covers an address at that time is the answer
 *	      └─ parent space as of the fork, or the program before as of the exec: asked when the space itself does not know
 */
#pragma once

#include "model/catalog.h"
#include "model/frame.h"
#include "wire/perf_record.h"

enum { SPACE_NONE = 0, SPACE_KERNEL = 1 };

struct tasks;
struct carry;

/* The catalogue receives images and names. */
struct tasks *tasks_new(struct catalog *c);
void tasks_free(struct tasks *t);

/* Takes a record at `time` (any monotonous number when the recording has no times). Strings are copied where kept. */
int tasks_add(struct tasks *t, const struct perf_side *rec, u64 time) must_check;
/* What the recording says of an image's identity, by path. */
int tasks_build_id(struct tasks *t, const char *path, const u8 *id, u32 id_size) must_check;
int tasks_seal(struct tasks *t) must_check;
/* Forgets the answers, not the records: more can be added before it is sealed again. Spaces get other numbers. */
int tasks_reopen(struct tasks *t) must_check;

/*
 * For live data: records are taken once, round by round, and answers hold up to the watermark of the round. What nobody can ask about
 * any more is forgotten when the next round begins: tasks that have ended, spaces that no task and no child has, maps that were
 * replaced. tasks_rounds() comes first, instead of sealing; between two calls of tasks_advance() it is constant.
 */
void tasks_rounds(struct tasks *t);
/* Takes the records up to this time. One that comes too late holds from now on. */
int tasks_advance(struct tasks *t, u64 until) must_check;
/* The catalogue starts over: what is still referred to goes there, and what ended tasks were called last is forgotten. */
int tasks_recycle(struct tasks *t, struct carry *c) must_check;
/* How much is kept: what has to stay small. */
struct tasks_size {
	size_t nr_tasks, nr_processes, nr_spaces, nr_maps, nr_waiting;
};
struct tasks_size tasks_size(const struct tasks *t);

/* An answer about a task that holds for some time: from <= time < until. */
struct tasks_span {
	u32 id; /* who was asked about */
	u32 value;
	u64 from, until; /* until 0: no answer yet */
};
static inline bool tasks_span_holds(const struct tasks_span *s, u32 id, u64 time)
{
	return s->id == id && s->from <= time && time < s->until;
}
/* tasks_comm() and tasks_space() with the time for which they hold: the next sample is mostly of the same task. */
void tasks_comm_span(const struct tasks *t, u32 tid, u64 time, struct tasks_span *ret);
void tasks_space_span(const struct tasks *t, u32 pid, u64 time, struct tasks_span *ret);

/* The name of a task at a time: a string id of the catalogue, or COMM_UNNAMED(tid). */
u32 tasks_comm(const struct tasks *t, u32 tid, u64 time);
/* The address space of a process at a time; SPACE_NONE: never heard of it. */
u32 tasks_space(const struct tasks *t, u32 pid, u64 time);

/* The space of the kernel of a virtual machine, by the process that runs it; SPACE_NONE: nothing was recorded of it. */
u32 tasks_guest(const struct tasks *t, u32 pid);

/* A stretch of time in which nothing changes in a space: from <= time < until. In it, equal addresses lead to equal places. */
struct tasks_epoch {
	u32 space;
	u64 meaning; /* no other stretch of time of any space has it */
	u64 from, until;
};
void tasks_epoch(const struct tasks *t, u32 space, u64 time, struct tasks_epoch *ret);

/* Where an address leads, and for which times the answer holds: from <= time < until. */
struct tasks_place {
	u32 image; /* IMAGE_NONE: nothing known there; offset is the address */
	u64 offset;
	u64 from, until;
};
void tasks_find(const struct tasks *t, u32 space, u64 addr, u64 time, struct tasks_place *ret);
