/* A recording as stacks over time: how flame and export read one, or two to compare. */
#pragma once

#include "analysis/annotate.h"
#include "analysis/flame.h"
#include "base/opts.h"
#include "session/symbols.h"
#include "session/wait_stacks.h"

struct stacks_opts {
	const char *const *paths; /* one, or two: before and after */
	u32 nr_paths;
	const struct opt_list *inputs; /* -i of trace.dat that are one; NULL: none */
	bool by_comm; /* tasks of one name are one; always with two */
	u32 max_nodes; /* light branches are joined beyond so many; 0: none is */
	unsigned workers; /* 0: all CPUs */
	const struct symbol_opts *symbols;
	const struct wait_stacks_opts *
		waits; /* not the events themselves but the waits that the scheduler's events show; NULL: no */
	struct wait_result *waited; /* with waits, of the last recording: their sums; initialised */
};

/* Into an initialised flame. 0, or negative errno with something said in the symbols' diag. */
int stacks_load(struct symbols *sy, const struct stacks_opts *o, struct flame *f) must_check;

/*
 * The same from events that are recorded now: what the recorder puts into the source becomes stacks while it runs, on a thread of its
 * own, and nothing is kept of it but those.
 */
struct stacks_live;

struct stacks_live_opts {
	const char *const *option_names; /* for messages, as in struct diag */
	bool hits; /* count what falls on single instructions, too */
	bool by_frame_pointer; /* note it at the end if programs have no frame pointers to follow */
	const struct wait_stacks_opts *waits; /* as in struct stacks_opts; borrowed until the end */
};

/* NULL: no memory. */
struct stacks_live *stacks_live_new(const struct stacks_live_opts *o);
/* For rounds_put(). */
struct source *stacks_live_source(struct stacks_live *l);
/* With waits, before the start: only of this process and of all that come from it. */
void stacks_live_choose_root(struct stacks_live *l, s32 pid);
/* Starts the thread. 0 or negative errno. */
int stacks_live_start(struct stacks_live *l) must_check;
/*
 * Waits until all that was put in is read; nothing more may be put in. Then as stacks_load(), of which by_comm, max_nodes, symbols and waited count.
 * -ESRCH: it was never started.
 */
int stacks_live_end(struct stacks_live *l, struct symbols *sy, const struct stacks_opts *o,
		    struct flame *f) must_check;
/* CPU time of the thread. */
u64 stacks_live_cost_ns(const struct stacks_live *l);
/* After the end, with hits: those, and the frames they are on. */
struct annotate *stacks_live_hits(struct stacks_live *l, const struct frame_table **frames);
void stacks_live_free(struct stacks_live *l);
