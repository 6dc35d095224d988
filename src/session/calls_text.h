/* How long functions took (analysis/graph_time): a row for each, the tree of calls, or perf's table. */
#pragma once

#include "analysis/graph_time.h"
#include "base/arena.h"
#include "base/strbuf.h"

enum calls_sort {
	CALLS_BY_TOTAL,
	CALLS_BY_SELF,
	CALLS_BY_CALLS,
	CALLS_BY_AVERAGE,
	CALLS_BY_MAX,
	CALLS_BY_NAME,
};

struct calls_view {
	const struct graph_time *times; /* after the run */
	struct strbuf *to;
	enum calls_sort sort;
	bool json, csv, tree;
	bool perf; /* perf's table */
	double limit; /* percent: branches of the tree below it are left out */
	const char *(*symbol)(void *ctx, u64 addr, u64 *offset);
	void *ctx;

	/* Of text_calls.c. */
	size_t *order; /* rows, as sorted */
	const char **names; /* [func] */
	struct arena arena;
};

int text_calls(struct calls_view *v) must_check;
