/*
 * How often functions were called and how long they took, as the kernel's function profiler tells it (trace_stat/functionN): hits, time, mean,
 * and the variance s^2. From its tables, one for each CPU, or from calls that the function graph tracer recorded.
 */
#pragma once

#include "base/diag.h"
#include "model/source.h"

struct func_stat_row {
	const char *name;
	u64 hits;
	double time_us; /* what it called included */
	double squares_us2; /* sum of the squares of all durations */
};

struct func_stat;

/* symbol: for calls of a recording; NULL where only tables are read. */
struct func_stat *func_stat_new(const char *(*symbol)(void *ctx, u64 addr, u64 *offset), void *ctx);
void func_stat_free(struct func_stat *f);

/* Adds the text of one trace_stat/functionN. Lines that are none are skipped. 0 or -ENOMEM. */
int func_stat_parse(struct func_stat *f, const char *text) must_check;
/* For one run with one worker: every call that ended. */
struct sink *func_stat_sink(struct func_stat *f);
u64 func_stat_nr_gaps(const struct func_stat *f); /* events were lost so often */

/* Most time first, then most hits. Borrowed until the next change. */
const struct func_stat_row *func_stat_rows(struct func_stat *f, size_t *nr);
double func_stat_variance(const struct func_stat_row *r); /* of a sample, in us^2 */
