/*
 * Chains are made of those of the source, and interned in the shard's own tables: there is one worker. Their keys are made of ids, which mean
 * the same until the tables start over (carry), so the key has the number of the generation in it.
 *
 * A thread is introduced by the first event of its own: its process and its name are known then. What it waited for before is kept until then.
 */
#include "analysis/off_cpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHAIN_FRAMES_MAX = 1024,
	PENDING_MAX = 16, /* of a thread; a thread that waits runs in between, which introduces it */
	/* Blocked this long where programs wait for work, a thread is idle (session/wait_stacks). */
	LONG_NS = 50000000,
	/* Of long waits: no shorter, and no more. */
	PIECE_NS = 10000000,
	PIECES_MAX = 64,
};

struct off_wait {
	u64 time_ns, ns;
	u32 chain;
	s32 cpu;
};

struct off_thread {
	struct off_cpu_thread sums;
	enum { CHOICE_OPEN, CHOSEN, NOT_CHOSEN } choice;
	bool introduced;
	u32 comm; /* of the catalogue */
	s32 pid;
	u64 unsampled_ns; /* running time since its last sample, up to when it left the CPU */
	u64 sampled_until_ns;
	u32 last_chain; /* of its last sample */
	u32 hops[OFF_CPU_HOPS_MAX]; /* who woke it last, who had woken that one ... */
	u32 nr_hops;
	VEC(struct off_wait) pending;
};

struct off_state {
	void *to; /* of the other sink */
};

struct off_cpu {
	struct sink sink;
	const struct off_cpu_opts *o;
	struct sink *to;
	s32 root;
	struct thread_states *states;
	VEC(struct off_thread) threads; /* [thread] */
	struct dict by_tid; /* -> the newest of that number */
	VEC(struct sample) out;
	/* The tables that chains are made in: the shard's, at the very end the run's. */
	struct frame_table *frames;
	struct chain_table *chains;
	u64 generation;
	u32 switch_event, clock_event; /* THREAD_NONE: not seen */
	u64 nr_sampled;
	char text[128];
};

static struct off_thread *own(struct off_cpu *o, u32 thread)
{
	while (thread >= o->threads.nr) {
		struct off_thread *t = vec_push(&o->threads);
		if (!t)
			return NULL;
	}
	return &o->threads.at[thread];
}

/* ---- chains ---- */

static s64 mark_frame(struct off_cpu *o, u64 mark)
{
	return frame_table_add(o->frames, (struct frame){ .mode = FRAME_MARK, .offset = mark });
}

static u64 key_of(const struct off_cpu *o, const u64 *words, size_t nr)
{
	enum { SEED = 0x0ffc9 };
	return hash_words(words, nr, hash_seeded(SEED + o->generation, hash_seed()));
}

static void add_frames(const struct off_cpu *o, u32 chain, bool innermost_first, u32 *row, u32 *nr)
{
	u32 len;
	const u32 *from = chain_frames(o->chains, chain, &len);
	len = min(len, CHAIN_FRAMES_MAX - *nr);
	for (u32 i = 0; i < len; i++)
		row[(*nr)++] = from[innermost_first ? len - 1 - i : i];
}

/* A waker: its name, and its stack from the inside. */
static s64 hop_chain(struct off_cpu *o, u64 mark, u32 chain)
{
	u64 key = key_of(o, (const u64[]){ mark, chain, UINT64_MAX }, 3);
	u32 row[CHAIN_FRAMES_MAX], nr = 0, have = chain_table_find(o->chains, key);
	if (have)
		return have;
	s64 first = mark_frame(o, mark);
	if (first < 0)
		return first;
	row[nr++] = (u32)first;
	add_frames(o, chain, true, row, &nr);
	return chain_table_put(o->chains, key, row, nr);
}

