/* Pages of ftrace's ring buffer and samples of perf, byte by byte. */
#include "tap.h"
#include "wire/ftrace_page.h"
#include "wire/perf_sample.h"

#include <stdlib.h>

static const struct page_layout layout = {
	.ts_size = 8, .commit_offset = 8, .commit_size = 8, .data_offset = 16, .data_size = 240
};
enum { MISSED = 1u << 31, STORED = 1u << 30 };

struct page {
	u64 bytes[32];
	u32 used;
};

static void put(struct page *p, u32 word)
{
	memcpy((u8 *)p->bytes + 16 + p->used, &word, 4);
	p->used += 4;
}

static void head(struct page *p, u32 type, u32 delta)
{
	put(p, delta << 5 | type);
}

static struct ftrace_page open_page(struct page *p, u64 time, u32 flags)
{
	struct ftrace_page f;
	p->bytes[0] = time;
	p->bytes[1] = p->used | flags;
	if (ftrace_page_open(&f, &layout, p->bytes, sizeof(p->bytes), false))
		abort();
	return f;
}

static bool next_is(struct ftrace_page *f, u64 time, u32 size, u32 first)
{
	struct ftrace_event e;
	u32 word = 0;
	if (ftrace_page_next(f, &e) != 1)
		return false;
	memcpy(&word, e.data, min(e.size, 4u));
	return e.time == time && e.size == size && word == first;
}

static void test_page(void)
{
	struct page p = { .used = 0 };
	head(&p, 1, 5); /* a short event */
	put(&p, 0x11);
	head(&p, 29, 1); /* one that was discarded, with what looks like events in it */
	put(&p, 12);
	head(&p, 1, 1);
	put(&p, 0x22);
	head(&p, 0, 3); /* a large one: its length counts itself */
	put(&p, 12);
	put(&p, 0x33);
	put(&p, 0x34);
	head(&p, 30, 7); /* more time */
	put(&p, 1);
	head(&p, 2, 0);
	put(&p, 0x44);
	put(&p, 0x45);
	struct ftrace_page f = open_page(&p, 1000, 0);
	struct ftrace_event e;
	ok(next_is(&f, 1005, 4, 0x11), "a short event");
	ok(next_is(&f, 1009, 8, 0x33), "a large one, behind one that was discarded");
	ok(next_is(&f, 1009 + 7 + (1ull << 27), 8, 0x44), "one behind a long time");
	ok(!ftrace_page_next(&f, &e) && !f.bad && !f.missed, "the end");
}

static void test_stamp(void)
{
	struct page p = { .used = 0 };
	u64 high = 3ull << 59, stamp = (1ull << 40) + 9;
	head(&p, 31, (u32)(stamp & ((1u << 27) - 1)));
	put(&p, (u32)(stamp >> 27));
	head(&p, 1, 2);
	put(&p, 0x55);
	struct ftrace_page f = open_page(&p, high | 17, 0);
	ok(next_is(&f, (high | stamp) + 2, 4, 0x55),
	   "an absolute time has the highest bits of the page's");
}

static void test_missed(void)
{
	struct page p = { .used = 0 };
	head(&p, 1, 1);
	put(&p, 1);
	u64 lost = 77;
	memcpy((u8 *)p.bytes + 16 + p.used, &lost, 8);
	struct ftrace_page f = open_page(&p, 1, MISSED | STORED);
	is_u64(f.missed, 77, "the number of lost events behind the last one");
	f = open_page(&p, 1, MISSED);
	is_u64(f.missed, FTRACE_MISSED_UNKNOWN, "lost ones without a number");
}

/* ---- samples ---- */

struct record {
	struct perf_event_header h;
	u64 words[32];
	u32 nr;
};

static void word(struct record *r, u64 v)
{
	r->words[r->nr++] = v;
}

