#include "model/frame.h"
#include "base/big.h"
#include "base/dict.h"
#include "base/par.h"
#include "base/vec.h"
#include "model/merge.h"

#include <errno.h>
#include <string.h>

const char *frame_mode_word(unsigned mode)
{
	static const char *const words[] = {
		[FRAME_KERNEL] = "kernel",	   [FRAME_USER] = "user",
		[FRAME_HYPERVISOR] = "hypervisor", [FRAME_GUEST_KERNEL] = "guest-kernel",
		[FRAME_GUEST_USER] = "guest-user",
	};
	return mode < ARRAY_SIZE(words) ? words[mode] : NULL;
}

enum { FIRST_SLOTS = 1024 };

/* Both tables are the same thing: an array of what is kept plus a slot array of ids, at most half full. */

static u64 frame_hash(const struct frame *f, u64 seed)
{
	return hash_seeded(f->offset ^ hash_u64((u64)f->mode << 32 | f->image), seed);
}

static u32 *frame_slot(const struct frame_table *t, const struct frame *f)
{
	u32 at = (u32)frame_hash(f, t->seed) & t->mask;
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
	*t = (struct frame_table){
		.seed = hash_seed(), .cap = FIRST_SLOTS / 2, .nr = 1, .mask = FIRST_SLOTS - 1
	};
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
	big_free(t->frames, t->cap * sizeof(*t->frames));
	big_free(t->slots, ((size_t)t->mask + 1) * sizeof(*t->slots));
	*t = (struct frame_table){ 0 };
}

int frame_table_copy(struct frame_table *t, const struct frame_table *from)
{
	size_t frames = from->cap * sizeof(*t->frames);
	size_t slots = ((size_t)from->mask + 1) * sizeof(*t->slots);
	*t = *from;
	t->frames = big_grow(NULL, 0, frames);
	t->slots = big_grow(NULL, 0, slots);
	if (!t->frames || !t->slots) {
		frame_table_done(t);
		return -ENOMEM;
	}
	memcpy(t->frames, from->frames, from->nr * sizeof(*t->frames));
	memcpy(t->slots, from->slots, slots);
	return 0;
}

static int frame_table_grow(struct frame_table *t)
{
	if (t->cap >= 1u << 30)
		return -ENOMEM;
	size_t cap = (size_t)t->cap * 2;
	u32 *slots = big_zalloc(cap * 2 * sizeof(*slots));
	struct frame *frames =
		slots ? big_grow(t->frames, t->cap * sizeof(*frames), cap * sizeof(*frames)) : NULL;
	if (!frames) {
		big_free(slots, cap * 2 * sizeof(*slots));
		return -ENOMEM;
	}
	big_free(t->slots, ((size_t)t->mask + 1) * sizeof(*slots));
	t->frames = frames;
	t->slots = slots;
	t->cap = (u32)cap;
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
	*t = (struct chain_table){
		.cap = FIRST_SLOTS / 2, .nr = 1, .mask = FIRST_SLOTS - 1, .cap_pool = FIRST_SLOTS * 8
	};
	t->chains = calloc(t->cap, sizeof(*t->chains));
	t->slots = calloc(FIRST_SLOTS, sizeof(*t->slots));
	t->pool = malloc(t->cap_pool * sizeof(*t->pool));
	if (!t->chains || !t->slots || !t->pool) {
		chain_table_done(t);
		return -ENOMEM;
	}
	return 0;
}

void chain_table_done(struct chain_table *t)
{
	big_free(t->chains, t->cap * sizeof(*t->chains));
	if (t->slots)
		big_free(t->slots, ((size_t)t->mask + 1) * sizeof(*t->slots));
	big_free(t->pool, t->cap_pool * sizeof(*t->pool));
	*t = (struct chain_table){ 0 };
}

static void chain_slot_set(struct chain_slot *slots, u32 mask, u64 key, u32 chain)
{
	u32 at = (u32)key & mask;
	while (slots[at].chain)
		at = (at + 1) & mask;
	slots[at] = (struct chain_slot){ .key = key, .chain = chain };
}

