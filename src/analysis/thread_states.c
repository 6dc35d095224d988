#include "analysis/thread_states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CPUS_MAX = 1 << 16,
	CACHED_STATES =
		512, /* all sets of bits that kernels have; other numbers are looked at anew */
	FLAG_HARDIRQ = 0x08, /* of common_flags */
	FLAG_SOFTIRQ = 0x10,
	RAW_MAX = 4096,
	COMM_MAX =
		64, /* the kernel's own are 15 bytes long; what a damaged format calls a name may be anything */
	EARLY_NS =
		100000, /* a wake-up this long before a thread leaves the CPU may be the one that ends its sleep */
};

enum thread_event { OTHER, SWITCH, WAKING, WAKEUP, WAKEUP_NEW, MIGRATE, FORK, RUNTIME, EXIT };

/* What an event is, and where its fields are. */
struct thread_look {
	bool known;
	enum thread_event kind;
	const struct schema_field *pid, *comm, *prio; /* of prev, or the only one */
	const struct schema_field *next_pid, *next_comm, *next_prio; /* or the child */
	const struct schema_field *state, *cpu, *from_cpu, *runtime, *flags;
	const char *states[CACHED_STATES];
};

struct thread_cpu {
	u32 current; /* THREAD_NONE: not known */
	bool switched; /* at least once */
	u64 since_ns;
	u64 lost_ns; /* when events were lost last; 0: never */
	u32 idle; /* its idle task */
};

struct thread_states {
	struct sink sink;
	const struct thread_states_ops *ops;
	void *ctx;
	const struct shard *shard;
	struct arena arena;
	struct strtab comms;
	struct strbuf text;
	VEC(struct thread_look *) looks; /* [event] */
	VEC(struct thread_cpu) cpus;
	VEC(struct sched_thread) threads;
	struct dict by_tid; /* -> the newest of that number */
	u64 lost_ns; /* on any CPU */
	bool has_waking;
	struct thread_states_totals totals;
};

/* ---- what an event is ---- */

static const struct {
	const char *name;
	enum thread_event kind;
	const char *pid, *comm, *prio, *next_pid, *next_comm, *next_prio, *cpu;
} kinds[] = {
	{ "sched_switch", SWITCH, "prev_pid", "prev_comm", "prev_prio", "next_pid", "next_comm",
	  "next_prio", NULL },
	{ "sched_waking", WAKING, "pid", "comm", "prio", NULL, NULL, NULL, "target_cpu" },
	{ "sched_wakeup", WAKEUP, "pid", "comm", "prio", NULL, NULL, NULL, "target_cpu" },
	{ "sched_wakeup_new", WAKEUP_NEW, "pid", "comm", "prio", NULL, NULL, NULL, "target_cpu" },
	{ "sched_migrate_task", MIGRATE, "pid", "comm", "prio", NULL, NULL, NULL, "dest_cpu" },
	{ "sched_process_fork", FORK, "parent_pid", NULL, NULL, "child_pid", "child_comm", NULL,
	  NULL },
	{ "sched_stat_runtime", RUNTIME, "pid", "comm", NULL, NULL, NULL, NULL, NULL },
	{ "sched_process_exit", EXIT, "pid", "comm", "prio", NULL, NULL, NULL, NULL },
};

static const struct schema_field *field(const struct schema *s, const char *name)
{
	return name ? schema_find(s, name) : NULL;
}

/* Without these the event says nothing. */
static bool has_all(const struct thread_look *l)
{
	switch (l->kind) {
	case SWITCH: return l->pid && l->next_pid && l->state;
	case FORK: return l->pid && l->next_pid;
	case MIGRATE: return l->pid && l->cpu;
	case RUNTIME: return l->pid && l->runtime;
	default: return l->pid;
	}
}

