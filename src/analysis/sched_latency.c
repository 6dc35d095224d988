#include "analysis/sched_latency.h"

#include <errno.h>
#include <stdlib.h>

struct sched_latency {
	const struct sched_latency_opts *o;
	struct thread_states *states;
	VEC(struct sched_latency_row) rows; /* [thread]; after finish: sorted */
	VEC(u64) ran_ns; /* [thread] */
	bool accounted; /* there are sched_stat_runtime events */
};

static struct sched_latency_row *row_of(struct sched_latency *l, u32 thread)
{
	while (thread >= l->rows.nr) {
		struct sched_latency_row *r = vec_push(&l->rows);
		if (!r || !vec_push(&l->ran_ns))
			return NULL;
		r->thread = (u32)l->rows.nr - 1;
		r->nr_threads = 1;
	}
	return &l->rows.at[thread];
}

static void add_delay(struct sched_latency_row *r, u64 from_ns, u64 to_ns)
{
	u64 ns = to_ns - from_ns;
	r->nr++;
	r->total_ns += ns;
	if (ns > r->max_ns) {
		r->max_ns = ns;
		r->max_from_ns = from_ns;
		r->max_to_ns = to_ns;
	}
}

static int on_interval(void *ctx, const struct thread_interval *i)
{
	struct sched_latency *l = ctx;
	struct sched_latency_row *r = row_of(l, i->thread);
	if (!r)
		return -ENOMEM;
	if (i->flags & THREAD_LOSSY)
		r->lossy_ns += i->to_ns - i->from_ns;
	if (i->state == THREAD_RUNNING)
		l->ran_ns.at[i->thread] += i->to_ns - i->from_ns;
	if (i->flags & THREAD_UNTIL_END || (l->o->cpu >= 0 && l->o->cpu != i->cpu))
		return 0;
	/* One that was not seen before it ran counts, as with perf: since when it waited is not known. */
	if (i->state == THREAD_UNKNOWN && i->flags & THREAD_SINCE_BEFORE &&
	    !(i->flags & THREAD_LOSSY))
		add_delay(r, i->to_ns, i->to_ns);
	if (i->state == THREAD_READY)
		add_delay(r, i->from_ns, i->to_ns);
	return 0;
}

static int on_runtime(void *ctx, u32 thread, u64 ns)
{
	struct sched_latency *l = ctx;
	struct sched_latency_row *r = row_of(l, thread);
	if (!r)
		return -ENOMEM;
	l->accounted = true;
	r->runtime_ns += ns;
	return 0;
}

static const struct thread_states_ops ops = { .interval = on_interval, .runtime = on_runtime };

struct sched_latency *sched_latency_new(const struct sched_latency_opts *o)
{
	struct sched_latency *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->o = o;
	l->states = thread_states_new(&ops, l);
	if (l->states)
		return l;
	free(l);
	return NULL;
}

void sched_latency_free(struct sched_latency *l)
{
	if (!l)
		return;
	thread_states_free(l->states);
	vec_free(&l->rows);
	vec_free(&l->ran_ns);
	free(l);
}

struct thread_states *sched_latency_states(struct sched_latency *l)
{
	return l->states;
}

/* ---- rows ---- */

static int compare(u64 a, u64 b)
{
	return (a < b) - (a > b); /* the larger one first */
}

static int compare_by(const struct sched_latency *l, enum sched_latency_key key,
		      const struct sched_latency_row *a, const struct sched_latency_row *b)
{
	switch (key) {
	case SCHED_BY_AVG: return compare(a->total_ns / a->nr, b->total_ns / b->nr);
	case SCHED_BY_MAX: return compare(a->max_ns, b->max_ns);
	case SCHED_BY_SWITCHES: return compare(a->nr, b->nr);
	case SCHED_BY_RUNTIME: return compare(a->runtime_ns, b->runtime_ns);
	default:
		return compare((u64)thread_at(l->states, a->thread)->tid,
			       (u64)thread_at(l->states, b->thread)->tid);
	}
}

static int compare_rows(const void *pa, const void *pb, void *ctx)
{
	const struct sched_latency_row *a = pa, *b = pb;
	const struct sched_latency *l = ctx;
	int c = 0;
	for (u32 i = 0; i < l->o->nr_keys && !c; i++)
		c = compare_by(l, l->o->keys[i], a, b);
	return c ? c : compare(b->thread, a->thread);
}

static void join(struct sched_latency_row *to, const struct sched_latency_row *from)
{
	to->nr_threads += from->nr_threads;
	to->runtime_ns += from->runtime_ns;
	to->nr += from->nr;
	to->total_ns += from->total_ns;
	to->lossy_ns += from->lossy_ns;
	if (from->max_ns > to->max_ns) {
		to->max_ns = from->max_ns;
		to->max_from_ns = from->max_from_ns;
		to->max_to_ns = from->max_to_ns;
	}
}

/* Threads of one name become one row, where the first of them stood. */
static int join_names(struct sched_latency *l)
{
	struct dict first;
	size_t nr = 0;
	int err = 0;
	dict_init(&first);
	for (size_t i = 0; i < l->rows.nr && !err; i++) {
		u32 at, comm = thread_at(l->states, l->rows.at[i].thread)->comm;
		err = dict_add(&first, comm, (u32)nr, &at);
		if (!err && at == nr)
			l->rows.at[nr++] = l->rows.at[i];
		else if (!err)
			join(&l->rows.at[at], &l->rows.at[i]);
	}
	dict_done(&first);
	l->rows.nr = nr;
	return err;
}

int sched_latency_finish(struct sched_latency *l)
{
	size_t nr = 0;
	int err = thread_states_finish(l->states, 0);
	if (err)
		return err;
	for (size_t i = 0; i < l->rows.nr; i++) {
		struct sched_latency_row *r = &l->rows.at[i];
		if (!l->accounted)
			r->runtime_ns = l->ran_ns.at[i];
		if (thread_at(l->states, r->thread)->tid)
			l->rows.at[nr++] = *r;
	}
	l->rows.nr = nr;
	err = l->o->per_pid ? 0 : join_names(l);
	if (err)
		return err;
	nr = 0;
	for (size_t i = 0; i < l->rows.nr; i++)
		if (l->rows.at[i].nr)
			l->rows.at[nr++] = l->rows.at[i];
	l->rows.nr = nr;
	if (nr)
		qsort_r(l->rows.at, nr, sizeof(*l->rows.at), compare_rows, l);
	return 0;
}

const struct sched_latency_row *sched_latency_rows(const struct sched_latency *l, size_t *nr)
{
	*nr = l->rows.nr;
	return l->rows.at;
}
