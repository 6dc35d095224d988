#include "view/text_kmem.h"

#include "base/printable.h"

#include <stdio.h>

typedef unsigned long long ull;

enum { RULE_WIDTH = 105, NAME_WIDTH = 34 };

static void add_rule(struct strbuf *to, bool held)
{
	for (int i = 0; i < RULE_WIDTH + (held ? 12 : 0); i++)
		strbuf_char(to, '-');
	strbuf_char(to, '\n');
}

static void add_row(const struct kmem_row *r, const struct text_kmem_style *s, struct strbuf *to)
{
	char hex[32];
	u64 hits = max(r->nr_hits, (u64)1);
	(void)snprintf(hex, sizeof(hex), "0x%llx", (ull)r->key);
	strbuf_char(to, ' ');
	printable_left(to, r->name ? r->name : hex, NAME_WIDTH);
	strbuf_printf(to, " | %9llu/%-5llu | %9llu/%-5llu | %8llu | %9llu | %6.3f%%", (ull)r->alloc,
		      (ull)(r->alloc / hits), (ull)r->req, (ull)(r->req / hits), (ull)r->nr_hits,
		      (ull)r->nr_pingpong, kmem_waste(r->req, r->alloc));
	if (s->held)
		strbuf_printf(to, " | %9llu", (ull)r->held);
	strbuf_char(to, '\n');
}

void text_kmem_rows(const struct kmem_row *rows, size_t nr, const struct text_kmem_style *s,
		    struct strbuf *to)
{
	bool cut = s->max_rows && nr > s->max_rows;
	add_rule(to, s->held);
	strbuf_printf(to, " %-*s |", NAME_WIDTH, s->addresses ? "Alloc Ptr" : "Callsite");
	strbuf_str(to, " Total_alloc/Per | Total_req/Per   | Hit      | Ping-pong | Frag");
	strbuf_str(to, s->held ? "    | Held\n" : "\n");
	add_rule(to, s->held);
	for (size_t i = 0; i < (cut ? s->max_rows : nr); i++)
		add_row(&rows[i], s, to);
	if (cut)
		strbuf_printf(to, " %-*s | %-15s | %-15s | %-8s | %-9s | %-6s\n", NAME_WIDTH, "...",
			      "...", "...", "...", "...", "...");
	add_rule(to, s->held);
}

void text_kmem_summary(const struct kmem_totals *t, struct strbuf *to)
{
	strbuf_str(to, "\nSUMMARY (SLAB allocator)\n========================\n");
	strbuf_printf(to, "Total bytes requested: %llu\n", (ull)t->req);
	strbuf_printf(to, "Total bytes allocated: %llu\n", (ull)t->alloc);
	strbuf_printf(to, "Total bytes freed:     %llu\n", (ull)t->freed);
	if (t->alloc > t->freed)
		strbuf_printf(to, "Net total bytes allocated: %llu\n", (ull)(t->alloc - t->freed));
	strbuf_printf(to, "Total bytes wasted on internal fragmentation: %llu\n",
		      (ull)(t->alloc - t->req));
	strbuf_printf(to, "Internal fragmentation: %f%%\n", kmem_waste(t->req, t->alloc));
	strbuf_printf(to, "Cross CPU allocations: %llu/%llu\n", (ull)t->nr_cross_node,
		      (ull)t->nr_allocs);
}
