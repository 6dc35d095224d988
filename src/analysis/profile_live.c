#include "analysis/profile_live.h"
#include "analysis/profile_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Weights are kept in 256ths, so that fading does not round small counts to nothing at once. */
enum { LIVE_BITS = 8, LIVE_HALF = 1 << (LIVE_BITS - 1) };
enum {
	ENTRIES_MAX = 1 << 18, /* more than this, and the lighter half is dropped */
	CHAINS_MAX = 1 << 18,
	FRAMES_MAX = 1 << 19,
	NAMES_MAX = 1 << 16,
};

struct profile_live {
	struct profile *all; /* collects; never folded */
	struct sink_ops ops;
	u64 generation;
};

/* ---- entries from one tally into another ---- */

struct moving {
	struct profile *to;
	const struct tally *from;
	const struct texts *texts;
	struct carry *carry; /* ids become those of the next generation; NULL: they stay */
	unsigned down; /* bits that weights lose */
	u32 *group_of; /* [group] -> group of `to` + 1; 0: no entry has needed it */
};

/* What a word of a group refers to in the tables of the run. */
static int carry_word(struct carry *c, enum profile_key key, u64 *word)
{
	s64 got = key == PROFILE_KEY_COMM ? carry_string(c, (u32)*word)
		  : hw_is_frame(key)	  ? carry_frame(c, (u32)*word)
					  : 0;
	if (got < 0)
		return (int)got;
	if (key == PROFILE_KEY_COMM || hw_is_frame(key))
		*word = (u64)got;
	return 0;
}

static int move_group(struct moving *m, u32 group)
{
	struct profile *to = m->to;
	u64 words[GROUP_WORDS_MAX];
	if (m->group_of[group])
		return 0;
	int err = keys_translate(to, m->texts, NULL,
				 &m->from->groups.at[(size_t)group * to->stride], words);
	for (u32 i = 0; i < to->nr_values && m->carry && !err; i++)
		err = carry_word(m->carry, to->values[i].key, &words[1 + i]);
	s64 got = err ? err : tally_group(&to->all, words, to->stride);
	if (got >= 0)
		m->group_of[group] = (u32)got + 1;
	return (int)min(got, (s64)0);
}

static int move_entry(struct moving *m, struct entry e)
{
	if (m->down) {
		e.period = (e.period + LIVE_HALF) >> m->down;
		e.count = (e.count + LIVE_HALF) >> m->down;
	}
	if (!e.period && !e.count)
		return 0;
	int err = move_group(m, e.group);
	s64 leaf = m->carry ? carry_frame(m->carry, e.leaf) : e.leaf;
	s64 chain = m->carry ? carry_chain(m->carry, e.chain) : e.chain;
	if (err || leaf < 0 || chain < 0)
		return -ENOMEM;
	return tally_add(&m->to->all, m->group_of[e.group] - 1, (u32)leaf, (u32)chain, e.period,
			 e.count);
}

static int move_all(struct moving *m)
{
	m->group_of = calloc((size_t)m->from->nr_groups + 1, sizeof(*m->group_of));
	int err = m->group_of ? 0 : -ENOMEM;
	for (size_t i = 0; i < m->from->nr && !err; i++)
		err = move_entry(m, m->from->entries[i]);
	free(m->group_of);
	return err;
}

/* The entries move to a fresh tally: groups and texts that none of them has are gone. */
static int rebuild(struct profile *p, struct carry *c)
{
	struct tally old = p->all;
	struct texts texts = p->texts;
	p->all = (struct tally){ 0 };
	texts_init(&p->texts);
	int err = move_all(&(struct moving){ .to = p, .from = &old, .texts = &texts, .carry = c });
	tally_done(&old);
	texts_done(&texts);
	return err;
}

/* ---- the sink ---- */

static int by_period(const void *l, const void *r)
{
	u64 a = *(const u64 *)l, b = *(const u64 *)r;
	return (a < b) - (a > b);
}

/* What is dropped remains a part of 100 %. */
static int drop(struct profile *p, const struct entry *e)
{
	u32 event = group_event(p, e->group);
	while (p->totals.nr <= event)
		if (!vec_push(&p->totals))
			return -ENOMEM;
	p->totals.at[event].period += e->period;
	p->totals.at[event].nr_samples += e->count;
	return 0;
}

static int drop_lightest(struct profile *p)
{
	size_t nr = p->all.nr, kept = 0;
	_cleanup_free_ u64 *periods = malloc(nr * sizeof(*periods));
	if (!periods)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		periods[i] = p->all.entries[i].period;
	qsort(periods, nr, sizeof(*periods), by_period);
	u64 least = periods[ENTRIES_MAX / 2 - 1];
	size_t room = 0; /* for those that weigh just that */
	while (room < ENTRIES_MAX / 2 && periods[ENTRIES_MAX / 2 - 1 - room] == least)
		room++;
	for (size_t i = 0; i < nr; i++) {
		const struct entry e = p->all.entries[i];
		bool last = e.period == least && room > 0;
		room -= last;
		if (e.period > least || last)
			p->all.entries[kept++] = e;
		else if (drop(p, &e))
			return -ENOMEM;
	}
	p->all.nr = kept;
	return rebuild(p, NULL);
}

