/*
 * The benchmarks of `sonde bench`, as perf has them: what system calls, switches, copies and futexes cost on this machine. A benchmark
 * sets up everything first, warms up where caches matter, then times a loop that neither allocates nor prints. Times are of
 * CLOCK_MONOTONIC. Processes and threads that it starts are gone when it returns; if we are killed, the kernel kills the processes.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"

/* Numbers that were not given are 0: each benchmark has its own defaults. */
struct suite_params {
	bool simple; /* perf's terse format: what changes is the text, not the measurement */
	u64 repeat; /* for those that repeat themselves */
	u64 loops, groups, threads, seconds, futexes, nr_wakes, nr_wakers, nr_requeue, nr_fds,
		nested;
	u64 iterations, inner_iterations, nr_events;
	u64 breakpoints, parallel, passive, active;
	const char *size, *function;
	bool use_pipe, use_threads, cycles, silent, shared, lock_memory, broadcast, pi, multi;
	bool multi_queue, no_affinity, random, edge, oneshot, nonblocking;
};

/* What was measured, over all runs. */
struct suite_series {
	const char *part; /* "x86-64-movsq": where one benchmark measures several things; NULL */
	const char *name; /* "time_per_op" */
	const char *unit; /* "us" */
	VEC(double) values;
};

struct suite_run {
	struct strbuf text; /* perf's layout */
	VEC(struct suite_series) series;
	struct arena arena;
	struct diag *diag;
	int err; /* memory ran out while values were added */
};

struct suite_bench {
	const char *collection, *name, *about;
	bool repeats; /* takes params.repeat itself */
	/* Appends to text and series. 0 or negative errno with a diag. */
	int (*run)(const struct suite_params *p, struct suite_run *r);
};

/* In the order in which they run; NULL after the last one. */
const struct suite_bench *suite_bench(size_t i);
const struct suite_bench *suite_find(const char *collection, const char *name);

void suite_run_init(struct suite_run *r, struct diag *d);
void suite_run_done(struct suite_run *r);

struct suite_stats {
	double mean, min, max;
	double error; /* standard error of the mean; 0 for one value */
	double error_percent; /* of the mean */
};

struct suite_stats suite_stats(const double *values, size_t nr);
