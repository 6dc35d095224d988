#include "analysis/flame.h"
#include "analysis/flame_impl.h"
#include "base/big.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MAX_POINTS = 2 << 20, LEAST_TO_JOIN = MAX_POINTS / 16 };
enum { KEPT_STACKS = 2 << 20 }; /* at most, from one generation of ids to the next */
/* The kernel writes no more frames of a chain unless it is told to (sysctl kernel.perf_event_max_stack): PERF_MAX_STACK_DEPTH. */
enum { KERNEL_CHAIN_MAX = 127 };

/* Samples that share event, task, stack. */
struct entry {
	u32 event, task;
	u32 leaf, chain;
	u32 next; /* of the same chain (or leaf), index + 1 */
};

struct task {
	s32 pid, tid;
	u32 comm;
};

/* [id] -> first entry of a list, index + 1. */
struct heads {
	VEC(u32) list;
};

/* Of a shard, or of the run. */
struct stacks {
	VEC(struct task) tasks;
	struct dict task_of; /* tid, comm -> task */
	VEC(struct entry) entries;
	struct heads by_chain, by_leaf; /* those without a chain go by their leaf */
	VEC(struct flame_point) points; /* node: the entry */
	u32 shift; /* times are right to 1 << shift */
	size_t join_at; /* so many points, over many rounds: join them */
};

struct flame_sink {
	struct sink sink;
	atomic_size_t nr_points; /* of all shards */
	struct stacks all;
};

/* ---- collecting ---- */

static void stacks_done(struct stacks *s)
{
	vec_free(&s->tasks);
	dict_done(&s->task_of);
	big_vec_free(&s->entries);
	big_vec_free(&s->by_chain.list);
	big_vec_free(&s->by_leaf.list);
	big_vec_free(&s->points);
}

static s64 task_at(struct stacks *s, s32 pid, s32 tid, u32 comm)
{
	u32 fresh = (u32)s->tasks.nr, got;
	int err = dict_add(&s->task_of, (u64)(u32)tid << 32 | comm, fresh, &got);
	if (err)
		return err;
	if (got == fresh) {
		struct task *t = vec_push(&s->tasks);
		if (!t)
			return -ENOMEM;
		*t = (struct task){ .pid = pid, .tid = tid, .comm = comm };
	}
	return got;
}

/* The head of the list of entries, made to reach that far. */
static u32 *head_of(struct stacks *s, u32 leaf, u32 chain)
{
	struct heads *h = chain ? &s->by_chain : &s->by_leaf;
	size_t id = chain ? chain : leaf;
	if (unlikely(id >= h->list.nr)) {
		if (!big_vec_reserve(&h->list, id + 1))
			return NULL;
		memset(h->list.at + h->list.nr, 0, (h->list.cap - h->list.nr) * sizeof(*h->list.at));
		h->list.nr = h->list.cap;
	}
	return &h->list.at[id];
}

static s64 entry_at(struct stacks *s, u32 event, u32 task, u32 leaf, u32 chain)
{
	u32 *head = head_of(s, leaf, chain);
	if (!head)
		return -ENOMEM;
	for (u32 at = *head, *link = head; at; link = &s->entries.at[at - 1].next, at = *link) {
		struct entry *e = &s->entries.at[at - 1];
		if (e->task != task || e->event != event)
			continue;
		/* To the front: events without a place are one list, in which few are asked for at a time. */
		*link = e->next;
		e->next = *head;
		*head = at;
		return at - 1;
	}
	struct entry *e = big_vec_push(&s->entries);
	if (!e || s->entries.nr >= UINT32_MAX)
		return -ENOMEM;
	*e = (struct entry){
		.event = event, .task = task, .leaf = leaf, .chain = chain, .next = *head
	};
	*head = (u32)s->entries.nr;
	return (s64)s->entries.nr - 1;
}

