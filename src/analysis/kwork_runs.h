/*
 * Runs of interrupt handlers, softirqs and work items, and how long they were pending before. A run goes from its entry to its exit on one CPU.
 * The delay goes from the first time that the work was raised (softirq) or activated (work item) since it last began; perf 6.1 uses the last
 * time, and later pairs the earlier ones with runs that they do not belong to.
 */
#pragma once

#include "model/choice.h"
#include "model/kwork.h"
#include "model/source.h"

struct kwork_runs_env {
	u32 classes; /* bits of enum kwork_class */
	bool keep_runs; /* each one, for a list */
	const struct sample_choice *choice; /* NULL: all; borrowed */
	const struct catalog *catalog; /* with choice */
};

struct kwork_runs;

struct kwork_runs *kwork_runs_new(const struct kwork_runs_env *env); /* NULL: no memory */
void kwork_runs_free(struct kwork_runs *k);
/* For one run with one worker: events in time order. */
struct sink *kwork_runs_sink(struct kwork_runs *k);
/* After the run; rows may be named and sorted by a copy. Names are valid as long as k. */
const struct kwork_row *kwork_runs_rows(const struct kwork_runs *k, size_t *nr);
const struct kwork_one *kwork_runs_each(const struct kwork_runs *k, size_t *nr);
struct kwork_totals kwork_runs_totals(const struct kwork_runs *k);