/* What the thread did, where, and who ended it. missing: instead of no frames at all. */
static s64 wait_chain(struct off_cpu *o, enum frame_mark mark, u32 chain, enum frame_mark missing,
		      const u32 *hops, u32 nr_hops)
{
	u64 words[3 + OFF_CPU_HOPS_MAX] = { mark, chain, missing };
	for (u32 i = 0; i < nr_hops; i++)
		words[3 + i] = hops[i];
	u64 key = key_of(o, words, ARRAY_SIZE(words));
	u32 row[CHAIN_FRAMES_MAX], nr = 0, have = chain_table_find(o->chains, key);
	if (have)
		return have;
	s64 first = mark_frame(o, mark);
	s64 none = chain || first < 0 ? 0 : mark_frame(o, missing);
	if (first < 0 || none < 0)
		return -ENOMEM;
	row[nr++] = (u32)first;
	if (!chain)
		row[nr++] = (u32)none;
	add_frames(o, chain, false, row, &nr);
	for (u32 i = 0; i < nr_hops; i++)
		add_frames(o, hops[i], false, row, &nr);
	return chain_table_put(o->chains, key, row, nr);
}

/* Who woke a thread, and who had woken that one. */
static int find_hops(struct off_cpu *o, struct off_thread *t, const struct thread_interval *i)
{
	t->nr_hops = 0;
	if (!o->o->wakers || (i->cause == THREAD_NONE && !(i->flags & THREAD_WOKEN_BY_IRQ)))
		return 0;
	bool irq = i->flags & THREAD_WOKEN_BY_IRQ;
	u64 mark = irq ? MARK_WOKEN_BY_IRQ
		       : (u64)thread_at(o->states, i->cause)->comm << 32 | MARK_WOKEN_BY;
	/* The task that an interrupt happened to hit does not matter. */
	s64 hop = hop_chain(o, mark, irq ? CHAIN_NONE : i->cause_chain);
	if (hop < 0)
		return (int)hop;
	u32 hops[OFF_CPU_HOPS_MAX] = { (u32)hop }, nr = 1;
	u32 most = min(o->o->wakers, (u32)OFF_CPU_HOPS_MAX);
	const struct off_thread *by =
		irq || i->cause >= o->threads.nr ? NULL : &o->threads.at[i->cause];
	for (u32 k = 0; by && k < by->nr_hops && nr < most; k++)
		hops[nr++] = by->hops[k];
	memcpy(t->hops, hops, sizeof(hops));
	t->nr_hops = nr;
	return 0;
}

/* ---- samples ---- */

static int emit_piece(struct off_cpu *o, u32 thread, const struct off_wait *w)
{
	const struct off_thread *t = &o->threads.at[thread];
	const struct sched_thread *st = thread_at(o->states, thread);
	struct sample *s = vec_push(&o->out);
	if (!s)
		return -ENOMEM;
	*s = (struct sample){ .time_ns = w->time_ns,
			      .period = w->ns,
			      .event = o->switch_event == THREAD_NONE ? 0 : o->switch_event,
			      .cpu = w->cpu,
			      .pid = t->pid > 0 ? t->pid : st->tid,
			      .tid = st->tid,
			      .comm = t->introduced ? t->comm : COMM_UNNAMED(st->tid),
			      .chain = w->chain,
			      .mode = FRAME_KERNEL };
	return 0;
}

/* A long wait is spread over its time, so that a range of time has the part that falls into it. */
static int emit(struct off_cpu *o, u32 thread, const struct off_wait *w)
{
	u64 piece_ns = max((u64)PIECE_NS, w->ns / PIECES_MAX + 1), left = w->ns;
	struct off_wait piece = *w;
	int err = 0;
	for (piece.time_ns = u64_less(w->time_ns, w->ns); left && !err; left -= piece.ns) {
		piece.ns = min(left, piece_ns);
		piece.time_ns += piece.ns;
		err = emit_piece(o, thread, &piece);
	}
	return err;
}

static int emit_or_keep(struct off_cpu *o, u32 thread, struct off_wait w)
{
	struct off_thread *t = &o->threads.at[thread];
	if (t->choice == NOT_CHOSEN)
		return 0;
	if (t->introduced && t->choice == CHOSEN)
		return emit(o, thread, &w);
	if (t->pending.nr == PENDING_MAX) {
		t->pending.at[PENDING_MAX - 1].ns += w.ns;
		return 0;
	}
	struct off_wait *slot = vec_push(&t->pending);
	if (slot)
		*slot = w;
	return slot ? 0 : -ENOMEM;
}

