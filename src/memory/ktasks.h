/* The kernel's tasks as they are in its memory: one task's facts, and a walk over all of them, threads included. */
#pragma once

#include "memory/walk.h"

enum { KTASK_COMM = 16 };

struct ktask {
	u64 addr; /* of its task_struct */
	u32 pid, tgid; /* in the first PID namespace */
	u32 on_cpu, on_rq, cpu;
	u32 state, exit_state, flags;
	s32 prio;
	u64 mm, parent, signal, stack, files, sp;
	char comm[KTASK_COMM];
};

/* Where things are in this kernel's task_struct and mm_struct. */
struct ktasks {
	struct kspace *k;
	struct {
		u64 pid, tgid, state, exit_state, flags, comm, mm, real_parent, on_cpu, on_rq, prio;
		u64 signal, stack, files, sp, cpu, tasks, thread_node;
		u64 thread_head; /* in signal_struct */
		u64 total_vm, rss[3]; /* in mm_struct: file, anonymous, shared memory */
	} at;
};

/* -ENOENT with a diag: BTF lacks a member. */
int ktasks_open(struct ktasks *t, struct kspace *k) must_check;
/* -EFAULT without a diag: it has gone. */
int ktasks_read(struct ktasks *t, u64 addr, struct ktask *ret) must_check;

/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*ktask_fn)(void *ctx, const struct ktask *task);
/* Tasks that go while we look are not told. */
int ktasks_each(struct ktasks *t, ktask_fn fn, void *ctx, struct walk_result *ret) must_check;

/* crash's two letters: RU, IN, UN, ZO ... */
const char *ktask_state(const struct ktask *task);
bool ktask_is_kernel_thread(const struct ktask *task);
/* Whether a word means it: its PID, the address of its task_struct, its name, its state's letters, "kernel", "user". */
bool ktask_matches(const struct ktask *task, const char *word);
/* Whether a word means tasks of a kind: a state's letters, "kernel", "user". There may be none. */
bool ktask_is_class(const char *word);
/* In pages. 0 for kernel threads. */
void ktask_sizes(struct ktasks *t, const struct ktask *task, u64 *virtual, u64 *resident);
