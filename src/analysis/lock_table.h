/*
 * Waits for locks to rows: added up by caller, lock, class or thread, and sorted. The caller is the first frame of the kernel's stack that is
 * not part of locking itself. The kernel keeps those functions in two sections; where their limits are not known, names tell.
 */
#pragma once

#include "analysis/lock_waits.h"
#include "model/names.h"

struct lock_text {
	u64 start, end;
};

struct lock_table_env {
	const struct catalog *catalog;
	const struct run_tables *tables;
	const struct names_result *named;
	const u32 *lock_frames; /* [wait]: the lock itself as a frame, FRAME_NONE where it cannot have a symbol; NULL: none can */
	struct lock_text text[2]; /* .sched.text and .spinlock.text; end 0: not known */
	u32 stack_skip; /* innermost frames that are never the caller */
};

/* In the order of the waits. 0 or -ENOMEM; lock_rows_done() in any case. */
int lock_table(const struct lock_waits *w, const struct lock_table_env *env, enum lock_group group,
	       struct lock_rows *ret) must_check;
void lock_rows_done(struct lock_rows *r);
/* Largest first; of equals the one that came up first. */
void lock_rows_sort(struct lock_rows *r, enum lock_key key);

/* "mutex", "rwsem:W" ...: what contention_begin's flags mean. */
const char *lock_type(u32 flags);
/* Whether a kernel function is one that takes locks or sleeps for them, by its name alone. */
bool lock_function_name(const char *name);
/* "function+0x51" of a frame; false: it has no name. */
bool lock_place(const struct lock_table_env *env, u32 frame, char *to, size_t size);