static int emit_pending(struct off_cpu *o, u32 thread)
{
	struct off_thread *t = &o->threads.at[thread];
	int err = 0;
	for (size_t i = 0; t->choice == CHOSEN && i < t->pending.nr && !err; i++)
		err = emit(o, thread, &t->pending.at[i]);
	vec_free(&t->pending);
	return err;
}

/* ---- which threads ---- */

static bool listed(const s32 *ids, size_t nr, s32 id)
{
	for (size_t i = 0; i < nr; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static bool takes_all(const struct off_cpu *o)
{
	return !o->root && !o->o->nr_pids && !o->o->nr_tids;
}

/* pid: -1: not known yet. */
static void choose(struct off_cpu *o, u32 thread, s32 pid)
{
	struct off_thread *t = &o->threads.at[thread];
	const struct sched_thread *st = thread_at(o->states, thread);
	u32 parent = st->parent > 0 ? dict_get(&o->by_tid, (u32)st->parent) : DICT_NONE;
	if (!st->tid)
		t->choice = NOT_CHOSEN;
	else if (takes_all(o) || st->tid == o->root || (pid > 0 && pid == o->root) ||
		 listed(o->o->tids, o->o->nr_tids, st->tid) ||
		 listed(o->o->pids, o->o->nr_pids, st->tid) ||
		 (pid > 0 && listed(o->o->pids, o->o->nr_pids, pid)))
		t->choice = CHOSEN;
	else if (o->root && parent != DICT_NONE && parent != thread &&
		 o->threads.at[parent].choice == CHOSEN)
		t->choice = CHOSEN;
	else if (pid > 0)
		t->choice = NOT_CHOSEN;
	t->sums.chosen = t->choice == CHOSEN;
}

/* Threads that came up with an event. */
static int add_threads(struct off_cpu *o)
{
	while (o->threads.nr < thread_states_nr(o->states)) {
		u32 at = (u32)o->threads.nr;
		s32 tid = thread_at(o->states, at)->tid;
		if (!own(o, at) || (tid && dict_put(&o->by_tid, (u32)tid, at)))
			return -ENOMEM;
		choose(o, at, -1);
	}
	return 0;
}

/* An event of the thread itself. */
static int introduce(struct off_cpu *o, u32 thread, const struct sample *s)
{
	struct off_thread *t = &o->threads.at[thread];
	t->comm = s->comm;
	if (s->pid > 0)
		t->pid = s->pid;
	if (t->introduced)
		return 0;
	t->introduced = true;
	if (t->choice == CHOICE_OPEN)
		choose(o, thread, s->pid > 0 ? s->pid : s->tid);
	return emit_pending(o, thread);
}

/* ---- intervals ---- */

static enum frame_mark mark_of_blocked(const struct thread_interval *i)
{
	switch (i->letter) {
	case 'D': return MARK_UNINTERRUPTIBLE;
	case 'I': return MARK_IDLE;
	case 'T':
	case 't': return MARK_STOPPED;
	default: return i->to_ns - i->from_ns >= LONG_NS ? MARK_BLOCKED_LONG : MARK_BLOCKED;
	}
}

/* Time that it ran and that no sample stands for belongs to the last one. */
static int emit_unsampled(struct off_cpu *o, u32 thread, const struct thread_interval *i)
{
	struct off_thread *t = &o->threads.at[thread];
	struct off_wait w = { .time_ns = i->to_ns, .ns = t->unsampled_ns, .cpu = i->cpu };
	t->unsampled_ns = 0;
	if (!w.ns)
		return 0;
	s64 chain = t->last_chain
			    ? t->last_chain
			    : wait_chain(o, MARK_RUNNING, CHAIN_NONE, MARK_NOT_SAMPLED, NULL, 0);
	if (chain < 0)
		return (int)chain;
	w.chain = (u32)chain;
	return emit_or_keep(o, thread, w);
}

static int on_running(struct off_cpu *o, const struct thread_interval *i)
{
	struct off_thread *t = &o->threads.at[i->thread];
	u64 from_ns = max(i->from_ns, t->sampled_until_ns);
	t->sums.running_ns += i->to_ns - i->from_ns;
	if (!o->o->wall)
		return 0;
	t->unsampled_ns += i->to_ns > from_ns ? i->to_ns - from_ns : 0;
	bool over = i->letter == 'X' || i->letter == 'Z' || i->flags & THREAD_UNTIL_END;
	return over ? emit_unsampled(o, i->thread, i) : 0;
}

static int on_interval(void *ctx, const struct thread_interval *i)
{
	struct off_cpu *o = ctx;
	u64 ns = i->to_ns - i->from_ns;
	int err = add_threads(o);
	if (err || !ns || !thread_at(o->states, i->thread)->tid)
		return err;
	struct off_thread *t = &o->threads.at[i->thread];
	t->sums.lossy_ns += i->flags & THREAD_LOSSY ? ns : 0;
	enum frame_mark mark = MARK_STATE_UNKNOWN;
	switch (i->state) {
	case THREAD_RUNNING: return on_running(o, i);
	case THREAD_READY:
		t->sums.ready_ns += ns;
		mark = MARK_READY;
		break;
	case THREAD_BLOCKED:
		t->sums.blocked_ns += ns;
		mark = mark_of_blocked(i);
		err = find_hops(o, t, i);
		break;
	default: t->sums.unknown_ns += ns;
	}
	if (err || t->choice == NOT_CHOSEN)
		return err;
	u32 own_chain = mark == MARK_STATE_UNKNOWN ? CHAIN_NONE : i->own_chain;
	enum frame_mark missing = i->flags & THREAD_IS_NEW ? MARK_NEW_THREAD : MARK_NO_STACK;
	s64 chain = wait_chain(o, mark, own_chain, missing, t->hops,
			       i->state == THREAD_BLOCKED ? t->nr_hops : 0);
	if (chain < 0)
		return (int)chain;
	return emit_or_keep(
		o, i->thread,
		(struct off_wait){
			.time_ns = i->to_ns, .ns = ns, .chain = (u32)chain, .cpu = i->cpu });
}

static const struct thread_states_ops states_ops = { .interval = on_interval };

/* The stack of a sample; of one without a stack, its place alone. */
static s64 sample_chain(struct off_cpu *o, const struct sample *s)
{
	if (s->chain || !s->leaf)
		return s->chain;
	u64 key = key_of(o, (const u64[]){ s->leaf, ~0ull }, 2);
	u32 have = chain_table_find(o->chains, key);
	return have ? have : chain_table_put(o->chains, key, &s->leaf, 1);
}

/* A sample of the CPU: it stands for all that its thread ran since the last one. */
static int on_clock(struct off_cpu *o, const struct sample *s)
{
	u32 thread = thread_states_runner(o->states, s);
	int err = thread == THREAD_NONE ? 0 : add_threads(o);
	if (thread == THREAD_NONE || err || !thread_at(o->states, thread)->tid)
		return err;
	const struct sched_thread *st = thread_at(o->states, thread);
	struct off_thread *t = &o->threads.at[thread];
	u64 since_ns = max(st->since_ns, t->sampled_until_ns), ns = t->unsampled_ns;
	if ((!st->known || st->state == THREAD_RUNNING) && s->time_ns > since_ns)
		ns += s->time_ns - since_ns;
	s64 whole = sample_chain(o, s);
	if (whole < 0)
		return (int)whole;
	whole = wait_chain(o, MARK_RUNNING, (u32)whole, MARK_NO_STACK, NULL, 0);
	if (whole < 0)
		return (int)whole;
	t->last_chain = (u32)whole;
	t->unsampled_ns = 0;
	t->sampled_until_ns = s->time_ns;
	o->nr_sampled++;
	err = introduce(o, thread, s);
	if (err || !ns)
		return err;
	return emit_or_keep(
		o, thread,
		(struct off_wait){
			.time_ns = s->time_ns, .ns = ns, .chain = (u32)whole, .cpu = s->cpu });
}

static bool is_clock(struct off_cpu *o, const struct sample *s)
{
	if (!o->o->wall || s->schema || s->buffer)
		return false;
	if (o->clock_event == THREAD_NONE)
		o->clock_event = s->event;
	return o->clock_event == s->event;
}

static int follow(struct off_cpu *o, const struct sample *s)
{
	if (s->schema && o->switch_event == THREAD_NONE && !strcmp(s->schema->name, "sched_switch"))
		o->switch_event = s->event;
	int err = thread_states_feed(o->states, s);
	if (!err)
		err = add_threads(o);
	if (err)
		return err;
	if (is_clock(o, s))
		return on_clock(o, s);
	u32 thread = s->tid > 0 ? dict_get(&o->by_tid, (u32)s->tid) : DICT_NONE;
	return thread == DICT_NONE || s->buffer ? 0 : introduce(o, thread, s);
}

/* ---- the sink ---- */

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct off_cpu *o = container_of(k, struct off_cpu, sink);
	struct off_state *st = index ? NULL : calloc(1, sizeof(*st));
	if (!st)
		return index ? -EINVAL : -ENOMEM;
	/* They are this worker's alone, and so is this sink. */
	o->frames = (struct frame_table *)&sh->frames;
	o->chains = (struct chain_table *)&sh->chains;
	/* Always present: once names are known, other stacks may be folded into it. */
	s64 idle = mark_frame(o, MARK_IDLE);
	int err = idle < 0 ? (int)idle : o->to->ops->shard_new(o->to, index, sh, &st->to);
	if (err)
		free(st);
	else
		*state = st;
	return err;
}

static int pass_on(struct off_cpu *o, void *to)
{
	struct batch b = { .samples = o->out.at, .nr = o->out.nr };
	int err = b.nr ? o->to->ops->feed(o->to, to, &b) : 0;
	o->out.nr = 0;
	return err;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct off_cpu *o = container_of(k, struct off_cpu, sink);
	const struct off_state *st = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++)
		err = follow(o, &b->samples[i]);
	return err ? err : pass_on(o, st->to);
}

