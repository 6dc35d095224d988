#include "analysis/sched_why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUNS_KEPT = 1 << 16, /* of a CPU: who ran before these is not known any more */
	/* Everybody may have waited for everybody else: what that may cost, at once and for each interval. */
	STEPS_ALWAYS = 1 << 22,
	STEPS_PER_INTERVAL = 256,
	ROWS_ALWAYS = 1 << 18,
	ROWS_PER_INTERVAL = 8,
};

/* A stretch of time in which a thread had a CPU. */
struct why_run {
	u64 from_ns, to_ns;
	u32 thread;
};

struct why_cpu {
	VEC(struct why_run) runs; /* in the order of time */
};

/* Since when a thread that is ready is still to be charged to somebody. */
struct why_mark {
	u64 charged_ns;
};

struct sched_why {
	const struct sched_why_opts *o;
	struct thread_states *states;
	VEC(struct why_thread) threads; /* [thread]; after finish: sorted */
	VEC(struct why_mark) marks;
	VEC(struct why_cpu) cpus;
	u64 steps, rows; /* left */
	u64 uncharged_ns;
	struct dict ready_of, blocked_of,
		waker_of; /* hash of thread and words -> index into its list */
};

static struct why_thread *own(struct sched_why *w, u32 thread)
{
	while (thread >= w->threads.nr) {
		struct why_thread *t = vec_push(&w->threads);
		if (!t || !vec_push(&w->marks))
			return NULL;
		t->thread = (u32)w->threads.nr - 1;
	}
	return &w->threads.at[thread];
}

/* ---- lists of a thread ---- */

static struct why_ready *ready_row(struct sched_why *w, u32 thread, u32 instead)
{
	struct why_thread *t = &w->threads.at[thread];
	for (u64 seed = hash_seed();; seed++) {
		u64 hash = hash_words((const u64[]){ thread, instead }, 2, seed);
		u32 at = dict_get(&w->ready_of, hash);
		if (at < t->ready.nr && t->ready.at[at].instead == instead)
			return &t->ready.at[at];
		if (at != DICT_NONE)
			continue;
		w->rows -= w->rows > 0;
		struct why_ready *r = vec_push(&t->ready);
		if (!r || dict_put(&w->ready_of, hash, (u32)t->ready.nr - 1))
			return NULL;
		r->instead = instead;
		return r;
	}
}

static struct why_blocked *blocked_row(struct sched_why *w, u32 thread, char letter, u32 chain)
{
	struct why_thread *t = &w->threads.at[thread];
	for (u64 seed = hash_seed();; seed++) {
		u64 hash = hash_words((const u64[]){ thread, (u8)letter, chain }, 3, seed);
		u32 at = dict_get(&w->blocked_of, hash);
		if (at < t->blocked.nr && t->blocked.at[at].letter == letter &&
		    t->blocked.at[at].chain == chain)
			return &t->blocked.at[at];
		if (at != DICT_NONE)
			continue;
		struct why_blocked *r = vec_push(&t->blocked);
		if (!r || dict_put(&w->blocked_of, hash, (u32)t->blocked.nr - 1))
			return NULL;
		r->letter = letter;
		r->chain = chain;
		return r;
	}
}

static struct why_waker *waker_row(struct sched_why *w, u32 thread, const struct why_waker *key)
{
	struct why_thread *t = &w->threads.at[thread];
	for (u64 seed = hash_seed();; seed++) {
		u64 hash = hash_words(
			(const u64[]){ thread, key->blocked, key->waker, key->chain, key->irq }, 5,
			seed);
		u32 at = dict_get(&w->waker_of, hash);
		struct why_waker *r = at < t->wakers.nr ? &t->wakers.at[at] : NULL;
		if (r && r->blocked == key->blocked && r->waker == key->waker &&
		    r->chain == key->chain && r->irq == key->irq && r->open == key->open)
			return r;
		if (at != DICT_NONE)
			continue;
		r = vec_push(&t->wakers);
		if (!r || dict_put(&w->waker_of, hash, (u32)t->wakers.nr - 1))
			return NULL;
		*r = *key;
		return r;
	}
}

/* ---- who ran instead ---- */

static struct why_cpu *cpu_of(struct sched_why *w, s32 cpu)
{
	while ((size_t)cpu >= w->cpus.nr)
		if (!vec_push(&w->cpus))
			return NULL;
	return &w->cpus.at[cpu];
}

