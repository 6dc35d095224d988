#include "analysis/profile.h"
#include "analysis/profile_impl.h"
#include "base/big.h"
#include "base/par.h"

#include <errno.h>
#include <string.h>

/* ---- collecting ---- */

void tally_done(struct tally *t)
{
	vec_free(&t->groups);
	dict_done(&t->group_of);
	big_free(t->entries, t->cap * sizeof(*t->entries));
	big_free(t->slots, t->nr_slots * sizeof(*t->slots));
	*t = (struct tally){ 0 };
}

static bool same_group(const u64 *l, const u64 *r, u32 stride)
{
	for (u32 i = 0; i < stride; i++)
		if (l[i] != r[i])
			return false;
	return true;
}

static u64 tally_seed(struct tally *t)
{
	if (unlikely(!t->seed))
		t->seed = hash_seed();
	return t->seed;
}

s64 tally_group(struct tally *t, const u64 *words, u32 stride)
{
	if (likely(t->nr_groups && same_group(words, t->last_group, stride)))
		return t->last;
	u64 hash = hash_words(words, stride, tally_seed(t));
	u32 fresh = t->nr_groups, got;
	for (;; hash++) {
		int err = dict_add(&t->group_of, hash, fresh, &got);
		if (err)
			return err;
		if (got == fresh || same_group(&t->groups.at[(size_t)got * stride], words, stride))
			break;
	}
	if (got == fresh) {
		if (!vec_reserve(&t->groups, t->groups.nr + stride))
			return -ENOMEM;
		memcpy(t->groups.at + t->groups.nr, words, stride * sizeof(*words));
		t->groups.nr += stride;
		t->nr_groups++;
	}
	memcpy(t->last_group, words, stride * sizeof(*words));
	t->last = got;
	return got;
}

static u32 entry_hash(const struct tally *t, u32 group, u32 leaf, u32 chain)
{
	return (u32)hash_seeded(((u64)chain << 32 | leaf) ^ (u64)group << 17, t->seed);
}

static u32 *tally_slot(const struct tally *t, u32 group, u32 leaf, u32 chain)
{
	u32 at = entry_hash(t, group, leaf, chain) & t->mask;
	while (t->slots[at]) {
		const struct entry *e = &t->entries[t->slots[at] - 1];
		if (e->chain == chain && e->leaf == leaf && e->group == group)
			break;
		at = (at + 1) & t->mask;
	}
	return &t->slots[at];
}

