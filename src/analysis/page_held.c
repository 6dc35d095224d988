#include "analysis/page_held.h"

#include "base/arena.h"
#include "base/dict.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum page_meaning { MEANS_UNKNOWN, MEANS_NOTHING, MEANS_ALLOC, MEANS_FREE };

struct page_event_use {
	enum page_meaning means;
	const struct schema_field *pfn, *order, *gfp, *mobility;
};

/* A page frame that was allocated, whether it still is or not. */
struct page_state {
	bool live;
	u32 chain_row, page_row; /* of the allocation */
	u32 order;
	s32 mobility;
};

/* Of one kind, found by the hash of what they are about. */
struct page_rows {
	VEC(struct page_row) list;
	struct dict of;
};

struct page_held {
	struct sink sink;
	u64 page_bytes;
	VEC(struct page_event_use) uses;
	struct page_rows chains, pages;
	VEC(struct page_gfp) gfps;
	VEC(struct page_state) states;
	struct dict gfp_of, state_of; /* flags, page frame -> index */
	struct page_totals totals;
	struct arena arena;
	struct strbuf text;
};

/* ---- names -------------------------------------------------------------------------------------------------------- */

bool page_function_name(const char *name)
{
	static const char *const starts[] = {
		"alloc_page",	       "alloc_frozen_page", "alloc_pages",
		"get_free_page",       "get_zeroed_page",   "get_page_from_fr",
		"folio_alloc",	       "vma_alloc_folio",   "vma_alloc_zeroed_mo",
		"alloc_contig",	       "alloc_anon_folio",  "traceiter_mm_page",
		"perf_trace_mm_page",  "post_alloc_hook",   "folio_prealloc",
		"filemap_alloc_folio",
	};
	while (*name == '_')
		name++;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (str_starts(name, starts[i]))
			return true;
	return false;
}

/* perf's short names; two of them stand for two flags each. */
static const struct {
	const char *name, *brief;
} gfp_names[] = {
	{ "GFP_TRANSHUGE", "THP" },
	{ "GFP_TRANSHUGE_LIGHT", "THL" },
	{ "GFP_HIGHUSER_MOVABLE", "HUM" },
	{ "GFP_HIGHUSER", "HU" },
	{ "GFP_USER", "U" },
	{ "GFP_KERNEL_ACCOUNT", "KAC" },
	{ "GFP_KERNEL", "K" },
	{ "GFP_NOFS", "NF" },
	{ "GFP_ATOMIC", "A" },
	{ "GFP_NOIO", "NI" },
	{ "GFP_NOWAIT", "NW" },
	{ "GFP_DMA", "D" },
	{ "__GFP_HIGHMEM", "HM" },
	{ "GFP_DMA32", "D32" },
	{ "__GFP_HIGH", "H" },
	{ "__GFP_IO", "I" },
	{ "__GFP_FS", "F" },
	{ "__GFP_NOWARN", "NWR" },
	{ "__GFP_RETRY_MAYFAIL", "R" },
	{ "__GFP_NOFAIL", "NF" },
	{ "__GFP_NORETRY", "NR" },
	{ "__GFP_COMP", "C" },
	{ "__GFP_ZERO", "Z" },
	{ "__GFP_NOMEMALLOC", "NMA" },
	{ "__GFP_MEMALLOC", "MA" },
	{ "__GFP_HARDWALL", "HW" },
	{ "__GFP_THISNODE", "TN" },
	{ "__GFP_RECLAIMABLE", "RC" },
	{ "__GFP_MOVABLE", "M" },
	{ "__GFP_ACCOUNT", "AC" },
	{ "__GFP_WRITE", "WR" },
	{ "__GFP_RECLAIM", "R" },
	{ "__GFP_DIRECT_RECLAIM", "DR" },
	{ "__GFP_KSWAPD_RECLAIM", "KR" },
};

static const char *brief_name(const char *name, size_t *len)
{
	for (size_t i = 0; i < ARRAY_SIZE(gfp_names); i++) {
		if (strlen(gfp_names[i].name) != *len || memcmp(gfp_names[i].name, name, *len))
			continue;
		*len = strlen(gfp_names[i].brief);
		return gfp_names[i].brief;
	}
	return name;
}

void page_gfp_short(const char *text, char *to, size_t size)
{
	size_t used = 0;
	to[0] = '\0';
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, "|"), brief_len = len;
		const char *brief = brief_name(at, &brief_len);
		int put = snprintf(to + used, size - used, "%s%.*s", used ? "|" : "",
				   (int)brief_len, brief);
		if (put < 0 || (size_t)put >= size - used)
			return;
		used += (size_t)put;
		at += len + (at[len] == '|');
	}
}

