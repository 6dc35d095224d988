#include "view/html_flame.h"
#include "base/big.h"
#include "base/par.h"
#include "view/page.h"

#include <errno.h>
#include <string.h>

enum { MAX_POINTS = 1000000, MAX_BUCKETS = 4000 };
enum { PARTS = 8 }; /* of the nodes, for each worker */

/* Where a point of the flame goes. */
struct point_key {
	u32 node;
	u32 bucket;
};

struct out_point {
	u32 point; /* of the flame */
	u32 bucket;
};

struct html {
	const struct flame *flame;
	struct strbuf blob;
	struct point_key *keys; /* [point of the flame] */
	struct out_point *order; /* by node, by bucket within */
	u32 *starts; /* [node] -> where its points begin in order */
	u64 bucket_ns;
	u32 nr_buckets;
	u32 shift; /* of buckets: neighbours that became one */
	u64 unit; /* of weights */
	unsigned workers;
};

/* ---- bytes ---- */

static void put(struct html *h, u64 v)
{
	strbuf_leb128(&h->blob, v);
}

static void put_text(struct html *h, const char *s)
{
	size_t len = strlen(s);
	put(h, len);
	strbuf_add(&h->blob, s, len);
}

/* ---- points ---- */

/* 1, 2 or 5 times a power of ten, not below v. */
static u64 round_up(u64 v)
{
	for (u64 unit = 1; unit < UINT64_MAX / 10; unit *= 10)
		for (u32 m = 1; m <= 5; m += m == 1 ? 1 : 3)
			if (unit * m >= v)
				return unit * m;
	return v;
}

static size_t keys_size(const struct flame *f)
{
	return (f->points.nr + 1) * sizeof(struct point_key);
}

static size_t order_size(const struct flame *f)
{
	return (f->points.nr + 1) * sizeof(struct out_point);
}

static bool is_timed(const struct flame *f)
{
	return f->nr_sides == 1 && f->sides[0].last_ns > f->sides[0].first_ns;
}

static int keys_of_part(void *ctx, unsigned worker, u32 part)
{
	struct html *h = ctx;
	const struct flame *f = h->flame;
	const struct flame_side *side = &f->sides[0];
	u64 span = side->last_ns - side->first_ns;
	struct par_span points = par_span(f->points.nr, h->workers, part);
	for (u64 i = points.lo; i < points.hi; i++) {
		const struct flame_point *p = &f->points.at[i];
		/* A sample without a time, among others that have one, is as old as the first of these. */
		u64 since = p->time_ns > side->first_ns ? p->time_ns - side->first_ns : 0;
		since = min(since, span);
		h->keys[i].node = p->node;
		h->keys[i].bucket = h->bucket_ns ? (u32)(since / h->bucket_ns) : p->side;
	}
	return 0;
}

/* Two sides have no time in common: all of it is one bucket, which is the side's. */
static int find_keys(struct html *h)
{
	const struct flame *f = h->flame;
	const struct flame_side *side = &f->sides[0];
	bool timed = is_timed(f);
	/* From the first to the last, which may be all that a word holds: one more would be none. */
	u64 span = timed ? side->last_ns - side->first_ns : 0;
	h->bucket_ns = timed ? max(round_up(span / MAX_BUCKETS + 1), f->resolution_ns) : 0;
	h->nr_buckets = timed ? (u32)(span / h->bucket_ns) + 1 : f->nr_sides;
	h->keys = big_grow(NULL, 0, keys_size(f));
	if (!h->keys || f->points.nr >= UINT32_MAX)
		return -ENOMEM;
	return par_each(h->workers, h->workers, keys_of_part, h);
}

/* One more of a number that others may count, too; what it was. */
static u32 count_one(const struct html *h, u32 *nr)
{
	return h->workers == 1 ? (*nr)++ : __atomic_fetch_add(nr, 1, __ATOMIC_RELAXED);
}

/* Into starts[], two places after the node's own. */
static int count_part(void *ctx, unsigned worker, u32 part)
{
	const struct html *h = ctx;
	struct par_span points = par_span(h->flame->points.nr, h->workers, part);
	for (u64 i = points.lo; i < points.hi; i++)
		(void)count_one(h, &h->starts[h->keys[i].node + 2]);
	return 0;
}

