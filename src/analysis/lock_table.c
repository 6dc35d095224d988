#include "analysis/lock_table.h"

#include "base/dict.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_MAX = 512 };

/* As contention_begin has them (include/trace/events/lock.h). */
enum { LCB_SPIN = 1, LCB_READ = 2, LCB_WRITE = 4, LCB_RT = 8, LCB_PERCPU = 16, LCB_MUTEX = 32 };

const char *lock_type(u32 flags)
{
	switch (flags) {
	case 0: return "semaphore";
	case LCB_SPIN: return "spinlock";
	case LCB_SPIN | LCB_READ: return "rwlock:R";
	case LCB_SPIN | LCB_WRITE: return "rwlock:W";
	case LCB_READ: return "rwsem:R";
	case LCB_WRITE: return "rwsem:W";
	case LCB_RT: return "rtmutex";
	case LCB_RT | LCB_READ: return "rwlock-rt:R";
	case LCB_RT | LCB_WRITE: return "rwlock-rt:W";
	case LCB_PERCPU | LCB_READ: return "pcpu-sem:R";
	case LCB_PERCPU | LCB_WRITE: return "pcpu-sem:W";
	case LCB_MUTEX:
	case LCB_MUTEX | LCB_SPIN: return "mutex";
	default: return "unknown";
	}
}

bool lock_function_name(const char *name)
{
	static const char *const starts[] = {
		"_raw_spin_",	 "_raw_read_",
		"_raw_write_",	 "__raw_spin_",
		"queued_spin_",	 "queued_read_",
		"queued_write_", "native_queued_spin_",
		"__pv_queued_",	 "mutex_",
		"__mutex_",	 "ww_mutex_",
		"__ww_mutex_",	 "rwsem_",
		"down",		 "__down",
		"percpu_down_",	 "__percpu_down_",
		"percpu_rwsem_", "rt_mutex_",
		"__rt_mutex_",	 "rt_spin_",
		"rtlock_",	 "rwbase_",
		"__schedule",	 "schedule",
		"io_schedule",	 "preempt_schedule",
		"__traceiter_",	 "trace_contention_",
		"perf_trace_",	 "osq_lock",
	};
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (str_starts(name, starts[i]))
			return true;
	return false;
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

static const struct name_func *func_of(const struct lock_table_env *env, u32 frame)
{
	return &env->named->funcs[env->named->func_of[frame]];
}

bool lock_place(const struct lock_table_env *env, u32 frame, char *to, size_t size)
{
	const struct name_func *f = func_of(env, frame);
	u64 offset = u64_less(env->tables->frames.frames[frame].offset, f->start);
	if (!f->name)
		return false;
	if (offset)
		(void)snprintf(to, size, "%s+0x%llx", f->name, (unsigned long long)offset);
	else
		(void)snprintf(to, size, "%s", f->name);
	return true;
}

static bool is_locking(const struct lock_table_env *env, u32 frame)
{
	const struct frame *at = &env->tables->frames.frames[frame];
	const struct name_func *f = func_of(env, frame);
	if (at->mode != FRAME_KERNEL || !f->name)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(env->text); i++)
		if (at->offset >= env->text[i].start && at->offset < env->text[i].end)
			return true;
	return !env->text[0].end && lock_function_name(f->name);
}

