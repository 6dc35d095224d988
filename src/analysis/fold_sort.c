#include "analysis/fold_impl.h"
#include "base/par.h"

#include <errno.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 64 / DIGIT_BITS, DIGIT_VALUES = 1 << DIGIT_BITS, FEW = 48 };
/* Of a range that is too large for one worker. */
enum { SPLIT_BITS = 12, SPLIT_VALUES = 1 << SPLIT_BITS };

/* Parts that are alike in their first `words` words. */
struct fold_sort_range {
	u32 lo, hi;
	u32 words;
	bool has_word; /* part.word is that of this range already */
};

/* One worker's, for ranges that are its own. */
struct sorter {
	u32 count[DIGITS][DIGIT_VALUES];
	VEC(struct fold_sort_range) ranges; /* still to be sorted */
};

/* A range that workers cut together. */
struct split {
	struct fold_sort_range r;
	u32 shift;
	u32 first_chunk, nr_chunks;
	bool same; /* all are alike in this word */
};

/* What one worker takes of it. */
struct chunk {
	u32 split;
	u32 lo, hi;
	u64 differ; /* bits in which its words are not those of the range's first part */
	u32 count[SPLIT_VALUES];
};

struct sorting {
	struct builder *b;
	u32 limit; /* larger ranges are split */
	VEC(struct fold_sort_range) large, small; /* still to be split; to be sorted */
	VEC(struct split) splits; /* those that are split now, at once */
	VEC(struct chunk) chunks; /* of all of them */
	VEC(u32) seams; /* parts whose common is not known: a split follows them */
	struct sorter *sorters; /* [worker] */
	u32 *tree_count; /* [chunk][tree] */
};

static u64 word_at(const struct builder *b, const struct part *p, u32 words)
{
	u32 depth = words * b->per_word, end = min(p->nr, depth + b->per_word);
	u32 shift = 64;
	u64 word = 0;
	for (; depth < end; depth++) {
		shift -= b->bits;
		word |= (u64)(func_at(b, p, depth) + 1) << shift;
	}
	return word;
}

/* The words of parts [lo, hi). */
static void find_words(const struct builder *b, struct fold_sort_range r, u32 lo, u32 hi)
{
	enum { AHEAD = 8 };
	for (u32 i = lo; i < hi && !r.has_word; i++) {
		if (i + AHEAD < hi)
			fetch_func(b, &b->parts[i + AHEAD], r.words * b->per_word);
		b->parts[i].word = word_at(b, &b->parts[i], r.words);
	}
}

/* ---- one worker's range ---- */

static void sort_few(struct part *p, u32 nr)
{
	for (u32 i = 1; i < nr; i++) {
		struct part x = p[i];
		u32 at = i;
		for (; at > 0 && p[at - 1].word > x.word; at--)
			p[at] = p[at - 1];
		p[at] = x;
	}
}

/* Digit by digit from the lowest; digits in which all are alike are left out. */
static void sort_many(struct builder *b, struct sorter *s, u32 lo, u32 nr)
{
	struct part *from = b->parts + lo, *to = b->spare + lo;
	u64 differ = 0;
	memset(s->count, 0, sizeof(s->count));
	for (u32 i = 0; i < nr; i++) {
		u64 word = from[i].word;
		differ |= word ^ from[0].word;
		for (u32 d = 0; d < DIGITS; d++, word >>= DIGIT_BITS)
			s->count[d][word % DIGIT_VALUES]++;
	}
	for (u32 d = 0; d < DIGITS; d++) {
		u32 shift = d * DIGIT_BITS, *count = s->count[d];
		if (!(differ >> shift & (DIGIT_VALUES - 1)))
			continue;
		for (u32 v = 0, at = 0; v < DIGIT_VALUES; v++) {
			u32 here = count[v];
			count[v] = at;
			at += here;
		}
		for (u32 i = 0; i < nr; i++)
			to[count[from[i].word >> shift & (DIGIT_VALUES - 1)]++] = from[i];
		struct part *swap = from;
		from = to;
		to = swap;
	}
	if (from != b->parts + lo)
		memcpy(b->parts + lo, from, nr * sizeof(*from));
}