/* Slots first: more of them than needed do no harm if there is no memory for the rest. */
static int chain_table_grow(struct chain_table *t)
{
	if (t->cap >= 1u << 30)
		return -ENOMEM;
	size_t cap = (size_t)t->cap * 2, nr_slots = (size_t)t->mask + 1;
	if (nr_slots < 2 * cap) {
		struct chain_slot *slots =
			big_zgrow(t->slots, nr_slots * sizeof(*slots), 2 * cap * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		t->slots = slots;
		t->mask = (u32)(2 * cap - 1);
		for (u32 i = 1; i < t->nr; i++)
			chain_slot_set(slots, t->mask, t->chains[i].key, i);
	}
	struct chain *chains = big_grow(t->chains, t->cap * sizeof(*chains), cap * sizeof(*chains));
	if (!chains)
		return -ENOMEM;
	t->chains = chains;
	t->cap = (u32)cap;
	return 0;
}

int chain_pool_reserve(struct chain_table *t, u64 nr)
{
	if (likely(nr <= t->cap_pool - t->nr_pool))
		return 0;
	u64 cap = t->cap_pool * 2 + nr;
	u32 *pool = nr <= UINT32_MAX && cap <= UINT32_MAX
			    ? big_grow(t->pool, t->cap_pool * sizeof(*pool), cap * sizeof(*pool))
			    : NULL;
	if (!pool)
		return -ENOMEM;
	t->pool = pool;
	t->cap_pool = cap;
	return 0;
}

/* Room for one more chain of nr frames; its place in the pool is t->nr_pool. */
static int chain_room(struct chain_table *t, u32 nr)
{
	int err = chain_pool_reserve(t, nr);
	return err || t->nr < t->cap ? err : chain_table_grow(t);
}

static u32 chain_commit(struct chain_table *t, u64 key, u32 nr)
{
	u32 id = t->nr++;
	t->chains[id] = (struct chain){ .key = key, .start = (u32)t->nr_pool, .nr = nr };
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

static s64 chain_copy(struct chain_table *into, const struct chain_table *from, u32 chain,
		      const u32 *map_frame)
{
	u32 nr;
	const u32 *old = chain_frames(from, chain, &nr);
	int err = chain_room(into, nr);
	if (err)
		return err;
	for (u32 i = 0; i < nr; i++)
		into->pool[into->nr_pool + i] = map_frame[old[i]];
	return chain_commit(into, from->chains[chain].key, nr);
}

int chain_table_merge(struct chain_table *into, const struct chain_table *from,
		      const u32 *map_frame, u32 **map_chain)
{
	enum { AHEAD = 16 };
	u32 *map = malloc(from->nr * sizeof(*map));
	if (!map)
		return -ENOMEM;
	map[0] = CHAIN_NONE;
	for (u32 i = 1; i < from->nr; i++) {
		if (i + AHEAD < from->nr)
			chain_table_prefetch(into, from->chains[i + AHEAD].key);
		s64 id = chain_table_find(into, from->chains[i].key);
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

/* ---- chains of several shards; a chain's number in merge_shards() is its id less 1 ---- */

struct chain_merge {
	struct chain_table *into;
	struct chain_part *parts;
};

static u64 merge_key(void *ctx, u32 shard, u32 item)
{
	const struct chain_merge *c = ctx;
	return c->parts[shard].from->chains[item + 1].key;
}

static u32 merge_size(void *ctx, u32 shard, u32 item)
{
	const struct chain_merge *c = ctx;
	return c->parts[shard].from->chains[item + 1].nr;
}

static int merge_room(void *ctx, u32 nr, u64 size)
{
	struct chain_table *t = ((struct chain_merge *)ctx)->into;
	if (size > UINT32_MAX)
		return -ENOMEM;
	t->chains = big_grow(NULL, 0, ((size_t)nr + 1) * sizeof(*t->chains));
	t->cap = t->chains ? nr + 1 : 0;
	t->pool = big_grow(NULL, 0, max(size, (u64)1) * sizeof(*t->pool));
	t->cap_pool = t->pool ? max(size, (u64)1) : 0;
	if (!t->chains || !t->pool)
		return -ENOMEM;
	t->chains[0] = (struct chain){ 0 };
	t->nr = nr + 1;
	t->nr_pool = size;
	return 0;
}

static void merge_fetch(void *ctx, u32 shard, u32 item)
{
	const struct chain_merge *c = ctx;
	u32 nr;
	const u32 *row = chain_frames(c->parts[shard].from, item + 1, &nr);
	__builtin_prefetch(row);
	if (nr)
		__builtin_prefetch(row + nr - 1);
}

static void merge_put(void *ctx, u32 shard, u32 item, u32 to, u64 at, bool fresh)
{
	const struct chain_merge *c = ctx;
	const struct chain_part *p = &c->parts[shard];
	p->map_chain[item + 1] = to;
	if (!fresh)
		return;
	u32 nr, *pool = c->into->pool + at;
	const u32 *old = chain_frames(p->from, item + 1, &nr);
	for (u32 i = 0; i < nr; i++)
		pool[i] = p->map_frame ? p->map_frame[old[i]] : old[i];
	c->into->chains[to] =
		(struct chain){ .key = p->from->chains[item + 1].key, .start = (u32)at, .nr = nr };
}

static int get_maps(struct chain_part *parts, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		parts[i].map_chain = malloc(parts[i].from->nr * sizeof(u32));
		if (!parts[i].map_chain)
			return -ENOMEM;
		parts[i].map_chain[0] = CHAIN_NONE;
	}
	return 0;
}

int chain_tables_merge(struct chain_table *into, struct chain_part *parts, u32 nr, unsigned workers)
{
	struct chain_merge c = { .into = into, .parts = parts };
	*into = (struct chain_table){ 0 };
	_cleanup_free_ u32 *sizes = calloc((size_t)nr + 1, sizeof(*sizes));
	if (!sizes || get_maps(parts, nr))
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++)
		sizes[i] = parts[i].from->nr - 1;
	return merge_shards(&(struct merge){ .workers = workers,
					     .nr_shards = nr,
					     .nr = sizes,
					     .first = 1,
					     .ctx = &c,
					     .key = merge_key,
					     .size = merge_size,
					     .room = merge_room,
					     .fetch = merge_fetch,
					     .put = merge_put });
}

/* ---- chains of several shards, of which hardly any is in two ---- */

/* Keys that end in zeros, of each shard. */
struct key_sample {
	const struct chain_part *parts;
	struct keys {
		VEC(u64) list;
	} * of;
};

static int sample_keys(void *ctx, unsigned worker, u32 part)
{
	enum { ONE_IN = 256 };
	struct key_sample *s = ctx;
	const struct chain_table *t = s->parts[part].from;
	for (u32 i = 1; i < t->nr; i++) {
		/* Tables go by the lowest bits. */
		if (t->chains[i].key >> 32 & (ONE_IN - 1))
			continue;
		u64 *key = vec_push(&s->of[part].list);
		if (!key)
			return -ENOMEM;
		*key = t->chains[i].key;
	}
	return 0;
}

static bool mostly_distinct(const struct key_sample *s, u32 nr)
{
	struct dict seen;
	u64 all = 0, twice = 0;
	u32 got;
	dict_init(&seen);
	for (u32 i = 0; i < nr; i++)
		vec_for_each (&s->of[i].list, key)
			twice += dict_add(&seen, *key, (u32)all++, &got) || got != all - 1;
	dict_done(&seen);
	return all && twice <= all / 4;
}

bool chain_tables_apart(const struct chain_part *parts, u32 nr, unsigned workers)
{
	enum { LEAST = 1 << 14 }; /* fewer are merged in no time */
	u64 all = 0;
	for (u32 i = 0; i < nr; i++)
		all += parts[i].from->nr;
	struct key_sample s = { .parts = parts };
	s.of = all >= LEAST ? calloc(nr, sizeof(*s.of)) : NULL;
	if (!s.of)
		return false;
	bool apart = !par_each(workers, nr, sample_keys, &s) && mostly_distinct(&s, nr);
	for (u32 i = 0; i < nr; i++)
		vec_free(&s.of[i].list);
	free(s.of);
	return apart;
}

struct chain_join {
	struct chain_table *into;
	struct chain_part *parts;
	struct big_part *pools;
	u32 *first; /* [part] id of its first chain */
};

static int join_part(void *ctx, unsigned worker, u32 part)
{
	const struct chain_join *j = ctx;
	const struct chain_part *p = &j->parts[part];
	const struct chain_table *from = p->from;
	u32 first = j->first[part], start = (u32)(j->pools[part].at / sizeof(u32));
	u32 *pool = j->into->pool + start;
	for (u64 i = 0; i < from->nr_pool && p->map_frame; i++)
		pool[i] = p->map_frame[pool[i]];
	for (u32 i = 1; i < from->nr; i++) {
		struct chain c = from->chains[i];
		c.start += start;
		j->into->chains[first + i - 1] = c;
		p->map_chain[i] = first + i - 1;
	}
	return 0;
}

/* One pool of all; tables keep nothing of theirs. */
static int join_pools(struct chain_join *j, u32 nr)
{
	struct chain_table *t = j->into;
	size_t size;
	for (u32 i = 0; i < nr; i++)
		j->pools[i] =
			(struct big_part){ .p = j->parts[i].from->pool,
					   .size = j->parts[i].from->cap_pool * sizeof(*t->pool) };
	u32 *pool = big_join(j->pools, nr, &size);
	if (!pool)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		j->parts[i].from->pool = NULL;
		j->parts[i].from->cap_pool = 0;
	}
	t->pool = pool;
	t->cap_pool = size / sizeof(*pool);
	t->nr_pool = j->pools[nr - 1].at / sizeof(*pool) + j->parts[nr - 1].from->nr_pool;
	return t->nr_pool <= UINT32_MAX ? 0 : -ENOMEM;
}

int chain_tables_join(struct chain_table *into, struct chain_part *parts, u32 nr, unsigned workers)
{
	_cleanup_free_ u32 *first = calloc((size_t)nr + 1, sizeof(*first));
	_cleanup_free_ struct big_part *pools = calloc((size_t)nr + 1, sizeof(*pools));
	struct chain_join j = { .into = into, .parts = parts, .pools = pools, .first = first };
	u64 sum = 1;
	*into = (struct chain_table){ 0 };
	for (u32 i = 0; i < nr && first; i++) {
		first[i] = (u32)sum;
		sum += parts[i].from->nr - 1;
	}
	if (!first || !pools || sum > UINT32_MAX / 2 || get_maps(parts, nr))
		return -ENOMEM;
	into->chains = big_grow(NULL, 0, sum * sizeof(*into->chains));
	if (!into->chains)
		return -ENOMEM;
	into->chains[0] = (struct chain){ 0 };
	into->nr = into->cap = (u32)sum;
	int err = join_pools(&j, nr);
	return err ? err : par_each(workers, nr, join_part, &j);
}

void run_tables_done(struct run_tables *r)
{
	frame_table_done(&r->frames);
	chain_table_done(&r->chains);
}