/* Frames that stay when locking is left out, outermost first; *caller: the innermost of them that has a name, else FRAME_NONE. */
static u64 chain_key(const struct lock_table_env *env, u32 chain, u32 *caller)
{
	u32 nr;
	const u32 *frames = chain_frames(&env->tables->chains, chain, &nr);
	u64 key = hash_seed();
	*caller = FRAME_NONE;
	for (u32 i = 0; i + env->stack_skip < nr; i++) {
		if (is_locking(env, frames[i]))
			continue;
		key = hash_seeded(frames[i], key);
		if (func_of(env, frames[i])->name)
			*caller = frames[i];
	}
	return key;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

struct lock_fold {
	const struct lock_waits *waits;
	const struct lock_table_env *env;
	enum lock_group group;
	struct lock_rows *to;
	struct dict row_of;
};

static const char *task_name(const struct lock_table_env *env, s32 tid, char *to, size_t size)
{
	u32 id = dict_get(&env->catalog->last_comm, (u64)(u32)tid);
	if (id != DICT_NONE)
		return strtab_str(&env->catalog->strings, id);
	(void)snprintf(to, size, tid ? ":%d" : "swapper", tid);
	return to;
}

static const char *symbol_of(const struct lock_fold *f, size_t index)
{
	u32 frame = f->env->lock_frames ? f->env->lock_frames[index] : FRAME_NONE;
	return frame ? func_of(f->env, frame)->name : NULL;
}

static int fill_row(struct lock_fold *f, size_t index, const struct lock_wait *w, u32 caller)
{
	char place[PLACE_MAX], task[32];
	const struct lock_table_env *env = f->env;
	struct lock_row *r = vec_push(&f->to->list);
	if (!r)
		return -ENOMEM;
	*r = (struct lock_row){ .sum = { .min_ns = UINT64_MAX },
				.address = w->lock,
				.tid = w->tid,
				.flags = w->flags,
				.type = lock_type(w->flags),
				.chain = w->chain,
				.order = (u32)f->to->list.nr,
				.symbol = symbol_of(f, index) };
	bool known = caller && lock_place(env, caller, place, sizeof(place));
	r->caller = arena_strdup(&f->to->arena, known ? place : "Unknown");
	const char *class_name = lock_waits_class(f->waits, w->class_name);
	const char *name = f->group == LOCK_BY_THREAD	? task_name(env, w->tid, task, sizeof(task))
			   : class_name			? class_name
			   : f->group == LOCK_BY_CALLER ? r->caller
			   : r->symbol			? r->symbol
							: r->caller;
	r->name = name ? arena_strdup(&f->to->arena, name) : NULL;
	return r->caller && r->name ? 0 : -ENOMEM;
}

static void add_sum(struct lock_sum *to, const struct lock_sum *s)
{
	to->nr_acquired += s->nr_acquired;
	to->nr_contended += s->nr_contended;
	to->nr_waits += s->nr_waits;
	to->total_ns += s->total_ns;
	to->max_ns = max(to->max_ns, s->max_ns);
	to->min_ns = min(to->min_ns, s->min_ns);
	if (!to->broken)
		to->broken = s->broken;
}

static u64 name_key(const struct lock_fold *f, size_t index, const struct lock_wait *w, u32 caller)
{
	const char *symbol = symbol_of(f, index);
	const char *name = w->class_name ? lock_waits_class(f->waits, w->class_name) : symbol;
	return name ? hash_text(name, strlen(name), hash_seed()) : hash_seeded(caller, hash_seed());
}

static int add_wait(struct lock_fold *f, size_t index, const struct lock_wait *w)
{
	u32 caller, row;
	u64 key = chain_key(f->env, w->chain, &caller);
	if (f->group == LOCK_BY_THREAD)
		key = (u32)w->tid;
	else if (f->group == LOCK_BY_ADDRESS)
		key = w->lock;
	else if (f->group == LOCK_BY_NAME)
		key = name_key(f, index, w, caller);
	if (dict_add(&f->row_of, key, (u32)f->to->list.nr, &row) < 0)
		return -ENOMEM;
	if (row == f->to->list.nr && fill_row(f, index, w, caller))
		return -ENOMEM;
	add_sum(&f->to->list.at[row].sum, &w->sum);
	return 0;
}

int lock_table(const struct lock_waits *w, const struct lock_table_env *env, enum lock_group group,
	       struct lock_rows *ret)
{
	struct lock_fold f = { .waits = w, .env = env, .group = group, .to = ret };
	size_t nr;
	const struct lock_wait *list = lock_waits_list(w, &nr);
	int err = 0;
	*ret = (struct lock_rows){ .nr_events = lock_waits_nr_events(w),
				   .nr_lockdep = lock_waits_nr_lockdep(w),
				   .nr_open = lock_waits_nr_open(w) };
	arena_init(&ret->arena);
	dict_init(&f.row_of);
	for (size_t i = 0; i < nr && !err; i++)
		err = add_wait(&f, i, &list[i]);
	dict_done(&f.row_of);
	return err;
}

void lock_rows_done(struct lock_rows *r)
{
	vec_free(&r->list);
	arena_done(&r->arena);
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

static int by_value(const void *pa, const void *pb, void *key)
{
	const struct lock_row *a = pa, *b = pb;
	u64 x = lock_value(a, *(enum lock_key *)key), y = lock_value(b, *(enum lock_key *)key);
	if (x != y)
		return x < y ? 1 : -1;
	return a->order < b->order ? -1 : 1;
}

void lock_rows_sort(struct lock_rows *r, enum lock_key key)
{
	if (r->list.nr)
		qsort_r(r->list.at, r->list.nr, sizeof(*r->list.at), by_value, &key);
}
