#include "analysis/fold.h"
#include "base/big.h"

#include <errno.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 64 / DIGIT_BITS, DIGIT_VALUES = 1 << DIGIT_BITS, FEW = 48 };

/* An item on its way through the sort. */
struct part {
	u64 word; /* the functions that are being compared, outermost in the highest bits; behind the chain's end: 0 */
	u32 item;
	u32 start, nr;
};

/* Parts that are alike in their first `words` words. */
struct range {
	u32 lo, hi;
	u32 words;
};

/* A node that is not finished: its sub-tree is still growing, from the last chain to the first. */
struct open_node {
	u32 depth; /* functions from the root to its end */
	u32 end; /* as in fold_node */
	u32 below; /* height of its highest child */
	u32 ended; /* item + 1 that ends here; the others follow in node_of */
	u64 incl;
};

struct builder {
	struct fold *fold;
	const struct fold_item *items;
	const u32 *pool;
	const u32 *func_of;
	bool reverse;
	u32 bits, per_word; /* of a function; functions in a word */
	struct part *parts, *spare;
	u32 *common; /* [part] functions that it shares with the next one */
	u32 count[DIGITS][DIGIT_VALUES];
	VEC(struct range) ranges; /* still to be sorted */
	VEC(struct open_node) path; /* from the root on */
	u32 next_node;
	u64 next_func; /* both count down */
};

static u32 func_at(const struct builder *b, const struct part *p, u32 depth)
{
	return b->func_of[b->pool[p->start + (b->reverse ? p->nr - 1 - depth : depth)]];
}

/* Brings on its way what func_at() will look at. */
static void fetch_func(const struct builder *b, const struct part *p, u32 depth)
{
	__builtin_prefetch(&b->pool[p->start + (b->reverse ? p->nr - 1 - depth : depth)]);
}

