#include "analysis/lock_waits.h"

#include "base/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum lock_event {
	LOCK_EVENT_UNKNOWN, /* not looked at yet */
	LOCK_EVENT_OTHER,
	LOCK_EVENT_BEGIN,
	LOCK_EVENT_END,
	LOCK_EVENT_ACQUIRE,
	LOCK_EVENT_ACQUIRED,
	LOCK_EVENT_CONTENDED,
	LOCK_EVENT_RELEASE,
};

/* Of lock_acquire. */
enum { FLAG_TRY = 1, FLAG_READ = 2 };

struct lock_event_use {
	enum lock_event is;
	const struct schema_field *lock, *flags, *name;
};

enum lock_step {
	STEP_NONE,
	STEP_ACQUIRING,
	STEP_CONTENDED,
	STEP_ACQUIRED,
	STEP_READ,
	STEP_RELEASED
};

/* What a thread is doing with a lock. */
struct lock_use {
	u64 key[3];
	enum lock_step step;
	u32 readers;
	u32 wait; /* whose sum it is */
	u64 since_ns;
};

struct lock_waits {
	struct sink sink;
	VEC(struct lock_event_use) events;
	VEC(struct lock_wait) waits;
	VEC(struct lock_use) uses;
	struct dict wait_of, use_of;
	struct strtab classes;
	u64 nr_events, nr_lockdep;
};

static const struct {
	const char *name, *lock;
	enum lock_event is;
} known[] = {
	{ "contention_begin", "lock_addr", LOCK_EVENT_BEGIN },
	{ "contention_end", "lock_addr", LOCK_EVENT_END },
	{ "lock_acquire", "lockdep_addr", LOCK_EVENT_ACQUIRE },
	{ "lock_acquired", "lockdep_addr", LOCK_EVENT_ACQUIRED },
	{ "lock_contended", "lockdep_addr", LOCK_EVENT_CONTENDED },
	{ "lock_release", "lockdep_addr", LOCK_EVENT_RELEASE },
};

static void find_event(const struct schema *s, struct lock_event_use *u)
{
	*u = (struct lock_event_use){ .is = LOCK_EVENT_OTHER };
	if (strcmp(s->system, "lock"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].name, s->name))
			continue;
		u->lock = schema_find(s, known[i].lock);
		u->flags = schema_find(s, "flags");
		u->name = schema_find(s, "name");
		u->is = u->lock ? known[i].is : LOCK_EVENT_OTHER;
	}
}