static int by_entry(const void *l, const void *r)
{
	const struct flame_point *a = l, *b = r;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void sift_down(struct flame_point *at, size_t from, size_t nr)
{
	struct flame_point p = at[from];
	for (size_t child; (child = from * 2 + 1) < nr; from = child) {
		child += child + 1 < nr && by_entry(&at[child], &at[child + 1]) < 0;
		if (by_entry(&p, &at[child]) >= 0)
			break;
		at[from] = at[child];
	}
	at[from] = p;
}

/* In place: qsort() takes as much memory again. */
static void sort_points(struct flame_point *at, size_t nr)
{
	for (size_t i = nr / 2; i--;)
		sift_down(at, i, nr);
	for (size_t i = nr; i-- > 1;) {
		struct flame_point last = at[i];
		at[i] = at[0];
		at[0] = last;
		sift_down(at, 0, i);
	}
}

/* Joins points of one stack that are close in time, more and more coarsely, until half of them are gone. */
static void join_points(struct stacks *s)
{
	size_t most = s->points.nr / 2;
	sort_points(s->points.at, s->points.nr);
	for (s->shift = max(s->shift, 16u); s->shift < 63; s->shift++) {
		size_t to = 0;
		for (size_t i = 0; i < s->points.nr; i++) {
			struct flame_point p = s->points.at[i], *last = &s->points.at[to - !!to];
			p.time_ns = p.time_ns >> s->shift << s->shift;
			if (to && last->node == p.node && last->time_ns == p.time_ns) {
				last->period += p.period;
				last->count += p.count;
			} else {
				s->points.at[to++] = p;
			}
		}
		s->points.nr = to;
		if (to <= most)
			return;
	}
}

static int add_point(struct stacks *s, struct flame_point p)
{
	if (!big_vec_reserve(&s->points, s->points.nr + 1))
		return -ENOMEM;
	s->points.at[s->points.nr++] = p;
	return 0;
}

static int flame_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = calloc(1, sizeof(struct stacks));
	return *state ? 0 : -ENOMEM;
}

/* Brings on its way what entry_at() will look at: first the head of the list, later the first entry. */
static void fetch_head(const struct stacks *s, u32 chain)
{
	if (chain && chain < s->by_chain.list.nr)
		__builtin_prefetch(&s->by_chain.list.at[chain]);
}

static void fetch_entry(const struct stacks *s, u32 chain)
{
	if (chain && chain < s->by_chain.list.nr && s->by_chain.list.at[chain])
		__builtin_prefetch(&s->entries.at[s->by_chain.list.at[chain] - 1]);
}

/* Memory is that of all shards, however many there are. */
static void limit_points(struct flame_sink *f, struct stacks *s, size_t before)
{
	size_t added = s->points.nr - before;
	size_t all = atomic_fetch_add_explicit(&f->nr_points, added, memory_order_relaxed) + added;
	if (likely(all < MAX_POINTS) || s->points.nr < LEAST_TO_JOIN)
		return;
	before = s->points.nr;
	join_points(s);
	atomic_fetch_sub_explicit(&f->nr_points, before - s->points.nr, memory_order_relaxed);
}

static int flame_feed(struct sink *k, void *state, const struct batch *b)
{
	struct stacks *s = state;
	s32 last_tid = -2;
	u32 last_comm = 0, task = 0;
	size_t before = s->points.nr;
	for (size_t i = 0; i < b->nr; i++)
		fetch_head(s, b->samples[i].chain);
	for (size_t i = 0; i < b->nr; i++)
		fetch_entry(s, b->samples[i].chain);
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *from = &b->samples[i];
		if (from->tid != last_tid || from->comm != last_comm) {
			s64 got = task_at(s, from->pid, from->tid, from->comm);
			if (got < 0)
				return (int)got;
			task = (u32)got;
			last_tid = from->tid;
			last_comm = from->comm;
		}
		s64 entry = entry_at(s, from->event, task, from->chain ? FRAME_NONE : from->leaf,
				     from->chain);
		int err = entry < 0 ? (int)entry
				    : add_point(s, (struct flame_point){ .time_ns = from->time_ns,
									 .period = from->period,
									 .node = (u32)entry,
									 .count = 1 });
		if (err)
			return err;
	}
	limit_points(container_of(k, struct flame_sink, sink), s, before);
	return 0;
}