static void make_look(struct thread_look *l, const struct schema *s)
{
	l->known = true;
	if (!s->system || strcmp(s->system, "sched"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].name, s->name))
			continue;
		l->kind = kinds[i].kind;
		l->pid = field(s, kinds[i].pid);
		l->comm = field(s, kinds[i].comm);
		l->prio = field(s, kinds[i].prio);
		l->next_pid = field(s, kinds[i].next_pid);
		l->next_comm = field(s, kinds[i].next_comm);
		l->next_prio = field(s, kinds[i].next_prio);
		l->cpu = field(s, kinds[i].cpu);
		l->from_cpu = field(s, "orig_cpu");
		l->state = field(s, "prev_state");
		l->runtime = field(s, "runtime");
		l->flags = s->common_flags >= 0 && (u32)s->common_flags < s->nr_fields
				   ? &s->fields[s->common_flags]
				   : NULL;
	}
	if (!has_all(l))
		l->kind = OTHER;
}

static struct thread_look *look_of(struct thread_states *ts, const struct sample *s)
{
	while (s->event >= ts->looks.nr)
		if (!vec_push(&ts->looks))
			return NULL;
	struct thread_look **l = &ts->looks.at[s->event];
	if (!*l) {
		*l = arena_zalloc(&ts->arena, sizeof(**l));
		if (*l)
			make_look(*l, s->schema);
	}
	return *l;
}

static s64 number(const struct sample *s, const struct schema_field *f, s64 otherwise)
{
	return f ? (s64)schema_u64(s->schema, f, s->raw, s->raw_size) : otherwise;
}

static void blank(const struct schema *s, const struct schema_field *f, u8 *raw, u32 size)
{
	if (f && !(f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC)) && f->offset < size)
		memset(raw + f->offset, 0, min(f->size, size - f->offset));
}

/* What stands after "prev_state=" where the kernel's format prints the event without names, which may hold anything. "": it does not. */
static const char *print_state(struct thread_states *ts, const struct thread_look *l,
			       const struct sample *s)
{
	static const char before[] = "prev_state=";
	u8 raw[RAW_MAX];
	strbuf_reset(&ts->text);
	if (!s->schema->ops || !s->schema->ops->print || s->raw_size > sizeof(raw))
		return "";
	memcpy(raw, s->raw, s->raw_size);
	blank(s->schema, l->comm, raw, s->raw_size);
	blank(s->schema, l->next_comm, raw, s->raw_size);
	if (s->schema->ops->print(s->schema, raw, s->raw_size, &ts->text))
		return "";
	char *at = strstr((char *)strbuf_cstr(&ts->text), before);
	if (!at)
		return "";
	at += sizeof(before) - 1;
	at[strcspn(at, " ")] = '\0';
	return at;
}

static const char *state_text(struct thread_states *ts, struct thread_look *l,
			      const struct sample *s)
{
	u64 value = (u64)number(s, l->state, 0);
	if (value < CACHED_STATES && l->states[value])
		return l->states[value];
	const char *text = print_state(ts, l, s);
	if (!*text)
		text = value ? "?" : "R";
	if (value >= CACHED_STATES)
		return text;
	const char *copy = arena_strdup(&ts->arena, text);
	l->states[value] = copy;
	return copy ? copy : "?";
}

/* ---- threads and CPUs ---- */

static struct thread_cpu *cpu_of(struct thread_states *ts, s32 cpu)
{
	if (cpu < 0 || cpu >= CPUS_MAX)
		return NULL;
	while ((size_t)cpu >= ts->cpus.nr) {
		struct thread_cpu *c = vec_push(&ts->cpus);
		if (!c)
			return NULL;
		c->current = c->idle = THREAD_NONE;
	}
	ts->totals.max_cpu = max(ts->totals.max_cpu, cpu);
	return &ts->cpus.at[cpu];
}

static u32 new_thread(struct thread_states *ts, s32 tid, s32 cpu)
{
	struct sched_thread *t = ts->threads.nr < THREAD_NONE ? vec_push(&ts->threads) : NULL;
	if (!t)
		return THREAD_NONE;
	*t = (struct sched_thread){ .tid = tid,
				    .parent = -1,
				    .cpu = cpu,
				    .prio = -1,
				    .first_ns = ts->totals.first_ns,
				    .since_ns = ts->totals.first_ns,
				    .cause = THREAD_NONE };
	return (u32)ts->threads.nr - 1;
}

