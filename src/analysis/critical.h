/*
 * The critical path of an interval: what the thread at its end had been waiting for, what that thread had been waiting for in turn, and so on back to
 * its beginning. A fold over analysis/thread_states.
 *
 *	reader   ▆▁▁▁▁▁▁▁▁▁▁▁▆      reader ran, was blocked until writer woke it, ran
 *	writer   ▁▁▆▁▁▁▁▁▁▆▆▁▁      writer ran, was blocked by its timer, ran
 *
 * Walking back from the end: while a thread ran, or waited for a CPU, or for a timer or a device, that is the path. Where it was blocked until another
 * thread woke it, what that one did meanwhile is the path, and the wait is only the heading above it. So the leaves add up to the interval.
 */
#pragma once

#include "analysis/thread_states.h"

enum critical_kind {
	CRITICAL_ROOT,
	CRITICAL_RUNNING,
	CRITICAL_READY,
	CRITICAL_FOR_OTHERS, /* blocked until another thread woke it: the nodes below show what that one did */
	CRITICAL_INTERRUPT, /* blocked until an interrupt woke it: a timer, a device */
	CRITICAL_UNSEEN, /* blocked, and its wake-up was not seen; or it was still blocked at the end */
	CRITICAL_UNKNOWN, /* events are missing */
};

struct critical_node {
	u32 parent; /* node; of the root: itself */
	u32 depth;
	enum critical_kind kind;
	u32 thread;
	u32 label; /* of critical_label(): where it was blocked; 0: not known */
	u64 ns, nr;
};

/* A thread's part of the path: without it the interval would be shorter by no more than the sum. */
struct critical_thread {
	u32 thread;
	u64 running_ns, ready_ns, blocked_ns, unknown_ns;
};

struct critical_opts {
	s32 pid; /* the life of this process, or only its events; 0: those of all */
	u32 from_event,
		to_event; /* of the catalogue; THREAD_NONE: from the first, to the last of the process */
};

struct critical;

/* NULL: no memory. The options are borrowed. */
struct critical *critical_new(const struct critical_opts *o);
void critical_free(struct critical *c);
/* For one run with one worker. */
struct sink *critical_sink(struct critical *c, bool chains);
const struct thread_states *critical_states(const struct critical *c);
/*
 * After the run. label: text of a chain, borrowed until the next call; NULL: there are no chains. 0, -ENOMEM, -E2BIG: too many intervals,
 * -ENODATA: the beginning was not seen, -ENOENT: the end was not seen after it.
 */
typedef const char *(*critical_text)(void *ctx, u32 chain);
int critical_finish(struct critical *c, critical_text label, void *ctx) must_check;

/* [0] is the root; children follow their parent, longest first. */
const struct critical_node *critical_nodes(const struct critical *c, size_t *nr);
const struct critical_thread *critical_threads(const struct critical *c,
					       size_t *nr); /* longest first */
const char *critical_label(const struct critical *c, u32 label);
/* The interval, and the thread at its end. */
u32 critical_span(const struct critical *c, u64 *from_ns, u64 *until_ns);
