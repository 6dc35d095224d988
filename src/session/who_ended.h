/*
 * Tasks that end between two readings, with all that they used: the kernel tells of each one as it ends (kern/taskstats), however
 * short it lived. Threads are added up to processes.
 *
 * A task may end after /proc was read and before its end is: it is then in both. Such an end waits for the next reading, which
 * tells whether the process has gone, or only one of its threads.
 */
#pragma once

#include "base/dict.h"
#include "kern/taskstats.h"
#include "model/task.h"

struct who_ended {
	struct taskstats_socket socket;
	int err; /* why nothing is known; 0: all is */
	bool lost; /* the kernel has dropped some */
	VEC(struct task) list; /* of the last interval */
	VEC(struct task_end) waiting;
	VEC(struct task_end) dead; /* threads of processes that live, added up by process */
	struct dict by_pid; /* pid -> index in list: scratch */
	u32 ticks_per_second;
};

/* Failing is no error: .err says why. */
void who_ended_open(struct who_ended *e, u32 nr_cpus, u32 ticks_per_second);
void who_ended_close(struct who_ended *e);
/* After `now` was read: who ended since the call before goes to .list. -ENOMEM. */
int who_ended_collect(struct who_ended *e, const struct task_list *now, bool threads,
		      const s32 *pids, size_t nr_pids) must_check;
/* The same for ends that somebody else has read; ends are copied. */
int who_ended_add(struct who_ended *e, const struct task_end *ends, size_t nr,
		  const struct task_list *now, bool threads) must_check;
