#include "session/who_ended.h"

#include <errno.h>
#include <string.h>

enum { WAITING_MAX = 1 << 20 };

void who_ended_open(struct who_ended *e, u32 nr_cpus, u32 ticks_per_second)
{
	*e = (struct who_ended){ .socket.fd = -1, .ticks_per_second = ticks_per_second };
	dict_init(&e->by_pid);
	e->err = taskstats_open(&e->socket);
	if (!e->err)
		e->err = taskstats_listen(&e->socket, nr_cpus);
	if (e->err)
		taskstats_close(&e->socket);
}

void who_ended_close(struct who_ended *e)
{
	taskstats_close(&e->socket);
	vec_free(&e->list);
	vec_free(&e->waiting);
	vec_free(&e->dead);
	dict_done(&e->by_pid);
}

static void start_task(const struct who_ended *e, const struct task_end *end, s32 tid, u64 now_ns,
		       struct task *t)
{
	u64 tick = 1000000000 / e->ticks_per_second;
	*t = (struct task){ .pid = end->pid,
			    .tid = tid,
			    .ppid = end->ppid,
			    .parts = TASK_STAT | TASK_OWNER | TASK_IO | TASK_ENDED,
			    .state = 'X',
			    .nice = end->nice,
			    .priority = 20 + end->nice,
			    .nr_threads = 0,
			    .cpu = -1,
			    /* The latest that it can have begun. */
			    .start_ticks = u64_less(now_ns, end->lived_ns) / tick };
	t->uid[TASK_ID_EFFECTIVE] = end->uid;
	t->gid[TASK_ID_EFFECTIVE] = end->gid;
	memcpy(t->comm, end->comm, sizeof(end->comm));
}

/* One more thread of a process, or a thread of its own. */
static int add_end(struct who_ended *e, const struct task_end *end, bool threads, u64 now_ns)
{
	s32 tid = threads ? end->tid : end->pid;
	u32 at = dict_get(&e->by_pid, (u32)tid);
	struct task *t = at == DICT_NONE ? vec_push(&e->list) : &e->list.at[at];
	if (!t)
		return -ENOMEM;
	if (at == DICT_NONE) {
		start_task(e, end, tid, now_ns, t);
		if (dict_put(&e->by_pid, (u32)tid, (u32)e->list.nr - 1))
			return -ENOMEM;
	} else if (end->tid == end->pid) { /* the leader's name is the process's */
		struct task sum = *t;
		start_task(e, end, tid, now_ns, t);
		t->ended_cpu_ns = sum.ended_cpu_ns;
		t->min_faults = sum.min_faults;
		t->maj_faults = sum.maj_faults;
		t->read_bytes = sum.read_bytes;
		t->write_bytes = sum.write_bytes;
		t->nr_threads = sum.nr_threads;
	}
	t->nr_threads++;
	t->ended_cpu_ns += end->cpu_ns;
	t->min_faults += end->min_faults;
	t->maj_faults += end->maj_faults;
	t->read_bytes += end->read_bytes;
	t->write_bytes += end->write_bytes;
	return 0;
}

static int add_dead(struct who_ended *e, const struct task_end *end)
{
	vec_for_each (&e->dead, d)
		if (d->pid == end->pid) {
			d->cpu_ns += end->cpu_ns;
			d->min_faults += end->min_faults;
			d->maj_faults += end->maj_faults;
			d->read_bytes += end->read_bytes;
			d->write_bytes += end->write_bytes;
			return 0;
		}
	struct task_end *slot = vec_push(&e->dead);
	if (!slot)
		return -ENOMEM;
	*slot = *end;
	return 0;
}

/* Threads that ended while their process lived belong to it now that it has ended, too; of others nobody will ask any more. */
static void settle_dead(struct who_ended *e, const struct task_list *now)
{
	size_t kept = 0;
	for (size_t i = 0; i < e->dead.nr; i++) {
		const struct task_end *d = &e->dead.at[i];
		u32 at = dict_get(&e->by_pid, (u32)d->pid);
		if (at != DICT_NONE) {
			struct task *t = &e->list.at[at];
			t->ended_cpu_ns += d->cpu_ns;
			t->min_faults += d->min_faults;
			t->maj_faults += d->maj_faults;
			t->read_bytes += d->read_bytes;
			t->write_bytes += d->write_bytes;
		} else if (task_list_find_id(now, d->pid, d->pid)) {
			e->dead.at[kept++] = *d;
		}
	}
	e->dead.nr = kept;
}

int who_ended_add(struct who_ended *e, const struct task_end *ends, size_t nr,
		  const struct task_list *now, bool threads)
{
	size_t old = e->waiting.nr;
	int err = 0;
	e->list.nr = 0;
	dict_done(&e->by_pid);
	dict_init(&e->by_pid);
	if (!vec_reserve(&e->waiting, old + nr + 1))
		return -ENOMEM;
	if (nr)
		memcpy(e->waiting.at + old, ends, nr * sizeof(*ends));
	size_t kept = 0;
	for (size_t i = 0; i < old + nr && !err; i++) {
		struct task_end end = e->waiting.at[i];
		s32 tid = threads ? end.tid : end.pid;
		if (!task_list_find_id(now, end.pid, tid))
			err = add_end(e, &end, threads, now->time_ns);
		else if (i >= old)
			e->waiting.at[kept++] = end;
		else if (!threads)
			err = add_dead(e, &end);
	}
	e->waiting.nr = kept;
	if (!err && !threads)
		settle_dead(e, now);
	return err;
}

static bool wanted(s32 pid, const s32 *pids, size_t nr)
{
	for (size_t i = 0; pids && i < nr; i++)
		if (pids[i] == pid)
			return true;
	return !pids;
}

int who_ended_collect(struct who_ended *e, const struct task_list *now, bool threads,
		      const s32 *pids, size_t nr_pids)
{
	VEC(struct task_end) fresh = { 0 };
	struct task_end end;
	int more = 0, err = 0;
	e->list.nr = 0;
	while (!e->err && !err && fresh.nr < WAITING_MAX &&
	       (more = taskstats_next_end(&e->socket, &end)) != 0) {
		if (more == -ENOBUFS) {
			e->lost = true;
			continue;
		}
		if (more < 0) {
			e->err = more;
			break;
		}
		if (!wanted(end.pid, pids, nr_pids))
			continue;
		struct task_end *slot = vec_push(&fresh);
		if (slot)
			*slot = end;
		else
			err = -ENOMEM;
	}
	if (!e->err && !err)
		err = who_ended_add(e, fresh.at, fresh.nr, now, threads);
	vec_free(&fresh);
	return err;
}
