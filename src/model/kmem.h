/* Kernel memory by call site or by address, and in total: what analysis/mem_held counts and view/text_kmem prints. */
#pragma once

#include "base/types.h"

struct kmem_row {
	u64 key; /* call site, or address of the memory */
	const char *name; /* "function+1a"; NULL: none */
	u64 alloc, req; /* bytes, over the whole recording */
	u64 held; /* bytes at its end */
	u64 nr_hits;
	u64 nr_pingpong; /* freed on another CPU than allocated */
};

struct kmem_totals {
	u64 alloc, req, freed; /* bytes */
	u64 nr_allocs, nr_frees;
	u64 nr_cross_node; /* on another node than that of the CPU */
	u64 nr_unseen_frees; /* of memory that was allocated once more before it was freed: it must have been */
	u64 nr_unseen_allocs; /* of memory that was freed: before the recording, or lost */
};

/* Share of what was allocated beyond the request, in percent. */
static inline double kmem_waste(u64 req, u64 alloc)
{
	return alloc ? 100.0 - 100.0 * (double)req / (double)alloc : 0;
}

/* ---- pages: analysis/page_held ---- */

enum { PAGE_ORDERS = 32, PAGE_MOBILITIES = 5 };

struct page_row {
	u64 key; /* call site, or number of the page frame */
	const char *name; /* of the function at the call site; NULL: none */
	u64 site; /* call site, of a page */
	u32 chain;
	u32 order, gfp; /* gfp: index into the flags that were seen */
	s32 mobility; /* the kernel's migratetype */
	u64 nr_hits, bytes;
	u64 nr_live, live_bytes; /* at the end */
};

/* Flags of requests, in the words of the event's own format. */
struct page_gfp {
	u64 flags;
	const char *text; /* "GFP_KERNEL|__GFP_ZERO" */
	const char *brief; /* "K|Z" */
};

struct page_sum {
	u64 nr, bytes;
};

struct page_totals {
	struct page_sum allocs, frees;
	struct page_sum both; /* allocated and freed */
	struct page_sum unseen_allocs; /* freed, but allocated before the recording, or lost */
	struct page_sum failed;
	u64 nr_unseen_frees; /* of pages that were allocated once more before they were freed */
	u64 orders[PAGE_ORDERS][PAGE_MOBILITIES], live_orders[PAGE_ORDERS][PAGE_MOBILITIES];
};
