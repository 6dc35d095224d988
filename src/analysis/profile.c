#include "analysis/profile.h"
#include "analysis/fold.h"
#include "analysis/rowtree.h"
#include "base/big.h"
#include "base/dict.h"
#include "base/strtab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What the keys of a sample (not of its frames) say; a key that is not asked for stays 0, so that groups merge over it. */
struct group {
	u32 event;
	u32 comm;
	s32 pid;
	s32 cpu;
};

/* Samples that share group, leaf and chain. */
struct entry {
	u32 group;
	u32 leaf; /* frame; once folded: function */
	u32 chain;
	u64 period;
	u64 count;
};

/* Groups and (group, leaf, chain) entries, of a shard or of the run. */
struct tally {
	VEC(struct group) groups;
	struct dict group_of; /* hash of a group -> index; equal hashes are told apart by probing on */
	struct group last_group;
	u32 last; /* index of last_group; valid when groups.nr */
	struct entry *entries;
	u32 *slots; /* index + 1 */
	size_t nr, cap;
	u32 mask;
};

struct row {
	u32 group;
	u32 func; /* one of its functions: names the row */
	u32 key;
	u32 first_item; /* index + 1 into all.entries */
	u32 first_place; /* index into places */
	u32 nr_places;
	u32 depth; /* of its call graph */
	u64 self;
	u64 total;
	u64 count;
};

struct profile {
	struct sink sink;
	struct profile_config cfg;
	bool by_comm, by_pid, by_cpu;
	struct tally all;
	const struct catalog *catalog;
	const struct names_result *names;
	struct fold fold;
	struct rowtree graph;
	struct strtab dsos;
	u32 *dso_of; /* [image] -> dsos id: images of one name are one object to a person */
	u32 *key_of; /* [func] -> row key */
	VEC(struct fold_item)
	items; /* [entry]; more behind them where callers have trees of their own */
	u32 *next_item; /* [entry] -> the next one of its row, index + 1 */
	struct rowtree_start *places; /* where a row's function is outermost on its path, row by row */
	size_t nr_places;
	VEC(struct row) rows;
	struct dict row_of; /* (group, key) -> row */
	VEC(struct profile_totals) totals; /* [event] */
	VEC(u32) shown; /* rows of the table made last, in its order */
	u64 shown_total;
};

/* ---- collecting ---- */

static void tally_done(struct tally *t)
{
	vec_free(&t->groups);
	dict_done(&t->group_of);
	big_free(t->entries, t->cap * sizeof(*t->entries));
	big_free(t->slots, t->cap * 2 * sizeof(*t->slots));
	*t = (struct tally){ 0 };
}

static bool same_group(const struct group *l, const struct group *r)
{
	return l->event == r->event && l->comm == r->comm && l->pid == r->pid && l->cpu == r->cpu;
}

static s64 tally_group(struct tally *t, const struct group *g)
{
	if (likely(t->groups.nr && same_group(g, &t->last_group)))
		return t->last;
	u64 hash = hash_bytes(g, sizeof(*g));
	u32 fresh = (u32)t->groups.nr, got;
	for (;; hash++) {
		int err = dict_add(&t->group_of, hash, fresh, &got);
		if (err)
			return err;
		if (got == fresh || same_group(&t->groups.at[got], g))
			break;
	}
	if (got == fresh) {
		struct group *made = vec_push(&t->groups);
		if (!made)
			return -ENOMEM;
		*made = *g;
	}
	t->last_group = *g;
	t->last = got;
	return got;
}

static u32 entry_hash(u32 group, u32 leaf, u32 chain)
{
	return (u32)hash_u64(((u64)chain << 32 | leaf) ^ (u64)group << 17);
}

static u32 *tally_slot(const struct tally *t, u32 group, u32 leaf, u32 chain)
{
	u32 at = entry_hash(group, leaf, chain) & t->mask;
	while (t->slots[at]) {
		const struct entry *e = &t->entries[t->slots[at] - 1];
		if (e->chain == chain && e->leaf == leaf && e->group == group)
			break;
		at = (at + 1) & t->mask;
	}
	return &t->slots[at];
}