static int block_done(struct sink *k, void *state, u64 seq)
{
	struct off_cpu *o = container_of(k, struct off_cpu, sink);
	const struct off_state *st = state;
	return o->to->ops->block_done ? o->to->ops->block_done(o->to, st->to, seq) : 0;
}

static int merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	struct off_cpu *o = container_of(k, struct off_cpu, sink);
	struct sink_part part = parts[0];
	part.state = ((struct off_state *)parts[0].state)->to;
	return o->to->ops->merge(o->to, &part, 1, workers);
}

static void shard_free(struct sink *k, void *state)
{
	struct off_cpu *o = container_of(k, struct off_cpu, sink);
	struct off_state *st = state;
	if (o->to->ops->shard_free)
		o->to->ops->shard_free(o->to, st->to);
	free(st);
}

/* Waits that have not ended, and threads that were never introduced. */
static int emit_last(struct off_cpu *o)
{
	int err = thread_states_finish(o->states, 0);
	for (u32 i = 0; i < o->threads.nr && !err; i++)
		err = emit_pending(o, i);
	return err;
}

static int finish(struct off_cpu *o, const struct run_tables *t)
{
	struct shard none = { 0 };
	void *to;
	o->frames = (struct frame_table *)&t->frames;
	o->chains = (struct chain_table *)&t->chains;
	if (!t->chains.nr || !t->frames.nr)
		return 0; /* there was nothing */
	int err = o->to->ops->shard_new(o->to, 0, &none, &to);
	if (err)
		return err;
	err = emit_last(o);
	if (!err)
		err = pass_on(o, to);
	if (!err)
		err = o->to->ops->merge(o->to, &(struct sink_part){ .state = to }, 1, 1);
	if (o->to->ops->shard_free)
		o->to->ops->shard_free(o->to, to);
	return err;
}