/* Sorts by one word, says what neighbours that differ in it have in common, and leaves those that do not for the next word. */
static int sort_range(struct builder *b, struct sorter *s, struct fold_sort_range r)
{
	find_words(b, r, r.lo, r.hi);
	if (r.hi - r.lo <= FEW)
		sort_few(b->parts + r.lo, r.hi - r.lo);
	else
		sort_many(b, s, r.lo, r.hi - r.lo);
	for (u32 lo = r.lo, hi; lo < r.hi; lo = hi) {
		const struct part *first = &b->parts[lo];
		for (hi = lo + 1; hi < r.hi && b->parts[hi].word == first->word; hi++)
			b->common[hi - 1] = first->nr; /* if they end in this word */
		if (hi < r.hi)
			b->common[hi - 1] =
				r.words * b->per_word +
				(u32)__builtin_clzll(first->word ^ b->parts[hi].word) / b->bits;
		if (hi - lo == 1 || first->nr < (r.words + 1) * b->per_word)
			continue;
		struct fold_sort_range *more = vec_push(&s->ranges);
		if (!more)
			return -ENOMEM;
		*more = (struct fold_sort_range){ .lo = lo, .hi = hi, .words = r.words + 1 };
	}
	return 0;
}

static int sort_small(void *ctx, unsigned worker, u32 index)
{
	struct sorting *g = ctx;
	struct sorter *s = &g->sorters[worker];
	int err = sort_range(g->b, s, g->small.at[index]);
	while (s->ranges.nr && !err)
		err = sort_range(g->b, s, s->ranges.at[--s->ranges.nr]);
	return err;
}

/* ---- ranges that are too large for one worker: by some bits of the word, on all of them ---- */

static int add_range(struct sorting *g, struct fold_sort_range r)
{
	if (r.hi - r.lo < 2)
		return 0;
	struct fold_sort_range *to =
		r.hi - r.lo > g->limit ? vec_push(&g->large) : vec_push(&g->small);
	if (!to)
		return -ENOMEM;
	*to = r;
	return 0;
}

static int split_words(void *ctx, unsigned worker, u32 index)
{
	struct sorting *g = ctx;
	const struct builder *b = g->b;
	struct chunk *c = &g->chunks.at[index];
	struct fold_sort_range r = g->splits.at[c->split].r;
	u64 first = word_at(b, &b->parts[r.lo], r.words), differ = 0;
	find_words(b, r, c->lo, c->hi);
	for (u32 i = c->lo; i < c->hi; i++)
		differ |= b->parts[i].word ^ first;
	c->differ = differ;
	return 0;
}

static u32 split_value(const struct part *p, u32 shift)
{
	return p->word >> shift & (SPLIT_VALUES - 1);
}

static int split_count(void *ctx, unsigned worker, u32 index)
{
	struct sorting *g = ctx;
	struct chunk *c = &g->chunks.at[index];
	u32 shift = g->splits.at[c->split].shift;
	if (g->splits.at[c->split].same)
		return 0;
	memset(c->count, 0, sizeof(c->count));
	for (u32 i = c->lo; i < c->hi; i++)
		c->count[split_value(&g->b->parts[i], shift)]++;
	return 0;
}

static int split_deal(void *ctx, unsigned worker, u32 index)
{
	struct sorting *g = ctx;
	struct chunk *c = &g->chunks.at[index];
	u32 shift = g->splits.at[c->split].shift;
	if (g->splits.at[c->split].same)
		return 0;
	for (u32 i = c->lo; i < c->hi; i++)
		g->b->spare[c->count[split_value(&g->b->parts[i], shift)]++] = g->b->parts[i];
	return 0;
}

