/*
 * Names for the stubs through which a program calls shared libraries: `puts@plt`.
 *
 * Stubs have no symbols. Each loads its target from a slot of the GOT, and the relocation of that slot names the function;
 * so the stub's instruction is read rather than counted, which holds for .plt, .plt.sec and .plt.got of all linkers alike.
 * x86_64 and aarch64.
 */
#pragma once

#include "image/elf.h"

struct plt_hit {
	u64 offset; /* asked for */
	u64 start, end; /* of the stub; end 0: the offset lies in no stub */
	const char *name; /* of the function called, borrowed; ".plt" for the header; NULL: not told */
	u64 target; /* 0, or the file offset of the resolver of a local indirect function that has no name here */
};

/*
 * Looks at those of nr offsets (ascending) that lie in stub sections and writes a hit for each; *nr_hits of them, the
 * caller's to free. -ENOMEM at worst.
 */
int plt_find(const struct elfimg *e, const u64 *offsets, size_t nr, struct plt_hit **hits,
	     size_t *nr_hits) must_check;
