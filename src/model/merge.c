#include "model/merge.h"
#include "base/big.h"
#include "base/dict.h"
#include "base/par.h"

#include <errno.h>
#include <string.h>

enum { PILE_ITEMS = 8192, PILES_MAX = 1024 };

struct card {
	u64 key;
	u32 item; /* of the shard that the card lies under */
	u32 local; /* number in its pile */
};

/* A worker's table of the pile that it has before it. */
struct desk {
	u32 *slots; /* index + 1 into the pile */
	size_t room;
};

struct merge_job {
	const struct merge *m;
	u32 nr_piles, bits;
	struct card *cards; /* pile by pile, in each shard by shard */
	u64 nr;
	u64 *starts; /* [pile][shard] where they begin, and one more */
	u32 *fresh; /* [pile] things of the result */
	u64 *sizes; /* [pile] of their content */
	struct desk *desks;
};

static u32 pile_of(const struct merge_job *j, u64 key)
{
	return j->bits ? (u32)(hash_u64(key) * 0x9e3779b97f4a7c15ull >> (64 - j->bits)) : 0;
}

static u64 *start_of(const struct merge_job *j, u32 pile, u32 shard)
{
	return &j->starts[(u64)pile * j->m->nr_shards + shard];
}

static int count_shard(void *ctx, unsigned worker, u32 shard)
{
	struct merge_job *j = ctx;
	for (u32 i = 0; i < j->m->nr[shard]; i++)
		++*start_of(j, pile_of(j, j->m->key(j->m->ctx, shard, i)), shard);
	return 0;
}

static int deal_shard(void *ctx, unsigned worker, u32 shard)
{
	struct merge_job *j = ctx;
	for (u32 i = 0; i < j->m->nr[shard]; i++) {
		u64 key = j->m->key(j->m->ctx, shard, i);
		u64 *at = start_of(j, pile_of(j, key), shard);
		j->cards[(*at)++] = (struct card){ .key = key, .item = i };
	}
	return 0;
}

/* Counts become places. */
static void place_piles(struct merge_job *j)
{
	u64 at = 0, nr = (u64)j->nr_piles * j->m->nr_shards;
	for (u64 i = 0; i <= nr; i++) {
		u64 here = j->starts[i];
		j->starts[i] = at;
		at += here;
	}
}

/* Dealing has moved each start to where the next one was. */
static void restore_starts(struct merge_job *j)
{
	u64 nr = (u64)j->nr_piles * j->m->nr_shards;
	memmove(j->starts + 1, j->starts, nr * sizeof(*j->starts));
	j->starts[0] = 0;
}

static struct par_span pile_span(const struct merge_job *j, u32 pile)
{
	return (struct par_span){ *start_of(j, pile, 0), *start_of(j, pile + 1, 0) };
}

static u32 *clear_slots(struct desk *d, u64 nr, u32 *mask)
{
	size_t room = 64;
	while (room < 2 * nr)
		room *= 2;
	if (room > d->room) {
		free(d->slots);
		d->slots = malloc(room * sizeof(*d->slots));
		d->room = d->slots ? room : 0;
	}
	if (d->slots)
		memset(d->slots, 0, room * sizeof(*d->slots));
	*mask = (u32)room - 1;
	return d->slots;
}

