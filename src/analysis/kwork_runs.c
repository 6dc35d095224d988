#include "analysis/kwork_runs.h"

#include "analysis/symbolic.h"
#include "base/arena.h"
#include "base/dict.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64 };

enum kwork_step { STEP_UNKNOWN, STEP_NONE, STEP_RAISE, STEP_ENTRY, STEP_EXIT };

struct kwork_event_use {
	enum kwork_step step;
	enum kwork_class class;
	const struct schema_field *id, *name, *function;
	struct symbolic vectors; /* of softirqs */
};

/* What is open of a row. */
struct kwork_open {
	u64 raised_ns, entered_ns;
	bool raised, entered;
	bool has_delay; /* of the run that is open */
	u64 delay_ns;
};

/* Rows of one CPU, by number or address. */
struct kwork_cpu {
	struct dict row_of[KWORK_NR_CLASSES];
};

struct kwork_runs {
	struct sink sink;
	struct kwork_runs_env env;
	VEC(struct kwork_event_use) uses;
	VEC(struct kwork_row) rows;
	VEC(struct kwork_open) open; /* [row] */
	VEC(struct kwork_one) each;
	struct dict cpu_of; /* number -> index */
	VEC(struct kwork_cpu) cpus;
	struct kwork_totals totals;
	struct arena arena;
};

static const struct {
	const char *system, *event, *id;
	enum kwork_class class;
	enum kwork_step step;
} known[] = {
	{ "irq", "irq_handler_entry", "irq", KWORK_IRQ, STEP_ENTRY },
	{ "irq", "irq_handler_exit", "irq", KWORK_IRQ, STEP_EXIT },
	{ "irq", "softirq_raise", "vec", KWORK_SOFTIRQ, STEP_RAISE },
	{ "irq", "softirq_entry", "vec", KWORK_SOFTIRQ, STEP_ENTRY },
	{ "irq", "softirq_exit", "vec", KWORK_SOFTIRQ, STEP_EXIT },
	{ "workqueue", "workqueue_activate_work", "work", KWORK_WORKQUEUE, STEP_RAISE },
	{ "workqueue", "workqueue_execute_start", "work", KWORK_WORKQUEUE, STEP_ENTRY },
	{ "workqueue", "workqueue_execute_end", "work", KWORK_WORKQUEUE, STEP_EXIT },
};