/* ---- sorting ---- */

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
static void sort_many(struct builder *b, u32 lo, u32 nr)
{
	struct part *from = b->parts + lo, *to = b->spare + lo;
	u64 differ = 0;
	memset(b->count, 0, sizeof(b->count));
	for (u32 i = 0; i < nr; i++) {
		u64 word = from[i].word;
		differ |= word ^ from[0].word;
		for (u32 d = 0; d < DIGITS; d++, word >>= DIGIT_BITS)
			b->count[d][word % DIGIT_VALUES]++;
	}
	for (u32 d = 0; d < DIGITS; d++) {
		u32 shift = d * DIGIT_BITS, *count = b->count[d];
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
static int sort_range(struct builder *b, struct range r)
{
	enum { AHEAD = 8 };
	for (u32 i = r.lo; i < r.hi; i++) {
		if (i + AHEAD < r.hi)
			fetch_func(b, &b->parts[i + AHEAD], r.words * b->per_word);
		b->parts[i].word = word_at(b, &b->parts[i], r.words);
	}
	if (r.hi - r.lo <= FEW)
		sort_few(b->parts + r.lo, r.hi - r.lo);
	else
		sort_many(b, r.lo, r.hi - r.lo);
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
		struct range *more = vec_push(&b->ranges);
		if (!more)
			return -ENOMEM;
		*more = (struct range){ .lo = lo, .hi = hi, .words = r.words + 1 };
	}
	return 0;
}

static int sort_parts(struct builder *b, u32 lo, u32 hi)
{
	int err = hi - lo > 1 ? sort_range(b, (struct range){ .lo = lo, .hi = hi }) : 0;
	while (b->ranges.nr && !err)
		err = sort_range(b, b->ranges.at[--b->ranges.nr]);
	return err;
}

/* Items by tree; starts[t] is where a tree's items begin. */
static void sort_by_tree(struct builder *b, size_t nr, u32 *starts)
{
	for (size_t i = 0; i < nr; i++)
		starts[b->items[i].tree + 1]++;
	for (u32 t = 0; t < b->fold->nr_trees; t++)
		starts[t + 1] += starts[t];
	for (size_t i = 0; i < nr; i++) {
		const struct fold_item *it = &b->items[i];
		b->parts[starts[it->tree]++] =
			(struct part){ .item = (u32)i, .start = it->start, .nr = it->nr };
	}
	for (u32 t = b->fold->nr_trees; t > 0; t--)
		starts[t] = starts[t - 1];
	starts[0] = 0;
}

/* ---- growing: from the last chain to the first, so that nodes come out children first and stand parents first ---- */

static struct open_node *top_of(struct builder *b)
{
	return &b->path.at[b->path.nr - 1];
}

static int open_node(struct builder *b, u32 depth, u32 end)
{
	struct open_node *o = vec_push(&b->path);
	if (!o)
		return -ENOMEM;
	o->depth = depth;
	o->end = end;
	return 0;
}

/* The innermost open node is whole: its functions are those of p's chain that lie between `from` and its depth. */
static void close_node(struct builder *b, const struct part *p, u32 from)
{
	struct fold *f = b->fold;
	struct open_node o = *top_of(b);
	u32 at = --b->next_node, nr = o.depth - from;
	for (u32 depth = o.depth; depth > from;)
		f->funcs[--b->next_func] = func_at(b, p, --depth);
	f->nodes[at] = (struct fold_node){
		.parent = at, .end = o.end, .at = (u32)b->next_func, .nr = nr, .incl = o.incl
	};
	f->heights[at] = nr + o.below;
	for (u32 c = at + 1; c < o.end; c = f->nodes[c].end)
		f->nodes[c].parent = at;
	for (u32 item = o.ended, next; item; item = next) {
		next = f->node_of[item - 1];
		f->node_of[item - 1] = at;
	}
	b->path.nr--;
}

static void join_parent(struct builder *b, struct open_node child, u32 from)
{
	struct open_node *o = top_of(b);
	o->incl += child.incl;
	o->below = max(o->below, child.depth - from + child.below);
}

/* Closes all that is deeper; leaves an open node at exactly this depth. */
static int close_to(struct builder *b, const struct part *p, u32 depth)
{
	while (top_of(b)->depth > depth) {
		struct open_node child = *top_of(b);
		u32 before = b->path.at[b->path.nr - 2].depth, from = max(before, depth);
		close_node(b, p, from);
		int err = before < depth ? open_node(b, depth, child.end) : 0;
		if (err)
			return err;
		join_parent(b, child, from);
	}
	return 0;
}

static int add_chain(struct builder *b, const struct part *p)
{
	int err = p->nr > top_of(b)->depth ? open_node(b, p->nr, b->next_node) : 0;
	if (err)
		return err;
	struct open_node *o = top_of(b);
	o->incl += b->items[p->item].period;
	b->fold->node_of[p->item] = o->ended;
	o->ended = p->item + 1;
	return 0;
}

static int grow_tree(struct builder *b, u32 lo, u32 hi)
{
	enum { AHEAD = 8 };
	b->path.nr = 0;
	int err = open_node(b, 0, b->next_node);
	for (u32 i = hi; i-- > lo && !err;) {
		if (i >= lo + AHEAD + 1) {
			const struct part *p = &b->parts[i - AHEAD];
			fetch_func(b, p, b->common[i - AHEAD - 1]);
			fetch_func(b, p, p->nr - 1);
			__builtin_prefetch(&b->items[p->item]);
		}
		err = add_chain(b, &b->parts[i]);
		if (!err)
			err = close_to(b, &b->parts[i], i > lo ? b->common[i - 1] : 0);
	}
	if (!err)
		close_node(b, NULL, 0);
	return err;
}

/* ---- */

static int get_memory(struct builder *b, size_t nr, u32 nr_trees)
{
	struct fold *f = b->fold;
	f->nr_items = nr;
	f->room = (u32)(2 * nr + nr_trees);
	f->nodes = big_grow(NULL, 0, f->room * sizeof(*f->nodes));
	f->heights = big_grow(NULL, 0, f->room * sizeof(*f->heights));
	f->root_of = calloc((size_t)nr_trees + 1, sizeof(*f->root_of));
	f->node_of = big_zalloc(nr * sizeof(*f->node_of));
	b->parts = big_grow(NULL, 0, nr * sizeof(*b->parts));
	b->spare = big_grow(NULL, 0, nr * sizeof(*b->spare));
	b->common = big_grow(NULL, 0, nr * sizeof(*b->common));
	return f->nodes && f->heights && f->root_of && f->node_of && b->parts && b->spare && b->common
		       ? 0
		       : -ENOMEM;
}

/* How many functions all nodes will have: what each chain does not share with the next one. */
static int get_funcs(struct builder *b, const u32 *starts)
{
	struct fold *f = b->fold;
	for (u32 t = 0; t < f->nr_trees; t++)
		for (u32 i = starts[t]; i < starts[t + 1]; i++)
			f->nr_funcs += b->parts[i].nr - (i + 1 < starts[t + 1] ? b->common[i] : 0);
	if (f->nr_funcs <= UINT32_MAX)
		f->funcs = big_grow(NULL, 0, f->nr_funcs * sizeof(*f->funcs));
	b->next_func = f->nr_funcs;
	return f->funcs ? 0 : -ENOMEM;
}

static int sort_and_grow(struct builder *b, size_t nr, u32 *starts)
{
	struct fold *f = b->fold;
	int err = 0;
	sort_by_tree(b, nr, starts);
	for (u32 t = 0; t < f->nr_trees && !err; t++)
		err = sort_parts(b, starts[t], starts[t + 1]);
	if (!err)
		err = get_funcs(b, starts);
	b->next_node = f->room;
	for (u32 t = f->nr_trees; t-- > 0 && !err;) {
		err = grow_tree(b, starts[t], starts[t + 1]);
		f->root_of[t] = b->next_node;
	}
	f->nr_nodes = f->room - b->next_node;
	return err;
}

int fold_build(struct fold *f, const struct fold_item *items, size_t nr, u32 nr_trees, bool reverse,
	       const struct chain_table *chains, const struct names_result *names)
{
	*f = (struct fold){ .nr_trees = nr_trees };
	if (nr + nr_trees > UINT32_MAX / 2)
		return -ENOMEM;
	struct builder *b = calloc(1, sizeof(*b));
	u32 *starts = calloc((size_t)nr_trees + 2, sizeof(*starts));
	int err = b && starts ? 0 : -ENOMEM;
	if (!err) {
		b->fold = f;
		b->items = items;
		b->pool = chains->pool;
		b->func_of = names->func_of;
		b->reverse = reverse;
		b->bits = 64 - (u32)__builtin_clzll((u64)names->nr_funcs + 1);
		b->per_word = 64 / b->bits;
		err = get_memory(b, nr, nr_trees);
		if (!err)
			err = sort_and_grow(b, nr, starts);
		big_free(b->parts, nr * sizeof(*b->parts));
		big_free(b->spare, nr * sizeof(*b->spare));
		big_free(b->common, nr * sizeof(*b->common));
		vec_free(&b->ranges);
		vec_free(&b->path);
	}
	free(b);
	free(starts);
	return err;
}

void fold_done(struct fold *f)
{
	big_free(f->nodes, f->room * sizeof(*f->nodes));
	big_free(f->heights, f->room * sizeof(*f->heights));
	big_free(f->funcs, f->nr_funcs * sizeof(*f->funcs));
	big_free(f->node_of, f->nr_items * sizeof(*f->node_of));
	free(f->root_of);
	*f = (struct fold){ 0 };
}
