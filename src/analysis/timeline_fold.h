/*
 * A timeline (model/timeline.h) of the scheduler's events: a fold over thread_states. Other events of the recording become instants on the
 * track of the thread that they happened to.
 */
#pragma once

#include "analysis/thread_states.h"
#include "model/timeline.h"

struct timeline_fold;

/* NULL: no memory. The timeline, which is empty, is borrowed. */
struct timeline_fold *timeline_fold_new(struct timeline *t);
void timeline_fold_free(struct timeline_fold *f);
/* For one run with one worker. With chains, slices and instants have ids of chains of the run as labels until timeline_fold_finish(). */
struct sink *timeline_fold_sink(struct timeline_fold *f, bool chains);
/*
 * After the run: open slices end, everything is sorted, events and threads get their names (those that no event named have one of the
 * catalogue's, if it knows). label: text of a chain, borrowed until the next call; NULL: there are no chains. 0 or negative errno.
 */
typedef const char *(*timeline_label)(void *ctx, u32 chain);
int timeline_fold_finish(struct timeline_fold *f, const struct catalog *c, timeline_label label,
			 void *ctx) must_check;
const struct thread_states *timeline_fold_states(const struct timeline_fold *f);
