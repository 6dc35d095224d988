#include "base/dict.h"
#include "session/kmem_run.h"
#include "session/named_run.h"
#include "session/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- order ------------------------------------------------------------------------------------------------------- */

static const char *const key_names[PAGE_NR_KEYS] = {
	[PAGE_BYTES] = "bytes",	      [PAGE_HIT] = "hit",	  [PAGE_PAGE] = "page",
	[PAGE_ORDER] = "order",	      [PAGE_MIGTYPE] = "migtype", [PAGE_GFP] = "gfp",
	[PAGE_CALLSITE] = "callsite",
};

int page_key_find(const char *name, size_t len)
{
	for (int i = 0; i < PAGE_NR_KEYS; i++)
		if (strlen(key_names[i]) == len && !memcmp(key_names[i], name, len))
			return i;
	return -1;
}

struct page_order {
	const struct page_run *run;
	const enum page_key *keys;
	u32 nr;
};

static int larger(u64 a, u64 b)
{
	return (a < b) - (a > b);
}

static int compare(const struct page_run *r, const struct page_row *a, const struct page_row *b,
		   enum page_key key)
{
	switch (key) {
	case PAGE_BYTES:
		return r->live ? larger(a->live_bytes, b->live_bytes) : larger(a->bytes, b->bytes);
	case PAGE_HIT:
		return r->live ? larger(a->nr_live, b->nr_live) : larger(a->nr_hits, b->nr_hits);
	case PAGE_PAGE: return larger(a->key, b->key);
	case PAGE_CALLSITE: return larger(a->site, b->site);
	case PAGE_ORDER: return larger(a->order, b->order);
	case PAGE_MIGTYPE: return larger((u64)a->mobility, (u64)b->mobility);
	case PAGE_GFP: return larger(r->gfp_of[a->gfp].flags, r->gfp_of[b->gfp].flags);
	case PAGE_NR_KEYS: break;
	}
	return 0;
}

/* Equals go by all that tells them apart, so that every run prints the same. */
static int by_keys(const void *pa, const void *pb, void *ctx)
{
	static const enum page_key last[] = { PAGE_PAGE, PAGE_CALLSITE, PAGE_ORDER, PAGE_MIGTYPE,
					      PAGE_GFP };
	const struct page_order *o = ctx;
	int c = 0;
	for (u32 i = 0; i < o->nr && !c; i++)
		c = compare(o->run, pa, pb, o->keys[i]);
	for (size_t i = 0; i < ARRAY_SIZE(last) && !c; i++)
		c = -compare(o->run, pa, pb, last[i]);
	return c;
}

void page_sort(struct page_run *r, struct page_list *l, const enum page_key *keys, u32 nr)
{
	struct page_order o = { r, keys, nr };
	if (l->nr)
		qsort_r(l->rows, l->nr, sizeof(*l->rows), by_keys, &o);
}

static int by_flags(const void *pa, const void *pb)
{
	const struct page_gfp *a = pa, *b = pb;
	return larger(b->flags, a->flags);
}

/* ---- call sites -------------------------------------------------------------------------------------------------- */

/* Rows share the names of their functions, which may be long. */
static int name_once(struct page_run *r, u32 func, const char *name, const char **ret)
{
	u32 at;
	if (dict_add(&r->name_of, func, (u32)r->names.nr, &at))
		return -ENOMEM;
	if (at == r->names.nr) {
		const char **slot = vec_push(&r->names);
		if (!slot)
			return -ENOMEM;
		*slot = arena_strdup(&r->arena, name);
	}
	*ret = r->names.at[at];
	return *ret ? 0 : -ENOMEM;
}

/* The innermost frame of the kernel that does not just pass the request on. */
static int find_site(struct page_run *r, const struct named_run *run, struct page_row *row)
{
	u32 nr;
	const u32 *frames = chain_frames(&run->tables.chains, row->chain, &nr);
	while (nr) {
		u32 id = frames[--nr];
		const struct frame *f = &run->tables.frames.frames[id];
		const struct name_func *func = &run->named.funcs[run->named.func_of[id]];
		if (f->mode != FRAME_KERNEL || (func->name && page_function_name(func->name)))
			continue;
		row->site = f->offset;
		return func->name ? name_once(r, run->named.func_of[id], func->name, &row->name) : 0;
	}
	return 0;
}

