#include "model/names.h"

#include "base/vec.h"

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

/* [frame]: whether there is a stack for it, interrupted there or called from there. */
static u8 *find_stacked(const struct names_result *n, u32 nr)
{
	u8 *stacked = calloc((size_t)nr + 1, 1);
	for (u32 i = 0; stacked && i < nr; i++)
		stacked[i] = (n->stacks && n->stacks[i].nr) || (n->callers && n->callers[i].nr);
	return stacked;
}

static bool has_stacked(const u8 *stacked, const u32 *chain, u32 nr)
{
	u8 any = 0;
	for (u32 i = 0; i < nr; i++)
		any |= stacked[chain[i]];
	return any;
}

static u64 expanded_size(const struct names_result *n, const struct frame_table *frames,
			 const u32 *chain, u32 nr)
{
	u64 size = 0;
	for (u32 i = 0; i < nr; i++)
		size += names_stack(n, chain[i], names_called(frames, chain, nr, i)).nr;
	return size;
}

/* Chains that have a stack in them, and the size of all of these when they are expanded. Most have none. */
static int find_chains(const struct names_result *n, const struct frame_table *frames,
		       const struct chain_table *chains, u32 **ret, u32 *nr_found, u64 *size)
{
	_cleanup_free_ u8 *stacked = find_stacked(n, frames->nr);
	VEC(u32) found = { 0 };
	if (!stacked)
		return -ENOMEM;
	for (u32 c = 1; c < chains->nr; c++) {
		u32 nr;
		const u32 *chain = chain_frames(chains, c, &nr);
		if (likely(!has_stacked(stacked, chain, nr)))
			continue;
		u32 *to = vec_push(&found);
		if (!to) {
			vec_free(&found);
			return -ENOMEM;
		}
		*to = c;
		*size += expanded_size(n, frames, chain, nr);
	}
	*ret = found.at;
	*nr_found = (u32)found.nr;
	return 0;
}

static void expand(const struct names_result *n, const struct frame_table *frames,
		   struct chain_table *chains, u32 id)
{
	struct chain *c = &chains->chains[id];
	const u32 *chain = chains->pool + c->start;
	u64 at = chains->nr_pool;
	for (u32 i = 0; i < c->nr; i++) {
		struct name_stack s =
			names_stack(n, chain[i], names_called(frames, chain, c->nr, i));
		for (u32 k = 0; k < s.nr; k++)
			chains->pool[at++] = s.first + k;
	}
	c->start = (u32)chains->nr_pool;
	c->nr = (u32)(at - chains->nr_pool);
	chains->nr_pool = at;
}

int names_expand(const struct names_result *n, const struct frame_table *frames,
		 struct chain_table *chains)
{
	if (!n->stacks && !n->callers)
		return 0;
	_cleanup_free_ u32 *found = NULL;
	u32 nr_found = 0;
	u64 size = 0;
	int err = find_chains(n, frames, chains, &found, &nr_found, &size);
	if (!err)
		err = chain_pool_reserve(chains, size);
	for (u32 i = 0; i < nr_found && !err; i++)
		expand(n, frames, chains, found[i]);
	return err;
}
