/*
 * Rows and call graphs of random samples, against perf's rules carried out one sample at a time:
 *
 *  - a sample's period is `self` of its leaf's row; with children it is also `total` of every row on its chain, once each;
 *  - without children a row's graph holds the chains of its samples, from the leaf or (caller) from the root on;
 *  - with children it holds the whole chain of samples that end in the row, and of the others what lies below its outermost place
 *    (caller), or above its innermost one (callee);
 *  - sorted by task, a task is one row however often it was renamed, under its last name;
 *  - a graph joins chains function by function; a node runs on while nothing ends and nothing branches off; branches under the
 *    limit are left out.
 *
 * However many workers fold them.
 */
#include "analysis/profile.h"
#include "base/dict.h"
#include "tap.h"

#include <stdio.h>

enum { FUNCS = 14, FRAMES = 2 * FUNCS, DEPTH = 10, SAMPLES = 120, SHARDS = 3, IMAGES = 4 };

static u64 seed = 88172645463325252ull;
static u64 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct one {
	u32 event, comm;
	s32 tid, cpu;
	u32 leaf; /* function */
	u32 chain[DEPTH], nr;
	u64 period;
};

/* ---- the plain way ---- */

struct trie {
	u32 func;
	u64 weight, ending;
	struct trie *child[FUNCS + 1];
};

struct want_row {
	u32 event, comm;
	s32 tid, cpu;
	u32 func; /* the row's name: any of its functions */
	u64 self, total, count;
	struct trie *tree;
};

struct world {
	struct catalog cat;
	struct name_func funcs[FUNCS + 1];
	u32 func_of[FRAMES + 1];
	struct one samples[SAMPLES];
	u32 nr, nr_events;
	struct want_row rows[SAMPLES * (DEPTH + 1)];
	u32 nr_rows;
	struct profile_config cfg;
};

static struct trie *trie_new(u32 func)
{
	struct trie *t = calloc(1, sizeof(*t));
	t->func = func;
	return t;
}

static void trie_free(struct trie *t)
{
	for (u32 i = 0; t && i <= FUNCS; i++)
		trie_free(t->child[i]);
	free(t);
}

static void trie_add(struct trie *t, const u32 *funcs, u32 nr, bool reverse, u64 period)
{
	if (!nr)
		return;
	for (u32 i = 0; i < nr; i++) {
		u32 f = funcs[reverse ? nr - 1 - i : i];
		if (!t->child[f])
			t->child[f] = trie_new(f);
		t = t->child[f];
		t->weight += period;
	}
	t->ending += period;
}

static bool has_key(const struct world *w, enum profile_key k)
{
	for (u32 i = 0; i < w->cfg.nr_keys; i++)
		if (w->cfg.keys[i] == k)
			return true;
	return false;
}

/* What a row shows of a function. */
static bool same_place(const struct world *w, u32 a, u32 b)
{
	const struct name_func *l = &w->funcs[a], *r = &w->funcs[b];
	bool sym = has_key(w, PROFILE_KEY_SYM), dso = has_key(w, PROFILE_KEY_DSO);
	if ((sym || dso) && strcmp(w->cat.images.at[l->image].name, w->cat.images.at[r->image].name))
		return false;
	return !sym || (l->start == r->start && !l->name == !r->name);
}

static struct want_row *want_row(struct world *w, const struct one *s, u32 func)
{
	bool pid = has_key(w, PROFILE_KEY_PID);
	bool comm = has_key(w, PROFILE_KEY_COMM), cpu = has_key(w, PROFILE_KEY_CPU);
	for (u32 i = 0; i < w->nr_rows; i++) {
		struct want_row *r = &w->rows[i];
		if (r->event == s->event && (!comm || r->comm == s->comm) &&
		    (!pid || r->tid == s->tid) && (!cpu || r->cpu == s->cpu) &&
		    same_place(w, r->func, func))
			return r;
	}
	struct want_row *r = &w->rows[w->nr_rows++];
	*r = (struct want_row){ .event = s->event,
				.comm = s->comm,
				.tid = s->tid,
				.cpu = s->cpu,
				.func = func,
				.tree = trie_new(0) };
	return r;
}

