/* Intervals of threads from planted events: who ran, who waited, who woke whom, and what is said where events are missing. */
#include "analysis/critical.h"
#include "analysis/off_cpu.h"
#include "analysis/replay_plan.h"
#include "analysis/sched_latency.h"
#include "analysis/sched_why.h"
#include "analysis/thread_states.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- events ---- */

struct raw_event {
	u8 flags;
	char comm[16];
	s32 pid;
	s32 prio;
	u64 state;
	char next_comm[16];
	s32 next_pid;
	s32 cpu, from_cpu;
	u64 runtime;
};

#define FIELD(n, f, extra)                                                                         \
	{                                                                                          \
		.name = (n), .offset = offsetof(struct raw_event, f),                              \
		.size = sizeof(((struct raw_event *)0)->f), .flags = (extra)                       \
	}

static const struct schema_field switch_fields[] = {
	FIELD("common_flags", flags, 0),
	FIELD("prev_comm", comm, FIELD_STRING),
	FIELD("prev_pid", pid, FIELD_SIGNED),
	FIELD("prev_state", state, 0),
	FIELD("next_comm", next_comm, FIELD_STRING),
	FIELD("next_pid", next_pid, FIELD_SIGNED),
};
static const struct schema_field wake_fields[] = {
	FIELD("common_flags", flags, 0),	FIELD("comm", comm, FIELD_STRING),
	FIELD("pid", pid, FIELD_SIGNED),	FIELD("prio", prio, FIELD_SIGNED),
	FIELD("target_cpu", cpu, FIELD_SIGNED), FIELD("orig_cpu", from_cpu, FIELD_SIGNED),
	FIELD("dest_cpu", cpu, FIELD_SIGNED),	FIELD("runtime", runtime, 0),
};
static const struct schema_field fork_fields[] = {
	FIELD("common_flags", flags, 0),
	FIELD("parent_pid", pid, FIELD_SIGNED),
	FIELD("child_comm", next_comm, FIELD_STRING),
	FIELD("child_pid", next_pid, FIELD_SIGNED),
};

/* A kernel with letters of its own: 4 is D here, and 0x40 means preempted. */
static int print_switch(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	const struct raw_event *e = raw;
	static const struct {
		u64 bit;
		const char *letter;
	} letters[] = { { 1, "S" }, { 4, "D" }, { 8, "X" } };
	const char *letter = "R";
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		if (e->state & letters[i].bit)
			letter = letters[i].letter;
	strbuf_printf(to, "prev_comm=%s prev_pid=%d prev_state=%s%s ==> next_comm=%s next_pid=%d",
		      e->comm, e->pid, letter, e->state & 0x40 ? "+" : "", e->next_comm,
		      e->next_pid);
	return 0;
}
static const struct schema_ops switch_ops = { .print = print_switch };

enum { EV_SWITCH, EV_WAKING, EV_WAKEUP, EV_NEW, EV_MIGRATE, EV_FORK, EV_RUNTIME, EV_OTHER };
#define WAKE_SCHEMA(n)                                                                             \
	{                                                                                          \
		.system = "sched", .name = (n), .fields = wake_fields,                             \
		.nr_fields = ARRAY_SIZE(wake_fields), .common_flags = 0                            \
	}
static const struct schema schemas[] = {
	[EV_SWITCH] = { .system = "sched",
			.name = "sched_switch",
			.fields = switch_fields,
			.nr_fields = ARRAY_SIZE(switch_fields),
			.ops = &switch_ops },
	[EV_WAKING] = WAKE_SCHEMA("sched_waking"),
	[EV_WAKEUP] = WAKE_SCHEMA("sched_wakeup"),
	[EV_NEW] = WAKE_SCHEMA("sched_wakeup_new"),
	[EV_MIGRATE] = WAKE_SCHEMA("sched_migrate_task"),
	[EV_FORK] = { .system = "sched",
		      .name = "sched_process_fork",
		      .fields = fork_fields,
		      .nr_fields = ARRAY_SIZE(fork_fields) },
	[EV_RUNTIME] = WAKE_SCHEMA("sched_stat_runtime"),
	[EV_OTHER] = { .system = "irq", .name = "irq_handler_entry" },
};

/* ---- what is told ---- */

static char told[1 << 16];
static size_t told_len;
static struct thread_states *ts;

static void tell_reset(void)
{
	told[told_len = 0] = '\0';
}