/* THREAD_NONE: no memory. Each CPU has an idle task of its own. */
static u32 thread_of(struct thread_states *ts, s32 tid, s32 cpu, bool fresh)
{
	if (!tid) {
		struct thread_cpu *c = &ts->cpus.at[cpu];
		if (c->idle == THREAD_NONE)
			c->idle = new_thread(ts, 0, cpu);
		return c->idle;
	}
	u32 at = dict_get(&ts->by_tid, (u32)tid);
	bool ended = at != DICT_NONE && ts->threads.at[at].ended;
	if (at != DICT_NONE && !fresh && !ended)
		return at;
	u32 made = new_thread(ts, tid, cpu);
	if (made == THREAD_NONE || dict_put(&ts->by_tid, (u32)tid, made))
		return THREAD_NONE;
	/* One that takes the number of another was not there before. */
	if (fresh || ended)
		ts->threads.at[made].first_ns = ts->threads.at[made].since_ns = ts->totals.last_ns;
	return made;
}

static int learn(struct thread_states *ts, u32 thread, const struct sample *s,
		 const struct schema_field *comm, const struct schema_field *prio)
{
	struct sched_thread *t = &ts->threads.at[thread];
	u32 len;
	const char *name = comm ? schema_bytes(s->schema, comm, s->raw, s->raw_size, &len) : NULL;
	if (prio)
		t->prio = (s32)number(s, prio, -1);
	t->last_ns = s->time_ns;
	if (!name || !t->tid)
		return 0;
	len = min(len, (u32)COMM_MAX);
	const char *known = strtab_str(&ts->comms, t->comm);
	if (t->comm && !strncmp(known, name, len) && !known[len])
		return 0;
	s64 id = strtab_add(&ts->comms, name, len);
	if (id < 0)
		return (int)id;
	t->comm = (u32)id;
	return 0;
}

/* Who ran when an event came: the sample says it, with the process. */
static u32 runner(struct thread_states *ts, const struct sample *s)
{
	u32 at = s->tid < 0 ? ts->cpus.at[s->cpu].current : thread_of(ts, s->tid, s->cpu, false);
	if (at != THREAD_NONE && s->tid > 0 && s->pid > 0)
		ts->threads.at[at].pid = s->pid;
	return at;
}

/* ---- intervals ---- */

static bool is_lossy(const struct thread_states *ts, const struct sched_thread *t)
{
	u64 lost = t->state == THREAD_RUNNING && t->known && (size_t)t->cpu < ts->cpus.nr
			   ? ts->cpus.at[t->cpu].lost_ns
			   : ts->lost_ns;
	return lost && lost > t->since_ns;
}

/* What the thread has been doing ends here. Nothing is said of idle tasks that do not run. */
static int end_interval(struct thread_states *ts, u32 thread, u64 time_ns, enum thread_state state,
			u32 flags)
{
	const struct sched_thread *t = &ts->threads.at[thread];
	if (!ts->ops->interval || (!t->tid && state != THREAD_RUNNING))
		return 0;
	struct thread_interval i = {
		.thread = thread,
		.state = state,
		.from_ns = min(t->since_ns, time_ns),
		.to_ns = time_ns,
		.flags = flags | t->flags | (is_lossy(ts, t) ? THREAD_LOSSY : 0) |
			 (t->known ? 0 : THREAD_SINCE_BEFORE),
		.cpu = t->cpu,
		.letter = t->letter,
		.cause = t->cause,
		.cause_chain = t->cause_chain,
		.own_chain = t->own_chain,
	};
	return ts->ops->interval(ts->ctx, &i);
}

static void begin_interval(struct sched_thread *t, enum thread_state state, u64 time_ns, u32 flags)
{
	t->state = state;
	t->known = true;
	t->since_ns = time_ns;
	t->flags = flags;
}

