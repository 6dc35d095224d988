/*
 * One run over a source, and names for all the frames that it met: what every analysis of places begins with. Folding (analysis/) is the
 * caller's, who knows into what.
 */
#pragma once

#include "session/symbols.h"

struct named_run {
	struct source *src; /* borrowed */
	struct names *names;
	bool own_names;
	struct run_tables tables;
	struct names_result named; /* of names */
};

struct named_run_opts {
	struct symbols *symbols; /* where names come from, and who is told what is wrong */
	const struct symbol_opts *names; /* borrowed until named_run_done() */
	unsigned want; /* enum names_want */
	unsigned workers; /* 0: one for each CPU */
	bool split_reads; /* recording_split_reads() */
	bool expand; /* names_expand(): inlined functions are part of chains */
};

/* All of it. 0 or negative errno; named_run_done() in any case. */
int named_run(struct named_run *r, struct source *src, struct sink *sink,
	      const struct named_run_opts *o) must_check;

/* In steps, for who has names already (borrowed), or learns from the run what to ask of them. */
void named_run_begin(struct named_run *r, struct source *src, struct names *names);
int named_run_feed(struct named_run *r, struct sink *sink, unsigned workers,
		   struct diag *d) must_check;
int named_run_resolve(struct named_run *r, unsigned want) must_check;

void named_run_done(struct named_run *r);
