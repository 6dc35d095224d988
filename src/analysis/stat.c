#include "analysis/stat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void stat_mean_add(struct stat_mean *m, double v)
{
	double delta = v - m->mean;
	m->n++;
	m->mean += delta / (double)m->n;
	m->m2 += delta * (v - m->mean);
}

double stat_mean_error(const struct stat_mean *m)
{
	return m->n < 2 ? 0 : sqrt(m->m2 / (double)(m->n - 1) / (double)m->n);
}

double stat_mean_noise(const struct stat_mean *m)
{
	return m->mean == 0 ? 0 : fabs(100 * stat_mean_error(m) / m->mean);
}

double stat_scale(const struct count *c)
{
	if (!c->running_ns)
		return 0;
	if (c->running_ns >= c->enabled_ns)
		return (double)c->value;
	return trunc((double)c->value * ((double)c->enabled_ns / (double)c->running_ns));
}

void stat_delta(const struct stat_spec *spec, const struct count *now, const struct count *before,
		struct count *out)
{
	for (size_t e = 0; e < spec->nr_events; e++) {
		bool snapshot = spec->events[e].snapshot;
		for (size_t s = 0; s < spec->nr_slots; s++) {
			size_t i = e * spec->nr_slots + s;
			struct count a = now[i], b = before[i];
			out[i] = (struct count){
				.value = snapshot	      ? a.value
					 : a.value >= b.value ? a.value - b.value
							      : 0,
				.enabled_ns = a.enabled_ns - min(a.enabled_ns, b.enabled_ns),
				.running_ns = a.running_ns - min(a.running_ns, b.running_ns),
				.opened = a.opened,
			};
		}
	}
}

/* One run of one row, being added up. */
struct stat_sum {
	double value;
	double enabled_ns, running_ns;
	double blind_ns; /* wanted where the counter never got the hardware */
	u32 nr_places;
};

/* The event whose row an event is part of. */
static u32 find_row(const struct stat_spec *spec, u32 event)
{
	u32 merge = spec->events[event].merge;
	if (!merge || spec->no_merge)
		return event;
	for (u32 e = 0; e < event; e++)
		if (spec->events[e].merge == merge &&
		    spec->events[e].cgroup == spec->events[event].cgroup)
			return e;
	return event;
}

int stat_open(struct stat_acc *st, const struct stat_spec *spec)
{
	size_t nr = max((size_t)spec->nr_events * spec->nr_keys, (size_t)1);
	*st = (struct stat_acc){ .spec = spec };
	st->cells = calloc(nr, sizeof(*st->cells));
	st->sums = calloc(nr, sizeof(*st->sums));
	st->rate_units = calloc(nr, sizeof(*st->rate_units));
	st->row_of = calloc(max(spec->nr_events, 1u), sizeof(*st->row_of));
	if (!st->cells || !st->sums || !st->rate_units || !st->row_of) {
		stat_close(st);
		return -ENOMEM;
	}
	for (u32 e = 0; e < spec->nr_events; e++)
		st->row_of[e] = find_row(spec, e);
	return 0;
}

void stat_close(struct stat_acc *st)
{
	free(st->cells);
	free(st->sums);
	free(st->rate_units);
	free(st->row_of);
	*st = (struct stat_acc){ 0 };
}

void stat_reset(struct stat_acc *st)
{
	size_t nr = (size_t)st->spec->nr_events * st->spec->nr_keys;
	memset(st->cells, 0, nr * sizeof(*st->cells));
	st->nr_runs = 0;
}

static void sum_slot(struct stat_sum *s, const struct count *c, bool raw)
{
	s->nr_places++;
	s->enabled_ns += (double)c->enabled_ns;
	s->running_ns += (double)c->running_ns;
	if (c->running_ns)
		s->value += raw ? (double)c->value : stat_scale(c);
	else if (!raw)
		s->blind_ns += (double)c->enabled_ns;
}

static void sum_event(const struct stat_spec *spec, u32 event, const struct count *counts,
		      struct stat_sum *sums)
{
	const struct stat_event *e = &spec->events[event];
	for (u32 slot = 0; slot < spec->nr_slots; slot++) {
		const struct count *c = &counts[slot];
		bool spoken_for =
			e->per_pkg && spec->slot_package && spec->slot_package[slot] != slot;
		if (c->opened && !spoken_for)
			sum_slot(&sums[spec->slot_key[slot]], c, spec->raw);
	}
}

