#include "analysis/profile_impl.h"
#include "base/big.h"
#include "base/par.h"
#include "model/merge.h"

#include <errno.h>
#include <string.h>

/* Entries of all shards, on their way into one tally. */
struct profile_merging {
	struct profile *p;
	const struct sink_part *parts;
	u32 **map_group; /* [shard][group] */
	u32 *nr_entries; /* [shard] */
	u32 *first_entry; /* [shard], where no entry is of two */
	u64 seed;
};

static struct tally *tally_of(const struct profile_merging *m, u32 shard)
{
	return &((struct profile_shard *)m->parts[shard].state)->tally;
}

static u64 weight_of(const struct profile *p, u64 v)
{
	return min(v, UINT64_MAX >> 2 * p->weight_bits) << p->weight_bits;
}

static int merge_skipped(struct profile *p, const struct profile_shard *st)
{
	for (size_t i = 0; i < st->skipped.nr; i++) {
		while (p->totals.nr <= i)
			if (!vec_push(&p->totals))
				return -ENOMEM;
		p->totals.at[i].period += weight_of(p, st->skipped.at[i].period);
		p->totals.at[i].nr_samples += weight_of(p, st->skipped.at[i].nr_samples);
	}
	hw_add_branches(&p->branches, &st->branches);
	return 0;
}

static int merge_groups(struct profile_merging *m, u32 shard)
{
	struct profile *p = m->p;
	const struct profile_shard *st = m->parts[shard].state;
	m->map_group[shard] = calloc((size_t)st->tally.nr_groups + 1, sizeof(u32));
	if (!m->map_group[shard])
		return -ENOMEM;
	for (u32 i = 0; i < st->tally.nr_groups; i++) {
		u64 words[GROUP_WORDS_MAX];
		int err = keys_translate(p, &st->texts, m->parts[shard].map_frame,
					 &st->tally.groups.at[(size_t)i * p->stride], words);
		s64 group = err ? err : tally_group(&p->all, words, p->stride);
		if (group < 0)
			return (int)group;
		m->map_group[shard][i] = (u32)group;
	}
	return 0;
}

/* Its entries' numbers become those of the run. */
static int translate(void *ctx, unsigned worker, u32 shard)
{
	struct profile_merging *m = ctx;
	const struct sink_part *part = &m->parts[shard];
	const struct tally *t = tally_of(m, shard);
	for (size_t i = 0; i < t->nr; i++) {
		struct entry *e = &t->entries[i];
		e->group = m->map_group[shard][e->group];
		e->leaf = part->map_frame ? part->map_frame[e->leaf] : e->leaf;
		e->chain = part->map_chain ? part->map_chain[e->chain] : e->chain;
	}
	return 0;
}

static u64 entry_key(void *ctx, u32 shard, u32 item)
{
	const struct profile_merging *m = ctx;
	const struct entry *e = &tally_of(m, shard)->entries[item];
	return hash_seeded(((u64)e->chain << 32 | e->leaf) ^ (u64)e->group << 17, m->seed);
}

static bool same_entry(void *ctx, u32 shard, u32 item, u32 other_shard, u32 other)
{
	const struct entry *a = &tally_of(ctx, shard)->entries[item];
	const struct entry *b = &tally_of(ctx, other_shard)->entries[other];
	return a->chain == b->chain && a->leaf == b->leaf && a->group == b->group;
}

static int entry_room(void *ctx, u32 nr, u64 size)
{
	struct tally *all = &((struct profile_merging *)ctx)->p->all;
	all->entries = big_grow(NULL, 0, nr * sizeof(*all->entries));
	all->nr = all->cap = all->entries ? nr : 0;
	return all->entries ? 0 : -ENOMEM;
}

static void put_entry(void *ctx, u32 shard, u32 item, u32 to, u64 at, bool fresh)
{
	const struct profile_merging *m = ctx;
	const struct entry *from = &tally_of(m, shard)->entries[item];
	struct entry *e = &m->p->all.entries[to];
	if (fresh) {
		*e = *from;
		return;
	}
	e->period += from->period;
	e->count += from->count;
}

/* No chain is of two shards, so no entry is. A place without a chain may be: that is two entries then. */
static int move_entries(void *ctx, unsigned worker, u32 shard)
{
	struct profile_merging *m = ctx;
	const struct tally *t = tally_of(m, shard);
	int err = translate(m, worker, shard);
	if (t->nr)
		memcpy(m->p->all.entries + m->first_entry[shard], t->entries,
		       t->nr * sizeof(*t->entries));
	return err;
}

static int join_entries(struct profile_merging *m, u32 nr, unsigned workers)
{
	u64 sum = 0;
	for (u32 i = 0; i < nr; i++) {
		m->first_entry[i] = (u32)sum;
		sum += m->nr_entries[i];
	}
	int err = sum < UINT32_MAX ? entry_room(m, (u32)sum, 0) : -ENOMEM;
	return err ? err : par_each(workers, nr, move_entries, m);
}

static int merge_entries(struct profile_merging *m, u32 nr, unsigned workers)
{
	for (u32 i = 0; i < nr; i++)
		m->nr_entries[i] = (u32)tally_of(m, i)->nr;
	if (m->parts[0].apart)
		return join_entries(m, nr, workers);
	int err = par_each(workers, nr, translate, m);
	if (err)
		return err;
	return merge_shards(&(struct merge){ .workers = workers,
					     .nr_shards = nr,
					     .nr = m->nr_entries,
					     .ctx = m,
					     .key = entry_key,
					     .same = same_entry,
					     .room = entry_room,
					     .put = put_entry });
}

/* Beside what is there of rounds before. */
static int add_entries(struct profile_merging *m)
{
	const struct tally *t = tally_of(m, 0);
	int err = merge_groups(m, 0);
	if (!err)
		err = translate(m, 0, 0);
	for (size_t i = 0; i < t->nr && !err; i++) {
		const struct entry *e = &t->entries[i];
		err = tally_add(&m->p->all, e->group, e->leaf, e->chain, weight_of(m->p, e->period),
				weight_of(m->p, e->count));
	}
	return err;
}

/* The only shard's become the run's. */
static int take_over(struct profile *p, struct profile_shard *st)
{
	p->all = st->tally;
	st->tally = (struct tally){ 0 };
	texts_done(&p->texts);
	p->texts = st->texts;
	texts_init(&st->texts);
	return 0;
}

int profile_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	struct profile_merging m = { .p = container_of(k, struct profile, sink),
				     .parts = parts,
				     .map_group = calloc(nr, sizeof(*m.map_group)),
				     .nr_entries = calloc(nr, sizeof(*m.nr_entries)),
				     .first_entry = calloc(nr, sizeof(*m.first_entry)),
				     .seed = hash_seed() };
	int err = m.map_group && m.nr_entries && m.first_entry ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++)
		err = merge_skipped(m.p, parts[i].state);
	if (!err && nr == 1 && !m.p->all.nr_groups && !parts[0].map_frame && !m.p->weight_bits) {
		err = take_over(m.p, parts[0].state);
	} else if (!err && nr == 1) {
		err = add_entries(&m);
	} else if (!err) {
		for (u32 i = 0; i < nr && !err; i++)
			err = merge_groups(&m, i);
		if (!err)
			err = merge_entries(&m, nr, workers);
	}
	for (u32 i = 0; m.map_group && i < nr; i++)
		free(m.map_group[i]);
	free(m.map_group);
	free(m.nr_entries);
	free(m.first_entry);
	return err;
}
