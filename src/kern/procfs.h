/*
 * Processes, threads and their mappings from /proc, read with one buffer that is reused from file to file and parsed by
 * hand. A process that ends meanwhile is no error: it gives nothing, or -ESRCH where one was asked for.
 */
#pragma once

#include "base/vec.h"
#include "kern/sysroot.h"

#include <sys/types.h>

enum { PROCFS_COMM_MAX = 64 }; /* kernel workers show more than the 16 bytes of a task */

struct proc_task {
	s32 pid; /* thread group */
	s32 tid;
	s32 ppid; /* of the thread group; 0 for threads other than the leader */
	bool kernel_thread;
	s32 nr_threads; /* leaders only */
	char comm[PROCFS_COMM_MAX];
};

struct proc_map {
	u64 start, end;
	u64 file_offset;
	u64 inode;
	u32 dev_major, dev_minor;
	u8 prot; /* PROT_READ | PROT_WRITE | PROT_EXEC */
	bool shared;
	const char *path; /* borrowed until the next map; "" for anonymous memory */
};

struct procfs {
	const struct sysroot *root;
	struct strbuf buf;
	VEC(s32) ids; /* scratch */
};

void procfs_init(struct procfs *p, const struct sysroot *root);
void procfs_done(struct procfs *p);

/* Appends the ids of all processes, ascending. */
int procfs_pids(struct procfs *p, s32 **ids,
		size_t *nr) must_check; /* borrowed until the next call that lists */
/* All threads of a process; -ESRCH. */
int procfs_tids(struct procfs *p, s32 pid, s32 **ids, size_t *nr) must_check;
/* The leader (tid == pid) with its parent, or a thread with its name only; -ESRCH. */
int procfs_task(struct procfs *p, s32 pid, s32 tid, struct proc_task *ret) must_check;
/* The thread group a thread belongs to; -ESRCH. */
int procfs_tgid(struct procfs *p, s32 tid, s32 *ret) must_check;
/* The user whose files the process makes (fsuid); -ESRCH. */
int procfs_uid(struct procfs *p, s32 pid, u32 *ret) must_check;
/* When the process began, in seconds of the wall clock; -ESRCH. */
int procfs_started(struct procfs *p, s32 pid, s64 *ret) must_check;
/* The id that the process has in its own pid namespace (for /tmp/perf-PID.map); -ESRCH. */
int procfs_nspid(struct procfs *p, s32 pid, s32 *ret) must_check;
/* A process of a pid namespace below ours that has this id there: its id here, or -ESRCH. Looks at all processes. */
int procfs_outer_pid(struct procfs *p, s32 nspid, s32 *ret) must_check;
/* fn for each mapping until it returns non-zero, which is returned; -ESRCH, -EACCES. */
int procfs_maps(struct procfs *p, s32 pid, int (*fn)(void *ctx, const struct proc_map *m),
		void *ctx) must_check;

/* Copies memory of a process whole; -ESRCH, -EPERM, -EFAULT. */
int procfs_read_memory(s32 pid, u64 addr, void *to, size_t nr) must_check;

/* One line of a maps file, which is changed (the path is terminated in place); false: not one. */
bool procfs_parse_map(char *line, char *end, struct proc_map *ret);
/* "PID (comm) S PPID ... flags"; false: not a stat line. */
bool procfs_parse_stat(const char *text, size_t len, struct proc_task *ret);
