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
