/*
 *	wait_queue_head.head ─► wait_queue_entry.entry   func says what private is:
 *	    default_wake_function, autoremove_ ...       a task_struct
 *	    pollwake                                     poll_wqueues ─► polling_task
 *	    ep_poll_callback                             nothing: it is part of an eppoll_entry ─► epitem ─► eventpoll
 */
#include "memory/kwaits.h"

#include "memory/eval.h"

#include <string.h>

struct wait_walk {
	struct kspace *k;
	kwait_fn fn;
	void *ctx;
	struct ktasks tasks;
	u64 function, private, flags;
	u64 polling; /* poll_wqueues */
	u64 wait, base, ep; /* eppoll_entry, epitem */
};

static bool function_is(struct wait_walk *w, u64 function, const char *name)
{
	struct ksym sym;
	u64 offset, size;
	const struct ksyms *s = kspace_try_syms(w->k);
	return s && ksyms_at(s, function, &sym, &offset, &size) && sym.name_len == strlen(name) &&
	       !memcmp(sym.name, name, sym.name_len);
}

static u64 pointer_at(struct wait_walk *w, u64 at)
{
	u64 ret;
	return memory_read(w->k->memory, at, &ret, sizeof(ret)) ? 0 : ret;
}

static u64 task_at(struct wait_walk *w, u64 addr)
{
	struct ktask task;
	if (!addr || ktasks_read(&w->tasks, addr, &task) || !*task.comm)
		return 0;
	/* What private is depends on the function: a task is on the list of its process. */
	u64 node = addr + w->tasks.at.thread_node, next = pointer_at(w, node);
	return next && pointer_at(w, next + sizeof(u64)) == node ? addr : 0;
}

static int each_wait(void *ctx, const struct walk_node *node)
{
	struct wait_walk *w = ctx;
	struct kwait wait = { .addr = node->addr, .kind = KWAIT_OTHER };
	u64 private;
	struct memory_piece pieces[] = {
		{ wait.addr + w->flags, &wait.flags, sizeof(wait.flags), 0 },
		{ wait.addr + w->private, &private, sizeof(private), 0 },
		{ wait.addr + w->function, &wait.function, sizeof(wait.function), 0 },
	};
	int err = memory_read_pieces(w->k->memory, pieces, ARRAY_SIZE(pieces));
	if (err || pieces[0].err || pieces[1].err || pieces[2].err)
		return err; /* it went */
	if (w->polling != EVAL_NO_OFFSET && function_is(w, wait.function, "pollwake")) {
		wait.kind = KWAIT_POLL;
		wait.task = task_at(w, pointer_at(w, private + w->polling));
	} else if (w->ep != EVAL_NO_OFFSET && function_is(w, wait.function, "ep_poll_callback")) {
		u64 item = pointer_at(w, wait.addr - w->wait + w->base);
		wait.kind = KWAIT_EPOLL;
		wait.eventpoll = item ? pointer_at(w, item + w->ep) : 0;
	} else if ((wait.task = task_at(w, private))) {
		wait.kind = KWAIT_TASK;
	}
	return w->fn(w->ctx, &wait);
}

int kwaits_each(struct kspace *k, u64 head, kwait_fn fn, void *ctx, struct walk_result *ret)
{
	struct wait_walk w = { .k = k, .fn = fn, .ctx = ctx };
	struct walk_list list = { .kind = WALK_LIST_HEAD };
	u64 at;
	const struct eval_offset rows[] = {
		{ "wait_queue_head", "head", &at },
		{ "wait_queue_entry", "entry", &list.offset },
		{ "wait_queue_entry", "func", &w.function },
		{ "wait_queue_entry", "private", &w.private },
		{ "wait_queue_entry", "flags", &w.flags },
		{ "poll_wqueues", "polling_task", &w.polling, true },
		{ "eppoll_entry", "wait", &w.wait, true },
		{ "eppoll_entry", "base", &w.base, true },
		{ "epitem", "ep", &w.ep, true },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = ktasks_open(&w.tasks, k);
	if (err)
		return err;
	list.start = head + at;
	return walk_list(k, &list, each_wait, &w, ret);
}