/* "7:RUN 100-200 S cpu0 by 9 #own/cause [flags]" */
static int on_interval(void *ctx, const struct thread_interval *i)
{
	static const char *const words[] = { "UNKNOWN", "RUN", "READY", "BLOCKED" };
	static const char *const flags[] = { "lossy",  "before", "end", "preempted",
					     "unseen", "irq",	 "new" };
	const struct sched_thread *t = thread_at(ts, i->thread);
	told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len, "%d:%s %llu-%llu",
				     t->tid, words[i->state], (unsigned long long)i->from_ns,
				     (unsigned long long)i->to_ns);
	if (i->state == THREAD_BLOCKED)
		told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len, " %c",
					     i->letter ? i->letter : '?');
	if (i->state == THREAD_BLOCKED && i->cause != THREAD_NONE)
		told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len, " by %d",
					     thread_at(ts, i->cause)->tid);
	if (i->state == THREAD_BLOCKED && (i->own_chain || i->cause_chain))
		told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len, " #%u/%u",
					     i->own_chain, i->cause_chain);
	for (size_t k = 0; k < ARRAY_SIZE(flags); k++)
		if (i->flags >> k & 1)
			told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len,
						     " %s", flags[k]);
	told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len, "\n");
	return 0;
}

static const struct thread_states_ops ops = { .interval = on_interval };

static void begin(void)
{
	tell_reset();
	ts = thread_states_new(&ops, NULL);
	if (!ts)
		abort();
}

static void end_and_free(void)
{
	if (thread_states_finish(ts, 0))
		abort();
	thread_states_free(ts);
}

static struct sample *event(u32 kind, u64 time, s32 cpu, s32 tid)
{
	static struct raw_event raw;
	static struct sample s;
	raw = (struct raw_event){ .cpu = -1, .from_cpu = -1 };
	s = (struct sample){ .event = kind,
			     .time_ns = time,
			     .cpu = cpu,
			     .tid = tid,
			     .pid = tid,
			     .schema = &schemas[kind],
			     .raw = &raw,
			     .raw_size = sizeof(raw) };
	return &s;
}

static struct raw_event *raw_of(const struct sample *s)
{
	return (struct raw_event *)s->raw;
}

static void feed(const struct sample *s)
{
	if (thread_states_feed(ts, s))
		abort();
}

static struct sample *make_switch(u64 time, s32 cpu, s32 prev, u64 state, s32 next)
{
	struct sample *s = event(EV_SWITCH, time, cpu, prev);
	struct raw_event *e = raw_of(s);
	e->pid = prev;
	e->state = state;
	e->next_pid = next;
	(void)snprintf(e->comm, sizeof(e->comm), "task%d", prev);
	(void)snprintf(e->next_comm, sizeof(e->next_comm), "task%d", next);
	return s;
}

static void sw(u64 time, s32 cpu, s32 prev, u64 state, s32 next)
{
	feed(make_switch(time, cpu, prev, state, next));
}

static struct sample *make_wake(u32 kind, u64 time, s32 cpu, s32 by, s32 pid, s32 target)
{
	struct sample *s = event(kind, time, cpu, by);
	raw_of(s)->pid = pid;
	raw_of(s)->cpu = target;
	(void)snprintf(raw_of(s)->comm, sizeof(raw_of(s)->comm), "task%d", pid);
	return s;
}

static void wake(u32 kind, u64 time, s32 cpu, s32 by, s32 pid, s32 target)
{
	feed(make_wake(kind, time, cpu, by, pid, target));
}

static void is_told(const char *want, const char *what)
{
	bool same = !strcmp(told, want);
	ok(same, "%s", what);
	if (!same)
		printf("# got:\n%s# want:\n%s", told, want);
	tell_reset();
}

/* ---- stories ---- */

enum { S = 1, D = 4, X = 8, PREEMPTED = 0x40 };

static void test_plain(void)
{
	begin();
	sw(100, 0, 7, S, 8);
	wake(EV_WAKING, 150, 0, 8, 7, 0);
	wake(EV_WAKEUP, 155, 0, 8, 7, 0);
	sw(180, 0, 8, PREEMPTED, 7);
	sw(200, 0, 7, D, 8);
	is_told("7:RUN 100-100 before\n8:UNKNOWN 100-100 before\n"
		"7:BLOCKED 100-150 S by 8\n"
		"8:RUN 100-180\n7:READY 150-180\n"
		"7:RUN 180-200\n8:READY 180-200 preempted\n",
		"running, blocked until woken, ready until it runs; sched_wakeup after "
		"sched_waking "
		"adds nothing");
	end_and_free();
	is_told("7:BLOCKED 200-200 D end\n8:RUN 200-200 end\n",
		"what is open at the end; letters are those of the event's format");
}

static void test_chains_and_irqs(void)
{
	begin();
	sw(100, 0, 9, S, 8);
	struct sample *s = make_switch(110, 0, 8, S, 0);
	s->chain = 41;
	feed(s);
	s = make_wake(EV_WAKING, 130, 1, 0, 8, 0);
	s->chain = 42;
	raw_of(s)->flags = 0x08;
	feed(s);
	tell_reset();
	sw(140, 0, 0, 0, 8);
	is_told("0:RUN 110-140\n8:READY 130-140\n", "an idle task has no waits");
	end_and_free();
	begin();
	sw(100, 0, 9, S, 8);
	s = make_switch(110, 0, 8, S, 0);
	s->chain = 41;
	feed(s);
	tell_reset();
	s = make_wake(EV_WAKING, 130, 1, 0, 8, 0);
	s->chain = 42;
	raw_of(s)->flags = 0x08;
	feed(s);
	is_told("8:BLOCKED 110-130 S by 0 #41/42 irq\n",
		"where it blocked, where it was woken, and that it was an interrupt");
	end_and_free();
}

