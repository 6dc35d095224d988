#include "session/what_top.h"

#include "base/clock.h"
#include "kern/proc_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const what_busy_words[WHAT_BUSY_NR] = { "cpu", "io" };

struct what_top {
	struct proc_tasks *tasks;
	const struct task_list *before, *now;
	struct series_process most;
	double ticks; /* per second */
	unsigned parts;
};

static int read_tasks(struct what_top *t)
{
	const struct task_list *now;
	int err = proc_tasks_read(t->tasks, &(struct proc_tasks_opts){ .parts = t->parts }, &now);
	if (err)
		return err;
	t->before = t->now;
	t->now = now;
	return 0;
}

struct what_top *what_top_new(const struct sysroot *root, bool io)
{
	struct what_top *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->ticks = (double)sysconf(_SC_CLK_TCK);
	t->parts = TASK_STAT | (io ? TASK_IO : 0);
	t->tasks = proc_tasks_open(root);
	int err = t->tasks ? read_tasks(t) : -errno;
	if (!err)
		return t;
	what_top_free(t);
	errno = -err;
	return NULL;
}

void what_top_free(struct what_top *t)
{
	if (!t)
		return;
	proc_tasks_close(t->tasks);
	free(t);
}

/* A task that began meanwhile has used all it has in this interval. */
static double used(const struct what_top *t, const struct task *now, enum what_busy by)
{
	const struct task *then = task_list_find(t->before, now->pid, now->tid, now->start_ticks);
	static const struct task none;
	then = then ? then : &none;
	if (by == WHAT_BUSY_IO)
		return (double)u64_less(now->read_bytes, then->read_bytes) +
		       (double)u64_less(now->write_bytes, then->write_bytes);
	return 100 / t->ticks *
	       (double)u64_less(now->user_ticks + now->system_ticks,
				then->user_ticks + then->system_ticks);
}

size_t what_top_list(const struct what_top *t, enum what_busy by, struct what_process *to,
		     size_t max)
{
	size_t nr = 0;
	if (!t->before)
		return 0;
	double seconds = (double)u64_less(t->now->time_ns, t->before->time_ns) / (double)NS_PER_SEC;
	if (seconds <= 0)
		return 0;
	vec_for_each (&t->now->tasks, task) {
		double amount = used(t, task, by) / seconds;
		if (amount <= 0)
			continue;
		size_t at = nr;
		while (at && to[at - 1].amount < amount)
			at--;
		if (at >= max)
			continue;
		nr += nr < max;
		memmove(&to[at + 1], &to[at], (nr - at - 1) * sizeof(*to));
		to[at] = (struct what_process){ task, amount };
	}
	return nr;
}

int what_top_read(struct what_top *t)
{
	struct what_process most;
	int err = read_tasks(t);
	t->most = (struct series_process){ 0 };
	if (!err && what_top_list(t, WHAT_BUSY_CPU, &most, 1))
		t->most = (struct series_process){ .pid = most.task->pid,
						   .command = most.task->comm,
						   .cpu_percent = most.amount };
	return err;
}

const struct series_process *what_top_process(const struct what_top *t)
{
	return &t->most;
}

/* ---- a page ---- */

void what_watch_json(struct what_watch *w, struct json *j)
{
	enum { PROCESSES_MAX = 20 };
	struct what_process list[PROCESSES_MAX];
	w->asked_ns = clock_monotonic_ns();
	size_t nr = w->top ? what_top_list(w->top, WHAT_BUSY_CPU, list, PROCESSES_MAX) : 0;
	json_key(j, "processes");
	json_array(j);
	for (size_t i = 0; i < nr; i++) {
		const char state[] = { list[i].task->state, 0 };
		json_object(j);
		json_put_s64(j, "pid", list[i].task->pid);
		json_put_str(j, "state", state);
		json_put_double(j, "cpu", list[i].amount);
		json_put_u64(j, "memory", list[i].task->rss_pages * (u64)sysconf(_SC_PAGESIZE));
		json_put_str(j, "command", list[i].task->comm);
		json_object_end(j);
	}
	json_array_end(j);
}

int what_watch_read(struct what_watch *w)
{
	enum { LOOKING_SECONDS = 10 };
	u64 idle = u64_less(clock_monotonic_ns(), w->asked_ns);
	if (!w->asked_ns || idle > LOOKING_SECONDS * NS_PER_SEC + 2 * w->delay_ns) {
		what_watch_done(w);
		return 0;
	}
	if (w->top)
		return what_top_read(w->top);
	w->top = what_top_new(w->root, false);
	return w->top ? 0 : -errno;
}

void what_watch_done(struct what_watch *w)
{
	what_top_free(w->top);
	w->top = NULL;
}
