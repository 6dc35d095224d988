#include "model/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * LOGLINEAR: bucket 0 is for what is below zero, then one for each value below STEPS, then STEPS for each power of two: the BITS bits
 * after the highest choose among them.
 */
enum { BITS = 7, STEPS = 1 << BITS, LOGLINEAR_BUCKETS = 1 + ((63 - BITS + 1) << BITS) };
enum { DEFAULT_MAX_VALUES = 1000000 };

/* ---- where a value belongs ---- */

static unsigned top_bit(u64 v)
{
	return 63 - (unsigned)__builtin_clzll(v);
}

static size_t log2_index(const struct histogram *h, s64 v)
{
	if (v <= 0)
		return v == 0;
	return min((size_t)top_bit((u64)v) + 2, h->nr_buckets - 1);
}

static size_t linear_index(const struct histogram *h, s64 v)
{
	const struct histogram_opts *o = &h->opts;
	if (v < o->from)
		return 0;
	if (v >= o->to)
		return h->nr_buckets - 1;
	return 1 + (size_t)(((u64)v - (u64)o->from) / (u64)o->step);
}

static size_t loglinear_index(s64 v)
{
	if (v < STEPS)
		return v < 0 ? 0 : 1 + (size_t)v;
	unsigned shift = top_bit((u64)v) - BITS;
	return 1 + (size_t)(shift + 1) * STEPS + (size_t)(((u64)v >> shift) - STEPS);
}

static size_t index_of(const struct histogram *h, s64 v)
{
	switch (h->opts.kind) {
	case HISTOGRAM_LOG2: return log2_index(h, v);
	case HISTOGRAM_LINEAR: return linear_index(h, v);
	default: return loglinear_index(v);
	}
}

/* ---- which values belong to a bucket ---- */

static struct histogram_bucket log2_bucket(const struct histogram *h, size_t i)
{
	if (i < 2)
		return (struct histogram_bucket){ .to = (s64)i, .no_start = !i };
	bool last = i + 1 == h->nr_buckets;
	return (struct histogram_bucket){ .from = (s64)(1ull << (i - 2)),
					  .to = last ? INT64_MAX : (s64)(1ull << (i - 1)),
					  .no_end = last };
}

static struct histogram_bucket linear_bucket(const struct histogram *h, size_t i)
{
	const struct histogram_opts *o = &h->opts;
	if (!i)
		return (struct histogram_bucket){ .from = INT64_MIN,
						  .to = o->from,
						  .no_start = true };
	if (i + 1 == h->nr_buckets)
		return (struct histogram_bucket){ .from = o->to, .to = INT64_MAX, .no_end = true };
	s64 from = (s64)((u64)o->from + (i - 1) * (u64)o->step);
	s64 to = i + 2 == h->nr_buckets ? o->to : (s64)((u64)from + (u64)o->step);
	return (struct histogram_bucket){ .from = from, .to = to };
}

static struct histogram_bucket loglinear_bucket(size_t i)
{
	if (i <= STEPS)
		return (struct histogram_bucket){ .from = i ? (s64)i - 1 : INT64_MIN,
						  .to = (s64)i,
						  .no_start = !i };
	unsigned shift = (unsigned)((i - 1) / STEPS) - 1;
	u64 from = (u64)(STEPS + (i - 1) % STEPS) << shift, to = from + (1ull << shift);
	bool last = i + 1 == LOGLINEAR_BUCKETS;
	return (struct histogram_bucket){ .from = (s64)from,
					  .to = last ? INT64_MAX : (s64)to,
					  .no_end = last };
}

struct histogram_bucket histogram_bucket(struct histogram *h, size_t i)
{
	struct histogram_bucket b;
	switch (h->opts.kind) {
	case HISTOGRAM_LOG2: b = log2_bucket(h, i); break;
	case HISTOGRAM_LINEAR: b = linear_bucket(h, i); break;
	default: b = loglinear_bucket(i); break;
	}
	if (h->opts.kind == HISTOGRAM_LOG2 && !i)
		b.from = INT64_MIN;
	b.count = h->counts[i];
	return b;
}

void histogram_range(struct histogram *h, size_t *first, size_t *end)
{
	*first = *end = 0;
	for (size_t i = 0; i < h->nr_buckets; i++) {
		if (!h->counts[i])
			continue;
		if (!*end)
			*first = i;
		*end = i + 1;
	}
}

/* ---- life ---- */

static int count_buckets(const struct histogram_opts *o, size_t *ret)
{
	if (o->kind == HISTOGRAM_LOG2) {
		unsigned powers = o->powers ? o->powers : HISTOGRAM_POWERS;
		if (powers > HISTOGRAM_POWERS)
			return -EINVAL;
		*ret = 2 + (size_t)powers;
	} else if (o->kind == HISTOGRAM_LINEAR) {
		if (o->step <= 0 || o->to <= o->from)
			return -EINVAL;
		u64 width = (u64)o->to - (u64)o->from, step = (u64)o->step;
		u64 steps = width / step + (width % step != 0);
		if (steps > HISTOGRAM_STEPS_MAX)
			return -EINVAL;
		*ret = 2 + (size_t)steps;
	} else {
		*ret = LOGLINEAR_BUCKETS;
	}
	return 0;
}

