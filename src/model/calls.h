/*
 * Calls that are open, task by task, from the entries and exits that the function graph tracer records. The kernel tells the depth with
 * every event, so that a lost one does not shift the rest:
 *
 *	entry main depth 0        frames  main
 *	entry read depth 1                main read
 *	exit  read depth 1, 5 us          main (5 us inside)       read: took 5, 5 of them itself
 *	exit  main depth 0, 9 us                                   main: took 9, 4 of them itself
 *
 * The idle task is one per CPU. After a gap in a buffer nothing is known about what is open. Events are to be taken in time order.
 */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "model/sample.h"

enum call_kind { CALL_NONE, CALL_OTHER, CALL_ENTRY, CALL_EXIT, CALL_GAP };

/* What an event says about a call. */
struct call_event {
	enum call_kind kind;
	u32 depth;
	u64 task;
	u64 func;
	u64 time_ns;
	u64 ns; /* CALL_EXIT: how long; UINT64_MAX: the event does not tell */
};

/* How to read one kind of event; zero: not looked at yet. */
struct call_reader {
	enum call_kind kind; /* CALL_OTHER: it is about something else */
	const struct schema_field *func, *depth, *start, *end;
};

struct call_reader call_reader_make(const struct schema *s);
/* The reader's kind is CALL_ENTRY or CALL_EXIT, and the sample of the reader's schema. */
struct call_event call_read(const struct call_reader *r, const struct sample *s);

struct open_call {
	u64 func; /* address; 0: its entry was not seen */
	u64 start_ns;
	u64 inside_ns; /* what calls inside took */
	u32 tag; /* the user's */
	bool known; /* its entry was seen */
};

struct call_stack {
	VEC(struct open_call) frames; /* outermost first */
};

struct calls {
	struct dict task_of;
	VEC(struct call_stack) tasks;
	/* Told of every known call that is taken off, ended or not; may be NULL. */
	void (*gone)(void *ctx, const struct open_call *c);
	void *ctx;
};

/* Zero-initialised is ready. */
void calls_done(struct calls *c);
/* A stack for the event, or NULL: no memory. Until the next call of this. */
struct call_stack *calls_stack(struct calls *c, u64 task);
/* The call that begins, on top of its callers: frames.at[depth - 1] is one. Depths beyond CALLS_DEPTH_MAX are not to be given. */
struct open_call *calls_enter(struct calls *c, struct call_stack *s, const struct call_event *e);
struct call_done {
	u64 ns, self_ns;
	u64 start_ns; /* of the entry, where it was seen */
	u32 tag;
	bool known; /* its entry was seen; then tag is what was set there */
	bool timed; /* how long it took is known */
};
/* The call that ends; its callers are what remains on the stack. 0 or -ENOMEM. */
int calls_leave(struct calls *c, struct call_stack *s, const struct call_event *e,
		struct call_done *ret) must_check;
/* Events were lost: nothing is open any more. */
void calls_gap(struct calls *c);

enum { CALLS_DEPTH_MAX = 1024 };