static int decode(struct record *r, const struct perf_event_attr *attr, struct perf_sample_view *v)
{
	struct perf_layout l;
	struct perf_scratch scratch = { 0 };
	r->h = (struct perf_event_header){ .type = PERF_RECORD_SAMPLE,
					   .size = (u16)(sizeof(r->h) + 8 * r->nr) };
	perf_layout_init(&l, attr);
	int err = perf_sample_decode(&l, (const u8 *)r, r->h.size, false, &scratch, v);
	perf_scratch_done(&scratch);
	return err;
}

static void test_tail(void)
{
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ |
						       PERF_SAMPLE_RAW | PERF_SAMPLE_STACK_USER |
						       PERF_SAMPLE_WEIGHT_STRUCT |
						       PERF_SAMPLE_DATA_SRC,
					.read_format =
						PERF_FORMAT_ID | 1u << 4 /* PERF_FORMAT_LOST */ };
	struct perf_sample_view v;
	struct record r = { .nr = 0 };
	word(&r, 0x1234); /* ip */
	word(&r, 1); /* value, id, lost */
	word(&r, 2);
	word(&r, 3);
	word(&r, (u64)0xaabbccdd << 32 | 12); /* raw: size, 12 bytes */
	word(&r, 0x1122334455667788);
	word(&r, 16); /* stack: room, bytes, how many are good */
	word(&r, 0x99);
	word(&r, 0);
	word(&r, 8);
	word(&r, (u64)0x0007 << 48 | (u64)0x0005 << 32 | 40); /* weight */
	word(&r, 0x68); /* data source */
	ok(!decode(&r, &attr, &v), "a sample of many parts");
	ok(v.ip == 0x1234 && v.read_size == 24, "its counts, with the lost ones");
	ok(v.raw && v.raw_size == 12 &&
		   !memcmp(v.raw, "\xdd\xcc\xbb\xaa\x88\x77\x66\x55\x44\x33\x22\x11", 12),
	   "its payload");
	ok(v.stack && v.stack_size == 8 && v.stack[0] == 0x99,
	   "the bytes of the stack that could be copied");
	ok(v.weight == 40 && v.ins_lat == 5 && v.stage_cycles == 7,
	   "the three parts of the weight");
	is_u64(v.data_src, 0x68, "what is behind them");
}

static void test_trailer(void)
{
	struct perf_id_trailer t;
	u64 type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
		   PERF_SAMPLE_IDENTIFIER;
	struct record r = { .nr = 0 };
	word(&r, (u64)8 << 32 | 7);
	word(&r, 99);
	word(&r, 55); /* stream */
	word(&r, 3); /* CPU */
	word(&r, 66);
	ok(!perf_trailer_decode((const u8 *)&r, sizeof(r.h) + 40, false, type, &t),
	   "the end of a record");
	ok(t.pid == 7 && t.tid == 8 && t.time == 99 && t.cpu == 3 && t.id == 66,
	   "the CPU is behind the stream");
}

static void test_map(void)
{
	struct perf_side side;
	struct record r = { .nr = 0 };
	word(&r, (u64)8 << 32 | 7);
	word(&r, 0x1000); /* address, length, offset */
	word(&r, 0x2000);
	word(&r, 0);
	word(&r, (u64)5 << 32 | 259); /* device 259:5 */
	word(&r, 4711);
	word(&r, 0);
	word(&r, 5); /* prot, flags */
	memcpy(&r.words[r.nr++], "file\0\0\0", 8);
	r.h = (struct perf_event_header){ .type = PERF_RECORD_MMAP2,
					  .misc = 1 << 14, /* MMAP_BUILD_ID */
					  .size = (u16)(sizeof(r.h) + 8 * r.nr) };
	ok(!perf_side_decode((const u8 *)&r, r.h.size, false, 0, false, &side),
	   "a map with the mark of a build id that is none");
	ok(!side.build_id && side.ino == 4711 && side.dev == ((u64)259 << 32 | 5),
	   "has its device");
	is_str(side.name, "file", "and its name");
}

int main(void)
{
	test_page();
	test_stamp();
	test_missed();
	test_tail();
	test_trailer();
	test_map();
	return done_testing();
}
