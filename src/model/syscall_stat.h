/* How often system calls were made, how long they took and how they failed: by thread and call, or of all threads together. */
#pragma once

#include "base/dict.h"
#include "model/histogram.h"
#include "model/syscall.h"

struct syscall_errors {
	s32 err;
	u64 nr;
};

struct syscall_row {
	const struct syscall *call;
	u64 nr, nr_failed;
	u64 nr_timed; /* of those whose beginning was seen, too */
	u64 total_ns, min_ns, max_ns;
	double mean, m2; /* of their durations: Welford */
	struct histogram times;
	VEC(struct syscall_errors) errors; /* in the order of their numbers */
};

struct syscall_task {
	s32 pid, tid;
	char comm[SYSCALL_COMM];
	u64 nr_events;
	u64 nr_faults[2]; /* minor, major */
	VEC(struct syscall_row) rows;
};

struct syscall_stat {
	bool together; /* one task for all */
	u64 nr_events;
	VEC(struct syscall_task) tasks;
	struct dict index; /* tid -> task */
};

void syscall_stat_init(struct syscall_stat *s, bool together);
void syscall_stat_done(struct syscall_stat *s);
/* Whose they are; NULL: no memory. Valid until the next call. */
struct syscall_task *syscall_stat_task(struct syscall_stat *s, const struct syscall_thread *t);
/* A call that ended. 0 or -ENOMEM. */
int syscall_stat_add(struct syscall_stat *s, const struct syscall_thread *t) must_check;
/* Tasks by their events, calls by their time, both from the top. */
void syscall_stat_sort(struct syscall_stat *s);
/* The standard error of the mean in percent of it, as perf has it. */
double syscall_row_spread(const struct syscall_row *r);