static void test_missing_wake(void)
{
	begin();
	sw(100, 0, 7, S, 8);
	tell_reset();
	sw(200, 0, 8, S, 7);
	is_told("8:RUN 100-200\n7:BLOCKED 100-200 S unseen\n", "it ran again without a wake-up");
	/* sched_waking comes while it still runs, when both happen at once. */
	wake(EV_WAKING, 290, 1, 5, 7, 0);
	sw(300, 0, 7, S, 0);
	tell_reset();
	sw(350, 0, 0, 0, 7);
	is_told("0:RUN 300-350\n7:READY 300-350\n", "a wake-up just before it left belongs to it");
	wake(EV_WAKING, 400, 1, 5, 7, 0);
	sw(5000000, 0, 7, S, 0);
	tell_reset();
	sw(6000000, 0, 0, 0, 7);
	is_told("0:RUN 5000000-6000000\n7:BLOCKED 5000000-6000000 S unseen\n",
		"but not one from long before");
	end_and_free();
}

static void test_life(void)
{
	begin();
	sw(100, 0, 7, S, 8);
	tell_reset();
	struct sample *s = event(EV_FORK, 110, 0, 8);
	raw_of(s)->pid = 8;
	raw_of(s)->next_pid = 20;
	feed(s);
	wake(EV_NEW, 120, 0, 8, 20, 0);
	sw(130, 0, 8, S, 20);
	sw(140, 0, 20, X, 0);
	is_told("8:RUN 100-130\n20:READY 120-130 new\n20:RUN 130-140\n",
		"a new thread is ready from its first wake-up on");
	u32 first = thread_states_nr(ts);
	ok(thread_at(ts, first - 2)->tid == 20 && thread_at(ts, first - 2)->ended &&
		   thread_at(ts, first - 2)->parent == 8,
	   "it has a parent, and has ended");
	wake(EV_NEW, 200, 0, 0, 20, 0);
	ok(thread_states_nr(ts) == first + 1 && !thread_at(ts, first)->ended &&
		   thread_at(ts, first)->first_ns == 200,
	   "another one with its number is another thread");
	end_and_free();
}

static void test_lossy(void)
{
	begin();
	sw(100, 0, 7, S, 8);
	sw(100, 1, 3, S, 4);
	tell_reset();
	struct sample *s = make_switch(300, 0, 9, S, 8);
	s->missed = 5;
	feed(s);
	is_told("8:UNKNOWN 100-300 lossy\n9:UNKNOWN 100-300 lossy before\n9:RUN 300-300 before\n"
		"8:UNKNOWN 300-300\n",
		"a CPU that left another thread than it had gone to: both are unknown");
	const struct thread_states_totals *t = thread_states_totals(ts);
	ok(t->nr_bugs == 1 && t->nr_gaps == 1, "which is counted");
	sw(400, 1, 4, S, 3);
	is_told("4:RUN 100-400\n3:BLOCKED 100-400 S lossy unseen\n",
		"another CPU's run is known; a wait over the gap is not exact");
	sw(500, 0, 8, S, 9);
	is_told("8:RUN 300-500\n9:BLOCKED 300-500 S unseen\n", "what begins after the gap is");
	end_and_free();
}

static void test_unordered(void)
{
	begin();
	sw(100, 0, 7, S, 8);
	sw(200, 0, 8, S, 7);
	sw(300, 0, 7, S, 8);
	tell_reset();
	wake(EV_WAKEUP, 250, 1, 4, 7, 0);
	is_told("", "a wake-up from before the sleep does not end it");
	ok(thread_states_totals(ts)->nr_unordered == 1, "and is counted");
	end_and_free();
}

static void test_many_cpus(void)
{
	enum { CPUS = 512 };
	begin();
	for (s32 cpu = 0; cpu < CPUS; cpu++)
		sw(1000 + (u64)cpu, cpu, 0, 0, 10000 + cpu);
	tell_reset();
	for (s32 cpu = 0; cpu < CPUS; cpu++)
		sw(5000 + (u64)cpu, cpu, 10000 + cpu, S, 0);
	is_str(strtok(told, "\n"), "10000:RUN 1000-5000", "512 CPUs, each with its own");
	ok(thread_states_totals(ts)->max_cpu == CPUS - 1 && !thread_states_totals(ts)->nr_bugs,
	   "and its own idle task");
	feed(make_switch(9000, 1 << 30, 5, S, 6));
	feed(make_switch(9000, -1, 5, S, 6));
	ok(thread_states_totals(ts)->max_cpu == CPUS - 1, "CPUs that cannot be are left out");
	tell_reset();
	end_and_free();
}

