/* Texts of /proc/schedstat: read, subtracted, and averaged over CPUs. */
#pragma once

#include "base/diag.h"
#include "model/schedstat.h"

/*
 * One text, up to its end or the version line of the next one; *used: its length. A file with two of them, one after the other, is what `sched stats
 * record` writes (as `cat /proc/schedstat` before and after would). 0, or negative errno with a diag; schedstat_done() in any case.
 */
int schedstat_parse(struct schedstat *s, const char *text, size_t len, size_t *used,
		    struct diag *d) must_check;
void schedstat_done(struct schedstat *s);
/* What happened in between, on CPUs and domains that are in both; counters that went back (a CPU that was off) count as 0. */
int schedstat_between(struct schedstat *s, const struct schedstat *before,
		      const struct schedstat *after, struct diag *d) must_check;
/* One CPU, -1, and its domains by number: the means over all CPUs. 0 or -ENOMEM; schedstat_done() in any case. */
int schedstat_mean(struct schedstat *s, const struct schedstat *all) must_check;
