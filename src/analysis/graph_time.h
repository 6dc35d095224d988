/*
 * How long functions took, from the function graph tracer's events: calls, time with and without what they called, and the longest,
 * for each function and along each way it was called. A sink that wants time order: workers pick the calls out of their blocks, and what a call
 * owes to those inside it is added up in the order of the blocks.
 */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "model/source.h"

struct graph_func {
	u64 addr; /* of the function */
	u64 calls;
	u64 total_ns; /* what it called included; of one that calls itself, only the outermost call counts */
	u64 self_ns;
	u64 max_ns; /* of one call */
	u32 active; /* scratch */
};

/* A function on one way from the outermost one. Node 0 is the root. */
struct graph_node {
	u32 func; /* index into funcs */
	u32 parent;
	u64 calls;
	u64 total_ns;
	u64 self_ns;
};

struct graph_time;

struct graph_time *graph_time_new(void); /* NULL: no memory */
void graph_time_free(struct graph_time *g);
struct sink *graph_time_sink(struct graph_time *g);

/* After the run; borrowed until graph_time_free(). */
size_t graph_time_nr_funcs(const struct graph_time *g);
const struct graph_func *graph_time_func(const struct graph_time *g, size_t i);
size_t graph_time_nr_nodes(const struct graph_time *g);
const struct graph_node *graph_time_node(const struct graph_time *g, size_t i);
/* Calls whose end was not recorded (they count nowhere), and calls whose start was not (their way is not known). */
u64 graph_time_nr_open(const struct graph_time *g);
u64 graph_time_nr_headless(const struct graph_time *g);
/* How often events were lost in between. */
u64 graph_time_nr_gaps(const struct graph_time *g);