static int tally_grow(struct tally *t)
{
	size_t cap = t->cap ? t->cap * 2 : 2048;
	if (cap > (size_t)1 << 30)
		return -ENOMEM;
	u32 *slots = big_zalloc(cap * 2 * sizeof(*slots));
	struct entry *entries =
		slots ? big_grow(t->entries, t->cap * sizeof(*entries), cap * sizeof(*entries))
		      : NULL;
	if (!entries) {
		big_free(slots, cap * 2 * sizeof(*slots));
		return -ENOMEM;
	}
	big_free(t->slots, t->cap * 2 * sizeof(*slots));
	t->entries = entries;
	t->slots = slots;
	t->cap = cap;
	t->mask = (u32)(cap * 2 - 1);
	for (size_t i = 0; i < t->nr; i++)
		*tally_slot(t, entries[i].group, entries[i].leaf, entries[i].chain) = (u32)i + 1;
	return 0;
}

static int tally_add(struct tally *t, u32 group, u32 leaf, u32 chain, u64 period, u64 count)
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

static void tally_prefetch(const struct tally *t, u32 group, u32 leaf, u32 chain)
{
	if (t->slots)
		__builtin_prefetch(&t->slots[entry_hash(group, leaf, chain) & t->mask]);
}

static bool has_key(const struct profile *p, enum profile_key key)
{
	for (u32 i = 0; i < p->cfg.nr_keys; i++)
		if (p->cfg.keys[i] == key)
			return true;
	return false;
}

static int profile_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = calloc(1, sizeof(struct tally));
	return *state ? 0 : -ENOMEM;
}

static s64 group_of(const struct profile *p, struct tally *t, const struct sample *s)
{
	struct group g = {
		.event = s->event,
		.comm = p->by_comm ? s->comm : 0,
		.pid = p->by_pid ? s->tid : 0,
		.cpu = p->by_cpu ? s->cpu : 0,
	};
	return tally_group(t, &g);
}

/* In two steps, a few samples apart, so that the table's memory is on its way when it is needed. */
static int profile_feed(struct sink *k, void *state, const struct batch *b)
{
	enum { AHEAD = 16 };
	struct profile *p = container_of(k, struct profile, sink);
	struct tally *t = state;
	bool graph = k->needs & NEED_CHAIN;
	u32 groups[AHEAD];
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
			s64 group = group_of(p, t, s);
			if (group < 0)
				return (int)group;
			groups[i % AHEAD] = (u32)group;
			tally_prefetch(t, (u32)group, s->leaf, graph ? s->chain : CHAIN_NONE);
		}
	}
	return 0;
}

static int profile_merge(struct sink *k, void *state, const u32 *map_frame, const u32 *map_chain)
{
	struct profile *p = container_of(k, struct profile, sink);
	struct tally *t = state;
	if (!p->all.nr && !map_frame) {
		p->all = *t;
		*t = (struct tally){ 0 };
		return 0;
	}
	for (size_t i = 0; i < t->nr; i++) {
		const struct entry *e = &t->entries[i];
		s64 group = tally_group(&p->all, &t->groups.at[e->group]);
		if (group < 0)
			return (int)group;
		int err = tally_add(&p->all, (u32)group, map_frame ? map_frame[e->leaf] : e->leaf,
				    map_chain ? map_chain[e->chain] : e->chain, e->period, e->count);
		if (err)
			return err;
	}
	return 0;
}

static void profile_shard_free(struct sink *k, void *state)
{
	tally_done(state);
	free(state);
}

