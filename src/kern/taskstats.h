/* Delay accounting of tasks, which the kernel gives away by generic netlink only. Needs CAP_NET_ADMIN. */
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
int taskstats_get(struct taskstats_socket *t, s32 id, bool group, struct task_delays *ret) must_check;
