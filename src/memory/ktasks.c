#include "memory/ktasks.h"

#include "base/num.h"
#include "memory/eval.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const unsigned rss_kinds[] = { 0, 1, 3 }; /* MM_FILEPAGES, MM_ANONPAGES, MM_SHMEMPAGES */

/* 6.2 made an array of per-CPU counters of the three. */
static int find_rss(struct ktasks *t)
{
	int err = 0;
	for (size_t n = 0; !err && n < ARRAY_SIZE(rss_kinds); n++) {
		char now[32], before[32];
		u64 old;
		(void)snprintf(now, sizeof(now), "rss_stat[%u].count", rss_kinds[n]);
		(void)snprintf(before, sizeof(before), "rss_stat.count[%u].counter", rss_kinds[n]);
		const struct eval_offset rows[] = { { "mm_struct", now, &t->at.rss[n], true },
						    { "mm_struct", before, &old, true } };
		err = eval_offsets(t->k, rows, ARRAY_SIZE(rows));
		if (!err && t->at.rss[n] == EVAL_NO_OFFSET)
			t->at.rss[n] = old;
	}
	return err;
}

int ktasks_open(struct ktasks *t, struct kspace *k)
{
	u64 info_cpu;
	*t = (struct ktasks){ .k = k };
	const struct eval_offset rows[] = {
		{ "task_struct", "pid", &t->at.pid },
		{ "task_struct", "tgid", &t->at.tgid },
		{ "task_struct", "__state", &t->at.state },
		{ "task_struct", "exit_state", &t->at.exit_state },
		{ "task_struct", "flags", &t->at.flags },
		{ "task_struct", "comm", &t->at.comm },
		{ "task_struct", "mm", &t->at.mm },
		{ "task_struct", "real_parent", &t->at.real_parent },
		{ "task_struct", "on_cpu", &t->at.on_cpu },
		{ "task_struct", "on_rq", &t->at.on_rq },
		{ "task_struct", "prio", &t->at.prio },
		{ "task_struct", "signal", &t->at.signal },
		{ "task_struct", "stack", &t->at.stack },
		{ "task_struct", "files", &t->at.files },
		{ "task_struct", "tasks", &t->at.tasks },
		{ "task_struct", "thread_node", &t->at.thread_node },
		{ "signal_struct", "thread_head", &t->at.thread_head },
		{ "mm_struct", "total_vm", &t->at.total_vm },
		{ "task_struct", "thread_info.cpu", &info_cpu, true },
		{ "task_struct", "cpu", &t->at.cpu, true },
		{ "task_struct", "thread.sp", &t->at.sp, true },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (err)
		return err;
	if (info_cpu != EVAL_NO_OFFSET)
		t->at.cpu = info_cpu;
	return find_rss(t);
}

int ktasks_read(struct ktasks *t, u64 addr, struct ktask *ret)
{
	struct memory *m;
	struct ktask task = { .addr = addr };
	struct memory_piece pieces[] = {
#define PIECE(field, member)                                                                       \
	{ .addr = addr + t->at.member, .to = &task.field, .size = sizeof(task.field) }
		PIECE(pid, pid),       PIECE(tgid, tgid),
		PIECE(state, state),   PIECE(exit_state, exit_state),
		PIECE(flags, flags),   PIECE(on_cpu, on_cpu),
		PIECE(on_rq, on_rq),   PIECE(prio, prio),
		PIECE(mm, mm),	       PIECE(parent, real_parent),
		PIECE(signal, signal), PIECE(stack, stack),
		PIECE(files, files),   PIECE(comm, comm),
		PIECE(cpu, cpu),       PIECE(sp, sp),
#undef PIECE
	};
	enum { OPTIONAL = 2 }; /* the last ones */
	int err = kspace_memory(t->k, &m);
	if (!err)
		err = memory_read_pieces(m, pieces, ARRAY_SIZE(pieces));
	for (size_t n = 0; !err && n < ARRAY_SIZE(pieces) - OPTIONAL; n++)
		err = pieces[n].err;
	task.comm[KTASK_COMM - 1] = '\0';
	if (!err)
		*ret = task;
	return err;
}

/* ---- the walk -------------------------------------------------------------------------------------------------------------- */

enum { STEPS_MAX = 2 * WALK_MAX };

struct task_walk {
	struct ktasks *t;
	ktask_fn fn;
	void *ctx;
	u64 nr;
	u64 steps; /* nodes of all lists: those of a hostile dump may lead through others a million times */
	bool enough;
};

static int tell_task(struct task_walk *w, const struct ktask *task)
{
	int rc = w->fn(w->ctx, task);
	w->nr++;
	w->enough |= rc > 0;
	return rc;
}

static int each_thread(void *ctx, const struct walk_node *node)
{
	struct task_walk *w = ctx;
	struct ktask task;
	if (++w->steps > STEPS_MAX)
		return w->enough = true;
	return ktasks_read(w->t, node->addr, &task) ? 0 : tell_task(w, &task);
}

static int each_leader(void *ctx, const struct walk_node *node)
{
	struct task_walk *w = ctx;
	struct ktask leader;
	struct walk_result r;
	if (++w->steps > STEPS_MAX)
		return 1;
	if (ktasks_read(w->t, node->addr, &leader))
		return 0;
	struct walk_list threads = { .kind = WALK_LIST_HEAD,
				     .start = leader.signal + w->t->at.thread_head,
				     .offset = w->t->at.thread_node };
	u64 before = w->nr;
	int err = leader.signal ? walk_list(w->t->k, &threads, each_thread, w, &r) : 0;
	/* init_task is on no such list on some kernels. */
	if (!err && w->nr == before)
		err = tell_task(w, &leader);
	return err < 0 ? err : w->enough;
}

int ktasks_each(struct ktasks *t, ktask_fn fn, void *ctx, struct walk_result *ret)
{
	struct task_walk w = { .t = t, .fn = fn, .ctx = ctx };
	struct walk_list list = { .kind = WALK_LIST_OBJECT, .offset = t->at.tasks };
	int err = kspace_init_task(t->k, &list.start);
	if (!err)
		err = walk_list(t->k, &list, each_leader, &w, ret);
	if (!err)
		ret->nr = w.nr;
	return err;
}

/* ---- facts ----------------------------------------------------------------------------------------------------------------- */

const char *ktask_state(const struct ktask *task)
{
	static const char *const by_bit[] = { "IN", "UN", "ST", "TR", "DE", "ZO", "PA" };
	enum { NOLOAD = 0x400, IDLE = NOLOAD | 2, NEW = 0x800, EXIT_BITS = 0x30 };
	u32 state = task->state | (task->exit_state & EXIT_BITS);
	if (!state)
		return "RU";
	if ((task->state & IDLE) == IDLE)
		return "ID";
	if (task->state & NEW)
		return "NE";
	for (u32 n = 0; n < ARRAY_SIZE(by_bit); n++)
		if (state & (1u << n))
			return by_bit[n];
	return "??";
}

bool ktask_is_kernel_thread(const struct ktask *task)
{
	enum { PF_KTHREAD = 0x200000 };
	return task->flags & PF_KTHREAD;
}

bool ktask_is_class(const char *word)
{
	static const char *const words[] = { "RU", "IN", "UN", "ST", "TR",     "DE",
					     "ZO", "PA", "ID", "NE", "kernel", "user" };
	for (size_t n = 0; n < ARRAY_SIZE(words); n++)
		if (!strcmp(words[n], word))
			return true;
	return false;
}

bool ktask_matches(const struct ktask *task, const char *word)
{
	u64 number;
	if (!strcmp(word, "kernel") || !strcmp(word, "user"))
		return ktask_is_kernel_thread(task) == (*word == 'k');
	return (!num_parse_u64(word, 10, &number) && number == task->pid) ||
	       (!num_parse_u64(word, 16, &number) && number == task->addr) ||
	       !strcmp(word, task->comm) || !strcmp(word, ktask_state(task));
}

void ktask_sizes(struct ktasks *t, const struct ktask *task, u64 *virtual, u64 *resident)
{
	struct memory *m;
	u64 parts[4] = { 0 };
	*virtual = *resident = 0;
	if (!task->mm || kspace_memory(t->k, &m))
		return;
	struct memory_piece pieces[4] = {
		{ .addr = task->mm + t->at.total_vm, .to = &parts[3], .size = sizeof(u64) }
	};
	bool has_rss = t->at.rss[0] != EVAL_NO_OFFSET;
	for (u32 n = 0; n < 3; n++)
		pieces[n + 1] = (struct memory_piece){ .addr = task->mm + t->at.rss[n],
						       .to = &parts[n],
						       .size = sizeof(u64) };
	if (memory_read_pieces(m, pieces, has_rss ? 4 : 1))
		return;
	*virtual = parts[3];
	for (u32 n = 0; n < 3; n++)
		*resident += (s64)parts[n] > 0 ? parts[n] : 0;
}
