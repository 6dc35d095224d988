#include "analysis/flame_impl.h"
#include "base/big.h"
#include "base/par.h"
#include "model/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 2 << 20, LEAST_TO_JOIN = MAX_POINTS / 16 };
/* A list is walked so far: where more tasks share a stack, all entries are found by their hash. */
enum { LIST_STEPS = 32 };
enum {
	ENTRIES_MAX = 1 << 19
}; /* of all rounds; those of one task each are not bounded by how many chains there are */

void flame_stacks_done(struct flame_stacks *s)
{
	vec_free(&s->tasks);
	dict_done(&s->task_of);
	big_vec_free(&s->entries);
	dict_done(&s->entry_of);
	big_vec_free(&s->by_chain.list);
	big_vec_free(&s->by_leaf.list);
	big_vec_free(&s->points);
}

s64 flame_task_at(struct flame_stacks *s, s32 pid, s32 tid, u32 comm)
{
	u32 fresh = (u32)s->tasks.nr, got;
	int err = dict_add(&s->task_of, (u64)(u32)tid << 32 | comm, fresh, &got);
	if (err)
		return err;
	if (got == fresh) {
		struct flame_seen_task *t = vec_push(&s->tasks);
		if (!t)
			return -ENOMEM;
		*t = (struct flame_seen_task){ .pid = pid, .tid = tid, .comm = comm };
	}
	return got;
}

/* The head of the list of entries, made to reach that far. */
static u32 *head_of(struct flame_stacks *s, u32 leaf, u32 chain)
{
	struct flame_heads *h = chain ? &s->by_chain : &s->by_leaf;
	size_t id = chain ? chain : leaf;
	if (unlikely(id >= h->list.nr)) {
		if (!big_vec_reserve(&h->list, id + 1))
			return NULL;
		memset(h->list.at + h->list.nr, 0, (h->list.cap - h->list.nr) * sizeof(*h->list.at));
		h->list.nr = h->list.cap;
	}
	return &h->list.at[id];
}

static bool is_entry(const struct flame_entry *e, const struct flame_entry *other)
{
	return e->task == other->task && e->event == other->event && e->chain == other->chain &&
	       e->leaf == other->leaf;
}

/* The entry's number: `fresh` if it was not there before, or -ENOMEM. */
static s64 find_by_hash(struct flame_stacks *s, const struct flame_entry *e, u32 fresh)
{
	const u64 words[] = { (u64)e->chain << 32 | e->leaf, (u64)e->task << 32 | e->event };
	for (u64 seed = hash_seed();; seed++) {
		u32 got;
		if (dict_add(&s->entry_of, hash_words(words, ARRAY_SIZE(words), seed), fresh, &got))
			return -ENOMEM;
		if (got == fresh || is_entry(&s->entries.at[got], e))
			return got;
	}
}

static int hash_entries(struct flame_stacks *s)
{
	for (size_t i = s->entry_of.nr ? s->entries.nr : 0; i < s->entries.nr; i++)
		if (find_by_hash(s, &s->entries.at[i], (u32)i) < 0)
			return -ENOMEM;
	return 0;
}

