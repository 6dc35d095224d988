/*
 * What the kernel says about tasks at one moment: a row a process or thread, with only those parts filled that were asked for, and about
 * the machine as a whole. kern/proc_task reads it, analysis/who compares two readings. Texts lie in one buffer of the list, which keeps its
 * memory from reading to reading.
 */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"

/* Parts of a task that cost a file each, or more. */
enum task_part {
	TASK_STAT = 1 << 0, /* always there */
	TASK_STATM = 1 << 1,
	TASK_STATUS = 1 << 2,
	TASK_OWNER =
		1 << 3, /* effective user and group alone, which can be had for less than TASK_STATUS */
	TASK_IO = 1 << 4,
	TASK_SCHEDSTAT = 1 << 5,
	TASK_CGROUP = 1 << 6,
	TASK_WCHAN = 1 << 7,
	TASK_CMDLINE = 1 << 8,
	TASK_ENVIRON = 1 << 9,
	TASK_EXE = 1 << 10,
	TASK_NAMESPACES = 1 << 11,
	TASK_SMAPS = 1 << 12,
	TASK_OOM = 1 << 13,
	TASK_LOGIN = 1 << 14,
	TASK_AUTOGROUP = 1 << 15,
	TASK_SOCKETS = 1 << 16,
	TASK_DELAYS = 1 << 17,
	TASK_NET = 1 << 19, /* not of /proc: whoever counts them fills them in */
	TASK_ENDED = 1 << 18, /* it has: there is .ended_cpu_ns instead of ticks */
};

enum { TASK_COMM_MAX = 64 }; /* kernel workers show more than the 16 bytes of a task */
enum { TASK_FLAG_KTHREAD = 0x00200000 };

enum task_ns {
	TASK_NS_CGROUP,
	TASK_NS_IPC,
	TASK_NS_MNT,
	TASK_NS_NET,
	TASK_NS_PID,
	TASK_NS_TIME,
	TASK_NS_USER,
	TASK_NS_UTS,
	TASK_NS_NR,
};

/* Real, effective, saved, file system. */
enum task_id { TASK_ID_REAL, TASK_ID_EFFECTIVE, TASK_ID_SAVED, TASK_ID_FS, TASK_ID_NR };

struct task {
	s32 pid; /* thread group */
	s32 tid;
	u32 parts; /* what was read */
	u32 denied; /* what we may not read */
	char comm[TASK_COMM_MAX];

	/* stat; times in ticks, sizes in pages */
	char state;
	s32 ppid, pgrp, session, tty, tpgid;
	u32 flags;
	u64 min_faults, maj_faults;
	u64 user_ticks, system_ticks, child_user_ticks, child_system_ticks;
	s32 priority, nice;
	s32 nr_threads;
	u64 start_ticks; /* since boot: with tid, who it is */
	u64 virtual_bytes;
	u64 rss_pages;
	s32 cpu;
	u32 rt_priority, policy;

	/* statm, in pages */
	u64 size_pages, resident_pages, shared_pages, text_pages, data_pages, dirty_pages;

	/* status */
	u32 uid[TASK_ID_NR], gid[TASK_ID_NR];
	u64 swap_kb, rss_anon_kb, rss_file_kb, rss_shmem_kb, locked_kb;
	u64 voluntary_switches, other_switches;

	/* io: calls, and what reached a disk */
	u64 read_calls, write_calls, read_bytes, write_bytes;

	/* schedstat, of the one thread */
	u64 run_ns, wait_ns, slices;

	/* taskstats */
	u64 block_delay_ns, swapin_delay_ns;

	u64 ns[TASK_NS_NR]; /* inodes; 0: not there */
	u64 smaps_rss_kb, pss_kb, pss_anon_kb, pss_file_kb, pss_shmem_kb, private_kb;
	s32 oom_adj, oom_score;
	s64 login_uid; /* -1: none */
	s32 autogroup, autogroup_nice; /* -1: none */
	u32 nr_sockets;

	/* bytes over IP, since somebody has counted them */
	u64 net_sent, net_received;

	u64 ended_cpu_ns; /* all it ever used */

	/* Texts of the list: task_text(). 0: none */
	u32 cgroup, wchan, cmdline, environ, exe, groups;
};

struct task_list {
	VEC(struct task) tasks; /* by pid, then tid */
	struct strbuf text; /* begins with a NUL; each text ends with one */
	u64 time_ns; /* CLOCK_BOOTTIME when reading began */
};

void task_list_init(struct task_list *l);
void task_list_done(struct task_list *l);
/* Empties it; memory stays. -ENOMEM. */
int task_list_reset(struct task_list *l) must_check;
/* Keeps a text; its place for task_text(), 0 when memory is out. */
u32 task_list_add_text(struct task_list *l, const char *text, size_t len);
static inline const char *task_text(const struct task_list *l, u32 place)
{
	return l->text.data ? l->text.data + place : "";
}
/* The task with this number, whenever it began; NULL: not there. */
const struct task *task_list_find_id(const struct task_list *l, s32 pid, s32 tid);
/* The same task in another list, which is the one with its pid, tid and start; NULL: not there. */
const struct task *task_list_find(const struct task_list *l, s32 pid, s32 tid, u64 start_ticks);

/* In ticks, since boot. */
struct cpu_ticks {
	s32 cpu; /* -1: all */
	u64 user, nice, system, idle, iowait, irq, softirq, steal;
};

struct system_reading {
	double uptime_s, load[3];
	VEC(struct cpu_ticks) cpus; /* first all together */
	u64 mem_total_kb, mem_free_kb, mem_available_kb, buffers_kb, cached_kb, reclaimable_kb;
	u64 swap_total_kb, swap_free_kb;
	u64 paged_in_kb, paged_out_kb; /* between memory and disks, since boot */
};

/* How tasks and CPUs were doing between the readings. */
struct who_cpu {
	s32 cpu; /* -1: all */
	double user, nice, system, idle, iowait, irq, softirq, steal; /* percent */
};

struct who_summary {
	u32 total, running, sleeping, stopped, zombie;
	u32 ended; /* between the readings; not part of total */
	bool threads;
	struct {
		VEC(struct who_cpu) list;
	} cpus; /* first all together */
	double read_per_s, write_per_s; /* bytes: the sum of all tasks */
	double paged_in_per_s, paged_out_per_s; /* bytes: of all disks together */
	u32 denied_parts; /* that we may not read of at least one task */
	u32 nr_denied; /* tasks */
};
