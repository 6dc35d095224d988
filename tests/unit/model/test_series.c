/* Values over time: rates by kind, missing values, and what is left when the rows are full. */
#include "model/series.h"
#include "tap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { COUNTER, GAUGE, DELTA };
#define SEC 1000000000ull

static void begin(struct series *s, size_t max_rows, enum series_keep keep)
{
	series_init(s, max_rows, keep);
	if (series_column(s, "Packets", "packets", "", SERIES_COUNTER) ||
	    series_column(s, "Free", "free", "bytes", SERIES_GAUGE) ||
	    series_column(s, "Sent", "sent", "bytes", SERIES_DELTA))
		abort();
}

static void add(struct series *s, u64 ns, u64 counter, double gauge, double delta)
{
	union series_value *v;
	if (series_row(s, ns, &v))
		abort();
	v[COUNTER].total = counter;
	v[GAUGE].number = gauge;
	v[DELTA].number = delta;
}

static void test_rates(void)
{
	struct series s;
	union series_value *v;
	begin(&s, 10, SERIES_KEEP_LAST);
	add(&s, 1 * SEC, 100, 7, 3);
	add(&s, 3 * SEC, 150, 9, 4);
	ok(isnan(series_rate(&s, 0, COUNTER)), "a counter's first row has no rate");
	ok(series_rate(&s, 1, COUNTER) == 25, "a counter per second");
	ok(series_rate(&s, 1, GAUGE) == 9 && isnan(series_change(&s, 1, GAUGE)),
	   "a gauge is what it is, and has no change");
	ok(series_change(&s, 1, DELTA) == 4 && series_rate(&s, 1, DELTA) == 2,
	   "a delta per second");
	add(&s, 4 * SEC, 10, 9, 4);
	ok(isnan(series_rate(&s, 2, COUNTER)), "a counter that began anew has no rate");
	ok(!series_row(&s, 5 * SEC, &v) && isnan(series_number(&s, 3, COUNTER)) &&
		   isnan(series_number(&s, 3, GAUGE)) && isnan(series_rate(&s, 3, DELTA)),
	   "what was not filled is missing");
	ok(series_row(&s, 5 * SEC, &v) == -EINVAL, "time only grows");
	ok(series_column(&s, "x", "x", "", SERIES_GAUGE) == -EINVAL,
	   "no column after the first row");
	series_done(&s);
}

static void test_last(void)
{
	struct series s;
	begin(&s, 50, SERIES_KEEP_LAST);
	for (u64 i = 1; i <= 1000; i++)
		add(&s, i * SEC, i * i, (double)i, 1);
	ok(s.nr_rows == 50 && s.cap_rows == 50, "no more rows than allowed");
	ok(series_time(&s, 0) == 951 * SEC && series_time(&s, 49) == 1000 * SEC, "the last ones");
	ok(series_rate(&s, 0, COUNTER) == 951 * 951 - 950 * 950,
	   "the first row's rate is known though the one before was dropped");
	ok(series_number(&s, 20, GAUGE) == 971, "rows are in order across the end of the ring");
	series_done(&s);
}

static void test_halves(void)
{
	struct series s;
	double sent = 0, packets = 0;
	begin(&s, 16, SERIES_KEEP_ALL_OF_IT);
	for (u64 i = 1; i <= 100; i++)
		add(&s, i * SEC, i * 10, 5, 2);
	ok(s.nr_rows <= 16 && s.cap_rows == 16, "no more rows than allowed");
	for (size_t row = 0; row < s.nr_rows; row++) {
		sent += series_change(&s, row, DELTA);
		packets += row ? series_change(&s, row, COUNTER) : 0;
		if (row && series_rate(&s, row, COUNTER) != 10)
			sent = -1e9;
		if (series_number(&s, row, GAUGE) != 5)
			sent = -1e9;
	}
	ok(sent == 200, "no amount is lost, and rates stay");
	ok(packets == (double)(1000 - series_values(&s, 0)[COUNTER].total), "nor a count");
	ok(series_time(&s, s.nr_rows - 1) == 100 * SEC && s.nr_rows >= 8, "up to the end");
	bool even = true;
	for (size_t row = 1; row + 2 < s.nr_rows; row++)
		even &= series_time(&s, row) - series_since(&s, row) == 8 * SEC;
	ok(even && series_time(&s, 0) == 8 * SEC, "all rows are of one length but the newest");
	series_done(&s);
}

static void test_means(void)
{
	struct series s;
	begin(&s, 4, SERIES_KEEP_ALL_OF_IT);
	add(&s, 1 * SEC, 0, 1, 1);
	add(&s, 2 * SEC, 0, 2, 1);
	add(&s, 3 * SEC, 0, 10, 1);
	add(&s, 6 * SEC, 0, 2, NAN);
	add(&s, 7 * SEC, 0, 8, 1);
	ok(s.nr_rows == 3 && series_number(&s, 1, GAUGE) == 4,
	   "a gauge's mean is weighted by how long it lasted");
	ok(series_number(&s, 1, DELTA) == 1, "what is missing does not spoil a sum");
	series_done(&s);
}

int main(void)
{
	test_rates();
	test_last();
	test_halves();
	test_means();
	return done_testing();
}