s64 flame_entry_at(struct flame_stacks *s, u32 event, u32 task, u32 leaf, u32 chain)
{
	u32 *head = head_of(s, leaf, chain), steps = 0, fresh = (u32)s->entries.nr;
	if (!head)
		return -ENOMEM;
	for (u32 at = *head, *link = head; at && steps < LIST_STEPS;
	     link = &s->entries.at[at - 1].next, at = *link, steps++) {
		struct flame_entry *e = &s->entries.at[at - 1];
		if (e->task != task || e->event != event)
			continue;
		/* To the front: events without a place are one list, in which few are asked for at a time. */
		*link = e->next;
		e->next = *head;
		*head = at;
		return at - 1;
	}
	const struct flame_entry made = {
		.event = event, .task = task, .leaf = leaf, .chain = chain, .next = *head
	};
	if (steps == LIST_STEPS && hash_entries(s))
		return -ENOMEM;
	s64 got = s->entry_of.nr ? find_by_hash(s, &made, fresh) : fresh;
	if (got != fresh)
		return got;
	struct flame_entry *e = big_vec_push(&s->entries);
	if (!e || s->entries.nr >= UINT32_MAX)
		return -ENOMEM;
	*e = made;
	*head = (u32)s->entries.nr;
	return got;
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

/* Sorted points: how many entries they are of. */
static size_t count_entries(const struct flame_stacks *s)
{
	size_t nr = 0;
	for (size_t i = 0; i < s->points.nr; i++)
		nr += !i || s->points.at[i].node != s->points.at[i - 1].node;
	return nr;
}

/*
 * Joins points of one stack that are close in time, more and more coarsely, until half of them are gone, or until there are few for each
 * stack: coarser times would not save much then. The next time is when there are twice as many, so that sorting stays cheap.
 */
static void join_points(struct flame_stacks *s)
{
	size_t most = s->points.nr / 2;
	sort_points(s->points.at, s->points.nr);
	most = max(most, count_entries(s) * 4);
	s->join_at = 2 * s->points.nr;
	if (s->points.nr <= most)
		return;
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
			break;
	}
	s->join_at = 2 * s->points.nr;
}

static int add_point(struct flame_stacks *s, struct flame_point p)
{
	if (!big_vec_reserve(&s->points, s->points.nr + 1))
		return -ENOMEM;
	s->points.at[s->points.nr++] = p;
	return 0;
}

static int flame_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = calloc(1, sizeof(struct flame_stacks));
	return *state ? 0 : -ENOMEM;
}

/* Brings on its way what flame_entry_at() will look at: first the head of the list, later the first entry. */
static void fetch_head(const struct flame_stacks *s, u32 chain)
{
	if (chain && chain < s->by_chain.list.nr)
		__builtin_prefetch(&s->by_chain.list.at[chain]);
}

static void fetch_entry(const struct flame_stacks *s, u32 chain)
{
	if (chain && chain < s->by_chain.list.nr && s->by_chain.list.at[chain])
		__builtin_prefetch(&s->entries.at[s->by_chain.list.at[chain] - 1]);
}

/* Memory is that of all shards, however many there are. */
static void limit_points(struct flame_sink *f, struct flame_stacks *s, size_t before)
{
	size_t added = s->points.nr - before;
	size_t all = atomic_fetch_add_explicit(&f->nr_points, added, memory_order_relaxed) + added;
	if (likely(all < MAX_POINTS) || s->points.nr < max(s->join_at, (size_t)LEAST_TO_JOIN))
		return;
	before = s->points.nr;
	join_points(s);
	atomic_fetch_sub_explicit(&f->nr_points, before - s->points.nr, memory_order_relaxed);
}

static int flame_feed(struct sink *k, void *state, const struct batch *b)
{
	struct flame_stacks *s = state;
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
			s64 got = flame_task_at(s, from->pid, from->tid, from->comm);
			if (got < 0)
				return (int)got;
			task = (u32)got;
			last_tid = from->tid;
			last_comm = from->comm;
		}
		s64 entry = flame_entry_at(s, from->event, task,
					   from->chain ? FRAME_NONE : from->leaf, from->chain);
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

/* Stacks of all shards, on their way into one. */
struct merging {
	struct flame_stacks *to;
	const struct sink_part *parts;
	u32 **task_map, **entry_map; /* [shard] */
	u32 *nr_entries; /* [shard] */
	size_t *first_point; /* [shard] */
	u32 *first_entry; /* [shard], where no entry is of two */
};

