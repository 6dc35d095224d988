/*
 * Samples of perf's `--call-graph dwarf`: registers and a copy of the stack instead of the user's part of the call chain. This makes
 * the chain of them, while the sample is decoded; what follows sees no difference.
 */
#pragma once

#include "base/diag.h"
#include "stream/tasks.h"
#include "sym/unwind_cfi.h"
#include "wire/perf_sample.h"

#include <stdatomic.h>

/* Of a replay; its workers share it. */
struct replay_unwind {
	struct unwind_tables *tables; /* NULL: no such samples */
	const struct tasks *tasks;
	const struct catalog *catalog;
	atomic_ullong nr_stacks, nr_foreign;
	atomic_ullong nr_ends[UNWIND_NR_ENDS];
};

/* Of a worker: chains of a batch, one after the other. */
struct replay_chains {
	struct unwinder *unwinder; /* NULL: no such samples */
	u64 *words; /* NULL: no such samples, nor any with branches */
	u32 nr;
};

/* After the tasks are sealed. cfg->arch: the recording's machine. */
int replay_unwind_init(struct replay_unwind *u, const struct unwind_config *cfg,
		       const struct tasks *t, const struct catalog *c) must_check;
void replay_unwind_done(struct replay_unwind *u);
/* branches: some samples have a call stack of branches. */
int replay_chains_init(struct replay_chains *c, const struct replay_unwind *u,
		       bool branches) must_check;
void replay_chains_done(struct replay_chains *c);

/* There may be no room for another sample: the batch ends. */
bool replay_chains_full(const struct replay_chains *c);
/* Puts the whole chain into the sample, if it brought a stack. It stays until c->nr is set to 0. */
void replay_unwind_sample(struct replay_unwind *u, struct replay_chains *c,
			  struct perf_sample_view *v, u32 space, u64 time);
/*
 * The same for --call-graph lbr: the user's part of the chain is what the CPU kept of its calls (PERF_SAMPLE_BRANCH_CALL_STACK). swap:
 * the file is of the other byte order.
 */
void replay_chain_of_branches(struct replay_chains *c, struct perf_sample_view *v, bool swap);
/*
 * For a look at the path that led to a sample (report --branch-history): where each branch led to and came from, the newest first,
 * and then what the call chain has beyond them. The sample's own address is not among them, as with perf.
 */
void replay_history_of_branches(struct replay_chains *c, struct perf_sample_view *v, bool swap);
/* How many stacks were not followed to their end. */
u64 replay_unwind_cut(const struct replay_unwind *u);
/* Says which. */
void replay_unwind_report(const struct replay_unwind *u, struct diag *d);