static int note_run(struct sched_why *w, const struct thread_interval *i)
{
	struct why_cpu *c = cpu_of(w, i->cpu);
	if (!c)
		return -ENOMEM;
	if (c->runs.nr == RUNS_KEPT) {
		memmove(c->runs.at, c->runs.at + RUNS_KEPT / 2, RUNS_KEPT / 2 * sizeof(*c->runs.at));
		c->runs.nr = RUNS_KEPT / 2;
	}
	struct why_run *r = vec_push(&c->runs);
	if (!r)
		return -ENOMEM;
	*r = (struct why_run){ .from_ns = i->from_ns, .to_ns = i->to_ns, .thread = i->thread };
	return 0;
}

static int charge_one(struct sched_why *w, u32 thread, u32 instead, u64 ns)
{
	struct why_ready *r = ns ? ready_row(w, thread, instead) : NULL;
	if (r)
		r->ns += ns;
	return r || !ns ? 0 : -ENOMEM;
}

/* The time from .. to that a thread waited for a CPU belongs to those who had it. */
static int charge(struct sched_why *w, u32 thread, s32 cpu, u64 from_ns, u64 to_ns)
{
	const struct why_cpu *c = cpu >= 0 && (size_t)cpu < w->cpus.nr ? &w->cpus.at[cpu] : NULL;
	u64 since, left = to_ns - from_ns;
	u32 current = thread_states_current(w->states, cpu, &since);
	int err = 0;
	/* Who runs there at this moment, unless it is the thread itself. */
	if (current != THREAD_NONE && current != thread && since < to_ns) {
		u64 ns = to_ns - max(since, from_ns);
		err = charge_one(w, thread, current, ns);
		left -= ns;
	}
	for (size_t i = c ? c->runs.nr : 0; i-- > 0 && !err && c->runs.at[i].to_ns > from_ns;) {
		const struct why_run *r = &c->runs.at[i];
		if (!w->steps || !w->rows) {
			w->uncharged_ns += left;
			break;
		}
		w->steps--;
		u64 from = max(r->from_ns, from_ns), to = min(r->to_ns, to_ns);
		if (from >= to || to - from > left)
			continue;
		left -= to - from;
		err = charge_one(w, thread, r->thread, to - from);
	}
	return err ? err : charge_one(w, thread, THREAD_NONE, left);
}

/* ---- the fold ---- */

static void clip(const struct sched_why *w, u64 *from_ns, u64 *to_ns)
{
	*from_ns = max(*from_ns, w->o->from_ns);
	if (w->o->until_ns)
		*to_ns = min(*to_ns, w->o->until_ns);
	*to_ns = max(*from_ns, *to_ns);
}

static int add_ready(struct sched_why *w, const struct thread_interval *i)
{
	u64 from_ns = max(i->from_ns, w->marks.at[i->thread].charged_ns), to_ns = i->to_ns;
	w->marks.at[i->thread].charged_ns = 0;
	clip(w, &from_ns, &to_ns);
	return charge(w, i->thread, i->cpu, from_ns, to_ns);
}

static int add_blocked(struct sched_why *w, const struct thread_interval *i, u64 ns)
{
	struct why_blocked *b = blocked_row(w, i->thread, i->letter, i->own_chain);
	if (!b)
		return -ENOMEM;
	b->ns += ns;
	b->nr++;
	struct why_waker key = { .blocked = (u32)(b - w->threads.at[i->thread].blocked.at),
				 .waker = i->cause,
				 .chain = i->cause_chain,
				 .irq = i->flags & THREAD_WOKEN_BY_IRQ,
				 .open = i->flags & THREAD_UNTIL_END };
	/* What an interrupt met does not matter. */
	if (key.irq)
		key.waker = THREAD_NONE;
	struct why_waker *r = waker_row(w, i->thread, &key);
	if (!r)
		return -ENOMEM;
	r->ns += ns;
	r->nr++;
	return 0;
}

/*
 * Where events are missing a thread that was ready may turn out to have run since: nobody knows when it began to. Until it was last moved to
 * another CPU it was ready, and that was charged.
 */
static void add_unknown(struct sched_why *w, u32 thread, u64 from_ns, u64 to_ns)
{
	struct why_thread *t = &w->threads.at[thread];
	u64 charged_ns = min(w->marks.at[thread].charged_ns, to_ns);
	u64 ready_ns = charged_ns > from_ns ? charged_ns - from_ns : 0;
	w->marks.at[thread].charged_ns = 0;
	t->ready_ns += ready_ns;
	t->unknown_ns += to_ns - from_ns - ready_ns;
}