static int merge_tasks(struct merging *m, u32 shard)
{
	const struct flame_stacks *from = m->parts[shard].state;
	u32 *map = m->task_map[shard] = calloc(from->tasks.nr + 1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	for (size_t i = 0; i < from->tasks.nr; i++) {
		const struct flame_seen_task *t = &from->tasks.at[i];
		s64 task = flame_task_at(m->to, t->pid, t->tid, t->comm);
		if (task < 0)
			return (int)task;
		map[i] = (u32)task;
	}
	return 0;
}

/* An entry's numbers become those of the run. */
static int translate_entries(void *ctx, unsigned worker, u32 shard)
{
	struct merging *m = ctx;
	const struct sink_part *part = &m->parts[shard];
	struct flame_stacks *from = part->state;
	vec_for_each (&from->entries, e) {
		e->task = m->task_map[shard][e->task];
		e->leaf = part->map_frame ? part->map_frame[e->leaf] : e->leaf;
		e->chain = part->map_chain ? part->map_chain[e->chain] : e->chain;
	}
	return 0;
}

static const struct flame_entry *entry_of(const struct merging *m, u32 shard, u32 item)
{
	return &((const struct flame_stacks *)m->parts[shard].state)->entries.at[item];
}

static u64 entry_key(void *ctx, u32 shard, u32 item)
{
	const struct flame_entry *e = entry_of(ctx, shard, item);
	return hash_seeded(((u64)e->chain << 32 | e->leaf) ^ ((u64)e->task << 17 | e->event),
			   hash_seed());
}

static bool same_entry(void *ctx, u32 shard, u32 item, u32 other_shard, u32 other)
{
	const struct flame_entry *a = entry_of(ctx, shard, item),
				 *b = entry_of(ctx, other_shard, other);
	return a->chain == b->chain && a->leaf == b->leaf && a->task == b->task &&
	       a->event == b->event;
}

static int entry_room(void *ctx, u32 nr, u64 size)
{
	struct merging *m = ctx;
	if (!big_vec_reserve(&m->to->entries, nr))
		return -ENOMEM;
	m->to->entries.nr = nr;
	return 0;
}

static void put_entry(void *ctx, u32 shard, u32 item, u32 to, u64 at, bool fresh)
{
	const struct merging *m = ctx;
	m->entry_map[shard][item] = to;
	if (fresh)
		m->to->entries.at[to] = *entry_of(m, shard, item);
}

/* No chain is of two shards, so no entry is. A place without a chain may be: that is two entries then. */
static int move_entries(void *ctx, unsigned worker, u32 shard)
{
	struct merging *m = ctx;
	struct flame_stacks *from = m->parts[shard].state;
	struct flame_entry *to = m->to->entries.at + m->first_entry[shard];
	int err = translate_entries(m, worker, shard);
	if (from->entries.nr)
		memcpy(to, from->entries.at, from->entries.nr * sizeof(*to));
	for (u32 i = 0; i < m->nr_entries[shard]; i++)
		m->entry_map[shard][i] = m->first_entry[shard] + i;
	big_vec_free(&from->entries);
	return err;
}

static int join_entries(struct merging *m, u32 nr, unsigned workers)
{
	u64 sum = 0;
	for (u32 i = 0; i < nr; i++) {
		m->first_entry[i] = (u32)sum;
		sum += m->nr_entries[i];
	}
	int err = sum < UINT32_MAX ? entry_room(m, (u32)sum, 0) : -ENOMEM;
	return err ? err : par_each(workers, nr, move_entries, m);
}

static int copy_points(void *ctx, unsigned worker, u32 shard)
{
	struct merging *m = ctx;
	struct flame_stacks *from = m->parts[shard].state;
	struct flame_point *to = m->to->points.at + m->first_point[shard];
	for (size_t i = 0; i < from->points.nr; i++) {
		to[i] = from->points.at[i];
		to[i].node = m->entry_map[shard][to[i].node];
	}
	big_vec_free(&from->points);
	return 0;
}

static int merge_points(struct merging *m, u32 nr, unsigned workers)
{
	size_t sum = 0;
	for (u32 i = 0; i < nr; i++) {
		const struct flame_stacks *from = m->parts[i].state;
		m->first_point[i] = sum;
		sum += from->points.nr;
		m->to->shift = max(m->to->shift, from->shift);
	}
	if (!big_vec_reserve(&m->to->points, sum))
		return -ENOMEM;
	m->to->points.nr = sum;
	return par_each(workers, nr, copy_points, m);
}

static int merge_entries(struct merging *m, u32 nr, unsigned workers)
{
	int err = par_each(workers, nr, translate_entries, m);
	return err ? err
		   : merge_shards(&(struct merge){ .workers = workers,
						   .nr_shards = nr,
						   .nr = m->nr_entries,
						   .ctx = m,
						   .key = entry_key,
						   .same = same_entry,
						   .room = entry_room,
						   .put = put_entry });
}

static int merge_stacks(struct merging *m, u32 nr, unsigned workers)
{
	int err = 0;
	for (u32 i = 0; i < nr && !err; i++) {
		m->nr_entries[i] = (u32)((const struct flame_stacks *)m->parts[i].state)->entries.nr;
		m->entry_map[i] = calloc((size_t)m->nr_entries[i] + 1, sizeof(u32));
		err = m->entry_map[i] ? merge_tasks(m, i) : -ENOMEM;
	}
	if (!err)
		err = m->parts[0].apart ? join_entries(m, nr, workers)
					: merge_entries(m, nr, workers);
	return err ? err : merge_points(m, nr, workers);
}

/* One shard, beside what is there of rounds before. */
static int add_stacks(struct flame_stacks *to, const struct sink_part *part)
{
	struct flame_stacks *from = part->state;
	_cleanup_free_ u32 *entry_map = malloc((from->entries.nr + 1) * sizeof(*entry_map));
	if (!entry_map)
		return -ENOMEM;
	for (size_t i = 0; i < from->entries.nr; i++) {
		const struct flame_entry *e = &from->entries.at[i];
		const struct flame_seen_task *t = &from->tasks.at[e->task];
		s64 task = flame_task_at(to, t->pid, t->tid, t->comm);
		s64 entry =
			task < 0 ? task
				 : flame_entry_at(
					   to, e->event, (u32)task,
					   part->map_frame ? part->map_frame[e->leaf] : e->leaf,
					   part->map_chain ? part->map_chain[e->chain] : e->chain);
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

static int flame_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	struct flame_sink *f = container_of(k, struct flame_sink, sink);
	if (nr == 1 && (f->all.entries.nr || parts[0].map_frame))
		return add_stacks(&f->all, &parts[0]);
	if (nr == 1) {
		struct flame_stacks *from = parts[0].state;
		flame_stacks_done(&f->all);
		f->all = *from;
		*from = (struct flame_stacks){ 0 };
		return 0;
	}
	struct merging m = { .to = &f->all,
			     .parts = parts,
			     .task_map = calloc(nr, sizeof(*m.task_map)),
			     .entry_map = calloc(nr, sizeof(*m.entry_map)),
			     .nr_entries = calloc(nr, sizeof(*m.nr_entries)),
			     .first_point = calloc(nr, sizeof(*m.first_point)),
			     .first_entry = calloc(nr, sizeof(*m.first_entry)) };
	int err = m.task_map && m.entry_map && m.nr_entries && m.first_point && m.first_entry
			  ? merge_stacks(&m, nr, workers)
			  : -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		free(m.task_map ? m.task_map[i] : NULL);
		free(m.entry_map ? m.entry_map[i] : NULL);
	}
	free(m.task_map);
	free(m.entry_map);
	free(m.nr_entries);
	free(m.first_point);
	free(m.first_entry);
	return err;
}

static void flame_shard_free(struct sink *k, void *state)
{
	flame_stacks_done(state);
	free(state);
}

/* Shards have a bound of their own; over many rounds, all of them together need one. */
static int flame_round_done(struct sink *k, const struct run_tables *t, const struct round *r)
{
	struct flame_sink *f = container_of(k, struct flame_sink, sink);
	struct flame_stacks *s = &f->all;
	atomic_store_explicit(&f->nr_points, 0, memory_order_relaxed); /* shards are empty again */
	k->full = s->entries.nr > ENTRIES_MAX;
	if (r->last || s->points.nr < max(s->join_at, (size_t)MAX_POINTS))
		return 0;
	join_points(s); /* no fewer than stacks remain: these have a bound of their own */
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
	flame_stacks_done(&s->all);
	free(s);
}

struct sink *flame_sink(struct flame_sink *s)
{
	return &s->sink;
}