/* What the event's format prints after "gfp_flags=", which is its last word. */
static const char *flags_text(struct page_held *p, const struct sample *s)
{
	static const char before[] = "gfp_flags=";
	strbuf_reset(&p->text);
	if (!s->schema->ops || !s->schema->ops->print ||
	    s->schema->ops->print(s->schema, s->raw, s->raw_size, &p->text))
		return NULL;
	const char *at = strstr(strbuf_cstr(&p->text), before);
	return at ? at + sizeof(before) - 1 : NULL;
}

static int gfp_index(struct page_held *p, const struct sample *s, u64 flags, u32 *ret)
{
	enum { TEXT_MAX = 512 };
	char text[TEXT_MAX], brief[TEXT_MAX];
	int err = dict_add(&p->gfp_of, flags, (u32)p->gfps.nr, ret);
	if (err < 0 || *ret < p->gfps.nr)
		return min(err, 0);
	const char *words = flags_text(p, s);
	if (words)
		(void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(words, " \n"), words);
	else
		(void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)flags);
	page_gfp_short(text, brief, sizeof(brief));
	struct page_gfp *g = vec_push(&p->gfps);
	if (!g)
		return -ENOMEM;
	*g = (struct page_gfp){ .flags = flags,
				.text = arena_strdup(&p->arena, text),
				.brief = arena_strdup(&p->arena, brief) };
	return g->text && g->brief ? 0 : -ENOMEM;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int find_row(struct page_rows *rows, const struct page_row *like, u64 about, u32 *ret)
{
	u64 key = hash_seeded(about, hash_seed());
	key = hash_seeded(like->order | (u64)(u32)like->mobility << 32, key);
	key = hash_seeded(like->gfp, key);
	if (dict_add(&rows->of, key, (u32)rows->list.nr, ret) < 0)
		return -ENOMEM;
	if (*ret < rows->list.nr)
		return 0;
	struct page_row *r = vec_push(&rows->list);
	if (!r)
		return -ENOMEM;
	*r = *like;
	return 0;
}

static struct page_state *state_of(struct page_held *p, u64 pfn)
{
	u32 at;
	if (dict_add(&p->state_of, pfn, (u32)p->states.nr, &at) < 0)
		return NULL;
	return at < p->states.nr ? &p->states.at[at] : vec_push(&p->states);
}

static void add(struct page_sum *s, u64 bytes)
{
	s->nr++;
	s->bytes += bytes;
}

static bool in_table(u32 order, s32 mobility)
{
	return order < PAGE_ORDERS && mobility >= 0 && mobility < PAGE_MOBILITIES;
}

static void give_back(struct page_held *p, struct page_state *st, u64 bytes)
{
	struct page_row *rows[] = { &p->chains.list.at[st->chain_row],
				    &p->pages.list.at[st->page_row] };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rows[i]->nr_live--;
		rows[i]->live_bytes -= bytes;
	}
	if (in_table(st->order, st->mobility))
		p->totals.live_orders[st->order][st->mobility]--;
	st->live = false;
}