/* Where a node's first goes is now one place after its own. */
static int deal_part(void *ctx, unsigned worker, u32 part)
{
	enum { AHEAD = 16 };
	const struct html *h = ctx;
	struct par_span points = par_span(h->flame->points.nr, h->workers, part);
	for (u64 i = points.lo; i < points.hi; i++) {
		const struct point_key *k = &h->keys[i];
		if (i + AHEAD < points.hi)
			__builtin_prefetch(&h->starts[k[AHEAD].node + 1]);
		h->order[count_one(h, &h->starts[k->node + 1])] =
			(struct out_point){ (u32)i, k->bucket };
	}
	return 0;
}

static void sort_few(struct out_point *at, u32 nr)
{
	for (u32 i = 1; i < nr; i++) {
		struct out_point x = at[i];
		u32 k = i;
		for (; k > 0 && at[k - 1].bucket > x.bucket; k--)
			at[k] = at[k - 1];
		at[k] = x;
	}
}

/* One worker's, for nodes with many points. */
struct bucket_sort {
	VEC(struct out_point) was;
	u32 *counts;
};

static int sort_many(const struct html *h, struct bucket_sort *b, struct out_point *at, u32 nr)
{
	if (!b->counts)
		b->counts = malloc(((size_t)h->nr_buckets + 1) * sizeof(*b->counts));
	if (!b->counts || !vec_reserve(&b->was, nr))
		return -ENOMEM;
	memcpy(b->was.at, at, nr * sizeof(*at));
	memset(b->counts, 0, ((size_t)h->nr_buckets + 1) * sizeof(*b->counts));
	for (u32 i = 0; i < nr; i++)
		b->counts[at[i].bucket + 1]++;
	for (u32 i = 1; i <= h->nr_buckets; i++)
		b->counts[i] += b->counts[i - 1];
	for (u32 i = 0; i < nr; i++)
		at[b->counts[b->was.at[i].bucket]++] = b->was.at[i];
	return 0;
}

/* The points of each node by bucket. Those of one bucket become one: their order does not matter. */
static int sort_part(void *ctx, unsigned worker, u32 part)
{
	enum { FEW = 64 };
	const struct html *h = ctx;
	struct par_span nodes = par_span(h->flame->nodes.nr, h->workers * PARTS, part);
	struct bucket_sort b = { 0 };
	int err = 0;
	for (u64 i = nodes.lo; i < nodes.hi && !err; i++) {
		u32 nr = h->starts[i + 1] - h->starts[i];
		if (nr <= FEW)
			sort_few(h->order + h->starts[i], nr);
		else
			err = sort_many(h, &b, h->order + h->starts[i], nr);
	}
	vec_free(&b.was);
	free(b.counts);
	return err;
}

/* Points stay where they are, only their numbers are sorted: by node, those of one by bucket. */
static int sort_points(struct html *h)
{
	size_t nr_nodes = h->flame->nodes.nr;
	h->order = big_grow(NULL, 0, order_size(h->flame));
	h->starts = big_zalloc((nr_nodes + 3) * sizeof(*h->starts));
	int err = h->order && h->starts ? par_each(h->workers, h->workers, count_part, h) : -ENOMEM;
	for (size_t i = 1; i <= nr_nodes && !err; i++)
		h->starts[i + 1] += h->starts[i];
	if (!err)
		err = par_each(h->workers, h->workers, deal_part, h);
	return err ? err : par_each(h->workers, h->workers * PARTS, sort_part, h);
}

static u32 bucket_at(const struct html *h, u32 at)
{
	return h->order[at].bucket >> h->shift;
}

/* How many are left of some points of a node when those of one bucket are one. */
static u32 nr_joined(const struct html *h, u32 at, u32 end)
{
	u32 nr = 0;
	for (u32 last = UINT32_MAX; at < end; at++) {
		u32 bucket = bucket_at(h, at);
		nr += bucket != last;
		last = bucket;
	}
	return nr;
}

/* [shift]: how many points are left when buckets are that much coarser. Two of a node are one when no higher bit tells them apart. */
static void count_points(const struct html *h, u64 nr[static 33])
{
	memset(nr, 0, 33 * sizeof(*nr));
	for (u32 node = 0; node < h->flame->nodes.nr; node++) {
		u32 at = h->starts[node], end = h->starts[node + 1];
		nr[32] += at < end;
		for (at++; at < end; at++) {
			u32 differ = h->order[at].bucket ^ h->order[at - 1].bucket;
			if (differ)
				nr[31 - (u32)__builtin_clz(differ)]++;
		}
	}
	for (u32 shift = 32; shift-- > 0;)
		nr[shift] += nr[shift + 1];
}

