/*
 * Which samples somebody wants to see: by time, CPU, process, thread and name of the task. What is empty does not choose. All of it
 * is borrowed.
 */
#pragma once

#include "model/catalog.h"
#include "model/sample.h"

struct time_range {
	u64 from_ns, until_ns; /* both belong to it; until 0: to the end */
};

struct sample_choice {
	const struct time_range *ranges;
	const s32 *pids, *tids, *cpus;
	const char *const *comms;
	size_t nr_ranges, nr_pids, nr_tids, nr_cpus, nr_comms;
};

static inline bool sample_choice_empty(const struct sample_choice *c)
{
	return !c->nr_ranges && !c->nr_pids && !c->nr_tids && !c->nr_cpus && !c->nr_comms;
}

bool sample_chosen(const struct sample_choice *c, const struct catalog *cat, const struct sample *s);

/* A task's name, or ":TID" in `own`. */
enum { COMM_TEXT = 32 };
const char *comm_text(const struct catalog *cat, u32 comm, char own[COMM_TEXT]);