static void test_hostile(void)
{
	begin();
	struct sample *s = make_switch(100, 0, 7, S, 8);
	memcpy(raw_of(s)->comm, "prev_state=D ", sizeof("prev_state=D "));
	feed(s);
	tell_reset();
	sw(200, 0, 8, S, 7);
	is_told("8:RUN 100-200\n7:BLOCKED 100-200 S unseen\n",
		"a name that looks like a state is none");
	s = make_switch(300, 0, 7, S, 8);
	s->raw_size = 3;
	feed(s);
	s = event(EV_OTHER, 310, 0, 7);
	feed(s);
	s->schema = NULL;
	feed(s);
	ok(true, "payloads that are too short, and none");
	tell_reset();
	end_and_free();
}

/* ---- delays ---- */

static void test_latency(void)
{
	static const enum sched_latency_key keys[] = { SCHED_BY_MAX };
	struct sched_latency_opts o = { .cpu = -1, .keys = keys, .nr_keys = 1 };
	struct sched_latency *l = sched_latency_new(&o);
	size_t nr;
	if (!l)
		abort();
	ts = sched_latency_states(l);
	sw(1000, 0, 7, S, 8);
	wake(EV_WAKING, 1100, 0, 8, 7, 0);
	sw(1400, 0, 8, PREEMPTED, 7); /* 7 waited 300 */
	sw(1500, 0, 7, S, 8); /* 8 waited 100 */
	sw(1600, 0, 8, S, 7); /* nobody woke 7 */
	struct sample *s = event(EV_RUNTIME, 1650, 0, 7);
	raw_of(s)->pid = 7;
	raw_of(s)->runtime = 42;
	feed(s);
	if (sched_latency_finish(l))
		abort();
	const struct sched_latency_row *r = sched_latency_rows(l, &nr);
	ok(nr == 2 && thread_at(ts, r[0].thread)->tid == 7 && r[0].nr == 1 &&
		   r[0].total_ns == 300 && r[0].max_from_ns == 1100 && r[0].max_to_ns == 1400,
	   "from the wake-up until it runs; a sleep that nobody was seen to end is no delay");
	ok(nr == 2 && r[1].nr == 2 && r[1].total_ns == 100 && r[1].max_ns == 100,
	   "one that was preempted waits, too; the first run of an unknown thread counts as 0");
	ok(r[0].runtime_ns == 42 && !r[1].runtime_ns, "run time is what the kernel accounted");
	sched_latency_free(l);
}

/* ---- where all the time went ---- */

static const struct why_thread *why_of(const struct sched_why *w, s32 tid)
{
	size_t nr;
	const struct why_thread *all = sched_why_threads(w, &nr);
	for (size_t i = 0; i < nr; i++)
		if (thread_at(ts, all[i].thread)->tid == tid)
			return &all[i];
	return NULL;
}

static u64 instead_ns(const struct why_thread *t, s32 tid)
{
	vec_for_each (&t->ready, r)
		if (r->instead != THREAD_NONE && thread_at(ts, r->instead)->tid == tid)
			return r->ns;
	return 0;
}

/* It waits, is moved to another CPU, and is next seen leaving that: when it began to run there is not known. */
static void test_why_gap(void)
{
	struct sched_why_opts o = { 0 };
	struct sched_why *w = sched_why_new(&o);
	if (!w)
		abort();
	ts = sched_why_states(w);
	sw(1000, 0, 7, PREEMPTED, 8);
	sw(1000, 1, 0, 0, 3);
	struct sample *s = make_wake(EV_MIGRATE, 1100, 0, 8, 7, 1);
	raw_of(s)->from_cpu = 0;
	feed(s);
	sw(1500, 1, 7, S, 3);
	if (sched_why_finish(w))
		abort();
	const struct why_thread *t = why_of(w, 7);
	ok(t && t->ready_ns == 100 && instead_ns(t, 8) == 100, "ready until it was moved");
	ok(t && t->ready_ns + t->running_ns + t->blocked_ns + t->unknown_ns == t->wall_ns,
	   "and the rest is not known, but counted");
	sched_why_free(w);
}

