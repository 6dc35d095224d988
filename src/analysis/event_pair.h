/*
 * Two events that belong together: one begins something, the other ends it, and the values of fields say which begins what.
 *
 *	sched_wakeup pid=7      ──┐ key 7
 *	sched_switch next_pid=7 ──┘ a match: both events, as they were
 *
 * A sink that wants time order: workers pick the events out of their blocks, and beginnings meet their ends in the order of the blocks.
 * What to make of a match is the caller's. One event may end one thing and begin another; ends are looked at first, in the order of the rules.
 */
#pragma once

#include "model/source.h"

enum { EVENT_PAIR_KEYS_MAX = 4, EVENT_PAIR_RULES_MAX = 64 };

struct event_pair_rule {
	/* Names; NULL: any system. An event's name may end with '*'; then what stands in its place must be the same on both sides. */
	const char *start_system, *start_event;
	const char *end_system, *end_event;
	/* Fields that must be equal, start_keys[i] and end_keys[i]; numbers or strings; up to the first NULL. */
	const char *start_keys[EVENT_PAIR_KEYS_MAX], *end_keys[EVENT_PAIR_KEYS_MAX];
	bool same_task, same_cpu;
	bool idle; /* the first key is a pid, and 0 is another task on every CPU */
	/* Where the beginning has this field, bits of it must be set (or, if_clear, none of them be); NULL: no condition. */
	const char *if_field;
	u64 if_bits; /* 0: any */
	bool if_clear;
	/* Rules of one group share what is open: wake-ups of old tasks and of new ones. Any number below EVENT_PAIR_RULES_MAX. */
	u32 group;
};

/* An event; raw is valid during the call. */
struct event_at {
	const struct schema *schema;
	const void *raw;
	u32 size;
	u32 event; /* of the catalogue */
	u64 time_ns;
	s32 cpu, tid;
	u32 buffer;
};

struct event_pair_match {
	u32 rule;
	struct event_at start, end;
	const u64 *stack; /* the kernel's, recorded with the beginning; innermost first */
	u32 nr_stack;
};

struct event_pair_opts {
	const struct event_pair_rule *rules; /* copied; their strings are borrowed */
	u32 nr_rules;
	bool over_gaps; /* what was open when events were lost stays open; else nothing does */
	void *ctx;
	/* In time order, one at a time. Nonzero ends the run. */
	int (*match)(void *ctx, const struct event_pair_match *m);
	/* Every event that begins or ends nothing, without raw but for the function tracer's; NULL: nobody asks. */
	int (*other)(void *ctx, const struct event_at *e);
	/* Only these events; for any thread; NULL: all. */
	bool (*keep)(void *ctx, const struct sample *s);
};

struct event_pair;

struct event_pair *event_pair_new(const struct event_pair_opts *o); /* NULL: no memory */
void event_pair_free(struct event_pair *p);
struct sink *event_pair_sink(struct event_pair *p);

/* After the run. Bit of each rule that an event of the trace could begin, and that one could end. */
u64 event_pair_startable(const struct event_pair *p);
u64 event_pair_endable(const struct event_pair *p);
u64 event_pair_nr_gaps(const struct event_pair *p);

/* How long it took: what the end itself says (a function's), else the time between the two. */
u64 event_pair_ns(const struct event_pair_match *m);
/* A field of an event by name; false: it has none. */
bool event_at_u64(const struct event_at *e, const char *field, u64 *ret);
