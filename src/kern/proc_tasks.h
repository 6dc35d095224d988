/*
 * All tasks from /proc, again and again: what `who` shows. Made for 20,000 of them every second:
 *
 *	only the files of the parts that are asked for are read, by openat() from one directory
 *	/proc/PID/stat stays open from reading to reading, for as many tasks as the limit of open files allows
 *	where its text is the same as last time, it is not parsed again, and statm and status neither read nor parsed: the task has not
 *	run, has had no page fault and lost no page
 *	two lists take turns, and keep their memory
 *
 * A task that ends meanwhile is left out. What may not be read is marked (task.denied).
 */
#pragma once

#include "base/dict.h"
#include "kern/sysroot.h"
#include "kern/taskstats.h"
#include "model/task.h"

struct proc_tasks;

struct proc_tasks_opts {
	unsigned parts; /* enum task_part */
	bool threads; /* a row for each, instead of one for a process */
	const s32 *pids; /* only these; NULL: all */
	size_t nr_pids;
	void (*complete)(void *ctx,
			 struct task_list *l); /* adds what /proc does not have; may be NULL */
	void *complete_ctx;
};

/* The root is borrowed. NULL and errno: no memory, or no /proc. */
struct proc_tasks *proc_tasks_open(const struct sysroot *root);
void proc_tasks_close(struct proc_tasks *p);

/* 0 or negative errno. The list is valid until the reading after the next one: two readings can be compared. */
int proc_tasks_read(struct proc_tasks *p, const struct proc_tasks_opts *o,
		    const struct task_list **ret) must_check;
/* Why delays could not be read: negative errno of taskstats; 0: they could, or nobody asked. */
int proc_tasks_delays_error(const struct proc_tasks *p);

/* The machine as a whole; s is zeroed before the first call, vec_free(&s->cpus) in the end. */
int system_read(const struct sysroot *root, struct strbuf *buf, struct system_reading *s) must_check;
/* The value of proc's hidepid option (0: not hidden). */
int proc_hidepid(const struct sysroot *root, struct strbuf *buf);