static void test_why(void)
{
	struct sched_why_opts o = { 0 };
	struct sched_why *w = sched_why_new(&o);
	if (!w)
		abort();
	ts = sched_why_states(w);
	sw(1000, 0, 7, S, 8);
	sw(1000, 1, 0, 0, 3);
	wake(EV_WAKING, 1200, 1, 3, 7, 0); /* blocked for 200 */
	sw(1500, 0, 8, PREEMPTED, 9); /* 8 ran for 300 of its delay */
	struct sample *s = make_wake(EV_MIGRATE, 1600, 0, 9, 7, 1); /* 9 for 100; then 3 on CPU 1 */
	raw_of(s)->from_cpu = 0;
	feed(s);
	sw(1900, 1, 3, S, 7);
	sw(2000, 0, 9, S, 0);
	if (sched_why_finish(w))
		abort();
	const struct why_thread *t = why_of(w, 7);
	ok(t && t->wall_ns == 1000 && t->running_ns == 100 && t->ready_ns == 700 &&
		   t->blocked_ns == 200 && !t->unknown_ns,
	   "running, ready and blocked are all of its time");
	ok(t && instead_ns(t, 8) == 300 && instead_ns(t, 9) == 100 && instead_ns(t, 3) == 300,
	   "who had the CPU that it waited for, before and after a migration");
	ok(t && t->blocked.nr == 1 && t->blocked.at[0].letter == 'S' && t->wakers.nr == 1 &&
		   thread_at(ts, t->wakers.at[0].waker)->tid == 3,
	   "who ended its wait");
	t = why_of(w, 8);
	ok(t && t->running_ns == 500 && t->ready_ns == 500 && instead_ns(t, 9) == 500,
	   "one that was preempted and is still waiting");
	ok(!why_of(w, 0), "idle tasks have no time to explain");
	sched_why_free(w);

	o = (struct sched_why_opts){ .from_ns = 1300, .until_ns = 1700 };
	w = sched_why_new(&o);
	if (!w)
		abort();
	ts = sched_why_states(w);
	sw(1000, 0, 7, PREEMPTED, 8);
	sw(1500, 0, 8, S, 7);
	sw(2000, 0, 7, S, 8);
	if (sched_why_finish(w))
		abort();
	t = why_of(w, 7);
	ok(t && t->wall_ns == 400 && t->ready_ns == 200 && t->running_ns == 200 &&
		   instead_ns(t, 8) == 200,
	   "only a part of it");
	sched_why_free(w);
}

/* ---- waits as samples ---- */

/* "7 50: !7 1 2 @8 3": thread, nanoseconds, frames; marks are !MARK. */
static int collect(struct sink *k, void *state, const struct batch *b)
{
	const struct shard *sh = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		u32 nr;
		const u32 *row = chain_frames(&sh->chains, s->chain, &nr);
		told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len,
					     "%d %llu:", s->tid, (unsigned long long)s->period);
		for (u32 n = 0; n < nr; n++) {
			const struct frame *f = &sh->frames.frames[row[n]];
			told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len,
						     f->mode == FRAME_MARK ? " !%llu" : " %llu",
						     (unsigned long long)(u32)f->offset);
		}
		told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len, "\n");
	}
	return 0;
}

static struct shard off_shard;

static int collect_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = &off_shard;
	return 0;
}

static int collect_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	return 0;
}

static const struct sink_ops collect_ops = { .shard_new = collect_new,
					     .feed = collect,
					     .merge = collect_merge };
static struct sink collector = { .ops = &collect_ops };
static void *off_state;

static struct off_cpu *off_begin(const struct off_cpu_opts *o)
{
	tell_reset();
	off_shard = (struct shard){ 0 };
	struct off_cpu *off = off_cpu_new(o, &collector);
	if (!off || frame_table_init(&off_shard.frames) || chain_table_init(&off_shard.chains) ||
	    off_cpu_sink(off)->ops->shard_new(off_cpu_sink(off), 0, &off_shard, &off_state))
		abort();
	return off;
}

static u32 off_chain(u64 outer, u64 inner)
{
	s64 row[] = { frame_table_add(&off_shard.frames,
				      (struct frame){ .mode = FRAME_USER, .offset = outer }),
		      frame_table_add(&off_shard.frames,
				      (struct frame){ .mode = FRAME_USER, .offset = inner }) };
	return (u32)chain_table_put(&off_shard.chains, outer << 32 | inner,
				    (u32[]){ (u32)row[0], (u32)row[1] }, 2);
}

static void off_feed(struct off_cpu *off, const struct sample *s)
{
	struct sink *k = off_cpu_sink(off);
	if (k->ops->feed(k, off_state, &(struct batch){ .samples = s, .nr = 1 }))
		abort();
}

static void off_end(struct off_cpu *off)
{
	struct sink *k = off_cpu_sink(off);
	struct run_tables t = { .frames = off_shard.frames, .chains = off_shard.chains };
	if (k->ops->round_done(k, &t, &(struct round){ .last = true }))
		abort();
	/* What the end added is in the run's tables. */
	off_shard.frames = t.frames;
	off_shard.chains = t.chains;
	k->ops->shard_free(k, off_state);
	off_cpu_free(off);
	frame_table_done(&off_shard.frames);
	chain_table_done(&off_shard.chains);
}