/* ---- events ---- */

/* The thread that the CPU leaves ran until now, whatever was known of it. */
static int end_running(struct thread_states *ts, u32 thread, const struct sample *s, bool first)
{
	struct sched_thread *t = &ts->threads.at[thread];
	bool ran = t->known && t->state == THREAD_RUNNING && t->cpu == s->cpu;
	int err = 0;
	if (!ran && !first) {
		/* Its switch to here was lost. */
		err = end_interval(ts, thread, s->time_ns, THREAD_UNKNOWN, THREAD_LOSSY);
		t = &ts->threads.at[thread];
		t->since_ns = s->time_ns;
	}
	if (!ran)
		t->flags = THREAD_SINCE_BEFORE;
	t->cpu = s->cpu;
	t->own_chain = s->chain;
	return err ? err : end_interval(ts, thread, s->time_ns, THREAD_RUNNING, 0);
}

static void leave_cpu(struct sched_thread *t, const char *state, const struct sample *s)
{
	t->letter = state[0];
	t->own_chain = s->chain;
	if (state[0] == 'R' || s->time_ns - min(s->time_ns, t->early_ns) > EARLY_NS)
		t->early_ns = 0;
	if (!t->early_ns) {
		t->cause = THREAD_NONE;
		t->cause_chain = CHAIN_NONE;
	}
	if (state[0] == 'R')
		begin_interval(t, THREAD_READY, s->time_ns, THREAD_PREEMPTED);
	else
		begin_interval(t, THREAD_BLOCKED, s->time_ns, 0);
	t->ended = state[0] == 'X' || state[0] == 'Z';
}

static int start_running(struct thread_states *ts, u32 thread, const struct sample *s)
{
	struct sched_thread *t = &ts->threads.at[thread];
	enum thread_state was = t->known ? t->state : THREAD_UNKNOWN;
	u32 flags = 0;
	if (was == THREAD_BLOCKED && t->early_ns)
		was = THREAD_READY;
	else if (was == THREAD_BLOCKED)
		flags = THREAD_WAKE_UNSEEN;
	else if (was == THREAD_RUNNING) {
		was = THREAD_UNKNOWN; /* on another CPU, which it was not seen leaving */
		flags = THREAD_LOSSY;
	}
	t->cpu = was == THREAD_BLOCKED ? t->cpu : s->cpu;
	int err = end_interval(ts, thread, s->time_ns, was, flags);
	t = &ts->threads.at[thread];
	t->cpu = s->cpu;
	t->early_ns = 0;
	begin_interval(t, THREAD_RUNNING, s->time_ns, 0);
	return err;
}

static int on_switch(struct thread_states *ts, struct thread_look *l, const struct sample *s)
{
	u32 prev = thread_of(ts, (s32)number(s, l->pid, 0), s->cpu, false);
	u32 next = thread_of(ts, (s32)number(s, l->next_pid, 0), s->cpu, false);
	if (prev == THREAD_NONE || next == THREAD_NONE)
		return -ENOMEM;
	if (s->pid > 0 && s->tid == ts->threads.at[prev].tid)
		ts->threads.at[prev].pid = s->pid;
	int err = learn(ts, prev, s, l->comm, l->prio);
	if (!err)
		err = learn(ts, next, s, l->next_comm, l->next_prio);
	struct thread_cpu *c = &ts->cpus.at[s->cpu];
	const char *state = state_text(ts, l, s);
	ts->totals.nr_switches++;
	if (!err && c->current != THREAD_NONE && c->current != prev) {
		/* It left the CPU some time ago. */
		struct sched_thread *t = &ts->threads.at[c->current];
		ts->totals.nr_bugs++;
		if (t->known && t->state == THREAD_RUNNING && t->cpu == s->cpu) {
			err = end_interval(ts, c->current, s->time_ns, THREAD_UNKNOWN, THREAD_LOSSY);
			begin_interval(&ts->threads.at[c->current], THREAD_UNKNOWN, s->time_ns, 0);
		}
	}
	ts->threads.at[prev].letter = state[0];
	if (!err)
		err = end_running(ts, prev, s, !c->switched);
	leave_cpu(&ts->threads.at[prev], state, s);
	if (!err)
		err = start_running(ts, next, s);
	c->current = next;
	c->since_ns = s->time_ns;
	c->switched = true;
	if (err || !ts->ops->switched)
		return err;
	return ts->ops->switched(ts->ctx, &(struct thread_switch){ .time_ns = s->time_ns,
								   .cpu = s->cpu,
								   .prev = prev,
								   .next = next,
								   .state = state,
								   .sample = s });
}

