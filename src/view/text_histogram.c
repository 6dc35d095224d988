#include "view/text_histogram.h"

#include <stdio.h>

enum { RANGE_WIDTH = 16, COUNT_WIDTH = 8, BAR_WIDTH = 52 };

/* 4096 is 4K, where that is exact. */
static void put_bound(struct strbuf *to, s64 v)
{
	static const char units[] = " KMGTPE";
	unsigned unit = 0;
	while (v && v % 1024 == 0 && unit + 2 < sizeof(units)) {
		v /= 1024;
		unit++;
	}
	strbuf_s64(to, v);
	if (unit)
		strbuf_char(to, units[unit]);
}

static void put_range(struct strbuf *to, const struct histogram_bucket *b)
{
	if (!b->no_start && !b->no_end && b->to == b->from + 1) {
		strbuf_char(to, '[');
		put_bound(to, b->from);
		strbuf_char(to, ']');
		return;
	}
	if (b->no_start) {
		strbuf_str(to, "(...");
	} else {
		strbuf_char(to, '[');
		put_bound(to, b->from);
	}
	strbuf_str(to, ", ");
	if (b->no_end)
		strbuf_str(to, "...");
	else
		put_bound(to, b->to);
	strbuf_char(to, ')');
}

void text_histogram(struct histogram *h, struct strbuf *to)
{
	size_t first, end;
	u64 most = 1;
	histogram_range(h, &first, &end);
	for (size_t i = first; i < end; i++)
		most = max(most, histogram_bucket(h, i).count);
	for (size_t i = first; i < end; i++) {
		struct histogram_bucket b = histogram_bucket(h, i);
		size_t bar = (size_t)((double)b.count * BAR_WIDTH / (double)most);
		char count[32];
		struct strbuf range;
		strbuf_init(&range);
		put_range(&range, &b);
		strbuf_left(to, strbuf_cstr(&range), RANGE_WIDTH);
		strbuf_done(&range);
		(void)snprintf(count, sizeof(count), "%*llu", COUNT_WIDTH,
			       (unsigned long long)b.count);
		strbuf_printf(to, "%s |", count);
		strbuf_fill(to, '@', bar);
		strbuf_fill(to, ' ', BAR_WIDTH - bar);
		strbuf_str(to, "|\n");
	}
}