static u64 field(const struct sample *s, const struct schema_field *f)
{
	return f ? schema_u64(s->schema, f, s->raw, s->raw_size) : 0;
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static u64 hash_key(const u64 key[3], u64 seed)
{
	return hash_words(key, 3, seed);
}

static bool same_wait(const struct lock_wait *w, const u64 key[3])
{
	return w->lock == key[0] && ((u64)w->chain << 32 | (u32)w->tid) == key[1] &&
	       ((u64)w->flags << 32 | w->class_name) == key[2];
}

static s64 wait_of(struct lock_waits *w, const struct lock_wait *of)
{
	const u64 key[3] = { of->lock, (u64)of->chain << 32 | (u32)of->tid,
			     (u64)of->flags << 32 | of->class_name };
	for (u64 seed = hash_seed();; seed++) {
		u32 at;
		if (w->waits.nr >= DICT_NONE ||
		    dict_add(&w->wait_of, hash_key(key, seed), (u32)w->waits.nr, &at) < 0)
			return -ENOMEM;
		if (at < w->waits.nr && !same_wait(&w->waits.at[at], key))
			continue;
		if (at < w->waits.nr)
			return at;
		struct lock_wait *fresh = vec_push(&w->waits);
		if (!fresh)
			return -ENOMEM;
		*fresh = *of;
		fresh->sum.min_ns = UINT64_MAX;
		return at;
	}
}

/* Idle tasks all have number 0: they are told apart by their CPU. */
static struct lock_use *use_of(struct lock_waits *w, const struct sample *s, u64 lock)
{
	const u64 key[3] = { lock, (u32)s->tid, s->tid ? 0 : (u64)(u32)s->cpu + 1 };
	for (u64 seed = hash_seed();; seed++) {
		u32 at;
		if (w->uses.nr >= DICT_NONE ||
		    dict_add(&w->use_of, hash_key(key, seed), (u32)w->uses.nr, &at) < 0)
			return NULL;
		if (at < w->uses.nr && memcmp(w->uses.at[at].key, key, sizeof(key)) != 0)
			continue;
		if (at < w->uses.nr)
			return &w->uses.at[at];
		struct lock_use *fresh = vec_push(&w->uses);
		if (fresh)
			memcpy(fresh->key, key, sizeof(key));
		return fresh;
	}
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static void broken(struct lock_use *u, struct lock_sum *sum, enum lock_broken at)
{
	if (!sum->broken)
		sum->broken = (u8)(at + 1);
	u->step = STEP_NONE;
}

static void add_wait(struct lock_sum *sum, u64 ns)
{
	sum->nr_waits++;
	sum->total_ns += ns;
	sum->max_ns = max(sum->max_ns, ns);
	sum->min_ns = min(sum->min_ns, ns);
}

static void begin_wait(struct lock_use *u, struct lock_sum *sum, u64 now)
{
	u->step = STEP_CONTENDED;
	u->since_ns = now;
	sum->nr_contended++;
}

static void end_wait(struct lock_use *u, struct lock_sum *sum, u64 now)
{
	if (u->step == STEP_CONTENDED)
		add_wait(sum, u64_less(now, u->since_ns));
	u->step = STEP_ACQUIRED;
	sum->nr_acquired++;
}

static void on_acquire(struct lock_use *u, struct lock_sum *sum, u64 flags)
{
	if (u->step == STEP_READ && flags & FLAG_READ) {
		u->readers++;
		sum->nr_acquired++;
	} else if (u->step != STEP_NONE && u->step != STEP_RELEASED) {
		broken(u, sum, LOCK_BROKEN_ACQUIRE);
	} else if (flags & (FLAG_TRY | FLAG_READ)) {
		u->step = STEP_READ;
		u->readers = 1;
		sum->nr_acquired++;
	} else {
		u->step = STEP_ACQUIRING;
	}
}

static void on_acquired(struct lock_use *u, struct lock_sum *sum, u64 now)
{
	if (u->step == STEP_NONE)
		return;
	if (u->step == STEP_ACQUIRING || u->step == STEP_CONTENDED)
		end_wait(u, sum, now);
	else
		broken(u, sum, LOCK_BROKEN_ACQUIRED);
}

static void on_contended(struct lock_use *u, struct lock_sum *sum, u64 now)
{
	if (u->step == STEP_NONE)
		return;
	if (u->step == STEP_ACQUIRING)
		begin_wait(u, sum, now);
	else
		broken(u, sum, LOCK_BROKEN_CONTENDED);
}

static void on_release(struct lock_use *u, struct lock_sum *sum)
{
	if (u->step == STEP_NONE)
		return;
	if (u->step == STEP_READ && --u->readers)
		return;
	if (u->step != STEP_ACQUIRED && u->step != STEP_READ)
		broken(u, sum, LOCK_BROKEN_RELEASE);
	u->step = STEP_NONE;
}

/* The first of several beginnings counts; what came before it was another wait. */
static int on_begin(struct lock_waits *w, struct lock_use *u, const struct lock_wait *of, u64 now)
{
	if (u->step == STEP_CONTENDED)
		return 0;
	s64 wait = wait_of(w, of);
	if (wait < 0)
		return (int)wait;
	u->wait = (u32)wait;
	begin_wait(u, &w->waits.at[wait].sum, now);
	return 0;
}

static int class_of(struct lock_waits *w, const struct sample *s, const struct lock_event_use *e,
		    struct lock_wait *of)
{
	u32 len = 0;
	const char *name =
		e->name ? schema_bytes(s->schema, e->name, s->raw, s->raw_size, &len) : NULL;
	s64 id = name ? strtab_add(&w->classes, name, len) : 0;
	of->class_name = id < 0 ? 0 : (u32)id;
	return id < 0 ? (int)id : 0;
}

static int on_lockdep(struct lock_waits *w, const struct sample *s, const struct lock_event_use *e,
		      struct lock_use *u, struct lock_wait *of)
{
	u64 flags = of->flags;
	w->nr_lockdep++;
	of->flags = 0;
	int err = class_of(w, s, e, of);
	s64 wait = err ? err : wait_of(w, of);
	if (wait < 0)
		return (int)wait;
	u->wait = (u32)wait;
	struct lock_sum *sum = &w->waits.at[wait].sum;
	switch (e->is) {
	case LOCK_EVENT_ACQUIRE: on_acquire(u, sum, flags); break;
	case LOCK_EVENT_ACQUIRED: on_acquired(u, sum, s->time_ns); break;
	case LOCK_EVENT_CONTENDED: on_contended(u, sum, s->time_ns); break;
	default: on_release(u, sum);
	}
	return 0;
}

static int on_event(struct lock_waits *w, const struct sample *s, const struct lock_event_use *e)
{
	bool contention = e->is == LOCK_EVENT_BEGIN || e->is == LOCK_EVENT_END;
	struct lock_wait of = {
		.lock = field(s, e->lock),
		.tid = s->tid,
		.chain = contention ? s->chain : CHAIN_NONE,
		.flags = e->is == LOCK_EVENT_BEGIN || e->is == LOCK_EVENT_ACQUIRE
				 ? (u32)field(s, e->flags)
				 : 0,
	};
	struct lock_use *u = use_of(w, s, of.lock);
	if (!u)
		return -ENOMEM;
	w->nr_events++;
	if (e->is == LOCK_EVENT_BEGIN)
		return on_begin(w, u, &of, s->time_ns);
	if (e->is != LOCK_EVENT_END)
		return on_lockdep(w, s, e, u, &of);
	if (u->step == STEP_CONTENDED)
		end_wait(u, &w->waits.at[u->wait].sum, s->time_ns);
	return 0;
}

/* ---- the sink --------------------------------------------------------------------------------------------------- */

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct lock_waits *w = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct sample *s = &b->samples[i];
		if (!s->schema || !s->raw)
			continue;
		while (w->events.nr <= s->event)
			if (!vec_push(&w->events))
				return -ENOMEM;
		struct lock_event_use *e = &w->events.at[s->event];
		if (e->is == LOCK_EVENT_UNKNOWN)
			find_event(s->schema, e);
		if (e->is != LOCK_EVENT_OTHER)
			err = on_event(w, s, e);
	}
	return err;
}

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	*state = container_of(k, struct lock_waits, sink);
	return index ? -EINVAL : 0;
}