/* A thread that is not ready to run becomes so. */
static int make_ready(struct thread_states *ts, u32 thread, const struct sample *s, u32 flags)
{
	struct sched_thread *t = &ts->threads.at[thread];
	u32 new = flags &THREAD_IS_NEW;
	int err = 0;
	if (s->time_ns < t->since_ns) {
		ts->totals.nr_unordered++;
		return 0;
	}
	if (new && !t->known)
		t->first_ns = s->time_ns;
	else
		err = end_interval(ts, thread, s->time_ns,
				   t->known && t->state != THREAD_BLOCKED ? t->state
									  : THREAD_BLOCKED,
				   flags & ~new);
	begin_interval(&ts->threads.at[thread], THREAD_READY, s->time_ns, new);
	return err;
}

static int on_wake(struct thread_states *ts, struct thread_look *l, const struct sample *s)
{
	bool new = l->kind == WAKEUP_NEW;
	s32 tid = (s32)number(s, l->pid, 0), target = (s32)number(s, l->cpu, -1);
	if (!tid)
		return 0; /* idle tasks are not woken */
	u32 known = dict_get(&ts->by_tid, (u32)tid);
	/* One that fork told of, and nobody else yet, is the new one. */
	bool fresh = new &&known != DICT_NONE && ts->threads.at[known].known;
	u32 thread = thread_of(ts, tid, s->cpu, fresh), waker = runner(ts, s);
	if (thread == THREAD_NONE || waker == THREAD_NONE)
		return s->tid < 0 ? 0 : -ENOMEM;
	int err = learn(ts, thread, s, l->comm, l->prio);
	struct sched_thread *t = &ts->threads.at[thread];
	bool irq = number(s, l->flags, 0) & (FLAG_HARDIRQ | FLAG_SOFTIRQ);
	bool running = t->known && t->state == THREAD_RUNNING;
	ts->totals.nr_wakes++;
	ts->has_waking |= l->kind == WAKING;
	if (new && !t->known)
		t->since_ns = min(t->since_ns, s->time_ns);
	if (running ? l->kind == WAKING : !t->known || t->state != THREAD_READY) {
		t->cause = waker;
		t->cause_chain = s->chain;
	}
	if (running && l->kind == WAKING)
		t->early_ns = s->time_ns;
	if (!err && !running && (!t->known || t->state != THREAD_READY))
		err = make_ready(ts, thread, s,
				 (new ? THREAD_IS_NEW : 0) | (irq ? THREAD_WOKEN_BY_IRQ : 0));
	t = &ts->threads.at[thread];
	if (target >= 0 && target < CPUS_MAX && t->state == THREAD_READY)
		t->cpu = target;
	if (err || !ts->ops->wake || (l->kind == WAKEUP && ts->has_waking))
		return err;
	return ts->ops->wake(ts->ctx, &(struct thread_wake){ .time_ns = s->time_ns,
							     .cpu = s->cpu,
							     .target_cpu = target,
							     .waker = waker,
							     .thread = thread });
}