static int round_done(struct sink *k, const struct run_tables *t, const struct round *r)
{
	struct off_cpu *o = container_of(k, struct off_cpu, sink);
	int err = r->last ? finish(o, t) : 0;
	o->frames = NULL;
	o->chains = NULL;
	if (!err && o->to->ops->round_done)
		err = o->to->ops->round_done(o->to, t, r);
	k->full = o->to->full;
	return err;
}

static int carry_id(struct carry *c, u32 *id)
{
	s64 got = *id ? carry_chain(c, *id) : 0;
	if (got >= 0)
		*id = (u32)got;
	return (int)min(got, (s64)0);
}

static int carry_thread(struct off_thread *t, struct carry *c)
{
	s64 comm = carry_string(c, t->comm);
	int err = comm < 0 ? (int)comm : carry_id(c, &t->last_chain);
	t->comm = err ? 0 : (u32)comm;
	for (u32 i = 0; i < t->nr_hops && !err; i++)
		err = carry_id(c, &t->hops[i]);
	for (size_t i = 0; i < t->pending.nr && !err; i++)
		err = carry_id(c, &t->pending.at[i].chain);
	return err;
}

static int carry(struct sink *k, struct carry *c)
{
	struct off_cpu *o = container_of(k, struct off_cpu, sink);
	int err = thread_states_carry(o->states, c);
	o->generation++;
	for (u32 i = 0; i < o->threads.nr && !err; i++) {
		struct off_thread *t = &o->threads.at[i];
		if (!thread_at(o->states, i)->ended) {
			err = carry_thread(t, c);
			continue;
		}
		t->comm = 0;
		t->last_chain = CHAIN_NONE;
		t->nr_hops = 0;
	}
	return err || !o->to->ops->carry ? err : o->to->ops->carry(o->to, c);
}