/* There is one part: its chains become the run's. */
static int merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	struct lock_waits *w = container_of(k, struct lock_waits, sink);
	if (nr && parts[0].map_chain)
		vec_for_each (&w->waits, at)
			at->chain = parts[0].map_chain[at->chain];
	return 0;
}

static const struct sink_ops lock_waits_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_CHAIN,
	.shard_new = shard_new,
	.feed = feed,
	.merge = merge,
};

struct lock_waits *lock_waits_new(void)
{
	struct lock_waits *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->sink = (struct sink){ .ops = &lock_waits_ops, .needs = lock_waits_ops.needs };
	dict_init(&w->wait_of);
	dict_init(&w->use_of);
	strtab_init(&w->classes);
	return w;
}

void lock_waits_free(struct lock_waits *w)
{
	if (!w)
		return;
	vec_free(&w->events);
	vec_free(&w->waits);
	vec_free(&w->uses);
	dict_done(&w->wait_of);
	dict_done(&w->use_of);
	strtab_done(&w->classes);
	free(w);
}

struct sink *lock_waits_sink(struct lock_waits *w)
{
	return &w->sink;
}

const struct lock_wait *lock_waits_list(const struct lock_waits *w, size_t *nr)
{
	*nr = w->waits.nr;
	return w->waits.at;
}

const char *lock_waits_class(const struct lock_waits *w, u32 class_name)
{
	return class_name ? strtab_str(&w->classes, class_name) : NULL;
}

u64 lock_waits_nr_events(const struct lock_waits *w)
{
	return w->nr_events;
}

u64 lock_waits_nr_lockdep(const struct lock_waits *w)
{
	return w->nr_lockdep;
}

u64 lock_waits_nr_open(const struct lock_waits *w)
{
	u64 nr = 0;
	vec_for_each (&w->uses, u)
		nr += u->step == STEP_CONTENDED;
	return nr;
}
