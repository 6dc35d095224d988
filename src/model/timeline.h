/*
 * What happened over time, as plain data that pages, JSON and other tools' formats are made of:
 *
 *	track     a thread, with what it did
 *	slice     a stretch of time in one state; those of a track follow each other. A blocked one that ended has a flow: from the track that
 *	          woke it (cause), at its end, to its own
 *	instant   something that happened on a track: a sample, or an event that is not the scheduler's
 *	gap       a CPU from which events were lost
 *
 * CPUs have no slices of their own: what a CPU did is the running slices that name it.
 */
#pragma once

#include "base/strtab.h"
#include "base/vec.h"

enum { TIMELINE_NONE = UINT32_MAX };

enum timeline_state {
	TIMELINE_UNKNOWN, /* events that would tell were lost, or came before the recording */
	TIMELINE_RUNNING,
	TIMELINE_READY,
	TIMELINE_BLOCKED,
	TIMELINE_NR_STATES,
};

enum timeline_flag {
	TIMELINE_LOSSY = 1 << 0, /* events were lost meanwhile */
	TIMELINE_SINCE_BEFORE = 1 << 1,
	TIMELINE_UNTIL_END = 1 << 2,
	TIMELINE_PREEMPTED = 1 << 3, /* READY: it left the CPU without blocking */
	TIMELINE_BY_IRQ = 1 << 4, /* BLOCKED: an interrupt ended it */
};

struct timeline_track {
	s32 tid; /* 0: a CPU's idle task */
	s32 pid; /* 0: not known */
	s32 parent; /* -1: not known */
	s32 cpu; /* of an idle task */
	u32 comm; /* of strings */
	u64 first_slice, nr_slices;
	u64 first_instant, nr_instants;
	u64 ns[TIMELINE_NR_STATES];
};

struct timeline_slice {
	u64 from_ns, to_ns;
	u32 track;
	u32 cause; /* BLOCKED: track of who ended it; TIMELINE_NONE: not known */
	u32 where; /* BLOCKED, and READY if preempted: label of the call chain there; 0: not known */
	s32 cpu; /* RUNNING: there; READY: where it runs next, or waits */
	u8 state;
	u8 flags;
	char letter; /* BLOCKED: 'S', 'D' ...; 0: not known */
};

struct timeline_instant {
	u64 time_ns;
	u32 track;
	u32 event; /* of strings: its name */
	u32 where; /* label of its call chain; 0: not known */
	s32 cpu;
};

struct timeline_gap {
	s32 cpu;
	u64 from_ns, to_ns;
	u32 nr; /* events; UINT32_MAX: not known */
};

struct timeline {
	struct strtab strings; /* names and labels */
	VEC(struct timeline_track) tracks;
	VEC(struct timeline_slice) slices; /* by track, then time */
	VEC(struct timeline_instant) instants; /* the same */
	VEC(struct timeline_gap) gaps;
	u64 first_ns, last_ns;
	u32 nr_cpus;
	u64 nr_switches, nr_wakes, nr_lost;
	u32 host, release, arch, cpu, command; /* of strings; 0: not known */
};

void timeline_init(struct timeline *t);
void timeline_done(struct timeline *t);
/* Brings slices and instants, which are in the order of time, into the order of tracks, and adds up what tracks did. 0 or -ENOMEM. */
int timeline_sort(struct timeline *t) must_check;
const char *timeline_state_name(unsigned state);
