/* What the scheduler counted, in the layout of perf 7's `sched stats`. */
#pragma once

#include "base/strbuf.h"
#include "model/schedstat.h"

void text_schedstat_head(const struct schedstat *a, const struct schedstat *b, struct strbuf *to);
/* One CPU and its domains; the mean of all has CPU -1. b: the same of another run, of the same version; NULL: there is none. */
void text_schedstat_cpu(const struct schedstat *a, const struct schedstat *b, s32 cpu,
			struct strbuf *to);
