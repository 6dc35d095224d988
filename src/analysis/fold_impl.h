/* What sorting (fold_sort.c) and growing (fold.c) share. */
#pragma once

#include "analysis/fold.h"

/* An item on its way through the sort. */
struct part {
	u64 word; /* the functions that are being compared, outermost in the highest bits; after the chain's end: 0 */
	u32 item;
	u32 start, nr;
};

struct builder {
	struct fold *fold;
	const struct fold_item *items;
	size_t nr;
	const u32 *pool;
	const u32 *func_of;
	bool reverse;
	u32 bits, per_word; /* of a function; functions in a word */
	unsigned workers;
	struct part *parts, *spare; /* [nr] */
	u32 *common; /* [part] functions that it shares with the next one of its tree */
	u32 *starts; /* [tree] its first part, and one more */
};

static inline u32 func_at(const struct builder *b, const struct part *p, u32 depth)
{
	return b->func_of[b->pool[p->start + (b->reverse ? p->nr - 1 - depth : depth)]];
}

/* Brings on its way what func_at() will look at. */
static inline void fetch_func(const struct builder *b, const struct part *p, u32 depth)
{
	if (likely(depth < p->nr))
		__builtin_prefetch(&b->pool[p->start + (b->reverse ? p->nr - 1 - depth : depth)]);
}

/* Fills parts, starts and common: tree by tree, in each by the functions from its root on. */
int fold_sort(struct builder *b) must_check;
