/* One run over a recording of the kernel's allocators: rows by call site and by address, with names. */
#pragma once

#include "analysis/page_held.h"
#include "model/kmem.h"
#include "session/symbols.h"

enum kmem_key { KMEM_FRAG, KMEM_HIT, KMEM_BYTES, KMEM_PINGPONG, KMEM_PTR, KMEM_HELD, KMEM_NR_KEYS };

struct kmem_list {
	struct kmem_row *rows;
	size_t nr;
};

struct kmem_run_opts {
	const char *input;
	struct symbol_opts symbols;
	bool raw_ip; /* call sites as addresses */
};

struct kmem_run {
	struct kmem_list sites, addresses;
	struct kmem_totals totals;
	u64 nr_events, nr_lost;
	struct arena arena; /* of names */
};

/* 0 or negative errno with a diag; kmem_run_done() in any case. */
int kmem_run(struct kmem_run *r, struct symbols *sy, const struct kmem_run_opts *o) must_check;
void kmem_run_done(struct kmem_run *r);
/* By the first key, then the next; of equals the one that came up first. */
void kmem_sort(struct kmem_list *l, const enum kmem_key *keys, u32 nr);
/* "frag" ...; -1: unknown. */
int kmem_key_find(const char *name, size_t len);

/* ---- pages ---- */

enum page_key {
	PAGE_BYTES,
	PAGE_HIT,
	PAGE_PAGE,
	PAGE_CALLSITE,
	PAGE_ORDER,
	PAGE_MIGTYPE,
	PAGE_GFP,
	PAGE_NR_KEYS
};

struct page_list {
	struct page_row *rows;
	size_t nr;
};

struct page_run {
	struct page_list sites, pages;
	struct page_gfp *gfps; /* by their flags */
	size_t nr_gfps;
	const struct page_gfp *gfp_of; /* [page_row.gfp] */
	struct page_totals totals;
	u64 nr_lost;
	bool live;
	struct page_held *held;
	struct arena arena; /* of names */
	struct dict name_of; /* function -> its name */
	VEC(const char *) names;
};

/* live: of rows, only what is not freed by the end. 0 or negative errno with a diag; page_run_done() in any case. */
int page_run(struct page_run *r, struct symbols *sy, const struct kmem_run_opts *o,
	     bool live) must_check;
void page_run_done(struct page_run *r);
void page_sort(struct page_run *r, struct page_list *l, const enum page_key *keys, u32 nr);
/* "bytes" ...; -1: unknown. */
int page_key_find(const char *name, size_t len);
