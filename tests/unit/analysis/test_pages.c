/* Pages of the kernel: who asked for them, what is held at the end, what was not seen, and how flags are shortened. */
#include "analysis/page_held.h"
#include "tap.h"

#include <stddef.h>

struct raw {
	u64 pfn, gfp;
	u32 order;
	s32 mobility;
};

#define FIELD(n, f, extra)                                                                         \
	{                                                                                          \
		.name = (n), .offset = offsetof(struct raw, f),                                    \
		.size = sizeof(((struct raw *)0)->f), .flags = (extra)                             \
	}
static const struct schema_field fields[] = {
	FIELD("pfn", pfn, 0),
	FIELD("order", order, 0),
	FIELD("gfp_flags", gfp, 0),
	FIELD("migratetype", mobility, FIELD_SIGNED),
};

static int print_alloc(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	const struct raw *r = raw;
	strbuf_printf(to, "page=x pfn=0x%llx order=%u gfp_flags=%s", (unsigned long long)r->pfn,
		      r->order, r->gfp == 1 ? "GFP_KERNEL|__GFP_ZERO" : "GFP_HIGHUSER|0x4000");
	return 0;
}
static const struct schema_ops alloc_ops = { .print = print_alloc };

enum { ALLOC, FREE };
static const struct schema schemas[] = {
	[ALLOC] = { .system = "kmem",
		    .name = "mm_page_alloc",
		    .fields = fields,
		    .nr_fields = 4,
		    .ops = &alloc_ops },
	[FREE] = { .system = "kmem", .name = "mm_page_free", .fields = fields, .nr_fields = 2 },
};

static void *state;

static void put(struct page_held *p, u32 what, u32 chain, struct raw raw)
{
	struct sink *sink = page_held_sink(p);
	struct sample s = { .event = what,
			    .chain = chain,
			    .ip = 0xffffffff81000000,
			    .raw = &raw,
			    .raw_size = sizeof(raw),
			    .schema = &schemas[what] };
	ok(!sink->ops->feed(sink, state, &(struct batch){ .samples = &s, .nr = 1 }), "fed");
}

static void held(void)
{
	struct page_held *p = page_held_new(4096);
	struct sink *sink = page_held_sink(p);
	ok(!sink->ops->shard_new(sink, 0, NULL, &state), "a worker");
	put(p, FREE, 0, (struct raw){ .pfn = 900 }); /* allocated before */
	put(p, ALLOC, 5, (struct raw){ .pfn = 100, .gfp = 1 });
	put(p, ALLOC, 5, (struct raw){ .pfn = 101, .gfp = 1 });
	put(p, ALLOC, 5, (struct raw){ .pfn = 200, .gfp = 2, .order = 3, .mobility = 1 });
	put(p, ALLOC, 6, (struct raw){ .pfn = 100, .gfp = 1 }); /* its free was missed */
	put(p, FREE, 0, (struct raw){ .pfn = 101 });
	put(p, FREE, 0, (struct raw){ .pfn = 101 }); /* again */
	put(p, ALLOC, 5, (struct raw){ .pfn = UINT64_MAX, .gfp = 1, .order = 9 }); /* failed */
	put(p, ALLOC, 5, (struct raw){ .pfn = 300, .gfp = 1, .order = 77, .mobility = -5 });
	size_t nr;
	const struct page_row *c = page_held_chains(p, &nr);
	is_u64(nr, 4, "rows by chain, flags, order and mobility");
	is_u64(c[0].nr_hits, 2, "two of the first kind");
	is_u64(c[0].nr_live, 0, "none is held");
	is_u64(c[1].live_bytes, 8 * 4096, "eight pages of the second are");
	is_u64(c[2].nr_live, 1, "the one that was allocated again is its new owner's");
	const struct page_row *pages = page_held_pages(p, &nr);
	is_u64(nr, 4, "rows by page");
	is_u64(pages[0].nr_hits, 2, "page 100 was allocated twice");
	is_u64(pages[0].nr_live, 1, "and is held once");
	const struct page_totals *t = page_held_totals(p);
	is_u64(t->allocs.nr, 6, "requests");
	is_u64(t->failed.bytes, 512 * 4096, "one failed");
	is_u64(t->frees.nr, 3, "frees");
	is_u64(t->both.nr, 1, "one of a page that was seen");
	is_u64(t->unseen_allocs.nr, 2, "two of pages that were not, or not any more");
	is_u64(t->nr_unseen_frees, 1, "one free was missed");
	is_u64(t->orders[0][0], 3, "single pages");
	is_u64(t->live_orders[3][1], 1, "the large one is held");
	const struct page_gfp *g = page_held_gfps(p, &nr);
	is_u64(nr, 2, "two kinds of flags");
	is_str(g[0].text, "GFP_KERNEL|__GFP_ZERO", "in the kernel's words");
	is_str(g[0].brief, "K|Z", "and perf's");
	is_str(g[1].brief, "HU|0x4000", "what has no name stays");
	page_held_free(p);
}

static void names(void)
{
	char text[8];
	page_gfp_short("GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO", text, sizeof(text));
	is_str(text, "HUM|C|Z", "fits");
	page_gfp_short("GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_NOWARN", text, sizeof(text));
	is_u64(strnlen(text, sizeof(text)) < sizeof(text), 1, "never beyond its room");
	ok(page_function_name("__alloc_frozen_pages_noprof"), "the allocator");
	ok(page_function_name("vma_alloc_folio_noprof"), "and its layers");
	ok(!page_function_name("do_anonymous_page"), "who wants the page");
	ok(!page_function_name("pte_alloc_one"), "or a page table");
}

int main(void)
{
	held();
	names();
	return done_testing();
}
