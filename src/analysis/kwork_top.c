/*
 * A CPU is in one of three contexts at a time: in an interrupt handler, which may have interrupted a softirq, which may have interrupted a task. The
 * time between two of its events belongs to the innermost. Tasks get the intervals of thread_states, less what interrupts took of them.
 */
#include "analysis/kwork_top.h"

#include "base/dict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MAX = 1 << 16 };

enum top_step {
	STEP_UNKNOWN,
	STEP_NONE,
	STEP_IRQ,
	STEP_IRQ_END,
	STEP_SOFTIRQ,
	STEP_SOFTIRQ_END,
	STEP_SWITCH
};

struct top_cpu {
	struct kwork_cpu_time time;
	bool seen, switched;
	bool in_irq, in_softirq;
	u64 since_ns; /* of the context it is in */
	u64 taken_ns; /* by interrupts, of the run that goes on */
	s32 tid, pid; /* that its events interrupted, until it switches; -1: not known */
	u32 comm;
};

struct top_thread {
	u64 run_ns, lossy_ns;
	bool in_softirq; /* it was preempted in one, as real-time kernels do */
};

struct kwork_top {
	struct sink sink;
	struct thread_states *states;
	struct kwork_top_env env;
	VEC(u8) steps; /* [event]: enum top_step */
	VEC(struct top_cpu) cpus; /* [cpu] */
	VEC(struct top_thread) threads; /* [thread] */
	VEC(struct kwork_task) tasks;
	struct dict task_of; /* tid, or a CPU and that it is its idle task -> the first of tasks */
	VEC(struct kwork_cpu_time) times;
	struct arena arena;
};

static const struct {
	const char *system, *event;
	u32 class;
	enum top_step step;
} known[] = {
	{ "irq", "irq_handler_entry", KWORK_IRQ, STEP_IRQ },
	{ "irq", "irq_handler_exit", KWORK_IRQ, STEP_IRQ_END },
	{ "irq", "softirq_entry", KWORK_SOFTIRQ, STEP_SOFTIRQ },
	{ "irq", "softirq_exit", KWORK_SOFTIRQ, STEP_SOFTIRQ_END },
	{ "sched", "sched_switch", KWORK_SCHED, STEP_SWITCH },
};