/* The part of the time in which no slot of the key saw the event is taken to be like the rest. */
static void cell_add(struct stat_cell *cell, const struct stat_sum *s, double scale)
{
	double seen_ns = s->enabled_ns - s->blind_ns;
	double whole = s->blind_ns > 0 && seen_ns > 0 ? s->enabled_ns / seen_ns : 1;
	stat_mean_add(&cell->value, s->value * whole * scale);
	cell->enabled_ns += s->enabled_ns;
	cell->running_ns += s->running_ns;
	cell->nr_places = max(cell->nr_places, s->nr_places);
	cell->counted |= s->running_ns > 0;
}

void stat_add(struct stat_acc *st, const struct count *counts)
{
	const struct stat_spec *spec = st->spec;
	size_t nr_keys = spec->nr_keys;
	memset(st->sums, 0, spec->nr_events * nr_keys * sizeof(*st->sums));
	st->nr_runs++;
	for (u32 e = 0; e < spec->nr_events; e++)
		sum_event(spec, e, &counts[(size_t)e * spec->nr_slots],
			  &st->sums[st->row_of[e] * nr_keys]);
	for (u32 e = 0; e < spec->nr_events; e++)
		for (u32 key = 0; key < nr_keys; key++)
			if (st->row_of[e] == e)
				cell_add(&st->cells[e * nr_keys + key],
					 &st->sums[e * nr_keys + key], spec->events[e].scale);
}

/* ---- rows ---- */

static const struct stat_cell *cell_at(const struct stat_acc *st, u32 event, u32 key)
{
	return &st->cells[(size_t)event * st->spec->nr_keys + key];
}

/* The clock that rates of this event are taken of, or -1. */
static s64 clock_of(const struct stat_spec *spec, u32 event)
{
	for (u32 e = 0; e < spec->nr_events; e++)
		if (spec->events[e].is_clock && spec->events[e].supported &&
		    spec->events[e].cgroup == spec->events[event].cgroup)
			return e;
	return -1;
}

struct get_ctx {
	const struct stat_acc *st;
	const struct stat_formula *formula;
	u32 key;
	double elapsed_ns;
};

static int cell_value(const struct stat_acc *st, u32 event, u32 key, double *ret)
{
	const struct stat_cell *c = cell_at(st, event, key);
	if (!c->counted)
		return -ENOENT;
	const struct stat_event *e = &st->spec->events[event];
	*ret = e->is_clock ? c->value.mean / e->scale : c->value.mean;
	return 0;
}

/* Counts by name, in their units as in perf; clocks in nanoseconds. */
static int get_count(void *ctx, const char *name, double *ret)
{
	struct get_ctx *g = ctx;
	const struct stat_formula *f = g->formula;
	if (!strcmp(name, "elapsed_ns")) {
		*ret = g->elapsed_ns;
		return 0;
	}
	if (!strcmp(name, "value"))
		return cell_value(g->st, f->beside, g->key, ret);
	if (!strcmp(name, "running_ns")) {
		s64 clock = clock_of(g->st->spec, f->beside);
		return clock < 0 ? -ENOENT : cell_value(g->st, (u32)clock, g->key, ret);
	}
	for (u32 i = 0; i < f->nr_inputs; i++)
		if (!strcmp(f->inputs[i].name, name))
			return cell_value(g->st, f->inputs[i].event, g->key, ret);
	return -ENOENT;
}

static enum stat_colour colour_of(const struct stat_formula *f, double v)
{
	if (f->red <= 0)
		return STAT_PLAIN;
	return v > f->red	? STAT_RED
	       : v > f->magenta ? STAT_MAGENTA
	       : v > f->yellow	? STAT_YELLOW
				: STAT_PLAIN;
}

static int add_formula(const struct stat_acc *st, const struct stat_formula *f,
		       const struct stat_row *row, double elapsed_ns, struct stat_rows *to)
{
	struct get_ctx g = { .st = st, .formula = f, .key = row->key, .elapsed_ns = elapsed_ns };
	double v = 0;
	bool shown = row->state == STAT_COUNTED && st->spec->eval(f->prog, get_count, &g, &v) == 0;
	if (!shown && f->new_line)
		return 0;
	struct stat_ratio *r = vec_push(&to->ratios);
	if (!r)
		return -ENOMEM;
	*r = (struct stat_ratio){ .unit = f->unit,
				  .format = f->format,
				  .value = v,
				  .colour = colour_of(f, v),
				  .is_rate = f->is_rate,
				  .new_line = f->new_line,
				  .shown = shown };
	return 0;
}

