/* The next generation of frames and chains: only what is still wanted. */
#include "model/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

s64 carry_frame(struct carry *c, u32 id)
{
	if (!id || c->frames[id])
		return c->frames[id];
	s64 got = frame_table_add(&c->fresh->frames, c->old->frames.frames[id]);
	if (got > 0)
		c->frames[id] = (u32)got;
	return got;
}

/* A chain of the same frames that was carried over; CHAIN_NONE: there is none. */
static u32 same_chain(const struct carry *c, u64 hash, const u32 *row, u32 nr)
{
	u32 have = dict_get(&c->rows, hash), nr_have = 0;
	const u32 *other =
		have == DICT_NONE ? NULL : chain_frames(&c->fresh->chains, have, &nr_have);
	return other && nr_have == nr && !memcmp(other, row, nr * sizeof(*row)) ? have : CHAIN_NONE;
}

static s64 intern(struct carry *c, u64 key, const u32 *row, u32 nr)
{
	u64 hash = hash_bytes(row, nr * sizeof(*row));
	s64 got = same_chain(c, hash, row, nr);
	if (got)
		return got;
	got = chain_table_put(&c->fresh->chains, key, row, nr);
	return got > 0 && dict_put(&c->rows, hash, (u32)got) ? -ENOMEM : got;
}

s64 carry_chain(struct carry *c, u32 id)
{
	if (!id || c->chains[id])
		return c->chains[id];
	u32 nr;
	const u32 *row = chain_frames(&c->old->chains, id, &nr);
	_cleanup_free_ u32 *to = malloc((nr + 1ull) * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		s64 frame = carry_frame(c, row[i]);
		if (frame < 0)
			return frame;
		to[i] = (u32)frame;
	}
	s64 got = intern(c, c->old->chains.chains[id].key, to, nr);
	if (got > 0)
		c->chains[id] = (u32)got;
	return got;
}