static void count(struct page_row *r, u64 bytes)
{
	r->nr_hits++;
	r->bytes += bytes;
	r->nr_live++;
	r->live_bytes += bytes;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static u64 number(const struct sample *s, const struct schema_field *f)
{
	return f ? schema_u64(s->schema, f, s->raw, s->raw_size) : 0;
}

static int on_alloc(struct page_held *p, const struct sample *s, const struct page_event_use *u)
{
	u64 pfn = number(s, u->pfn);
	struct page_row like = { .key = s->ip,
				 .site = s->ip,
				 .chain = s->chain,
				 .order = min((u32)number(s, u->order), (u32)PAGE_ORDERS - 1),
				 .mobility = (s32)number(s, u->mobility) };
	u64 bytes = p->page_bytes << like.order;
	u32 chain, page;
	add(&p->totals.allocs, bytes);
	if (pfn == UINT64_MAX || !pfn) {
		add(&p->totals.failed, bytes);
		return 0;
	}
	int err = gfp_index(p, s, number(s, u->gfp), &like.gfp);
	if (!err)
		err = find_row(&p->chains, &like, s->chain ? (u64)s->chain : s->ip, &chain);
	like.key = pfn;
	if (!err)
		err = find_row(&p->pages, &like, pfn, &page);
	struct page_state *st = err ? NULL : state_of(p, pfn);
	if (!st)
		return err ? err : -ENOMEM;
	if (st->live) {
		p->totals.nr_unseen_frees++;
		give_back(p, st, p->page_bytes << st->order);
	}
	*st = (struct page_state){ true, chain, page, like.order, like.mobility };
	p->pages.list.at[page].chain = s->chain;
	p->pages.list.at[page].site = s->ip;
	count(&p->chains.list.at[chain], bytes);
	count(&p->pages.list.at[page], bytes);
	if (in_table(like.order, like.mobility)) {
		p->totals.orders[like.order][like.mobility]++;
		p->totals.live_orders[like.order][like.mobility]++;
	}
	return 0;
}

static void on_free(struct page_held *p, const struct sample *s, const struct page_event_use *u)
{
	u32 order = min((u32)number(s, u->order), (u32)PAGE_ORDERS - 1);
	u64 bytes = p->page_bytes << order;
	u32 at = dict_get(&p->state_of, number(s, u->pfn));
	struct page_state *st = at == DICT_NONE ? NULL : &p->states.at[at];
	add(&p->totals.frees, bytes);
	if (!st || !st->live) {
		add(&p->totals.unseen_allocs, bytes);
		return;
	}
	add(&p->totals.both, bytes);
	give_back(p, st, p->page_bytes << st->order);
}

static void find_use(const struct schema *s, struct page_event_use *u)
{
	*u = (struct page_event_use){ .means = MEANS_NOTHING };
	if (strcmp(s->system, "kmem"))
		return;
	u->pfn = schema_find(s, "pfn");
	if (!u->pfn)
		u->pfn = schema_find(s, "page");
	u->order = schema_find(s, "order");
	u->gfp = schema_find(s, "gfp_flags");
	u->mobility = schema_find(s, "migratetype");
	if (!u->pfn || !u->order)
		return;
	if (!strcmp(s->name, "mm_page_alloc") && u->gfp && u->mobility)
		u->means = MEANS_ALLOC;
	else if (!strcmp(s->name, "mm_page_free"))
		u->means = MEANS_FREE;
}

static int feed(struct sink *sink, void *state, const struct batch *b)
{
	struct page_held *p = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct sample *s = &b->samples[i];
		if (!s->schema || !s->raw)
			continue;
		while (p->uses.nr <= s->event)
			if (!vec_push(&p->uses))
				return -ENOMEM;
		struct page_event_use *u = &p->uses.at[s->event];
		if (u->means == MEANS_UNKNOWN)
			find_use(s->schema, u);
		if (u->means == MEANS_ALLOC)
			err = on_alloc(p, s, u);
		else if (u->means == MEANS_FREE)
			on_free(p, s, u);
	}
	return err;
}

static int shard_new(struct sink *sink, unsigned index, const struct shard *shard, void **state)
{
	*state = container_of(sink, struct page_held, sink);
	return index ? -EINVAL : 0;
}

/* There is one worker, whose ids are those of the run. */
static int merge(struct sink *sink, const struct sink_part *parts, u32 nr, unsigned workers)
{
	return 0;
}

static const struct sink_ops page_held_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_CHAIN,
	.shard_new = shard_new,
	.feed = feed,
	.merge = merge,
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

struct page_held *page_held_new(u64 page_bytes)
{
	struct page_held *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->sink = (struct sink){ .ops = &page_held_ops, .needs = page_held_ops.needs };
	p->page_bytes = page_bytes;
	dict_init(&p->chains.of);
	dict_init(&p->pages.of);
	dict_init(&p->gfp_of);
	dict_init(&p->state_of);
	arena_init(&p->arena);
	strbuf_init(&p->text);
	return p;
}

void page_held_free(struct page_held *p)
{
	if (!p)
		return;
	vec_free(&p->uses);
	vec_free(&p->chains.list);
	vec_free(&p->pages.list);
	vec_free(&p->gfps);
	vec_free(&p->states);
	dict_done(&p->chains.of);
	dict_done(&p->pages.of);
	dict_done(&p->gfp_of);
	dict_done(&p->state_of);
	arena_done(&p->arena);
	strbuf_done(&p->text);
	free(p);
}

struct sink *page_held_sink(struct page_held *p)
{
	return &p->sink;
}

const struct page_row *page_held_chains(const struct page_held *p, size_t *nr)
{
	*nr = p->chains.list.nr;
	return p->chains.list.at;
}

const struct page_row *page_held_pages(const struct page_held *p, size_t *nr)
{
	*nr = p->pages.list.nr;
	return p->pages.list.at;
}

const struct page_gfp *page_held_gfps(const struct page_held *p, size_t *nr)
{
	*nr = p->gfps.nr;
	return p->gfps.at;
}

const struct page_totals *page_held_totals(const struct page_held *p)
{
	return &p->totals;
}