/* Rows whose chains have the same call site become one. */
static int join_sites(struct page_run *r)
{
	struct dict first;
	size_t nr = 0;
	int err = 0;
	dict_init(&first);
	for (size_t i = 0; i < r->sites.nr && !err; i++) {
		struct page_row *from = &r->sites.rows[i];
		u32 at;
		u64 key = hash_seeded(from->site, hash_seed());
		key = hash_seeded(from->order | (u64)(u32)from->mobility << 32, key);
		err = dict_add(&first, hash_seeded(from->gfp, key), (u32)nr, &at) < 0 ? -ENOMEM : 0;
		if (err || at == nr) {
			r->sites.rows[nr] = *from;
			r->sites.rows[nr++].key = from->site;
			continue;
		}
		struct page_row *to = &r->sites.rows[at];
		to->nr_hits += from->nr_hits;
		to->bytes += from->bytes;
		to->nr_live += from->nr_live;
		to->live_bytes += from->live_bytes;
	}
	r->sites.nr = nr;
	dict_done(&first);
	return err;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static int copy_rows(struct page_list *to, const struct page_row *rows, size_t nr, bool live)
{
	to->rows = calloc(nr + 1, sizeof(*to->rows));
	if (!to->rows)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (!live || rows[i].nr_live)
			to->rows[to->nr++] = rows[i];
	return 0;
}

static int collect(struct page_run *r, struct named_run *run, bool raw_ip)
{
	size_t nr, nr_gfps;
	const struct page_row *rows = page_held_chains(r->held, &nr);
	int err = copy_rows(&r->sites, rows, nr, r->live);
	rows = page_held_pages(r->held, &nr);
	if (!err)
		err = copy_rows(&r->pages, rows, nr, r->live);
	for (size_t i = 0; i < r->sites.nr && !err; i++)
		err = find_site(r, run, &r->sites.rows[i]);
	for (size_t i = 0; i < r->pages.nr && !err; i++)
		err = find_site(r, run, &r->pages.rows[i]);
	if (!err)
		err = join_sites(r);
	for (size_t i = 0; i < r->sites.nr && raw_ip; i++)
		r->sites.rows[i].name = NULL;
	for (size_t i = 0; i < r->pages.nr && raw_ip; i++)
		r->pages.rows[i].name = NULL;
	r->totals = *page_held_totals(r->held);
	r->gfp_of = page_held_gfps(r->held, &nr_gfps);
	r->gfps = err ? NULL : calloc(nr_gfps + 1, sizeof(*r->gfps));
	if (!r->gfps)
		return err ? err : -ENOMEM;
	r->nr_gfps = nr_gfps;
	if (nr_gfps) {
		memcpy(r->gfps, r->gfp_of, nr_gfps * sizeof(*r->gfps));
		qsort(r->gfps, nr_gfps, sizeof(*r->gfps), by_flags);
	}
	return 0;
}

int page_run(struct page_run *r, struct symbols *sy, const struct kmem_run_opts *o, bool live)
{
	struct named_run run = { 0 };
	struct source *src = NULL;
	*r = (struct page_run){ .live = live };
	arena_init(&r->arena);
	dict_init(&r->name_of);
	int err = recording_open(sy, o->input, RECORDING_EVENTS, &o->symbols, &src);
	if (!err) {
		named_run_begin(&run, src, recording_names(sy, src, &o->symbols));
		run.own_names = true;
		/* No recording has the size of pages; perf takes its own as well. */
		r->held = page_held_new((u64)sysconf(_SC_PAGESIZE));
		err = run.names && r->held ? 0 : -ENOMEM;
	}
	if (!err)
		err = named_run_feed(&run, page_held_sink(r->held), 1, sy->diag);
	if (!err)
		err = named_run_resolve(&run, WANT_SYMBOL);
	if (!err)
		err = collect(r, &run, o->raw_ip);
	if (src)
		r->nr_lost = src->catalog.nr_lost;
	named_run_done(&run);
	if (src)
		src->ops->close(src);
	return err;
}

void page_run_done(struct page_run *r)
{
	page_held_free(r->held);
	free(r->sites.rows);
	free(r->pages.rows);
	free(r->gfps);
	vec_free(&r->names);
	dict_done(&r->name_of);
	arena_done(&r->arena);
	*r = (struct page_run){ 0 };
}
