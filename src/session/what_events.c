/* Events as columns of `what`: opened on all CPUs by the plan of stat, read as sums over them. */
#include "session/what.h"

#include "session/stat_plan.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct stat_labels labels = { .all = "-a", .cpus = "-C", .pids = "-p", .tids = "-t" };

struct what_events {
	struct stat_opts opts;
	struct stat_plan plan;
	struct counters *counters;
	struct count *now; /* [counter][slot] */
	double *total, *before; /* [counter] */
};

void what_events_close(struct what_events *e)
{
	if (!e)
		return;
	counters_close(e->counters);
	if (e->plan.opts)
		stat_plan_done(&e->plan);
	vec_free(&e->opts.words.list);
	free(e->now);
	free(e->total);
	free(e->before);
	free(e);
}

static int open_counters(struct what_events *e, const struct sysroot *root, struct diag *d)
{
	struct stat_plan *p = &e->plan;
	int err = stat_plan_init(p, &e->opts);
	if (!err)
		err = stat_plan_make(p, root, 0, NULL, d);
	if (err)
		return err;
	e->now = calloc(max(p->counters.nr * p->slots.nr, (size_t)1), sizeof(*e->now));
	e->total = calloc(max(p->counters.nr, (size_t)1), sizeof(*e->total));
	e->before = calloc(max(p->counters.nr, (size_t)1), sizeof(*e->before));
	if (!e->now || !e->total || !e->before)
		return -ENOMEM;
	struct counters_opts o = { .counters = p->counters.at,
				   .nr_counters = (u32)p->counters.nr,
				   .slots = p->slots.at,
				   .nr_slots = (u32)p->slots.nr };
	e->counters = counters_open(root, &o, d);
	if (!e->counters)
		return -EINVAL;
	err = stat_plan_opened(p);
	return err ? err : counters_enable(e->counters, NULL);
}

struct what_events *what_events_open(const struct sysroot *root, const struct opt_list *events,
				     struct diag *d)
{
	struct what_events *e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->opts = (struct stat_opts){ .labels = &labels, .repeat = 1, .scale = true, .all = true };
	int err = 0;
	vec_for_each (&events->items, text) {
		struct stat_word *word = vec_push(&e->opts.words.list);
		if (!word)
			err = -ENOMEM;
		else
			*word = (struct stat_word){ .kind = STAT_WORD_EVENT, .text = *text };
	}
	if (!err)
		err = open_counters(e, root, d);
	if (!err)
		return e;
	what_events_close(e);
	return NULL;
}

size_t what_events_nr(const struct what_events *e)
{
	return e->plan.counters.nr;
}

const char *what_event_name(const struct what_events *e, size_t i)
{
	return e->plan.events.at[i].name;
}

/* An event that shared its hardware with others is scaled to the whole time, as stat does. */
static double scaled(const struct count *c)
{
	double part = c->running_ns ? (double)c->enabled_ns / (double)c->running_ns : 0;
	return c->running_ns < c->enabled_ns ? (double)c->value * part : (double)c->value;
}

void what_events_read(struct what_events *e)
{
	struct counters_clock clock = { 0 };
	size_t slots = e->plan.slots.nr;
	counters_read(e->counters, &clock, e->now);
	for (size_t i = 0; i < e->plan.counters.nr; i++) {
		double sum = 0;
		for (size_t s = 0; s < slots; s++)
			sum += scaled(&e->now[i * slots + s]);
		e->before[i] = e->total[i];
		e->total[i] = sum;
	}
}

double what_event_change(const struct what_events *e, size_t i)
{
	if (!e->plan.counters.at[i].supported)
		return NAN;
	return max(e->total[i] - e->before[i], 0.0);
}

double what_event_total(const struct what_events *e, size_t i)
{
	return e->plan.counters.at[i].supported ? e->total[i] : NAN;
}
