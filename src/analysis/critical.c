#include "analysis/critical.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	INTERVALS_MAX = 1 << 23,
	/* Maximum nesting of wakers of wakers, whatever a file contains. */
	DEPTH_MAX = 64,
};

struct critical_interval {
	u64 from_ns, to_ns;
	u32 cause, chain;
	u8 state;
	bool irq;
};

struct critical_past {
	VEC(struct critical_interval) list; /* in order of time */
};

struct critical {
	struct sink sink;
	const struct critical_opts *o;
	struct thread_states *states;
	VEC(struct critical_past) pasts; /* [thread] */
	size_t nr_intervals;
	bool too_many;
	u64 from_ns, until_ns;
	bool has_from, has_until;
	u32 thread;
	VEC(struct critical_node) nodes;
	VEC(struct critical_thread) threads;
	struct dict part_of; /* thread -> its index in threads */
	struct dict node_of; /* hash of what it is -> node */
	struct strtab labels;
	struct dict label_of; /* chain -> label */
	critical_text text;
	void *ctx;
};

/* ---- what threads did ---- */

static int on_interval(void *ctx, const struct thread_interval *i)
{
	struct critical *c = ctx;
	if (i->from_ns == i->to_ns || !thread_at(c->states, i->thread)->tid)
		return 0;
	if (++c->nr_intervals > INTERVALS_MAX) {
		c->too_many = true;
		return -E2BIG;
	}
	while (i->thread >= c->pasts.nr)
		if (!vec_push(&c->pasts))
			return -ENOMEM;
	struct critical_interval *to = vec_push(&c->pasts.at[i->thread].list);
	if (!to)
		return -ENOMEM;
	*to = (struct critical_interval){ .from_ns = i->from_ns,
					  .to_ns = i->to_ns,
					  .cause = i->state == THREAD_BLOCKED ? i->cause
									      : THREAD_NONE,
					  .chain = i->own_chain,
					  .state = (u8)i->state,
					  .irq = i->flags & THREAD_WOKEN_BY_IRQ };
	return 0;
}

static const struct thread_states_ops states_ops = { .interval = on_interval };

/* The events that the interval goes from and to; of a process without them, its first and its last. */
static int follow(struct critical *c, const struct sample *s)
{
	int err = thread_states_feed(c->states, s);
	if (err || s->buffer || s->tid <= 0 || (c->o->pid && s->pid != c->o->pid))
		return err;
	if (c->o->from_event == s->event && !c->has_from) {
		c->from_ns = s->time_ns;
		c->has_from = true;
	}
	if (c->has_until || c->o->to_event != s->event)
		return 0;
	if ((c->o->from_event != THREAD_NONE && !c->has_from) || s->time_ns <= c->from_ns)
		return 0;
	c->thread = thread_states_runner(c->states, s);
	c->until_ns = s->time_ns;
	c->has_until = c->thread != THREAD_NONE;
	return 0;
}

/* ---- the path ---- */

static s64 label_of(struct critical *c, u32 chain)
{
	if (!chain || !c->text)
		return 0;
	u32 have = dict_get(&c->label_of, chain);
	if (have != DICT_NONE)
		return have;
	const char *text = c->text(c->ctx, chain);
	s64 id = strtab_add(&c->labels, text, strlen(text));
	return id >= 0 && dict_put(&c->label_of, chain, (u32)id) ? -ENOMEM : id;
}

static s64 node_at(struct critical *c, u32 parent, enum critical_kind kind, u32 thread, u32 chain)
{
	bool blocked = kind == CRITICAL_FOR_OTHERS || kind == CRITICAL_INTERRUPT ||
		       kind == CRITICAL_UNSEEN;
	s64 label = blocked ? label_of(c, chain) : 0;
	if (label < 0)
		return label;
	for (u64 seed = hash_seed();; seed++) {
		u64 hash = hash_words((const u64[]){ parent, kind, thread, (u64)label }, 4, seed);
		u32 fresh = (u32)c->nodes.nr, got;
		int err = dict_add(&c->node_of, hash, fresh, &got);
		if (err)
			return err;
		struct critical_node *n = got == fresh ? vec_push(&c->nodes) : &c->nodes.at[got];
		if (!n)
			return -ENOMEM;
		if (got == fresh)
			*n = (struct critical_node){ .parent = parent,
						     .depth = c->nodes.at[parent].depth + 1,
						     .kind = kind,
						     .thread = thread,
						     .label = (u32)label };
		if (n->parent == parent && n->kind == kind && n->thread == thread &&
		    n->label == (u32)label)
			return got;
	}
}

static struct critical_thread *part_of(struct critical *c, u32 thread)
{
	u32 fresh = (u32)c->threads.nr, got;
	if (dict_add(&c->part_of, thread, fresh, &got))
		return NULL;
	if (got != fresh)
		return &c->threads.at[got];
	struct critical_thread *t = vec_push(&c->threads);
	if (t)
		t->thread = thread;
	return t;
}