static int flame_merge(struct sink *k, void *state, const u32 *map_frame, const u32 *map_chain)
{
	struct flame_sink *f = container_of(k, struct flame_sink, sink);
	struct stacks *from = state, *to = &f->all;
	if (!to->entries.nr && !map_frame) {
		stacks_done(to);
		*to = *from;
		*from = (struct stacks){ 0 };
		return 0;
	}
	_cleanup_free_ u32 *entry_map = malloc((from->entries.nr + 1) * sizeof(*entry_map));
	if (!entry_map)
		return -ENOMEM;
	for (size_t i = 0; i < from->entries.nr; i++) {
		const struct entry *e = &from->entries.at[i];
		const struct task *t = &from->tasks.at[e->task];
		s64 task = task_at(to, t->pid, t->tid, t->comm);
		s64 entry = task < 0 ? task
				     : entry_at(to, e->event, (u32)task,
						map_frame ? map_frame[e->leaf] : e->leaf,
						map_chain ? map_chain[e->chain] : e->chain);
		if (entry < 0)
			return (int)entry;
		entry_map[i] = (u32)entry;
	}
	if (!big_vec_reserve(&to->points, to->points.nr + from->points.nr))
		return -ENOMEM;
	vec_for_each (&from->points, p) {
		p->node = entry_map[p->node];
		to->points.at[to->points.nr++] = *p;
	}
	big_vec_free(&from->points);
	to->shift = max(to->shift, from->shift);
	return 0;
}

static void flame_shard_free(struct sink *k, void *state)
{
	stacks_done(state);
	free(state);
}

/* Shards have a bound of their own; over many rounds, all of them together need one. */
static int flame_round_done(struct sink *k, const struct run_tables *t, const struct round *r)
{
	struct stacks *s = &container_of(k, struct flame_sink, sink)->all;
	if (r->last || s->points.nr < max(s->join_at, 2 * (size_t)MAX_POINTS))
		return 0;
	join_points(s);
	s->join_at = 2 * s->points.nr; /* no fewer than stacks: these have a bound of their own */
	return 0;
}

/* ---- a new generation of ids ---- */

struct weighed {
	u64 weight;
	u32 entry;
};

static int by_weight(const void *l, const void *r)
{
	const struct weighed *a = l, *b = r;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->entry > b->entry) - (a->entry < b->entry);
}

/* Entries by what fell on them, heaviest first. */
static struct weighed *weigh(const struct stacks *s)
{
	struct weighed *w = malloc((s->entries.nr + 1) * sizeof(*w));
	for (size_t i = 0; w && i < s->entries.nr; i++)
		w[i] = (struct weighed){ .entry = (u32)i };
	for (size_t i = 0; w && i < s->points.nr; i++)
		w[s->points.at[i].node].weight += s->points.at[i].period;
	if (w && s->entries.nr)
		qsort(w, s->entries.nr, sizeof(*w), by_weight);
	return w;
}

/* Light stacks are no longer told apart: a frame says so. */
static s64 carry_entry(struct stacks *to, const struct entry *e, bool light, struct carry *c)
{
	static const struct frame joined = { .mode = FRAME_MARK, .offset = MARK_JOINED };
	s64 chain = light ? CHAIN_NONE : carry_chain(c, e->chain);
	s64 leaf = light ? frame_table_add(&c->fresh->frames, joined) : carry_frame(c, e->leaf);
	if (chain < 0 || leaf < 0)
		return -ENOMEM;
	return entry_at(to, e->event, e->task, (u32)leaf, (u32)chain);
}

/*
 * The heaviest stacks stay, as many as leave room for new ones; of the others their weight does, by event and task. Tasks and points are
 * as they were.
 */
