/*
 * Samples to hits: how much fell on each address, by event; and from there to functions and to the instructions of one function.
 * Only the address that was sampled counts, not those that called it: the sums are the report's "self".
 */
#pragma once

#include "model/choice.h"
#include "base/arena.h"
#include "model/annotation.h"
#include "model/names.h"
#include "model/source.h"

struct annotate;

/* NULL: no memory. chosen: only samples that it wants count; borrowed, NULL: all. */
struct annotate *annotate_new(const struct sample_choice *chosen, const struct catalog *c);
void annotate_free(struct annotate *a);
struct sink *annotate_sink(struct annotate *a);

/* Instead of a run: nothing was hit so far; and what was. */
void annotate_clear(struct annotate *a);
int annotate_count(struct annotate *a, u32 event, u32 frame, u64 period, u64 count) must_check;

/* A function with hits, of one event or of several. */
struct annotate_func {
	u32 func; /* of names */
	u64 period; /* of the events asked about, together */
};

/*
 * After the run: functions with hits in the events marked by `events` [nr_events], heaviest first; the caller's to free. names is
 * borrowed until annotate_free().
 */
int annotate_funcs(struct annotate *a, const struct names_result *names, const bool *events,
		   u32 nr_events, struct annotate_func **ret, u32 *nr) must_check;
/*
 * Fills weights, events' sums and lines of an annotation whose events (name), insns and start are set; start is at `offset` in the
 * image. event[i] is the catalogue's number of the i-th. All memory comes from the arena.
 */
int annotate_fill(const struct annotate *a, const struct frame_table *frames, u32 func,
		  const u32 *event, u64 offset, struct annotation *to,
		  struct arena *arena) must_check;
/* Of one event of the catalogue, in the whole recording. */
struct annotation_weight annotate_total(const struct annotate *a, u32 event);
