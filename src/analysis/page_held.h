/*
 * Pages of memory, from kmem:mm_page_alloc and mm_page_free: by call chain and by page frame, each with the order, flags and mobility that
 * were asked for. Pages that are allocated again while they are held were freed in between: such frees were missed, and are counted.
 */
#pragma once

#include "model/kmem.h"
#include "model/source.h"

struct page_held;

struct page_held *page_held_new(u64 page_bytes); /* NULL: no memory */
void page_held_free(struct page_held *p);
/* For one run with one worker: events in time order. */
struct sink *page_held_sink(struct page_held *p);
/* After the run. Rows by chain (.key is the sample's address), and by page (.key is the page frame); valid as long as p. */
const struct page_row *page_held_chains(const struct page_held *p, size_t *nr);
const struct page_row *page_held_pages(const struct page_held *p, size_t *nr);
const struct page_gfp *page_held_gfps(const struct page_held *p, size_t *nr);
const struct page_totals *page_held_totals(const struct page_held *p);

/* Whether a kernel function only passes a request for pages on, by its name. */
bool page_function_name(const char *name);
/* "GFP_KERNEL|__GFP_ZERO" to perf's "K|Z". */
void page_gfp_short(const char *text, char *to, size_t size);