static int on_interval(void *ctx, const struct thread_interval *i)
{
	struct sched_why *w = ctx;
	struct why_thread *t = own(w, i->thread);
	u64 from_ns = i->from_ns, to_ns = i->to_ns;
	int err = t ? 0 : -ENOMEM;
	w->steps += STEPS_PER_INTERVAL;
	w->rows += ROWS_PER_INTERVAL;
	if (!err && i->state == THREAD_RUNNING && !(i->flags & THREAD_UNTIL_END))
		err = note_run(w, i);
	clip(w, &from_ns, &to_ns);
	u64 ns = to_ns - from_ns;
	if (err || !ns)
		return err;
	t->wall_ns += ns;
	t->lossy_ns += i->flags & THREAD_LOSSY ? ns : 0;
	switch (i->state) {
	case THREAD_RUNNING: t->running_ns += ns; return 0;
	case THREAD_READY: t->ready_ns += ns; return add_ready(w, i);
	case THREAD_BLOCKED: t->blocked_ns += ns; return add_blocked(w, i, ns);
	default: add_unknown(w, i->thread, from_ns, to_ns); return 0;
	}
}

/* One that is ready goes on waiting for another CPU. */
static int on_migrate(void *ctx, const struct thread_migration *m)
{
	struct sched_why *w = ctx;
	const struct sched_thread *t = thread_at(w->states, m->thread);
	if (!own(w, m->thread))
		return -ENOMEM;
	if (!t->known || t->state != THREAD_READY)
		return 0;
	u64 from_ns = max(t->since_ns, w->marks.at[m->thread].charged_ns), to_ns = m->time_ns;
	w->marks.at[m->thread].charged_ns = m->time_ns;
	clip(w, &from_ns, &to_ns);
	return charge(w, m->thread, t->cpu, from_ns, to_ns);
}

static const struct thread_states_ops ops = { .interval = on_interval, .migrate = on_migrate };

/* ---- at the end ---- */

static int compare(u64 a, u64 b)
{
	return (a < b) - (a > b);
}

static int compare_ready(const void *pa, const void *pb)
{
	const struct why_ready *a = pa, *b = pb;
	return compare(a->ns, b->ns) ? compare(a->ns, b->ns) : -compare(a->instead, b->instead);
}

static int compare_threads(const void *pa, const void *pb)
{
	const struct why_thread *a = pa, *b = pb;
	int c = compare(a->running_ns + a->ready_ns, b->running_ns + b->ready_ns);
	return c ? c : -compare(a->thread, b->thread);
}

int sched_why_finish(struct sched_why *w)
{
	int err = thread_states_finish(w->states, 0);
	size_t nr = 0;
	for (size_t i = 0; i < w->threads.nr; i++) {
		struct why_thread t = w->threads.at[i];
		if (t.ready.nr)
			qsort(t.ready.at, t.ready.nr, sizeof(*t.ready.at), compare_ready);
		w->threads.at[i] = w->threads.at[nr];
		w->threads.at[nr] = t;
		nr += t.wall_ns && thread_at(w->states, t.thread)->tid;
	}
	if (nr)
		qsort(w->threads.at, nr, sizeof(*w->threads.at), compare_threads);
	for (size_t i = nr; i < w->threads.nr; i++) {
		vec_free(&w->threads.at[i].ready);
		vec_free(&w->threads.at[i].blocked);
		vec_free(&w->threads.at[i].wakers);
	}
	w->threads.nr = nr;
	return err;
}

const struct why_thread *sched_why_threads(const struct sched_why *w, size_t *nr)
{
	*nr = w->threads.nr;
	return w->threads.at;
}

u64 sched_why_uncharged_ns(const struct sched_why *w)
{
	return w->uncharged_ns;
}

struct sched_why *sched_why_new(const struct sched_why_opts *o)
{
	struct sched_why *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->o = o;
	w->steps = STEPS_ALWAYS;
	w->rows = ROWS_ALWAYS;
	dict_init(&w->ready_of);
	dict_init(&w->blocked_of);
	dict_init(&w->waker_of);
	w->states = thread_states_new(&ops, w);
	if (w->states)
		return w;
	free(w);
	return NULL;
}

void sched_why_free(struct sched_why *w)
{
	if (!w)
		return;
	vec_for_each (&w->threads, t) {
		vec_free(&t->ready);
		vec_free(&t->blocked);
		vec_free(&t->wakers);
	}
	vec_for_each (&w->cpus, c)
		vec_free(&c->runs);
	vec_free(&w->threads);
	vec_free(&w->marks);
	vec_free(&w->cpus);
	dict_done(&w->ready_of);
	dict_done(&w->blocked_of);
	dict_done(&w->waker_of);
	thread_states_free(w->states);
	free(w);
}

struct thread_states *sched_why_states(struct sched_why *w)
{
	return w->states;
}
