/* One run over a recording of interrupts, softirqs and work items: rows and single runs, with names. */
#pragma once

#include "analysis/kwork_runs.h"
#include "analysis/kwork_top.h"
#include "session/choose.h"
#include "session/symbols.h"

struct kwork_run_opts {
	const char *input;
	struct symbol_opts symbols;
	u32 classes; /* bits of enum kwork_class */
	const char *name; /* only work of this name; NULL: all */
	bool keep_runs;
	/* The source is opened: what is chosen of it. 0 or negative errno. NULL: all. */
	int (*choose)(void *ctx, const struct source *src, struct choose *c);
	void *ctx;
};

struct kwork_run {
	struct kwork_row *rows; /* without those of other names and those that nothing happened to */
	size_t nr;
	const struct kwork_one *each; /* row: index into all */
	size_t nr_each;
	struct kwork_row *all;
	bool *shown; /* [all] */
	struct kwork_totals totals;
	u64 nr_lost;
	struct kwork_runs *runs;
	struct choose choose;
	struct arena arena; /* of names */
};

/* 0 or negative errno with a diag; kwork_run_done() in any case. */
int kwork_run(struct kwork_run *r, struct symbols *sy, const struct kwork_run_opts *o) must_check;
void kwork_run_done(struct kwork_run *r);

enum kwork_key {
	KWORK_RUNTIME,
	KWORK_MAX,
	KWORK_COUNT,
	KWORK_DELAY_AVG,
	KWORK_DELAY_MAX,
	KWORK_DELAY_COUNT
};
void kwork_sort(struct kwork_row *rows, size_t nr, const enum kwork_key *keys, u32 nr_keys);

/* ---- CPU usage ---- */

struct kwork_top_run {
	struct kwork_task *tasks;
	size_t nr_tasks;
	const struct kwork_cpu_time *cpus;
	size_t nr_cpus;
	const struct thread_states_totals *totals;
	u64 nr_lost;
	struct kwork_top *top;
	struct choose choose;
};

/* Of the options: input, classes, choose. 0 or negative errno with a diag; kwork_top_run_done() in any case. */
int kwork_top_run(struct kwork_top_run *r, struct symbols *sy,
		  const struct kwork_run_opts *o) must_check;
void kwork_top_run_done(struct kwork_top_run *r);

enum kwork_top_key { KWORK_TOP_RATE, KWORK_TOP_RUNTIME, KWORK_TOP_TID };
void kwork_top_sort(struct kwork_task *tasks, size_t nr, const enum kwork_top_key *keys,
		    u32 nr_keys);