static int flame_carry(struct sink *k, struct carry *c)
{
	struct stacks *s = &container_of(k, struct flame_sink, sink)->all, fresh = { 0 };
	_cleanup_free_ struct weighed *w = weigh(s);
	_cleanup_free_ u32 *entry_map = malloc((s->entries.nr + 1) * sizeof(*entry_map));
	int err = w && entry_map ? 0 : -ENOMEM;
	for (size_t i = 0; i < s->entries.nr && !err; i++) {
		s64 entry = carry_entry(&fresh, &s->entries.at[w[i].entry], i >= KEPT_STACKS, c);
		err = (int)min(entry, (s64)0);
		entry_map[w[i].entry] = (u32)entry;
	}
	for (size_t i = 0; i < s->points.nr && !err; i++)
		s->points.at[i].node = entry_map[s->points.at[i].node];
	if (err) {
		stacks_done(&fresh);
		return err;
	}
	big_vec_free(&s->entries);
	big_vec_free(&s->by_chain.list);
	big_vec_free(&s->by_leaf.list);
	memcpy(&s->entries, &fresh.entries, sizeof(s->entries));
	s->by_chain = fresh.by_chain;
	s->by_leaf = fresh.by_leaf;
	return 0;
}

static const struct sink_ops flame_ops = {
	.needs = NEED_CHAIN | NEED_LEAF | NEED_COMM | MAY_START_EARLY | KEEP_IDS,
	.shard_new = flame_shard_new,
	.feed = flame_feed,
	.merge = flame_merge,
	.shard_free = flame_shard_free,
	.round_done = flame_round_done,
	.carry = flame_carry,
};

struct flame_sink *flame_sink_new(void)
{
	struct flame_sink *s = calloc(1, sizeof(*s));
	if (s)
		s->sink = (struct sink){ .ops = &flame_ops, .needs = flame_ops.needs };
	return s;
}

void flame_sink_free(struct flame_sink *s)
{
	if (!s)
		return;
	stacks_done(&s->all);
	free(s);
}

struct sink *flame_sink(struct flame_sink *s)
{
	return &s->sink;
}

/* ---- naming and folding ---- */

/* One side on its way into the flame. */
struct side {
	struct flame_build *build;
	struct flame *flame;
	struct stacks *stacks;
	const struct catalog *catalog;
	struct run_tables *run;
	const struct names_result *names;
	u32 number;
	u32 *frame_of; /* [func] -> frame of the flame, 0: not looked at yet */
	u32 *task_of; /* [task] */
	u32 *event_of; /* [event] */
	bool *truncated; /* [entry] of the sink: its stack says that it ends early */
	bool *used; /* [id of names]: it is in a stack */
	u64 *entry_weight; /* [entry] */
	u64 *id_weight; /* [id of names]: which line of a function is the hottest */
};

static s64 add_string(struct flame *f, const char *s)
{
	return s ? strtab_add(&f->strings, s, strlen(s)) : 0;
}

static enum flame_kind kind_of(const struct side *s, const struct name_func *fn)
{
	if (fn->mode == FRAME_MARK)
		return FLAME_MARK;
	enum image_kind image = fn->image < s->catalog->images.nr
					? s->catalog->images.at[fn->image].kind
					: IMAGE_KIND_NONE;
	if (fn->inlined)
		return FLAME_INLINED;
	if (!fn->name)
		return fn->mode == FRAME_KERNEL ? FLAME_KERNEL : FLAME_UNKNOWN;
	if (image == IMAGE_KIND_ANON || image == IMAGE_KIND_BPF)
		return FLAME_JIT;
	return fn->mode == FRAME_KERNEL || fn->mode == FRAME_GUEST_KERNEL ? FLAME_KERNEL
									  : FLAME_USER;
}

static const char *mark_text(u64 mark)
{
	switch (mark) {
	case MARK_TRUNCATED: return "[truncated stack]";
	case MARK_DEFERRED: return "[deferred stack]";
	case MARK_JOINED: return "[light stacks]";
	default: return "[broken stack]";
	}
}

