/*
 * A profile that goes on: what rounds of a live source bring adds up, and what is old fades. It only collects; to look at it, take a copy,
 * which is a profile like any other:
 *
 *	rounds ─► profile_live ──copy──► profile ─► profile_fold() ─► tables
 *	             └─ fade, between two looks
 *
 * Its memory has a bound: entries that have faded away are dropped, and the lightest ones where there are too many.
 */
#pragma once

#include "analysis/profile.h"

enum { PROFILE_LIVE_ONE = 256 }; /* a weight that stays as it is */

struct profile_live;

/* NULL: no memory, or too many keys. */
struct profile_live *profile_live_new(const struct profile_config *cfg);
void profile_live_free(struct profile_live *l);
/* Of rounds, with one worker. */
struct sink *profile_live_sink(struct profile_live *l);

/* Everything so far weighs so much of PROFILE_LIVE_ONE from now on; 0: it is forgotten. */
int profile_live_fade(struct profile_live *l, u32 keep) must_check;
/*
 * As it is now; the caller's, to be folded before the next round. The filter may be another one, as far as it is about names; keys may
 * not. NULL: no memory.
 */
struct profile *profile_live_copy(const struct profile_live *l, const struct profile_filter *filter);

/* How often ids were replaced: names of frames that were asked for before are of no use after it. */
u64 profile_live_generation(const struct profile_live *l);
size_t profile_live_entries(const struct profile_live *l);

/* Samples that share event, command and stack. */
struct profile_live_stack {
	u32 event;
	u32 comm; /* catalog.strings id or COMM_UNNAMED; PROFILE_LIVE_NO_COMM: commands are no key */
	u32 leaf, chain; /* chain CHAIN_NONE: the leaf is all there is */
	u64 period, count;
};
enum { PROFILE_LIVE_NO_COMM = 0 };

/* Calls back for each of them; one may come several times. Ends with the first error. */
int profile_live_stacks(const struct profile_live *l,
			int (*fn)(void *ctx, const struct profile_live_stack *s),
			void *ctx) must_check;

/* Calls back for each place that was hit, several times for one where keys tell its samples apart. Ends with the first error. */
int profile_live_hits(const struct profile_live *l,
		      int (*fn)(void *ctx, u32 event, u32 frame, u64 period, u64 count),
		      void *ctx) must_check;
