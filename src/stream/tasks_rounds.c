/* Tasks and maps that grow from round to round, and what is forgotten in between. */
#include "stream/tasks_impl.h"

#include <errno.h>
#include <string.h>

void tasks_rounds(struct tasks *t)
{
	t->rounds = true;
	t->until = 0;
}

int tasks_note_end(struct tasks *t, const struct event *e)
{
	u32 index = dict_get(&t->comm_of, e->tid);
	struct ended *end = vec_push(&t->ended);
	if (!end)
		return -ENOMEM;
	*end = (struct ended){ .pid = e->pid, .tid = e->tid };
	if (index != DICT_NONE)
		t->comms.at[index].gone = true;
	return 0;
}

/* The space's process is gone. Children keep it, and it keeps what it hangs below. */
static int drop_space(struct tasks *t, u32 space)
{
	t->spaces.at[space].dead = true;
	while (space > SPACE_KERNEL && t->spaces.at[space].dead && !t->spaces.at[space].nr_children) {
		u32 parent = t->spaces.at[space].parent, *spare = vec_push(&t->free_spaces);
		if (!spare)
			return -ENOMEM;
		*spare = space;
		tasks_space_done(&t->spaces.at[space]);
		if (parent)
			t->spaces.at[parent].nr_children--;
		space = parent;
	}
	return 0;
}

static int drop_process(struct tasks *t, u32 pid)
{
	u32 index = dict_get(&t->proc_of, pid);
	if (index == DICT_NONE || t->procs.at[index].nr_tasks)
		return 0;
	u32 *spare = vec_push(&t->free_procs);
	int err = spare ? 0 : -ENOMEM;
	struct task_timeline *l = &t->procs.at[index];
	if (spare)
		*spare = index;
	dict_remove(&t->proc_of, pid);
	for (size_t i = 0; i < l->changes.nr && !err; i++)
		err = drop_space(t, l->changes.at[i].value);
	vec_free(&l->changes);
	*l = (struct task_timeline){ 0 };
	return err;
}

/* A task number may have been given to a new task meanwhile: that one stays. */
static int drop_task(struct tasks *t, const struct ended *e)
{
	u32 index = dict_get(&t->comm_of, e->tid), pid = e->pid;
	if (index != DICT_NONE) {
		struct task_timeline *l = &t->comms.at[index];
		if (!l->gone)
			return 0;
		u32 *spare = vec_push(&t->free_comms);
		if (!spare)
			return -ENOMEM;
		*spare = index;
		pid = l->pid;
		u32 proc = dict_get(&t->proc_of, pid);
		if (proc != DICT_NONE && t->procs.at[proc].nr_tasks)
			t->procs.at[proc].nr_tasks--;
		dict_remove(&t->comm_of, e->tid);
		vec_free(&l->changes);
		*l = (struct task_timeline){ 0 };
	}
	return drop_process(t, pid);
}

static int forget_ended(struct tasks *t)
{
	int err = 0;
	for (size_t i = 0; i < t->ended.nr && !err; i++)
		err = drop_task(t, &t->ended.at[i]);
	t->ended.nr = 0;
	return err;
}

static int take_until(struct tasks *t, u64 until)
{
	size_t nr = 0;
	int err = 0;
	tasks_sort(t);
	for (; nr < t->events.nr && t->events.at[nr].time <= until && !err; nr++) {
		struct event *e = &t->events.at[nr];
		e->time = max(e->time, t->until);
		err = tasks_apply(t, e);
	}
	t->events.nr -= nr;
	if (t->events.nr)
		memmove(t->events.at, t->events.at + nr, t->events.nr * sizeof(*t->events.at));
	return err;
}

int tasks_advance(struct tasks *t, u64 until)
{
	int err = t->until ? forget_ended(t) : tasks_name_idle(t);
	if (!err)
		err = take_until(t, until);
	if (!err)
		err = tasks_seal_spaces(t);
	t->until = max(t->until, until == UINT64_MAX ? until : until + 1);
	return err;
}

struct tasks_size tasks_size(const struct tasks *t)
{
	struct tasks_size s = {
		.nr_tasks = t->comms.nr - t->free_comms.nr,
		.nr_processes = t->procs.nr - t->free_procs.nr,
		.nr_spaces = t->spaces.nr - t->free_spaces.nr,
		.nr_waiting = t->events.nr,
	};
	vec_for_each (&t->spaces, sp)
		s.nr_maps += sp->maps.nr;
	return s;
}
