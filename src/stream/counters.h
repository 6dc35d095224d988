/*
 * Counters of a command, of threads, of CPUs or of cgroups: opened for all events in all places, read as plain counts.
 *
 * A slot is a place: a CPU, a thread, or a thread on a CPU. Counts come as events times slots. What cannot be counted in
 * one place is left out there; an event that can be counted nowhere is not an error.
 */
#pragma once

#include "base/cpuset.h"
#include "event/event.h"
#include "kern/perf_event.h"
#include "model/stat.h"

struct counter_slot {
	s32 cpu; /* -1: any */
	s32 tid; /* -1: all */
};

/* An event to be opened; several may share a descriptor (one a cgroup). */
struct counter {
	const struct event_desc *desc;
	const char *cgroup; /* or NULL */
	int cgroup_fd;
	u32 leader; /* index of the group's leader; its own when alone */
	/* Filled by counters_open(): */
	bool supported;
	bool only_user; /* the kernel's part was not allowed: the name gets a :u */
	int why_not; /* negative errno of the first refusal */
};

struct counters_opts {
	struct counter *counters; /* kept by the caller */
	u32 nr_counters;
	const struct counter_slot *slots; /* kept by the caller */
	u32 nr_slots;
	bool on_exec; /* the one thread is a command that waits to exec: counting begins there */
	bool no_inherit;
	bool only_user, only_kernel;
	/* Told of each counter that was opened; may be NULL. */
	perf_opened_fn *opened;
	void *opened_ctx;
};

struct counters;

/* What tool events show. */
struct counters_clock {
	u64 elapsed_ns, user_ns, system_ns;
};

/* NULL: see the diag (no permission, nobody to count, no memory). */
struct counters *counters_open(const struct sysroot *root, const struct counters_opts *opts,
			       struct diag *d);
void counters_close(struct counters *c);
/*
 * One descriptor of each tracepoint that is counted, sorted, into to[nr_counters]; returns how many. Whoever keeps them keeps the
 * tracepoints attached: then it is not our close that waits for the kernel to detach them, one after the other.
 */
u32 counters_tracepoint_fds(const struct counters *c, int *to);
/* name NULL: all. -ENOENT: no such event. */
int counters_enable(struct counters *c, const char *name) must_check;
int counters_disable(struct counters *c, const char *name) must_check;
/* The attr as the kernel took it (of what could not be opened: as it was asked for). Borrowed. */
const struct perf_event_attr *counters_attr(const struct counters *c, u32 counter);
/* The kernel's number for a counter in a slot; 0: it is not there. */
u64 counters_id(const struct counters *c, u32 counter, u32 slot);
/* Into to[counter * nr_slots + slot]. */
void counters_read(struct counters *c, const struct counters_clock *clock, struct count *to);
