/* /proc/schedstat before and after a command, or of a file that holds both texts. */
#pragma once

#include "analysis/schedstat.h"
#include "base/strbuf.h"

struct schedstat_texts {
	struct strbuf before, after;
};

void schedstat_texts_init(struct schedstat_texts *t);
void schedstat_texts_done(struct schedstat_texts *t);
/*
 * Runs the command; NULL: until a signal ends it. *status: the command's exit status, 0 without one. Negative errno with a diag. The kernel's counting is
 * switched on for the time (sysctl kernel.sched_schedstats), where it is off and that is allowed.
 */
int schedstat_watch(struct schedstat_texts *t, char **argv, int *status, struct diag *d) must_check;
int schedstat_save(struct schedstat_texts *t, const char *path, struct diag *d) must_check;
int schedstat_load(struct schedstat_texts *t, const char *path, struct diag *d) must_check;
/* What happened between the two. 0 or negative errno with a diag; schedstat_done() in any case. */
int schedstat_of_texts(struct schedstat *s, struct schedstat_texts *t, struct diag *d) must_check;