/* 8 blocks, is woken by 9, and waits for the CPU that 7 has. */
static void feed_wait(struct off_cpu *off)
{
	struct sample *s = make_switch(100, 0, 8, S, 7);
	s->chain = off_chain(1, 2);
	off_feed(off, s);
	s = make_wake(EV_WAKING, 150, 1, 9, 8, 0);
	s->chain = off_chain(3, 4);
	off_feed(off, s);
	s = make_switch(180, 0, 7, D, 8);
	s->chain = off_chain(5, 6);
	off_feed(off, s);
}

static void test_off_cpu(void)
{
	enum { READY = MARK_READY, BLOCKED = MARK_BLOCKED };
	char want[256];
	struct off_cpu_opts all = { 0 }, wakers = { .wakers = 2 },
			    one = { .pids = (s32[]){ 8 }, .nr_pids = 1 };
	struct off_cpu *off = off_begin(&all);
	feed_wait(off);
	(void)snprintf(want, sizeof(want), "8 50: !%d 1 2\n8 30: !%d 1 2\n", BLOCKED, READY);
	is_told(want, "a wait is a sample below what it was for, weighted by its time");
	off_feed(off, make_switch(240, 0, 8, S, 0));
	off_end(off);
	(void)snprintf(want, sizeof(want), "7 60: !%d 5 6\n", MARK_UNINTERRUPTIBLE);
	is_told(want, "one that has not ended lasts until the end");

	off = off_begin(&all);
	off_feed(off, make_switch(100, 0, 8, D, 7));
	off_feed(off, make_wake(EV_WAKING, 25000100, 0, 7, 8, 0));
	(void)snprintf(want, sizeof(want),
		       "8 10000000: !%1$d !%2$d\n8 10000000: !%1$d !%2$d\n8 5000000: !%1$d !%2$d\n",
		       MARK_UNINTERRUPTIBLE, MARK_NO_STACK);
	is_told(want, "a long one is spread over its time");
	off_end(off);

	off = off_begin(&wakers);
	feed_wait(off);
	(void)snprintf(want, sizeof(want), "8 50: !%d 1 2 !%d 4 3\n8 30: !%d 1 2\n", BLOCKED,
		       MARK_WOKEN_BY, READY);
	is_told(want, "the waker's stack is above it, from the inside");
	struct sample *s = make_wake(EV_WAKING, 200, 0, 8, 7, 0);
	s->chain = off_chain(1, 9);
	off_feed(off, s);
	(void)snprintf(want, sizeof(want), "7 20: !%d 5 6 !%d 9 1 !%d 4 3\n", MARK_UNINTERRUPTIBLE,
		       MARK_WOKEN_BY, MARK_WOKEN_BY);
	is_told(want, "and above that who had woken the waker");
	off_end(off);

	off = off_begin(&one);
	feed_wait(off);
	(void)snprintf(want, sizeof(want), "8 50: !%d 1 2\n8 30: !%d 1 2\n", BLOCKED, READY);
	is_told(want, "of a chosen process");
	off_feed(off, make_switch(240, 0, 8, S, 0));
	tell_reset();
	off_end(off);
	is_told("", "and of no other");

	off = off_begin(&all);
	off_cpu_choose_root(off, 8);
	s = event(EV_FORK, 100, 0, 8);
	raw_of(s)->pid = 8;
	raw_of(s)->next_pid = 20;
	off_feed(off, s);
	off_feed(off, make_wake(EV_NEW, 110, 0, 8, 20, 0));
	off_feed(off, make_switch(130, 0, 7, PREEMPTED, 20));
	off_feed(off, make_switch(140, 0, 20, X, 7));
	off_end(off);
	(void)snprintf(want, sizeof(want), "20 20: !%d !%d\n", READY, MARK_NEW_THREAD);
	is_told(want, "of a process and its children, of no other");
}

static void clock_sample(struct off_cpu *off, u64 time, u64 outer)
{
	struct sample *s = event(EV_OTHER, time, 0, 8);
	s->schema = NULL;
	s->raw = NULL;
	s->chain = off_chain(outer, outer + 1);
	off_feed(off, s);
}

static void test_wall(void)
{
	enum { RUN = MARK_RUNNING };
	char want[256];
	struct off_cpu_opts wall = { .wall = true, .tids = (s32[]){ 8 }, .nr_tids = 1 };
	struct off_cpu *off = off_begin(&wall);
	off_feed(off, make_switch(100, 0, 7, S, 8));
	clock_sample(off, 130, 11);
	clock_sample(off, 190, 13);
	off_feed(off, make_switch(200, 0, 8, S, 7));
	off_feed(off, make_wake(EV_WAKING, 250, 0, 7, 8, 0));
	off_feed(off, make_switch(255, 0, 7, S, 8));
	clock_sample(off, 275, 11);
	off_feed(off, make_switch(300, 0, 8, X, 7));
	(void)snprintf(want, sizeof(want),
		       "8 30: !%d 11 12\n8 60: !%d 13 14\n8 50: !%d !%d\n8 5: !%d !%d\n"
		       "8 30: !%d 11 12\n8 25: !%d 11 12\n",
		       RUN, RUN, MARK_BLOCKED, MARK_NO_STACK, MARK_READY, MARK_NO_STACK, RUN, RUN);
	is_told(want, "samples stand for the time since the last one; all of it adds up");
	const struct off_cpu_thread *t = off_cpu_thread_at(off, 1);
	ok(t && t->chosen && t->running_ns == 145 && t->ready_ns == 5 && t->blocked_ns == 50 &&
		   !t->unknown_ns,
	   "sums of the thread");
	ok(off_cpu_nr_sampled(off) == 3, "samples of the CPU are counted");
	off_end(off);
	is_told("", "a thread that has ended waits for nothing");
}

