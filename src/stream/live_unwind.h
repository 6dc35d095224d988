/*
 * Between the rings and the file, when stacks are recorded as copies: they are unwound here, at once, and the file gets ordinary
 * samples with a call chain.
 *
 * What a sample's addresses mean is only known when every older record about maps was seen, and those may still be in another CPU's
 * ring. So everything waits for two ends of rounds (live_perf.h): then nothing older can come. One thread takes what has waited
 * long enough, goes through it in the order of time, and hands it on.
 */
#pragma once

#include "stream/live_perf.h"
#include "sym/unwind_cfi.h"

struct live_unwind_stats {
	u64 nr_stacks;
	u64 nr_ends[UNWIND_NR_ENDS]; /* by how they ended: all but UNWIND_WHOLE lack some outermost callers */
	u64 nr_foreign; /* of programs of another kind (32 bit): chains by frame pointer */
	u64 nr_hurried; /* unwound before all maps were surely known: there was too much waiting */
};

struct live_unwind_config {
	const struct live_event *events; /* as opened; until close */
	size_t nr_events;
	const char *cache; /* folder for tables; NULL: none; copied */
	const struct debugfile_places *places; /* as in sym_config */
	struct opener *opener; /* opens images; until close */
	/* Takes whole records; from the thread of this object or the caller's of _finish(). Negative errno: no more. */
	int (*emit)(void *ctx, const void *data, size_t size);
	/* Called by the thread after each round, but the last; may be NULL. */
	void (*unwound)(void *ctx, const struct live_unwind_stats *so_far);
	void *ctx;
};

struct live_unwind;

/* NULL: no memory, or a machine whose stacks we cannot follow (errno ENOTSUP). */
struct live_unwind *live_unwind_open(const struct live_unwind_config *cfg);
/* What was there before: records with no time. Not written. Before _go(). */
int live_unwind_known(struct live_unwind *u, const void *records, size_t size) must_check;
/* From here on what came is worked on. */
void live_unwind_go(struct live_unwind *u);
/* From reader threads: copies the spans. */
int live_unwind_take(struct live_unwind *u, const struct ring_span *spans, size_t nr,
		     bool round_done) must_check;
/* After the readers have ended: all that is left. Files whose tables were refused go to the diag. */
int live_unwind_finish(struct live_unwind *u, struct diag *d) must_check;
void live_unwind_stats(struct live_unwind *u, struct live_unwind_stats *ret);
void live_unwind_close(struct live_unwind *u);

/* The attr as the file has it: with a call chain, and without registers and stack. */
void live_unwind_attr(struct perf_event_attr *a);
