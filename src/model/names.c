#include "model/names.h"

#include "base/big.h"

#include <errno.h>
#include <string.h>

struct name_stack names_stack(const struct names_result *n, u32 frame, bool called)
{
	const struct name_stack *of = called && n->callers ? n->callers : n->stacks;
	return of && of[frame].nr ? of[frame] : (struct name_stack){ frame, 1 };
}

bool names_called(const struct frame_table *frames, const u32 *chain, u32 nr, u32 i)
{
	return i + 1 < nr && frames->frames[chain[i]].mode == frames->frames[chain[i + 1]].mode;
}

static u64 expanded_size(const struct names_result *n, const struct frame_table *frames,
			 const struct chain_table *chains)
{
	u64 size = 0;
	for (u32 c = 1; c < chains->nr; c++) {
		u32 nr;
		const u32 *chain = chain_frames(chains, c, &nr);
		for (u32 i = 0; i < nr; i++)
			size += names_stack(n, chain[i], names_called(frames, chain, nr, i)).nr;
	}
	return size;
}

int names_expand(const struct names_result *n, const struct frame_table *frames,
		 struct chain_table *chains)
{
	if (!n->stacks && !n->callers)
		return 0;
	u64 size = expanded_size(n, frames, chains), at = 0;
	u32 *pool = size < UINT32_MAX ? big_grow(NULL, 0, (size + 1) * sizeof(*pool)) : NULL;
	if (!pool)
		return -ENOMEM;
	for (u32 c = 1; c < chains->nr; c++) {
		u32 nr;
		const u32 *chain = chain_frames(chains, c, &nr);
		struct chain made = { .key = chains->chains[c].key, .start = (u32)at };
		for (u32 i = 0; i < nr; i++) {
			struct name_stack s =
				names_stack(n, chain[i], names_called(frames, chain, nr, i));
			for (u32 k = 0; k < s.nr; k++)
				pool[at++] = s.first + k;
		}
		made.nr = (u32)(at - made.start);
		chains->chains[c] = made;
	}
	big_free(chains->pool, chains->cap_pool * sizeof(*pool));
	chains->pool = pool;
	chains->nr_pool = at;
	chains->cap_pool = size + 1;
	return 0;
}
