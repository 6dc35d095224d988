/* The next generation of frames and chains: only what is still wanted. */
#include "model/source.h"

#include <errno.h>
#include <stdlib.h>

s64 carry_frame(struct carry *c, u32 id)
{
	if (!id || c->frames[id])
		return c->frames[id];
	s64 got = frame_table_add(&c->fresh->frames, c->old->frames.frames[id]);
	if (got > 0)
		c->frames[id] = (u32)got;
	return got;
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
	s64 got = chain_table_put(&c->fresh->chains, c->old->chains.chains[id].key, to, nr);
	if (got > 0)
		c->chains[id] = (u32)got;
	return got;
}