static const struct sink_ops profile_ops = {
	.needs = NEED_LEAF,
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
	p->sink.ops = &profile_ops;
	p->sink.needs = profile_ops.needs;
	if (cfg->graph || cfg->children)
		p->sink.needs |= NEED_CHAIN;
	p->by_pid = has_key(p, PROFILE_KEY_PID);
	p->by_cpu = has_key(p, PROFILE_KEY_CPU);
	p->by_comm = has_key(p, PROFILE_KEY_COMM);
	if (p->by_comm)
		p->sink.needs |= NEED_COMM;
	strtab_init(&p->dsos);
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	tally_done(&p->all);
	fold_done(&p->fold);
	rowtree_done(&p->graph);
	strtab_done(&p->dsos);
	free(p->dso_of);
	free(p->key_of);
	vec_free(&p->items);
	free(p->next_item);
	big_free(p->places, p->nr_places * sizeof(*p->places));
	vec_free(&p->rows);
	vec_free(&p->totals);
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
	bool sym = has_key(p, PROFILE_KEY_SYM), dso = has_key(p, PROFILE_KEY_DSO);
	p->key_of = calloc((size_t)p->names->nr_funcs + 1, sizeof(*p->key_of));
	if (!p->key_of)
		return -ENOMEM;
	struct dict first;
	dict_init(&first);
	int err = 0;
	for (u32 i = 0; i < p->names->nr_funcs && !err; i++) {
		const struct name_func *f = &p->names->funcs[i];
		u64 key[3] = { dso || sym ? p->dso_of[f->image] : 0, sym ? f->start : 0,
			       sym ? 1 + (f->name != NULL) : 0 };
		err = dict_add(&first, hash_bytes(key, sizeof(key)), i, &p->key_of[i]);
	}
	dict_done(&first);
	return err;
}

static s64 row_at(struct profile *p, u32 group, u32 func)
{
	u32 key = p->key_of[func], got, fresh = (u32)p->rows.nr;
	int err = dict_add(&p->row_of, (u64)group << 32 | key, fresh, &got);
	if (err || got != fresh)
		return err ? err : (s64)got;
	struct row *r = vec_push(&p->rows);
	if (!r)
		return -ENOMEM;
	*r = (struct row){ .group = group, .func = func, .key = key };
	return fresh;
}

static int self_rows(struct profile *p)
{
	p->next_item = calloc(p->all.nr + 1, sizeof(*p->next_item));
	if (!p->next_item)
		return -ENOMEM;
	for (size_t i = p->all.nr; i-- > 0;) { /* backwards, so that each row's list runs forward */
		struct entry *e = &p->all.entries[i];
		e->leaf = p->names->func_of[e->leaf];
		s64 row = row_at(p, e->group, e->leaf);
		if (row < 0)
			return (int)row;
		struct row *r = &p->rows.at[row];
		r->self += e->period;
		r->count += e->count;
		p->next_item[i] = r->first_item;
		r->first_item = (u32)i + 1;
		struct profile_totals *t = &p->totals.at[p->all.groups.at[e->group].event];
		t->period += e->period;
		t->nr_samples += e->count;
	}
	return 0;
}

static int add_item(struct profile *p, u32 tree, u32 start, u32 nr, u64 period)
{
	struct fold_item *it = vec_push(&p->items);
	if (!it)
		return -ENOMEM;
	*it = (struct fold_item){ .tree = tree, .start = start, .nr = nr, .period = period };
	return 0;
}

/* Whether each row has a tree of its own in the fold; else each group has. */
static bool own_trees(const struct profile *p)
{
	return !p->cfg.children || p->cfg.order == PROFILE_CALLEE;
}

static int entry_item(struct profile *p, const struct entry *e, const struct chain_table *chains)
{
	s64 tree = own_trees(p) ? row_at(p, e->group, e->leaf) : e->group;
	struct chain c = chains->chains[e->chain];
	return tree < 0 ? (int)tree : add_item(p, (u32)tree, c.start, c.nr, e->period);
}