/* ---- critical path ---- */

static void crit_feed(struct critical *c, const struct sample *s)
{
	struct sink *k = critical_sink(c, true);
	if (k->ops->feed(k, c, &(struct batch){ .samples = s, .nr = 1 }))
		abort();
}

static const char *chain_name(void *ctx, u32 chain)
{
	return chain == 1 ? "read" : chain == 2 ? "futex" : "other";
}

/* A line for each node: depth as dots, "KIND TID NS xNR LABEL"; then "TID RUN READY BLOCKED UNKNOWN" for each thread. */
static void tell_critical(struct critical *c)
{
	static const char *const words[] = { "root", "run",    "ready",	 "for",
					     "irq",  "unseen", "unknown" };
	size_t nr;
	const struct critical_node *n = critical_nodes(c, &nr);
	for (size_t i = 0; i < nr; i++)
		told_len += (size_t)snprintf(
			told + told_len, sizeof(told) - told_len, "%.*s%s %d %llu x%llu %s\n",
			(int)n[i].depth, "........", words[n[i].kind],
			thread_at(critical_states(c), n[i].thread)->tid, (unsigned long long)n[i].ns,
			(unsigned long long)n[i].nr, critical_label(c, n[i].label));
	const struct critical_thread *t = critical_threads(c, &nr);
	for (size_t i = 0; i < nr; i++)
		told_len += (size_t)snprintf(
			told + told_len, sizeof(told) - told_len, "%d %llu %llu %llu %llu\n",
			thread_at(critical_states(c), t[i].thread)->tid,
			(unsigned long long)t[i].running_ns, (unsigned long long)t[i].ready_ns,
			(unsigned long long)t[i].blocked_ns, (unsigned long long)t[i].unknown_ns);
}

static void crit_switch(struct critical *c, u64 time, s32 cpu, s32 prev, u64 state, s32 next,
			u32 chain)
{
	struct sample *s = make_switch(time, cpu, prev, state, next);
	s->chain = chain;
	crit_feed(c, s);
}

/* 8 reads from 9, which waits for 10, which a timer wakes. */
static void feed_critical(struct critical *c)
{
	crit_switch(c, 100, 0, 7, S, 8, 0);
	crit_switch(c, 100, 1, 6, S, 9, 0);
	crit_switch(c, 100, 2, 5, S, 10, 0);
	crit_switch(c, 110, 0, 8, S, 0, 1);
	crit_switch(c, 120, 1, 9, S, 0, 2);
	crit_switch(c, 130, 2, 10, S, 0, 3);
	struct sample *s = make_wake(EV_WAKING, 160, 2, 0, 10, 2);
	raw_of(s)->flags = 0x08;
	crit_feed(c, s);
	crit_switch(c, 165, 2, 0, 0, 10, 0);
	crit_feed(c, make_wake(EV_WAKING, 180, 2, 10, 9, 1));
	crit_switch(c, 182, 1, 0, 0, 9, 0);
	crit_feed(c, make_wake(EV_WAKING, 200, 1, 9, 8, 0));
	crit_switch(c, 201, 0, 0, 0, 8, 0);
	crit_switch(c, 210, 0, 8, X, 0, 1);
}

