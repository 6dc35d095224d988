/* What probes there are, for `run -l`: the texts that scripts write, matched by a pattern. */
#pragma once

#include "base/diag.h"
#include "kern/sysroot.h"

struct list_query {
	const char *pattern; /* NULL: all but functions of files; "tracepoint:sched:*", "*open*", "uprobe:/bin/bash:*"; "struct task_*": types */
	bool fields; /* fn is told the fields of tracepoints, parameters of fentry and members of types, too */
};

/*
 * fn(ctx, text, fields) for each that matches; fields NULL, or lines "    TYPE NAME". Kinds in the order of their names, entries in the
 * order of theirs. 0, fn's result if that is not 0, or negative errno with a diag.
 */
int list_probes(const struct sysroot *root, const struct list_query *q,
		int (*fn)(void *ctx, const char *text, const char *fields), void *ctx,
		struct diag *d) must_check;