/* Every function on the way gets a row, with what led to it: the chain from its innermost place outwards. */
static int caller_items(struct profile *p, const struct entry *e, const struct chain_table *chains,
			u32 *seen, u32 stamp)
{
	struct chain c = chains->chains[e->chain];
	seen[p->key_of[e->leaf]] = stamp;
	s64 row = row_at(p, e->group, e->leaf); /* made by self_rows() */
	p->rows.at[row].total += e->period;
	p->rows.at[row].depth = max(p->rows.at[row].depth, c.nr);
	for (u32 nr = c.nr; nr > 0; nr--) {
		u32 func = p->names->func_of[chains->pool[c.start + nr - 1]];
		if (seen[p->key_of[func]] == stamp)
			continue;
		seen[p->key_of[func]] = stamp;
		row = row_at(p, e->group, func);
		int err = row < 0 ? (int)row : add_item(p, (u32)row, c.start, nr, e->period);
		if (err)
			return err;
		p->rows.at[row].total += e->period;
		p->rows.at[row].depth = max(p->rows.at[row].depth, nr);
	}
	return 0;
}

static int fold_chains(struct profile *p, const struct chain_table *chains)
{
	int err = vec_reserve(&p->items, p->all.nr) ? 0 : -ENOMEM;
	for (size_t i = 0; i < p->all.nr && !err; i++)
		err = entry_item(p, &p->all.entries[i], chains);
	if (p->cfg.children && own_trees(p)) {
		u32 *seen = calloc((size_t)p->names->nr_funcs + 1, sizeof(*seen));
		for (size_t i = 0; i < p->all.nr && !err; i++)
			err = seen ? caller_items(p, &p->all.entries[i], chains, seen, (u32)i + 1)
				   : -ENOMEM;
		free(seen);
	}
	if (err)
		return err;
	u32 nr_trees = (u32)(own_trees(p) ? p->rows.nr : p->all.groups.nr);
	return fold_build(&p->fold, p->items.at, p->items.nr, nr_trees,
			  p->cfg.order == PROFILE_CALLEE, chains, p->names);
}

static bool on_path(const struct profile *p, u32 node, u32 key)
{
	const struct fold *f = &p->fold;
	for (; f->nodes[node].nr; node = f->nodes[node].parent)
		for (u32 i = f->nodes[node].nr; i-- > 0;)
			if (p->key_of[f->funcs[f->nodes[node].at + i]] == key)
				return true;
	return false;
}

/* Where a row's function is met on a walk over its group's tree, outside of itself. */
struct meeting {
	struct profile *p;
	u32 group;
	u32 *depth_of; /* [key] how often it is on the path */
	u32 *row_of; /* [key] -> row + 1 */
	int (*meet)(struct profile *p, u32 row, struct rowtree_start at);
};

static int meet_func(struct meeting *m, struct rowtree_start at, u32 func)
{
	u32 key = m->p->key_of[func];
	if (m->depth_of[key]++)
		return 0;
	if (!m->row_of[key]) {
		s64 row = row_at(m->p, m->group, func);
		if (row < 0)
			return (int)row;
		m->row_of[key] = (u32)row + 1;
	}
	return m->meet(m->p, m->row_of[key] - 1, at);
}

static void leave_node(struct meeting *m, u32 node)
{
	const struct fold *f = &m->p->fold;
	for (u32 i = 0; i < f->nodes[node].nr; i++)
		m->depth_of[m->p->key_of[f->funcs[f->nodes[node].at + i]]]--;
}

/* Nodes stand in the order of the walk. */
static int walk_tree(struct meeting *m)
{
	const struct fold *f = &m->p->fold;
	u32 root = f->root_of[m->group], path = root; /* the node that the walk is in */
	int err = 0;
	for (u32 at = root + 1; at < f->nodes[root].end && !err; at++) {
		for (; at >= f->nodes[path].end; path = f->nodes[path].parent)
			leave_node(m, path);
		path = at;
		for (u32 i = 0; i < f->nodes[at].nr && !err; i++)
			err = meet_func(m, (struct rowtree_start){ .node = at, .skip = i },
					f->funcs[f->nodes[at].at + i]);
	}
	for (; path != root && !err; path = f->nodes[path].parent)
		leave_node(m, path);
	return err;
}

