/* A perf.data file as a source of samples: prepare() takes one fast walk over the side-band, blocks of about a megabyte follow. */
#pragma once

#include "file/perfdata_read.h"
#include "model/source.h"
#include "sym/unwind_tables.h"

struct replay_perf_stats {
	u64 nr_records;
	u64 nr_samples; /* all of them, whatever the sink kept */
	u64 nr_bad; /* records whose inside did not fit */
	u64 nr_bad_samples; /* ... of these */
	u64 nr_unknown_id; /* samples of no known event */
	u64 nr_corrupt_chains;
	u64 nr_deferred;
	u64 nr_by_type[REC_USER_MAX];
};

/* path: a file, or "-". The source owns everything; source->ops->close frees it. */
int replay_perf_open(const char *path, struct source **ret, struct diag *d) must_check;
/* The same from bytes that the caller keeps until after close. */
int replay_perf_open_bytes(const void *data, size_t size, struct source **ret,
			   struct diag *d) must_check;

/*
 * Where the texts of tracepoints find names of kernel functions: asked once, when the first one is needed. The answer must stay
 * until close. To be set before prepare().
 */
void replay_perf_kallsyms(struct source *s, const char *(*text)(void *ctx, size_t *len), void *ctx);

/*
 * Whether samples carry counts, of their own event or of a group. A sink that asks for NEED_READ then gets a sample for each member
 * whose count moved; there may be only one worker.
 */
bool replay_perf_has_reads(const struct source *s);

/*
 * Where stacks that were recorded as copies (perf record --call-graph dwarf) find the programs they ran through; arch is the
 * recording's own. cfg->cache is copied, other strings are borrowed until close. To be set before prepare(). 0 or -ENOMEM.
 */
int replay_perf_unwind(struct source *s, const struct unwind_config *cfg) must_check;

/* Chains are the branches that led to a sample, and then its callers (replay_history_of_branches). Before prepare(). */
void replay_perf_branch_history(struct source *s);

/* After the run: whether stacks were unwound here, and then how many of them lack their outermost callers. Any source may be asked. */
bool replay_perf_cut(const struct source *s, u64 *nr);

/* Borrowed; whole after prepare(). NULL: the source is of another kind. */
const struct perfdata *replay_perf_file(const struct source *s);
const struct replay_perf_stats *replay_perf_stats(const struct source *s);
