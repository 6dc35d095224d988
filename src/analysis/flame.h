/*
 * Samples to stacks over time (model/flame.h). A sink keeps where, when and how much of each sample as ids; afterwards the stacks
 * of one or two runs are named and folded into trees of functions, one for each event and task.
 *
 * A sample costs a look into an array and 24 bytes. Beyond MAX_POINTS in all, shards join samples of one stack that lie close
 * together in time, as coarsely as it must; flame.resolution_ns tells.
 */
#pragma once

#include "analysis/fold.h"
#include "base/dict.h"
#include "model/flame.h"
#include "model/names.h"
#include "model/source.h"

struct flame_sink;

struct flame_sink *flame_sink_new(void);
void flame_sink_free(struct flame_sink *s);
struct sink *flame_sink(struct flame_sink *s);

struct flame_build {
	struct flame *flame;
	bool by_comm; /* tasks of one name are one: what two recordings have in common */
	unsigned workers; /* 0: one for each CPU */
	u32 max_nodes; /* the lightest branches are joined beyond so many; 0: none is */
	const char *event; /* all events are this one; NULL: each is its own */
	/* What marks of the sink's own are called (frame.h), NULL for others; may be NULL. */
	const char *(*mark_text)(void *ctx, u64 mark);
	void *mark_ctx;
	u32 worker_least; /* items or nodes that a worker is worth starting for; 0: the usual number */
	VEC(struct fold_item) items;
	VEC(u32)
	pool; /* rows of ids, outermost first: those of the first side's names, after them the second's */
	VEC(u32) frame_of; /* [id] -> frame of the flame; 0: not in any stack */
	struct dict frame_ids, task_ids, tree_ids;
	u32 last_tree; /* that was asked for */
};

/*
 * Zero but for flame, by_comm, max_nodes, workers, event and marks. After stream_run(): takes what the sink has as the next side. The flame is an initialised one. What is
 * large is not copied: the sink's points and the run's chains may be gone afterwards.
 */
int flame_build_add(struct flame_build *b, struct flame_sink *s, const struct catalog *c,
		    struct run_tables *run, const struct names_result *names) must_check;
/* After the last side: folds. */
int flame_build_finish(struct flame_build *b) must_check;
void flame_build_done(struct flame_build *b);