static int walk_trees(struct profile *p,
		      int (*meet)(struct profile *p, u32 row, struct rowtree_start at))
{
	size_t nr = (size_t)p->names->nr_funcs + 1;
	struct meeting m = { .p = p,
			     .depth_of = calloc(nr, sizeof(*m.depth_of)),
			     .row_of = calloc(nr, sizeof(*m.row_of)),
			     .meet = meet };
	int err = m.depth_of && m.row_of ? 0 : -ENOMEM;
	for (m.group = 0; m.group < p->fold.nr_trees && !err; m.group++) {
		memset(m.row_of, 0, nr * sizeof(*m.row_of));
		err = walk_tree(&m);
	}
	free(m.depth_of);
	free(m.row_of);
	return err;
}

/* A sample counts once for each row on its path: at the place nearest to the root. */
static int count_meeting(struct profile *p, u32 row, struct rowtree_start at)
{
	struct row *r = &p->rows.at[row];
	r->total += p->fold.nodes[at.node].incl;
	r->depth = max(r->depth, p->fold.heights[at.node] - at.skip);
	r->nr_places++;
	return 0;
}

static int keep_meeting(struct profile *p, u32 row, struct rowtree_start at)
{
	struct row *r = &p->rows.at[row];
	p->places[r->first_place + r->nr_places++] = at;
	return 0;
}

/* Where each row's function is found, row by row. */
static int find_places(struct profile *p)
{
	u32 at = 0;
	vec_for_each (&p->rows, r) {
		r->first_place = at;
		at += r->nr_places;
		r->nr_places = 0;
	}
	p->nr_places = at;
	p->places = big_grow(NULL, 0, p->nr_places * sizeof(*p->places));
	return p->places ? walk_trees(p, keep_meeting) : -ENOMEM;
}

static int children_rows(struct profile *p)
{
	int err = walk_trees(p, count_meeting);
	if (!err && p->cfg.graph)
		err = find_places(p);
	/* A leaf that its own chain does not show (no chain at all, or another address on top) counts as well. */
	for (size_t i = 0; i < p->all.nr && !err; i++) {
		const struct entry *e = &p->all.entries[i];
		s64 row = row_at(p, e->group, e->leaf); /* made by self_rows() */
		if (!on_path(p, p->fold.node_of[i], p->key_of[e->leaf]))
			p->rows.at[row].total += e->period;
		p->rows.at[row].depth = max(p->rows.at[row].depth, p->items.at[i].nr);
	}
	return err;
}

int profile_fold(struct profile *p, const struct catalog *c, const struct run_tables *run,
		 const struct names_result *names)
{
	p->catalog = c;
	p->names = names;
	for (size_t i = 0; i < c->events.nr; i++)
		if (!vec_push(&p->totals))
			return -ENOMEM;
	int err = make_dsos(p);
	if (!err)
		err = make_keys(p);
	if (!err)
		err = self_rows(p);
	if (!err && (p->cfg.graph || p->cfg.children))
		err = fold_chains(p, &run->chains);
	if (!err && !own_trees(p))
		err = children_rows(p);
	return err ? err : rowtree_init(&p->graph, &p->fold, p->items.at, names);
}

/* ---- tables ---- */

struct profile_totals profile_totals(const struct profile *p, u32 event)
{
	return event < p->totals.nr ? p->totals.at[event] : (struct profile_totals){ 0 };
}

enum { COMM_TEXT = 16 };

/* The name, or ":TID" in `own`. */
static const char *comm_text(const struct profile *p, u32 comm, char own[COMM_TEXT])
{
	if (!COMM_IS_UNNAMED(comm))
		return strtab_str(&p->catalog->strings, comm);
	snprintf(own, COMM_TEXT, ":%d", COMM_TID(comm));
	return own;
}

static const char *comm_of(const struct profile *p, u32 comm, struct arena *a)
{
	char own[COMM_TEXT];
	const char *text = comm_text(p, comm, own);
	return text == own ? arena_strdup(a, own) : text;
}

/* A task is one row, whatever it was called on the way: it goes by its last name. */
static u32 last_comm(const struct profile *p, s32 tid)
{
	u32 comm = dict_get(&p->catalog->last_comm, (u32)tid);
	return comm == DICT_NONE ? COMM_UNNAMED(tid) : comm;
}

