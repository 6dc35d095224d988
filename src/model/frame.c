#include "model/frame.h"
#include "base/dict.h"

#include <errno.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

/* Both tables are the same thing: an array of small keys plus a slot array of ids, at most half full. */

static int slots_init(u32 **slots, u32 *mask)
{
	*slots = calloc(FIRST_SLOTS, sizeof(**slots));
	*mask = FIRST_SLOTS - 1;
	return *slots ? 0 : -ENOMEM;
}

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
	*t = (struct frame_table){ .cap = FIRST_SLOTS / 2, .nr = 1 };
	t->frames = calloc(t->cap, sizeof(*t->frames));
	if (!t->frames || slots_init(&t->slots, &t->mask)) {
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

static u32 chain_hash(u32 parent, u32 frame)
{
	return (u32)hash_u64((u64)parent << 32 | frame);
}

static u32 *chain_slot(const struct chain_tree *t, u32 parent, u32 frame)
{
	u32 at = chain_hash(parent, frame) & t->mask;
	while (t->slots[at]) {
		const struct chain_node *have = &t->nodes[t->slots[at]];
		if (have->parent == parent && have->frame == frame)
			break;
		at = (at + 1) & t->mask;
	}
	return &t->slots[at];
}

int chain_tree_init(struct chain_tree *t)
{
	*t = (struct chain_tree){ .cap = FIRST_SLOTS / 2, .nr = 1 };
	t->nodes = calloc(t->cap, sizeof(*t->nodes));
	if (!t->nodes || slots_init(&t->slots, &t->mask)) {
		chain_tree_done(t);
		return -ENOMEM;
	}
	return 0;
}

void chain_tree_done(struct chain_tree *t)
{
	free(t->nodes);
	free(t->slots);
	*t = (struct chain_tree){ 0 };
}

static int chain_tree_grow(struct chain_tree *t)
{
	if (t->cap >= 1u << 30)
		return -ENOMEM;
	struct chain_node *nodes = realloc(t->nodes, (size_t)t->cap * 2 * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	t->nodes = nodes;
	u32 *slots = calloc((size_t)t->cap * 4, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->cap *= 2;
	t->mask = t->cap * 2 - 1;
	for (u32 i = 1; i < t->nr; i++)
		*chain_slot(t, nodes[i].parent, nodes[i].frame) = i;
	return 0;
}

s64 chain_tree_add(struct chain_tree *t, u32 parent, u32 frame)
{
	u32 *slot = chain_slot(t, parent, frame);
	if (likely(*slot))
		return *slot;
	if (t->nr == t->cap) {
		int err = chain_tree_grow(t);
		if (err)
			return err;
		slot = chain_slot(t, parent, frame);
	}
	t->nodes[t->nr] = (struct chain_node){ .parent = parent, .frame = frame };
	*slot = t->nr;
	return t->nr++;
}

void chain_tree_prefetch(const struct chain_tree *t, u32 parent, u32 frame)
{
	__builtin_prefetch(&t->slots[chain_hash(parent, frame) & t->mask]);
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

int chain_tree_merge(struct chain_tree *into, const struct chain_tree *from, const u32 *map_frame, u32 **map_node)
{
	u32 *map = malloc(from->nr * sizeof(*map));
	if (!map)
		return -ENOMEM;
	map[0] = CHAIN_ROOT;
	for (u32 i = 1; i < from->nr; i++) {
		s64 id = chain_tree_add(into, map[from->nodes[i].parent], map_frame[from->nodes[i].frame]);
		if (id < 0) {
			free(map);
			return (int)id;
		}
		map[i] = (u32)id;
	}
	*map_node = map;
	return 0;
}

void run_tables_done(struct run_tables *r)
{
	frame_table_done(&r->frames);
	chain_tree_done(&r->chains);
}