int histogram_init(struct histogram *h, const struct histogram_opts *opts)
{
	size_t nr;
	int err = count_buckets(opts, &nr);
	if (err)
		return err;
	u64 *counts = calloc(nr, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	*h = (struct histogram){ .opts = *opts, .counts = counts, .nr_buckets = nr };
	if (!h->opts.max_values)
		h->opts.max_values = DEFAULT_MAX_VALUES;
	return 0;
}

void histogram_done(struct histogram *h)
{
	vec_free(&h->values);
	free(h->counts);
	*h = (struct histogram){ 0 };
}

void histogram_clear(struct histogram *h)
{
	h->nr = 0;
	h->sum = h->min = h->max = 0;
	h->values.nr = 0;
	h->sorted = h->folded = false;
	memset(h->counts, 0, h->nr_buckets * sizeof(*h->counts));
}

/* ---- counting ---- */

static s64 saturating_sum(s64 sum, s64 v, u64 nr)
{
	s64 product;
	bool over = nr > INT64_MAX || __builtin_mul_overflow(v, (s64)nr, &product) ||
		    __builtin_add_overflow(sum, product, &sum);
	return !over ? sum : v < 0 ? INT64_MIN : INT64_MAX;
}

/* Too many, or no memory for more: the buckets, which have counted all along, go on alone. */
static void stop_keeping(struct histogram *h)
{
	h->folded = true;
	vec_free(&h->values);
}

static void keep_values(struct histogram *h, s64 v, u64 nr)
{
	if (nr > h->opts.max_values - min(h->values.nr, h->opts.max_values)) {
		stop_keeping(h);
		return;
	}
	for (; nr; nr--) {
		s64 *slot = vec_push(&h->values);
		if (!slot) {
			stop_keeping(h);
			return;
		}
		*slot = v;
	}
	h->sorted = false;
}

void histogram_add(struct histogram *h, s64 v, u64 nr)
{
	if (!nr)
		return;
	h->min = h->nr ? min(h->min, v) : v;
	h->max = h->nr ? max(h->max, v) : v;
	h->nr += nr;
	h->sum = saturating_sum(h->sum, v, nr);
	h->counts[index_of(h, v)] += nr;
	if (h->opts.kind == HISTOGRAM_EXACT && !h->folded)
		keep_values(h, v, nr);
}

static bool same_buckets(const struct histogram_opts *a, const struct histogram_opts *b)
{
	return a->kind == b->kind && (a->kind != HISTOGRAM_LINEAR ||
				      (a->from == b->from && a->to == b->to && a->step == b->step));
}

int histogram_merge(struct histogram *h, const struct histogram *from)
{
	if (!same_buckets(&h->opts, &from->opts) || h->nr_buckets != from->nr_buckets)
		return -EINVAL;
	if (!from->nr)
		return 0;
	h->min = h->nr ? min(h->min, from->min) : from->min;
	h->max = h->nr ? max(h->max, from->max) : from->max;
	h->nr += from->nr;
	h->sum = saturating_sum(h->sum, from->sum, 1);
	for (size_t i = 0; i < h->nr_buckets; i++)
		h->counts[i] += from->counts[i];
	if (from->folded)
		stop_keeping(h);
	for (size_t i = 0; i < from->values.nr && !h->folded; i++)
		keep_values(h, from->values.at[i], 1);
	return 0;
}

/* ---- asking ---- */

bool histogram_is_exact(const struct histogram *h)
{
	return h->opts.kind == HISTOGRAM_EXACT && !h->folded;
}

double histogram_mean(const struct histogram *h)
{
	return h->nr ? (double)h->sum / (double)h->nr : 0;
}

static int compare(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;
	return (x > y) - (x < y);
}

static s64 exact_percentile(struct histogram *h, double wanted)
{
	if (!h->sorted)
		qsort(h->values.at, h->values.nr, sizeof(*h->values.at), compare);
	h->sorted = true;
	size_t rank = wanted <= 1 ? 1 : (size_t)wanted;
	rank += (double)rank < wanted;
	return h->values.at[min(rank, h->values.nr) - 1];
}

s64 histogram_percentile(struct histogram *h, double percent)
{
	double wanted = (double)h->nr * percent / 100;
	u64 seen = 0;
	if (!h->nr)
		return 0;
	if (histogram_is_exact(h))
		return exact_percentile(h, wanted);
	for (size_t i = 0; i < h->nr_buckets; i++) {
		seen += h->counts[i];
		if (!seen || (double)seen < wanted)
			continue;
		struct histogram_bucket b = histogram_bucket(h, i);
		return b.no_end ? h->max : max(min(b.to - 1, h->max), h->min);
	}
	return h->max;
}
