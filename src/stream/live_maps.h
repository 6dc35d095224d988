/*
 * What is mapped where right now, in every process of a live recording: side-band records are applied in the order of their times,
 * and the answer is always that of the moment. (stream/tasks keeps all moments, but must have seen everything first.)
 */
#pragma once

#include "sym/unwind_cfi.h"
#include "wire/perf_record.h"

struct live_maps;

/* tables: gets room for every image. NULL: no memory. */
struct live_maps *live_maps_new(struct unwind_tables *tables);
void live_maps_free(struct live_maps *m);
/* -ENOMEM. */
int live_maps_apply(struct live_maps *m, const struct perf_side *rec) must_check;

/* Whether a map of that name has no file behind it. */
bool live_maps_is_anon(const char *name);

/* A process, as unwind_thread wants it: ctx for live_maps_find(), and what its answers hold for. */
struct live_space {
	struct live_maps *maps;
	u32 process; /* index */
	u64 time; /* steps with every change */
};
/* false: never heard of it. */
bool live_maps_space(struct live_maps *m, u32 pid, struct live_space *ret);
bool live_maps_find(void *space, u64 addr, struct unwind_place *ret);
