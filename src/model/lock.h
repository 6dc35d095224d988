/*
 * Locks and who waited for them: rows that analysis/lock_table makes and view/text_lock prints. Times are what a thread waited between the
 * beginning of contention and its end.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

/* What waits are added up by. */
enum lock_group {
	LOCK_BY_CALLER, /* call chain without the lock's own functions */
	LOCK_BY_ADDRESS,
	LOCK_BY_NAME, /* class of the lock, or the caller where it has none */
	LOCK_BY_THREAD,
};

/* Columns, which are keys to sort by as well. */
enum lock_key {
	LOCK_ACQUIRED,
	LOCK_CONTENDED,
	LOCK_AVG_WAIT,
	LOCK_WAIT_TOTAL,
	LOCK_WAIT_MAX,
	LOCK_WAIT_MIN,
	LOCK_NR_KEYS,
};

/* The event at which a thread did with a lock what it could not do by then: some event before it is missing. */
enum lock_broken {
	LOCK_BROKEN_ACQUIRE,
	LOCK_BROKEN_ACQUIRED,
	LOCK_BROKEN_CONTENDED,
	LOCK_BROKEN_RELEASE,
	LOCK_NR_BROKEN,
};

struct lock_sum {
	u64 nr_acquired, nr_contended;
	u64 total_ns, max_ns, min_ns; /* min_ns UINT64_MAX: nobody waited */
	u64 nr_waits; /* that ended, and make up total_ns */
	u8 broken; /* enum lock_broken + 1, of the first time; 0: never */
};

struct lock_row {
	struct lock_sum sum;
	u64 address; /* of the lock; by caller: of the first one */
	s32 tid;
	u32 flags; /* LCB_F_* of the kernel */
	const char *type; /* "spinlock" ... */
	const char *name; /* class, symbol, caller or task, as the group wants it */
	const char *symbol; /* of the lock; NULL: none */
	const char *caller; /* "Unknown": none */
	u32 chain;
	u32 order; /* in which rows came up */
};

struct lock_rows {
	struct arena arena;
	VEC(struct lock_row) list;
	u64 nr_lockdep; /* events of lockdep, which also tell of locks that nobody waited for */
	u64 nr_events;
	u64 nr_open; /* waits that had not ended */
};

u64 lock_value(const struct lock_row *r, enum lock_key key);
/* "wait_total" ...; -1: unknown. */
int lock_key_find(const char *name, size_t len);
const char *lock_key_name(enum lock_key key);