/* Frames of the flame are told apart by name, module and kind. */
static s64 frame_at(struct flame *f, struct flame_frame want, struct dict *known)
{
	u64 key = hash_u64((u64)want.name << 32 | want.module) ^ hash_u64(want.kind + 1);
	u32 fresh = (u32)f->frames.nr, got;
	for (;; key++) {
		int err = dict_add(known, key, fresh, &got);
		if (err)
			return err;
		const struct flame_frame *have = &f->frames.at[got];
		if (got == fresh || (have->name == want.name && have->module == want.module &&
				     have->kind == want.kind))
			break;
	}
	if (got == fresh) {
		struct flame_frame *made = vec_push(&f->frames);
		if (!made)
			return -ENOMEM;
		*made = want;
	}
	return got;
}

/* Code without a symbol goes by its module: "[libfoo.so]", or "[unknown]". */
static s64 add_unnamed(struct flame *f, const char *module)
{
	struct strbuf text;
	strbuf_init(&text);
	if (!module || !*module)
		module = "unknown";
	strbuf_printf(&text, *module == '[' ? "%s" : "[%s]", module);
	s64 id = text.err ? text.err : add_string(f, strbuf_cstr(&text));
	strbuf_done(&text);
	return id;
}

static s64 frame_of(struct side *s, u32 func)
{
	if (s->frame_of[func])
		return s->frame_of[func];
	const struct name_func *fn = &s->names->funcs[func];
	const char *module = fn->image && fn->image < s->catalog->images.nr
				     ? s->catalog->images.at[fn->image].name
				     : NULL;
	struct flame_frame want = { .kind = kind_of(s, fn) };
	s64 name = want.kind == FLAME_MARK ? add_string(s->flame, mark_text(fn->start))
		   : fn->name		   ? add_string(s->flame, fn->name)
					   : add_unnamed(s->flame, module);
	s64 in = want.kind == FLAME_MARK ? 0 : add_string(s->flame, module);
	if (name < 0 || in < 0)
		return -ENOMEM;
	want.name = (u32)name;
	want.module = (u32)in;
	s64 got = frame_at(s->flame, want, &s->build->frame_ids);
	if (got > 0)
		s->frame_of[func] = (u32)got;
	return got;
}

static bool has_mark(const struct frame_table *t, const u32 *row, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (t->frames[row[i]].mode == FRAME_MARK)
			return true;
	return false;
}

/* Before functions are put into each other: the recorder's frames count. */
static void find_truncated(struct side *s)
{
	const struct frame_table *t = &s->run->frames;
	bool marks = false;
	for (u32 i = 0; i < t->nr && !marks; i++)
		marks = t->frames[i].mode == FRAME_MARK;
	for (size_t i = 0; i < s->stacks->entries.nr; i++) {
		const struct entry *e = &s->stacks->entries.at[i];
		u32 nr = 1;
		const u32 *row = &e->leaf;
		if (e->chain)
			row = chain_frames(&s->run->chains, e->chain, &nr);
		s->truncated[i] = nr == KERNEL_CHAIN_MAX || (marks && has_mark(t, row, nr));
	}
}

/* The first side's chains become the build's, as they are. */
static void take_pool(struct side *s)
{
	struct chain_table *c = &s->run->chains;
	big_vec_free(&s->build->pool);
	s->build->pool.at = c->pool;
	s->build->pool.nr = c->nr_pool;
	s->build->pool.cap = c->cap_pool;
	c->pool = NULL;
	c->nr_pool = c->cap_pool = 0;
}

static int add_ids(struct flame_build *b, const u32 *ids, u32 first, u32 nr, u32 base)
{
	if (!big_vec_reserve(&b->pool, b->pool.nr + nr))
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++)
		b->pool.at[b->pool.nr++] = base + (ids ? ids[i] : first + i);
	return 0;
}