static void test_critical(void)
{
	struct critical_opts o = { .pid = 8, .from_event = THREAD_NONE, .to_event = THREAD_NONE };
	struct critical *c = critical_new(&o);
	if (!c)
		abort();
	tell_reset();
	feed_critical(c);
	if (critical_finish(c, chain_name, NULL))
		abort();
	tell_critical(c);
	is_told("root 8 110 x1 \n"
		".for 8 90 x1 read\n"
		"..for 9 60 x1 futex\n"
		"...irq 10 30 x1 other\n"
		"...run 10 25 x2 \n"
		"...ready 10 5 x1 \n"
		"..run 9 28 x2 \n"
		"..ready 9 2 x1 \n"
		".run 8 19 x2 \n"
		".ready 8 1 x1 \n"
		"10 25 5 30 0\n"
		"9 28 2 0 0\n"
		"8 19 1 0 0\n",
		"a chain of waits: who waited for whom, and what each did; all of it adds up");
	critical_free(c);

	o = (struct critical_opts){ .from_event = EV_FORK, .to_event = EV_WAKING };
	c = critical_new(&o);
	if (!c)
		abort();
	crit_switch(c, 100, 0, 7, S, 8, 0);
	struct sample *s = event(EV_FORK, 120, 0, 8);
	raw_of(s)->pid = 8;
	raw_of(s)->next_pid = 20;
	crit_feed(c, s);
	crit_feed(c, make_wake(EV_WAKING, 150, 0, 8, 7, 0));
	if (critical_finish(c, NULL, NULL))
		abort();
	tell_reset();
	tell_critical(c);
	is_told("root 8 30 x1 \n.run 8 30 x1 \n8 30 0 0 0\n", "between two events");
	critical_free(c);

	/* Two that say they wait for each other at the same time. */
	o = (struct critical_opts){ .pid = 8, .from_event = THREAD_NONE, .to_event = THREAD_NONE };
	c = critical_new(&o);
	if (!c)
		abort();
	crit_switch(c, 100, 0, 8, S, 0, 1);
	crit_switch(c, 100, 1, 9, S, 0, 1);
	crit_feed(c, make_wake(EV_WAKING, 200, 0, 9, 8, 0));
	crit_feed(c, make_wake(EV_WAKING, 200, 1, 8, 9, 1));
	crit_switch(c, 210, 0, 0, 0, 8, 0);
	crit_switch(c, 220, 0, 8, X, 0, 1);
	int err = critical_finish(c, chain_name, NULL);
	size_t nr;
	const struct critical_thread *t = critical_threads(c, &nr);
	u64 sum = 0;
	for (size_t i = 0; i < nr; i++)
		sum += t[i].running_ns + t[i].ready_ns + t[i].blocked_ns + t[i].unknown_ns;
	ok(!err && sum == 120, "those that wait for each other end the walk: %llu of 120",
	   (unsigned long long)sum);
	critical_free(c);

	o = (struct critical_opts){ .pid = 99, .from_event = THREAD_NONE, .to_event = THREAD_NONE };
	c = critical_new(&o);
	if (!c)
		abort();
	feed_critical(c);
	ok(critical_finish(c, NULL, NULL) == -ENOENT, "a process that nobody saw");
	critical_free(c);
}

/* ---- replay ---- */

static void tell_plan(const struct replay_plan *p)
{
	static const char *const words[] = { "run", "nap", "sleep", "wake" };
	size_t nr;
	const struct replay_task *tasks = replay_plan_tasks(p, &nr);
	tell_reset();
	for (size_t i = 0; i < nr; i++) {
		told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len, "%d:",
					     thread_at(replay_plan_states(p), tasks[i].thread)->tid);
		vec_for_each (&tasks[i].steps, step)
			told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len,
						     " %s %llu", words[step->kind],
						     (unsigned long long)step->value);
		told_len += (size_t)snprintf(told + told_len, sizeof(told) - told_len, "\n");
	}
}

static void test_replay_plan(void)
{
	struct replay_plan *p = replay_plan_new();
	struct sink *sink = replay_plan_sink(p);
	void *state;
	ok(!sink->ops->shard_new(sink, 0, NULL, &state), "a plan");
	ts = state;
	sw(100, 0, 7, S, 8);
	wake(EV_WAKING, 150, 0, 8, 7, 0);
	sw(180, 0, 8, PREEMPTED, 7);
	sw(200, 0, 7, D, 8);
	struct sample *irq = make_wake(EV_WAKING, 230, 0, 8, 7, 0);
	raw_of(irq)->flags = 0x08;
	feed(irq);
	sw(240, 0, 8, PREEMPTED, 7);
	wake(EV_NEW, 250, 0, 7, 9, 0);
	sw(260, 0, 7, S, 9);
	sw(300, 0, 9, S, 0);
	sw(900, 0, 0, 0, 9);
	ok(!replay_plan_finish(p), "finished");
	tell_plan(p);
	is_told("7: sleep 0 run 20 nap 30 run 10 wake 1 run 10\n"
		"8: run 50 wake 0 run 70\n"
		"9: sleep 1 run 40 nap 600\n",
		"who ran how long between which wake-ups; interrupts end a sleep by time, idle "
		"tasks have no part");
	struct replay_totals t = replay_plan_totals(p);
	ok(t.nr_runs == 6 && t.nr_joined == 1 && t.nr_sleeps == 2 && t.nr_naps == 2, "totals");
	is_u64(t.run_ns, 200, "all that ran");
	replay_plan_free(p);
}

int main(void)
{
	test_replay_plan();
	test_why();
	test_why_gap();
	test_plain();
	test_off_cpu();
	test_wall();
	test_critical();
	test_chains_and_irqs();
	test_missing_wake();
	test_life();
	test_lossy();
	test_unordered();
	test_many_cpus();
	test_hostile();
	test_latency();
	return done_testing();
}