static int live_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	struct profile *p = container_of(k, struct profile, sink);
	int err = profile_merge(k, parts, nr, workers);
	return err || p->all.nr <= ENTRIES_MAX ? err : drop_lightest(p);
}

static int live_carry(struct sink *k, struct carry *c)
{
	struct profile *p = container_of(k, struct profile, sink);
	struct profile_live *l = p->live;
	l->generation++;
	return rebuild(p, c);
}

struct profile_live *profile_live_new(const struct profile_config *cfg)
{
	struct profile_live *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->all = profile_new(cfg);
	if (!l->all) {
		free(l);
		return NULL;
	}
	struct sink *k = &l->all->sink;
	l->all->live = l;
	l->all->weight_bits = LIVE_BITS;
	l->ops = *k->ops;
	l->ops.merge = live_merge;
	l->ops.carry = live_carry;
	k->ops = &l->ops;
	k->needs = (k->needs & ~(unsigned)MAY_START_EARLY) | KEEP_IDS;
	k->max_chains = CHAINS_MAX;
	k->max_frames = FRAMES_MAX;
	k->max_names = NAMES_MAX;
	return l;
}

void profile_live_free(struct profile_live *l)
{
	if (!l)
		return;
	profile_free(l->all);
	free(l);
}

struct sink *profile_live_sink(struct profile_live *l)
{
	return &l->all->sink;
}

u64 profile_live_generation(const struct profile_live *l)
{
	return l->generation;
}

size_t profile_live_entries(const struct profile_live *l)
{
	return l->all->all.nr;
}

/* ---- fading, and looking ---- */

static u64 faded(u64 v, u32 keep)
{
	return v / PROFILE_LIVE_ONE * keep + v % PROFILE_LIVE_ONE * keep / PROFILE_LIVE_ONE;
}

int profile_live_fade(struct profile_live *l, u32 keep)
{
	struct profile *p = l->all;
	size_t kept = 0, nr = p->all.nr;
	for (size_t i = 0; i < nr; i++) {
		struct entry e = p->all.entries[i];
		e.period = faded(e.period, keep);
		e.count = faded(e.count, keep);
		/* Less than half a sample is not shown any more. */
		if (e.count >= LIVE_HALF)
			p->all.entries[kept++] = e;
	}
	vec_for_each (&p->totals, t) {
		t->period = faded(t->period, keep);
		t->nr_samples = faded(t->nr_samples, keep);
	}
	if (!keep)
		p->branches = (struct profile_branches){ 0 };
	p->all.nr = kept;
	return kept == nr ? 0 : rebuild(p, NULL);
}

static int copy_totals(const struct profile *from, struct profile *to)
{
	vec_for_each (&from->totals, t) {
		struct profile_totals *copy = vec_push(&to->totals);
		if (!copy)
			return -ENOMEM;
		*copy = (struct profile_totals){ .period = t->period >> LIVE_BITS,
						 .nr_samples = t->nr_samples >> LIVE_BITS };
	}
	return 0;
}

struct profile *profile_live_copy(const struct profile_live *l, const struct profile_filter *filter)
{
	struct profile_config cfg = l->all->cfg;
	cfg.filter = *filter;
	cfg.own_names = true;
	struct profile *p = profile_new(&cfg);
	if (!p)
		return NULL;
	p->branches = l->all->branches;
	int err = copy_totals(l->all, p);
	if (!err)
		err = move_all(&(struct moving){
			.to = p, .from = &l->all->all, .texts = &l->all->texts, .down = LIVE_BITS });
	if (!err)
		return p;
	profile_free(p);
	return NULL;
}

int profile_live_stacks(const struct profile_live *l,
			int (*fn)(void *ctx, const struct profile_live_stack *s), void *ctx)
{
	const struct profile *p = l->all;
	u32 comm = 0; /* its word of a group */
	int err = 0;
	for (u32 i = 0; i < p->nr_values; i++)
		if (p->values[i].key == PROFILE_KEY_COMM)
			comm = 1 + i;
	for (size_t i = 0; i < p->all.nr && !err; i++) {
		const struct entry *e = &p->all.entries[i];
		const u64 *words = &p->all.groups.at[(size_t)e->group * p->stride];
		struct profile_live_stack s = {
			.event = (u32)words[0],
			.comm = comm ? (u32)words[comm] : PROFILE_LIVE_NO_COMM,
			.leaf = e->leaf,
			.chain = e->chain,
			.period = (e->period + LIVE_HALF) >> LIVE_BITS,
			.count = (e->count + LIVE_HALF) >> LIVE_BITS,
		};
		err = fn(ctx, &s);
	}
	return err;
}

int profile_live_hits(const struct profile_live *l,
		      int (*fn)(void *ctx, u32 event, u32 frame, u64 period, u64 count), void *ctx)
{
	const struct profile *p = l->all;
	int err = 0;
	for (size_t i = 0; i < p->all.nr && !err; i++) {
		const struct entry *e = &p->all.entries[i];
		err = fn(ctx, group_event(p, e->group), e->leaf,
			 (e->period + LIVE_HALF) >> LIVE_BITS, (e->count + LIVE_HALF) >> LIVE_BITS);
	}
	return err;
}