static void carry_out(struct world *w)
{
	w->nr_rows = 0;
	for (u32 i = 0; i < w->nr; i++) {
		const struct one *s = &w->samples[i];
		struct want_row *own = want_row(w, s, s->leaf);
		own->self += s->period;
		own->total += s->period;
		own->count++;
		if (!w->cfg.children) {
			trie_add(own->tree, s->chain, s->nr, w->cfg.order == PROFILE_CALLEE,
				 s->period);
			continue;
		}
		bool callee = w->cfg.order == PROFILE_CALLEE;
		trie_add(own->tree, s->chain, s->nr, callee, s->period);
		struct want_row *done[DEPTH + 1] = { own };
		u32 nr_done = 1;
		for (u32 i2 = 0; i2 < s->nr; i2++) {
			u32 k = callee ? s->nr - 1 - i2 : i2;
			struct want_row *r = want_row(w, s, s->chain[k]);
			bool again = false;
			for (u32 d = 0; d < nr_done; d++)
				again |= done[d] == r;
			if (again)
				continue;
			done[nr_done++] = r;
			r->total += s->period;
			trie_add(r->tree, callee ? s->chain : s->chain + k,
				 callee ? k + 1 : s->nr - k, callee, s->period);
		}
	}
}

/* ---- both as text ---- */

static void label(struct strbuf *to, const struct name_func *f)
{
	if (f->name)
		strbuf_str(to, f->name);
	else
		strbuf_printf(to, "%#llx", (unsigned long long)f->start);
}

static void trie_text(const struct world *w, const struct trie *t, u32 depth, u64 least,
		      struct strbuf *to)
{
	const struct trie *order[FUNCS + 1];
	u32 nr = 0;
	for (u32 i = 0; i <= FUNCS; i++) {
		const struct trie *c = t->child[i];
		if (!c || c->weight < least || !c->weight)
			continue;
		u32 at = nr++;
		const struct name_func *f = &w->funcs[c->func];
		for (; at > 0; at--) {
			const struct name_func *g = &w->funcs[order[at - 1]->func];
			bool before = c->weight != order[at - 1]->weight
					      ? c->weight > order[at - 1]->weight
				      : f->image != g->image ? f->image < g->image
							     : f->start > g->start;
			if (!before)
				break;
			order[at] = order[at - 1];
		}
		order[at] = c;
	}
	for (u32 i = 0; i < nr; i++) {
		const struct trie *c = order[i];
		strbuf_printf(to, "%*s%llu", depth, "", (unsigned long long)c->weight);
		for (;;) {
			strbuf_char(to, ' ');
			label(to, &w->funcs[c->func]);
			const struct trie *only = NULL;
			u32 branches = 0;
			for (u32 k = 0; k <= FUNCS; k++)
				if (c->child[k]) {
					only = c->child[k];
					branches++;
				}
			if (c->ending || branches != 1 || only->weight < least)
				break;
			c = only;
		}
		strbuf_char(to, '\n');
		trie_text(w, c, depth + 1, least, to);
	}
}

static void tree_text(const struct tree *t, u32 first, u32 depth, struct strbuf *to)
{
	for (u32 at = first; at != TREE_NONE; at = t->nodes.at[at].next) {
		const struct tree_node *n = &t->nodes.at[at];
		strbuf_printf(to, "%*s%llu", depth, "", (unsigned long long)n->total);
		for (u32 i = 0; i < n->nr_labels; i++)
			strbuf_printf(to, " %s", t->labels.at[n->first_label + i]);
		strbuf_char(to, '\n');
		tree_text(t, n->first_child, depth + 1, to);
	}
}

