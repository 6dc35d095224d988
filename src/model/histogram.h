/*
 * How often values occurred, by size. One object for the kinds that verbs ask for:
 *
 *	LOG2        powers of two: below 0, 0, 1, [2, 4), [4, 8) ... `powers` of them, the last open at its end
 *	LINEAR      steps of one size: below `from`, [from, from+step) ... up to `to`, then the rest
 *	LOGLINEAR   for percentiles in bounded memory: exact below 128, above that buckets less than 1/128 wide (0.8 %)
 *	EXACT       the values themselves, so that percentiles are exact; after `max_values` of them it is a LOGLINEAR one, which
 *	            histogram_is_exact() admits
 *
 * Number, sum, minimum and maximum are exact in all of them. Values are signed; a caller with larger unsigned ones passes INT64_MAX. Buckets
 * are allocated by histogram_init(), so that adding cannot fail; untouched ones cost no memory. Each worker has its own, and they are merged.
 *
 * Latencies of `ftrace hist|latency|sqlhist` are kept in these; `run` will have hist(), lhist() and quantile() of them.
 */
#pragma once

#include "base/types.h"
#include "base/vec.h"

enum histogram_kind { HISTOGRAM_LOG2, HISTOGRAM_LINEAR, HISTOGRAM_LOGLINEAR, HISTOGRAM_EXACT };
enum { HISTOGRAM_POWERS = 63, HISTOGRAM_STEPS_MAX = 100000 };

struct histogram_opts {
	enum histogram_kind kind;
	const char *unit; /* "ns", "bytes"; NULL: plain numbers */
	unsigned powers; /* LOG2: 1, [2, 4) ... that are told apart; 0: all */
	s64 from, to, step; /* LINEAR */
	size_t max_values; /* EXACT; 0: a million */
};

struct histogram {
	struct histogram_opts opts;
	u64 nr;
	s64 sum; /* stays at the limit when it would overflow */
	s64 min, max; /* 0 while nr is */
	u64 *counts; /* [bucket] */
	size_t nr_buckets;
	VEC(s64) values; /* of EXACT, until it is not any more */
	bool sorted, folded;
};

/* [from, to) and how many fell into it. */
struct histogram_bucket {
	s64 from, to;
	bool no_start, no_end; /* everything below `to`, from `from` on */
	u64 count;
};

/* 0; -EINVAL: a LINEAR range that is empty, or of more than HISTOGRAM_STEPS_MAX steps; -ENOMEM. */
int histogram_init(struct histogram *h, const struct histogram_opts *opts) must_check;
void histogram_done(struct histogram *h);
/* Empty again, as after init. */
void histogram_clear(struct histogram *h);

/* `nr` times the value v. */
void histogram_add(struct histogram *h, s64 v, u64 nr);
/* Adds what `from` holds. 0, or -EINVAL: its buckets are others. */
int histogram_merge(struct histogram *h, const struct histogram *from) must_check;

/*
 * The value that so many percent (0 to 100) are not above; 0 when there is none. Of buckets: the largest value of the bucket, but never more
 * than the maximum.
 */
s64 histogram_percentile(struct histogram *h, double percent);
double histogram_mean(const struct histogram *h);
bool histogram_is_exact(const struct histogram *h);

/* Buckets in order of their values, empty ones included. Of EXACT: those that its values fall into. */
struct histogram_bucket histogram_bucket(struct histogram *h, size_t i);
/* The first bucket that is not empty, and the one after the last; both 0 when all are. */
void histogram_range(struct histogram *h, size_t *first, size_t *end);