/* Slots first: more of them than needed do no harm if there is no memory for the rest. */
static int tally_grow(struct tally *t)
{
	(void)tally_seed(t);
	size_t cap = t->cap ? t->cap * 2 : 2048;
	if (cap > (size_t)1 << 30)
		return -ENOMEM;
	if (t->nr_slots < 2 * cap) {
		u32 *slots =
			big_zgrow(t->slots, t->nr_slots * sizeof(*slots), 2 * cap * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		t->slots = slots;
		t->nr_slots = 2 * cap;
		t->mask = (u32)(2 * cap - 1);
		for (size_t i = 0; i < t->nr; i++) {
			const struct entry *e = &t->entries[i];
			*tally_slot(t, e->group, e->leaf, e->chain) = (u32)i + 1;
		}
	}
	struct entry *entries =
		big_grow(t->entries, t->cap * sizeof(*entries), cap * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	t->cap = cap;
	return 0;
}

int tally_add(struct tally *t, u32 group, u32 leaf, u32 chain, u64 period, u64 count)
{
	if (unlikely(t->nr == t->cap)) {
		int err = tally_grow(t);
		if (err)
			return err;
	}
	u32 *slot = tally_slot(t, group, leaf, chain);
	if (!*slot) {
		t->entries[t->nr] = (struct entry){ .group = group, .leaf = leaf, .chain = chain };
		*slot = (u32)++t->nr;
	}
	struct entry *e = &t->entries[*slot - 1];
	e->period += period;
	e->count += count;
	return 0;
}

/* Bring on their way what tally_add() will look at: first the slot, later the entry it leads to. */
static void tally_fetch_slot(const struct tally *t, u32 hash)
{
	if (t->slots)
		__builtin_prefetch(&t->slots[hash & t->mask]);
}

static void tally_fetch_entry(const struct tally *t, u32 hash)
{
	u32 slot = t->slots ? t->slots[hash & t->mask] : 0;
	if (slot)
		__builtin_prefetch(&t->entries[slot - 1], 1);
}

static int profile_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct profile_shard *st = calloc(1, sizeof(*st));
	if (!st)
		return -ENOMEM;
	texts_init(&st->texts);
	st->gate = container_of(k, struct profile, sink)->cfg.filter.gate;
	*state = st;
	return 0;
}

static inline s64 group_of(const struct profile *p, struct profile_shard *st, const struct sample *s)
{
	u64 words[GROUP_WORDS_MAX];
	words[0] = s->event;
	int err = keys_values(p, &st->texts, s, words + 1);
	return err ? err : tally_group(&st->tally, words, p->stride);
}

static int skip(struct profile_shard *st, const struct sample *s)
{
	while (st->skipped.nr <= s->event)
		if (!vec_push(&st->skipped))
			return -ENOMEM;
	st->skipped.at[s->event].period += s->period;
	st->skipped.at[s->event].nr_samples++;
	return 0;
}

static int add_one(const struct profile *p, struct profile_shard *st, const struct sample *s,
		   bool graph)
{
	s64 group = group_of(p, st, s);
	return group < 0 ? (int)group
			 : tally_add(&st->tally, (u32)group, s->leaf, graph ? s->chain : CHAIN_NONE,
				     s->period, 1);
}

/* Each branch counts once, where it led to. */
static int add_branches(const struct profile *p, struct profile_shard *st, const struct sample *s)
{
	struct sample one = *s;
	int err = 0;
	one.period = 1;
	one.nr_branches = 1;
	for (u32 i = 0; i < s->nr_branches && !err; i++) {
		one.branches = &s->branches[i];
		one.leaf = one.branches->to_frame;
		one.weight = max(BRANCH_CYCLES(one.branches->flags), 1u);
		hw_count_branch(&st->branches, one.branches);
		err = add_one(p, st, &one, false);
	}
	return err;
}

static int add_access(const struct profile *p, struct profile_shard *st, const struct sample *s,
		      bool graph)
{
	struct sample one = *s;
	one.period = max(s->weight, (u64)1);
	return add_one(p, st, &one, graph);
}

static int feed_chosen(const struct profile *p, struct profile_shard *st, const struct batch *b,
		       bool graph)
{
	const struct profile_filter *f = &p->cfg.filter;
	const struct catalog *c = p->cfg.env.catalog;
	bool gate = sample_gate_used(&st->gate);
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		if (gate &&
		    (!sample_in_time(&f->choice, s) || !sample_gate_passes(&st->gate, s->event)))
			continue;
		if (!sample_chosen(&f->choice, c, s))
			continue;
		if (!sample_chosen(&f->rows, c, s)) {
			int err = skip(st, s);
			if (err)
				return err;
			continue;
		}
		int err = p->cfg.branches    ? add_branches(p, st, s)
			  : p->cfg.by_weight ? add_access(p, st, s, graph)
					     : add_one(p, st, s, graph);
		if (err)
			return err;
	}
	return 0;
}

