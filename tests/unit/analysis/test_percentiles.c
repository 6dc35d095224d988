/* Percentiles in buckets: exact where values are small, within one part in 128 elsewhere, whatever the range. */
#include "analysis/percentiles.h"
#include "tap.h"

static struct percentiles p;

static bool is_near(u64 got, u64 want)
{
	return got >= want && got - want <= want / 128;
}

static void test_small(void)
{
	p = (struct percentiles){ 0 };
	ok(percentiles_at(&p, 50) == 0, "nothing yet");
	for (u64 v = 1; v <= 100; v++)
		percentiles_add(&p, v);
	ok(percentiles_at(&p, 50) == 50 && percentiles_at(&p, 90) == 90 &&
		   percentiles_at(&p, 99) == 99,
	   "values below 128 are exact");
	ok(percentiles_at(&p, 100) == 100 && p.max == 100, "the last is the maximum");
}

static void test_large(void)
{
	p = (struct percentiles){ 0 };
	for (u64 v = 1; v <= 100000; v++)
		percentiles_add(&p, v * 1000);
	ok(is_near(percentiles_at(&p, 50), 50000000) && is_near(percentiles_at(&p, 99), 99000000),
	   "large values within one part in 128");
	ok(percentiles_at(&p, 100) == 100000000, "never above the maximum");
}

static void test_ends(void)
{
	p = (struct percentiles){ 0 };
	for (unsigned i = 0; i < 64; i++)
		percentiles_add(&p, 1ull << i);
	percentiles_add(&p, 0);
	percentiles_add(&p, UINT64_MAX);
	ok(p.nr == 66 && percentiles_at(&p, 100) == UINT64_MAX, "every value has a bucket");
	ok(percentiles_at(&p, 1) == 0, "zero too");
}

int main(void)
{
	test_small();
	test_large();
	test_ends();
	return done_testing();
}
