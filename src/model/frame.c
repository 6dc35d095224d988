#include "model/frame.h"
#include "base/dict.h"

#include <errno.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

/* Both tables are the same thing: an array of what is kept plus a slot array of ids, at most half full. */

static u64 frame_hash(const struct frame *f)
{
	return hash_u64(f->offset ^ hash_u64((u64)f->mode << 32 | f->image));
}

static u32 *frame_slot(const struct frame_table *t, const struct frame *f)
{
	u32 at = (u32)frame_hash(f) & t->mask;
	while (t->slots[at]) {
		const struct frame *have = &t->frames[t->slots[at]];
		if (have->offset == f->offset && have->image == f->image && have->mode == f->mode)
			break;
		at = (at + 1) & t->mask;
	}
	return &t->slots[at];
}

int frame_table_init(struct frame_table *t)
{
	*t = (struct frame_table){ .cap = FIRST_SLOTS / 2, .nr = 1, .mask = FIRST_SLOTS - 1 };
	t->frames = calloc(t->cap, sizeof(*t->frames));
	t->slots = calloc(FIRST_SLOTS, sizeof(*t->slots));
	if (!t->frames || !t->slots) {
		frame_table_done(t);
		return -ENOMEM;
	}
	return 0;
}

void frame_table_done(struct frame_table *t)
{
	free(t->frames);
	free(t->slots);
	*t = (struct frame_table){ 0 };
}

int frame_table_copy(struct frame_table *t, const struct frame_table *from)
{
	int err = frame_table_init(t);
	for (u32 i = 1; i < from->nr && !err; i++)
		err = (int)min(frame_table_add(t, from->frames[i]), (s64)0);
	return err;
}