static int add_rate(struct stat_acc *st, const struct stat_row *row, struct stat_rows *to)
{
	const struct stat_spec *spec = st->spec;
	s64 clock = clock_of(spec, row->event);
	if (clock < 0 || row->state != STAT_COUNTED || spec->events[row->event].no_rate)
		return 0;
	const struct stat_cell *c = cell_at(st, (u32)clock, row->key);
	double ns = c->value.mean / spec->events[clock].scale;
	double count =
		cell_at(st, row->event, row->key)->value.mean / spec->events[row->event].scale;
	struct stat_ratio *r = vec_push(&to->ratios);
	if (!r)
		return -ENOMEM;
	char *unit = st->rate_units[(size_t)row->event * spec->nr_keys + row->key];
	*r = (struct stat_ratio){ .unit = unit, .format = "%8.3f", .is_rate = true, .shown = true };
	r->value = spec->rate(ns > 0 ? count / ns * 1e9 : 0, unit);
	return 0;
}

static int add_ratios(struct stat_acc *st, struct stat_row *row, double elapsed_ns,
		      struct stat_rows *to)
{
	const struct stat_spec *spec = st->spec;
	row->first_ratio = (u32)to->ratios.nr;
	int err = add_rate(st, row, to);
	for (u32 i = 0; i < spec->nr_formulae && !err; i++)
		if (spec->formulae[i].beside == row->event)
			err = add_formula(st, &spec->formulae[i], row, elapsed_ns, to);
	row->nr_ratios = (u32)(to->ratios.nr - row->first_ratio);
	return err;
}

static bool row_supported(const struct stat_acc *st, u32 event)
{
	for (u32 e = event; e < st->spec->nr_events; e++)
		if (st->row_of[e] == event && st->spec->events[e].supported)
			return true;
	return false;
}

static int add_row(struct stat_acc *st, u32 event, u32 key, double elapsed_ns, struct stat_rows *to)
{
	const struct stat_cell *c = cell_at(st, event, key);
	double runs = max(st->nr_runs, 1u);
	struct stat_row row = {
		.event = event,
		.key = key,
		.nr_places = c->nr_places,
		.state = !row_supported(st, event) ? STAT_NOT_SUPPORTED
			 : c->counted		   ? STAT_COUNTED
						   : STAT_NOT_COUNTED,
		.value = c->value.mean,
		.noise = stat_mean_noise(&c->value),
		.enabled_ns = c->enabled_ns / runs,
		.running_ns = c->running_ns / runs,
	};
	int err = st->spec->with_ratios ? add_ratios(st, &row, elapsed_ns, to) : 0;
	struct stat_row *slot = err ? NULL : vec_push(&to->rows);
	if (!slot)
		return -ENOMEM;
	*slot = row;
	return 0;
}

static int more_first(const void *a, const void *b)
{
	const struct stat_row *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return (x->key > y->key) - (x->key < y->key);
}

/* A tool event is measured once: by CPU it has one row only. */
static bool has_row(const struct stat_acc *st, u32 event, u32 key)
{
	const struct stat_spec *spec = st->spec;
	const struct stat_cell *c = cell_at(st, event, key);
	if (spec->by == STAT_BY_THREAD && spec->hide_zero)
		return c->counted && c->value.mean != 0;
	if (spec->by == STAT_BY_CPU || spec->by == STAT_BY_THREAD)
		return c->nr_places || !row_supported(st, event);
	return true;
}

static int event_rows(struct stat_acc *st, u32 event, double elapsed_ns, struct stat_rows *to)
{
	int err = 0;
	size_t first = to->rows.nr;
	for (u32 key = 0; key < st->spec->nr_keys && !err; key++)
		if (has_row(st, event, key))
			err = add_row(st, event, key, elapsed_ns, to);
	if (!err && st->spec->by == STAT_BY_THREAD && to->rows.nr > first)
		qsort(&to->rows.at[first], to->rows.nr - first, sizeof(to->rows.at[0]), more_first);
	return err;
}

int stat_finish(struct stat_acc *st, double elapsed_ns, struct stat_rows *to)
{
	const struct stat_spec *spec = st->spec;
	bool events_first =
		spec->by == STAT_BY_ALL || spec->by == STAT_BY_CPU || spec->by == STAT_BY_THREAD;
	int err = 0;
	for (u32 e = 0; events_first && e < spec->nr_events && !err; e++)
		if (st->row_of[e] == e)
			err = event_rows(st, e, elapsed_ns, to);
	for (u32 key = 0; !events_first && key < spec->nr_keys && !err; key++)
		for (u32 e = 0; e < spec->nr_events && !err; e++)
			if (st->row_of[e] == e)
				err = add_row(st, e, key, elapsed_ns, to);
	return err;
}

void stat_rows_done(struct stat_rows *rows)
{
	vec_free(&rows->rows);
	vec_free(&rows->ratios);
}