/* In three steps, a few samples apart, so that the table's memory is on its way when it is needed. */
static int profile_feed(struct sink *k, void *state, const struct batch *b)
{
	enum { AHEAD = 16, NEAR = 8 };
	struct profile *p = container_of(k, struct profile, sink);
	struct profile_shard *st = state;
	struct tally *t = &st->tally;
	bool graph = k->needs & NEED_CHAIN;
	u32 groups[AHEAD], hashes[AHEAD];
	if (p->filtered)
		return feed_chosen(p, st, b, graph);
	for (size_t i = 0; i < b->nr + AHEAD; i++) {
		if (i >= AHEAD) {
			const struct sample *s = &b->samples[i - AHEAD];
			int err = tally_add(t, groups[i % AHEAD], s->leaf,
					    graph ? s->chain : CHAIN_NONE, s->period, 1);
			if (err)
				return err;
		}
		if (i < b->nr) {
			const struct sample *s = &b->samples[i];
			s64 group = group_of(p, st, s);
			if (group < 0)
				return (int)group;
			groups[i % AHEAD] = (u32)group;
			hashes[i % AHEAD] =
				entry_hash(t, (u32)group, s->leaf, graph ? s->chain : CHAIN_NONE);
			tally_fetch_slot(t, hashes[i % AHEAD]);
		}
		if (i >= NEAR && i - NEAR < b->nr)
			tally_fetch_entry(t, hashes[(i - NEAR) % AHEAD]);
	}
	return 0;
}

static void profile_shard_free(struct sink *k, void *state)
{
	struct profile_shard *st = state;
	tally_done(&st->tally);
	texts_done(&st->texts);
	vec_free(&st->skipped);
	free(st);
}

static const struct sink_ops profile_ops = {
	.needs = NEED_LEAF | MAY_START_EARLY,
	.shard_new = profile_shard_new,
	.feed = profile_feed,
	.merge = profile_merge,
	.shard_free = profile_shard_free,
};

struct profile *profile_new(const struct profile_config *cfg)
{
	struct profile *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->cfg = *cfg;
	if (!p->cfg.quantum_ns)
		p->cfg.quantum_ns = 100000000;
	if (keys_settle(p)) {
		free(p);
		return NULL;
	}
	const struct profile_filter *f = &p->cfg.filter;
	p->filtered = !sample_choice_empty(&f->choice) || !sample_choice_empty(&f->rows) ||
		      sample_gate_used(&f->gate) || cfg->branches || cfg->by_weight;
	p->with_parent = keys_has(p, PROFILE_KEY_PARENT);
	p->sink.ops = &profile_ops;
	p->sink.needs = profile_ops.needs;
	if (cfg->graph || cfg->children || p->with_parent || f->ignore_callees)
		p->sink.needs |= NEED_CHAIN;
	if (sample_gate_used(&f->gate))
		p->sink.needs |= NEED_ORDER;
	if (keys_has(p, PROFILE_KEY_COMM) || f->rows.nr_comms || f->choice.nr_comms)
		p->sink.needs |= NEED_COMM;
	if (p->with_texts)
		p->sink.needs |= NEED_RAW;
	p->sink.needs |= hw_needs(p);
	strtab_init(&p->dsos);
	texts_init(&p->texts);
	strtab_init(&p->sources);
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	tally_done(&p->all);
	texts_done(&p->texts);
	rowtree_done(&p->drawer.graph);
	fold_done(&p->fold);
	strtab_done(&p->dsos);
	chains_done(p);
	free(p->dso_of);
	free(p->key_of);
	big_vec_free(&p->items);
	vec_free(&p->item_counts);
	free(p->next_item);
	free(p->entry_row);
	big_free(p->places, p->nr_places * sizeof(*p->places));
	vec_free(&p->rows);
	vec_free(&p->measures);
	vec_free(&p->totals);
	vec_free(&p->shown_totals);
	vec_free(&p->shown);
	dict_done(&p->row_of);
	free(p);
}

struct sink *profile_sink(struct profile *p)
{
	return &p->sink;
}

/* ---- folding ---- */

static int make_dsos(struct profile *p)
{
	p->dso_of = calloc(p->catalog->images.nr, sizeof(*p->dso_of));
	if (!p->dso_of)
		return -ENOMEM;
	for (size_t i = 0; i < p->catalog->images.nr; i++) {
		const char *name = p->catalog->images.at[i].name;
		s64 id = strtab_add(&p->dsos, name, strlen(name));
		if (id < 0)
			return (int)id;
		p->dso_of[i] = (u32)id;
	}
	return 0;
}

