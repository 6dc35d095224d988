/*
 * Kernel memory by the function that asked for it, from the events of kmem: what it holds at the end, what it asked for altogether, and
 * the most it held at once. What was handed out beyond the request is wasted. trace-cmd's `mem`.
 */
#pragma once

#include "model/source.h"

struct mem_held_row {
	u64 key; /* where the function begins, or the address when nobody knows */
	const char *name; /* NULL: no symbol */
	s64 alloc, req; /* bytes it holds */
	s64 total_alloc, total_req;
	s64 max_alloc, max_req, max_waste;
};

struct mem_held_env {
	void *ctx;
	const char *(*symbol)(void *ctx, u64 addr, u64 *offset); /* names live as long as the rows */
};

struct mem_held;

struct mem_held *mem_held_new(const struct mem_held_env *env); /* NULL: no memory */
void mem_held_free(struct mem_held *m);
/* For one run with one worker: events in time order. */
struct sink *mem_held_sink(struct mem_held *m);
/* After the run: the most wasteful first. */
const struct mem_held_row *mem_held_rows(struct mem_held *m, size_t *nr);
u64 mem_held_nr_events(const struct mem_held *m); /* that told of memory */
