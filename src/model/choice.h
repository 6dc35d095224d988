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
	bool no_host, no_guest; /* not those of the host; not those of virtual machines */
};

static inline bool sample_choice_empty(const struct sample_choice *c)
{
	return !c->nr_ranges && !c->nr_pids && !c->nr_tids && !c->nr_cpus && !c->nr_comms &&
	       !c->no_host && !c->no_guest;
}

bool sample_chosen(const struct sample_choice *c, const struct catalog *cat, const struct sample *s);
/* Only what it says of times. */
bool sample_in_time(const struct sample_choice *c, const struct sample *s);

/*
 * Samples between one event and another, again and again; needs the order of time and one worker. Zero: no gate. It starts shut where
 * there is an event that opens it, and stays shut where there is none.
 */
struct sample_gate {
	u32 on, off; /* event + 1; 0: none */
	bool shows; /* the events that move it pass too */
	bool shut;
};

static inline bool sample_gate_used(const struct sample_gate *g)
{
	return g->on || g->off;
}

bool sample_gate_passes(struct sample_gate *g, u32 event);

/* A task's name, or ":TID" in `own`. */
enum { COMM_TEXT = 32 };
const char *comm_text(const struct catalog *cat, u32 comm, char own[COMM_TEXT]);