/* -ENOMEM, or the node that grew. */
static s64 add(struct critical *c, u32 parent, enum critical_kind kind, u32 thread, u32 chain,
	       u64 ns)
{
	s64 node = node_at(c, parent, kind, thread, chain);
	if (node < 0)
		return node;
	c->nodes.at[node].ns += ns;
	c->nodes.at[node].nr++;
	if (kind == CRITICAL_FOR_OTHERS)
		return node;
	struct critical_thread *t = part_of(c, thread);
	if (!t)
		return -ENOMEM;
	switch (kind) {
	case CRITICAL_RUNNING: t->running_ns += ns; break;
	case CRITICAL_READY: t->ready_ns += ns; break;
	case CRITICAL_UNKNOWN: t->unknown_ns += ns; break;
	default: t->blocked_ns += ns;
	}
	return node;
}

/* The last one that began before. NULL: none did. */
static const struct critical_interval *before(const struct critical *c, u32 thread, u64 time_ns)
{
	if (thread >= c->pasts.nr)
		return NULL;
	const struct critical_past *p = &c->pasts.at[thread];
	size_t lo = 0, hi = p->list.nr;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (p->list.at[mid].from_ns < time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &p->list.at[lo - 1] : NULL;
}

static enum critical_kind kind_of(const struct critical_interval *i)
{
	switch (i->state) {
	case THREAD_RUNNING: return CRITICAL_RUNNING;
	case THREAD_READY: return CRITICAL_READY;
	case THREAD_BLOCKED: return i->irq ? CRITICAL_INTERRUPT : CRITICAL_UNSEEN;
	default: return CRITICAL_UNKNOWN;
	}
}

static bool has_culprit(const struct critical *c, u32 thread, const struct critical_interval *i)
{
	return i->state == THREAD_BLOCKED && !i->irq && i->cause != THREAD_NONE &&
	       i->cause != thread && thread_at(c->states, i->cause)->tid;
}

/* The thread that the path is in, how far back it goes there, and the node that it is below. */
struct critical_level {
	u32 thread, node;
	u64 lower_ns;
};

/* Each step goes back in time, or one level down, of which there are few. */
static int walk(struct critical *c)
{
	struct critical_level levels[DEPTH_MAX] = { { .thread = c->thread, .lower_ns = c->from_ns } };
	u32 depth = 0;
	for (u64 t = c->until_ns; t > c->from_ns;) {
		const struct critical_level *l = &levels[depth];
		if (t <= l->lower_ns) {
			depth--;
			continue;
		}
		const struct critical_interval *i = before(c, l->thread, t);
		u64 from_ns = i ? max(i->from_ns, l->lower_ns) : l->lower_ns;
		enum critical_kind kind = i ? kind_of(i) : CRITICAL_UNKNOWN;
		if (i && i->to_ns < t) {
			from_ns = max(i->to_ns, l->lower_ns);
			kind = CRITICAL_UNKNOWN;
		} else if (i && depth + 1 < DEPTH_MAX && has_culprit(c, l->thread, i)) {
			s64 node = add(c, l->node, CRITICAL_FOR_OTHERS, l->thread, i->chain,
				       t - from_ns);
			if (node < 0)
				return (int)node;
			levels[++depth] = (struct critical_level){ .thread = i->cause,
								   .node = (u32)node,
								   .lower_ns = from_ns };
			continue;
		}
		s64 err = add(c, l->node, kind, l->thread, i ? i->chain : CHAIN_NONE, t - from_ns);
		if (err < 0)
			return (int)err;
		t = from_ns;
	}
	return 0;
}

/* ---- at the end ---- */

static int compare(u64 a, u64 b)
{
	return (a < b) - (a > b);
}

static u64 sum_of(const struct critical_thread *t)
{
	return t->running_ns + t->ready_ns + t->blocked_ns + t->unknown_ns;
}

static int compare_threads(const void *pa, const void *pb)
{
	const struct critical_thread *a = pa, *b = pb;
	int by_sum = compare(sum_of(a), sum_of(b));
	return by_sum ? by_sum : -compare(a->thread, b->thread);
}

struct sorted_node {
	u64 ns;
	u32 parent, node;
};

static int compare_nodes(const void *pa, const void *pb)
{
	const struct sorted_node *a = pa, *b = pb;
	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	int by_ns = compare(a->ns, b->ns);
	return by_ns ? by_ns : -compare(a->node, b->node);
}

/* In tree order, siblings longest first. They come after their parents, so depth-first with a stack of what is left. */
static int sort_nodes(struct critical *c)
{
	size_t nr = c->nodes.nr;
	_cleanup_free_ struct sorted_node *by = calloc(nr + 1, sizeof(*by));
	_cleanup_free_ u32 *first = calloc(nr + 2, sizeof(*first));
	_cleanup_free_ u32 *stack = calloc(nr + 1, sizeof(*stack));
	_cleanup_free_ u32 *at = calloc(nr + 1, sizeof(*at));
	struct critical_node *out = calloc(nr + 1, sizeof(*out));
	if (!by || !first || !stack || !at || !out) {
		free(out);
		return -ENOMEM;
	}
	for (size_t i = 1; i < nr; i++)
		by[i - 1] = (struct sorted_node){ .ns = c->nodes.at[i].ns,
						  .parent = c->nodes.at[i].parent,
						  .node = (u32)i };
	qsort(by, nr - 1, sizeof(*by), compare_nodes);
	for (size_t i = 0; i + 1 < nr; i++)
		first[by[i].parent + 1]++;
	for (size_t i = 1; i <= nr; i++)
		first[i] += first[i - 1];
	u32 depth = 1, nr_out = 0;
	while (depth) {
		u32 node = stack[--depth];
		at[node] = nr_out;
		out[nr_out] = c->nodes.at[node];
		out[nr_out++].parent = at[c->nodes.at[node].parent];
		for (u32 i = first[node + 1]; i-- > first[node];)
			stack[depth++] = by[i].node;
	}
	memcpy(c->nodes.at, out, nr * sizeof(*out));
	free(out);
	return 0;
}

/* Without events: the process's main thread, or the thread of that number, as far as it was seen. */
static int find_span(struct critical *c)
{
	u64 first_ns = 0;
	for (u32 i = 0; i < thread_states_nr(c->states); i++) {
		if (!c->o->pid || thread_at(c->states, i)->tid != c->o->pid || i >= c->pasts.nr ||
		    !c->pasts.at[i].list.nr)
			continue;
		const struct critical_past *p = &c->pasts.at[i];
		first_ns = p->list.at[0].from_ns;
		if (c->o->to_event == THREAD_NONE) {
			c->thread = i;
			c->until_ns = p->list.at[p->list.nr - 1].to_ns;
			c->has_until = true;
		}
		break;
	}
	if (c->o->from_event == THREAD_NONE) {
		c->from_ns = first_ns ? first_ns : thread_states_totals(c->states)->first_ns;
		c->has_from = true;
	}
	if (!c->has_from)
		return -ENODATA;
	return c->has_until && c->until_ns > c->from_ns ? 0 : -ENOENT;
}

int critical_finish(struct critical *c, critical_text label, void *ctx)
{
	c->text = label;
	c->ctx = ctx;
	int err = thread_states_finish(c->states, 0);
	if (!err)
		err = find_span(c);
	struct critical_node *root = err ? NULL : vec_push(&c->nodes);
	if (err || !root)
		return err ? err : -ENOMEM;
	*root = (struct critical_node){
		.kind = CRITICAL_ROOT, .thread = c->thread, .ns = c->until_ns - c->from_ns, .nr = 1
	};
	err = walk(c);
	if (!err)
		err = sort_nodes(c);
	if (!err && c->threads.nr)
		qsort(c->threads.at, c->threads.nr, sizeof(*c->threads.at), compare_threads);
	return err;
}

const struct critical_node *critical_nodes(const struct critical *c, size_t *nr)
{
	*nr = c->nodes.nr;
	return c->nodes.at;
}

const struct critical_thread *critical_threads(const struct critical *c, size_t *nr)
{
	*nr = c->threads.nr;
	return c->threads.at;
}

const char *critical_label(const struct critical *c, u32 label)
{
	return strtab_str(&c->labels, label);
}

u32 critical_span(const struct critical *c, u64 *from_ns, u64 *until_ns)
{
	*from_ns = c->from_ns;
	*until_ns = c->until_ns;
	return c->thread;
}

const struct thread_states *critical_states(const struct critical *c)
{
	return c->states;
}

/* ---- the sink ---- */

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = container_of(k, struct critical, sink);
	return index ? -EINVAL : 0;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++)
		err = follow(state, &b->samples[i]);
	return err;
}

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

struct sink *critical_sink(struct critical *c, bool chains)
{
	c->sink = (struct sink){ .ops = &sink_ops,
				 .needs = sink_ops.needs | (chains ? NEED_CHAIN : 0) };
	return &c->sink;
}

struct critical *critical_new(const struct critical_opts *o)
{
	struct critical *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->o = o;
	c->thread = THREAD_NONE;
	strtab_init(&c->labels);
	dict_init(&c->part_of);
	dict_init(&c->node_of);
	dict_init(&c->label_of);
	c->states = thread_states_new(&states_ops, c);
	if (c->states)
		return c;
	free(c);
	return NULL;
}

void critical_free(struct critical *c)
{
	if (!c)
		return;
	vec_for_each (&c->pasts, p)
		vec_free(&p->list);
	vec_free(&c->pasts);
	vec_free(&c->nodes);
	vec_free(&c->threads);
	dict_done(&c->part_of);
	dict_done(&c->node_of);
	dict_done(&c->label_of);
	strtab_done(&c->labels);
	thread_states_free(c->states);
	free(c);
}
