/*
 * What the kernel tells about tasks by generic netlink only: delay accounting of those that live, and the whole use of those that end. Needs
 * CAP_NET_ADMIN, the latter also the first user and pid namespaces.
 */
#pragma once

#include "base/types.h"

struct taskstats_socket {
	int fd;
	u16 family;
	u32 sequence;
};

struct task_delays {
	u64 block_ns; /* waiting for a disk */
	u64 swapin_ns;
};

/* 0, or negative errno: -ENOENT without CONFIG_TASKSTATS. */
int taskstats_open(struct taskstats_socket *t) must_check;
void taskstats_close(struct taskstats_socket *t);
/* group: of all threads of the process, living and dead. 0, -ESRCH, -EPERM, or another negative errno. */
int taskstats_get(struct taskstats_socket *t, s32 id, bool group,
		  struct task_delays *ret) must_check;

/* A task that has ended, each thread by itself. */
struct task_end {
	s32 pid, tid, ppid;
	u32 uid, gid;
	char comm[33];
	s32 nice;
	u64 cpu_ns; /* all it ever used */
	u64 lived_ns;
	u64 min_faults, maj_faults;
	u64 read_bytes, write_bytes;
};

/*
 * From now on, ends of all tasks are queued on this socket, which must not be asked for anything else. 0; -EPERM; -EINVAL: in a container; or
 * another negative errno.
 */
int taskstats_listen(struct taskstats_socket *t, u32 nr_cpus) must_check;
/* The next one, without waiting: 1; 0: none; -ENOBUFS: some were lost; -ENOTSUP: a kernel before 5.19, which does not say whose thread it was. */
int taskstats_next_end(struct taskstats_socket *t, struct task_end *ret) must_check;
/* One message of the kernel's; false: it is about something else, or broken. */
bool taskstats_parse_end(const u8 *data, size_t len, struct task_end *ret, bool *no_tgid);
