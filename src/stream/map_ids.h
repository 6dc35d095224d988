/*
 * Build IDs of what is mapped while a recording runs: read from the mapped file when its record passes by, once for each file. The kernel
 * could put them into the records (attr.build_id), but kernels up to 6.18 leave the mark of such records on those of every other event
 * of the same map, and perf 6.1 aborts on them: one recorder that asks disturbs all others on the machine.
 */
#pragma once

#include "kern/perf_event.h"
#include "stream/synth.h"

#include <pthread.h>

struct map_ids {
	struct synth files; /* reads them */
	struct strbuf unused;
	struct dict known; /* (device, inode) -> index of ids */
	VEC(struct synth_build_id) ids;
	pthread_mutex_t lock;
};

/* opener: borrowed; as synth's. */
void map_ids_init(struct map_ids *m, const struct sysroot *root, struct opener *opener);
void map_ids_done(struct map_ids *m);
/* rec: a PERF_RECORD_MMAP2 without a build ID. 1: *id is its; 0: none is known. From any thread. */
int map_ids_read(struct map_ids *m, const struct perf_event_header *rec, const char **path,
		 struct synth_build_id *id) must_check;
