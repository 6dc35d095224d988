/*
 * Samples to a profile: who spent how much where. A sink that adds up (group, leaf, chain) triples per shard, then folds chains
 * from addresses to functions and yields rows and, for each row, its call graph. Works on ids only; names are looked at when a
 * table is made.
 */
#pragma once

#include "model/names.h"
#include "model/source.h"
#include "model/table.h"

enum profile_key {
	PROFILE_KEY_COMM,
	PROFILE_KEY_PID,
	PROFILE_KEY_CPU,
	PROFILE_KEY_DSO,
	PROFILE_KEY_SYM,
	PROFILE_KEY_MAX,
};

enum profile_order {
	PROFILE_CALLEE, /* a row's graph starts at the row's function and goes to its callers */
	PROFILE_CALLER, /* it starts at the outermost caller */
};

struct profile_config {
	enum profile_key keys[PROFILE_KEY_MAX];
	u32 nr_keys;
	bool children;  /* rows also for functions that were only on the way */
	bool graph;     /* call graphs are wanted: chains are needed */
	bool show_count;
	bool show_period;
	enum profile_order order;
	double min_percent; /* branches below this share of the total (fractal: of their parent) are not drawn */
	bool fractal;
};

struct profile;

struct profile *profile_new(const struct profile_config *cfg);
void profile_free(struct profile *p);
struct sink *profile_sink(struct profile *p);

/*
 * After stream_run(): resolves and folds. catalog, run and names are borrowed until profile_free().
 */
int profile_fold(struct profile *p, const struct catalog *c, const struct run_tables *run, const struct names_result *names) must_check;

struct profile_totals {
	u64 period;
	u64 nr_samples;
};
/* Of one event of the catalogue. */
struct profile_totals profile_totals(const struct profile *p, u32 event);
/* The event's rows, heaviest first, into an initialised table. Its trees borrow from the profile. */
int profile_table(struct profile *p, u32 event, struct table *ret) must_check;