/* An entry's stack as a row of ids: where it stands already, or behind the others. base: what this side's ids begin with. */
static int add_row(struct side *s, const struct entry *e, u32 base, u64 weight, struct fold_item *it)
{
	struct flame_build *b = s->build;
	const struct chain *c = &s->run->chains.chains[e->chain];
	bool stands = e->chain && !s->run->chains.pool;
	int err = 0;
	if (stands) {
		it->start = c->start;
		it->nr = c->nr;
	} else {
		struct name_stack leaf = names_stack(s->names, e->leaf, false);
		it->start = (u32)b->pool.nr;
		it->nr = e->chain ? c->nr : leaf.nr;
		err = e->chain ? add_ids(b, s->run->chains.pool + c->start, 0, c->nr, base)
			       : add_ids(b, NULL, leaf.first, leaf.nr, base);
	}
	for (u32 i = 0; i < it->nr && !err; i++) {
		u32 id = b->pool.at[it->start + i] - base;
		s->used[id] = true;
		s->id_weight[id] += weight;
	}
	return err;
}

/* What the ids of this side's rows are in the flame. */
static int add_frames(struct side *s, u32 base)
{
	struct flame_build *b = s->build;
	for (u32 id = 0; id < s->names->nr_ids; id++) {
		s64 frame = s->used[id] ? frame_of(s, s->names->func_of[id]) : 0;
		if (frame < 0)
			return (int)frame;
		b->frame_of.at[base + id] = (u32)frame;
	}
	return 0;
}

/* A function is at the line where most of its weight is. */
static int make_lines(struct side *s)
{
	u64 *most = s->names->lines ? calloc(s->flame->frames.nr + 1, sizeof(*most)) : NULL;
	if (!most)
		return s->names->lines ? -ENOMEM : 0;
	int err = 0;
	for (u32 id = 1; id < s->names->nr_ids && !err; id++) {
		const struct name_line *at = &s->names->lines[id];
		u32 frame = s->frame_of[s->names->func_of[id]];
		if (!at->file || !frame || s->id_weight[id] < most[frame])
			continue;
		/* Of two that weigh the same, the one that comes first in its file. */
		const struct flame_frame *have = &s->flame->frames.at[frame];
		int c = have->file ? strcmp(at->file, flame_str(s->flame, have->file)) : -1;
		if (s->id_weight[id] == most[frame] && (c > 0 || (!c && at->line >= have->line)))
			continue;
		s64 file = add_string(s->flame, at->file);
		err = file < 0 ? (int)file : 0;
		most[frame] = s->id_weight[id];
		s->flame->frames.at[frame].file = err ? 0 : (u32)file;
		s->flame->frames.at[frame].line = at->line;
	}
	free(most);
	return err;
}

static int make_events(struct side *s)
{
	for (size_t i = 0; i < s->catalog->events.nr; i++) {
		s64 name = add_string(s->flame, s->catalog->events.at[i].name);
		if (name < 0)
			return (int)name;
		size_t at = 0;
		while (at < s->flame->events.nr && s->flame->events.at[at] != (u32)name)
			at++;
		if (at == s->flame->events.nr) {
			u32 *made = vec_push(&s->flame->events);
			if (!made)
				return -ENOMEM;
			*made = (u32)name;
		}
		s->event_of[i] = (u32)at;
	}
	return 0;
}

static int make_tasks(struct side *s)
{
	for (size_t i = 0; i < s->stacks->tasks.nr; i++) {
		const struct task *t = &s->stacks->tasks.at[i];
		char unnamed[16];
		const char *text = strtab_str(&s->catalog->strings, t->comm);
		if (COMM_IS_UNNAMED(t->comm)) {
			(void)snprintf(unnamed, sizeof(unnamed), ":%d", COMM_TID(t->comm));
			text = unnamed;
		}
		s64 comm = add_string(s->flame, text);
		if (comm < 0)
			return (int)comm;
		struct flame_task want = { .pid = t->pid, .tid = t->tid, .comm = (u32)comm };
		if (s->build->by_comm)
			want.pid = want.tid = 0;
		u32 fresh = (u32)s->flame->tasks.nr, got;
		int err = dict_add(&s->build->task_ids, (u64)(u32)want.tid << 32 | want.comm, fresh,
				   &got);
		if (err)
			return err;
		if (got == fresh) {
			struct flame_task *made = vec_push(&s->flame->tasks);
			if (!made)
				return -ENOMEM;
			*made = want;
		}
		s->task_of[i] = got;
	}
	return 0;
}