static int split_back(void *ctx, unsigned worker, u32 index)
{
	struct sorting *g = ctx;
	const struct chunk *c = &g->chunks.at[index];
	if (!g->splits.at[c->split].same)
		memcpy(g->b->parts + c->lo, g->b->spare + c->lo,
		       (c->hi - c->lo) * sizeof(*g->b->parts));
	return 0;
}

/* Counts become places; each value's parts are a range. */
static int split_places(struct sorting *g, const struct split *s)
{
	struct chunk *chunks = &g->chunks.at[s->first_chunk];
	u32 at = s->r.lo;
	for (u32 v = 0; v < SPLIT_VALUES; v++) {
		u32 lo = at;
		for (u32 c = 0; c < s->nr_chunks; c++) {
			u32 here = chunks[c].count[v];
			chunks[c].count[v] = at;
			at += here;
		}
		if (at == lo)
			continue;
		u32 *seam = at < s->r.hi ? vec_push(&g->seams) : NULL;
		if (at < s->r.hi && !seam)
			return -ENOMEM;
		if (seam)
			*seam = at - 1;
		int err = add_range(
			g, (struct fold_sort_range){
				   .lo = lo, .hi = at, .words = s->r.words, .has_word = true });
		if (err)
			return err;
	}
	return 0;
}

/* All of its chains are alike in this word. */
static int same_word(struct sorting *g, struct fold_sort_range r)
{
	const struct builder *b = g->b;
	u32 nr = b->parts[r.lo].nr;
	if (nr >= (r.words + 1) * b->per_word)
		return add_range(
			g, (struct fold_sort_range){ .lo = r.lo, .hi = r.hi, .words = r.words + 1 });
	for (u32 i = r.lo; i + 1 < r.hi; i++)
		b->common[i] = nr;
	return 0;
}

/* Cuts a range into chunks of about this size. */
static int add_split(struct sorting *g, struct fold_sort_range r, u32 size)
{
	struct split *s = vec_push(&g->splits);
	if (!s)
		return -ENOMEM;
	*s = (struct split){ .r = r,
			     .first_chunk = (u32)g->chunks.nr,
			     .nr_chunks = (r.hi - r.lo + size - 1) / size };
	if (!vec_reserve(&g->chunks, g->chunks.nr + s->nr_chunks))
		return -ENOMEM;
	for (u32 i = 0; i < s->nr_chunks; i++) {
		struct par_span span = par_span(r.hi - r.lo, s->nr_chunks, i);
		struct chunk *c = &g->chunks.at[g->chunks.nr++];
		c->split = (u32)g->splits.nr - 1;
		c->lo = r.lo + (u32)span.lo;
		c->hi = r.lo + (u32)span.hi;
	}
	return 0;
}

/* All ranges that are large become splits. */
static int add_splits(struct sorting *g)
{
	enum { CHUNKS = 2 }; /* for each worker, about */
	u64 all = 0;
	vec_for_each (&g->large, r)
		all += r->hi - r->lo;
	u32 size = (u32)(all / (g->b->workers * CHUNKS)) + 1;
	g->splits.nr = g->chunks.nr = 0;
	int err = 0;
	for (size_t i = 0; i < g->large.nr && !err; i++)
		err = add_split(g, g->large.at[i], size);
	g->large.nr = 0;
	return err;
}

static void find_shift(struct sorting *g, struct split *s)
{
	u64 differ = 0;
	for (u32 i = 0; i < s->nr_chunks; i++)
		differ |= g->chunks.at[s->first_chunk + i].differ;
	u32 top = differ ? 64 - (u32)__builtin_clzll(differ) : 0;
	s->same = !differ;
	s->shift = top > SPLIT_BITS ? top - SPLIT_BITS : 0;
}

