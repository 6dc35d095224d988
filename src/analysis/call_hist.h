/*
 * Who was called by whom, counted: trace-cmd's `hist`. Call chains come from whatever the events tell: calls of the function
 * tracer, entries and returns of the function graph tracer, kernel stacks; any other event is the innermost "function" of the
 * chain that was open when it came, or of the stack recorded with it.
 *
 * A chain is counted when it ends: the innermost function is a row, its callers are the tree below it. The rules are
 * trace-cmd 3.1.6's, so that its counts are met: one buffer, CPU after CPU, the stacks of tasks carried over.
 */
#pragma once

#include "model/source.h"

enum { CALL_HIST_NONE = 0xffffffffu };

struct call_hist_node {
	u64 key; /* a function: where it begins (or the address, when nobody knows); an event: above all addresses */
	const char *name; /* NULL: no symbol */
	u64 count;
	u32 parent; /* the row or caller above; CALL_HIST_NONE for a task */
	u32 first, next; /* callers, most frequent first once finished */
	u32 nr;
	s32 pid; /* of a row: the task; -1: all */
	bool event; /* of a row: it was an event, or had a kernel stack */
};

/* What the chains ask of the file; names live as long as the histogram. */
struct call_hist_env {
	void *ctx;
	const char *(*symbol)(void *ctx, u64 addr, u64 *offset);
	const char *(*event_name)(void *ctx, u32 event);
};

struct call_hist;

/* all_pids: tasks are not told apart. buffer: events of others are left out. */
struct call_hist *call_hist_new(const struct call_hist_env *env, bool all_pids, u32 buffer);
void call_hist_free(struct call_hist *h);
/* For one run with one worker for each CPU, in their order. */
struct sink *call_hist_sink(struct call_hist *h);
/* After the last CPU: what is still open is counted, and rows are put in order. */
int call_hist_finish(struct call_hist *h) must_check;

u64 call_hist_total(const struct call_hist *h); /* chains, those without a function too */
size_t call_hist_nr_rows(const struct call_hist *h);
const struct call_hist_node *call_hist_row(const struct call_hist *h, size_t i);
/* node->first, node->next: NULL at the end. */
const struct call_hist_node *call_hist_node(const struct call_hist *h, u32 index);
/* The name that a scheduler event told first; NULL: none did. */
const char *call_hist_comm(const struct call_hist *h, s32 pid);