static void cancel(struct sink *k)
{
	struct off_cpu *o = container_of(k, struct off_cpu, sink);
	if (o->to->ops->cancel)
		o->to->ops->cancel(o->to);
}

static const struct sink_ops sink_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_CHAIN | NEED_LEAF | NEED_COMM | KEEP_IDS,
	.shard_new = shard_new,
	.feed = feed,
	.block_done = block_done,
	.merge = merge,
	.shard_free = shard_free,
	.round_done = round_done,
	.carry = carry,
	.cancel = cancel,
};

struct off_cpu *off_cpu_new(const struct off_cpu_opts *opts, struct sink *to)
{
	struct off_cpu *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->o = opts;
	o->to = to;
	o->switch_event = o->clock_event = THREAD_NONE;
	dict_init(&o->by_tid);
	o->states = thread_states_new(&states_ops, o);
	o->sink =
		(struct sink){ .ops = &sink_ops,
			       .needs = sink_ops.needs | (to->needs & ~(unsigned)MAY_START_EARLY) };
	if (o->states)
		return o;
	free(o);
	return NULL;
}

void off_cpu_free(struct off_cpu *o)
{
	if (!o)
		return;
	vec_for_each (&o->threads, t)
		vec_free(&t->pending);
	vec_free(&o->threads);
	vec_free(&o->out);
	dict_done(&o->by_tid);
	thread_states_free(o->states);
	free(o);
}

void off_cpu_choose_root(struct off_cpu *o, s32 pid)
{
	o->root = pid;
}

struct sink *off_cpu_sink(struct off_cpu *o)
{
	return &o->sink;
}

const struct thread_states *off_cpu_states(const struct off_cpu *o)
{
	return o->states;
}

const struct off_cpu_thread *off_cpu_thread_at(const struct off_cpu *o, u32 thread)
{
	return thread < o->threads.nr ? &o->threads.at[thread].sums : NULL;
}

u64 off_cpu_nr_sampled(const struct off_cpu *o)
{
	return o->nr_sampled;
}

const char *off_cpu_mark_text(void *ctx, u64 mark)
{
	static const char *const words[] = {
		[MARK_RUNNING] = "[running]",
		[MARK_READY] = "[waiting for a CPU]",
		[MARK_BLOCKED] = "[blocked]",
		[MARK_BLOCKED_LONG] = "[blocked]",
		[MARK_UNINTERRUPTIBLE] = "[blocked, uninterruptible]",
		[MARK_STOPPED] = "[stopped]",
		[MARK_IDLE] = "[idle]",
		[MARK_STATE_UNKNOWN] = "[unknown]",
		[MARK_NO_STACK] = "[no stack]",
		[MARK_NEW_THREAD] = "[new thread]",
		[MARK_NOT_SAMPLED] = "[not sampled]",
		[MARK_WOKEN_BY_IRQ] = "[woken by an interrupt]",
	};
	struct off_cpu *o = ctx;
	u32 word = (u32)mark;
	if (word != MARK_WOKEN_BY)
		return word < ARRAY_SIZE(words) ? words[word] : NULL;
	(void)snprintf(o->text, sizeof(o->text), "[woken by %s]",
		       thread_states_comm_text(o->states, (u32)(mark >> 32)));
	return o->text;
}
