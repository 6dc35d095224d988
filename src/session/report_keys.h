/* What a person says about rows and columns (keys, fields and flags that add columns), as lists of a profile. */
#pragma once

#include "analysis/profile.h"
#include "base/diag.h"

/* What messages call the options. */
struct report_labels {
	const char *sort, *fields, *socket, *cpus, *branch_history, *total_cycles, *no_branches;
};

struct report_keys {
	const struct report_labels *labels;
	const char *sort; /* words; '+' in front: more than the usual ones. NULL: the usual ones */
	const char *fields; /* the same of columns */
	const char *usual; /* keys; NULL: comm,dso,symbol */
	bool branches; /* rows are of branches: their keys may be named */
	bool parent; /* callers by a name are asked for */
	bool by_level; /* columns of the CPU's levels */
	bool count, period; /* columns */
	bool children;
};

/* The events must be known where fields of tracepoints are named. -EINVAL with a diag. */
int report_keys(const struct report_keys *k, const struct catalog *c, struct profile_config *cfg,
		struct diag *d) must_check;
