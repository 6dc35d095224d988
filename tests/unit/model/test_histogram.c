/* Histograms: which bucket a value belongs to, percentiles and how far they may be off, merging. */
#include "model/histogram.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

static struct histogram h;

static void begin(struct histogram_opts o)
{
	if (histogram_init(&h, &o))
		abort();
}

/* The bucket that holds all that was counted. */
static struct histogram_bucket only(void)
{
	size_t first, end;
	histogram_range(&h, &first, &end);
	return end == first + 1 ? histogram_bucket(&h, first) : (struct histogram_bucket){ 0 };
}

static bool falls_into(s64 v, s64 from, s64 to)
{
	histogram_clear(&h);
	histogram_add(&h, v, 3);
	struct histogram_bucket b = only();
	return b.from == from && b.to == to && b.count == 3;
}

static void test_log2(void)
{
	begin((struct histogram_opts){ .kind = HISTOGRAM_LOG2 });
	ok(falls_into(0, 0, 1) && falls_into(1, 1, 2) && falls_into(2, 2, 4) &&
		   falls_into(3, 2, 4) && falls_into(4, 4, 8) && falls_into(1023, 512, 1024) &&
		   falls_into(1024, 1024, 2048),
	   "log2: powers of two");
	ok(falls_into(-5, INT64_MIN, 0) && only().no_start, "log2: one bucket below zero");
	ok(falls_into(INT64_MAX, 1ll << 62, INT64_MAX) && only().no_end, "log2: the largest");
	histogram_done(&h);
	begin((struct histogram_opts){ .kind = HISTOGRAM_LOG2, .powers = 4 });
	ok(falls_into(8, 8, INT64_MAX) && falls_into(1 << 20, 8, INT64_MAX) && falls_into(7, 4, 8),
	   "log2: as many powers as asked for, the last takes the rest");
	histogram_done(&h);
}

static void test_linear(void)
{
	begin((struct histogram_opts){ .kind = HISTOGRAM_LINEAR, .from = -10, .to = 25, .step = 10 });
	ok(falls_into(-10, -10, 0) && falls_into(-1, -10, 0) && falls_into(0, 0, 10) &&
		   falls_into(24, 20, 25),
	   "linear: steps, the last shorter");
	ok(falls_into(-11, INT64_MIN, -10) && only().no_start && falls_into(25, 25, INT64_MAX) &&
		   only().no_end,
	   "linear: what is outside");
	histogram_done(&h);
	ok(histogram_init(&h, &(struct histogram_opts){ .kind = HISTOGRAM_LINEAR, .to = 5 }) ==
			   -EINVAL &&
		   histogram_init(&h, &(struct histogram_opts){ .kind = HISTOGRAM_LINEAR,
								.from = INT64_MIN,
								.to = INT64_MAX,
								.step = 1 }) == -EINVAL,
	   "linear: no step, or too many, is refused");
}

static bool is_near(s64 got, s64 want)
{
	return got >= want && got - want <= want / 50;
}

static void test_loglinear(void)
{
	begin((struct histogram_opts){ .kind = HISTOGRAM_LOGLINEAR });
	ok(histogram_percentile(&h, 50) == 0, "percentiles: nothing yet");
	for (s64 v = 1; v <= 100; v++)
		histogram_add(&h, v, 1);
	ok(histogram_percentile(&h, 50) == 50 && histogram_percentile(&h, 99) == 99,
	   "percentiles of small values are exact");
	histogram_clear(&h);
	for (s64 v = 1; v <= 100000; v++)
		histogram_add(&h, v * 1000, 1);
	ok(is_near(histogram_percentile(&h, 50), 50000000) &&
		   is_near(histogram_percentile(&h, 99), 99000000),
	   "large ones are at most 2 %% too large");
	ok(histogram_percentile(&h, 100) == 100000000 && h.min == 1000, "never above the maximum");
	ok(histogram_mean(&h) == 50000500, "the mean is exact");
	bool near = true;
	for (unsigned bit = 0; bit < 63; bit++)
		for (s64 off = -1; off <= 1; off++) {
			s64 v = (s64)((1ull << bit) + (u64)off);
			histogram_clear(&h);
			histogram_add(&h, v, 1);
			struct histogram_bucket b = only();
			near &= v >= b.from && (v < b.to || b.no_end) &&
				(double)(b.to - b.from) <= 1 + (double)v / 50;
		}
	ok(near, "every power of two and its neighbours have a bucket of at most 2 %%");
	ok(falls_into(-7, INT64_MIN, 0), "one bucket below zero");
	histogram_clear(&h);
	histogram_add(&h, INT64_MAX, 2);
	ok(h.sum == INT64_MAX && histogram_percentile(&h, 50) == INT64_MAX,
	   "the largest value has a bucket, and the sum stays at the limit");
	histogram_done(&h);
}

static void test_exact(void)
{
	begin((struct histogram_opts){ .kind = HISTOGRAM_EXACT, .max_values = 1000 });
	for (s64 v = 1000; v > 0; v--)
		histogram_add(&h, v * 1000003, 1);
	ok(histogram_is_exact(&h) && histogram_percentile(&h, 50) == 500 * 1000003ll &&
		   histogram_percentile(&h, 99.95) == 1000 * 1000003ll &&
		   histogram_percentile(&h, 0) == 1000003,
	   "exact percentiles of large values");
	histogram_add(&h, 1, 1);
	ok(!histogram_is_exact(&h) && h.nr == 1001 && !h.values.at &&
		   is_near(histogram_percentile(&h, 50), 500 * 1000003ll),
	   "more than may be kept: buckets that have counted all, and it is admitted");
	histogram_clear(&h);
	histogram_add(&h, 5, UINT64_MAX);
	ok(!histogram_is_exact(&h) && histogram_percentile(&h, 50) == 5,
	   "a large weight costs no memory");
	histogram_done(&h);
}

static void test_merge(void)
{
	struct histogram other;
	begin((struct histogram_opts){ .kind = HISTOGRAM_EXACT });
	if (histogram_init(&other, &h.opts))
		abort();
	histogram_add(&h, 10, 1);
	histogram_add(&other, 2, 2);
	ok(!histogram_merge(&h, &other) && h.nr == 3 && h.min == 2 && h.max == 10 && h.sum == 14 &&
		   histogram_percentile(&h, 50) == 2 && histogram_is_exact(&h),
	   "two become one");
	histogram_done(&other);
	if (histogram_init(&other, &(struct histogram_opts){ .kind = HISTOGRAM_LOG2 }))
		abort();
	ok(histogram_merge(&h, &other) == -EINVAL, "not with other buckets");
	histogram_done(&other);
	histogram_done(&h);
}

int main(void)
{
	test_log2();
	test_linear();
	test_loglinear();
	test_exact();
	test_merge();
	return done_testing();
}
