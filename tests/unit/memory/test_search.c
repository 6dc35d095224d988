/* search: values and texts in a buffer that plays memory. */
#include "tap.h"

#include "memory/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BASE = 0x100000, SIZE = 3 * MEMORY_PIECE + 100 };

static u8 bytes[SIZE];

static void need(bool good, const char *what)
{
	if (!good) {
		ok(false, "%s", what);
		exit(1);
	}
}

struct found {
	u64 addr[8], value[8];
	u32 nr, stop_at;
	char after[64];
};

static int note(void *ctx, const struct search_hit *h)
{
	struct found *f = ctx;
	if (f->nr < ARRAY_SIZE(f->addr)) {
		f->addr[f->nr] = h->addr;
		f->value[f->nr] = h->value;
	}
	f->nr++;
	if (h->after)
		(void)snprintf(f->after, sizeof(f->after), "%.*s", (int)h->nr_after, h->after);
	return f->nr == f->stop_at;
}

static int search(const struct memory_search *s, struct found *f, struct search_end *end)
{
	struct diag d;
	struct kspace k;
	const struct kspace_opts o = { .memory = KSPACE_MEMORY_AUTO };
	diag_init(&d);
	kspace_init(&k, &o, &d);
	need(!memory_open_bytes(BASE, bytes, sizeof(bytes), &k.memory), "memory");
	int err = search_run(&k, s, note, f, end);
	kspace_done(&k);
	diag_done(&d);
	return err;
}

static void test_values(void)
{
	const u64 values[] = { 0x1122334455667788, 0xdead };
	struct memory_search s = {
		.start = BASE, .end = BASE + SIZE, .bytes = 8, .values = values, .nr_values = 1
	};
	struct found f = { 0 };
	struct search_end end;
	int err;
	memcpy(bytes + 8, &values[0], 8);
	memcpy(bytes + MEMORY_PIECE - 8, &values[0], 8);
	memcpy(bytes + MEMORY_PIECE + 20, &values[0], 8); /* not at a multiple of 8 */
	err = search(&s, &f, &end);
	ok(!err && f.nr == 2 && f.addr[0] == BASE + 8 && f.addr[1] == BASE + MEMORY_PIECE - 8,
	   "values at multiples of their size: %u", f.nr);
	ok(end.hits == 2 && end.pages == 4 && !end.unreadable, "what was looked at: %llu pages",
	   (unsigned long long)end.pages);
	f = (struct found){ 0 };
	s.bytes = 4;
	const u64 half = 0x55667788;
	s.values = &half;
	err = search(&s, &f, &end);
	ok(!err && f.nr == 3, "32 bits: %u", f.nr);
	f = (struct found){ 0 };
	s.bytes = 8;
	const u64 near = 0x1122334455667000;
	s.values = &near;
	err = search(&s, &f, &end);
	ok(!err && !f.nr, "another value");
	s.ignored = 0xfff;
	err = search(&s, &f, &end);
	ok(!err && f.nr == 2 && f.value[0] == values[0], "bits that are ignored");
	f = (struct found){ .stop_at = 1 };
	err = search(&s, &f, &end);
	ok(!err && f.nr == 1, "it ends when told");
	f = (struct found){ 0 };
	s.start = BASE + 9;
	err = search(&s, &f, &end);
	ok(!err && f.nr == 1, "a start in the middle");
	f = (struct found){ 0 };
	s.start = BASE;
	s.end = BASE + 15;
	err = search(&s, &f, &end);
	ok(!err && !f.nr, "an end in the middle of the value");
}

static void test_text(void)
{
	struct memory_search s = { .start = BASE, .end = BASE + SIZE, .text = "needle" };
	struct found f = { 0 };
	struct search_end end;
	int err;
	memcpy(bytes + MEMORY_PIECE - 3, "needle in a haystack", 20);
	memcpy(bytes + 2 * MEMORY_PIECE + 1, "needle", 6);
	err = search(&s, &f, &end);
	ok(!err && f.nr == 2 && f.addr[0] == BASE + MEMORY_PIECE - 3 &&
		   f.addr[1] == BASE + 2 * MEMORY_PIECE + 1,
	   "a text over the border of two pages, and one inside: %u", f.nr);
	f = (struct found){ .stop_at = 1 };
	err = search(&s, &f, &end);
	ok(!err && !strncmp(f.after, " in a haystack", 14), "what follows: '%s'", f.after);
	s.text = "";
	ok(search(&s, &f, &end) == -EINVAL, "no text");
	char longer[SEARCH_TEXT_MAX + 2];
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	s.text = longer;
	ok(search(&s, &f, &end) == -EINVAL, "a text that is too long");
}

static void test_holes(void)
{
	const u64 value = 0x1122334455667788;
	struct memory_search s = { .start = BASE - 2 * MEMORY_PIECE,
				   .end = BASE + MEMORY_PIECE,
				   .bytes = 8,
				   .values = &value,
				   .nr_values = 1 };
	struct found f = { 0 };
	struct search_end end;
	int err;
	/* Of the two that were written first, a text has overwritten the second. */
	err = search(&s, &f, &end);
	ok(!err && f.nr == 1 && end.unreadable == 2 && end.pages == 3,
	   "pages that cannot be read are passed over");
	s.start = BASE + 16;
	s.end = BASE + 8;
	ok(search(&s, &f, &end) == -EINVAL, "a range that ends before it starts");
	s.start = s.end = BASE + 8;
	f = (struct found){ 0 };
	err = search(&s, &f, &end);
	ok(!err && !f.nr && !end.pages, "an empty range");
	s.start = UINT64_MAX - 100;
	s.end = UINT64_MAX;
	err = search(&s, &f, &end);
	ok(!err && end.pages == 1 && end.unreadable == 1, "the last addresses of all");
}

int main(void)
{
	test_values();
	test_text();
	test_holes();
	return done_testing();
}
