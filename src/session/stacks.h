/* A recording as stacks over time: how flame and export read one, or two to compare. */
#pragma once

#include "analysis/flame.h"
#include "base/opts.h"
#include "session/symbols.h"

struct stacks_opts {
	const char *const *paths; /* one, or two: before and after */
	u32 nr_paths;
	const struct opt_list *inputs; /* -i of trace.dat that are one; NULL: none */
	bool by_comm; /* tasks of one name are one; always with two */
	unsigned workers; /* 0: all CPUs */
	const struct symbol_opts *symbols;
};

/* Into an initialised flame. 0, or negative errno with something said in the symbols' diag. */
int stacks_load(struct symbols *sy, const struct stacks_opts *o, struct flame *f) must_check;