static enum top_step step_of(struct kwork_top *k, const struct sample *s)
{
	while (k->steps.nr <= s->event)
		if (!vec_push(&k->steps))
			return STEP_UNKNOWN;
	u8 *step = &k->steps.at[s->event];
	if (*step != STEP_UNKNOWN)
		return *step;
	*step = STEP_NONE;
	for (size_t i = 0; s->schema && i < ARRAY_SIZE(known); i++)
		if (k->env.classes >> known[i].class & 1 &&
		    !strcmp(s->schema->system, known[i].system) &&
		    !strcmp(s->schema->name, known[i].event))
			*step = known[i].step;
	return *step;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* How much of it was asked for. */
static u64 clipped(const struct kwork_top *k, u64 from, u64 to)
{
	const struct sample_choice *c = k->env.choice;
	u64 sum = 0;
	if (to <= from)
		return 0;
	if (!c || !c->nr_ranges)
		return to - from;
	for (size_t i = 0; i < c->nr_ranges; i++) {
		u64 first = max(from, c->ranges[i].from_ns);
		u64 last = c->ranges[i].until_ns ? min(to, c->ranges[i].until_ns) : to;
		sum += last > first ? last - first : 0;
	}
	return sum;
}

static bool cpu_wanted(const struct kwork_top *k, s32 cpu)
{
	const struct sample_choice *c = k->env.choice;
	if (!c || !c->nr_cpus)
		return true;
	for (size_t i = 0; i < c->nr_cpus; i++)
		if (c->cpus[i] == cpu)
			return true;
	return false;
}

/* The context that the CPU was in ends now. */
static void advance(struct kwork_top *k, struct top_cpu *c, u64 now)
{
	u64 ns = clipped(k, c->since_ns, now);
	if (c->in_irq)
		c->time.irq_ns += ns;
	else if (c->in_softirq)
		c->time.softirq_ns += ns;
	if (c->in_irq || c->in_softirq)
		c->taken_ns += ns;
	c->since_ns = now;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static struct top_cpu *cpu_of(struct kwork_top *k, s32 cpu)
{
	while ((size_t)cpu >= k->cpus.nr) {
		struct top_cpu *c = vec_push(&k->cpus);
		if (!c)
			return NULL;
		c->time.cpu = (s32)k->cpus.nr - 1;
		c->tid = -1;
	}
	k->cpus.at[cpu].seen = true;
	return &k->cpus.at[cpu];
}

static struct top_thread *thread_of(struct kwork_top *k, u32 thread)
{
	while (thread >= k->threads.nr)
		if (!vec_push(&k->threads))
			return NULL;
	return &k->threads.at[thread];
}

static int on_interval(void *ctx, const struct thread_interval *i)
{
	struct kwork_top *k = ctx;
	if (i->state != THREAD_RUNNING || (size_t)i->cpu >= k->cpus.nr)
		return 0;
	struct top_cpu *c = &k->cpus.at[i->cpu];
	struct top_thread *t = thread_of(k, i->thread);
	if (!t)
		return -ENOMEM;
	u64 ns = clipped(k, i->from_ns, i->to_ns);
	ns -= min(ns, c->taken_ns);
	c->taken_ns = 0;
	if (!cpu_wanted(k, i->cpu))
		return 0;
	t->run_ns += ns;
	t->lossy_ns += i->flags & THREAD_LOSSY ? ns : 0;
	if (thread_at(k->states, i->thread)->tid)
		c->time.load_ns += ns;
	else
		c->time.idle_ns += ns;
	return 0;
}

static int on_switched(void *ctx, const struct thread_switch *s)
{
	struct kwork_top *k = ctx;
	struct top_cpu *c = &k->cpus.at[s->cpu];
	struct top_thread *prev = thread_of(k, s->prev), *next = prev ? thread_of(k, s->next) : NULL;
	if (!next)
		return -ENOMEM;
	k->threads.at[s->prev].in_softirq = c->in_softirq;
	c->in_softirq = next->in_softirq;
	c->in_irq = false; /* handlers cannot be left: its exit was lost */
	c->switched = true;
	c->taken_ns = 0;
	return 0;
}

static const struct thread_states_ops states_ops = { .interval = on_interval,
						     .switched = on_switched };

static int on_event(struct kwork_top *k, const struct sample *s)
{
	enum top_step step = step_of(k, s);
	if (s->buffer || s->cpu < 0 || s->cpu >= CPUS_MAX)
		return 0;
	struct top_cpu *c = cpu_of(k, s->cpu);
	if (!c || step == STEP_UNKNOWN)
		return -ENOMEM;
	if (step != STEP_NONE)
		advance(k, c, s->time_ns);
	if (!c->switched && c->tid < 0) {
		c->tid = s->tid;
		c->pid = s->pid;
		c->comm = s->comm;
	}
	if (step == STEP_IRQ || step == STEP_IRQ_END)
		c->in_irq = step == STEP_IRQ;
	else if (step == STEP_SOFTIRQ || step == STEP_SOFTIRQ_END)
		c->in_softirq = step == STEP_SOFTIRQ;
	return thread_states_feed(k->states, s);
}

static int feed(struct sink *sink, void *state, const struct batch *b)
{
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++)
		err = on_event(state, &b->samples[i]);
	return err;
}

static int shard_new(struct sink *sink, unsigned index, const struct shard *shard, void **state)
{
	*state = container_of(sink, struct kwork_top, sink);
	return index ? -EINVAL : 0;
}

static const struct sink_ops kwork_top_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Of idle tasks, each CPU has its own. */
static u64 task_key(s32 tid, s32 cpu)
{
	return tid ? (u64)(u32)tid : 1ull << 32 | (u32)cpu;
}

static struct kwork_task *task_of(struct kwork_top *k, s32 tid, s32 cpu)
{
	u32 fresh = (u32)k->tasks.nr, got;
	if (dict_add(&k->task_of, task_key(tid, cpu), fresh, &got))
		return NULL;
	if (got != fresh)
		return &k->tasks.at[got];
	struct kwork_task *t = vec_push(&k->tasks);
	if (t)
		*t = (struct kwork_task){ .tid = tid, .cpu = cpu };
	return t;
}

static const char *idle_name(struct kwork_top *k, s32 cpu)
{
	char name[24];
	(void)snprintf(name, sizeof(name), "swapper/%d", cpu);
	return arena_strdup(&k->arena, name);
}

static int add_thread(struct kwork_top *k, u32 thread)
{
	const struct sched_thread *t = thread_at(k->states, thread);
	const struct top_thread *own = &k->threads.at[thread];
	u32 got;
	if (dict_add(&k->task_of, task_key(t->tid, t->cpu), (u32)k->tasks.nr, &got))
		return -ENOMEM;
	struct kwork_task *task = vec_push(&k->tasks);
	if (!task)
		return -ENOMEM;
	*task = (struct kwork_task){
		.tid = t->tid,
		.pid = t->pid,
		.cpu = t->cpu,
		.name = t->tid ? thread_comm(k->states, thread) : idle_name(k, t->cpu),
		.run_ns = own->run_ns,
		.lossy_ns = own->lossy_ns,
	};
	return task->name ? 0 : -ENOMEM;
}

/* The CPU had events, but no switch: the task that they interrupted ran all the time. */
static int add_unswitched(struct kwork_top *k, struct top_cpu *c, u64 window_ns)
{
	char own[COMM_TEXT];
	u64 ns = window_ns - min(window_ns, c->taken_ns);
	if (c->tid < 0)
		return 0;
	struct kwork_task *t = task_of(k, c->tid, c->time.cpu);
	if (!t)
		return -ENOMEM;
	t->run_ns += ns;
	if (!t->name) {
		t->pid = c->pid;
		t->name = c->tid ? arena_strdup(&k->arena, comm_text(k->env.catalog, c->comm, own))
				 : idle_name(k, c->time.cpu);
	}
	*(c->tid ? &c->time.load_ns : &c->time.idle_ns) += ns;
	return t->name ? 0 : -ENOMEM;
}

static int add_cpu(struct kwork_top *k, struct top_cpu *c, u64 window_ns)
{
	int err = c->switched ? 0 : add_unswitched(k, c, window_ns);
	struct kwork_cpu_time *time = err ? NULL : vec_push(&k->times);
	if (!time)
		return err ? err : -ENOMEM;
	*time = c->time;
	return 0;
}

int kwork_top_finish(struct kwork_top *k)
{
	const struct thread_states_totals *t = thread_states_totals(k->states);
	u64 window_ns = clipped(k, t->first_ns, t->last_ns);
	vec_for_each (&k->cpus, c)
		if (c->seen)
			advance(k, c, t->last_ns);
	int err = thread_states_finish(k->states, 0);
	for (u32 i = 0; i < k->threads.nr && !err; i++)
		if (k->threads.at[i].run_ns)
			err = add_thread(k, i);
	for (size_t i = 0; i < k->cpus.nr && !err; i++)
		if (k->cpus.at[i].seen && cpu_wanted(k, (s32)i))
			err = add_cpu(k, &k->cpus.at[i], window_ns);
	vec_for_each (&k->tasks, task)
		task->rate = window_ns ? (u64)((double)task->run_ns * 10000 / (double)window_ns) : 0;
	return err;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

struct kwork_top *kwork_top_new(const struct kwork_top_env *env)
{
	struct kwork_top *k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->sink = (struct sink){ .ops = &kwork_top_ops, .needs = kwork_top_ops.needs };
	k->env = *env;
	arena_init(&k->arena);
	dict_init(&k->task_of);
	k->states = thread_states_new(&states_ops, k);
	if (k->states)
		return k;
	kwork_top_free(k);
	return NULL;
}

void kwork_top_free(struct kwork_top *k)
{
	if (!k)
		return;
	thread_states_free(k->states);
	vec_free(&k->steps);
	vec_free(&k->cpus);
	vec_free(&k->threads);
	vec_free(&k->tasks);
	dict_done(&k->task_of);
	vec_free(&k->times);
	arena_done(&k->arena);
	free(k);
}

struct sink *kwork_top_sink(struct kwork_top *k)
{
	return &k->sink;
}

struct kwork_task *kwork_top_tasks(struct kwork_top *k, size_t *nr)
{
	*nr = k->tasks.nr;
	return k->tasks.at;
}

const struct kwork_cpu_time *kwork_top_cpus(const struct kwork_top *k, size_t *nr)
{
	*nr = k->times.nr;
	return k->times.at;
}

const struct thread_states *kwork_top_states(const struct kwork_top *k)
{
	return k->states;
}