/* Whose card it is. */
static u32 shard_of(const struct merge_job *j, u32 pile, u64 card)
{
	u32 lo = 0, hi = j->m->nr_shards;
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;
		if (*start_of(j, pile, mid) <= card)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static bool same(const struct merge_job *j, u32 pile, u64 other, u32 shard, const struct card *c)
{
	const struct card *o = &j->cards[other];
	const struct merge *m = j->m;
	return o->key == c->key &&
	       (!m->same || m->same(m->ctx, shard, c->item, shard_of(j, pile, other), o->item));
}

/* Numbers the things of one shard in a pile. */
static void sort_cards(struct merge_job *j, u32 pile, u32 shard, u32 *slots, u32 mask)
{
	const struct merge *m = j->m;
	u64 lo = *start_of(j, pile, 0), end = *start_of(j, pile, shard + 1);
	for (u64 i = *start_of(j, pile, shard); i < end; i++) {
		struct card *c = &j->cards[i];
		u32 at = (u32)hash_u64(c->key) & mask;
		while (slots[at] && !same(j, pile, lo + slots[at] - 1, shard, c))
			at = (at + 1) & mask;
		if (slots[at]) {
			c->local = j->cards[lo + slots[at] - 1].local;
			continue;
		}
		slots[at] = (u32)(i - lo) + 1;
		c->local = j->fresh[pile]++;
		j->sizes[pile] += m->size ? m->size(m->ctx, shard, c->item) : 0;
	}
}

static int sort_pile(void *ctx, unsigned worker, u32 pile)
{
	struct merge_job *j = ctx;
	struct par_span span = pile_span(j, pile);
	u32 mask, *slots = clear_slots(&j->desks[worker], span.hi - span.lo, &mask);
	for (u32 shard = 0; slots && shard < j->m->nr_shards; shard++)
		sort_cards(j, pile, shard, slots, mask);
	return slots ? 0 : -ENOMEM;
}

/* Counts and sizes of piles become the first numbers and places of their things. */
static int number_piles(struct merge_job *j)
{
	u64 nr = 0, size = 0;
	for (u32 i = 0; i < j->nr_piles; i++) {
		u32 here = j->fresh[i];
		u64 bytes = j->sizes[i];
		j->fresh[i] = (u32)nr;
		j->sizes[i] = size;
		nr += here;
		size += bytes;
	}
	return j->m->room(j->m->ctx, (u32)nr, size);
}

static int put_pile(void *ctx, unsigned worker, u32 pile)
{
	enum { AHEAD = 8 };
	struct merge_job *j = ctx;
	const struct merge *m = j->m;
	u64 at = j->sizes[pile];
	u32 next = 0, first = m->first + j->fresh[pile];
	for (u32 shard = 0; shard < m->nr_shards; shard++) {
		u64 end = *start_of(j, pile, shard + 1);
		for (u64 i = *start_of(j, pile, shard); i < end; i++) {
			const struct card *c = &j->cards[i];
			bool fresh = c->local == next;
			if (m->fetch && i + AHEAD < end)
				m->fetch(m->ctx, shard, c[AHEAD].item);
			next += fresh;
			m->put(m->ctx, shard, c->item, first + c->local, at, fresh);
			at += fresh && m->size ? m->size(m->ctx, shard, c->item) : 0;
		}
	}
	return 0;
}

static int job_init(struct merge_job *j, const struct merge *m)
{
	*j = (struct merge_job){ .m = m };
	for (u32 i = 0; i < m->nr_shards; i++)
		j->nr += m->nr[i];
	if (j->nr >= UINT32_MAX - m->first)
		return -ENOMEM;
	while (j->nr >> j->bits > PILE_ITEMS && 1u << j->bits < PILES_MAX)
		j->bits++;
	j->nr_piles = 1u << j->bits;
	j->cards = big_grow(NULL, 0, j->nr * sizeof(*j->cards));
	j->starts = calloc((u64)j->nr_piles * m->nr_shards + m->nr_shards + 1, sizeof(*j->starts));
	j->fresh = calloc(j->nr_piles, sizeof(*j->fresh));
	j->sizes = calloc(j->nr_piles, sizeof(*j->sizes));
	j->desks = calloc(m->workers, sizeof(*j->desks));
	return j->cards && j->starts && j->fresh && j->sizes && j->desks ? 0 : -ENOMEM;
}

static void job_done(struct merge_job *j)
{
	for (unsigned i = 0; j->desks && i < j->m->workers; i++)
		free(j->desks[i].slots);
	big_free(j->cards, j->nr * sizeof(*j->cards));
	free(j->starts);
	free(j->fresh);
	free(j->sizes);
	free(j->desks);
}

int merge_shards(const struct merge *m)
{
	struct merge_job j;
	int err = job_init(&j, m);
	if (!err)
		err = par_each(m->workers, m->nr_shards, count_shard, &j);
	if (!err) {
		place_piles(&j);
		err = par_each(m->workers, m->nr_shards, deal_shard, &j);
	}
	if (!err) {
		restore_starts(&j);
		err = par_each(m->workers, j.nr_piles, sort_pile, &j);
	}
	if (!err)
		err = number_piles(&j);
	if (!err)
		err = par_each(m->workers, j.nr_piles, put_pile, &j);
	job_done(&j);
	return err;
}
