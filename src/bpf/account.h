/* What got lost, and where: records that found the ring full, programs that the kernel skipped, keys that found no room. */
#pragma once

#include "base/diag.h"
#include "bpf/load.h"

struct account {
	u64 ring_drops; /* records */
	u64 recursion_misses; /* runs of programs that were skipped, since another one was running on that CPU */
	u64 full_keys;
};

/* Adds a warning for each probe or map that lost something, with the remedy. ret may be NULL. */
int account_report(const struct loaded *l, struct account *ret, struct diag *d) must_check;
/* The same as text, one line for each program: runs and time where the kernel counts them. */
void account_runs(const struct loaded *l, struct strbuf *to);
