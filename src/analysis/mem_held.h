/*
 * Kernel memory by the function that asked for it, from the events of kmem: what it holds at the end, what it asked for altogether, and
 * the most it held at once. What was handed out beyond the request is wasted. trace-cmd's `mem`, and (by call site and by address, with what
 * was freed on another CPU) perf's `kmem stat`.
 *
 * Frees that were not seen are counted, not guessed: memory that is allocated again while it is held was freed in between.
 */
#pragma once

#include "model/kmem.h"
#include "model/source.h"

struct mem_held_row {
	u64 key; /* where the function begins, or the address when nobody knows */
	const char *name; /* NULL: no symbol */
	s64 alloc, req; /* bytes it holds */
	s64 total_alloc, total_req;
	s64 max_alloc, max_req, max_waste;
	u64 nr_hits, nr_pingpong;
};

struct mem_held_env {
	void *ctx;
	/* Names live as long as the rows; NULL: every call site is a row of its own. */
	const char *(*symbol)(void *ctx, u64 addr, u64 *offset);
	int (*node_of)(void *ctx, s32 cpu); /* -1: not known; NULL: nobody asks */
};

struct mem_held;

struct mem_held *mem_held_new(const struct mem_held_env *env); /* NULL: no memory */
void mem_held_free(struct mem_held *m);
/* For one run with one worker: events in time order. */
struct sink *mem_held_sink(struct mem_held *m);
/* After the run: the most wasteful first. */
const struct mem_held_row *mem_held_rows(struct mem_held *m, size_t *nr);
/* The same rows, and one for each address that was allocated, in the order in which they came up. -ENOMEM; *ret is the caller's to free. */
int mem_held_sites(const struct mem_held *m, struct kmem_row **ret, size_t *nr) must_check;
int mem_held_addresses(const struct mem_held *m, struct kmem_row **ret, size_t *nr) must_check;
struct kmem_totals mem_held_totals(const struct mem_held *m);
u64 mem_held_nr_events(const struct mem_held *m); /* that told of memory */
