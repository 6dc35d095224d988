#include "gen/ftrace_gen.h"
#include "tap.h"
#include "wire/ftrace_page.h"

#include <errno.h>

static struct page_layout layout(u32 size, u8 long_size)
{
	return (struct page_layout){ .ts_size = 8,
				     .commit_offset = 8,
				     .commit_size = long_size,
				     .data_offset = 8u + long_size,
				     .data_size = size - 8 - long_size };
}

static void walk_all_forms(u32 size, u8 long_size, bool big_endian)
{
	struct gen_page g;
	struct page_layout l = layout(size, long_size);
	char what[64];
	snprintf(what, sizeof(what), "%u bytes, %u-bit commit, %s", size, long_size * 8,
		 big_endian ? "big" : "little");
	gen_page_init(&g, size, long_size, big_endian, 1000);
	u64 big = (1ull << 40) + 77;
	bool wrote = gen_page_event(&g, 1000, "abcd", 4) &&
		     gen_page_event(&g, 1005, "efghijkl", 8) &&
		     gen_page_long_event(&g, 1010, "long-form", 9) && gen_page_discard(&g, 3, 16) &&
		     gen_page_event(&g, big, "mnop", 4) && gen_page_absolute(&g, big + 5) &&
		     gen_page_event(&g, big + 6, "qrst", 4) && gen_page_end_padding(&g) &&
		     gen_page_event(&g, big + 9, "not read", 8);
	ok(wrote, "%s: written", what);
	gen_page_finish(&g, 0);

	struct ftrace_page p;
	ok(!ftrace_page_open(&p, &l, g.buf, size, big_endian), "%s: opened", what);
	is_u64(p.missed, 0, "nothing missed");
	static const struct {
		const char *data;
		u32 size;
	} want[] = {
		{ "abcd", 4 }, { "efghijkl", 8 }, { "long-form", 12 }, { "mnop", 4 }, { "qrst", 4 }
	};
	const u64 times[] = { 1000, 1005, 1010, big, big + 6 };
	struct ftrace_event e;
	unsigned nr = 0;
	bool good = true;
	while (ftrace_page_next(&p, &e) > 0 && nr < ARRAY_SIZE(want)) {
		good &= e.time == times[nr] && e.size == want[nr].size &&
			!strncmp((const char *)e.data, want[nr].data, strlen(want[nr].data));
		nr++;
	}
	ok(good && nr == ARRAY_SIZE(want) && !p.bad, "%s: five events, the padding ends the page",
	   what);
	is_u64(ftrace_page_time(&l, g.buf, size, big_endian), 1000, "time from the header alone");
	ok(!ftrace_page_empty(&l, g.buf, size, big_endian), "not empty");
	gen_page_done(&g);
}

static void missed_forms(void)
{
	const u64 counts[] = { UINT64_MAX, 7, 1ull << 40 };
	const u64 want[] = { FTRACE_MISSED_UNKNOWN, 7, FTRACE_MISSED_UNKNOWN - 1 };
	for (unsigned i = 0; i < ARRAY_SIZE(counts); i++) {
		struct gen_page g;
		struct page_layout l = layout(4096, 8);
		gen_page_init(&g, 4096, 8, false, 1);
		(void)gen_page_event(&g, 2, "abcd", 4);
		gen_page_finish(&g, counts[i]);
		struct ftrace_page p;
		struct ftrace_event e;
		ok(!ftrace_page_open(&p, &l, g.buf, 4096, false), "opened");
		is_u64(p.missed, want[i], "missed events are told");
		is_u64(ftrace_page_next(&p, &e), 1, "and the page is read");
		gen_page_done(&g);
	}
}

static void broken_pages(void)
{
	struct gen_page g;
	struct page_layout l = layout(4096, 8);
	gen_page_init(&g, 4096, 8, false, 1);
	for (unsigned i = 0; i < 3; i++)
		(void)gen_page_event(&g, 2 + i, "abcdefgh", 8);
	gen_page_finish(&g, 0);
	struct ftrace_page p;
	struct ftrace_event e;
	is_u64((u64)-ftrace_page_open(&p, &l, g.buf, 15, false), EBADMSG,
	       "half a header is refused");
	unsigned nr = 0;
	ok(!ftrace_page_open(&p, &l, g.buf, 16 + 12 + 6, false) && p.bad,
	   "a cut page is opened and marked");
	while (ftrace_page_next(&p, &e) > 0)
		nr++;
	is_u64(nr, 1, "and gives the events that are whole");
	/* An absolute time keeps the top five bits of the time before it. */
	gen_page_done(&g);
	u64 top = 3ull << 60;
	gen_page_init(&g, 4096, 8, false, top + 5);
	(void)(gen_page_absolute(&g, 1234) && gen_page_event(&g, 1234, "abcd", 4));
	gen_page_finish(&g, 0);
	ok(!ftrace_page_open(&p, &l, g.buf, 4096, false) && ftrace_page_next(&p, &e) == 1,
	   "opened");
	is_u64(e.time, top + 1234, "top bits kept");
	gen_page_done(&g);
}

int main(void)
{
	walk_all_forms(4096, 8, false);
	walk_all_forms(4096, 4, false);
	walk_all_forms(4096, 8, true);
	walk_all_forms(65536, 4, true);
	walk_all_forms(8192, 8, false);
	walk_all_forms(1024, 8, false);
	missed_forms();
	broken_pages();
	return done_testing();
}