static const char *dso_of(const struct profile *p, u32 func)
{
	return strtab_str(&p->dsos, p->dso_of[p->names->funcs[func].image]);
}

static int compare_comms(const struct profile *p, u32 a, u32 b)
{
	char own[2][COMM_TEXT];
	return a == b ? 0 : strcmp(comm_text(p, a, own[0]), comm_text(p, b, own[1]));
}

static int compare_rows(const void *l, const void *r, void *ctx)
{
	const struct profile *p = ctx;
	const struct row *a = &p->rows.at[*(const u32 *)l], *b = &p->rows.at[*(const u32 *)r];
	if (p->cfg.children && a->total != b->total)
		return a->total > b->total ? -1 : 1;
	/* Of equal weight, callers stand above what they call. */
	if (p->cfg.children && p->cfg.graph && a->group == b->group && a->depth != b->depth)
		return (a->depth > b->depth) == (p->cfg.order == PROFILE_CALLER) ? -1 : 1;
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	const struct group *ga = &p->all.groups.at[a->group], *gb = &p->all.groups.at[b->group];
	for (u32 i = 0; i < p->cfg.nr_keys; i++) {
		int c = 0;
		const struct name_func *fa = &p->names->funcs[a->func],
				       *fb = &p->names->funcs[b->func];
		switch (p->cfg.keys[i]) {
		case PROFILE_KEY_COMM: c = compare_comms(p, ga->comm, gb->comm); break;
		case PROFILE_KEY_PID: c = (ga->pid > gb->pid) - (ga->pid < gb->pid); break;
		case PROFILE_KEY_CPU: c = (ga->cpu > gb->cpu) - (ga->cpu < gb->cpu); break;
		case PROFILE_KEY_DSO: c = strcmp(dso_of(p, a->func), dso_of(p, b->func)); break;
		case PROFILE_KEY_SYM:
			c = strcmp(fa->name ? fa->name : "", fb->name ? fb->name : "");
			if (!c)
				c = (fa->start > fb->start) - (fa->start < fb->start);
			break;
		default: break;
		}
		if (c)
			return c;
	}
	return 0;
}

static int add_columns(struct profile *p, struct table *t)
{
	static const struct {
		const char *name, *key;
		enum cell_type type;
	} keys[] = {
		[PROFILE_KEY_COMM] = { "Command", "comm", CELL_STR },
		[PROFILE_KEY_PID] = { "    Pid:Command", "pid", CELL_STR },
		[PROFILE_KEY_CPU] = { "CPU", "cpu", CELL_S64 },
		[PROFILE_KEY_DSO] = { "Shared Object", "dso", CELL_STR },
		[PROFILE_KEY_SYM] = { "Symbol", "symbol", CELL_STR },
	};
	bool ok = true;
	if (p->cfg.children) {
		ok = table_column(t, "Children", "children", CELL_PERCENT) && ok;
		ok = table_column(t, "Self", "self", CELL_PERCENT) && ok;
	} else {
		ok = table_column(t, "Overhead", "overhead", CELL_PERCENT) && ok;
	}
	if (p->cfg.show_count)
		ok = table_column(t, "Samples", "samples", CELL_U64) && ok;
	if (p->cfg.show_period)
		ok = table_column(t, "Period", "period", CELL_U64) && ok;
	for (u32 i = 0; i < p->cfg.nr_keys; i++)
		ok = table_column(t, keys[p->cfg.keys[i]].name, keys[p->cfg.keys[i]].key,
				  keys[p->cfg.keys[i]].type) &&
		     ok;
	if (ok)
		t->columns.at[t->columns.nr - 1].last =
			p->cfg.keys[p->cfg.nr_keys - 1] == PROFILE_KEY_SYM;
	return ok ? 0 : -ENOMEM;
}

