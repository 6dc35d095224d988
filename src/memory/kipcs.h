/* System V shared memory, semaphores and message queues of a task's namespace, as the kernel's memory has them. */
#pragma once

#include "memory/walk.h"

enum kipc_kind {
	KIPC_SEMAPHORES,
	KIPC_MESSAGES,
	KIPC_SHARED,
	KIPC_KINDS
}; /* as in ipc_namespace.ids */

struct kipc {
	u64 addr; /* of its struct shmid_kernel, sem_array or msg_queue */
	s32 key, id;
	u32 uid, mode;
	u64 size; /* bytes of the segment or in the queue; semaphores */
	u64 nr; /* attached; messages */
	u64 file; /* of a segment: its struct file */
	bool removed; /* a segment that goes with its last user */
};

/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*kipc_fn)(void *ctx, const struct kipc *ipc);
/* -ENOENT with a diag: BTF lacks a member; -ESRCH: the task has no namespaces any more. */
int kipcs_each(struct kspace *k, u64 task, enum kipc_kind kind, kipc_fn fn, void *ctx,
	       struct walk_result *ret) must_check;