static int split_ranges(struct sorting *g)
{
	unsigned workers = g->b->workers;
	int err = add_splits(g);
	u32 nr = (u32)g->chunks.nr;
	if (!err)
		err = par_each(workers, nr, split_words, g);
	if (!err)
		vec_for_each (&g->splits, s)
			find_shift(g, s);
	if (!err)
		err = par_each(workers, nr, split_count, g);
	for (size_t i = 0; i < g->splits.nr && !err; i++) {
		const struct split *s = &g->splits.at[i];
		err = s->same ? same_word(g, s->r) : split_places(g, s);
	}
	if (!err)
		err = par_each(workers, nr, split_deal, g);
	return err ? err : par_each(workers, nr, split_back, g);
}

static void close_seams(const struct sorting *g)
{
	const struct builder *b = g->b;
	vec_for_each (&g->seams, at) {
		const struct part *l = &b->parts[*at], *r = &b->parts[*at + 1];
		u32 depth = 0, end = min(l->nr, r->nr);
		while (depth < end && func_at(b, l, depth) == func_at(b, r, depth))
			depth++;
		b->common[*at] = depth;
	}
}

/* ---- items by tree ---- */

static int count_trees(void *ctx, unsigned worker, u32 chunk)
{
	struct sorting *g = ctx;
	struct par_span s = par_span(g->b->nr, g->b->workers, chunk);
	u32 *count = g->tree_count + (size_t)chunk * g->b->fold->nr_trees;
	for (u64 i = s.lo; i < s.hi; i++)
		count[g->b->items[i].tree]++;
	return 0;
}

static int deal_trees(void *ctx, unsigned worker, u32 chunk)
{
	struct sorting *g = ctx;
	struct par_span s = par_span(g->b->nr, g->b->workers, chunk);
	u32 *at = g->tree_count + (size_t)chunk * g->b->fold->nr_trees;
	for (u64 i = s.lo; i < s.hi; i++) {
		const struct fold_item *it = &g->b->items[i];
		g->b->parts[at[it->tree]++] =
			(struct part){ .item = (u32)i, .start = it->start, .nr = it->nr };
	}
	return 0;
}

static int sort_by_tree(struct sorting *g)
{
	struct builder *b = g->b;
	u32 nr_trees = b->fold->nr_trees, at = 0;
	int err = par_each(b->workers, b->workers, count_trees, g);
	for (u32 t = 0; t < nr_trees && !err; t++) {
		b->starts[t] = at;
		for (u32 c = 0; c < b->workers; c++) {
			u32 *count = &g->tree_count[(size_t)c * nr_trees + t], here = *count;
			*count = at;
			at += here;
		}
	}
	b->starts[nr_trees] = at;
	return err ? err : par_each(b->workers, b->workers, deal_trees, g);
}

/* ---- */

static int sort_all(struct sorting *g)
{
	struct builder *b = g->b;
	int err = sort_by_tree(g);
	for (u32 t = 0; t < b->fold->nr_trees && !err; t++)
		err = add_range(
			g, (struct fold_sort_range){ .lo = b->starts[t], .hi = b->starts[t + 1] });
	while (g->large.nr && !err)
		err = split_ranges(g);
	if (!err)
		err = par_each(b->workers, (u32)g->small.nr, sort_small, g);
	if (!err)
		close_seams(g);
	return err;
}

int fold_sort(struct builder *b)
{
	enum { RANGES = 8 }; /* for each worker, at least */
	struct sorting g = { .b = b, .limit = UINT32_MAX };
	if (b->workers > 1)
		g.limit = (u32)(b->nr / b->workers / RANGES);
	g.sorters = calloc(b->workers, sizeof(*g.sorters));
	g.tree_count = calloc((size_t)b->workers * b->fold->nr_trees + 1, sizeof(*g.tree_count));
	int err = g.sorters && g.tree_count ? sort_all(&g) : -ENOMEM;
	for (unsigned i = 0; g.sorters && i < b->workers; i++)
		vec_free(&g.sorters[i].ranges);
	vec_free(&g.large);
	vec_free(&g.small);
	vec_free(&g.seams);
	free(g.sorters);
	free(g.tree_count);
	vec_free(&g.splits);
	vec_free(&g.chunks);
	return err;
}
