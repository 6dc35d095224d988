/* The ring reader on memory made here: records that wrap, full and empty rings, overwritten ones, nonsense. */
#include "kern/perf_ring.h"
#include "tap.h"

#include <stdlib.h>

enum { SIZE = 256 };

struct fake {
	struct perf_event_mmap_page page;
	_Alignas(8) u8 data[SIZE];
	struct perf_ring ring;
};

static struct fake *fake_new(void)
{
	struct fake *f = calloc(1, sizeof(*f));
	f->ring = (struct perf_ring){ .page = &f->page, .data = f->data, .size_bytes = SIZE };
	return f;
}

/* A record whose body counts up from tag, as the kernel would write it at position at. */
static void put(struct fake *f, u64 at, u32 type, u16 size, u8 tag)
{
	u8 rec[SIZE];
	struct perf_event_header h = { .type = type, .size = size };
	memcpy(rec, &h, sizeof(h));
	for (unsigned i = sizeof(h); i < size; i++)
		rec[i] = (u8)(tag + i);
	for (unsigned i = 0; i < size; i++)
		f->data[(at + i) % SIZE] = rec[i];
}

static bool intact(const struct perf_event_header *h, u8 tag)
{
	for (unsigned i = sizeof(*h); i < h->size; i++)
		if (((const u8 *)h)[i] != (u8)(tag + i))
			return false;
	return true;
}

static void test_forward(void)
{
	struct fake *f = fake_new();
	struct ring_span s;
	u8 scratch[1 << 16];
	size_t pos = 0;
	ok(!perf_ring_peek(&f->ring, &s), "an empty ring");

	/* Positions far beyond the size, a record that wraps in its body, one behind it. */
	u64 at = 10 * SIZE + 232;
	f->page.data_tail = at;
	put(f, at, 1, 16, 1);
	put(f, at + 16, 2, 40, 2); /* 8 bytes before the end */
	put(f, at + 56, 3, 8, 3);
	f->page.data_head = at + 64;
	ok(perf_ring_peek(&f->ring, &s) && s.len[0] == 24 && s.len[1] == 40, "two pieces");
	const struct perf_event_header *h = ring_span_next(&s, &pos, true, scratch);
	ok(h && h->type == 1 && (const u8 *)h == f->data + 232 && intact(h, 1),
	   "the first is borrowed");
	h = ring_span_next(&s, &pos, true, scratch);
	ok(h && h->type == 2 && (const u8 *)h == scratch && intact(h, 2),
	   "the one that wraps is put together");
	h = ring_span_next(&s, &pos, true, scratch);
	ok(h && h->type == 3 && h->size == 8, "the one behind it");
	ok(!ring_span_next(&s, &pos, true, scratch) && pos == ring_span_len(&s), "the end");
	u8 body[32];
	ok(ring_span_copy(&s, 24, body, 32) && body[0] == 2 + 8 && body[31] == 2 + 39,
	   "a copy across the wrap");
	ok(!ring_span_copy(&s, 40, body, 32), "not beyond the end");
	ok(ring_span_copy(&s, 32, body, 8) && body[0] == 2 + 16 && body[7] == 2 + 23,
	   "a copy from behind the wrap");
	perf_ring_consume(&f->ring, s.head);
	ok(f->page.data_tail == at + 64 && !perf_ring_peek(&f->ring, &s), "given back");

	/* Quite full; then a head that no kernel writes. */
	f->page.data_tail = 5 * SIZE + 8;
	f->page.data_head = 6 * SIZE + 8;
	ok(perf_ring_peek(&f->ring, &s) && ring_span_len(&s) == SIZE && s.len[0] == SIZE - 8,
	   "a full ring");
	f->page.data_head = 9 * SIZE;
	ok(!perf_ring_peek(&f->ring, &s), "a head beyond the ring is not followed");

	static const u16 bad[] = { 0, 4, 7, 12, SIZE };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		f->page.data_tail = 0;
		f->page.data_head = 64;
		struct perf_event_header nonsense = { .type = 9, .size = bad[i] };
		memcpy(f->data, &nonsense, sizeof(nonsense));
		pos = 0;
		ok(perf_ring_peek(&f->ring, &s) && !ring_span_next(&s, &pos, true, scratch) &&
			   pos == 0,
		   "a record of size %u stops the walk", bad[i]);
	}
	free(f);
}

static void test_backward(void)
{
	struct fake *f = fake_new();
	struct ring_span s;
	size_t pos = 0;
	f->ring.overwrite = true;
	ok(!perf_ring_snapshot(&f->ring, 0, &s), "nothing written yet");
	/* Newest at head; each one lies below the one before. */
	u64 head = 0;
	for (unsigned i = 1; i <= 3; i++) {
		head -= 24;
		put(f, head, i, 24, (u8)i);
	}
	f->page.data_head = head;
	ok(perf_ring_snapshot(&f->ring, 0, &s) && ring_span_len(&s) == 72,
	   "three records, nothing behind them");
	const struct perf_event_header *h = ring_span_next(&s, &pos, false, NULL);
	ok(h && h->type == 3, "the newest comes first");
	u64 seen = head;
	head -= 24;
	put(f, head, 9, 24, 9);
	f->page.data_head = head;
	ok(perf_ring_snapshot(&f->ring, seen, &s) && ring_span_len(&s) == 24,
	   "only what came since the last time");
	/* Written over several times: the oldest is cut and left out. */
	for (unsigned i = 4; i <= 40; i++) {
		head -= 24;
		put(f, head, i, 24, (u8)i);
	}
	f->page.data_head = head;
	ok(perf_ring_snapshot(&f->ring, 0, &s), "overwritten");
	is_u64(ring_span_len(&s), SIZE / 24 * 24, "whole records only");
	unsigned want = 40;
	bool good = true;
	u8 scratch[1 << 16];
	for (pos = 0; (h = ring_span_next(&s, &pos, true, scratch)); want--)
		good = good && h->type == want && intact(h, (u8)want);
	ok(good && want == 30, "the ten newest, newest first");
	free(f);
}

int main(void)
{
	test_forward();
	test_backward();
	return done_testing();
}
