/* What waits in a wait queue (struct wait_queue_head). */
#pragma once

#include "memory/ktasks.h"

enum kwait_kind {
	KWAIT_TASK, /* a task that sleeps */
	KWAIT_POLL, /* a task in poll() or select() */
	KWAIT_EPOLL, /* an epoll instance that watches the file */
	KWAIT_OTHER, /* the kernel's own function */
};

struct kwait {
	enum kwait_kind kind;
	u64 addr; /* of its struct wait_queue_entry */
	u64 function;
	u32 flags;
	u64 task; /* 0: none */
	u64 eventpoll; /* of KWAIT_EPOLL; 0: not known */
};

/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*kwait_fn)(void *ctx, const struct kwait *wait);
/* -ENOENT with a diag: BTF lacks a member. */
int kwaits_each(struct kspace *k, u64 head, kwait_fn fn, void *ctx,
		struct walk_result *ret) must_check;