static s64 tree_at(struct flame_build *b, u32 event, u32 task)
{
	u32 fresh = (u32)b->flame->trees.nr, got;
	int err = dict_add(&b->tree_ids, (u64)event << 32 | task, fresh, &got);
	if (err)
		return err;
	if (got == fresh) {
		struct flame_tree *made = vec_push(&b->flame->trees);
		if (!made)
			return -ENOMEM;
		*made = (struct flame_tree){ .event = event, .task = task };
	}
	return got;
}

static int make_items(struct side *s)
{
	struct flame_build *b = s->build;
	size_t base = b->frame_of.nr, end = base + s->names->nr_ids;
	find_truncated(s);
	int err = names_expand(s->names, &s->run->frames, &s->run->chains);
	if (err || end >= UINT32_MAX || !vec_reserve(&b->frame_of, end + 1))
		return -ENOMEM;
	b->frame_of.nr = end;
	if (!base)
		take_pool(s);
	vec_for_each (&s->stacks->points, p)
		s->entry_weight[p->node] += p->period;
	for (size_t i = 0; i < s->stacks->entries.nr && !err; i++) {
		const struct entry *e = &s->stacks->entries.at[i];
		s64 tree = tree_at(b, s->event_of[e->event], s->task_of[e->task]);
		struct fold_item *it = tree < 0 ? NULL : big_vec_push(&b->items);
		if (!it)
			return -ENOMEM;
		*it = (struct fold_item){ .tree = (u32)tree, .period = s->entry_weight[i] };
		err = add_row(s, e, (u32)base, s->entry_weight[i], it);
		if (b->pool.nr >= UINT32_MAX)
			return -ENOMEM;
	}
	return err ? err : add_frames(s, (u32)base);
}

/* Points name an item until the trees are there. The first side's become the flame's. */
static int make_points(struct side *s, u32 first_item)
{
	struct flame *f = s->flame;
	struct flame_side *info = &f->sides[s->number];
	vec_for_each (&s->stacks->points, p) {
		const struct entry *e = &s->stacks->entries.at[p->node];
		info->nr_samples += p->count;
		info->nr_without += e->chain ? 0 : p->count;
		info->nr_truncated += s->truncated[p->node] ? p->count : 0;
		/* 0 is no time. */
		if (p->time_ns && (!info->first_ns || p->time_ns < info->first_ns))
			info->first_ns = p->time_ns;
		info->last_ns = max(info->last_ns, p->time_ns);
		p->node += first_item;
		p->side = s->number & 1;
	}
	f->resolution_ns = max(f->resolution_ns, 1ull << s->stacks->shift);
	if (!f->points.nr) {
		big_vec_free(&f->points);
		f->points.at = s->stacks->points.at;
		f->points.nr = s->stacks->points.nr;
		f->points.cap = s->stacks->points.cap;
		s->stacks->points.at = NULL;
		s->stacks->points.nr = s->stacks->points.cap = 0;
		return 0;
	}
	if (!big_vec_reserve(&f->points, f->points.nr + s->stacks->points.nr))
		return -ENOMEM;
	vec_for_each (&s->stacks->points, p)
		f->points.at[f->points.nr++] = *p;
	return 0;
}

static int add_side(struct side *s)
{
	u32 first_item = (u32)s->build->items.nr;
	if (!s->frame_of || !s->used || !s->task_of || !s->event_of || !s->truncated ||
	    !s->entry_weight || !s->id_weight)
		return -ENOMEM;
	if (!s->flame->frames.nr && !vec_push(&s->flame->frames))
		return -ENOMEM;
	int err = make_events(s);
	if (!err)
		err = make_tasks(s);
	if (!err)
		err = make_items(s);
	if (!err)
		err = make_lines(s);
	return err ? err : make_points(s, first_item);
}