static int choose_points(struct html *h, u32 max_points)
{
	u64 nr[33];
	int err = find_keys(h);
	if (!err)
		err = sort_points(h);
	if (err || !h->bucket_ns || h->flame->points.nr <= max_points)
		return err;
	count_points(h, nr);
	while (h->nr_buckets > 1 && nr[h->shift] > max_points) {
		h->shift++;
		h->bucket_ns += min(h->bucket_ns, UINT64_MAX - h->bucket_ns);
		h->nr_buckets = (h->nr_buckets + 1) / 2;
	}
	return 0;
}

/* ---- the whole ---- */

static void fact(struct html *h, const char *key, const char *value)
{
	put_text(h, key);
	put_text(h, value);
}

static void fact_u64(struct html *h, const char *key, u64 v)
{
	char text[NUM_DIGITS_MAX + 1];
	text[num_u64(text, v)] = 0;
	fact(h, key, text);
}

static void put_facts(struct html *h)
{
	enum { OF_ALL = 2, OF_SIDE = 13 };
	const struct flame *f = h->flame;
	put(h, OF_ALL + OF_SIDE * f->nr_sides);
	fact_u64(h, "joined", f->nr_joined);
	fact_u64(h, "joined_weight", f->joined_weight);
	for (u32 i = 0; i < f->nr_sides; i++) {
		const struct flame_side *s = &f->sides[i];
		fact(h, "path", flame_str(f, s->path));
		fact(h, "host", flame_str(f, s->host));
		fact(h, "release", flame_str(f, s->release));
		fact(h, "arch", flame_str(f, s->arch));
		fact(h, "cpu", flame_str(f, s->cpu));
		fact(h, "command", flame_str(f, s->command));
		fact_u64(h, "recorded", s->recorded_s);
		fact_u64(h, "samples", s->nr_samples);
		fact_u64(h, "lost", s->nr_lost);
		if (s->nr_truncated || s->knows_truncated)
			fact_u64(h, "truncated", s->nr_truncated);
		else
			fact(h, "truncated", "");
		fact_u64(h, "without", s->nr_without);
		fact_u64(h, "cost_ns", s->cost_ns);
		fact(h, "scope", s->whole_system ? "system" : "");
	}
}

static void put_names(struct html *h)
{
	const struct flame *f = h->flame;
	static const char left_out[] = "[small branches, merged]";
	put(h, f->strings.nr + 1);
	for (u32 i = 0; i < f->strings.nr; i++)
		put_text(h, f->strings.strs[i]);
	put_text(h, left_out);
	put(h, f->frames.nr + 1);
	vec_for_each (&f->frames, fr) {
		put(h, fr->name);
		put(h, fr->module);
		put(h, fr->file);
		put(h, fr->line);
		put(h, fr->kind);
	}
	put(h, f->strings.nr); /* the frame of what was left out */
	put(h, 0);
	put(h, 0);
	put(h, 0);
	put(h, FLAME_MARK);
	put(h, f->tasks.nr);
	vec_for_each (&f->tasks, t) {
		put(h, (u32)max(t->pid, 0));
		put(h, (u32)max(t->tid, 0));
		put(h, t->comm);
	}
	put(h, f->events.nr);
	vec_for_each (&f->events, e)
		put(h, *e);
	put(h, f->trees.nr);
	vec_for_each (&f->trees, t) {
		put(h, t->event);
		put(h, t->task);
	}
}

static int put_nodes(struct html *h)
{
	const struct flame *f = h->flame;
	_cleanup_free_ u32 *depths = malloc((f->nodes.nr + 1) * sizeof(*depths));
	if (!depths)
		return -ENOMEM;
	put(h, f->nodes.nr);
	u32 above = UINT32_MAX; /* one above the roots */
	for (size_t i = 0; i < f->nodes.nr; i++) {
		const struct flame_node *n = &f->nodes.at[i];
		depths[i] = n->parent == i ? 0 : depths[n->parent] + 1;
		put(h, above - depths[i] + 1);
		put(h, n->frame == FLAME_JOINED ? f->frames.nr : n->frame);
		above = depths[i];
	}
	return 0;
}

