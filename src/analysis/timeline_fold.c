#include "analysis/timeline_fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct timeline_fold {
	struct sink sink;
	struct timeline *t;
	struct thread_states *states;
	VEC(u64) last_ns; /* [CPU]: of its last event */
	VEC(u8) kinds; /* [event]: enum timeline_event_kind */
};

enum timeline_event_kind { EVENT_NEW, EVENT_SCHED, EVENT_INSTANT };

_Static_assert((int)TIMELINE_RUNNING == THREAD_RUNNING && (int)TIMELINE_READY == THREAD_READY &&
		       (int)TIMELINE_BLOCKED == THREAD_BLOCKED &&
		       (int)TIMELINE_UNKNOWN == THREAD_UNKNOWN,
	       "states of a timeline are those of threads");

static u8 flags_of(const struct thread_interval *i)
{
	static const struct {
		u32 of_thread;
		u8 flag;
	} map[] = { { THREAD_LOSSY, TIMELINE_LOSSY },
		    { THREAD_SINCE_BEFORE, TIMELINE_SINCE_BEFORE },
		    { THREAD_UNTIL_END, TIMELINE_UNTIL_END },
		    { THREAD_PREEMPTED, TIMELINE_PREEMPTED },
		    { THREAD_WOKEN_BY_IRQ, TIMELINE_BY_IRQ } };
	u8 flags = 0;
	for (size_t k = 0; k < ARRAY_SIZE(map); k++)
		if (i->flags & map[k].of_thread)
			flags |= map[k].flag;
	return flags;
}

static int on_interval(void *ctx, const struct thread_interval *i)
{
	struct timeline_fold *f = ctx;
	bool blocked = i->state == THREAD_BLOCKED, ready = i->state == THREAD_READY;
	if (!thread_at(f->states, i->thread)->tid ||
	    (i->to_ns == i->from_ns && !(blocked && i->cause != THREAD_NONE)))
		return 0;
	struct timeline_slice *s = vec_push(&f->t->slices);
	if (!s)
		return -ENOMEM;
	*s = (struct timeline_slice){
		.from_ns = i->from_ns,
		.to_ns = i->to_ns,
		.track = i->thread,
		.cause = blocked ? i->cause : TIMELINE_NONE,
		.where = blocked || (ready && i->flags & THREAD_PREEMPTED) ? i->own_chain : 0,
		.cpu = i->cpu,
		.state = (u8)i->state,
		.flags = flags_of(i),
		.letter = blocked ? i->letter : '\0',
	};
	return 0;
}

static int on_lost(void *ctx, s32 cpu, u64 time_ns, u32 nr)
{
	struct timeline_fold *f = ctx;
	struct timeline_gap *g = vec_push(&f->t->gaps);
	if (!g)
		return -ENOMEM;
	u64 before = (size_t)cpu < f->last_ns.nr ? f->last_ns.at[cpu] : 0;
	if (!before)
		before = thread_states_totals(f->states)->first_ns;
	*g = (struct timeline_gap){
		.cpu = cpu, .from_ns = min(before, time_ns), .to_ns = time_ns, .nr = nr
	};
	return 0;
}

static const struct thread_states_ops state_ops = { .interval = on_interval, .lost = on_lost };

static enum timeline_event_kind kind_of(struct timeline_fold *f, const struct sample *s)
{
	while (s->event >= f->kinds.nr)
		if (!vec_push(&f->kinds))
			return EVENT_NEW;
	u8 *kind = &f->kinds.at[s->event];
	if (*kind == EVENT_NEW)
		*kind = s->schema && s->schema->system && !strcmp(s->schema->system, "sched")
				? EVENT_SCHED
				: EVENT_INSTANT;
	return *kind;
}

static int add_instant(struct timeline_fold *f, const struct sample *s)
{
	u32 track = thread_states_runner(f->states, s);
	if (track == THREAD_NONE || !thread_at(f->states, track)->tid)
		return 0;
	struct timeline_instant *i = vec_push(&f->t->instants);
	if (!i)
		return -ENOMEM;
	*i = (struct timeline_instant){ .time_ns = s->time_ns,
					.track = track,
					.event = s->event,
					.where = s->chain,
					.cpu = s->cpu };
	return 0;
}

static int feed_one(struct timeline_fold *f, const struct sample *s)
{
	int err = thread_states_feed(f->states, s);
	if (!err && kind_of(f, s) == EVENT_INSTANT)
		err = add_instant(f, s);
	if (err || s->cpu < 0 || s->cpu > thread_states_totals(f->states)->max_cpu)
		return err;
	while ((size_t)s->cpu >= f->last_ns.nr)
		if (!vec_push(&f->last_ns))
			return -ENOMEM;
	f->last_ns.at[s->cpu] = s->time_ns;
	return 0;
}