static int find_use(struct kwork_runs *k, const struct schema *s, struct kwork_event_use *u)
{
	*u = (struct kwork_event_use){ .step = STEP_NONE };
	symbolic_init(&u->vectors);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(s->system, known[i].system) || strcmp(s->name, known[i].event) ||
		    !(k->env.classes >> known[i].class & 1))
			continue;
		u->id = schema_find(s, known[i].id);
		u->name = schema_find(s, "name");
		u->function = schema_find(s, "function");
		u->class = known[i].class;
		u->step = u->id ? known[i].step : STEP_NONE;
	}
	bool named = u->step != STEP_NONE && u->class == KWORK_SOFTIRQ;
	return named ? symbolic_read(&u->vectors, s->print_fmt, NULL, &k->arena) : 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const char *name_of(struct kwork_runs *k, const struct kwork_event_use *u,
			   const struct sample *s, u64 id)
{
	u32 len = 0;
	if (u->class == KWORK_SOFTIRQ)
		return symbolic_name(&u->vectors, id);
	const char *text = u->class == KWORK_IRQ && u->name
				   ? schema_bytes(s->schema, u->name, s->raw, s->raw_size, &len)
				   : NULL;
	return text ? arena_strndup(&k->arena, text, min(len, (u32)NAME_MAX_BYTES)) : NULL;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static struct kwork_cpu *find_cpu(struct kwork_runs *k, s32 cpu)
{
	u32 index;
	if (dict_add(&k->cpu_of, (u32)cpu, (u32)k->cpus.nr, &index))
		return NULL;
	return index < k->cpus.nr ? &k->cpus.at[index] : vec_push(&k->cpus);
}

static int find_row(struct kwork_runs *k, enum kwork_class class, u64 id, s32 cpu, u32 *ret)
{
	struct kwork_cpu *c = find_cpu(k, cpu);
	if (!c || dict_add(&c->row_of[class], id, (u32)k->rows.nr, ret))
		return -ENOMEM;
	if (*ret < k->rows.nr)
		return 0;
	struct kwork_row *r = vec_push(&k->rows);
	if (!r || !vec_push(&k->open))
		return -ENOMEM;
	*r = (struct kwork_row){ .class = class, .id = id, .cpu = cpu };
	return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void widen(struct kwork_span *longest, u64 start, u64 end)
{
	if (end - start > longest->end_ns - longest->start_ns || !longest->end_ns)
		*longest = (struct kwork_span){ start, end };
}

static void on_entry(struct kwork_runs *k, struct kwork_row *r, struct kwork_open *o, u64 now)
{
	k->totals.nr_entries += o->entered; /* the one before never ended */
	o->has_delay = o->raised && now >= o->raised_ns;
	o->delay_ns = o->has_delay ? now - o->raised_ns : 0;
	if (o->has_delay) {
		r->nr_delays++;
		r->delay_ns += o->delay_ns;
		widen(&r->longest_delay, o->raised_ns, now);
	}
	o->raised = false;
	o->entered = true;
	o->entered_ns = now;
}

static int on_exit_step(struct kwork_runs *k, u32 row, u64 now)
{
	struct kwork_row *r = &k->rows.at[row];
	struct kwork_open *o = &k->open.at[row];
	if (!o->entered || now < o->entered_ns) {
		k->totals.nr_exits++;
		return 0;
	}
	o->entered = false;
	r->nr_runs++;
	r->run_ns += now - o->entered_ns;
	widen(&r->longest_run, o->entered_ns, now);
	k->totals.nr_runs++;
	k->totals.run_ns += now - o->entered_ns;
	if (!k->env.keep_runs)
		return 0;
	struct kwork_one *one = vec_push(&k->each);
	if (!one)
		return -ENOMEM;
	*one = (struct kwork_one){ .row = row,
				   .run = { o->entered_ns, now },
				   .delay_ns = o->delay_ns,
				   .has_delay = o->has_delay };
	return 0;
}

static void note_time(struct kwork_totals *t, u64 now)
{
	if (!t->last_ns)
		t->first_ns = now;
	t->last_ns = max(t->last_ns, now);
}

static int on_event(struct kwork_runs *k, const struct sample *s, const struct kwork_event_use *u)
{
	u64 id = schema_u64(s->schema, u->id, s->raw, s->raw_size);
	u32 row;
	int err = find_row(k, u->class, id, s->cpu, &row);
	if (err)
		return err;
	struct kwork_row *r = &k->rows.at[row];
	struct kwork_open *o = &k->open.at[row];
	if (!r->name)
		r->name = name_of(k, u, s, id);
	if (u->function)
		r->function = schema_u64(s->schema, u->function, s->raw, s->raw_size);
	k->totals.nr_events++;
	if (u->step != STEP_RAISE)
		note_time(&k->totals, s->time_ns);
	if (u->step == STEP_RAISE && !o->raised) {
		o->raised = true;
		o->raised_ns = s->time_ns;
	} else if (u->step == STEP_ENTRY) {
		on_entry(k, r, o, s->time_ns);
	} else if (u->step == STEP_EXIT) {
		err = on_exit_step(k, row, s->time_ns);
	}
	return err;
}

static int feed(struct sink *sink, void *state, const struct batch *b)
{
	struct kwork_runs *k = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct sample *s = &b->samples[i];
		if (!s->schema || !s->raw)
			continue;
		while (k->uses.nr <= s->event)
			if (!vec_push(&k->uses))
				return -ENOMEM;
		struct kwork_event_use *u = &k->uses.at[s->event];
		if (u->step == STEP_UNKNOWN)
			err = find_use(k, s->schema, u);
		if (!err && u->step != STEP_NONE &&
		    (!k->env.choice || sample_chosen(k->env.choice, k->env.catalog, s)))
			err = on_event(k, s, u);
	}
	return err;
}

static int shard_new(struct sink *sink, unsigned index, const struct shard *shard, void **state)
{
	*state = container_of(sink, struct kwork_runs, sink);
	return index ? -EINVAL : 0;
}

static const struct sink_ops kwork_runs_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

struct kwork_runs *kwork_runs_new(const struct kwork_runs_env *env)
{
	struct kwork_runs *k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->sink = (struct sink){ .ops = &kwork_runs_ops, .needs = kwork_runs_ops.needs };
	k->env = *env;
	dict_init(&k->cpu_of);
	arena_init(&k->arena);
	return k;
}

void kwork_runs_free(struct kwork_runs *k)
{
	if (!k)
		return;
	vec_for_each (&k->uses, u)
		symbolic_done(&u->vectors);
	vec_free(&k->uses);
	vec_free(&k->rows);
	vec_free(&k->open);
	vec_free(&k->each);
	vec_for_each (&k->cpus, c)
		for (int i = 0; i < KWORK_NR_CLASSES; i++)
			dict_done(&c->row_of[i]);
	vec_free(&k->cpus);
	dict_done(&k->cpu_of);
	arena_done(&k->arena);
	free(k);
}

struct sink *kwork_runs_sink(struct kwork_runs *k)
{
	return &k->sink;
}

const struct kwork_row *kwork_runs_rows(const struct kwork_runs *k, size_t *nr)
{
	*nr = k->rows.nr;
	return k->rows.at;
}

const struct kwork_one *kwork_runs_each(const struct kwork_runs *k, size_t *nr)
{
	*nr = k->each.nr;
	return k->each.at;
}

/* What is still open at the end has no counterpart either. */
struct kwork_totals kwork_runs_totals(const struct kwork_runs *k)
{
	struct kwork_totals t = k->totals;
	vec_for_each (&k->open, o) {
		t.nr_raises += o->raised;
		t.nr_entries += o->entered;
	}
	return t;
}
