#include "view/text_kmem.h"

#include "base/printable.h"

#include <stdio.h>
#include <string.h>

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

/* ---- pages -------------------------------------------------------------------------------------------------------- */

enum { GFP_WIDTH = 19, LAST_ORDER = 10 };

void text_page_gfps(const struct page_gfp *gfps, size_t nr, struct strbuf *to)
{
	size_t width = 0;
	for (size_t i = 0; i < nr; i++)
		width = max(width, strlen(gfps[i].brief));
	strbuf_str(to, "#\n# GFP flags\n# ---------\n");
	for (size_t i = 0; i < nr; i++) {
		strbuf_printf(to, "# %08llx: %*s", (ull)gfps[i].flags,
			      (int)(width - strlen(gfps[i].brief)), "");
		printable_name(to, gfps[i].brief);
		strbuf_str(to, ": ");
		printable_name(to, gfps[i].text);
		strbuf_char(to, '\n');
	}
}

/* perf 6.1 has the middle ones the other way round, as they were before Linux 4.0. */
static const char *mobility_name(s32 mobility)
{
	static const char *const names[PAGE_MOBILITIES] = { "UNMOVABL", "MOVABLE", "RECLAIM",
							    "RESERVED", "CMA/ISLT" };
	return mobility >= 0 && mobility < PAGE_MOBILITIES ? names[mobility] : "UNKNOWN";
}

static void add_page_row(const struct page_row *r, const struct text_page_style *s,
			 struct strbuf *to)
{
	if (s->pages)
		strbuf_printf(to, " %16llu |", (ull)r->key);
	strbuf_printf(to, " %16llu | %9llu | %5u | %8s | ",
		      (ull)((s->live ? r->live_bytes : r->bytes) / 1024),
		      (ull)(s->live ? r->nr_live : r->nr_hits), r->order,
		      mobility_name(r->mobility));
	size_t begin = to->len;
	printable_name(to, s->gfps[r->gfp].brief);
	strbuf_fill(to, ' ', (unsigned)(GFP_WIDTH - min(to->len - begin, (size_t)GFP_WIDTH)));
	strbuf_str(to, " | ");
	if (r->name)
		printable_name(to, r->name);
	else
		strbuf_printf(to, "%llx", (ull)r->site);
	strbuf_char(to, '\n');
}

void text_page_rows(const struct page_row *rows, size_t nr, const struct text_page_style *s,
		    struct strbuf *to)
{
	bool cut = s->max_rows && nr > s->max_rows;
	strbuf_char(to, '\n');
	add_rule(to, false);
	if (s->pages)
		strbuf_printf(to, " %-16s |", "PFN");
	strbuf_printf(to, " %5s alloc (KB) | Hits      | Order | Mig.type | %-*s | Callsite\n",
		      s->live ? "Live" : "Total", GFP_WIDTH, "GFP flags");
	add_rule(to, false);
	for (size_t i = 0; i < (cut ? s->max_rows : nr); i++)
		add_page_row(&rows[i], s, to);
	if (cut && s->pages)
		strbuf_printf(to, " %-16s |", "...");
	if (cut)
		strbuf_printf(to, " %-16s | %-9s | %-5s | %-8s | %-*s | ...\n", "...", "...", "...",
			      "...", GFP_WIDTH, "...");
	add_rule(to, false);
}

static void add_sum(const char *what, u64 nr, u64 bytes, struct strbuf *to)
{
	strbuf_printf(to, "%-30s: %16llu   [ %16llu KB ]\n", what, (ull)nr, (ull)(bytes / 1024));
}

static void add_orders(const u64 (*orders)[PAGE_MOBILITIES], struct strbuf *to)
{
	u32 last = LAST_ORDER;
	for (u32 i = last; i < PAGE_ORDERS; i++)
		for (u32 m = 0; m < PAGE_MOBILITIES; m++)
			last = orders[i][m] ? i : last;
	strbuf_str(to, "Order     Unmovable       Movable   Reclaimable      Reserved  "
		       "CMA/Isolated\n");
	strbuf_str(to, "-----  ------------  ------------  ------------  ------------  "
		       "------------\n");
	for (u32 i = 0; i <= last; i++) {
		strbuf_printf(to, "%5u", i);
		for (u32 m = 0; m < PAGE_MOBILITIES; m++)
			if (orders[i][m])
				strbuf_printf(to, "  %12llu", (ull)orders[i][m]);
			else
				strbuf_printf(to, "  %12s", ".");
		strbuf_char(to, '\n');
	}
}

void text_page_summary(const struct page_totals *t, bool live, struct strbuf *to)
{
	strbuf_str(to, "\nSUMMARY (page allocator)\n========================\n");
	add_sum("Total allocation requests", t->allocs.nr, t->allocs.bytes, to);
	add_sum("Total free requests", t->frees.nr, t->frees.bytes, to);
	strbuf_char(to, '\n');
	add_sum("Total alloc+freed requests", t->both.nr, t->both.bytes, to);
	add_sum("Total alloc-only requests", t->allocs.nr - t->both.nr,
		t->allocs.bytes - min(t->allocs.bytes, t->both.bytes), to);
	add_sum("Total free-only requests", t->unseen_allocs.nr, t->unseen_allocs.bytes, to);
	strbuf_char(to, '\n');
	add_sum("Total allocation failures", t->failed.nr, t->failed.bytes, to);
	strbuf_char(to, '\n');
	add_orders(live ? t->live_orders : t->orders, to);
}