static int frame_table_grow(struct frame_table *t)
{
	if (t->cap >= 1u << 30)
		return -ENOMEM;
	struct frame *frames = realloc(t->frames, (size_t)t->cap * 2 * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	t->frames = frames;
	u32 *slots = calloc((size_t)t->cap * 4, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->cap *= 2;
	t->mask = t->cap * 2 - 1;
	for (u32 i = 1; i < t->nr; i++)
		*frame_slot(t, &frames[i]) = i;
	return 0;
}

s64 frame_table_add(struct frame_table *t, struct frame f)
{
	u32 *slot = frame_slot(t, &f);
	if (*slot)
		return *slot;
	if (t->nr == t->cap) {
		int err = frame_table_grow(t);
		if (err)
			return err;
		slot = frame_slot(t, &f);
	}
	t->frames[t->nr] = f;
	*slot = t->nr;
	return t->nr++;
}

int chain_table_init(struct chain_table *t)
{
	*t = (struct chain_table){ .cap = FIRST_SLOTS / 2, .nr = 1, .mask = FIRST_SLOTS - 1, .cap_pool = FIRST_SLOTS * 8 };
	t->chains = calloc(t->cap, sizeof(*t->chains));
	t->keys = calloc(t->cap, sizeof(*t->keys));
	t->slots = calloc(FIRST_SLOTS, sizeof(*t->slots));
	t->pool = malloc(t->cap_pool * sizeof(*t->pool));
	if (!t->chains || !t->keys || !t->slots || !t->pool) {
		chain_table_done(t);
		return -ENOMEM;
	}
	return 0;
}

void chain_table_done(struct chain_table *t)
{
	free(t->chains);
	free(t->keys);
	free(t->slots);
	free(t->pool);
	*t = (struct chain_table){ 0 };
}

static void chain_slot_set(struct chain_slot *slots, u32 mask, u64 key, u32 chain)
{
	u32 at = (u32)key & mask;
	while (slots[at].chain)
		at = (at + 1) & mask;
	slots[at] = (struct chain_slot){ .key = key, .chain = chain };
}

static int chain_table_grow(struct chain_table *t)
{
	if (t->cap >= 1u << 30)
		return -ENOMEM;
	struct chain *chains = realloc(t->chains, (size_t)t->cap * 2 * sizeof(*chains));
	if (!chains)
		return -ENOMEM;
	t->chains = chains;
	u64 *keys = realloc(t->keys, (size_t)t->cap * 2 * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	t->keys = keys;
	u32 mask = t->cap * 4 - 1;
	struct chain_slot *slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (u32 i = 1; i < t->nr; i++)
		chain_slot_set(slots, mask, keys[i], i);
	free(t->slots);
	t->slots = slots;
	t->mask = mask;
	t->cap *= 2;
	return 0;
}

static int chain_pool_grow(struct chain_table *t, u32 nr)
{
	u64 cap = t->cap_pool * 2 + nr;
	u32 *pool = cap <= UINT32_MAX ? realloc(t->pool, cap * sizeof(*pool)) : NULL;
	if (!pool)
		return -ENOMEM;
	t->pool = pool;
	t->cap_pool = cap;
	return 0;
}

/* Room for one more chain of nr frames; its place in the pool is t->nr_pool. */
static int chain_room(struct chain_table *t, u32 nr)
{
	int err = t->nr_pool + nr > t->cap_pool ? chain_pool_grow(t, nr) : 0;
	return err || t->nr < t->cap ? err : chain_table_grow(t);
}

static u32 chain_commit(struct chain_table *t, u64 key, u32 nr)
{
	u32 id = t->nr++;
	t->chains[id] = (struct chain){ .start = (u32)t->nr_pool, .nr = nr };
	t->keys[id] = key;
	t->nr_pool += nr;
	chain_slot_set(t->slots, t->mask, key, id);
	return id;
}

s64 chain_table_put(struct chain_table *t, u64 key, const u32 *frames, u32 nr)
{
	int err = nr ? chain_room(t, nr) : 0;
	if (err || !nr)
		return err;
	memcpy(t->pool + t->nr_pool, frames, nr * sizeof(*frames));
	return chain_commit(t, key, nr);
}

int frame_table_merge(struct frame_table *into, const struct frame_table *from, u32 **map_frame)
{
	u32 *map = malloc(from->nr * sizeof(*map));
	if (!map)
		return -ENOMEM;
	map[0] = FRAME_NONE;
	for (u32 i = 1; i < from->nr; i++) {
		s64 id = frame_table_add(into, from->frames[i]);
		if (id < 0) {
			free(map);
			return (int)id;
		}
		map[i] = (u32)id;
	}
	*map_frame = map;
	return 0;
}

static s64 chain_copy(struct chain_table *into, const struct chain_table *from, u32 chain, const u32 *map_frame)
{
	u32 nr;
	const u32 *old = chain_frames(from, chain, &nr);
	int err = chain_room(into, nr);
	if (err)
		return err;
	for (u32 i = 0; i < nr; i++)
		into->pool[into->nr_pool + i] = map_frame[old[i]];
	return chain_commit(into, from->keys[chain], nr);
}

int chain_table_merge(struct chain_table *into, const struct chain_table *from, const u32 *map_frame, u32 **map_chain)
{
	enum { AHEAD = 16 };
	u32 *map = malloc(from->nr * sizeof(*map));
	if (!map)
		return -ENOMEM;
	map[0] = CHAIN_NONE;
	for (u32 i = 1; i < from->nr; i++) {
		if (i + AHEAD < from->nr)
			chain_table_prefetch(into, from->keys[i + AHEAD]);
		s64 id = chain_table_find(into, from->keys[i]);
		if (!id)
			id = chain_copy(into, from, i, map_frame);
		if (id < 0) {
			free(map);
			return (int)id;
		}
		map[i] = (u32)id;
	}
	*map_chain = map;
	return 0;
}

void run_tables_done(struct run_tables *r)
{
	frame_table_done(&r->frames);
	chain_table_done(&r->chains);
}