/* Functions that the keys cannot tell apart get the key of the first of them. */
static int make_keys(struct profile *p)
{
	bool sym = keys_has(p, PROFILE_KEY_SYM), dso = keys_has(p, PROFILE_KEY_DSO);
	bool sym_size = !sym && keys_has(p, PROFILE_KEY_SYM_SIZE);
	bool dso_size = !dso && !sym && keys_has(p, PROFILE_KEY_DSO_SIZE);
	bool srcline = keys_has(p, PROFILE_KEY_SRCLINE), srcfile = keys_has(p, PROFILE_KEY_SRCFILE);
	const struct profile_env *env = &p->cfg.env;
	p->key_of = calloc((size_t)p->names->nr_funcs + 1, sizeof(*p->key_of));
	if (!p->key_of)
		return -ENOMEM;
	struct dict first;
	dict_init(&first);
	int err = 0;
	for (u32 i = 0; i < p->names->nr_funcs && !err; i++) {
		const struct name_func *f = &p->names->funcs[i];
		u64 key[7] = { dso || sym ? p->dso_of[f->image] : 0,
			       sym ? f->start : 0,
			       sym ? 1 + (f->name != NULL) : 0,
			       sym && f->inlined ? hash_bytes(f->name, strlen(f->name)) : 0,
			       sym_size && f->name ? f->end - f->start : 0,
			       dso_size && env->image_size ? env->image_size(env->ctx, f->image) : 0,
			       srcline	 ? p->srcline_of[i] + 1
			       : srcfile ? p->srcfile_of[i] + 1
					 : 0 };
		err = dict_add(&first, hash_bytes(key, sizeof(key)), i, &p->key_of[i]);
	}
	dict_done(&first);
	return err;
}

static int add_item(struct profile *p, const struct entry *e, u32 tree, u32 start, u32 nr)
{
	struct fold_item *it = big_vec_push(&p->items);
	u64 *count = p->cfg.count ? vec_push(&p->item_counts) : NULL;
	if (!it || (p->cfg.count && !count))
		return -ENOMEM;
	if (count)
		*count = e->count;
	*it = (struct fold_item){ .tree = tree, .start = start, .nr = nr, .period = e->period };
	return 0;
}

/* The entries' own chains: item for entry. */
struct own_items {
	struct profile *p;
	const struct chain_table *chains;
	u32 parts;
};

static int entry_items(void *ctx, unsigned worker, u32 part)
{
	enum { AHEAD = 16 };
	const struct own_items *o = ctx;
	struct profile *p = o->p;
	struct par_span span = par_span(p->all.nr, o->parts, part);
	for (u64 i = span.lo; i < span.hi; i++) {
		const struct entry *e = &p->all.entries[i];
		if (i + AHEAD < span.hi)
			__builtin_prefetch(&o->chains->chains[e[AHEAD].chain]);
		struct chain c = o->chains->chains[e->chain];
		p->items.at[i] =
			(struct fold_item){ .tree = own_trees(p) ? p->entry_row[i] : e->group,
					    .start = c.start,
					    .nr = c.nr,
					    .period = e->period };
		if (p->cfg.count)
			p->item_counts.at[i] = e->count;
	}
	return 0;
}

static int add_own_items(struct profile *p, const struct chain_table *chains)
{
	struct own_items o = { .p = p, .chains = chains };
	unsigned workers = profile_workers(p, p->all.nr);
	o.parts = workers;
	if (!big_vec_reserve(&p->items, p->all.nr) ||
	    (p->cfg.count && !vec_reserve(&p->item_counts, p->all.nr)))
		return -ENOMEM;
	p->items.nr = p->all.nr;
	p->item_counts.nr = p->cfg.count ? p->all.nr : 0;
	return par_each(workers, o.parts, entry_items, &o);
}