/* ---- the sink ---- */

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = container_of(k, struct timeline_fold, sink);
	return index ? -EINVAL : 0; /* one event after the other */
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++)
		err = feed_one(state, &b->samples[i]);
	return err;
}

/* There is one part, whose ids are those of the run. */
static int merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	return 0;
}

static const struct sink_ops sink_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
	.merge = merge,
};

struct sink *timeline_fold_sink(struct timeline_fold *f, bool chains)
{
	f->sink = (struct sink){ .ops = &sink_ops,
				 .needs = sink_ops.needs | (chains ? NEED_CHAIN : 0) };
	return &f->sink;
}

struct timeline_fold *timeline_fold_new(struct timeline *t)
{
	struct timeline_fold *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->t = t;
	f->states = thread_states_new(&state_ops, f);
	if (!f->states) {
		free(f);
		return NULL;
	}
	return f;
}

void timeline_fold_free(struct timeline_fold *f)
{
	if (!f)
		return;
	thread_states_free(f->states);
	vec_free(&f->last_ns);
	vec_free(&f->kinds);
	free(f);
}

const struct thread_states *timeline_fold_states(const struct timeline_fold *f)
{
	return f->states;
}

/* ---- names ---- */

/* Texts of numbers, each made once. */
struct timeline_texts {
	struct strtab *strings;
	struct dict known; /* number -> id in strings */
	timeline_label text;
	void *ctx;
};

static int text_of(struct timeline_texts *t, u32 number, u32 *ret)
{
	u32 id = dict_get(&t->known, number);
	if (id == DICT_NONE) {
		const char *text = t->text ? t->text(t->ctx, number) : "";
		s64 added = text ? strtab_add(t->strings, text, strlen(text)) : 0;
		int err = added < 0 ? (int)added : dict_put(&t->known, number, (u32)added);
		if (err)
			return err;
		id = (u32)added;
	}
	*ret = id;
	return 0;
}

static const char *event_name(void *ctx, u32 event)
{
	const struct catalog *c = ctx;
	return event < c->events.nr ? c->events.at[event].name : NULL;
}

static int name_things(struct timeline_fold *f, const struct catalog *c, timeline_label label,
		       void *ctx)
{
	struct timeline_texts chains = { .strings = &f->t->strings, .text = label, .ctx = ctx };
	struct timeline_texts events = { .strings = &f->t->strings,
					 .text = event_name,
					 .ctx = (void *)c };
	int err = 0;
	dict_init(&chains.known);
	dict_init(&events.known);
	for (size_t i = 0; i < f->t->slices.nr && !err; i++)
		if (f->t->slices.at[i].where)
			err = text_of(&chains, f->t->slices.at[i].where, &f->t->slices.at[i].where);
	for (size_t i = 0; i < f->t->instants.nr && !err; i++) {
		struct timeline_instant *n = &f->t->instants.at[i];
		err = text_of(&events, n->event, &n->event);
		if (!err && n->where)
			err = text_of(&chains, n->where, &n->where);
	}
	dict_done(&chains.known);
	dict_done(&events.known);
	return err;
}

static int add_tracks(struct timeline_fold *f, const struct catalog *c)
{
	for (u32 i = 0; i < thread_states_nr(f->states); i++) {
		const struct sched_thread *th = thread_at(f->states, i);
		const char *comm = thread_comm(f->states, i);
		u32 saved = *comm || !th->tid ? DICT_NONE : dict_get(&c->last_comm, (u32)th->tid);
		if (saved != DICT_NONE && !COMM_IS_UNNAMED(saved))
			comm = strtab_str(&c->strings, saved);
		s64 name = strtab_add(&f->t->strings, comm, strlen(comm));
		struct timeline_track *k = name < 0 ? NULL : vec_push(&f->t->tracks);
		if (!k)
			return -ENOMEM;
		*k = (struct timeline_track){ .tid = th->tid,
					      .pid = th->pid,
					      .parent = th->parent,
					      .cpu = th->cpu,
					      .comm = (u32)name };
	}
	return 0;
}

int timeline_fold_finish(struct timeline_fold *f, const struct catalog *c, timeline_label label,
			 void *ctx)
{
	struct timeline *t = f->t;
	const struct thread_states_totals *all = thread_states_totals(f->states);
	int err = thread_states_finish(f->states, 0);
	if (!err)
		err = add_tracks(f, c);
	if (!err)
		err = name_things(f, c, label, ctx);
	if (err)
		return err;
	t->first_ns = all->first_ns;
	t->last_ns = all->last_ns;
	t->nr_cpus = max((u32)(all->max_cpu + 1), 1u);
	t->nr_switches = all->nr_switches;
	t->nr_wakes = all->nr_wakes;
	t->nr_lost = c->nr_lost;
	return timeline_sort(t);
}
