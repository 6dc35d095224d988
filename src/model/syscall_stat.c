#include "model/syscall_stat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_TIMES = 1024 };

void syscall_stat_init(struct syscall_stat *s, bool together)
{
	*s = (struct syscall_stat){ .together = together };
	dict_init(&s->index);
}

void syscall_stat_done(struct syscall_stat *s)
{
	vec_for_each (&s->tasks, t) {
		vec_for_each (&t->rows, r) {
			histogram_done(&r->times);
			vec_free(&r->errors);
		}
		vec_free(&t->rows);
	}
	vec_free(&s->tasks);
	dict_done(&s->index);
}

struct syscall_task *syscall_stat_task(struct syscall_stat *s, const struct syscall_thread *t)
{
	u32 at, fresh = (u32)s->tasks.nr;
	if (dict_add(&s->index, s->together ? 0 : (u32)t->tid, fresh, &at))
		return NULL;
	if (at == fresh && !vec_push(&s->tasks)) {
		(void)dict_remove(&s->index, s->together ? 0 : (u32)t->tid);
		return NULL;
	}
	struct syscall_task *task = &s->tasks.at[at];
	task->pid = t->pid;
	task->tid = t->tid;
	memcpy(task->comm, t->comm, sizeof(task->comm));
	return task;
}

static struct syscall_row *row_of(struct syscall_task *task, const struct syscall *call)
{
	vec_for_each (&task->rows, r)
		if (r->call == call)
			return r;
	struct syscall_row *r = vec_push(&task->rows);
	if (r && histogram_init(&r->times, &(struct histogram_opts){ .kind = HISTOGRAM_EXACT,
								     .unit = "ns",
								     .max_values = EXACT_TIMES })) {
		task->rows.nr--;
		return NULL;
	}
	if (r)
		r->call = call;
	return r;
}

static int add_error(struct syscall_row *r, s32 err)
{
	size_t at = 0;
	while (at < r->errors.nr && r->errors.at[at].err < err)
		at++;
	if (at == r->errors.nr || r->errors.at[at].err != err) {
		if (!vec_push(&r->errors))
			return -ENOMEM;
		memmove(&r->errors.at[at + 1], &r->errors.at[at],
			(r->errors.nr - at - 1) * sizeof(*r->errors.at));
		r->errors.at[at] = (struct syscall_errors){ .err = err };
	}
	r->errors.at[at].nr++;
	return 0;
}

static void add_time(struct syscall_row *r, u64 ns)
{
	double delta = (double)ns - r->mean;
	r->min_ns = r->nr_timed ? min(r->min_ns, ns) : ns;
	r->max_ns = max(r->max_ns, ns);
	r->total_ns += ns;
	r->nr_timed++;
	r->mean += delta / (double)r->nr_timed;
	r->m2 += delta * ((double)ns - r->mean);
	histogram_add(&r->times, (s64)min(ns, (u64)INT64_MAX), 1);
}

int syscall_stat_add(struct syscall_stat *s, const struct syscall_thread *t)
{
	struct syscall_task *task = syscall_stat_task(s, t);
	struct syscall_row *r = task ? row_of(task, t->call) : NULL;
	if (!r)
		return -ENOMEM;
	r->nr++;
	if (t->enter_ns && t->exit_ns >= t->enter_ns)
		add_time(r, t->exit_ns - t->enter_ns);
	if (!syscall_failed(t->ret))
		return 0;
	r->nr_failed++;
	return add_error(r, (s32)-t->ret);
}

double syscall_row_spread(const struct syscall_row *r)
{
	if (r->nr_timed < 2 || r->mean <= 0)
		return 0;
	double variance = r->m2 / (double)(r->nr_timed - 1);
	return 100 * sqrt(variance / (double)r->nr_timed) / r->mean;
}

static int by_events(const void *a, const void *b)
{
	const struct syscall_task *x = a, *y = b;
	if (x->nr_events != y->nr_events)
		return x->nr_events < y->nr_events ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int by_time(const void *a, const void *b)
{
	const struct syscall_row *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->call->name, y->call->name);
}

void syscall_stat_sort(struct syscall_stat *s)
{
	if (s->tasks.nr)
		qsort(s->tasks.at, s->tasks.nr, sizeof(*s->tasks.at), by_events);
	dict_done(&s->index); /* of places that are others now */
	dict_init(&s->index);
	vec_for_each (&s->tasks, t)
		if (t->rows.nr)
			qsort(t->rows.at, t->rows.nr, sizeof(*t->rows.at), by_time);
}