static int on_migrate(struct thread_states *ts, struct thread_look *l, const struct sample *s)
{
	s32 tid = (s32)number(s, l->pid, 0), to = (s32)number(s, l->cpu, -1);
	if (!tid || to < 0 || to >= CPUS_MAX)
		return 0;
	u32 thread = thread_of(ts, tid, s->cpu, false), by = runner(ts, s);
	if (thread == THREAD_NONE || by == THREAD_NONE)
		return s->tid < 0 ? 0 : -ENOMEM;
	int err = learn(ts, thread, s, l->comm, l->prio);
	struct thread_migration m = { .time_ns = s->time_ns,
				      .cpu = s->cpu,
				      .by = by,
				      .thread = thread,
				      .from = (s32)number(s, l->from_cpu, -1),
				      .to = to };
	ts->threads.at[thread].nr_migrations++;
	if (!err && ts->ops->migrate)
		err = ts->ops->migrate(ts->ctx, &m);
	struct sched_thread *t = &ts->threads.at[thread];
	if (t->known && t->state == THREAD_READY)
		t->cpu = to;
	return err;
}

static int on_fork(struct thread_states *ts, struct thread_look *l, const struct sample *s)
{
	s32 child = (s32)number(s, l->next_pid, 0);
	if (!child)
		return 0;
	u32 thread = thread_of(ts, child, s->cpu, true);
	if (thread == THREAD_NONE)
		return -ENOMEM;
	struct sched_thread *t = &ts->threads.at[thread];
	t->parent = (s32)number(s, l->pid, -1);
	t->first_ns = t->since_ns = s->time_ns;
	return learn(ts, thread, s, l->next_comm, NULL);
}

static int on_runtime(struct thread_states *ts, struct thread_look *l, const struct sample *s)
{
	s32 tid = (s32)number(s, l->pid, 0);
	if (!tid)
		return 0;
	u32 thread = thread_of(ts, tid, s->cpu, false);
	if (thread == THREAD_NONE)
		return -ENOMEM;
	int err = learn(ts, thread, s, l->comm, NULL);
	if (err || !ts->ops->runtime)
		return err;
	return ts->ops->runtime(ts->ctx, thread, (u64)number(s, l->runtime, 0));
}

static int on_lost(struct thread_states *ts, const struct sample *s)
{
	ts->totals.nr_gaps++;
	ts->lost_ns = max(ts->lost_ns, s->time_ns);
	ts->cpus.at[s->cpu].lost_ns = s->time_ns;
	return ts->ops->lost ? ts->ops->lost(ts->ctx, s->cpu, s->time_ns, s->missed) : 0;
}

int thread_states_feed(struct thread_states *ts, const struct sample *s)
{
	if (s->buffer || !cpu_of(ts, s->cpu))
		return s->buffer || s->cpu < 0 || s->cpu >= CPUS_MAX ? 0 : -ENOMEM;
	if (!ts->totals.first_ns)
		ts->totals.first_ns = s->time_ns;
	ts->totals.last_ns = max(ts->totals.last_ns, s->time_ns);
	int err = s->missed ? on_lost(ts, s) : 0;
	if (err || !s->schema || !s->raw)
		return err;
	struct thread_look *l = look_of(ts, s);
	if (!l)
		return -ENOMEM;
	ts->totals.nr_events += l->kind != OTHER;
	switch (l->kind) {
	case SWITCH: return on_switch(ts, l, s);
	case WAKING:
	case WAKEUP:
	case WAKEUP_NEW: return on_wake(ts, l, s);
	case MIGRATE: return on_migrate(ts, l, s);
	case FORK: return on_fork(ts, l, s);
	case RUNTIME: return on_runtime(ts, l, s);
	default: return 0;
	}
}

static int carry_id(struct carry *c, u32 *id)
{
	s64 got = *id ? carry_chain(c, *id) : 0;
	if (got >= 0)
		*id = (u32)got;
	return (int)min(got, (s64)0);
}

int thread_states_carry(struct thread_states *ts, struct carry *c)
{
	int err = 0;
	for (size_t i = 0; i < ts->threads.nr && !err; i++) {
		struct sched_thread *t = &ts->threads.at[i];
		if (t->ended) {
			t->own_chain = t->cause_chain = CHAIN_NONE;
			continue;
		}
		err = carry_id(c, &t->own_chain);
		if (!err)
			err = carry_id(c, &t->cause_chain);
	}
	return err;
}