static const char *symbol_cell(struct arena *a, const struct name_func *f)
{
	static const char letter[] = {
		[FRAME_UNKNOWN] = '.',	  [FRAME_KERNEL] = 'k',	      [FRAME_USER] = '.',
		[FRAME_HYPERVISOR] = 'H', [FRAME_GUEST_KERNEL] = 'g', [FRAME_GUEST_USER] = 'u',
		[FRAME_MARK] = '!',
	};
	struct strbuf s;
	strbuf_init(&s);
	strbuf_printf(&s, "[%c] ", letter[f->mode]);
	if (f->name)
		strbuf_str(&s, f->name);
	else
		strbuf_printf(&s, f->start ? "%#018llx" : "%016llx", (unsigned long long)f->start);
	const char *text = s.err ? NULL : arena_strndup(a, s.data, s.len);
	strbuf_done(&s);
	return text;
}

static int fill_row(struct profile *p, const struct row *r, u64 total, struct table *t)
{
	union cell *cells = table_row(t);
	if (!cells)
		return -ENOMEM;
	const struct group *g = &p->all.groups.at[r->group];
	u32 at = 0;
	double whole = total ? (double)total : 1;
	if (p->cfg.children)
		cells[at++].f = 100.0 * (double)r->total / whole;
	cells[at++].f = 100.0 * (double)r->self / whole;
	if (p->cfg.show_count)
		cells[at++].u = r->count;
	if (p->cfg.show_period)
		cells[at++].u = r->self;
	for (u32 i = 0; i < p->cfg.nr_keys; i++, at++) {
		switch (p->cfg.keys[i]) {
		case PROFILE_KEY_COMM: cells[at].str = comm_of(p, g->comm, &t->arena); break;
		case PROFILE_KEY_CPU: cells[at].s = g->cpu; break;
		case PROFILE_KEY_DSO: cells[at].str = dso_of(p, r->func); break;
		case PROFILE_KEY_SYM:
			cells[at].str = symbol_cell(&t->arena, &p->names->funcs[r->func]);
			break;
		case PROFILE_KEY_PID: {
			char *text = arena_alloc(&t->arena, 64);
			if (text)
				snprintf(text, 64, "%7d:%s", g->pid,
					 comm_of(p, last_comm(p, g->pid), &t->arena));
			cells[at].str = text;
			break;
		}
		default: break;
		}
		if (t->columns.at[at].type == CELL_STR && !cells[at].str)
			return -ENOMEM;
	}
	return 0;
}

static int row_tree(void *ctx, size_t index, struct tree *ret)
{
	struct profile *p = ctx;
	const struct row *r = &p->rows.at[p->shown.at[index]];
	struct rowtree_row row = {
		.own = own_trees(p),
		.root = p->fold.root_of[own_trees(p) ? p->shown.at[index] : r->group],
		.first_item = r->first_item,
		.next_item = p->next_item,
		.places = p->places ? p->places + r->first_place : NULL,
		.nr_places = r->nr_places,
		.total = p->cfg.children ? r->total : r->self,
	};
	if (p->cfg.fractal)
		row.share = p->cfg.min_percent / 100;
	else
		row.min = (u64)((double)p->shown_total * (p->cfg.min_percent / 100));
	int err = rowtree_build(&p->graph, &row, ret);
	if (err)
		return err;
	ret->own_first = ret->first_root != TREE_NONE && p->graph.first_func == r->func;
	return 0;
}

int profile_table(struct profile *p, u32 event, struct table *t)
{
	int err = add_columns(p, t);
	if (err)
		return err;
	p->shown.nr = 0;
	p->shown_total = profile_totals(p, event).period;
	for (u32 i = 0; i < p->rows.nr; i++) {
		if (p->all.groups.at[p->rows.at[i].group].event != event)
			continue;
		u32 *shown = vec_push(&p->shown);
		if (!shown)
			return -ENOMEM;
		*shown = i;
	}
	if (p->shown.nr)
		qsort_r(p->shown.at, p->shown.nr, sizeof(*p->shown.at), compare_rows, p);
	for (size_t i = 0; i < p->shown.nr && !err; i++)
		err = fill_row(p, &p->rows.at[p->shown.at[i]], p->shown_total, t);
	t->total = p->shown_total;
	if (p->cfg.graph) {
		t->tree_of = row_tree;
		t->ctx = p;
	}
	return err;
}
