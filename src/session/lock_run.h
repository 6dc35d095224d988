/* One run over a recording with events of locks: rows of analysis/lock_table, with names. */
#pragma once

#include "analysis/lock_table.h"
#include "session/named_run.h"

struct lock_run_opts {
	const char *input;
	struct symbol_opts symbols;
	u32 stack_skip;
};

struct lock_run {
	struct source *src;
	struct named_run run;
	struct lock_waits *waits;
	u32 *lock_frames;
	struct lock_table_env env;
};

/* Reads the recording and finds the names. 0 or negative errno with a diag; lock_run_done() in any case. */
int lock_run(struct lock_run *r, struct symbols *sy, const struct lock_run_opts *o) must_check;
void lock_run_done(struct lock_run *r);
/* The frames of a row's call chain, innermost first, as lines of `perf lock contention -v`. */
void lock_run_stack(const struct lock_run *r, const struct lock_row *row, struct strbuf *to);
