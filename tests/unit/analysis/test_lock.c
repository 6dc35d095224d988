/* Locks: the steps of lockdep's events and of contention, broken sequences, and what waits are added up by. */
#include "analysis/lock_table.h"
#include "tap.h"

struct raw {
	u64 lock;
	u32 flags;
	char name[12];
};

static const struct schema_field lockdep_fields[] = {
	{ .name = "lockdep_addr", .offset = 0, .size = 8, .elem_size = 8, .nr_elems = 1 },
	{ .name = "flags", .offset = 8, .size = 4, .elem_size = 4, .nr_elems = 1 },
	{ .name = "name",
	  .offset = 12,
	  .size = 12,
	  .elem_size = 1,
	  .nr_elems = 12,
	  .flags = FIELD_STRING | FIELD_ARRAY },
};
static const struct schema_field contention_fields[] = {
	{ .name = "lock_addr", .offset = 0, .size = 8, .elem_size = 8, .nr_elems = 1 },
	{ .name = "flags", .offset = 8, .size = 4, .elem_size = 4, .nr_elems = 1 },
};

enum { ACQUIRE, ACQUIRED, CONTENDED, RELEASE, BEGIN, END, OTHER };

#define LOCKDEP(n)                                                                                 \
	{                                                                                          \
		.system = "lock", .name = (n), .fields = lockdep_fields, .nr_fields = 3            \
	}
static const struct schema schemas[] = {
	[ACQUIRE] = LOCKDEP("lock_acquire"),
	[ACQUIRED] = LOCKDEP("lock_acquired"),
	[CONTENDED] = LOCKDEP("lock_contended"),
	[RELEASE] = LOCKDEP("lock_release"),
	[BEGIN] = { .system = "lock",
		    .name = "contention_begin",
		    .fields = contention_fields,
		    .nr_fields = 2 },
	[END] = { .system = "lock",
		  .name = "contention_end",
		  .fields = contention_fields,
		  .nr_fields = 2 },
	[OTHER] = { .system = "sched",
		    .name = "lock_acquire",
		    .fields = lockdep_fields,
		    .nr_fields = 3 },
};

static void *state;

static void event(struct lock_waits *w, int what, s32 tid, u64 time, u64 lock, u32 flags)
{
	struct raw raw = { .lock = lock, .flags = flags, .name = "dep_lock" };
	struct sample s = { .event = (u32)what,
			    .tid = tid,
			    .cpu = 1,
			    .time_ns = time,
			    .raw = &raw,
			    .raw_size = sizeof(raw),
			    .schema = &schemas[what] };
	struct sink *k = lock_waits_sink(w);
	ok(!k->ops->feed(k, state, &(struct batch){ .samples = &s, .nr = 1 }), "fed");
}

static struct lock_waits *start(void)
{
	struct lock_waits *w = lock_waits_new();
	struct sink *k = lock_waits_sink(w);
	ok(!k->ops->shard_new(k, 0, NULL, &state), "a worker");
	return w;
}

static const struct lock_sum *only(const struct lock_waits *w)
{
	size_t nr;
	const struct lock_wait *list = lock_waits_list(w, &nr);
	is_u64(nr, 1, "one lock of one thread");
	return &list[0].sum;
}

static void lockdep(void)
{
	struct lock_waits *w = start();
	event(w, ACQUIRED, 7, 1, 0x10, 0); /* recording began in the middle */
	event(w, ACQUIRE, 7, 10, 0x10, 0);
	event(w, ACQUIRED, 7, 11, 0x10, 0);
	event(w, RELEASE, 7, 12, 0x10, 0);
	event(w, ACQUIRE, 7, 20, 0x10, 0);
	event(w, CONTENDED, 7, 21, 0x10, 0);
	event(w, ACQUIRED, 7, 121, 0x10, 0);
	event(w, RELEASE, 7, 130, 0x10, 0);
	event(w, ACQUIRE, 7, 140, 0x10, 2); /* readers do without acquired, and nest */
	event(w, ACQUIRE, 7, 141, 0x10, 2);
	event(w, RELEASE, 7, 142, 0x10, 0);
	event(w, RELEASE, 7, 143, 0x10, 0);
	event(w, OTHER, 7, 150, 0x10, 0);
	const struct lock_sum *s = only(w);
	is_u64(s->nr_acquired, 4, "four times taken");
	is_u64(s->nr_contended, 1, "one wait");
	is_u64(s->total_ns, 100, "of 100 ns");
	is_u64(s->broken, 0, "nothing is missing");
	is_u64(lock_waits_nr_lockdep(w), 12, "other systems' events are not lockdep's");
	event(w, ACQUIRE, 7, 200, 0x10, 0);
	event(w, RELEASE, 7, 201, 0x10, 0); /* acquired was lost */
	is_u64(only(w)->broken, LOCK_BROKEN_RELEASE + 1, "a lost event is noticed");
	event(w, ACQUIRE, 7, 300, 0x10, 0);
	event(w, ACQUIRED, 7, 301, 0x10, 0);
	is_u64(only(w)->nr_acquired, 5, "and the lock starts over");
	event(w, ACQUIRED, 7, 302, 0x10, 0);
	is_u64(only(w)->broken, LOCK_BROKEN_RELEASE + 1, "the first one is kept");
	lock_waits_free(w);
}