/* Every function on the way gets a row, with what led to it: the chain from its innermost place outwards. */
static int caller_items(struct profile *p, const struct entry *e, const struct chain_table *chains,
			u32 *seen, u32 stamp)
{
	struct chain c = chains->chains[e->chain];
	seen[p->key_of[e->leaf]] = stamp;
	s64 row = profile_row_at(p, e->group, e->leaf); /* made by rows_by_leaf() */
	p->rows.at[row].total += e->period;
	p->rows.at[row].depth = max(p->rows.at[row].depth, c.nr);
	for (u32 nr = c.nr; nr > 0; nr--) {
		u32 func = p->names->func_of[chains->pool[c.start + nr - 1]];
		if (seen[p->key_of[func]] == stamp)
			continue;
		seen[p->key_of[func]] = stamp;
		row = profile_row_at(p, e->group, func);
		int err = row < 0 ? (int)row : add_item(p, e, (u32)row, c.start, nr);
		if (err)
			return err;
		p->rows.at[row].total += e->period;
		p->rows.at[row].depth = max(p->rows.at[row].depth, nr);
	}
	return 0;
}

static int fold_chains(struct profile *p, const struct chain_table *chains)
{
	int err = add_own_items(p, chains);
	if (p->cfg.children && own_trees(p)) {
		u32 *seen = calloc((size_t)p->names->nr_funcs + 1, sizeof(*seen));
		for (size_t i = 0; i < p->all.nr && !err; i++)
			err = seen ? caller_items(p, &p->all.entries[i], chains, seen, (u32)i + 1)
				   : -ENOMEM;
		free(seen);
	}
	if (err)
		return err;
	u32 nr_trees = own_trees(p) ? (u32)p->rows.nr : p->all.nr_groups;
	return fold_build(&p->fold,
			  &(struct fold_input){ .items = p->items.at,
						.nr = p->items.nr,
						.nr_trees = nr_trees,
						.reverse = p->cfg.order == PROFILE_CALLEE,
						.chains = chains,
						.names = p->names,
						.workers = profile_workers(p, p->items.nr) });
}

/* Everything counts for 100 %, also what a filter leaves out. */
static int sum_up(struct profile *p)
{
	while (p->totals.nr < p->catalog->events.nr)
		if (!vec_push(&p->totals))
			return -ENOMEM;
	for (size_t i = 0; i < p->all.nr; i++) {
		const struct entry *e = &p->all.entries[i];
		struct profile_totals *t = &p->totals.at[group_event(p, e->group)];
		t->period += e->period;
		t->nr_samples += e->count;
	}
	return 0;
}

int drawer_init(struct drawer *d, struct profile *p)
{
	d->profile = p;
	int err = rowtree_init(&d->graph, &p->fold, p->items.at, p->names);
	if (!err && p->cfg.count && p->fold.nr_nodes)
		err = rowtree_count(&d->graph, p->item_counts.at, p->items.nr);
	if (err)
		rowtree_done(&d->graph);
	return err;
}

int profile_fold(struct profile *p, const struct catalog *c, const struct run_tables *run,
		 const struct names_result *names)
{
	const struct chain_table *chains = &run->chains;
	p->catalog = c;
	p->names = names;
	int err = wants_lines(p)      ? names_by_line(p, run)
		  : p->cfg.by_address ? names_by_address(p, run)
				      : 0;
	if (!err)
		err = make_dsos(p);
	if (!err)
		err = hw_settle(p, run);
	if (!err)
		drop_hidden(p);
	if (!err)
		err = sum_up(p);
	if (!err && (p->cfg.max_stack || p->cfg.filter.hide_unresolved))
		err = chains_shorten(p, &chains);
	if (!err && p->cfg.filter.ignore_callees)
		err = callees_ignore(p, &chains);
	if (!err)
		err = choose_entries(p);
	if (!err && p->with_parent)
		err = parents_find(p, chains);
	if (!err)
		err = make_keys(p);
	if (!err)
		err = rows_by_leaf(p);
	if (!err && (p->cfg.graph || p->cfg.children))
		err = fold_chains(p, chains);
	if (!err && !own_trees(p))
		err = rows_by_caller(p);
	return err ? err : drawer_init(&p->drawer, p);
}
