/* `sonde inject -s`: sleeping times from sched_stat events, put onto the stacks where the tasks went to sleep. */
#pragma once

#include "base/dict.h"
#include "stream/replay_perf.h"

/* What becomes of samples, by their place in the recording. */
struct inject_merge {
	struct dict places; /* place -> index into `fate` */
	struct {
		VEC(u32) list; /* offset into `bytes`, or INJECT_DROP */
	} fate;
	struct strbuf bytes; /* whole records */
};

enum { INJECT_DROP = 0xffffffffu };

/* src: prepared. 0, -ENOENT: it has no such events, or another negative errno. */
int inject_merge_read(struct inject_merge *m, const struct source *src) must_check;
void inject_merge_done(struct inject_merge *m);
/* What to write instead of the sample at this place: a record, NULL for nothing; *same: the sample as it is. */
const struct perf_event_header *inject_merge_find(const struct inject_merge *m, u64 place,
						  bool *same);
