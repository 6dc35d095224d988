/* The next generation of frames and chains: only what is still wanted. */
#include "model/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

s64 carry_string(struct carry *c, u32 id)
{
	if (!c->string_ids || !id || COMM_IS_UNNAMED(id) || id >= c->catalog->strings.nr)
		return id;
	if (c->string_ids[id])
		return c->string_ids[id];
	const char *text = strtab_str(&c->catalog->strings, id);
	s64 got = strtab_add(&c->strings, text, strlen(text));
	if (got > 0)
		c->string_ids[id] = (u32)got;
	return got;
}

/* Where an image's path is a string of the catalogue, it is one of the new catalogue. */
static int move_path(struct carry *c, struct image_info *i)
{
	s64 old = strtab_find(&c->catalog->strings, i->path, strlen(i->path));
	if (old < 0 || strtab_str(&c->catalog->strings, (u32)old) != i->path)
		return 0;
	s64 id = carry_string(c, (u32)old);
	if (id > 0)
		i->path = strtab_str(&c->strings, (u32)id);
	return id < 0 ? (int)id : 0;
}

s64 carry_image(struct carry *c, u32 id)
{
	if (!c->image_ids || !id || c->image_ids[id])
		return c->image_ids ? c->image_ids[id] : id;
	struct image_info *to = vec_push(&c->images);
	if (!to)
		return -ENOMEM;
	*to = c->catalog->images.at[id];
	c->image_ids[id] = (u32)c->images.nr - 1;
	int err = move_path(c, to);
	return err ? err : (s64)c->image_ids[id];
}

s64 carry_frame(struct carry *c, u32 id)
{
	if (!id || c->frames[id])
		return c->frames[id];
	struct frame frame = c->old->frames.frames[id];
	s64 image = carry_image(c, frame.image);
	if (image < 0)
		return image;
	frame.image = (u32)image;
	s64 got = frame_table_add(&c->fresh->frames, frame);
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

/* The first frames of a chain under their new ids, with room for one more; NULL: no memory. */
static u32 *carry_row(struct carry *c, const u32 *row, u32 nr)
{
	u32 *to = malloc((nr + 1ull) * sizeof(*to));
	for (u32 i = 0; to && i < nr; i++) {
		s64 frame = carry_frame(c, row[i]);
		if (frame < 0) {
			free(to);
			return NULL;
		}
		to[i] = (u32)frame;
	}
	return to;
}

s64 carry_chain(struct carry *c, u32 id)
{
	if (!id || c->chains[id])
		return c->chains[id];
	u32 nr;
	const u32 *row = chain_frames(&c->old->chains, id, &nr);
	_cleanup_free_ u32 *to = carry_row(c, row, nr);
	s64 got = to ? intern(c, c->old->chains.chains[id].key, to, nr) : -ENOMEM;
	if (got > 0)
		c->chains[id] = (u32)got;
	return got;
}

/* No source looks for it: any key will do that is not of a chain. */
s64 carry_cut_chain(struct carry *c, u32 id, u32 nr, struct frame end)
{
	u32 nr_old;
	const u32 *row = chain_frames(&c->old->chains, id, &nr_old);
	nr = min(nr, nr_old);
	_cleanup_free_ u32 *to = carry_row(c, row, nr);
	s64 last = to ? frame_table_add(&c->fresh->frames, end) : -ENOMEM;
	if (last < 0)
		return last;
	to[nr] = (u32)last;
	return intern(c, ~hash_bytes(to, (nr + 1) * sizeof(*to)), to, nr + 1);
}
