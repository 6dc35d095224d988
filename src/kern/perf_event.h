/*
 * perf_event_open() for people: what an older kernel does not know is found by trying and left out, kernel samples are
 * dropped where the user may not have them, the limit on open files is raised when it is hit. Whatever was changed is
 * changed in the caller's attr, so that what is written to the file is what the kernel runs.
 */
#pragma once

#include "base/diag.h"
#include "kern/caps.h"
#include "kern/sysroot.h"

#include <linux/perf_event.h>
#include <sys/types.h>

/* Parts of an attr that newer kernels brought and a recording can do without. */
enum perf_attr_part {
	ATTR_PART_BUILD_ID, /* 5.12: build ids in MMAP2 */
	ATTR_PART_CGROUP, /* 5.7 */
	ATTR_PART_READ_LOST, /* 6.0: PERF_FORMAT_LOST */
	ATTR_PART_BPF_EVENT, /* 5.1 */
	ATTR_PART_KSYMBOL, /* 5.1 */
	ATTR_PART_NAMESPACES, /* 4.12 */
	ATTR_PART_COMM_EXEC, /* 3.16 */
	ATTR_PART_MMAP2, /* 3.16 */
	ATTR_PART_EXCLUDE_GUEST, /* 3.2; refused by some PMUs */
	ATTR_PART_SAMPLE_ID_ALL, /* 2.6.38 */
	ATTR_PART_NR,
};

/* How the kernel was asked for an event that it then opened. */
struct perf_opened {
	int fd, group_fd;
	s32 pid, cpu;
	unsigned long flags;
};
typedef void perf_opened_fn(void *ctx, const struct perf_event_attr *attr,
			    const struct perf_opened *how);

struct perf_opener {
	const struct sysroot *root;
	struct perf_rights rights;
	u32 missing; /* bits of enum perf_attr_part that this kernel refused */
	bool no_cloexec;
	bool files_raised;
	bool may_drop_kernel; /* on EACCES: retry with exclude_kernel */
	unsigned long flags; /* of the caller: PERF_FLAG_PID_CGROUP when pid is a cgroup's file descriptor */
	/* The system call; tests put kernels of their own here. */
	long (*sys_open)(struct perf_event_attr *attr, s32 pid, s32 cpu, int group_fd,
			 unsigned long flags);
	perf_opened_fn *opened; /* told of each event that was opened; may be NULL */
	void *opened_ctx;
};

void perf_opener_init(struct perf_opener *o, const struct sysroot *root);

/* A file descriptor or negative errno. group_fd -1: none. attr may be changed, also on failure. */
int perf_opener_open(struct perf_opener *o, struct perf_event_attr *attr, s32 pid, s32 cpu,
		     int group_fd) must_check;
/* Says why, and what would help. Returns err. */
int perf_opener_explain(const struct perf_opener *o, int err, const struct perf_event_attr *attr,
			const char *name, s32 pid, s32 cpu, struct diag *d);

int perf_event_id(int fd, u64 *ret) must_check;
int perf_event_enable(int fd) must_check;
int perf_event_disable(int fd) must_check;
/* fd's records go to the ring of to_fd. */
int perf_event_redirect(int fd, int to_fd) must_check;
/* Stops (or lets go on) the writing into an overwritten ring, so that it can be read. */
int perf_event_pause_output(int fd, bool pause) must_check;
/* Tracepoints only: the kernel's filter expression. */
int perf_event_set_filter(int fd, const char *filter) must_check;