int flame_build_add(struct flame_build *b, struct flame_sink *k, const struct catalog *c,
		    struct run_tables *run, const struct names_result *names)
{
	if (b->flame->nr_sides == FLAME_SIDES)
		return -E2BIG;
	struct side s = { .build = b,
			  .flame = b->flame,
			  .stacks = &k->all,
			  .catalog = c,
			  .run = run,
			  .names = names,
			  .number = b->flame->nr_sides++ };
	s.frame_of = calloc((size_t)names->nr_funcs + 1, sizeof(u32));
	s.used = calloc((size_t)names->nr_ids + 1, sizeof(*s.used));
	s.task_of = calloc(k->all.tasks.nr + 1, sizeof(u32));
	s.event_of = calloc(c->events.nr + 1, sizeof(u32));
	s.truncated = calloc(k->all.entries.nr + 1, sizeof(*s.truncated));
	s.entry_weight = calloc(k->all.entries.nr + 1, sizeof(u64));
	s.id_weight = calloc((size_t)names->nr_ids + 1, sizeof(u64));
	int err = add_side(&s);
	b->flame->sides[s.number].nr_lost = c->nr_lost;
	free(s.frame_of);
	free(s.used);
	free(s.task_of);
	free(s.event_of);
	free(s.truncated);
	free(s.entry_weight);
	free(s.id_weight);
	return err;
}

/* A node of the fold is a run of functions; here each is a node. starts[i]: where the i-th one's run begins. */
static void take_run(struct flame *f, const struct fold *fold, const u32 *starts, u32 i)
{
	u32 base = fold->room - fold->nr_nodes;
	const struct fold_node *n = &fold->nodes[base + i];
	bool root = n->parent == base + i;
	u32 above = root ? starts[i] : starts[n->parent - base + 1] - 1; /* the last of its run */
	for (u32 k = 0; k < (root ? 1 : n->nr); k++) {
		f->nodes.at[f->nodes.nr] = (struct flame_node){
			.parent = above,
			.frame = root ? 0 : fold->funcs[n->at + k],
			.end = starts[n->end - base],
		};
		above = (u32)f->nodes.nr++;
	}
}

static int take_nodes(struct flame *f, const struct fold *fold)
{
	u32 base = fold->room - fold->nr_nodes;
	_cleanup_free_ u32 *starts = malloc(((size_t)fold->nr_nodes + 1) * sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	u64 nr = 0;
	for (u32 i = 0; i < fold->nr_nodes; i++) {
		starts[i] = (u32)nr;
		nr += fold->nodes[base + i].parent == base + i ? 1 : fold->nodes[base + i].nr;
	}
	starts[fold->nr_nodes] = (u32)nr;
	if (nr >= UINT32_MAX / 2 || !big_vec_reserve(&f->nodes, nr))
		return -ENOMEM;
	for (u32 i = 0; i < fold->nr_nodes; i++)
		take_run(f, fold, starts, i);
	for (u32 i = 0; i < fold->nr_trees; i++)
		f->trees.at[i].root = starts[fold->root_of[i] - base];
	vec_for_each (&f->points, p) /* where the run of its node ends */
		p->node = starts[fold->node_of[p->node] - base + 1] - 1;
	return 0;
}

int flame_build_finish(struct flame_build *b)
{
	struct flame *f = b->flame;
	int err = flame_order(b);
	if (err)
		return err;
	struct names_result names = { .func_of = b->frame_of.at, .nr_funcs = (u32)f->frames.nr };
	struct chain_table chains = { .pool = b->pool.at };
	struct fold fold;
	err = fold_build(&fold, b->items.at, b->items.nr, (u32)f->trees.nr, false, &chains, &names);
	if (!err)
		err = take_nodes(f, &fold);
	fold_done(&fold);
	return err;
}

void flame_build_done(struct flame_build *b)
{
	big_vec_free(&b->items);
	big_vec_free(&b->pool);
	vec_free(&b->frame_of);
	dict_done(&b->frame_ids);
	dict_done(&b->task_ids);
	dict_done(&b->tree_ids);
}