static void place_text(const struct world *w, enum profile_key key, const struct want_row *r,
		       struct strbuf *to)
{
	const struct name_func *f = &w->funcs[r->func];
	switch (key) {
	case PROFILE_KEY_COMM: strbuf_str(to, strtab_str(&w->cat.strings, r->comm)); break;
	case PROFILE_KEY_PID:
		strbuf_printf(to, r->tid == 2 ? "%7d::2" : "%7d:last%d", r->tid, r->tid);
		break;
	case PROFILE_KEY_CPU: strbuf_printf(to, "%d", r->cpu); break;
	case PROFILE_KEY_DSO: strbuf_str(to, w->cat.images.at[f->image].name); break;
	default:
		strbuf_printf(to, "[%c] ", f->mode == FRAME_KERNEL ? 'k' : '.');
		if (f->name)
			strbuf_str(to, f->name);
		else
			strbuf_printf(to, "0x%016llx", (unsigned long long)f->start);
	}
	strbuf_char(to, ';');
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct texts {
	VEC(char *) rows;
};

static void texts_add(struct texts *t, struct strbuf *s)
{
	*vec_push(&t->rows) = strbuf_steal(s);
	strbuf_init(s);
}

static void texts_done(struct texts *t)
{
	vec_for_each (&t->rows, r)
		free(*r);
	vec_free(&t->rows);
}

static u64 event_total(const struct world *w, u32 event)
{
	u64 sum = 0;
	for (u32 i = 0; i < w->nr; i++)
		sum += w->samples[i].event == event ? w->samples[i].period : 0;
	return sum;
}

static void want_texts(const struct world *w, u32 event, struct texts *to)
{
	u64 total = event_total(w, event), least = (u64)((double)total * (w->cfg.min_percent / 100));
	struct strbuf s;
	strbuf_init(&s);
	for (u32 i = 0; i < w->nr_rows; i++) {
		const struct want_row *r = &w->rows[i];
		if (r->event != event)
			continue;
		for (u32 k = 0; k < w->cfg.nr_keys; k++)
			place_text(w, w->cfg.keys[k], r, &s);
		double whole = total ? (double)total : 1;
		if (w->cfg.children)
			strbuf_printf(&s, " %.17g", 100.0 * (double)r->total / whole);
		strbuf_printf(&s, " %.17g %llu\n", 100.0 * (double)r->self / whole,
			      (unsigned long long)r->count);
		if (w->cfg.graph)
			trie_text(w, r->tree, 0, least, &s);
		texts_add(to, &s);
	}
	strbuf_done(&s);
	if (to->rows.nr)
		qsort(to->rows.at, to->rows.nr, sizeof(char *), by_text);
}

static bool have_texts(struct profile *p, const struct world *w, u32 event, struct texts *to)
{
	struct table t;
	struct tree graph;
	struct strbuf s;
	bool good = true;
	table_init(&t);
	tree_init(&graph);
	strbuf_init(&s);
	if (profile_table(p, event, &t))
		abort();
	double before = 200;
	u32 first_key = w->cfg.children ? 3 : 2; /* children, self, samples */
	for (size_t row = 0; row < t.nr_rows; row++) {
		const union cell *c = table_cells(&t, row);
		good &= c[0].f <= before; /* heaviest first */
		before = c[0].f;
		for (size_t i = first_key; i < t.columns.nr; i++) {
			if (t.columns.at[i].type == CELL_S64)
				strbuf_printf(&s, "%lld;", (long long)c[i].s);
			else
				strbuf_printf(&s, "%s;", c[i].str);
		}
		if (w->cfg.children)
			strbuf_printf(&s, " %.17g", c[0].f);
		strbuf_printf(&s, " %.17g %llu\n", c[first_key - 2].f,
			      (unsigned long long)c[first_key - 1].u);
		if (t.tree_of) {
			if (t.tree_of(t.ctx, row, &graph))
				abort();
			tree_text(&graph, graph.first_root, 0, &s);
		}
		texts_add(to, &s);
	}
	strbuf_done(&s);
	tree_done(&graph);
	table_done(&t);
	if (to->rows.nr)
		qsort(to->rows.at, to->rows.nr, sizeof(char *), by_text);
	return good;
}

/* ---- random worlds ---- */

static void make_names(struct world *w)
{
	static const char *const images[IMAGES] = { NULL, "one.so", "two.so", "one.so" };
	static char names[FUNCS + 1][16];
	if (catalog_init(&w->cat))
		abort();
	for (u32 i = 1; i < IMAGES; i++)
		vec_push(&w->cat.images)->name = images[i];
	for (u32 i = 0; i < 2; i++)
		vec_push(&w->cat.events)->name = "event";
	for (u32 i = 1; i <= FUNCS; i++) {
		/* two functions at the same place of two images of one name, one with the name of another, some without */
		u32 image = (u32)(rnd() % IMAGES);
		snprintf(names[i], sizeof(names[i]), "f%u", i == 5 ? 4 : i);
		w->funcs[i] = (struct name_func){ .name = rnd() % 6 && image ? names[i] : NULL,
						  .start = 0x1000 * i,
						  .image = image,
						  .mode = rnd() % 4 ? FRAME_USER : FRAME_KERNEL };
	}
	for (u32 i = 1; i <= FRAMES; i++)
		w->func_of[i] = (i + 1) / 2;
	w->funcs[0].image = IMAGE_NONE;
}

static void make_samples(struct world *w)
{
	u32 funcs = 1 + (u32)(rnd() % FUNCS), comms = 1 + (u32)(rnd() % 3),
	    deep = 1 + (u32)(rnd() % DEPTH);
	s64 comm[3];
	for (u32 i = 0; i < 3; i++)
		comm[i] = strtab_add(&w->cat.strings, &"abc"[i], 1);
	for (u32 i = 0; i < 2; i++) { /* task 2 has no name */
		u32 have;
		if (dict_add(&w->cat.last_comm, i,
			     (u32)strtab_add(&w->cat.strings, i ? "last1" : "last0", 5), &have))
			abort();
	}
	w->nr_events = 1 + (u32)(rnd() % 2);
	w->nr = (u32)(rnd() % SAMPLES);
	for (u32 i = 0; i < w->nr; i++) {
		struct one *s = &w->samples[i];
		*s = (struct one){ .event = (u32)(rnd() % w->nr_events),
				   .comm = (u32)comm[rnd() % comms],
				   .tid = (s32)(rnd() % 3),
				   .cpu = (s32)(rnd() % 2),
				   .period = rnd() % 8 ? 1 + rnd() % 1000 : 1 };
		s->nr = (u32)(rnd() % (deep + 1));
		for (u32 k = 0; k < s->nr; k++)
			s->chain[k] = k && !(rnd() % 3) ? s->chain[k - 1]
							: 1 + (u32)(rnd() % funcs); /* recursion */
		/* mostly the innermost of the chain, sometimes not */
		s->leaf = s->nr && rnd() % 8 ? s->chain[s->nr - 1] : 1 + (u32)(rnd() % funcs);
	}
}

static void make_config(struct profile_config *c)
{
	static const enum profile_key sets[][4] = {
		{ PROFILE_KEY_COMM, PROFILE_KEY_DSO, PROFILE_KEY_SYM },
		{ PROFILE_KEY_SYM },
		{ PROFILE_KEY_DSO },
		{ PROFILE_KEY_COMM },
		{ PROFILE_KEY_PID, PROFILE_KEY_SYM },
		{ PROFILE_KEY_CPU, PROFILE_KEY_DSO, PROFILE_KEY_SYM },
		{ PROFILE_KEY_CPU },
	};
	static const u32 lens[] = { 3, 1, 1, 1, 2, 3, 1 };
	static const double limits[] = { 0, 0.5, 5, 20 };
	u32 set = (u32)(rnd() % ARRAY_SIZE(lens));
	*c = (struct profile_config){ .nr_keys = lens[set],
				      .children = rnd() % 2,
				      .graph = rnd() % 8 != 0,
				      .show_count = true,
				      .min_percent = limits[rnd() % 4] };
	memcpy(c->keys, sets[set], sizeof(sets[set]));
	c->order = rnd() % 2 ? PROFILE_CALLER : PROFILE_CALLEE;
	/* Mostly one: threads take longer to start than these profiles to make. */
	static const unsigned workers[] = { 1, 1, 1, 1, 1, 2, 3, 7 };
	c->workers = workers[rnd() % ARRAY_SIZE(workers)];
	c->worker_least = 1;
}

static u32 frame_in(struct shard *sh, const struct world *w, u32 func)
{
	/* one of the function's two addresses */
	const struct name_func *f = &w->funcs[func];
	return (u32)frame_table_add(&sh->frames, (struct frame){ .offset = f->start + rnd() % 2,
								 .image = f->image,
								 .mode = f->mode });
}

/* A chain's key is made of its functions here, so that it is the same in every shard. */
static u32 chain_in(struct shard *sh, const struct one *o, const u32 *frames)
{
	u64 key = hash_bytes(o->chain, o->nr * sizeof(*o->chain));
	u32 have = chain_table_find(&sh->chains, key);
	return have ? have : (u32)chain_table_put(&sh->chains, key, frames, o->nr);
}

static void feed(struct profile *p, const struct world *w, struct run_tables *run, u32 *func_of)
{
	struct sink *k = profile_sink(p);
	struct shard shards[SHARDS] = { 0 };
	void *state[SHARDS];
	for (u32 i = 0; i < SHARDS; i++)
		if (frame_table_init(&shards[i].frames) || chain_table_init(&shards[i].chains) ||
		    k->ops->shard_new(k, i, &shards[i], &state[i]))
			abort();
	for (u32 i = 0; i < w->nr; i++) {
		const struct one *o = &w->samples[i];
		u32 at = (u32)(rnd() % SHARDS), frames[DEPTH];
		struct shard *sh = &shards[at];
		for (u32 d = 0; d < o->nr; d++)
			frames[d] = frame_in(sh, w, o->chain[d]);
		struct sample s = { .event = o->event,
				    .comm = o->comm,
				    .tid = o->tid,
				    .pid = o->tid,
				    .cpu = o->cpu,
				    .period = o->period,
				    .leaf = frame_in(sh, w, o->leaf),
				    .chain = chain_in(sh, o, frames) };
		if (k->ops->feed(k, state[at], &(struct batch){ .samples = &s, .nr = 1 }))
			abort();
	}
	struct sink_part parts[SHARDS] = { 0 };
	struct chain_part chains[SHARDS] = { 0 };
	u32 *map_frame[SHARDS] = { 0 };
	run->frames = shards[0].frames;
	for (u32 i = 1; i < SHARDS; i++)
		if (frame_table_merge(&run->frames, &shards[i].frames, &map_frame[i]))
			abort();
	for (u32 i = 0; i < SHARDS; i++)
		chains[i] =
			(struct chain_part){ .from = &shards[i].chains, .map_frame = map_frame[i] };
	/* Chains that are in two shards may stay two. */
	bool apart = rnd() % 2;
	if (apart ? chain_tables_join(&run->chains, chains, SHARDS, w->cfg.workers)
		  : chain_tables_merge(&run->chains, chains, SHARDS, w->cfg.workers))
		abort();
	for (u32 i = 0; i < SHARDS; i++)
		parts[i] = (struct sink_part){ .state = state[i],
					       .map_frame = map_frame[i],
					       .map_chain = chains[i].map_chain,
					       .apart = apart };
	if (k->ops->merge(k, parts, SHARDS, w->cfg.workers))
		abort();
	for (u32 i = 0; i < SHARDS; i++) {
		free(map_frame[i]);
		free(chains[i].map_chain);
		chain_table_done(&shards[i].chains);
		if (i)
			frame_table_done(&shards[i].frames);
	}
	for (u32 i = 0; i < SHARDS; i++)
		k->ops->shard_free(k, state[i]);
	for (u32 i = 1; i < run->frames.nr; i++)
		func_of[i] = (u32)(run->frames.frames[i].offset / 0x1000);
}

static void make_config_text(const struct world *w)
{
	printf("# keys");
	for (u32 i = 0; i < w->cfg.nr_keys; i++)
		printf(" %d", w->cfg.keys[i]);
	printf(", children %d, graph %d, order %d, limit %g, %u samples, %u workers\n",
	       w->cfg.children, w->cfg.graph, w->cfg.order, w->cfg.min_percent, w->nr,
	       w->cfg.workers);
}

static bool one_round(struct world *w)
{
	make_names(w);
	make_samples(w);
	make_config(&w->cfg);
	carry_out(w);
	struct profile *p = profile_new(&w->cfg);
	struct run_tables run = { 0 };
	u32 func_of[FRAMES + 2] = { 0 };
	struct names_result names = { .func_of = func_of, .funcs = w->funcs, .nr_funcs = FUNCS + 1 };
	feed(p, w, &run, func_of);
	if (profile_fold(p, &w->cat, &run, &names))
		abort();
	bool good = true;
	for (u32 e = 0; e < w->nr_events && good; e++) {
		struct texts want = { 0 }, have = { 0 };
		want_texts(w, e, &want);
		good = have_texts(p, w, e, &have) && want.rows.nr == have.rows.nr &&
		       profile_totals(p, e).period == event_total(w, e);
		if (!good)
			printf("# %zu rows, want %zu, or not in order\n", have.rows.nr,
			       want.rows.nr);
		for (size_t i = 0; i < want.rows.nr && good; i++) {
			good = !strcmp(want.rows.at[i], have.rows.at[i]);
			if (!good)
				printf("# want %s\n# have %s\n", want.rows.at[i], have.rows.at[i]);
		}
		texts_done(&want);
		texts_done(&have);
	}
	if (!good)
		make_config_text(w);
	profile_free(p);
	run_tables_done(&run);
	for (u32 i = 0; i < w->nr_rows; i++)
		trie_free(w->rows[i].tree);
	catalog_done(&w->cat);
	return good;
}

int main(void)
{
	enum { ROUNDS = 6000 };
	static struct world w;
	bool good = true;
	u32 round = 0;
	for (; round < ROUNDS && good; round++)
		good = one_round(&w);
	ok(good, "%u random profiles are what perf's rules say", round);
	return done_testing();
}