/* The points of one node and side: [at, end) of the order. */
static void put_node_points(const struct html *h, u32 at, u32 end, struct strbuf *to)
{
	enum { AHEAD = 16 };
	const struct flame_point *points = h->flame->points.at;
	u32 nr = h->starts[h->flame->nodes.nr];
	strbuf_leb128(to, nr_joined(h, at, end));
	for (u32 last = 0; at < end;) {
		u32 bucket = bucket_at(h, at);
		u64 count = 0, weight = 0;
		for (; at < end && bucket_at(h, at) == bucket; at++) {
			if (at + AHEAD < nr)
				__builtin_prefetch(&points[h->order[at + AHEAD].point]);
			count += points[h->order[at].point].count;
			weight += points[h->order[at].point].period;
		}
		bool other = weight != count * h->unit;
		strbuf_leb128(to, bucket - last);
		strbuf_leb128(to, count * 2 + other);
		if (other)
			strbuf_leb128(to, weight);
		last = bucket;
	}
}

/* Nodes whose points one worker writes down. */
struct point_texts {
	const struct html *h;
	struct strbuf *of; /* [part] */
};

static int points_of_part(void *ctx, unsigned worker, u32 part)
{
	const struct point_texts *t = ctx;
	const struct html *h = t->h;
	struct par_span nodes = par_span(h->flame->nodes.nr, h->workers * PARTS, part);
	for (u64 node = nodes.lo; node < nodes.hi; node++) {
		u32 at = h->starts[node], end = h->starts[node + 1];
		for (u32 side = 0; side < h->flame->nr_sides; side++) {
			u32 to = h->flame->nr_sides == 1 ? end : at;
			while (to < end && bucket_at(h, to) == side)
				to++;
			put_node_points(h, at, to, &t->of[part]);
			at = to;
		}
	}
	return t->of[part].err;
}

static int put_points(struct html *h)
{
	u32 nr_parts = h->workers * PARTS;
	struct point_texts t = { .h = h, .of = calloc(nr_parts, sizeof(*t.of)) };
	int err = t.of ? par_each(h->workers, nr_parts, points_of_part, &t) : -ENOMEM;
	for (u32 i = 0; t.of && i < nr_parts; i++) {
		strbuf_add(&h->blob, err ? "" : t.of[i].data, err ? 0 : t.of[i].len);
		strbuf_done(&t.of[i]);
	}
	free(t.of);
	return err;
}

static u64 weight_of_one(const struct flame_point *p)
{
	return p->count <= 1 ? p->period : p->period / p->count;
}

/* What most samples weigh, 1 if no weight has the majority (which is the same in whatever order points stand). */
static u64 unit_of(const struct flame *f)
{
	u64 unit = 0, votes = 0, with = 0;
	vec_for_each (&f->points, p) {
		if (!votes)
			unit = weight_of_one(p);
		votes += weight_of_one(p) == unit ? 1 : (u64)-1;
	}
	vec_for_each (&f->points, p)
		with += weight_of_one(p) == unit;
	return 2 * with > f->points.nr ? max(unit, 1ull) : 1;
}

static void put_codes(struct html *h)
{
	const struct flame *f = h->flame;
	put(h, f->codes.nr);
	vec_for_each (&f->codes, c) {
		put(h, c->frame);
		put(h, c->nr);
		for (u32 i = 0; i < c->nr; i++) {
			const struct flame_code_line *l = &f->code_lines.at[c->first + i];
			put(h, l->number * 2 + l->source);
			if (!l->source)
				put(h, l->weight);
			put(h, l->text);
		}
	}
}

static int fill_blob(struct html *h, const struct html_flame_opts *o)
{
	int err = choose_points(h, o->max_points ? o->max_points : MAX_POINTS);
	if (err)
		return err;
	h->unit = unit_of(h->flame);
	strbuf_str(&h->blob, "SFL1");
	put(h, h->flame->nr_sides);
	put(h, h->unit);
	put(h, h->bucket_ns);
	put(h, h->nr_buckets);
	put_facts(h);
	put_names(h);
	err = put_nodes(h);
	if (!err)
		err = put_points(h);
	put_codes(h);
	return err ? err : h->blob.err;
}

int html_flame(const struct flame *f, const struct html_flame_opts *o, struct strbuf *to)
{
	enum { LEAST_POINTS = 1 << 15 };
	struct html h = { .flame = f,
			  .workers = par_workers(o->workers, f->points.nr, LEAST_POINTS) };
	strbuf_init(&h.blob);
	int err = fill_blob(&h, o);
	if (!err) {
		page_put(page_flame, o->title, &h.blob, to);
		err = to->err;
	}
	strbuf_done(&h.blob);
	big_free(h.keys, keys_size(f));
	big_free(h.order, order_size(f));
	big_free(h.starts, (f->nodes.nr + 3) * sizeof(*h.starts));
	return err;
}