int thread_states_finish(struct thread_states *ts, u64 until_ns)
{
	int err = 0;
	if (!until_ns)
		until_ns = ts->totals.last_ns;
	for (u32 i = 0; i < ts->threads.nr && !err; i++) {
		struct sched_thread *t = &ts->threads.at[i];
		if (t->ended || (!t->known && !t->last_ns))
			continue;
		t->cause = t->known && t->state == THREAD_BLOCKED ? THREAD_NONE : t->cause;
		err = end_interval(ts, i, until_ns, t->known ? t->state : THREAD_UNKNOWN,
				   THREAD_UNTIL_END);
	}
	return err;
}

/* ---- the sink ---- */

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct thread_states *ts = container_of(k, struct thread_states, sink);
	if (index)
		return -EINVAL; /* one event after the other */
	ts->shard = sh;
	*state = ts;
	return 0;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++)
		err = thread_states_feed(state, &b->samples[i]);
	return err;
}

/* There is one, whose ids are those of the run. */
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

struct thread_states *thread_states_new(const struct thread_states_ops *ops, void *ctx)
{
	struct thread_states *ts = calloc(1, sizeof(*ts));
	if (!ts)
		return NULL;
	ts->ops = ops;
	ts->ctx = ctx;
	ts->totals.max_cpu = -1;
	arena_init(&ts->arena);
	strtab_init(&ts->comms);
	strbuf_init(&ts->text);
	dict_init(&ts->by_tid);
	return ts;
}

void thread_states_free(struct thread_states *ts)
{
	if (!ts)
		return;
	arena_done(&ts->arena);
	strtab_done(&ts->comms);
	strbuf_done(&ts->text);
	dict_done(&ts->by_tid);
	vec_free(&ts->looks);
	vec_free(&ts->cpus);
	vec_free(&ts->threads);
	free(ts);
}

struct sink *thread_states_sink(struct thread_states *ts, bool chains)
{
	ts->sink = (struct sink){ .ops = &sink_ops,
				  .needs = sink_ops.needs | (chains ? NEED_CHAIN : 0) };
	return &ts->sink;
}

const struct shard *thread_states_shard(const struct thread_states *ts)
{
	return ts->shard;
}

u32 thread_states_nr(const struct thread_states *ts)
{
	return (u32)ts->threads.nr;
}

const struct sched_thread *thread_at(const struct thread_states *ts, u32 thread)
{
	return &ts->threads.at[thread];
}

const char *thread_comm(const struct thread_states *ts, u32 thread)
{
	const struct sched_thread *t = &ts->threads.at[thread];
	return t->tid ? strtab_str(&ts->comms, t->comm) : "<idle>";
}

const char *thread_states_comm_text(const struct thread_states *ts, u32 comm)
{
	return comm < ts->comms.nr ? strtab_str(&ts->comms, comm) : "";
}

const struct thread_states_totals *thread_states_totals(const struct thread_states *ts)
{
	return &ts->totals;
}

u32 thread_states_idle(const struct thread_states *ts, s32 cpu)
{
	return cpu >= 0 && (size_t)cpu < ts->cpus.nr ? ts->cpus.at[cpu].idle : THREAD_NONE;
}

u32 thread_states_current(const struct thread_states *ts, s32 cpu, u64 *since_ns)
{
	if (cpu < 0 || (size_t)cpu >= ts->cpus.nr)
		return THREAD_NONE;
	if (since_ns)
		*since_ns = ts->cpus.at[cpu].since_ns;
	return ts->cpus.at[cpu].current;
}

u32 thread_states_runner(struct thread_states *ts, const struct sample *s)
{
	return s->buffer || s->cpu < 0 || (size_t)s->cpu >= ts->cpus.nr ? THREAD_NONE
									: runner(ts, s);
}
