/*
 * Waits for kernel locks, from the events of lock: contention_begin and contention_end, or lockdep's lock_acquire, lock_acquired,
 * lock_contended and lock_release where the kernel has those. Per thread and lock a small machine follows what the thread is doing with it:
 *
 *	contention_begin ─► CONTENDED ─ contention_end ─► ACQUIRED
 *	lock_acquire ─► ACQUIRING ─► (lock_contended ─► CONTENDED) ─ lock_acquired ─► ACQUIRED ─ lock_release ─► gone
 *
 * A mutex may begin twice, spinning and then asleep: the wait counts from the first. A step that cannot follow the one before (events were
 * lost) marks the sum as broken and starts the lock over. Waits are added up by lock, thread, kind and call chain; analysis/lock_table makes
 * rows of these sums when frames have names.
 */
#pragma once

#include "base/strtab.h"
#include "model/lock.h"
#include "model/source.h"

struct lock_wait {
	u64 lock; /* address */
	u32 chain; /* where the wait began; of the run's tables after it */
	s32 tid;
	u32 flags; /* LCB_F_* */
	u32 class_name; /* of names; 0: lockdep says none */
	struct lock_sum sum;
};

struct lock_waits;

struct lock_waits *lock_waits_new(void); /* NULL: no memory */
void lock_waits_free(struct lock_waits *w);
/* For one run with one worker: events in time order. */
struct sink *lock_waits_sink(struct lock_waits *w);

/* After the run: in the order in which each came up first. */
const struct lock_wait *lock_waits_list(const struct lock_waits *w, size_t *nr);
const char *lock_waits_class(const struct lock_waits *w, u32 class_name); /* NULL: none */
u64 lock_waits_nr_events(const struct lock_waits *w);
u64 lock_waits_nr_lockdep(const struct lock_waits *w);
u64 lock_waits_nr_open(const struct lock_waits *w); /* waits without an end */