static void contention(void)
{
	struct lock_waits *w = start();
	event(w, END, 7, 1, 0x10, 0); /* its beginning was not recorded */
	event(w, BEGIN, 7, 100, 0x10, 32 | 1);
	event(w, BEGIN, 7, 150, 0x10, 32); /* a mutex: spinning, then asleep */
	event(w, END, 7, 400, 0x10, 0);
	event(w, BEGIN, 7, 500, 0x10, 32 | 1);
	event(w, END, 7, 510, 0x10, 0);
	const struct lock_sum *s = only(w);
	is_u64(s->nr_contended, 2, "two waits");
	is_u64(s->total_ns, 310, "the first from its first beginning");
	is_u64(s->max_ns, 300, "longest");
	is_u64(s->min_ns, 10, "shortest");
	is_u64(lock_waits_nr_open(w), 0, "all ended");
	event(w, BEGIN, 0, 600, 0x10, 1);
	is_u64(lock_waits_nr_open(w), 1, "one has not");
	lock_waits_free(w);
}

/* Two threads and two locks, without stacks. */
static void groups(void)
{
	struct lock_waits *w = start();
	static const u64 steps[][4] = { { 7, 0x10, 100, 160 },
					{ 8, 0x10, 100, 200 },
					{ 8, 0x20, 300, 350 } };
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		event(w, BEGIN, (s32)steps[i][0], steps[i][2], steps[i][1], 4);
		event(w, END, (s32)steps[i][0], steps[i][3], steps[i][1], 0);
	}
	static const struct name_func none;
	static const u32 no_func;
	struct catalog c;
	struct run_tables t = { 0 };
	struct names_result named = { .func_of = &no_func, .funcs = &none };
	ok(!catalog_init(&c) && !frame_table_init(&t.frames) && !chain_table_init(&t.chains),
	   "tables");
	struct lock_table_env env = { .catalog = &c, .tables = &t, .named = &named };
	struct lock_rows r;
	ok(!lock_table(w, &env, LOCK_BY_ADDRESS, &r), "by lock");
	lock_rows_sort(&r, LOCK_WAIT_TOTAL);
	is_u64(r.list.nr, 2, "two locks");
	is_u64(r.list.at[0].sum.total_ns, 160, "the waits of both threads");
	is_str(r.list.at[0].type, "rwsem:W", "a writer");
	is_str(r.list.at[0].caller, "Unknown", "nobody knows who asked");
	lock_rows_done(&r);
	ok(!lock_table(w, &env, LOCK_BY_THREAD, &r), "by thread");
	lock_rows_sort(&r, LOCK_CONTENDED);
	ok(r.list.nr == 2 && r.list.at[0].tid == 8, "two threads");
	is_u64(r.list.at[0].sum.total_ns, 150, "both of its waits");
	is_str(r.list.at[0].name, ":8", "by its number");
	lock_rows_done(&r);
	ok(!lock_table(w, &env, LOCK_BY_CALLER, &r), "by caller");
	is_u64(r.list.nr, 1, "none is known: one row");
	is_u64(r.list.at[0].sum.nr_contended, 3, "of all waits");
	lock_rows_done(&r);
	run_tables_done(&t);
	catalog_done(&c);
	lock_waits_free(w);
}

int main(void)
{
	lockdep();
	contention();
	groups();
	ok(lock_function_name("_raw_spin_lock") && lock_function_name("mutex_lock") &&
		   lock_function_name("rwsem_down_write_slowpath"),
	   "functions of locking");
	ok(!lock_function_name("shmem_file_write_iter") && !lock_function_name("vfs_write"),
	   "and others");
	is_str(lock_type(99), "unknown", "flags that nobody knows");
	return done_testing();
}
