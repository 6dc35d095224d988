/* How `sched critical` shows the path: a tree of who waited for whom, and a table of threads; as text or JSON. */
#pragma once

#include "analysis/critical.h"
#include "session/tell.h"

struct sched_critical_view {
	const struct critical *critical;
	u32 max_rows; /* of the text: of the tree the longest ones, and of the table; 0: all */
};

/* 0 or negative errno. */
int sched_critical_print(const struct sched_critical_view *v, const struct tell *to) must_check;
