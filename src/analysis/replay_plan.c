#include "analysis/replay_plan.h"

#include <errno.h>
#include <stdlib.h>

struct plan_thread {
	struct replay_task task;
	u64 done_ns; /* what it ran until then has a step */
	bool started; /* something was seen of it */
};

struct replay_plan {
	struct thread_states *states;
	VEC(struct plan_thread) threads; /* [thread] */
	VEC(struct replay_task) tasks; /* borrow the steps of threads */
	struct replay_totals totals;
};

static struct plan_thread *thread_of(struct replay_plan *p, u32 thread)
{
	while (thread >= p->threads.nr) {
		struct plan_thread *t = vec_push(&p->threads);
		if (!t)
			return NULL;
		t->task.thread = (u32)p->threads.nr - 1;
	}
	return &p->threads.at[thread];
}

static int add_step(struct plan_thread *t, enum replay_step_kind kind, u64 value)
{
	struct replay_step *s = vec_push(&t->task.steps);
	if (!s)
		return -ENOMEM;
	*s = (struct replay_step){ kind, value };
	return 0;
}

static int add_run(struct replay_plan *p, struct plan_thread *t, u64 from_ns, u64 to_ns)
{
	size_t nr = t->task.steps.nr;
	from_ns = max(from_ns, t->done_ns);
	if (to_ns <= from_ns)
		return 0;
	t->done_ns = to_ns;
	p->totals.run_ns += to_ns - from_ns;
	if (nr && t->task.steps.at[nr - 1].kind == REPLAY_RUN) {
		t->task.steps.at[nr - 1].value += to_ns - from_ns;
		p->totals.nr_joined++;
		return 0;
	}
	p->totals.nr_runs++;
	return add_step(t, REPLAY_RUN, to_ns - from_ns);
}

static int add_nap(struct replay_plan *p, struct plan_thread *t, u64 ns)
{
	if (!ns)
		return 0;
	p->totals.nr_naps++;
	return add_step(t, REPLAY_NAP, ns);
}

/* The waker has run until now, and then goes on. */
static int add_wake(struct replay_plan *p, u32 thread, u32 waker, u64 now)
{
	u64 since;
	s32 cpu = thread_at(p->states, waker)->cpu;
	struct plan_thread *w = thread_of(p, waker);
	int err = w ? 0 : -ENOMEM;
	if (!err && thread_states_current(p->states, cpu, &since) == waker)
		err = add_run(p, w, since, now);
	if (!err)
		err = add_step(w, REPLAY_WAKE, p->totals.nr_sleeps);
	if (err)
		return err;
	w->started = true;
	/* The list may move. */
	struct plan_thread *t = thread_of(p, thread);
	if (!t)
		return -ENOMEM;
	return add_step(t, REPLAY_SLEEP, p->totals.nr_sleeps++);
}

static bool by_thread(const struct replay_plan *p, const struct thread_interval *i)
{
	return i->cause != THREAD_NONE && i->cause != i->thread &&
	       !(i->flags & (THREAD_WOKEN_BY_IRQ | THREAD_WAKE_UNSEEN)) &&
	       thread_at(p->states, i->cause)->tid;
}

static int on_interval(void *ctx, const struct thread_interval *i)
{
	struct replay_plan *p = ctx;
	if (!thread_at(p->states, i->thread)->tid)
		return 0; /* nobody needs to be idle */
	struct plan_thread *t = thread_of(p, i->thread);
	if (!t)
		return -ENOMEM;
	t->started = true;
	if (i->state == THREAD_RUNNING)
		return add_run(p, t, i->from_ns, i->to_ns);
	if (i->state == THREAD_READY || i->flags & THREAD_UNTIL_END)
		return 0;
	if (i->state == THREAD_BLOCKED && by_thread(p, i))
		return add_wake(p, i->thread, i->cause, i->to_ns);
	return add_nap(p, t, i->to_ns - i->from_ns);
}

/* A new thread begins when it is made, of which no interval tells. */
static int on_wake(void *ctx, const struct thread_wake *w)
{
	struct replay_plan *p = ctx;
	struct plan_thread *t = thread_of(p, w->thread);
	if (!t)
		return -ENOMEM;
	if (t->started || w->waker == w->thread)
		return 0;
	t->started = true;
	if (thread_at(p->states, w->waker)->tid)
		return add_wake(p, w->thread, w->waker, w->time_ns);
	return add_nap(p, t, w->time_ns - thread_states_totals(p->states)->first_ns);
}

static const struct thread_states_ops ops = { .interval = on_interval, .wake = on_wake };

/* ---- life -------------------------------------------------------------------------------------------------------- */

struct replay_plan *replay_plan_new(void)
{
	struct replay_plan *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->states = thread_states_new(&ops, p);
	if (p->states)
		return p;
	free(p);
	return NULL;
}

void replay_plan_free(struct replay_plan *p)
{
	if (!p)
		return;
	thread_states_free(p->states);
	vec_for_each (&p->threads, t)
		vec_free(&t->task.steps);
	vec_free(&p->threads);
	vec_free(&p->tasks);
	free(p);
}

struct sink *replay_plan_sink(struct replay_plan *p)
{
	return thread_states_sink(p->states, false);
}

int replay_plan_finish(struct replay_plan *p)
{
	int err = thread_states_finish(p->states, 0);
	for (size_t i = 0; i < p->threads.nr && !err; i++) {
		if (!p->threads.at[i].task.steps.nr)
			continue;
		struct replay_task *t = vec_push(&p->tasks);
		if (!t)
			return -ENOMEM;
		*t = p->threads.at[i].task;
	}
	return err;
}

const struct replay_task *replay_plan_tasks(const struct replay_plan *p, size_t *nr)
{
	*nr = p->tasks.nr;
	return p->tasks.at;
}

const struct thread_states *replay_plan_states(const struct replay_plan *p)
{
	return p->states;
}

struct replay_totals replay_plan_totals(const struct replay_plan *p)
{
	return p->totals;
}
