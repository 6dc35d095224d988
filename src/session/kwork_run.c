#include "session/kwork_run.h"

#include "session/named_run.h"
#include "session/recording.h"
#include "stream/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ------------------------------------------------------------------------------------------------------- */

static u64 value_of(const struct kwork_row *r, enum kwork_key key)
{
	switch (key) {
	case KWORK_RUNTIME: return r->run_ns;
	case KWORK_MAX: return r->longest_run.end_ns - r->longest_run.start_ns;
	case KWORK_COUNT: return r->nr_runs;
	case KWORK_DELAY_AVG: return r->nr_delays ? r->delay_ns / r->nr_delays : 0;
	case KWORK_DELAY_MAX: return r->longest_delay.end_ns - r->longest_delay.start_ns;
	case KWORK_DELAY_COUNT: return r->nr_delays;
	}
	return 0;
}

struct kwork_order {
	const enum kwork_key *keys;
	u32 nr;
};

/* The largest first; of equals by class, number and CPU, so that every run prints the same. */
static int by_keys(const void *pa, const void *pb, void *ctx)
{
	const struct kwork_row *a = pa, *b = pb;
	const struct kwork_order *o = ctx;
	for (u32 i = 0; i < o->nr; i++) {
		u64 x = value_of(a, o->keys[i]), y = value_of(b, o->keys[i]);
		if (x != y)
			return x < y ? 1 : -1;
	}
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

void kwork_sort(struct kwork_row *rows, size_t nr, const enum kwork_key *keys, u32 nr_keys)
{
	struct kwork_order o = { keys, nr_keys };
	if (nr)
		qsort_r(rows, nr, sizeof(*rows), by_keys, &o);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static u32 kernel_image(const struct catalog *c, u64 addr)
{
	u32 kernel = IMAGE_NONE;
	for (u32 i = 0; i < c->images.nr; i++) {
		const struct image_info *m = &c->images.at[i];
		if (m->guest)
			continue;
		if (m->kind == IMAGE_KIND_KERNEL)
			kernel = i;
		else if (m->kind == IMAGE_KIND_MODULE && addr >= m->start && addr < m->end)
			return i;
	}
	return kernel;
}

static int name_functions(struct kwork_run *r, struct named_run *run, size_t nr)
{
	u32 *frames = calloc(nr + 1, sizeof(*frames));
	int err = frames ? 0 : -ENOMEM;
	for (size_t i = 0; i < nr && !err; i++) {
		u64 addr = r->all[i].function;
		s64 id = frame_table_add(
			&run->tables.frames,
			(struct frame){ .offset = addr,
					.image = kernel_image(&run->src->catalog, addr),
					.mode = FRAME_KERNEL });
		err = id < 0 ? (int)id : 0;
		frames[i] = id < 0 ? 0 : (u32)id;
	}
	if (!err)
		err = named_run_resolve(run, WANT_SYMBOL);
	for (size_t i = 0; i < nr && !err; i++) {
		const struct name_func *f = &run->named.funcs[run->named.func_of[frames[i]]];
		if (!r->all[i].function || !f->name)
			continue;
		r->all[i].name = arena_strdup(&r->arena, f->name);
		err = r->all[i].name ? 0 : -ENOMEM;
	}
	free(frames);
	return err;
}

/* ---- the run ------------------------------------------------------------------------------------------------------ */

static bool is_named(const struct kwork_row *r, const char *name)
{
	return !name || (r->name && !strcmp(r->name, name));
}

static int copy_rows(struct kwork_run *r, struct named_run *run, const char *name)
{
	size_t nr;
	const struct kwork_row *rows = kwork_runs_rows(r->runs, &nr);
	r->all = calloc(nr + 1, sizeof(*r->all));
	r->rows = calloc(nr + 1, sizeof(*r->rows));
	r->shown = calloc(nr + 1, sizeof(*r->shown));
	if (!r->all || !r->rows || !r->shown)
		return -ENOMEM;
	if (nr)
		memcpy(r->all, rows, nr * sizeof(*rows));
	int err = name_functions(r, run, nr);
	for (size_t i = 0; i < nr && !err; i++) {
		r->shown[i] = is_named(&r->all[i], name);
		if (r->shown[i])
			r->rows[r->nr++] = r->all[i];
	}
	return err;
}

static void total(struct kwork_run *r, const char *name)
{
	r->totals = kwork_runs_totals(r->runs);
	r->each = kwork_runs_each(r->runs, &r->nr_each);
	if (!name)
		return;
	r->totals.nr_runs = r->totals.run_ns = 0;
	for (size_t i = 0; i < r->nr; i++) {
		r->totals.nr_runs += r->rows[i].nr_runs;
		r->totals.run_ns += r->rows[i].run_ns;
	}
}

int kwork_run(struct kwork_run *r, struct symbols *sy, const struct kwork_run_opts *o)
{
	struct named_run run = { 0 };
	struct source *src = NULL;
	*r = (struct kwork_run){ 0 };
	arena_init(&r->arena);
	choose_init(&r->choose);
	int err = recording_open(sy, o->input, RECORDING_EVENTS, &o->symbols, &src);
	if (!err && o->choose)
		err = o->choose(o->ctx, src, &r->choose);
	if (!err) {
		struct kwork_runs_env env = { .classes = o->classes,
					      .keep_runs = o->keep_runs,
					      .catalog = &src->catalog };
		if (!sample_choice_empty(&r->choose.when))
			env.choice = &r->choose.when;
		named_run_begin(&run, src, recording_names(sy, src, &o->symbols));
		run.own_names = true;
		r->runs = kwork_runs_new(&env);
		err = run.names && r->runs ? 0 : -ENOMEM;
	}
	if (!err)
		err = named_run_feed(&run, kwork_runs_sink(r->runs), 1, sy->diag);
	if (!err)
		err = copy_rows(r, &run, o->name);
	if (!err)
		total(r, o->name);
	if (src)
		r->nr_lost = src->catalog.nr_lost;
	named_run_done(&run);
	if (src)
		src->ops->close(src);
	return err;
}

void kwork_run_done(struct kwork_run *r)
{
	kwork_runs_free(r->runs);
	free(r->rows);
	free(r->all);
	free(r->shown);
	choose_done(&r->choose);
	arena_done(&r->arena);
	*r = (struct kwork_run){ 0 };
}

/* ---- CPU usage ---------------------------------------------------------------------------------------------------- */

struct top_order {
	const enum kwork_top_key *keys;
	u32 nr;
};

/* The largest first, but task IDs upwards; equals by ID and CPU. */
static int by_top_keys(const void *pa, const void *pb, void *ctx)
{
	const struct kwork_task *a = pa, *b = pb;
	const struct top_order *o = ctx;
	for (u32 i = 0; i < o->nr; i++) {
		if (o->keys[i] == KWORK_TOP_RATE && a->rate != b->rate)
			return a->rate < b->rate ? 1 : -1;
		if (o->keys[i] == KWORK_TOP_RUNTIME && a->run_ns != b->run_ns)
			return a->run_ns < b->run_ns ? 1 : -1;
		if (o->keys[i] == KWORK_TOP_TID && a->tid != b->tid)
			return a->tid < b->tid ? -1 : 1;
	}
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

void kwork_top_sort(struct kwork_task *tasks, size_t nr, const enum kwork_top_key *keys, u32 nr_keys)
{
	struct top_order o = { keys, nr_keys };
	if (nr)
		qsort_r(tasks, nr, sizeof(*tasks), by_top_keys, &o);
}

int kwork_top_run(struct kwork_top_run *r, struct symbols *sy, const struct kwork_run_opts *o)
{
	struct run_tables tables = { 0 };
	struct source *src = NULL;
	*r = (struct kwork_top_run){ 0 };
	choose_init(&r->choose);
	int err = recording_open(sy, o->input, RECORDING_EVENTS, &o->symbols, &src);
	if (!err && o->choose)
		err = o->choose(o->ctx, src, &r->choose);
	if (!err)
		r->top = kwork_top_new(&(struct kwork_top_env){ .classes = o->classes,
								.choice = &r->choose.when,
								.catalog = &src->catalog });
	if (!err)
		err = r->top ? stream_run(src, kwork_top_sink(r->top), 1, &tables, sy->diag)
			     : -ENOMEM;
	if (!err)
		err = kwork_top_finish(r->top);
	if (!err) {
		r->tasks = kwork_top_tasks(r->top, &r->nr_tasks);
		r->cpus = kwork_top_cpus(r->top, &r->nr_cpus);
		r->totals = thread_states_totals(kwork_top_states(r->top));
		r->nr_lost = src->catalog.nr_lost;
	}
	run_tables_done(&tables);
	if (src)
		src->ops->close(src);
	return err;
}

void kwork_top_run_done(struct kwork_top_run *r)
{
	kwork_top_free(r->top);
	choose_done(&r->choose);
	*r = (struct kwork_top_run){ 0 };
}
