/*
 * Ways of observing, tried: each opens what it needs, makes the thing happen once where it can, looks whether it was seen,
 * and closes everything. Only file descriptors of our own are used; no file of tracefs or /proc/sys is written.
 */
#pragma once

#include "kern/caps.h"
#include "kern/sysroot.h"
#include "kern/tracefs.h"

#include <linux/perf_event.h>

enum trial_kind {
	TRIAL_SOFTWARE, /* a software event of our own thread, user space */
	TRIAL_KERNEL, /* the same including the kernel */
	TRIAL_SYSTEM_WIDE, /* of a whole CPU */
	TRIAL_SAMPLING, /* cpu-clock into a ring; value: samples */
	TRIAL_RING, /* the ring that `record` uses */
	TRIAL_CYCLES, /* hardware counter; value: its count */
	TRIAL_PRECISE, /* value: the highest precise_ip */
	TRIAL_BRANCHES, /* branch stacks (LBR, BRBE) */
	TRIAL_TRACEPOINT,
	TRIAL_BREAKPOINT,
	TRIAL_UPROBE, /* through the uprobe PMU, on a function of ours */
	TRIAL_KPROBE, /* through the kprobe PMU, on vfs_read */
	TRIAL_BPF_PROG, /* a program of two instructions */
	TRIAL_BPF_RING, /* a BPF ring buffer map */
	TRIAL_FENTRY, /* a BPF program for the entry of vfs_read, loaded but not attached */
	TRIAL_REGS_INTR, /* registers of the kernel: what lockdown's confidentiality refuses */
	TRIAL_NR,
};

struct trial {
	int err; /* 0, or what the kernel said: negative errno */
	bool unseen; /* it opened, but what we made happen was not counted */
	u64 value;
};

struct trial_env {
	const struct sysroot *root;
	const struct tracing *tracing;
	bool user_only; /* leave the kernel out of what can do without */
	/* The system calls: tests put kernels of their own here. */
	long (*perf_open)(struct perf_event_attr *attr, s32 pid, s32 cpu, int group_fd,
			  unsigned long flags);
	long (*bpf)(int cmd, void *attr, unsigned size);
};

void trial_env_init(struct trial_env *e, const struct sysroot *root, const struct tracing *t,
		    const struct perf_rights *rights);
void trial_run(const struct trial_env *e, enum trial_kind kind, struct trial *ret);

/* The id of a kernel function in BTF bytes; 0: there is none, or the bytes are not BTF. */
u32 trial_function_id(const void *btf, size_t len, const char *function);
